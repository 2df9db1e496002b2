"""The examples draw their pictures, and dapper's first two agree with the exact posteriors."""

from __future__ import annotations

import runpy
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
import pytest

EXAMPLES = Path(__file__).parents[2] / "examples"


@pytest.fixture(autouse=True)
def _backend() -> Iterator[None]:
    before = mpl.get_backend()
    yield
    mpl.use(before)


def pictures(made: list[Path]) -> list[str]:
    assert all(path.read_bytes()[:4] == b"\x89PNG" and path.stat().st_size > 10_000 for path in made)
    return [path.stem for path in made]


@pytest.mark.filterwarnings("ignore::discreet.inference.outputs.diagnostics.PoorSampling")
def test_dapper(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """2000 independent draws of each table: means and standard deviations within 5.6 standard errors (and half a unit of
    the digits that are printed): 16 numbers at 2e-8 each, a false alarm of 4e-7."""
    module = runpy.run_path(str(EXAMPLES / "dapper.py"))
    seen: list[tuple[Any, Any]] = []
    monkeypatch.setitem(module["main"].__globals__, "beside", lambda title, fit, exact: seen.append((fit, exact)))
    assert pictures(module["main"](tmp_path, quick=True)) == [
        "dapper_response_trace", "dapper_response", "dapper_table", "dapper_regression", "dapper_regression_forest",
    ]  # fmt: skip
    assert [fit.sampler for fit, _ in seen] == ["independent", "counts"]
    for fit, (mean, sd) in seen:
        theta = fit.draws["theta"].reshape(-1, 4)
        assert (np.abs(theta.mean(0) - mean) < 5.6 * sd / np.sqrt(2000) + 5e-5).all()
        assert (np.abs(theta.std(0) - sd) < 5.6 * sd / np.sqrt(4000) + 5e-5).all()
        assert fit.summary()["theta[m, yes]"]["mean"] == pytest.approx(theta[:, 0].mean())


def test_noise_aware(tmp_path: Path) -> None:
    made = runpy.run_path(str(EXAMPLES / "noise_aware.py"))["main"](tmp_path, quick=True)
    assert pictures(made) == ["noise_aware_surveys", "noise_aware_epsilon"]
