"""Gamma regression: scikit-learn's fit in the limit, its loss, intervals, tables and what is refused."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from sklearn.linear_model import GammaRegressor as Plain

import discreet as ds
from discreet.core.price import Price
from discreet.errors import InvalidRequest
from discreet.models.design import Design, DesignRows
from discreet.models.feature import Feature
from discreet.models.losses import GammaLoss
from discreet.models.perturbation import ask_for
from discreet.models.solve.newton import minimise
from discreet.models.solve.objective import Objective
from discreet.models.target import Target

m = ds.models
BOUNDS: dict[str, Any] = {"bounds": (-1, 1), "target_bounds": (0.25, 10)}


def data(rows: int = 4000, seed: int = 0) -> tuple[Any, Any]:
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, (rows, 2))
    mean = np.exp(0.5 + 0.7 * X[:, 0] - 0.3 * X[:, 1])
    return X, np.clip(rng.gamma(4, mean / 4), 0.25, 10)


def test_without_noise_and_nearly_without_ridge_it_is_scikit_learns() -> None:
    X, y = data()
    ours = m.GammaRegressor(epsilon=math.inf, ridge=1e-5, **BOUNDS).fit(X, y)
    plain = Plain(alpha=0, tol=1e-9).fit(X, y)
    assert np.allclose([*ours.coef_, ours.intercept_], [*plain.coef_, plain.intercept_], atol=1e-5)
    assert np.allclose(ours.predict(X), plain.predict(X), rtol=1e-5)


def test_the_ridge_is_that_of_a_gamma_loss_times_the_least_share() -> None:
    """For rows (1, x) / sqrt(2) and scores counted from the geometric mean of the bounds."""
    from scipy.optimize import minimize

    x, y = np.linspace(-1, 1, 21), np.linspace(1, 4, 21)
    ours = m.GammaRegressor(epsilon=math.inf, ridge=2, bounds=(-1, 1), target_bounds=(1, 4)).fit(x[:, None], y)

    def objective(t: Any) -> float:
        eta = math.log(2) + (t[0] + t[1] * x) / math.sqrt(2)
        return float((y * np.exp(-eta) + eta).sum() / 4 + (t @ t))

    best = minimize(objective, np.zeros(2), tol=1e-12).x
    found = np.array([ours.intercept_ - math.log(2), ours.coef_[0]]) * math.sqrt(2)
    assert np.allclose(found, best, atol=1e-5)


@pytest.mark.parametrize("least", ["0.9", "0.5", "0.1", "0.000001"])
def test_slope_curvature_and_height_are_what_is_declared(least: str) -> None:
    loss, r = GammaLoss(Fraction(least)), float(least)
    z, y = np.meshgrid(np.linspace(-16, 16, 3201), np.geomspace(r, 1, 21))
    first, second, value = loss.first(z, y), loss.second(z, y), loss.value(z, y)
    assert np.abs(first).max() <= float(loss.slope)
    assert np.abs(first).max() > 0.99 * float(loss.slope), "tight"
    assert 0 <= second.min() <= second.max() <= float(loss.curvature)
    assert np.allclose(np.diff(value, axis=1) / 0.01, (first[:, 1:] + first[:, :-1]) / 2, atol=3e-3)
    smooth = np.abs(z[:, 1:] + math.log(1 / r) / 2) > 0.02
    bent = np.where(smooth, np.diff(first, axis=1) / 0.01 - second[:, 1:], 0.0)
    assert np.abs(bent).max() < 0.01
    passed = (loss.value(np.zeros(21), y[:, 0]) - value.min(axis=1)).max()
    assert 0.99 * float(loss.height) - 1e-6 <= passed <= float(loss.height)
    for reach in (0.0, 0.3, 2.0, 9.0):
        near = np.abs(first[:, np.abs(z[0]) <= reach]).max()
        assert near <= float(loss.slope_within(Fraction(reach)))


def test_every_fit_is_certified() -> None:
    """300 fits of rows that agree, contradict or lie at the corner of the loss, bounds near and far apart. Seeded; no draw
    decides, as each is certified or not."""
    rng = np.random.default_rng(1)
    for turn in range(300):
        width, rows = int(rng.integers(1, 5)), int(rng.choice([0, 1, 2, 40, 400]))
        least = float(rng.choice([2.0**-20, 0.001, 0.05, 0.9]))
        x = np.round(rng.uniform(-1, 1, (rows, width)), int(rng.integers(0, 3))) / math.sqrt(width)
        y = (np.full(rows, least), rng.choice([least, 1.0], rows), rng.uniform(least, 1, rows))[turn % 3]
        features = tuple(Feature(f"x{i}", -1.0, 1.0) for i in range(width))
        design, loss = Design(features, Target("y", (), least, 1.0), False), GammaLoss(Fraction(least))
        law: Any = ask_for(design, loss, Fraction(1, 1000), "objective", Price(epsilon=2), "add_remove").mechanism
        linear, tolerance = rng.normal(size=width) * float(law.scale), float(law.tolerance) / 2
        one = Objective(design, loss, rows=[DesignRows(x, y, None, None)])
        assert minimise(one, linear, float(law.ridge), tolerance).residual <= tolerance


def test_summary_tests_and_price() -> None:
    """Intervals of three coefficients at once: of 40 seeds each held at a level of .999."""
    X, y = data(20_000, 1)
    with ds.Ledger("test", ds.Budget(epsilon=4, delta="1e-6")) as ledger:
        facts: dict[str, Any] = {"intervals": True, "ledger": ledger, "random_state": 1, **BOUNDS}
        model = m.GammaRegressor(epsilon=4, delta="1e-6", **facts).fit(X, y)
        assert ledger.spent().epsilon == 4
    known = model.confidence_intervals(0.999)
    people = m.GammaRegressor(epsilon=math.inf, ridge=5, **BOUNDS).fit(*data(100_000, 2))
    aim = np.array([*people.coef_, people.intercept_])  # five times as many people, and as much of the ridge for each
    assert ((known.lower < aim) & (aim < known.upper)).all(), (known.lower, aim, known.upper)
    assert (known.upper - known.lower < 0.5).all()
    assert "intercept" in str(model.summary())
    assert model.test("x0").pvalue < 0.01
    assert np.allclose(np.log(model.rate_ratios(0.999).lower), known.lower)


def test_sessions_files_and_amounts_beyond_the_bounds(tmp_path: Any) -> None:
    X, y = data(500)
    table = {"a": X[:, 0], "arm": np.where(X[:, 1] > 0, "new", "old"), "cost": [*y[:-4].tolist(), 1e300, None, -4.0, 0.0]}
    schema = ds.Schema(
        {"a": ds.Real(-1, 1), "arm": ds.Categories(["old", "new"]), "cost": ds.Real(0.25, 10)}, neighbors="replace"
    )
    session = ds.Session(table, schema, ledger="test", seed=1)
    model = session.fit(m.GammaRegressor(epsilon=3, intervals=True), ["a", "arm"], "cost")
    assert model.feature_names_ == ["a", "arm=new"]
    loaded = m.load(model.publish(tmp_path / "model.json"))
    rows = {"a": [0.5, -3.0], "arm": ["new", "old"]}
    assert np.allclose(loaded.predict(rows), model.predict(rows))
    model.intercept_ = 99.0
    assert (model.predict(rows) == 10).all()
    model.intercept_ = -99.0
    assert (model.predict(rows) == 0.25).all()
    empty = ds.Session({n: [] for n in table}, ds.Schema(schema.columns), ledger="test", seed=1)
    assert np.isfinite(empty.fit(m.GammaRegressor(epsilon=1), ["a"], "cost").coef_).all()


def test_what_is_refused() -> None:
    X, y = data(50)
    for words, bounds, amounts in [
        ("amounts must be positive, got 0 in y", (1, 9), y * 0),
        ("amounts must be positive, got 0 in target_bounds", (0, 9), y),
        (r"at most 2\*\*20 times apart", (1e-7, 1), y),
    ]:
        with pytest.raises(InvalidRequest, match=words):
            m.GammaRegressor(epsilon=1, bounds=(-1, 1), target_bounds=bounds).fit(X, amounts)
    session = ds.Session({"x": [0.5], "y": [1.0]}, ds.Schema({"x": ds.Real(0, 1), "y": ds.Real(0, 1)}), ledger="test")
    with pytest.raises(InvalidRequest, match="got 0 in the bounds of 'y'; use"):
        session.fit(m.GammaRegressor(epsilon=1), ["x"], "y")
