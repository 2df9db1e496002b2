"""The pictures of the example on intervals, drawn quickly."""

from __future__ import annotations

import runpy
from collections.abc import Iterator
from pathlib import Path

import matplotlib as mpl
import pytest

EXAMPLE = Path(__file__).parents[2] / "examples" / "wang_kifer_lee.py"


@pytest.fixture
def _backend() -> Iterator[None]:
    before = mpl.get_backend()
    yield
    mpl.use(before)


@pytest.mark.usefixtures("_backend")
def test_pictures_are_drawn(tmp_path: Path) -> None:
    made = runpy.run_path(str(EXAMPLE))["main"](tmp_path, quick=True)
    names = {"wkl_allocation.png", "wkl_adult_sweeps.png", "wkl_variability.png", "wkl_kdd_sweeps.png", "wkl_overhead.png"}
    names |= {"wkl_matrices.png", "wkl_maps.png", "wkl_ranges.png", "wkl_by_budget.png"}
    assert {path.name for path in made} == names
    assert all(path.read_bytes()[:4] == b"\x89PNG" and path.stat().st_size > 10_000 for path in made)
