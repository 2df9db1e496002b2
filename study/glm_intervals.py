"""Whether intervals of private Poisson and gamma regressions cover the regularised minimiser of the population.

Six designs of counts and three of amounts, skewed, collinear and overdispersed ones; 3,000 tables each, without and with a
delta. Of 3,000 rows the noise of the curvature rules where rates are small: such intervals may cover more than they say.
The population's coefficients are those of 400,000 people without noise, with as much of the ridge for each.
"""

from __future__ import annotations

import math
from functools import lru_cache, partial
from typing import Any

import numpy as np

from discreet.models import GammaRegressor, PoissonRegressor
from study.harness import Row

RUNS, PART = 3000, 25
PEOPLE = 400_000
LEVEL = 0.95
COUNTS = ("even", "skewed", "collinear", "rare", "overdispersed", "far")
AMOUNTS = ("even amounts", "collinear amounts", "overdispersed amounts")  # of a gamma law, clipped to their bounds
SETTINGS = [
    {"design": design, "delta": delta, "rows": rows}
    for designs in (COUNTS, AMOUNTS)
    for rows in (20_000, 3000)
    for design in designs
    for delta in (None, "1e-6")
]
MOST = 12
FACTS: dict[str, Any] = {"bounds": (-1, 1)}
MODELS = {
    **dict.fromkeys(COUNTS, partial(PoissonRegressor, target_bounds=(0, MOST), **FACTS)),
    **dict.fromkeys(AMOUNTS, partial(GammaRegressor, target_bounds=(0.25, MOST), **FACTS)),
}


def draw(design: str, rows: int, rng: Any) -> tuple[Any, Any]:
    """Two columns within [-1, 1], and counts or amounts."""
    x = rng.uniform(-1, 1, (rows, 2))
    if design == "skewed":
        x = np.minimum(rng.exponential(0.25, (rows, 2)), 2.0) - 1.0
    if design.startswith("collinear"):
        x[:, 1] = np.clip(x[:, 0] + rng.normal(0, 0.15, rows), -1, 1)
    rate = np.exp(0.5 + 0.6 * x[:, 0] - 0.4 * x[:, 1])
    if design == "rare":
        rate = rate / 8
    if design.startswith("overdispersed"):
        rate = rate * rng.gamma(0.7, 1 / 0.7, rows)
    if design in AMOUNTS:
        return x, np.maximum(rng.gamma(3, rate / 3), 1e-9)
    if design == "far":
        rate = np.exp(1.6 + 0.9 * x[:, 0] + 0.4 * x[:, 1])  # many counts beyond the bound, which are clipped
    return x, rng.poisson(rate)


@lru_cache(maxsize=2 * len(MODELS))
def population(design: str, rows: int) -> Any:
    """Coefficients, the intercept last, of a ridge of 1 beside ``rows`` rows."""
    x, y = draw(design, PEOPLE, np.random.default_rng(7))
    ridge = PEOPLE / rows
    found = MODELS[design](epsilon=math.inf, ridge=ridge).fit(x, y)
    return np.array([*found.coef_, found.intercept_])


def run(setting: dict[str, Any], seed: int, runs: int) -> dict[str, float]:
    """How many intervals covered, of three in each run."""
    rng = np.random.default_rng(seed)
    aim = population(setting["design"], setting["rows"])
    model = MODELS[setting["design"]](epsilon=2, delta=setting["delta"], intervals=True)
    covered = np.zeros(3)
    for _ in range(runs):
        found = model.fit(*draw(setting["design"], setting["rows"], rng)).confidence_intervals(LEVEL)
        covered += (found.lower <= aim) & (aim <= found.upper)
    return {
        "covered": float(covered.sum()),
        "x0": float(covered[0]),
        "x1": float(covered[1]),
        "intercept": float(covered[2]),
    }


def rows(results: list[tuple[dict[str, Any], int, dict[str, float]]]) -> list[Row]:
    made = []
    for setting, runs, found in results:
        share = found["covered"] / (3 * runs)
        law = "pure" if setting["delta"] is None else "delta 1e-6"
        words = f"{setting['design']}, {law}, {setting['rows']} rows: coverage of 95 %"
        made.append(Row(words, share, ">=", 0.93))
        if setting["rows"] > 3000:
            made.append(Row(words, share, "<=", 0.97))
    return made
