"""Tests of a share: values worked out by hand, SciPy without noise, levels, and the uniform that is drawn once."""

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
from discreet.hypotheses.shares import ExactShare, OneShare

X = np.random.default_rng(3).random(300) < 0.3


def released(law: Any, value: float) -> list[Release]:
    return [Release.of(law, np.array([value]))]


def test_exact_by_hand() -> None:
    test = ExactShare(30, 0.5)
    assert test.tails(released(ds.Tulap(1), 20.0)).upper(0.5) == pytest.approx(0.0520538, abs=5e-8)
    assert test.tails(released(ds.DiscreteLaplace(1), 20)).upper(0.5) == pytest.approx(0.0688803, abs=5e-8)
    low, high = ExactShare(100).population_interval(released(ds.Tulap(2), 37.0), 0.95, False)
    assert (low, high) == (pytest.approx(0.265139, abs=5e-7), pytest.approx(0.482758, abs=5e-7))


@pytest.mark.parametrize(("law", "p"), [(ds.Laplace(1), 0.0165775), (ds.DiscreteLaplace(1), 0.0162473)])
def test_share_by_hand(law: Any, p: float) -> None:
    assert OneShare(0.2).pvalue([Release.of(law, np.array([30, 70]))]) == pytest.approx(p, abs=5e-8)


@pytest.mark.parametrize("alternative", ["two-sided", "less", "greater"])
def test_without_noise_it_is_scipys(alternative: Any) -> None:
    setting: Any = {"epsilon": math.inf, "alternative": alternative}
    exact = ds.hypotheses.binomtest(X, 0.35, neighbors="replace", **setting)
    theirs = stats.binomtest(int(X.sum()), 300, 0.35, alternative=alternative)
    assert exact.pvalue == pytest.approx(theirs.pvalue, rel=1e-9 if alternative != "two-sided" else 0.2)
    low, high = exact.confidence_interval()
    if alternative == "two-sided":
        assert (low, high) == pytest.approx(tuple(theirs.proportion_ci()), abs=1e-9)
    for relation in ("add_remove", "both"):
        asymptotic = ds.hypotheses.binomtest(X, 0.35, neighbors=relation, **setting)
        assert asymptotic.pvalue == pytest.approx(theirs.pvalue, abs=0.03)


def test_the_uniform_is_drawn_once_and_stored() -> None:
    schema = ds.Schema({"smoker": ds.Categories(["no", "yes"], missing="no")}, neighbors="replace")
    session = ds.Session({"smoker": np.where(X, "yes", "no")}, schema, ds.Budget(epsilon=5))
    asked = session.test("binomtest", "smoker", p=0.3, epsilon=1)
    assert asked.private
    assert asked.releases[0].mechanism == ds.Tulap(1)  # the count alone: sensitivity 1
    value = float(np.asarray(asked.releases[0].value)[0])
    assert value != round(value)
    again = Result.from_json(asked.to_json())
    assert (again.pvalue, again.confidence_interval()) == (asked.pvalue, asked.confidence_interval())
    assert session.spent().epsilon == 1


def test_where_some_have_no_label_two_counts_are_asked() -> None:
    schema = ds.Schema({"smoker": ds.Categories(["no", "yes"])}, neighbors="replace")
    session = ds.Session({"smoker": np.where(X, "yes", "?")}, schema, ledger="test", seed=1)
    result = session.test("binomtest", "smoker", label="yes", p=0.5, epsilon=math.inf)
    assert np.asarray(result.releases[0].value).tolist() == [int(X.sum()), 0]


@settings(max_examples=60, deadline=None)
@given(st.integers(1, 60), st.floats(0.05, 0.95), st.floats(-30, 90), st.floats(0.3, 20))
def test_tails_are_tails(n: int, p: float, z: float, scale: float) -> None:
    """Both tails of continuous noise sum to 1, grow and fall with p; those of whole noise are never less; ends in order."""
    exact = ExactShare(n, p)
    tails = exact.tails(released(ds.Tulap(str(scale)), z))
    assert tails.upper(p) + tails.lower(p) == pytest.approx(1.0, abs=1e-9)
    assert tails.upper(min(1.0, p + 0.04)) >= tails.upper(p) - 1e-12
    whole = exact.tails(released(ds.DiscreteLaplace(str(scale)), round(z)))
    smooth = exact.tails(released(ds.Tulap(str(scale)), float(round(z))))
    assert whole.upper(p) >= smooth.upper(p) - 1e-12
    assert whole.lower(p) >= smooth.lower(p) - 1e-12
    low, high = exact.population_interval(released(ds.Tulap(str(scale)), z), 0.95, False)
    assert 0 <= low <= high <= 1


@pytest.mark.parametrize("law", [ds.Gaussian("1.5"), ds.DiscreteGaussian(2)])
def test_other_noise_has_valid_tails(law: Any) -> None:
    """The level by summing over every count and (whole) release: at most .05 for the discrete law; the tails sum to 1."""
    tails = ExactShare(20, 0.3).tails(released(law, 8))
    assert 1.0 - 1e-9 <= tails.upper(0.3) + tails.lower(0.3) <= 1.2


@pytest.mark.parametrize(
    ("options", "words"),
    [({"p": 0}, "strictly between"), ({"label": "maybe"}, "no label"), ({"alternative": "more"}, "two-sided")],
)
def test_refusals(options: Any, words: str) -> None:
    schema = ds.Schema({"smoker": ds.Categories(["no", "yes"])})
    session = ds.Session({"smoker": ["no"]}, schema, ds.Budget(epsilon=5))
    with pytest.raises(InvalidRequest, match=words):
        session.test("binomtest", "smoker", epsilon=1, **options)
    assert session.spent().epsilon == 0
    with pytest.raises(InvalidRequest, match="booleans"):
        ds.hypotheses.binomtest([1, 2], epsilon=1)
