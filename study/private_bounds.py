"""Bounds found privately: they never run away, and a mean with them is little worse than with the true ones.

A run draws a table, finds bounds for ``epsilon`` within (-1e9, 1e9), and asks for the mean twice for the same ``epsilon``:
with the bounds found and with the table's own smallest and largest value, which nobody could know. It has run away if
the lowest or the highest bin found holds nobody.
"""

from __future__ import annotations

from typing import Any

import numpy as np

import discreet as ds
from discreet.core.price import Price
from discreet.core.random import Random
from discreet.sources import open_source
from discreet.statistics.question import Table, build
from study.harness import Row

_SIZES = [(1000, 0.5), (5000, 0.1), (10_000, 1.0)]
_KINDS = ["normal", "far normal", "lognormal", "uniform", "signed"]
SETTINGS: list[dict[str, Any]] = [{"kind": kind, "n": n, "epsilon": eps} for kind in _KINDS for n, eps in _SIZES]
RUNS = 10_000
PART = 500
_SCHEMA = ds.Schema({"x": ds.Real(-1e9, 1e9)})


def _draw(rng: np.random.Generator, kind: str, n: int) -> Any:
    match kind:
        case "normal":
            return rng.normal(50, 10, n)
        case "far normal":
            return rng.normal(-2000, 300, n)
        case "lognormal":
            return rng.lognormal(10, 1, n)
        case "uniform":
            return rng.uniform(0, 1, n)
        case _:
            return rng.laplace(0, 20, n)


def run(setting: dict[str, Any], seed: int, runs: int) -> dict[str, float]:
    rng, random = np.random.default_rng(seed), Random(seed)
    epsilon, found = setting["epsilon"], dict.fromkeys(("runaways", "fallbacks", "square", "true square"), 0.0)
    question = build("bounds", Table(_SCHEMA), "x", unit="0.001")
    law: Any = question.law(Price(epsilon=epsilon), "add_remove")
    for _ in range(runs):
        x = _draw(rng, setting["kind"], setting["n"])
        exact = question.query.evaluate(open_source({"x": x}, _SCHEMA))
        release = ds.Release.of(law, law.release(exact, seed=random))
        lo, hi = question.reading.value([release])
        if question.reading.note([release]) is not None:
            found["fallbacks"] += 1
        else:
            filled = np.flatnonzero(exact.counts)
            edges: Any = question.query.edges  # type: ignore[attr-defined]
            found["runaways"] += bool(lo < edges[filled[0]] or hi > edges[filled[-1] + 1])
        for word, bounds in (("square", (lo, hi)), ("true square", (x.min(), x.max()))):
            mean = ds.mean(x, bounds=bounds, epsilon=epsilon, seed=random).value
            found[word] += (mean - x.mean()) ** 2
    return found


def rows(results: list[tuple[dict[str, Any], int, dict[str, float]]]) -> list[Row]:
    made = [Row("runaways in all", sum(found["runaways"] for _, _, found in results), "<=", 0)]
    for setting, _, found in results:
        what = f"{setting['kind']}, n {setting['n']}, epsilon {setting['epsilon']}: mean's error over that with true bounds"
        made.append(Row(what, (found["square"] / found["true square"]) ** 0.5, "<=", 2.5))
    return made
