"""The pictures of the OPERA example, drawn quickly."""

from __future__ import annotations

import runpy
from pathlib import Path

import matplotlib as mpl
import pytest

EXAMPLE = Path(__file__).parents[2] / "examples" / "opera.py"


@pytest.fixture
def _backend() -> object:
    before = mpl.get_backend()
    yield
    mpl.use(before)


@pytest.mark.usefixtures("_backend")
def test_pictures_are_drawn(tmp_path: Path) -> None:
    made = runpy.run_path(str(EXAMPLE))["main"](tmp_path, quick=True)
    assert [path.name for path in made] == ["opera_accuracy.png", "opera_objective.png", "opera_times.png"]
    assert all(path.read_bytes()[:4] == b"\x89PNG" and path.stat().st_size > 8_000 for path in made)
