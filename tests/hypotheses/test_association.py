"""Correlation and slope: SciPy without noise, intervals, and levels where the residuals' variance depends on x."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

import discreet as ds
from discreet.core.release import Release
from discreet.core.result import Result
from discreet.errors import InvalidRequest
from discreet.hypotheses.association import Slope
from discreet.statistics.bernstein import cell_weights

RNG = np.random.default_rng(2)
X = RNG.normal(50, 10, 500)
Y = 20 + 0.3 * X + RNG.normal(0, 10, 500)
BOUNDS = ((0, 100), (0, 100))


@pytest.mark.parametrize("relation", ["add_remove", "replace", "both"])
@pytest.mark.parametrize("alternative", ["two-sided", "less", "greater"])
def test_without_noise_they_are_scipys(relation: Any, alternative: Any) -> None:
    setting: Any = {"bounds": BOUNDS, "epsilon": math.inf, "neighbors": relation, "alternative": alternative}
    weak = 0.1 * X + RNG.normal(0, 10, 500) + 40
    theirs = stats.pearsonr(X, weak, alternative=alternative)
    ours = ds.hypotheses.pearsonr(X, weak, **setting)
    assert ours.value == pytest.approx(theirs.statistic, abs=1e-4)
    assert ours.pvalue == pytest.approx(theirs.pvalue, abs=0.02)
    slope = ds.hypotheses.linregress(X, weak, **setting)
    assert slope.value == pytest.approx(stats.linregress(X, weak).slope, abs=1e-4)
    assert slope.pvalue == pytest.approx(theirs.pvalue, abs=0.02)


def test_intervals() -> None:
    exact = ds.hypotheses.linregress(X, Y, bounds=BOUNDS, epsilon=math.inf)
    fitted = stats.linregress(X, Y)
    low, high = exact.confidence_interval()
    assert (low, high) == pytest.approx((fitted.slope - 1.96 * fitted.stderr, fitted.slope + 1.96 * fitted.stderr), abs=0.02)
    noisy = ds.hypotheses.linregress(X, Y, bounds=BOUNDS, epsilon=3, seed=1)
    ends = noisy.confidence_interval()
    assert ends.low < fitted.slope < ends.high
    assert high - low < ends.high - ends.low
    again = Result.from_json(noisy.to_json())
    assert (again.pvalue, again.confidence_interval()) == (noisy.pvalue, ends)
    r = ds.hypotheses.pearsonr(X, Y, bounds=BOUNDS, epsilon=math.inf).confidence_interval()
    theirs = stats.pearsonr(X, Y).confidence_interval()
    assert (r.low, r.high) == pytest.approx((theirs.low, theirs.high), abs=0.03)


def test_a_slope_that_nobody_shows_is_any_slope() -> None:
    found = ds.hypotheses.linregress([], [], bounds=BOUNDS, within=(-5, 7), epsilon="0.1", seed=2)
    assert found.pvalue > 0.01
    low, high = found.confidence_interval()
    assert -5 <= low <= 0 <= high <= 7
    with pytest.raises(InvalidRequest, match="two finite public slopes"):
        ds.hypotheses.linregress(X, Y, bounds=BOUNDS, within=(3, 1), epsilon=1)


@settings(max_examples=12, deadline=None)
@given(st.floats(-0.8, 0.8), st.integers(0, 1000))
def test_the_interval_is_the_test_turned_round(slope: float, seed: int) -> None:
    """The slope's interval holds 0 exactly where the two-sided test at the same level does not reject it."""
    rng = np.random.default_rng(seed)
    s = rng.uniform(0, 1, 400)
    t = np.clip(0.5 + slope * (s - 0.5) + rng.normal(0, 0.2, 400), 0, 1)

    def spread(v: np.ndarray, degree: int) -> np.ndarray:
        return stats.binom.pmf(np.arange(degree + 1), degree, v[:, None])

    cells = spread(s, 4).T @ spread(t, 2)
    law = ds.Laplace("0.5")
    release = [Release.of(law, np.asarray(law.release(cells, seed=seed)))]
    test = Slope(1.0, (-100.0, 100.0))
    low, high = test.population_interval(release, 0.95, False)
    p = test.pvalue(release)
    if abs(p - 0.05) > 0.002:
        assert (low <= 0 <= high) == (p > 0.05)


def test_a_correlation_that_was_paid_for_gives_its_test() -> None:
    schema = ds.Schema({"x": ds.Real(0, 100), "y": ds.Real(0, 100)})
    session = ds.Session({"x": X, "y": Y}, schema, ledger="test", seed=3)
    asked = session.correlation("x", "y", of="population", epsilon=5)
    assert asked.test("pearsonr").pvalue == session_p(asked)
    with pytest.raises(InvalidRequest, match="of='population'"):
        session.correlation("x", "y", epsilon=1).test("pearsonr")


def session_p(asked: Result) -> float:
    """By the score of the correlation at 0."""
    from discreet.statistics.equation import p_values

    cells = np.asarray(asked.releases[0].value, np.float64).reshape(5, 5)
    score = asked.reading.score(cells)  # type: ignore[attr-defined]
    return float(p_values(score.equation(cells)(np.zeros(1)), asked.releases[0].mechanism)[0])  # type: ignore[arg-type]


def test_slope_by_moments() -> None:
    """The estimate is cov / var of the released cells, on the scale of the table."""
    s, t = RNG.uniform(0, 1, 50), RNG.uniform(0, 1, 50)
    cells = stats.binom.pmf(np.arange(5), 4, s[:, None]).T @ stats.binom.pmf(np.arange(3), 2, t[:, None])
    assert cells.sum(1) @ cell_weights(np.array([0.0, 1.0]), (4,)) == pytest.approx(s.sum())
    assert float(Slope(2.0, (-9.0, 9.0)).compute(cells)) == pytest.approx(2 * np.polyfit(s, t, 1)[0])
