"""OPERA: how far one person moves the last point of a descent, ideally and in doubles."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import mpmath
import numpy as np
import pytest

import discreet as ds
from discreet.errors import InvalidRequest
from discreet.models.losses import HuberHinge, Logistic, Loss
from discreet.models.own_losses import own_loss
from discreet.models.queries.opera import Descent, Opera, largest_rate
from tests.models.test_objective_perturbation import design, objective

HALF = HuberHinge()


def linear_loss() -> Loss:
    """A straight line; its curvature has to be declared positive, and is next to nothing."""

    def value(z: Any, y: Any) -> Any:
        return -y * z

    return own_loss("line", value, lambda z, y: -y, lambda z, y: np.zeros_like(z), slope=1, curvature="1e-9")


def test_the_oracle() -> None:
    """L = 1, linear loss, n = 50, m = .01, rate 5, 200 steps."""
    query = Descent(design(1), linear_loss(), Fraction(1, 2), 50, 200, Fraction(5))
    assert float(query.ideal) == pytest.approx(3.99985978934, abs=1e-10)
    assert float(query.ideal) >= 4 * (1 - 0.95**200)
    assert float(query.distance("replace").l2) == pytest.approx(3.99985978934, abs=1e-9)
    x = np.ones((50, 1))
    one, other = (objective(x, np.r_[np.ones(49), y], linear_loss()) for y in (1.0, -1.0))
    apart = abs(query.descended(one) - query.descended(other))[0]
    assert apart == pytest.approx(2 / 0.5 * (1 - 0.95**200), abs=1e-9)  # reached: the distance is tight
    assert apart <= float(query.distance("replace").l2)


def test_without_a_ridge() -> None:
    query = Descent(design(1), Logistic(), Fraction(0), 100, 30, Fraction(8))
    assert query.ideal == Fraction(2 * 30 * 8, 100)
    with pytest.raises(InvalidRequest, match="rate must be at most"):
        Descent(design(1), Logistic(), Fraction(0), 100, 30, Fraction(9))
    tiny = Descent(design(1), Logistic(), Fraction(1, 10**12), 100, 30, Fraction(7))
    assert float(tiny.ideal) == pytest.approx(2 * 30 * 7 / 100, rel=1e-9)


def test_the_printed_distances_are_larger() -> None:
    """5 L (m + b) / (n m b) and 3 L T rate / n are at least 2.5 and 1.5 times ours."""
    n, ridge = 1000, Fraction(1)
    m = float(ridge) / n
    top = largest_rate(design(1), Logistic(), ridge, n)
    beta = 0.25 + m
    assert float(top) == pytest.approx(2 / (beta + m))
    ours = Descent(design(1), Logistic(), ridge, n, 10_000, top)
    assert 5 * (m + beta) / (n * m * beta) / float(ours.ideal) >= 2.5
    assert 3 * 100 * 8 / n / float(Descent(design(1), Logistic(), Fraction(0), n, 100, Fraction(8)).ideal) == pytest.approx(
        1.5
    )


@pytest.mark.parametrize("loss", [Logistic(), HALF, HuberHinge(Fraction(1, 10))], ids=lambda v: f"{v.name}")
def test_random_neighbours_stay_within_the_distance(loss: Loss) -> None:
    rng = np.random.default_rng(7)
    largest = 0.0
    for _ in range(40):
        width, n = int(rng.integers(1, 4)), int(rng.choice([2, 10, 40]))
        ridge = Fraction(float(rng.choice([0.0, 0.01, 1.0, 20.0])))
        top = largest_rate(design(width), loss, ridge, n)
        query = Descent(
            design(width), loss, ridge, n, int(rng.choice([1, 5, 60])), top * Fraction(int(rng.choice([1, 2, 4])), 4)
        )
        x = rng.normal(size=(n, width))
        x /= np.linalg.norm(x, axis=1, keepdims=True)
        if rng.random() < 0.5:
            x[:] = x[0]
        y = rng.choice([-1.0, 1.0], n) if rng.random() < 0.5 else np.ones(n)
        other = y.copy()
        other[0] = -other[0]
        apart = np.linalg.norm(query.descended(objective(x, y, loss)) - query.descended(objective(x, other, loss)))
        declared = float(query.distance("replace").l2)
        assert apart <= declared
        largest = max(largest, float(apart) / declared)
    assert largest > 0.45


def test_rounding_is_bounded() -> None:
    """A descent in doubles against one in 50 digits: no further off than the declared error of all its steps."""
    rng = np.random.default_rng(3)
    x = rng.normal(size=(12, 2))
    x /= np.linalg.norm(x, axis=1, keepdims=True)
    y = np.where(x[:, 0] > 0, 1.0, -1.0)
    query = Descent(design(2), Logistic(), Fraction(1, 2), 12, 40, Fraction(3))
    found = query.descended(objective(x, y, Logistic()))
    with mpmath.workdps(50):
        theta = [mpmath.mpf(0), mpmath.mpf(0)]
        for _ in range(40):
            pull = [mpmath.mpf(1) / 24 * t for t in theta]
            for row, label in zip(x, y, strict=True):
                slope = -label / (1 + mpmath.exp(label * sum(mpmath.mpf(a) * t for a, t in zip(row, theta, strict=True))))
                pull = [p + slope * mpmath.mpf(a) / 12 for p, a in zip(pull, row, strict=True)]
            theta = [t - 3 * p for t, p in zip(theta, pull, strict=True)]
        apart = float(mpmath.sqrt(sum((mpmath.mpf(float(f)) - t) ** 2 for f, t in zip(found, theta, strict=True))))
    assert 0 < apart <= 40 * float(query.rounding)
    assert 2 * 40 * float(query.rounding) < 1e-6 * float(query.ideal)


def test_the_smoothness_includes_the_ridge() -> None:
    """Where the rate were allowed by the data's curvature alone, a step at 2 / c would not bring points closer."""
    n, ridge = 10, Fraction(10)
    top = largest_rate(design(1), Logistic(), ridge, n)
    assert top == 2 / (Fraction(1, 4) + 2 * ridge / n)
    with pytest.raises(InvalidRequest, match="drive neighbours apart"):
        Descent(design(1), Logistic(), ridge, n, 3, 2 / Fraction(1, 4))


