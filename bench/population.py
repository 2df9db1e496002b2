"""What it costs to speak of the population: a mean of ten million rows beside NumPy's, and the intervals themselves.

Processor time, so that other work on the machine does not count; rounds of ours and NumPy's take turns.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from typing import Any

import numpy as np

import discreet as ds

SIZE, ROUNDS = 10_000_000, 5
_BOUNDS = (0, 100)


def _milliseconds(call: Callable[[], Any]) -> float:
    start = time.process_time()
    call()
    return (time.process_time() - start) * 1e3


def _medians(calls: dict[str, Callable[[], Any]], rounds: int) -> dict[str, float]:
    for call in calls.values():
        call()
    seen = [{name: _milliseconds(call) for name, call in calls.items()} for _ in range(rounds)]
    return {name: statistics.median(one[name] for one in seen) for name in calls}


def run(size: int = SIZE) -> dict[str, Any]:
    x = np.random.default_rng(0).normal(50, 20, size)

    def numpys() -> tuple[float, float]:
        clipped = np.clip(x, *_BOUNDS)
        return float(clipped.mean()), float(clipped.var())

    asked: dict[str, Any] = {"bounds": _BOUNDS, "epsilon": 1, "of": "population"}
    sums = _medians(
        {
            "numpy": numpys,
            "add_remove": lambda: ds.mean(x, **asked),
            "replace": lambda: ds.mean(x, neighbors="replace", **asked),
        },
        ROUNDS,
    )
    some = x[:10_000]
    answers = {
        "mean": ds.mean(some, **asked),
        "variance": ds.variance(some, **asked),
        "covariance": ds.covariance(some, some[::-1], **asked | {"bounds": (_BOUNDS, _BOUNDS)}),
        "correlation": ds.correlation(some, some[::-1], **asked | {"bounds": (_BOUNDS, _BOUNDS)}),
        "share": ds.share(np.where(some > 50, "a", "b"), categories=["a", "b"], epsilon=1),
    }
    # Of the reading itself: a result keeps the intervals that it was asked for.
    readings = {
        name: (lambda a=answer: a.reading.population_interval(a.releases, 0.95, False)) for name, answer in answers.items()
    }
    return {"milliseconds of a sum": sums, "milliseconds of an interval": _medians(readings, 20)}


def checks(found: dict[str, Any]) -> list[tuple[str, float, str, float]]:
    sums, intervals = found["milliseconds of a sum"], found["milliseconds of an interval"]
    rows = [(f"population mean of {SIZE:,} rows, {r}, over NumPy's clip, mean and var", sums[r] / sums["numpy"], "<=", 1.6)
            for r in ("add_remove", "replace")]  # fmt: skip
    return [*rows, *((f"interval of a {name}, milliseconds", value, "<=", 10.0) for name, value in intervals.items())]
