"""Every fit ends with a minimiser that is as close as its law says, in a public number of steps, whatever the rows."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from study import fits as study

import discreet as ds
from discreet.core.price import Price
from discreet.errors import InvalidRequest
from discreet.mechanisms import ObjectivePerturbation
from discreet.mechanisms.objective_perturbation import certifiable
from discreet.models import design
from discreet.models.design import Design, DesignRows
from discreet.models.estimators import private_model
from discreet.models.feature import Feature
from discreet.models.losses import Huber, HuberHinge, Logistic, Loss
from discreet.models.perturbation import ask_for, noise_variance, objective_law
from discreet.models.queries.constrained_problem import (
    ConstrainedMinimiser,
    ConstrainedObjective,
    ConstrainedProblem,
    minimise_within,
)
from discreet.models.queries.empirical_risk import Minimiser, Problem
from discreet.models.queries.regression_sums import RegressionMoments, error_law_of, solve
from discreet.models.regions import EVERYWHERE, Ball, Box, FreeLast, Region, own_region
from discreet.models.solve import newton_in_region, projected_gradient
from discreet.models.solve.certificate import Minimum, PerturbedObjective
from discreet.models.solve.newton import minimise
from discreet.models.solve.objective import Objective, Totals
from discreet.models.solve.projected_gradient import descend, most_steps
from discreet.models.target import Target

m = ds.models


def small(width: int, most_rows: int = 1 << 20) -> Design:
    features = tuple(Feature(f"x{i}", -1.0, 1.0) for i in range(width))
    return Design(features, Target("y", (0, 1)), False, most_rows=most_rows)


def missed(one: Objective, region: Region, theta: Any, linear: Any, ridge: float) -> float:
    """How far one projected step moves a point, times its steepness: nothing at a minimiser over the set."""
    steep = float(one.loss.curvature) * one.at(theta, "first").weights + ridge
    slope = one.at(theta, "first").gradient + linear + ridge * theta
    return float(steep * np.linalg.norm(region.project(theta - slope / steep) - theta))


@pytest.mark.parametrize("seed", [23, 95, *range(20)])
def test_columns_of_rounded_numbers_in_a_wide_ball(seed: int) -> None:
    """400 rows, two columns rounded to a decimal, a narrow corner, noise on the minimiser: two of these once answered 0."""
    rng = np.random.default_rng(seed)
    x = np.round(rng.uniform(-1, 1, (400, 2)), 1)
    random, wide = rng.choice([-1.0, 1.0], 400), x[:, 0] + x[:, 1] + 0.3 * rng.normal(size=400)
    y = (np.where(x[:, 0] > 0, 1.0, -1.0), random, np.where(wide > 0, 1.0, -1.0))[seed % 3]
    rows = DesignRows(np.column_stack([x, np.ones(400)]) / np.sqrt(3), y, None, None)
    one = ConstrainedObjective(small(3), HuberHinge(Fraction(1, 50)), Ball(1000), rows=[rows])
    query = ConstrainedMinimiser(ConstrainedProblem(one.design, one.loss, one.region), Fraction(1, 2))
    theta = query.minimised(one)
    assert missed(one, one.region, theta, np.zeros(3), 0.5) <= 1e-6
    assert np.linalg.norm(theta) > 0.1


def test_two_rows_are_fitted_as_one_is() -> None:
    """A hinge in a ball of 100, ridge .001, ε = 8: of 400 fits on two rows 96 were once not certified, of 400 on one none.

    With both numbers 0, and the answer a function of a certified minimiser, there is nothing to tell the tables apart by.
    """
    for count in (1, 2):
        x = np.tile([[0.5, 0.3, 1.0]], (count, 1)) / np.sqrt(3)
        one = ConstrainedObjective(
            small(3), HuberHinge(), Ball(100), rows=[DesignRows(x, np.array([1.0, -1.0])[:count], None, None)]
        )
        law = objective_law(
            ConstrainedProblem(one.design, one.loss, one.region), Fraction(1, 1000), Price(epsilon=8), "add_remove"
        )
        seen: list[float] = []

        class Watched:
            width = 3

            def minimise(self, linear: Any, ridge: float, tolerance: float, one: Any = one, seen: Any = seen) -> Any:
                theta = one.minimise(linear, ridge, tolerance)
                seen.append(missed(one, one.region, theta, linear, ridge) / tolerance)
                return theta

        for seed in range(400):
            law.release(Watched(), seed=seed)
        assert len(seen) == 400
        assert max(seen) <= 4.0, "a projected step and a certificate may differ by twice the steepness"


@pytest.mark.parametrize("setting", study.SETTINGS, ids=lambda s: str(s["set"]))
def test_every_fit_is_certified(setting: dict[str, Any]) -> None:
    """40 of the study's fits for every set: tables, losses, ridges, prices and methods are drawn."""
    found = study.run(setting, 1, 40)
    assert found["uncertified"] == 0.0
    assert all(row.holds for row in study.rows([(setting, 40, found | {"descents": 0.0})]))