def test_models_by_opera() -> None:
    rng = np.random.default_rng(0)
    x = rng.uniform(-1, 1, (4000, 3))
    y = (x[:, 0] > 0).astype(int)
    shared: dict[str, Any] = {"bounds": (-1, 1), "classes": [0, 1], "ridge": 4, "random_state": 3}
    for kind in (ds.models.LogisticRegression, ds.models.LinearSVC):
        for price in ({"epsilon": 1}, {"epsilon": 1, "delta": 1e-5}, {"rho": 0.5}):
            model = kind(**shared, **price, method="opera", neighbors="replace").fit(x, y)
            assert np.mean(model.predict(x) == y) > 0.85
            assert model.privacy_.method == "opera"
            if "rho" in price:
                assert model.privacy_.cost.rho == Fraction(1, 2)
            else:
                assert model.privacy_.cost.epsilon == 1
        with pytest.raises(InvalidRequest, match="neighbors='replace'"):
            kind(**shared, epsilon=1, method="opera").fit(x, y)
    slow = ds.models.LogisticRegression(**shared, epsilon=math.inf, method=Opera(3, "0.5"), neighbors="replace").fit(x, y)
    fast = ds.models.LogisticRegression(**shared, epsilon=math.inf, method=Opera(3000), neighbors="replace").fit(x, y)
    exact = ds.models.LogisticRegression(**shared, epsilon=math.inf, neighbors="replace").fit(x, y)
    assert np.abs(slow.coef_).max() < np.abs(fast.coef_).max()
    assert np.allclose(fast.coef_, exact.coef_, rtol=1e-3)
    bare = ds.models.LogisticRegression(**{**shared, "ridge": 0}, epsilon=1, method="opera", neighbors="replace").fit(x, y)
    assert bare.ridge_ == 0


def test_bad_requests() -> None:
    for bad in ({"steps": 0}, {"steps": 1.5}, {"steps": True}, {"rate": 0}, {"rate": -1}):
        with pytest.raises(InvalidRequest):
            Opera(**bad)  # type: ignore[arg-type]
    query = Descent(design(1), Logistic(), Fraction(1), 10, 5, Fraction(1))
    for relation in ("add_remove", "both"):
        with pytest.raises(InvalidRequest, match="replace"):
            query.distance(relation)  # type: ignore[arg-type]
    x, y = np.zeros((4, 1)), [0, 1, 0, 1]
    with pytest.raises(InvalidRequest, match="method must be one of"):
        ds.models.LogisticRegression(epsilon=1, bounds=(-1, 1), classes=[0, 1], method="wish").fit(x, y)
    schema = ds.Schema({"a": ds.Real(0, 1), "y": ds.Categories([0, 1])}, person="id", max_rows=2, neighbors="replace")
    session = ds.Session({"a": [0.1], "y": [1], "id": [1]}, schema, ledger="test")
    with pytest.raises(InvalidRequest, match="not public"):
        session.fit(ds.models.LogisticRegression(epsilon=1, method="opera"), ["a"], "y")
