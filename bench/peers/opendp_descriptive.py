"""OpenDP: clipped mean, variance and median of 100 candidates, in milliseconds."""

from __future__ import annotations

import json
import statistics
import sys
import time

import numpy as np
import opendp.prelude as dp

dp.enable_features("contrib")
size = int(sys.argv[1])
x = np.random.default_rng(0).normal(50, 20, size)
domain = dp.vector_domain(dp.atom_domain(T=float, nan=False), size=size)
space = domain, dp.symmetric_distance()


def milliseconds(measurement: object) -> float:
    times = []
    for _ in range(4):
        start = time.perf_counter()
        measurement(x)
        times.append((time.perf_counter() - start) * 1e3)
    return statistics.median(times[1:])


result = {}
for name, step in (("mean", dp.t.then_mean()), ("variance", dp.t.then_variance())):
    result[name] = milliseconds(space >> dp.t.then_clamp((0.0, 100.0)) >> step >> dp.m.then_laplace(scale=1.0))
candidates = [float(c) for c in np.linspace(0, 100, 100)]
unsized = dp.vector_domain(dp.atom_domain(T=float, nan=False)), dp.symmetric_distance()
scores = unsized >> dp.t.then_quantile_score_candidates(candidates, alpha=0.5)
choose = scores >> dp.m.then_noisy_max(dp.max_divergence(), scale=1.0)
result["median"] = milliseconds(choose)
print(json.dumps(result))
