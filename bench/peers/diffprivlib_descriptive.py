"""diffprivlib: mean, variance, median and histogram, in milliseconds."""

from __future__ import annotations

import json
import statistics
import sys
import time
import warnings
from collections.abc import Callable

import numpy as np
from diffprivlib import tools

warnings.simplefilter("ignore")
x = np.random.default_rng(0).normal(50, 20, int(sys.argv[1]))


def milliseconds(call: Callable[[], object], rounds: int = 4) -> float:
    times = []
    for _ in range(rounds):
        start = time.perf_counter()
        call()
        times.append((time.perf_counter() - start) * 1e3)
    return statistics.median(times[1:] or times)


result = {
    "mean": milliseconds(lambda: tools.mean(x, epsilon=1, bounds=(0, 100))),
    "variance": milliseconds(lambda: tools.var(x, epsilon=1, bounds=(0, 100))),
    "histogram": milliseconds(lambda: tools.histogram(x, epsilon=1, bins=100, range=(0, 100))),
    "median": milliseconds(lambda: tools.median(x, epsilon=1, bounds=(0, 100)), 1),
}
print(json.dumps(result))
