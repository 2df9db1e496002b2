"""The last bits of every law at the largest scale it allows: uniform, whatever the exact value's own are.

A setting is a law and an exact value; a run is one draw. What is kept are the counts of the last four bits, of which the
whole is judged by one chi-squared for each setting, at a false alarm of 1e-8.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import stats

from discreet.core.exact import Exact
from discreet.core.mechanism import mechanisms
from discreet.core.random import Random
from discreet.mechanisms.sampling.uniform import LARGEST
from study.harness import Row

LAWS = ("laplace", "gaussian", "discrete_laplace", "discrete_gaussian", "spherical_laplace")
SETTINGS = [{"law": law, "exact": exact} for law in LAWS for exact in (0, 1, 2**53 + 1, -(2**61) + 5)]
RUNS, PART = 400_000, 20_000
_CELLS, _WIDTH = 16, 8


def run(setting: dict[str, Any], seed: int, runs: int) -> dict[str, float]:
    """How often the last four bits of exact value plus noise were each of the sixteen."""
    vector, random = setting["law"] == "spherical_laplace", Random(seed)
    law: Any = mechanisms[setting["law"]](LARGEST / (_WIDTH if vector else 1), grid=1)  # type: ignore[call-arg]
    size = _WIDTH if vector else runs
    exact = Exact(np.full(size, setting["exact"], np.int64))
    drawn = np.concatenate([law.release(exact, seed=random) for _ in range(max(1, runs // size))])
    return {f"{i:x}": float(n) for i, n in enumerate(np.bincount(drawn & (_CELLS - 1), minlength=_CELLS))}


def rows(results: list[tuple[dict[str, Any], int, dict[str, float]]]) -> list[Row]:
    found = []
    for setting, _, tallies in results:
        seen = np.array([tallies[f"{i:x}"] for i in range(_CELLS)])
        statistic = float(((seen - seen.mean()) ** 2 / seen.mean()).sum())
        bound = float(stats.chi2.isf(1e-8, _CELLS - 1))
        what = f"{setting['law']} around {setting['exact']}: chi-squared of the last four bits, {seen.sum():.0f} draws"
        found.append(Row(what, statistic, "<=", bound))
    return found
