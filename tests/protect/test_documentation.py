"""The page about protecting a table is run, and what it must say is in it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

PAGE = (Path(__file__).parents[2] / "docs" / "how-to" / "protect.md").read_text()


def test_examples_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    code = "\n".join(re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL))
    assert code.count("assert") > 10
    exec(compile(code, "protect.md", "exec"), {})


def test_limits_are_said() -> None:
    for words in ("Homogeneity", "Background knowledge", "claims an epsilon", "still personal data"):
        assert words in PAGE
