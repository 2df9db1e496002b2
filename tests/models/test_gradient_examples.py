"""The pictures of the examples, drawn quickly."""

from __future__ import annotations

import runpy
from pathlib import Path

import matplotlib as mpl
import pytest

EXAMPLES = Path(__file__).parents[2] / "examples"
PICTURES = {
    "height_weight": ["height_weight_lines.png", "height_weight_judged.png", "height_weight_sizes.png"],
    "gradient_comparison": ["comparison_adult.png", "comparison_a_bank.png", "comparison_times.png"],
    "medical_network": ["medical_accuracy.png", "medical_perturbed.png", "medical_roc.png"],
}


@pytest.fixture
def _backend() -> object:
    before = mpl.get_backend()
    yield
    mpl.use(before)


@pytest.mark.usefixtures("_backend")
@pytest.mark.parametrize("name", PICTURES)
def test_pictures_are_drawn(name: str, tmp_path: Path) -> None:
    made = runpy.run_path(str(EXAMPLES / f"{name}.py"))["main"](tmp_path, quick=True)
    assert [path.name for path in made] == PICTURES[name]
    assert all(path.read_bytes()[:4] == b"\x89PNG" and path.stat().st_size > 10_000 for path in made)
