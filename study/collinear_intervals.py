"""Whether every interval of a logistic regression covers what it says where columns are skewed and two nearly the same.

The ridge and the shares of the price are those that a fit has when none are asked for. Four columns of exponential numbers,
most of them near the lower bound, the second the first and a little more: in the direction that tells the two apart the
rows hardly bend the objective, and the noise of the curvature is larger than what is there. The population's coefficients
are those of its people without noise, with as much of the ridge for each.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any

import numpy as np

from discreet.models import LogisticRegression
from study.harness import Row

RUNS, PART = 3000, 100
PEOPLE, SIZE = 200_000, 20_000
LEVEL = 0.95
PRICES: dict[str, dict[str, Any]] = {
    "epsilon 1": {"epsilon": 1},
    "epsilon 1, replace": {"epsilon": 1, "neighbors": "replace"},
    "epsilon 1, delta 1e-6": {"epsilon": 1, "delta": "1e-6"},
    "rho 0.1": {"rho": "0.1"},
}
SETTINGS = [{"price": price} for price in PRICES]
APART = 0.02  # the deviation of the difference of the first two columns
NAMES = ("first", "its double", "third", "fourth", "constant")


def draw(rows: int, rng: Any) -> tuple[Any, Any]:
    """Columns within [0, 1], and classes."""
    x = np.minimum(rng.exponential(0.15, (rows, 4)), 1.0)
    x[:, 1] = np.clip(x[:, 0] + rng.normal(0, APART, rows), 0.0, 1.0)
    score = x @ np.array([2.0, -1.0, 1.5, -1.0]) - 0.3
    return x, (rng.random(rows) < 1 / (1 + np.exp(-score))).astype(int)


def model(price: str) -> LogisticRegression:
    """As it is by default, with intervals."""
    return LogisticRegression(**PRICES[price], bounds=(0, 1), classes=[0, 1], intervals=True)


@lru_cache(maxsize=16)
def population(ridge: float) -> Any:
    """Coefficients, the constant last, of a ridge beside ``SIZE`` rows."""
    x, y = draw(PEOPLE, np.random.default_rng(7))
    whole = LogisticRegression(epsilon=math.inf, bounds=(0, 1), classes=[0, 1], ridge=ridge * PEOPLE / SIZE).fit(x, y)
    return np.append(whole.coef_[0], whole.intercept_)


def run(setting: dict[str, Any], seed: int, runs: int) -> dict[str, float]:
    """How many intervals of each coefficient covered, and the sums of their lengths."""
    rng, fitted = np.random.default_rng(seed), model(setting["price"])
    x, y = draw(PEOPLE, np.random.default_rng(7))
    covered, lengths = np.zeros(len(NAMES)), np.zeros(len(NAMES))
    for _ in range(runs):
        chosen = rng.integers(0, PEOPLE, SIZE)
        found = fitted.fit(x[chosen], y[chosen]).confidence_intervals(LEVEL)
        aim = population(fitted.ridge_)
        covered += (found.lower <= aim) & (aim <= found.upper)
        lengths += found.lengths
    told = {name: float(times) for name, times in zip(NAMES, covered, strict=True)}
    return told | {f"length of {name}": float(whole) for name, whole in zip(NAMES, lengths, strict=True)}


def rows(results: list[tuple[dict[str, Any], int, dict[str, float]]]) -> list[Row]:
    made = []
    for setting, runs, found in results:
        for name in NAMES:
            told = f"mean length {found[f'length of {name}'] / runs:.3g}"
            words = f"{setting['price']}, {name} ({told}), {runs} tables: coverage of 95 %"
            made += [Row(words, found[name] / runs, ">=", 0.93), Row(words, found[name] / runs, "<=", 0.97)]
    return made