@pytest.mark.parametrize("region", [EVERYWHERE, Ball("0.5"), Box(0, "0.3"), FreeLast(Ball("0.5")), "simplex"], ids=str)
@pytest.mark.parametrize("loss", [Logistic(), HuberHinge(Fraction(1, 10)), Huber()], ids=lambda v: str(v.name))
def test_projected_gradients_alone_reach_the_certificate(region: Any, loss: Loss, monkeypatch: pytest.MonkeyPatch) -> None:
    """From nothing, accelerated or plain, within the public number of steps; and where Newton's method ends, too."""
    region = own_region("simplex", study.simplex) if region == "simplex" else region
    rng = np.random.default_rng(5)
    x, y, _ = study.table(rng, "rounded", 3)
    x, y = x[:30], y[:30]
    one = Objective(small(3, 64), loss, rows=[DesignRows(x, y, None, None)])
    linear, ridge, tolerance = rng.normal(size=3), 2.0, 1e-8
    if region is EVERYWHERE:
        best = minimise(one, linear, ridge, tolerance)
    else:
        best = minimise_within(one, region, linear, ridge, tolerance)
    assert best.residual <= tolerance
    held = PerturbedObjective(one, region, linear, ridge)
    nowhere = Minimum(np.zeros(3), np.inf)
    made: list[Any] = []
    real = projected_gradient._steps
    monkeypatch.setattr(projected_gradient, "_steps", lambda *given: made.append(given[-1]) or real(*given))  # type: ignore[func-returns-value]
    fast = descend(held, tolerance, nowhere)
    monkeypatch.setattr(projected_gradient, "most_steps", lambda *given: (0, most_steps(*given)[1]))
    slow = descend(held, tolerance, nowhere)
    assert made[0] == most_steps(one.design, loss, ridge, float(np.linalg.norm(linear)), tolerance)[0]
    for found in (fast, slow):
        assert found.residual <= tolerance
        assert np.linalg.norm(found.theta - best.theta) <= 2 * tolerance / ridge


def test_the_last_step_is_close_enough_without_a_certificate(monkeypatch: pytest.MonkeyPatch) -> None:
    """No certificate is ever given, and no row bends one direction: the public number of steps is just enough."""
    x = np.tile([[1.0 - 2.0**-40, 0.0]], (4, 1))
    one = Objective(small(2, 4), Logistic(), rows=[DesignRows(x, np.ones(4), None, None)])
    linear, ridge, tolerance = np.array([0.3, -40.0]), 0.02, 1e-6
    best = minimise(one, linear, ridge, 1e-12)
    monkeypatch.setattr(PerturbedObjective, "certify", lambda self, theta, *_: Minimum(theta, np.inf))
    monkeypatch.setattr(projected_gradient, "most_steps", lambda *given: (0, most_steps(*given)[1]))
    found = descend(PerturbedObjective(one, EVERYWHERE, linear, ridge), tolerance, Minimum(np.zeros(2), np.inf))
    assert found.residual == tolerance
    assert 0.01 * tolerance / ridge <= np.linalg.norm(found.theta - best.theta) <= tolerance / ridge


def test_newton_that_fails_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(newton_in_region, "_ROUNDS", 1)
    rng = np.random.default_rng(7)
    x, y, _ = study.table(rng, "duplicated", 3)
    one = Objective(small(3), HuberHinge(), rows=[DesignRows(x, y, None, None)])
    for region in (Ball("0.5"), Box(-1, 1), FreeLast(Box(0)), own_region("simplex", study.simplex, longest=1)):
        assert minimise_within(one, region, rng.normal(size=3), 1.0, 1e-6).residual <= 1e-6


