"""Exact noise against OpenDP, diffprivlib and unsafe NumPy: ratios of medians of runs made side by side."""

from __future__ import annotations

import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np

import discreet as ds
from bench.environments import ask_peer

ROUNDS = 5
SIZE = 2_000_000


def rate(draw: Callable[[int], Any], size: int = SIZE) -> float:
    draw(1000)
    start = time.perf_counter()
    draw(size)
    return size / (time.perf_counter() - start)


def microseconds(call: Callable[[], Any], count: int = 2000) -> float:
    call()
    times = []
    for _ in range(7):
        start = time.perf_counter()
        for _ in range(count // 7):
            call()
        times.append((time.perf_counter() - start) / (count // 7))
    return statistics.median(times) * 1e6


def import_seconds() -> float:
    code = "import time; t = time.perf_counter(); import discreet; discreet.Laplace; print(time.perf_counter() - t)"
    return float(subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout)


def ours() -> dict[str, float]:
    zeros, whole = np.zeros(SIZE), np.zeros(SIZE, np.int64)
    laplace, gaussian = ds.Laplace(1), ds.Gaussian(1)
    discrete = {f"discrete_gaussian_{s}": ds.DiscreteGaussian(s) for s in (1, 10, 1000)}
    discrete |= {f"discrete_laplace_{s}": ds.DiscreteLaplace(s) for s in (1, 10, 1000)}
    return {
        "laplace": rate(lambda n: laplace.release(zeros[:n])),
        "gaussian": rate(lambda n: gaussian.release(zeros[:n])),
        **{name: rate(lambda n, law=law: law.release(whole[:n])) for name, law in discrete.items()},
        "scalar_us": microseconds(lambda: laplace.release(0.0)),
        "scalar_gaussian_us": microseconds(lambda: gaussian.release(0.0)),
        "import_s": import_seconds(),
    }


def unsafe_numpy() -> dict[str, float]:
    generator = np.random.default_rng()
    zeros = np.zeros(SIZE)
    return {
        "laplace": rate(lambda n: zeros[:n] + generator.laplace(size=n)),
        "gaussian": rate(lambda n: zeros[:n] + generator.normal(size=n)),
    }


def run() -> dict[str, Any]:
    """One row per measure: ours, each peer's, and the ratios."""
    measured: dict[str, dict[str, list[float]]] = {}
    for _ in range(ROUNDS):
        for who, values in (
            ("discreet", ours()),
            ("numpy (unsafe)", unsafe_numpy()),
            ("opendp", ask_peer("opendp", "noise")),
            ("diffprivlib", ask_peer("diffprivlib", "noise")),
        ):
            for key, value in values.items():
                measured.setdefault(who, {}).setdefault(key, []).append(value)
    medians = {who: {key: statistics.median(v) for key, v in values.items()} for who, values in measured.items()}
    mine, numpy, opendp = (medians[who] for who in ("discreet", "numpy (unsafe)", "opendp"))
    shared = [k for k in mine if k in opendp and not k.endswith("_us")]
    ratios = {f"{k}: times OpenDP": mine[k] / opendp[k] for k in shared}
    ratios |= {f"{k}: unsafe NumPy / discreet": numpy[k] / mine[k] for k in numpy}
    return {"medians": medians, "ratios": ratios}


# What must hold: (ratio or measure, at least / at most, number).
def checks(result: dict[str, Any]) -> list[tuple[str, float, str, float]]:
    ratios, mine = result["ratios"], result["medians"]["discreet"]
    wanted = [("laplace: times OpenDP", 300.0), ("gaussian: times OpenDP", 500.0)]
    wanted += [(f"discrete_gaussian_{s}: times OpenDP", 100.0) for s in (1, 10, 1000)]
    rows = [(name, ratios[name], ">=", least) for name, least in wanted]
    rows.append(("laplace: unsafe NumPy / discreet", ratios["laplace: unsafe NumPy / discreet"], "<=", 4.0))
    rows.append(("gaussian draws a second", mine["gaussian"], ">=", 1.2e7))
    rows.append(("scalar Laplace, microseconds", mine["scalar_us"], "<=", 15.0))
    rows.append(("scalar Gaussian, microseconds", mine["scalar_gaussian_us"], "<=", 30.0))
    rows.append(("import and one law, seconds", mine["import_s"], "<=", 0.3))
    return rows
