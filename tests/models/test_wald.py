"""Tests of coefficients: values worked out by hand, least squares without noise, levels, and what is refused."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from scipy import stats

import discreet as ds
from discreet.errors import InvalidRequest
from discreet.models.intervals.wald import Sums, parts_of, restricted

RNG = np.random.default_rng(6)
X = RNG.uniform(-1, 1, (4000, 2))
Y = 0.5 * X[:, 0] + RNG.normal(0, 0.3, 4000)
SETTING: Any = {"bounds": [(-1, 1)] * 2, "target_bounds": (-3, 3), "random_state": 1}
SUMS = np.array([[30.0, 12, 5, 12], [12, 30, 10, 6], [5, 10, 250, 30], [12, 6, 30, 20]])


def test_by_hand() -> None:
    """L .0120676, variance .000484694 + .00109560, p .761460, off-diagonal noise of deviation sigma / sqrt(2)."""
    sums = Sums(SUMS, 1000, 1.0, off_diagonal=math.sqrt(0.5))
    line = np.array([[0.0, 1.0, 0.0]])
    parts = parts_of(sums, line, np.zeros(1))
    assert parts is not None
    assert [float(p.ravel()[0]) for p in parts] == pytest.approx([0.0120676, 0.000484694, 0.00109560], rel=5e-6)
    assert restricted(sums, line, np.zeros(1))[1] == pytest.approx(0.761460, abs=5e-7)


def test_without_noise_it_is_least_squares() -> None:
    model = ds.models.LinearRegression(epsilon=math.inf, **SETTING).fit(X, Y)
    design = np.column_stack([X, np.ones(len(X))])
    beta, rss, *_ = np.linalg.lstsq(design, Y, rcond=None)
    cov = np.linalg.inv(design.T @ design) * float(rss[0]) / (len(X) - 3)
    z = beta[1] / math.sqrt(cov[1, 1])
    found = model.test("x1")
    assert found.statistic == pytest.approx(z, rel=0.01)
    assert found.pvalue == pytest.approx(2 * stats.norm.sf(abs(z)), abs=0.005)
    both = model.test(["x0", "x1"], value=[0.5, 0.0])
    off = np.array([beta[0] - 0.5, beta[1]])
    assert both.statistic == pytest.approx(off @ np.linalg.solve(cov[:2, :2], off), rel=0.02)
    assert model.test({"x0": 1, "x1": -1}).pvalue < 1e-6
    assert "x0 + -1 x1 = 0" in str(model.test({"x0": 1, "x1": -1}))


def test_a_hypothesis_that_stands_says_what_would_have_been_seen() -> None:
    """2.8 standard errors of least squares without noise, and with noise more; nothing of several together."""
    exact = ds.models.LinearRegression(epsilon=math.inf, **SETTING).fit(X, Y).test("x1", value=0.01)
    design = np.column_stack([X, np.ones(len(X))])
    _, rss, *_ = np.linalg.lstsq(design, Y, rcond=None)
    error = math.sqrt(np.linalg.inv(design.T @ design)[1, 1] * float(rss[0]) / (len(X) - 3))
    assert exact.seen == pytest.approx(2.8016 * error, rel=0.01)
    noisy = ds.models.LinearRegression(epsilon=1, **SETTING).fit(X, Y)
    one = noisy.test("x1")
    assert one.pvalue > 0.05
    assert one.seen is not None
    assert one.seen > exact.seen
    assert f"{one.seen:.3g} away from it is found with probability .8" in str(one)
    assert noisy.test(["x0", "x1"]).seen is None
    assert "Not rejected" not in str(noisy.test("x0"))


@pytest.mark.parametrize("price", [{"rho": "0.5"}, {"epsilon": 3}])
def test_noise_is_counted(price: Any) -> None:
    """60 tables: a coefficient of 0 and a pair of true values are rejected at most 13 times each (at .05: 1e-6)."""
    rng, rejected = np.random.default_rng(3), np.zeros(2)
    for seed in range(60):
        x = rng.uniform(-1, 1, (800, 2))
        y = 0.5 * x[:, 0] + rng.normal(0, 0.3, 800)
        model = ds.models.LinearRegression(**price, **(SETTING | {"random_state": seed})).fit(x, y)
        rejected += [model.test("x1").pvalue <= 0.05, model.test(["x0", "x1"], value=[0.5, 0.0]).pvalue <= 0.05]
    assert rejected.max() <= 13


def test_where_noise_rules_nothing_is_said() -> None:
    model = ds.models.LinearRegression(rho="0.000001", **SETTING).fit(X[:50], Y[:50])
    assert model.test("x0").pvalue == 1.0


def test_a_category_is_read_against_its_first_label() -> None:
    arms = RNG.choice(["old", "new"], 3000)
    table = {"arm": arms, "age": RNG.uniform(20, 80, 3000), "bp": 120 + 6.0 * (arms == "new") + RNG.normal(0, 8, 3000)}
    schema = ds.Schema({"arm": ds.Categories(["old", "new"]), "age": ds.Real(0, 100), "bp": ds.Real(60, 200)})
    session = ds.Session(table, schema, ds.Budget(epsilon=10, delta="1e-5"))
    model = session.fit(ds.models.LinearRegression(epsilon=5, delta="1e-6"), ["arm", "age"], "bp")
    spent = session.spent()
    new = next(n for n in model.feature_names_ if "new" in n)
    assert model.test(new).pvalue < 0.01
    assert model.test(new, value=6.0).pvalue > 0.001
    assert str(session.spent()) == str(spent)
    with pytest.raises(InvalidRequest, match="no coefficient"):
        model.test("arm=old")
    other = session.fit(ds.models.LinearRegression(epsilon=4, delta="1e-6", reference={"arm": "new"}), ["arm", "age"], "bp")
    assert other.feature_names_ == ["arm=old", "age"]
    assert other.coef_[0] == pytest.approx(-6, abs=3)
    for wrong in ({"arm": "none"}, {"age": "old"}, {"nobody": "old"}):
        with pytest.raises(InvalidRequest, match="reference"):
            session.fit(ds.models.LinearRegression(epsilon=0.1, reference=wrong), ["arm", "age"], "bp")


def test_classifiers() -> None:
    setting: Any = {"bounds": [(-1, 1)] * 2, "classes": [0, 1], "random_state": 2}
    model = ds.models.LogisticRegression(epsilon=6, intervals=True, **setting).fit(X, (Y > 0).astype(int))
    assert model.test("x0").pvalue < 1e-6
    # A test at the end of a 95 % interval has p = .05, coefficient by coefficient.
    for name, (low, high) in zip(("x0", "x1", "intercept"), model.confidence_intervals(0.95), strict=True):
        assert model.test(name, value=low).pvalue == pytest.approx(0.05, abs=1e-4)
        assert model.test(name, value=high).pvalue == pytest.approx(0.05, abs=1e-4)
    whole = model.test({"x0": 2.0}, value=2 * float(model.coef_[0, 0]) + 0.2)
    assert whole.pvalue == pytest.approx(model.test("x0", value=float(model.coef_[0, 0]) + 0.1).pvalue)
    assert "regularised" in whole.method
    assert model.test(["x0", "x1"]).pvalue < 1e-3
    without = ds.models.LogisticRegression(epsilon=6, **setting).fit(X, (Y > 0).astype(int))
    with pytest.raises(InvalidRequest, match="intervals=True"):
        without.test("x0")


@pytest.mark.parametrize(
    ("made", "asked", "words"),
    [
        ({}, "x7", "no coefficient"),
        ({}, [], "at least one"),
        ({}, [{"x0": 1}, {"x0": 2}], "none of them"),
        ({"fit_intercept": False}, "x0", "intercept"),
        ({"method": "objective"}, "x0", "released sums"),
    ],
)
def test_what_is_refused(made: Any, asked: Any, words: str) -> None:
    model = ds.models.LinearRegression(epsilon=3, **made, **SETTING).fit(X[:200], Y[:200])
    with pytest.raises(InvalidRequest, match=words):
        model.test(asked)
