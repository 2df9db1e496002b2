"""How long population intervals are: of a mean beside Student's without privacy, of a median beside its range.

Two exponential quantiles at the ends of the interval (Drechsler and others 2022), which ``method="pair"`` buys, are
told beside.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import stats

import discreet as ds
from discreet.core.random import Random
from study.harness import Row
from study.populations import values

RUNS, PART = 500, 50
SETTINGS: list[dict[str, Any]] = [
    *({"of": "mean", "data": data, "n": 10_000, "epsilon": "1"} for data in ("normal", "lognormal")),
    *({"of": "median", "data": "normal", "n": n, "epsilon": e} for n in (1000, 10_000) for e in ("0.1", "1")),
]
_MEDIANS = {(1000, "0.1"): 0.15, (1000, "1"): 0.036, (10_000, "0.1"): 0.02, (10_000, "1"): 0.0125}


def promised(setting: dict[str, Any]) -> float:
    """The most that half of the intervals of a median are long, of the range: bins are 1/256 wide."""
    return _MEDIANS[setting["n"], setting["epsilon"]]


def run(setting: dict[str, Any], seed: int, runs: int) -> dict[str, float]:
    """Sums of lengths, and how many median intervals are at most as long as promised."""
    rng, random = np.random.default_rng(seed), Random(seed=seed)
    found = {"length": 0.0, "beside": 0.0, "short": 0.0}
    for _ in range(runs):
        x = values(setting["data"], rng, (setting["n"],))
        asked: dict[str, Any] = {"bounds": (0, 1), "epsilon": setting["epsilon"], "seed": random}
        if setting["of"] == "mean":
            low, high = ds.mean(x, of="population", **asked).interval(of="population")
            beside = 2 * float(stats.t.ppf(0.975, len(x) - 1) * stats.sem(x))
        else:
            low, high = ds.median(x, interval=True, **asked).interval(of="population")
            pair = ds.median(x, method="pair", neighbors="replace", **asked).interval(of="population")
            beside = float(pair[1] - pair[0])
            found["short"] += high - low <= promised(setting)
        found["length"] += float(high - low)
        found["beside"] += beside
    return found


def rows(results: Any) -> list[Row]:
    """Ratios of mean lengths; of medians, that at least half of the intervals are as short as promised."""
    made = []
    for setting, runs, tally in results:
        words = f"{setting['of']}, {setting['data']}, {setting['n']} rows, epsilon {setting['epsilon']}, {runs} tables"
        if setting["of"] == "mean":
            made.append(Row(f"{words}: length over Student's", tally["length"] / tally["beside"], "<=", 1.05))
        else:
            told = f"mean length {tally['length'] / runs:.4f} of the range, a pair's {tally['beside'] / runs:.4f}"
            made.append(Row(f"{words} ({told}): share at most {promised(setting):g} long", tally["short"] / runs, ">=", 0.5))
    return made
