"""Poisson regression: the golden minimum, neighbours, intervals, prices and what is refused."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from sklearn.linear_model import PoissonRegressor as Plain

import discreet as ds
from discreet.errors import InvalidRequest
from discreet.models.design import Design, DesignRows
from discreet.models.losses import PoissonLoss
from discreet.models.solve.objective import Objective

m = ds.models


def data(rows: int = 4000, seed: int = 0) -> tuple[Any, Any]:
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, (rows, 2))
    return X, rng.poisson(np.exp(0.5 + 0.7 * X[:, 0] - 0.3 * X[:, 1]))


def test_the_golden_minimum() -> None:
    x = np.linspace(-1, 1, 21)
    rows = DesignRows(np.column_stack([np.ones(21), x]) / math.sqrt(2), np.round(3 * np.exp(x)) / 10, None, None)
    design = Design.of(ds.Schema({"x": ds.Real(-1, 1), "y": ds.Real(0, 10)}), ["x"], "y")
    found = Objective(design, PoissonLoss(Fraction(2)), rows=[rows]).minimise(np.zeros(2), 0.1, 1e-9)
    assert np.allclose(found, [1.067766, 1.374072], atol=1e-6), "the ridge of 1 beside counts up to 10, over 10"


def test_without_noise_and_nearly_without_ridge_it_is_scikit_learns() -> None:
    X, y = data()
    ours = m.PoissonRegressor(epsilon=math.inf, bounds=(-1, 1), target_bounds=(0, 40), reach=4, ridge=1e-4).fit(X, y)
    plain = Plain(alpha=0, tol=1e-8).fit(X, y)
    assert np.allclose(ours.coef_, plain.coef_, atol=1e-3)
    assert ours.intercept_ == pytest.approx(plain.intercept_, abs=1e-3)
    assert np.allclose(ours.predict(X), plain.predict(X), rtol=1e-3)


@pytest.mark.parametrize("reach", ["0.5", "2", "6"])
def test_slope_curvature_and_height_are_what_is_declared(reach: str) -> None:
    loss = PoissonLoss(Fraction(reach))
    z, y = np.meshgrid(np.linspace(-8, 12, 801), np.linspace(0, 1, 21))
    first, second, value = loss.first(z, y), loss.second(z, y), loss.value(z, y)
    assert np.abs(first).max() <= float(loss.slope)
    assert 0 <= second.min() <= second.max() <= float(loss.curvature)
    step = z[0, 1] - z[0, 0]
    assert np.allclose(np.diff(value, axis=1) / step, (first[:, 1:] + first[:, :-1]) / 2, atol=1e-3)
    assert (loss.value(np.zeros(21), y[:, 0]) - value.min(axis=1)).max() <= float(max(loss.height, loss.slope))


def test_summary_tests_and_price() -> None:
    X, y = data(20_000, 1)
    with ds.Ledger("test", ds.Budget(epsilon=4, delta="1e-6")) as ledger:
        model = m.PoissonRegressor(
            epsilon=4, delta="1e-6", bounds=(-1, 1), target_bounds=(0, 15), intervals=True, ledger=ledger, random_state=1
        ).fit(X, y)
        assert ledger.spent().epsilon == 4
    assert (
        m.PoissonRegressor(epsilon=4, bounds=(-1, 1), target_bounds=(0, 15)).fit(X, y).paid_score(X, y, epsilon=1).value <= 1
    )
    low, high = model.confidence_intervals().lower, model.confidence_intervals().upper
    people = m.PoissonRegressor(epsilon=math.inf, bounds=(-1, 1), target_bounds=(0, 15), ridge=10).fit(*data(200_000, 2))
    aim = np.array([*people.coef_, people.intercept_])  # ten times as many people, and as much of the ridge for each
    assert ((low - 0.01 < aim) & (aim < high + 0.01)).all(), (low, aim, high)
    assert "intercept" in str(model.summary())
    assert model.test("x0").pvalue < 0.01
    assert model.test("intercept", model.intercept_).pvalue == pytest.approx(1, abs=1e-6)
    assert np.allclose(np.log(model.rate_ratios().lower), low)


def test_sessions_files_and_counts_beyond_the_bound(tmp_path: Any) -> None:
    X, y = data(500)
    table = {"a": X[:, 0], "arm": np.where(X[:, 1] > 0, "new", "old"), "visits": [*y[:-3].tolist(), 10**9, None, -4]}
    schema = ds.Schema(
        {"a": ds.Real(-1, 1), "arm": ds.Categories(["old", "new"]), "visits": ds.Integer(0, 20)}, neighbors="replace"
    )
    session = ds.Session(table, schema, ledger="test", seed=1)
    model = session.fit(m.PoissonRegressor(epsilon=3, intervals=True), ["a", "arm"], "visits")
    assert model.feature_names_ == ["a", "arm=new"]
    assert "reference levels: arm: old" in str(model.summary())
    loaded = m.load(model.publish(tmp_path / "model.json"))
    rows = {"a": [0.5, -3.0], "arm": ["new", "old"]}
    assert np.allclose(loaded.predict(rows), model.predict(rows))
    assert (loaded.predict(rows) <= 20).all()
    empty = ds.Session({n: [] for n in table}, ds.Schema(schema.columns), ledger="test", seed=1)
    assert np.isfinite(empty.fit(m.PoissonRegressor(epsilon=1), ["a"], "visits").coef_).all()


def test_what_is_refused() -> None:
    X, y = data(50)
    for words, call in [
        ("negative", lambda: m.PoissonRegressor(epsilon=1, bounds=(-1, 1), target_bounds=(0, 9)).fit(X, y - 5)),
        ("target_bounds", lambda: m.PoissonRegressor(epsilon=1, bounds=(-1, 1), target_bounds=(-1, 9)).fit(X, y)),
        ("reach", lambda: m.PoissonRegressor(epsilon=1, bounds=(-1, 1), target_bounds=(0, 9), reach=90).fit(X, y)),
        ("paid for", lambda: m.PoissonRegressor(epsilon=1, bounds=(-1, 1), target_bounds=(0, 9)).fit(X, y).summary()),
        ("shares", lambda: m.PoissonRegressor(epsilon=1, shares=(1, 1, 1), bounds=(-1, 1), target_bounds=(0, 9)).fit(X, y)),
    ]:
        with pytest.raises(InvalidRequest, match=words):
            call()
