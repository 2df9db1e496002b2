"""Private linear regression against DPpack's algorithm, written here from its formulas: error of predictions, equal budgets.

DPpack's (Kifer, Smith and Thakurta 2012 as it prints it): rows of norm at most sqrt(p) with a constant, targets within
[-p, p], coefficients in the ball of radius sqrt(p), slope bound 2 p^1.5, extra ridge 2p / epsilon, noise in the objective
of norm Gamma(p, 2 * slope / epsilon), or normal of deviation slope * sqrt(8 ln(2/delta) + 4 epsilon) / epsilon. Its pure
version is not quite private under replace. Ours is ``LinearRegression`` by either method, noisy sums being the default.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from discreet.models import LinearRegression
from discreet.models.estimators.linear_regression import METHODS

RUNS = 1000
CASES = ((1, 500, 0.0), (4, 2000, 0.0), (2, 500, 150.0))  # features, rows, and where targets lie


def printed(x: Any, y: Any, most: float, price: tuple[float, float], rng: np.random.Generator) -> Any:
    """Coefficients, the constant last, on the scale of the table; features lie within [-1, 1]."""
    epsilon, delta = price
    rows = np.column_stack([x, np.ones(len(x))])
    p = rows.shape[1]
    slope = 2 * p**1.5
    if delta:
        noise = rng.normal(0, slope * math.sqrt(8 * math.log(2 / delta) + 4 * epsilon) / epsilon, p)
    else:
        direction = rng.normal(size=p)
        noise = direction / np.linalg.norm(direction) * rng.gamma(p, 2 * slope / epsilon)
    curvature = rows.T @ rows + max(1.0, 2 * p / epsilon) * np.eye(p)
    values, vectors = np.linalg.eigh(curvature)
    middle = vectors.T @ (rows.T @ (y / most * p) - noise)
    low, high = 0.0, 1e12
    if np.linalg.norm(middle / values) <= math.sqrt(p):
        high = 0.0
    while high - low > 1e-9 * (1 + high):
        half = (low + high) / 2
        low, high = (half, high) if np.linalg.norm(middle / (values + half)) > math.sqrt(p) else (low, half)
    return vectors @ (middle / (values + high)) * most / p


def compare(
    features: int, rows: int, middle: float, relation: Any, delta: float, runs: int, method: Any = "statistics"
) -> float:
    """The root mean square error of our predictions over that of DPpack's, at epsilon 1."""
    rng = np.random.default_rng(features * 1000 + rows)
    beta = np.linspace(-0.5, 0.5, features) if features > 1 else np.array([0.5])
    beta, bounds = (beta, (-2.0, 2.0)) if middle == 0 else (20 * beta, (middle - 50, middle + 50))
    most = max(map(abs, bounds))
    errors = np.zeros(2)
    for _ in range(runs):
        x, seen = rng.uniform(-1, 1, (rows, features)), rng.uniform(-1, 1, (500, features))
        y, truth = middle + x @ beta + rng.normal(0, 0.1, rows), middle + seen @ beta
        more = {"delta": delta} if delta else {}
        asked = {"epsilon": 1, "bounds": (-1, 1), "target_bounds": bounds, "neighbors": relation, "method": method, **more}
        ours = LinearRegression(**asked).fit(x, y)
        theirs = printed(x, y, most, (1.0, delta), rng)
        told = [ours.predict(seen), np.clip(seen @ theirs[:-1] + theirs[-1], *bounds)]
        errors += [float(np.mean((each - truth) ** 2)) for each in told]
    return float(np.sqrt(errors[0] / errors[1]))


def run(runs: int = RUNS) -> dict[str, Any]:
    """Every case by both methods, under both relations, pure and Gaussian."""
    found = {
        f"{method}, {features} features, {rows} rows, targets about {middle:g}, {relation}, delta {delta:g}": compare(
            features, rows, middle, relation, delta, runs, method
        )
        for method in METHODS
        for features, rows, middle in CASES
        for relation in ("replace", "add_remove")
        for delta in (0.0, 1e-5)
    }
    return {"runs": runs, "error over DPpack's": found}


def checks(result: dict[str, Any]) -> list[tuple[str, float, str, float]]:
    """No case is worse than 1.2 times DPpack's error."""
    return [(name, ratio, "<=", 1.2) for name, ratio in result["error over DPpack's"].items()]
