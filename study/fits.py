"""Fits of adversarial tables: every minimiser is certified, whatever the rows, and how often Newton's method needed help.

Tables with rows that are duplicated, rounded, separable, collinear, all zero, of one class, with weights from 0 to 1000,
several rows a person, with one row, two alike or none; every loss, ridges from 0.001 to 100, epsilons from 0.1 to 8, noise
in the objective and on the minimiser; free coefficients and every kind of set.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from fractions import Fraction
from typing import Any

import numpy as np

from discreet.models.design import Design, DesignRows
from discreet.models.feature import Feature
from discreet.models.losses import Huber, HuberHinge, Logistic
from discreet.models.own_losses import Declared
from discreet.models.perturbation import Price, objective_law
from discreet.models.queries.ball_problem import BallProblem
from discreet.models.queries.constrained_problem import ConstrainedMinimiser, ConstrainedObjective, ConstrainedProblem
from discreet.models.queries.empirical_risk import Minimiser, Problem
from discreet.models.regions import Ball, Box, FreeLast, own_region
from discreet.models.solve import certificate, least_squares, newton, newton_in_region
from discreet.models.solve.least_squares import LeastSquares
from discreet.models.solve.objective import Objective
from discreet.models.solve.projected_gradient import descend
from discreet.models.target import Target, Weight
from study.harness import Row

HEAVIEST = 1000.0
TABLES = (
    "random", "duplicated", "rounded", "separable", "collinear", "zero", "one class", "empty", "one row", "two alike",
    "weights",
)  # fmt: skip
LOSSES = (
    Logistic(), HuberHinge(), HuberHinge(Fraction(1, 50)), HuberHinge(Fraction(1, 100)), HuberHinge(30), Huber(),
    Huber("0.01"), Declared(HuberHinge(Fraction(1, 20)), 1, 10),
)  # fmt: skip


def simplex(point: Any) -> Any:
    """The nearest weights that are not negative and sum to 1."""
    high = np.sort(point)[::-1]
    over = (np.cumsum(high) - 1) / np.arange(1, len(point) + 1)
    return np.maximum(point - over[np.flatnonzero(high > over)[-1]], 0.0)


SETS: dict[str, Any] = {
    "free": None,
    "least squares": Ball(),
    "ball of 1": Ball(),
    "ball of 1/100": Ball("0.01"),
    "ball of 100": Ball(100),
    "ball of 1000": Ball(1000),
    "box from 0": Box(0),
    "box from 0 to 0.3": Box(0, "0.3"),
    "box from -1 to 1": Box(-1, 1),
    "box from 5 to 6": Box(5, 6),
    "ball, last free": FreeLast(Ball("0.5")),
    "box, last free": FreeLast(Box(0)),
    "simplex": own_region("simplex", simplex),
    "simplex, longest 1": own_region("simplex", simplex, longest=1),
}
SETTINGS = [{"set": name} for name in SETS]
RUNS, PART = 8000, 1000


def table(rng: Any, kind: str, width: int) -> tuple[Any, Any, Any]:
    """Rows of norm at most 1, targets of -1 or 1, and weights or None."""
    count = {"empty": 0, "one row": 1, "two alike": 2}.get(kind, int(rng.choice([3, 20, 100, 400])))
    x = rng.normal(size=(count, width))
    if kind == "duplicated":
        x = x[rng.integers(0, max(1, count // 10), count)]
    if kind == "rounded":
        x = np.round(rng.uniform(-1, 1, (count, width)), 1)
    if kind == "collinear":
        x = np.outer(rng.normal(size=count), np.ones(width))
    if kind == "zero":
        x[:] = 0.0
    if kind == "two alike":
        x[1] = x[0]
    x = x / np.maximum(1.0, np.linalg.norm(x, axis=1))[:, None] * (1 - 2.0**-40)
    y = np.where(x[:, 0] > 0, 1.0, -1.0) if kind in ("separable", "rounded") else rng.choice([-1.0, 1.0], count)
    if kind == "one class":
        y[:] = 1.0
    if kind == "two alike":
        y[:] = [1.0, -1.0]
    return x, y, rng.choice([0.0, 1e-9, 1.0, HEAVIEST], count) if kind == "weights" else None


@contextmanager
def watched() -> Iterator[dict[str, Any]]:
    """What the last minimiser was certified to, over its tolerance, and how many ended by projected gradients."""
    seen: dict[str, Any] = {"descents": 0, "share": np.inf}
    kept = newton.minimise, newton_in_region.minimise_within, least_squares.minimise_in_ball

    def ended(held: certificate.PerturbedObjective, tolerance: float, near: certificate.Minimum) -> certificate.Minimum:
        found = descend(held, tolerance, near)
        seen["descents"] += 1
        seen["share"] = found.residual / tolerance
        return found

    def noted(minimise: Any) -> Any:
        def noting(*given: Any) -> Any:
            found = minimise(*given)
            seen["share"] = found.residual / given[-1]
            return found

        return noting

    from discreet.models.queries import constrained_problem

    newton.minimise, constrained_problem.minimise_within, least_squares.minimise_in_ball = map(noted, kept)  # type: ignore[assignment]
    newton.descend = newton_in_region.descend = least_squares.descend = ended  # type: ignore[attr-defined]
    try:
        yield seen
    finally:
        newton.minimise, constrained_problem.minimise_within, least_squares.minimise_in_ball = kept  # type: ignore[attr-defined]
        newton.descend = newton_in_region.descend = least_squares.descend = descend  # type: ignore[attr-defined]


def fit(rng: Any, name: str, seed: int) -> None:
    """One fit, of a table, a loss, a ridge, a price and a method that are drawn."""
    region, width, kind = SETS[name], int(rng.choice([2, 3, 6])), str(rng.choice(TABLES))
    x, y, w = table(rng, kind, width)
    loss, ridge = LOSSES[rng.integers(len(LOSSES))], Fraction(str(rng.choice(["0.001", "0.01", "0.5", "1", "100"])))
    design = Design(
        tuple(Feature(f"x{i}", -1.0, 1.0) for i in range(width)), Target("y"), False,
        weight=None if w is None else Weight("w", HEAVIEST), rows=int(rng.choice([1, 1, 4])),
    )  # fmt: skip
    rows = [DesignRows(x, y, w, None)]
    problem: Any = ConstrainedProblem(design, loss, region) if region else Problem(design, loss)
    objective: Objective = (
        ConstrainedObjective(design, loss, region, rows=rows) if region else Objective(design, loss, rows=rows)
    )
    if name == "least squares":
        problem = BallProblem(design)
        objective = LeastSquares(design, problem.loss, rows=rows)
    if rng.random() < 0.4:
        query = ConstrainedMinimiser(problem, ridge) if region else Minimiser(design, loss, ridge)
        query.minimised(objective)
        return
    price, relation = Price(epsilon=float(rng.choice([0.1, 1, 8]))), str(rng.choice(["add_remove", "replace"]))
    objective_law(problem, ridge, price, relation).release(objective, seed=seed)  # type: ignore[arg-type]


def run(setting: dict[str, Any], seed: int, runs: int) -> dict[str, float]:
    rng = np.random.default_rng(seed)
    uncertified = 0
    with watched() as seen:
        for _ in range(runs):
            seen["share"] = np.inf
            fit(rng, setting["set"], int(rng.integers(1 << 31)))
            uncertified += seen["share"] > 1.0
    return {"uncertified": float(uncertified), "descents": float(seen["descents"])}


def rows(results: list[tuple[dict[str, Any], int, dict[str, float]]]) -> list[Row]:
    return [
        row
        for setting, count, found in results
        for row in (
            Row(f"fits not certified, {setting['set']} ({count} fits)", found["uncertified"], "<=", 0.0),
            Row(f"share that projected gradients ended, {setting['set']}", found["descents"] / count, "<=", 0.001),
        )
    ]
