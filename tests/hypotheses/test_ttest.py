"""Tests of means: values worked out by hand, SciPy without noise, and what is refused."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from scipy import stats

import discreet as ds
from discreet.core.release import Release
from discreet.core.result import Result
from discreet.errors import InvalidRequest
from discreet.hypotheses.ttest import Welch
from discreet.statistics.equation import Statement, p_values
from discreet.statistics.mean import PopulationMean

RNG = np.random.default_rng(5)
X, Y = RNG.normal(50, 10, 400), RNG.normal(53, 12, 300)


def test_welch_by_hand() -> None:
    """V .00095, p .0034026, corrected .0036301 at the common mean."""
    means = PopulationMean(0, 1, (2, 3), (("arm", ("a", "b")),))
    release = Release.of(ds.Laplace(1), np.array([[30.0, 40, 30], [20, 40, 40]]))
    test = Welch(means)
    statement = test.statement([release])
    assert statement is not None
    assert statement.variance[0] == pytest.approx(0.00095)
    assert test.pvalue([release]) == pytest.approx(0.0036301, abs=5e-8)
    plain = Statement(statement.score, statement.variance, statement.weights)  # without what the noise does to the variance
    assert p_values(plain, ds.Laplace(1))[0] == pytest.approx(0.0034026, abs=5e-8)


@pytest.mark.parametrize("relation", ["add_remove", "replace", "both"])
@pytest.mark.parametrize("alternative", ["two-sided", "less", "greater"])
def test_without_noise_they_are_scipys(relation: Any, alternative: str) -> None:
    """A score test takes the variance under the hypothesis: at 400 rows its p-value is near the textbook's."""
    setting: Any = {"epsilon": math.inf, "neighbors": relation, "alternative": alternative}
    one = ds.hypotheses.ttest_1samp(X, 51, bounds=(0, 100), **setting)
    assert one.pvalue == pytest.approx(stats.ttest_1samp(X, 51, alternative=alternative).pvalue, abs=0.005)
    two = ds.hypotheses.ttest_ind(X, Y, bounds=(0, 100), **setting)
    theirs = stats.ttest_ind(X, Y, equal_var=False, alternative=alternative)
    assert two.pvalue == pytest.approx(theirs.pvalue, abs=0.005)
    assert two.statistic == pytest.approx(theirs.statistic, rel=0.02)
    assert two.value == pytest.approx(X.mean() - Y.mean(), abs=1e-5)
    paired = ds.hypotheses.ttest_rel(X[:300], Y, bounds=(-100, 100), **setting)
    assert paired.pvalue == pytest.approx(stats.ttest_rel(X[:300], Y, alternative=alternative).pvalue, abs=0.005)
    low, high = paired.confidence_interval()
    assert low < paired.value < high


def test_pairs_through_a_session() -> None:
    schema = ds.Schema({"x": ds.Real(0, 100), "y": ds.Real(0, 90)})
    session = ds.Session({"x": X[:300], "y": Y}, schema, ledger="test", seed=1)
    exact = session.test("ttest_rel", "x", "y", epsilon=math.inf)
    theirs = stats.ttest_rel(X[:300], np.minimum(Y, 90))
    assert exact.pvalue == pytest.approx(theirs.pvalue, abs=0.005)
    assert exact.value == pytest.approx((X[:300] - np.minimum(Y, 90)).mean(), abs=1e-5)
    noisy = session.test("ttest_rel", "x", "y", epsilon=1)
    interval = noisy.confidence_interval()
    assert interval.low < exact.value < interval.high
    again = Result.from_json(noisy.to_json())
    assert (again.pvalue, again.statistic) == (noisy.pvalue, noisy.statistic)


def test_nobody_is_no_evidence() -> None:
    schema = ds.Schema({"x": ds.Real(0, 1), "arm": ds.Categories(["a", "b"])})
    session = ds.Session({"x": np.zeros(0), "arm": []}, schema, ledger="test", seed=4)
    assert session.test("ttest_ind", "x", by="arm", epsilon=0.1).pvalue > 0.05
    assert session.test("ttest_1samp", "x", popmean=0.5, epsilon=0.1).pvalue > 0.05


@pytest.mark.parametrize(
    ("name", "options", "words"),
    [
        ("ttest_1samp", {"popmean": 200}, "within the declared bounds"),
        ("ttest_1samp", {"popmean": 50, "alternative": "larger"}, "two-sided, less, greater"),
        ("ttest_ind", {"by": "town"}, "two labels"),
    ],
)
def test_what_is_refused_is_not_charged(name: str, options: Any, words: str) -> None:
    schema = ds.Schema({"x": ds.Real(0, 100), "town": ds.Categories(["a", "b", "c"])})
    session = ds.Session({"x": X, "town": ["a"] * 400}, schema, ds.Budget(epsilon=1))
    with pytest.raises(InvalidRequest, match=words):
        session.test(name, "x", epsilon=1, **options)
    assert session.spent().epsilon == 0


def test_other_answers_have_no_p_value() -> None:
    answer = ds.mean(X, bounds=(0, 100), epsilon=1)
    for name in ("pvalue", "statistic", "method"):
        with pytest.raises(InvalidRequest, match="no hypothesis test"):
            getattr(answer, name)
