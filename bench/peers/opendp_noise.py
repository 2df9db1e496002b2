"""OpenDP's noise: draws per second for vectors, microseconds for a scalar."""

from __future__ import annotations

import json
import time

import opendp.prelude as dp

dp.enable_features("contrib")


def vector(integers: bool, kind: str, scale: float, size: int) -> float:
    atom = dp.atom_domain(T=int) if integers else dp.atom_domain(T=float, nan=False)
    metric = dp.l1_distance(T=float) if kind == "laplace" else dp.l2_distance(T=float)
    maker = dp.m.make_laplace if kind == "laplace" else dp.m.make_gaussian
    measurement = maker(dp.vector_domain(atom), metric, scale=scale)
    values = [0 if integers else 0.0] * size
    measurement(values[:10])
    start = time.perf_counter()
    measurement(values)
    return size / (time.perf_counter() - start)


def scalar() -> float:
    measurement = dp.m.make_laplace(dp.atom_domain(T=float, nan=False), dp.absolute_distance(T=float), scale=1.0)
    measurement(0.0)
    start = time.perf_counter()
    for _ in range(300):
        measurement(0.0)
    return (time.perf_counter() - start) / 300 * 1e6


result = {
    "laplace": vector(False, "laplace", 1.0, 20_000),
    "gaussian": vector(False, "gaussian", 1.0, 10_000),
    **{f"discrete_gaussian_{s}": vector(True, "gaussian", float(s), 20_000) for s in (1, 10, 1000)},
    **{f"discrete_laplace_{s}": vector(True, "laplace", float(s), 20_000) for s in (1, 10, 1000)},
    "scalar_us": scalar(),
}
print(json.dumps(result))
