"""Losses of one's own over convex sets: minimisers against other solvers, certificates, privacy on the boundary, input."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from scipy import optimize

import discreet as ds
from discreet.core.release import Release
from discreet.errors import InvalidRequest, UnsupportedFormat
from discreet.mechanisms import ObjectivePerturbation
from discreet.models.design import Design, DesignRows
from discreet.models.feature import Feature
from discreet.models.losses import Huber, Logistic, Loss, PoissonLoss, Squared
from discreet.models.own_losses import declared
from discreet.models.queries.constrained_problem import (
    ConstrainedMinimiser,
    ConstrainedObjective,
    ConstrainedProblem,
    minimise_within,
)
from discreet.models.regions import Region, region_of, regions
from discreet.models.target import Target

m = ds.models
UNIT: dict[str, Any] = {"bounds": (-1, 1), "target_bounds": (-2, 2)}
SQUARED = m.own_loss(
    "squared", lambda z, y: (z - y) ** 2 / 2, lambda z, y: z - y, lambda z, y: np.ones_like(z), slope=4, curvature=1
)


def simplex(point: Any) -> Any:
    """The nearest weights that are not negative and sum to 1."""
    high = np.sort(point)[::-1]
    over = (np.cumsum(high) - 1) / np.arange(1, len(point) + 1)
    return np.maximum(point - over[np.flatnonzero(high > over)[-1]], 0.0)


def objective(rng: Any, d: int, n: int, loss: Loss, region: Region) -> ConstrainedObjective:
    x = rng.normal(size=(n, d))
    x /= np.maximum(1.0, np.linalg.norm(x, axis=1))[:, None]
    features = tuple(Feature(f"x{i}", -1.0, 1.0) for i in range(d))
    rows = DesignRows(x, rng.choice([-1.0, 1.0], n), None, None)
    return ConstrainedObjective(Design(features, Target("y"), False), loss, region, rows=[rows])


SETS: list[tuple[Any, Any, Any]] = [
    (m.Ball("0.5"), None, {"type": "ineq", "fun": lambda t: 0.25 - t @ t, "jac": lambda t: -2 * t}),
    (m.Box(0, "0.3"), (0, 0.3), None),
    (m.Box("-0.1"), (-0.1, None), None),
    (simplex, (0, None), {"type": "eq", "fun": lambda t: t.sum() - 1, "jac": np.ones_like}),
]


@pytest.mark.parametrize("method", ["objective", "output"])
@pytest.mark.parametrize("kind", [m.ConstrainedRegression, m.ConstrainedClassifier, m.Classifier])
def test_a_loss_whose_slope_does_not_hold_at_such_targets_is_refused_before_it_is_paid_for(kind: Any, method: str) -> None:
    """At a target of -1 the slope of the loss of counts is e^z + 1, twice what it declares."""
    x = np.linspace(-1, 1, 9)[:, None]
    with ds.Ledger("sqlite://", ds.Budget(epsilon=1)) as ledger:
        facts: dict[str, Any] = {"epsilon": 1, "bounds": (-1, 1), "method": method, "ledger": ledger}
        facts |= {"target_bounds": (-1, 1)} if kind is m.ConstrainedRegression else {"classes": [-1, 1]}
        for loss in (PoissonLoss(), declared(PoissonLoss(), "0.9", None)):
            with pytest.raises(InvalidRequest, match="targets from 0 to 1, got 'y' from -1"):
                kind(loss=loss, **facts).fit(x, np.sign(x[:, 0] - 0.1))
        if kind is m.ConstrainedRegression:
            with pytest.raises(InvalidRequest, match="two classes"):
                kind(loss=Logistic(), **facts).fit(x, x[:, 0])
        assert ledger.spent().epsilon == 0


@pytest.mark.parametrize("method", ["opera", "outpert"])
@pytest.mark.parametrize(("loss", "words"), [(PoissonLoss(), "targets from 0"), (Squared(), "no bound on its slope")])
def test_a_descent_looks_at_its_loss_before_it_is_paid_for(method: str, loss: Loss, words: str) -> None:
    x = np.linspace(-1, 1, 9)[:, None]
    with ds.Ledger("sqlite://", ds.Budget(epsilon=1), neighbors="replace") as ledger:
        facts: dict[str, Any] = {"bounds": (-1, 1), "classes": [-1, 1], "ledger": ledger, "neighbors": "replace"}
        with pytest.raises(InvalidRequest, match=words):
            m.Classifier(epsilon=1, loss=loss, method=method, **facts).fit(x, np.sign(x[:, 0] - 0.1))
        assert ledger.spent().epsilon == 0


@pytest.mark.parametrize(("given", "limits", "constraint"), SETS, ids=["ball", "box", "half", "simplex"])
@pytest.mark.parametrize("loss", [Logistic(), Huber("0.5")], ids=["logistic", "huber"])
def test_minimisers_agree_with_another_solver(given: Any, limits: Any, constraint: Any, loss: Loss) -> None:
    rng = np.random.default_rng(0)
    for _ in range(6):
        d = int(rng.integers(2, 6))
        region = region_of(given, d)
        made = objective(rng, d, 50, loss, region)
        linear, ridge = rng.normal(size=d) * 5, 10.0 ** rng.uniform(-1, 2)
        found = minimise_within(made, region, linear, ridge, 1e-9)
        assert found.residual <= 1e-9

        def value(t: Any, made: Any = made, linear: Any = linear, ridge: float = ridge) -> tuple[float, Any]:
            at = made.at(t, "value").value + linear @ t + ridge * t @ t / 2
            return float(at), made.at(t, "first").gradient + linear + ridge * t

        other = optimize.minimize(
            value, region.project(np.zeros(d)), jac=True, method="SLSQP", bounds=None if limits is None else [limits] * d,
            constraints=() if constraint is None else constraint, options={"ftol": 1e-15, "maxiter": 500},
        )  # fmt: skip
        assert np.linalg.norm(found.theta - other.x) <= 1e-5 * (1 + 10 / ridge)
        assert value(found.theta)[0] <= other.fun + 1e-9
        # Every other point of the set is higher by at least what strong convexity promises.
        for t in rng.normal(size=(20, d)):
            there = region.project(t)
            gap = value(there)[0] - value(found.theta)[0]
            assert gap >= ridge / 2 * np.linalg.norm(there - found.theta) ** 2 - 1e-8


def test_certificates_hold() -> None:
    """A loose tolerance stops early; the point is then as near as its residual says."""
    rng = np.random.default_rng(1)
    for _ in range(20):
        region = m.Box(0, "0.3")
        made = objective(rng, 4, 60, Logistic(), region)
        linear, ridge = rng.normal(size=4) * 5, 1.0
        best = minimise_within(made, region, linear, ridge, 1e-11)
        loose = minimise_within(made, region, linear, ridge, 1.0)
        assert np.linalg.norm(loose.theta - best.theta) <= (loose.residual + best.residual) / ridge


@pytest.mark.parametrize("given", [m.Ball("0.5"), m.Box("-0.3", "0.2"), simplex], ids=["ball", "box", "simplex"])
@pytest.mark.parametrize("relation", ["add_remove", "replace"])
def test_pure_privacy_on_and_off_the_boundary(given: Any, relation: Any) -> None:
    """z = minimiser + normal has a density on the whole plane; of 40 pairs of neighbours its ratio never passes epsilon."""
    rng = np.random.default_rng(2)
    region = region_of(given, 2)
    design = Design((Feature("a", -1.0, 1.0), Feature("b", -1.0, 1.0)), Target("y"), False)
    distance = ConstrainedProblem(design, Logistic(), region).distance(relation)
    law = ObjectivePerturbation.costing(distance, ridge="0.2", epsilon=1)
    ridge, scale = float(law.ridge), float(law.scale)

    def pull(rows: Any, z: Any) -> Any:
        t = region.project(z)
        x, y = rows
        return -(x.T @ Logistic().first(x @ t, y) + ridge * t + (z - t))

    def log_density(rows: Any, z: Any) -> float:
        h = 1e-5
        columns = [(pull(rows, z + h * e) - pull(rows, z - h * e)) / (2 * h) for e in np.eye(2)]
        return float(np.linalg.slogdet(np.array(columns))[1] - np.linalg.norm(pull(rows, z)) / scale)

    worst = 0.0
    for _ in range(40):
        n = int(rng.integers(0, 6))
        x = rng.normal(size=(n + 2, 2))
        x /= np.linalg.norm(x, axis=1)[:, None]
        y = rng.choice([-1.0, 1.0], n + 2)
        one = x[: n + 1], y[: n + 1]
        two = (x[:n], y[:n]) if relation == "add_remove" else (np.delete(x, n, 0), np.delete(y, n))
        for z in rng.normal(size=(40, 2)) * rng.choice([0.2, 1.0, 3.0], (40, 1)):
            worst = max(worst, abs(log_density(one, z) - log_density(two, z)))
    assert worst <= float(1 - law.settle) + 1e-5
    assert worst >= 0.3, "the bound is not idle"


def test_a_ball_of_its_own_is_that_of_linear_regression() -> None:
    rng = np.random.default_rng(3)
    X = rng.uniform(-1, 1, (500, 3))
    for factor in (1, 5):  # off and on the boundary
        y = np.clip(factor * (0.3 + X @ [0.5, -0.4, 0.2]), -2, 2)
        one = m.LinearRegression(epsilon=math.inf, method="objective", ridge=4, **UNIT).fit(X, y)
        two = m.ConstrainedRegression(epsilon=math.inf, loss=SQUARED, zeta=2, region=m.Ball(), **UNIT).fit(X, y)
        assert two.coef_ == pytest.approx(one.coef_, abs=1e-6)
        assert (np.linalg.norm(two.fitted_.theta) > 0.999) == (factor == 5)


@pytest.mark.parametrize("method", ["objective", "output"])
@pytest.mark.parametrize("price", [{"epsilon": 1}, {"epsilon": 1, "delta": "1e-6"}, {"rho": "0.5"}])
def test_prices_are_paid_and_releases_read_back(method: Any, price: Any) -> None:
    rng = np.random.default_rng(4)
    X = rng.uniform(-1, 1, (200, 2))
    made = m.ConstrainedClassifier(
        loss=Logistic(), region=m.Ball(2), bounds=(-1, 1), classes=["n", "y"], ridge=20, method=method, **price
    ).fit(X, np.where(X[:, 0] > 0, "y", "n"))
    cost = made.privacy_.cost
    assert (cost.epsilon == 1) if "epsilon" in price else (cost.rho == 0.5)
    assert set(made.predict(X)) <= {"n", "y"}
    release = made.privacy_.releases[0]
    again = Release.from_json(release.to_json())
    assert again.query == release.query
    assert again.distance == release.distance


@pytest.mark.parametrize("method", ["objective", "output"])
def test_what_noise_moved_out_of_a_set_is_put_back(method: Any) -> None:
    X = np.random.default_rng(7).uniform(-1, 1, (50, 2))
    y = np.where(X[:, 0] > 0, "n", "y")
    kind = {"loss": Logistic(), "region": m.Box(0), "bounds": (-1, 1), "classes": ["n", "y"], "method": method}
    for seed in range(10):
        made = m.ConstrainedClassifier(epsilon=0.5, random_state=seed, **kind).fit(X, y)
        assert min([*made.coef_[0], *made.intercept_]) >= 0
    free = m.ConstrainedClassifier(epsilon=math.inf, free_intercept=True, **kind).fit(X - 0.9, np.full(50, "n"))
    assert free.intercept_[0] < -0.1, "the intercept alone may be negative"
    assert (free.coef_ >= 0).all()
    release = free.privacy_.releases[0]
    assert Release.from_json(release.to_json()).query == release.query
    with pytest.raises(InvalidRequest, match="no set holds back"):
        m.ConstrainedClassifier(epsilon=1, intervals=True, **kind).fit(X, y)


def test_output_moves_no_further_than_its_distance() -> None:
    rng = np.random.default_rng(5)
    region = m.Box(0, "0.4")
    design = Design((Feature("a", -1.0, 1.0), Feature("b", -1.0, 1.0)), Target("y"), False)
    query = ConstrainedMinimiser(ConstrainedProblem(design, Logistic(), region), 1)
    far, most = 0.0, float(query.distance("replace").l2)
    for _ in range(100):
        made = objective(rng, 2, 4, Logistic(), region)
        rows = made._rows[0]  # type: ignore[index]
        other = DesignRows(np.concatenate([rows.x[:3], -rows.x[3:]]), rows.y, None, None)
        moved = ConstrainedObjective(design, Logistic(), region, rows=[other])
        far = max(far, float(np.linalg.norm(query.minimised(made) - query.minimised(moved))))
    assert 0.05 * most < far <= most


def test_declarations_of_losses_and_sets() -> None:
    assert declared(SQUARED, None, None) is SQUARED
    less = declared(SQUARED, 2, None)
    assert (less.slope, less.curvature) == (2, 1)
    assert less.first(np.array([9.0]), np.array([0.0])) == 2.0
    design = Design((Feature("a", -1.0, 1.0),), Target("y"), False)
    assert not ConstrainedProblem(design, less, m.Ball()).described, "a ledger does not repeat what it cannot tell apart"
    assert not ConstrainedMinimiser(ConstrainedProblem(design, Logistic(), region_of(simplex, 1)), 1).described
    assert ConstrainedProblem(design, declared(Logistic(), 1, None), m.Ball()).described
    for region in (m.Ball(2), m.Box(0), m.Box(None, 1)):
        assert regions.read(region.to_dict()) == region
    with pytest.raises(UnsupportedFormat, match="somebody's own"):
        regions.read(region_of(simplex, 3).to_dict())


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"loss": None}, "make one with own_loss"),
        ({"region": 3}, "a function that projects"),
        ({"region": lambda t: t[:1]}, "finite numbers"),
        ({"region": lambda t: t / 2}, "leave a point"),
        ({"region": lambda t: np.sign(t) * 5}, "move points apart"),
        ({"method": "magic"}, "objective, output"),
        ({"zeta": 0}, "zeta must be positive"),
        ({"ridge": -1}, "ridge must be positive"),
        ({"penalty": "lasso"}, "penalty must be"),
    ],
)
def test_input_is_checked(arguments: Any, message: str) -> None:
    X = np.random.default_rng(6).uniform(-1, 1, (30, 2))
    with pytest.raises(InvalidRequest, match=message):
        m.ConstrainedRegression(**({"loss": SQUARED, "zeta": 2, "epsilon": 1, **UNIT} | arguments)).fit(X, X[:, 0])
    with pytest.raises(InvalidRequest, match="lo <= hi"):
        m.Box(1, 0)


def test_a_session_fits_within_a_set() -> None:
    rng = np.random.default_rng(7)
    frame = {"x": rng.uniform(0, 10, 300), "y": rng.uniform(0, 5, 300)}
    schema = ds.Schema({"x": ds.Real(0, 10), "y": ds.Real(0, 5)})
    session = ds.Session(frame, schema=schema, budget=ds.Budget(epsilon=3), ledger="test", seed=0)
    made = session.fit(m.ConstrainedRegression(loss=Huber(), region=m.Box(0), epsilon=2, ridge=50), ["x"], "y")
    assert session.ledger.spent().epsilon == 2
    assert np.isfinite(made.predict({"x": [1.0]})).all()
