"""The worked examples give the published numbers and private values near the exact ones."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

EXAMPLES = Path(__file__).parents[2] / "examples"


def load(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, EXAMPLES / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_dppack(capsys: pytest.CaptureFixture[str]) -> None:
    rows = {r["title"]: r for r in load("dppack").main()}
    scales = {
        "Laplace mean, epsilon 1": 0.05,
        "Laplace (mean, variance), one scale: mean": 0.3,
        "Laplace (mean, variance), one scale: variance": 0.3,
        "Laplace (mean, variance), proportions .25, .75: mean": 0.2,
        "Laplace (mean, variance), proportions .25, .75: variance": 1 / 3,
        "Gaussian mean (0.9, 0.01), classical": 0.172640,
        "Gaussian mean (0.9, 0.01), probabilistic": 0.152226,
        "Gaussian mean (0.9, 0.01), analytic": 0.101617,
    }
    for title, scale in scales.items():
        assert rows[title]["scale"] == pytest.approx(scale, rel=1e-5), title
    assert rows["exponential"]["value"] == pytest.approx([0.124755, 0.205686, 0.339119, 0.205686, 0.124755], abs=1e-6)
    assert rows["cars"]["value"].shape == (6, 2, 3)
    for row in rows.values():
        if row.get("truth") is not None and "quart" not in row["title"] and "median" not in row["title"]:
            error = np.abs(np.asarray(row["value"]) - row["truth"])
            # Twenty times the expected error: a Laplace draw exceeds that with probability e**-28.
            assert (error <= 20 * np.asarray(row["result"].expected_error) + 0.5).all(), row["title"]
    assert "36 cells" in capsys.readouterr().out
