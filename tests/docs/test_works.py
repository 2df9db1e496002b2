"""The page on the five works names only what is there: every name can be imported, every file exists."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import discreet as ds

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "works.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", sorted(set(re.findall(r"`ds\.([A-Za-z_.]+)", PAGE))))
def test_a_name_is_there(name: str) -> None:
    found: object = ds
    for part in name.split("."):
        found = getattr(found, part)
    assert found is not None


def test_files_exist_and_every_line_is_run_by_one() -> None:
    lines = [line for line in PAGE.splitlines() if line.startswith("| ") and not line.startswith("| there")]
    assert len(lines) > 45
    for line in lines:
        files = re.findall(r"`((?:tests|examples)/[^`]+)`", line)
        assert files, line
        assert all((ROOT / path).is_file() for path in files), line
