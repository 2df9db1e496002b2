"""Reported errors and 95 % intervals of the table, over the noise alone: every statistic, relation and law.

The exact value is computed once a part; every run draws the noise of the law and reads the release as a user would. What is
promised: the root mean square error is the one reported, to 5 %, and coverage is .94 to .96. Of whole numbers, whose
intervals cannot cover exactly .95, it is at least .94.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

import discreet as ds
from discreet.core.price import Price
from discreet.core.random import Random
from discreet.core.release import Release
from discreet.sources import open_source
from discreet.statistics.question import Table, builder
from study.harness import Row

PEOPLE = 2000
ASKED: dict[str, tuple[tuple[str, ...], dict[str, Any]]] = {
    "count": ((), {}),
    "sum": (("x",), {}),
    "mean": (("x",), {}),
    "variance": (("x",), {}),
    "std": (("x",), {}),
    "covariance": (("x", "y"), {}),
    "correlation": (("x", "y"), {}),
    "pooled_variance": (("x",), {"by": "g"}),
    "pooled_covariance": (("x", "y"), {"by": "g"}),
    "histogram": (("x",), {"bins": 8, "allow_negative": True}),
    "crosstab": (("g",), {"allow_negative": True}),
}
WHOLE_NUMBERS = ("count", "histogram", "crosstab")
PRICES = {"epsilon .5": Price(epsilon="0.5"), "epsilon .5, delta 1e-5": Price(epsilon="0.5", delta="1e-5")}
SETTINGS: list[dict[str, Any]] = [
    {"statistic": name, "neighbors": relation, "price": price}
    for name in ASKED
    for relation in ("add_remove", "replace")
    for price in PRICES
]
RUNS, PART = 10_000, 1000


def run(setting: dict[str, Any], seed: int, runs: int) -> dict[str, float]:
    """The sums of squared errors and of reported ones, and how often the interval held the first number of the answer."""
    args, options = ASKED[setting["statistic"]]
    relation = setting["neighbors"]
    rng = np.random.default_rng(1)
    x = rng.normal(3, 2, PEOPLE)
    table = {"x": x, "y": 0.5 * x + rng.normal(1, 1, PEOPLE), "g": rng.choice(["a", "b", "c"], PEOPLE)}
    columns = {"x": ds.Real(-3, 9), "y": ds.Real(-3, 9), "g": ds.Categories(("a", "b", "c"), missing="a")}
    schema = ds.Schema(columns, neighbors=relation)
    question = builder(setting["statistic"])(Table(schema, PEOPLE if relation == "replace" else None), *args, **options)
    law = question.law(PRICES[setting["price"]], relation)
    exact = question.query.evaluate(open_source(table, schema))
    first = lambda answer: float(np.ravel(answer)[0])  # noqa: E731
    truth = first(question.reading.value([Release(exact.value, law)]))
    random, found = Random(seed=seed), {"inside": 0.0, "square": 0.0, "reported": 0.0}
    for _ in range(runs):
        release = [Release(law.release(exact, seed=random), law)]
        low, high = map(first, question.reading.interval(release, 0.95))
        found["inside"] += low <= truth <= high
        found["square"] += (first(question.reading.value(release)) - truth) ** 2
        found["reported"] += first(question.reading.expected_error(release))
    return found


def rows(results: list[tuple[dict[str, Any], int, dict[str, float]]]) -> list[Row]:
    made = []
    for setting, runs, found in results:
        name = ", ".join(setting.values())
        error = math.sqrt(found["square"] / runs) / (found["reported"] / runs)
        made.append(Row(f"error over reported, off 1: {name}", abs(error - 1), "<=", 0.05))
        covered = found["inside"] / runs
        if setting["statistic"] in WHOLE_NUMBERS:
            made.append(Row(f"coverage of 95 %: {name}", covered, ">=", 0.94))
        else:
            made.append(Row(f"coverage of 95 %, off .95: {name}", abs(covered - 0.95), "<=", 0.01))
    return made