def test_a_longer_table_than_was_declared_is_fitted_all_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where rounding alone passes the tolerance the best point is returned, at once, and never a public one."""
    one = Objective(small(1), Logistic(), rows=[DesignRows(np.ones((1, 1)), np.ones(1), None, None)])
    query = Minimiser(small(1), Logistic(), Fraction(1))
    found = query.minimised(one)
    monkeypatch.setattr(Objective, "error", lambda *_: 1.0)
    assert query.minimised(one) == pytest.approx(found, abs=1e-6)
    assert found[0] > 0.1


def test_more_rows_than_are_certified_are_expected_or_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for module in (design, private_model):
        monkeypatch.setattr(module, "MOST_ROWS", 5)
    x, y, ledger = np.zeros((6, 1)), [0, 1] * 3, ds.Ledger("test")
    plain: dict[str, Any] = {"epsilon": 1, "bounds": (-1, 1), "classes": [0, 1], "ledger": ledger}
    for model in (m.LogisticRegression(**plain), m.LinearSVC(method="output", **plain)):
        with pytest.raises(InvalidRequest, match="up to 5 rows, got 6"):
            model.fit(x, y)
    assert ledger.spent().epsilon == 0
    plain |= {"neighbors": "replace", "ledger": None}
    assert m.LogisticRegression(**plain).fit(x, y).fitted_.design.most_rows == 24
    schema = ds.Schema({"x": ds.Real(-1, 1), "y": ds.Categories([0, 1])}, neighbors="replace", expected_rows=1)
    session = ds.Session({"x": x[:, 0], "y": y}, schema, ledger="test")
    assert session.fit(m.LogisticRegression(epsilon=1), ["x"], "y").fitted_.design.most_rows == 24


def test_any_number_of_batches_is_added_up_as_one() -> None:
    """In extended precision 5,000 batches lose nothing that is not put back, and are as deep as one."""
    third = np.full(2, 1, np.longdouble) / 3
    total = Totals(0.0, np.zeros(2, np.longdouble), None, 0.0, 0.0)
    for _ in range(5000):
        total = total + Totals(0.0, third, None, 1.0, 1.0, 256)
    assert total.depth == 256
    unit = float(np.finfo(np.longdouble).eps)
    assert np.abs(total.whole.gradient - 5000 * third).max() <= 2 * unit * 5000 / 3
    assert np.abs(total.gradient - 5000 * third).max() > 2 * unit * 5000 / 3
    rng = np.random.default_rng(8)
    x, y, theta = rng.uniform(-0.7, 0.7, (300, 2)), rng.choice([-1.0, 1.0], 300), np.array([3.0, -1.0])
    many = Objective(small(2), Logistic(), rows=[DesignRows(x[i : i + 1], y[i : i + 1], None, None) for i in range(300)])
    whole = Objective(small(2), Logistic(), rows=[DesignRows(x, y, None, None)])
    one, other = many.at(theta, "first", fine=True), whole.at(theta, "first", fine=True)
    assert np.abs(one.gradient - other.gradient).max() <= 256 * unit * other.slopes
    assert many.error(one, theta, True) <= 1024 * unit * 300


def test_a_tolerance_that_no_table_could_be_sure_of_is_refused() -> None:
    problem = Problem(small(3), Logistic())
    distance = problem.distance("add_remove")
    law = ObjectivePerturbation.costing(distance, ridge=1, epsilon=1)
    assert law.cost(distance).epsilon == 1
    with pytest.raises(InvalidRequest, match="tolerance must be at least"):
        replace_tolerance(law, Fraction(1, 10**12)).cost(distance)
    with pytest.raises(InvalidRequest, match="more than doubles can hold"):
        ask_for(small(3), Logistic(), Fraction(1, 10**40), "output", Price(epsilon=1), "add_remove").query.distance(
            "replace"
        )
    far = ConstrainedProblem(small(3), Logistic(), Box(1000, 1001)).distance("add_remove").problem
    near = ConstrainedProblem(small(3), Logistic(), Box(0)).distance("add_remove").problem
    assert far is not None
    assert near is not None
    assert (near.least, near.reach, near.off) == (0, None, 0)
    assert 1732 < far.least < 1733
    assert far.reach is not None
    assert far.reach > far.least
    out = ConstrainedProblem(small(3), Logistic(), Box(10_000)).distance("add_remove").problem
    assert out is not None
    assert certifiable(out, Fraction(1), Fraction(1), Fraction(0)) > certifiable(near, Fraction(1), Fraction(1), Fraction(0))


def replace_tolerance(law: ObjectivePerturbation, tolerance: Fraction) -> ObjectivePerturbation:
    return ObjectivePerturbation(law.noise, law.scale, law.ridge, law.settle, tolerance, law.claim)


def test_sets_of_ones_own_say_how_long_their_points_are() -> None:
    """What is known of a set in public lets the noise that hides rounding be smaller."""
    design = small(3)
    laws = [
        objective_law(ConstrainedProblem(design, Logistic(), region), Fraction(1), Price(epsilon=1), "add_remove")
        for region in (own_region("simplex", study.simplex), own_region("simplex", study.simplex, longest=1), Ball())
    ]
    hidden = [float(law.settling(3).scales[0]) for law in laws]
    assert hidden[0] > 100 * hidden[1]
    assert hidden[1] <= 4 * hidden[2]
    with pytest.raises(InvalidRequest, match="longest must be positive"):
        own_region("none", study.simplex, longest=0)
    X = np.random.default_rng(0).uniform(-1, 1, (50, 2))
    made = m.ConstrainedClassifier(
        loss=Logistic(), region=m.own_region("simplex", study.simplex, longest=1), epsilon=1, bounds=(-1, 1), classes=[0, 1],
        random_state=0,
    ).fit(X, (X[:, 0] > 0).astype(int))  # fmt: skip
    assert np.isfinite(made.coef_).all()


@pytest.mark.parametrize(
    ("rows", "loss", "rho", "ridge"),
    [(1, Logistic(), "30", 1), (4, HuberHinge(), "0.001", 10_000), (50, Logistic(), "1", 100)],
    ids=["one row", "four", "fifty"],
)
def test_a_price_in_rho_buys_the_quieter_law(rows: int, loss: Loss, rho: str, ridge: int) -> None:
    """No more noise than the normal law has, nor than the pure one at the same ridge; and the price is kept."""
    design = Design(tuple(Feature(f"x{i}", -1.0, 1.0) for i in range(5)), Target("y", (0, 1)), False, rows=rows)
    problem = Problem(design, loss)
    distance = problem.distance("replace")
    law = objective_law(problem, Fraction(ridge), Price(rho=rho), "replace")
    cost = law.cost(distance)
    assert cost.rho is not None
    assert cost.rho <= Fraction(rho)
    normal = ObjectivePerturbation.costing(distance, ridge=ridge, rho=rho)
    pure = ObjectivePerturbation.costing(distance, ridge=ridge, epsilon=Price(rho=rho).pure_epsilon)
    assert noise_variance(law, 5) <= min(
        noise_variance(normal, 5), noise_variance(pure, 5) * (1 if pure.ridge == ridge else 10**9)
    )
    assert law.noise == ("gaussian" if rows == 50 else "spherical_laplace")
    if rows == 4:
        assert noise_variance(law, 5) * 100 < noise_variance(normal, 5), "a tenth of the deviation"
    if rows == 50:
        beyond = objective_law(problem, Fraction(1), Price(rho=rho), "replace")
        assert beyond.noise == "spherical_laplace", "no normal law keeps the price at this ridge"


def test_the_law_of_a_price_in_rho_is_recorded() -> None:
    """On the objective and on the minimiser; a release says which law it was, and so does the model."""
    X = np.random.default_rng(0).uniform(-1, 1, (60, 2))
    y = (X[:, 0] > 0).astype(int)
    for method in ("objective", "output"):
        for rho, law in (("0.05", "gaussian"), ("40", "spherical_laplace")):
            made = m.LogisticRegression(
                rho=rho, ridge=50, method=method, bounds=(-1, 1), classes=[0, 1], random_state=0
            ).fit(X, y)
            assert made.privacy_.laws == (law,)
            assert f"noise: {method} ({law})" in str(made.privacy_)
            assert ds.Release.from_json(made.privacy_.releases[0].to_json()).mechanism == made.privacy_.releases[0].mechanism


def test_sums_of_collinear_columns_are_solved_with_any_ridge() -> None:
    """Nothing is raised and nothing warns where a matrix is singular but for a ridge below its rounding."""
    alike = RegressionMoments(16 * np.ones((5, 5)), 16 * np.ones((5, 5)), 1.0, False, False)
    for ridge in (1e-300, 1e-12, 1.0):
        theta = solve(alike, ridge, True)
        assert np.isfinite(theta).all()
        assert not np.isnan(error_law_of(alike, theta, ridge, True).half_lengths(0.95)).any()
    X = np.tile(np.linspace(-1, 1, 16)[:, None], (1, 3))
    made = m.LinearRegression(epsilon=np.inf, ridge="1e-12", bounds=(-1, 1), target_bounds=(-1, 1), neighbors="replace")
    assert np.isfinite(made.fit(X, X[:, 0]).coef_).all()
