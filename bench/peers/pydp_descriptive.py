"""PyDP: bounded mean and variance, in milliseconds, on a tenth of the rows (scaled up: it takes Python lists)."""

from __future__ import annotations

import json
import sys
import time

import numpy as np
from pydp.algorithms.laplacian import BoundedMean, BoundedVariance

SHARE = 10
x = np.random.default_rng(0).normal(50, 20, int(sys.argv[1]) // SHARE).tolist()
result = {}
for name, algorithm in (("mean", BoundedMean), ("variance", BoundedVariance)):
    made = algorithm(epsilon=1, lower_bound=0, upper_bound=100, dtype="float")
    start = time.perf_counter()
    made.quick_result(x)
    result[name] = (time.perf_counter() - start) * 1e3 * SHARE
print(json.dumps(result))
