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


def masses(law: Any, k: np.ndarray) -> np.ndarray:
    """P(noise = k) on a grid of 1, from the laws' own formulas: what an ideal law has within half a step of k."""
    scale = float(law.scales[0])
    if isinstance(law, ds.Gaussian):
        return np.asarray(stats.norm.cdf((k + 0.5) / scale) - stats.norm.cdf((k - 0.5) / scale))
    if isinstance(law, ds.Laplace):
        return np.asarray(stats.laplace.cdf((k + 0.5) / scale) - stats.laplace.cdf((k - 0.5) / scale))

    def weight(k: np.ndarray) -> np.ndarray:
        return np.asarray(np.exp(-np.abs(k) / scale if isinstance(law, ds.DiscreteLaplace) else -(k**2) / (2 * scale**2)))

    return np.asarray(weight(k) / weight(np.arange(-200.0, 201)).sum())


@pytest.mark.parametrize("n", [6, 30])
@pytest.mark.parametrize(
    "law",
    [
        ds.Gaussian("0.3", grid=1),
        ds.Gaussian("1.2", grid=1),
        ds.Laplace("0.5", grid=1),
        ds.DiscreteLaplace("0.7"),
        ds.DiscreteGaussian("0.4"),
        ds.DiscreteGaussian(2),
    ],
    ids=lambda law: f"{law.name} {float(law.scales[0]):g}",
)
def test_the_level_of_whole_noise_is_never_above_what_it_says(law: Any, n: int) -> None:
    """Every count and every release, summed: p <= a has probability a at most, for every a, and the bound is neared."""
    z = np.arange(-60, n + 61)
    for share in (0.1, 0.5):
        odds = masses(law, z[:, None] - np.arange(n + 1.0)[None]) @ stats.binom.pmf(np.arange(n + 1), n, share)
        for alternative in ("less", "greater", "two-sided"):
            test = ExactShare(n, share, alternative)
            p = np.array([test.pvalue(released(law, float(one))) for one in z])
            order = np.argsort(p, kind="stable")
            found = np.cumsum(odds[order])
            last = np.append(np.diff(p[order]) > 1e-12, True)  # equal ones are rejected together
            assert (found[last] <= p[order][last] * (1 + 1e-9) + 1e-12).all()
            if alternative != "two-sided":
                assert (found[last] / np.maximum(p[order][last], 1e-3)).max() > 0.98


@pytest.mark.parametrize("law", [ds.Gaussian("1.5"), ds.Laplace("0.05"), ds.Laplace(3)])
def test_fine_noise_has_the_tails_of_its_law(law: Any) -> None:
    """As joint releases have it: the tails sum to 1, and the upper one is that of a binomial count and the ideal law."""
    z, n, scale = 8.3, 20, float(law.scales[0])
    ideal = stats.norm if isinstance(law, ds.Gaussian) else stats.laplace
    upper = stats.binom.pmf(np.arange(n + 1), n, 0.3) @ ideal.sf((z - np.arange(n + 1.0)) / scale)
    tails = ExactShare(n, 0.3).tails(released(law, z))
    assert tails.upper(0.3) == pytest.approx(upper, rel=1e-6)
    assert tails.upper(0.3) + tails.lower(0.3) == pytest.approx(1, abs=1e-6)


def test_within_a_joint_release_it_is_the_same_test() -> None:
    schema = ds.Schema({"smoker": ds.Categories(["no", "yes"], missing="no"), "age": ds.Real(0, 9)}, neighbors="replace")
    table = {"smoker": np.where(X, "yes", "no"), "age": np.zeros(300)}
    session = ds.Session(table, schema, ledger="test", seed=2)
    joint, _ = session.together([("binomtest", "smoker", {"p": 0.35}), ("mean", "age")], epsilon=60)
    alone = session.test("binomtest", "smoker", p=0.35, epsilon=math.inf)
    assert joint.pvalue == pytest.approx(alone.pvalue, rel=0.2)  # both tails hold all of a whole count, one jump of them


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
