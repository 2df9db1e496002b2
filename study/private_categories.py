"""Labels found privately: how many people it takes, against what theory allows, and how often a lone label shows.

``optimal`` and ``truncated``: a label of ``people`` people is asked for ``runs`` times; the share shown against its exact
probability. ``laplace`` and ``gaussian``: one person with ``keys`` labels that nobody else has, at a large delta so that
there is something to see; the share of runs in which any shows, against the slack that was paid.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np

from discreet.core import numbers
from discreet.core.exact import Exact, Keyed
from discreet.core.random import Random
from discreet.mechanisms import OptimalKeys, ThresholdedKeys, TruncatedKeys
from discreet.statistics.categories import PeopleByKey
from study.harness import Row

SETTINGS: list[dict[str, Any]] = [
    *({"law": "optimal", "epsilon": "0.1", "delta": "1e-5", "people": n} for n in (86, 125)),
    *({"law": "truncated", "epsilon": "0.1", "delta": "1e-5", "people": n} for n in (87, 126)),
    *({"law": law, "epsilon": "1", "delta": "0.02", "keys": m} for law in ("laplace", "gaussian") for m in (1, 2, 10, 100)),
]
RUNS = 200_000
PART = 20_000
_WIDE = 5.0  # deviations: false alarm 6e-7 for each of twelve settings


def law_of(setting: dict[str, Any]) -> Any:
    price = {"epsilon": setting["epsilon"], "delta": setting["delta"]}
    if setting["law"] == "optimal":
        return OptimalKeys(**price)
    if setting["law"] == "truncated":
        return TruncatedKeys(**price)
    m = setting["keys"]
    distance = PeopleByKey("c", m, setting["law"] == "gaussian").distance("add_remove")
    return getattr(ThresholdedKeys, setting["law"])(distance, keys=m, **price)


def run(setting: dict[str, Any], seed: int, runs: int) -> dict[str, float]:
    law, random, m = law_of(setting), Random(seed), setting.get("keys", 1)
    weight = setting.get("people", 1)
    counts, grid = weight, Fraction(1)
    if setting["law"] == "gaussian":
        grid = law.law.grid
        counts = int(1 / numbers.square_root_up(Fraction(m)) / grid)
    names = tuple(f"{i:09d}" for i in range(runs * m))
    shown = law.release(Keyed(names, Exact(np.full(len(names), counts, np.int64), grid)), seed=random)
    return {"shown": float(len({int(key) // m for key in shown}))}


def expected(setting: dict[str, Any]) -> float:
    """The probability of what is counted."""
    law = law_of(setting)
    return float(law.chance(setting["people"]) if "people" in setting else law.escape())


def rows(results: list[tuple[dict[str, Any], int, dict[str, float]]]) -> list[Row]:
    optimal = OptimalKeys("0.1", "1e-5")
    made = [Row(f"people for a chance of {chance} at epsilon 0.1, delta 1e-5", optimal.people_for(chance), "<=", people)
            for chance, people in (("0.5", 86), ("0.99", 125))]  # fmt: skip
    for setting, runs, found in results:
        p = expected(setting)
        apart = (found["shown"] / runs - p) / math.sqrt(p * (1 - p) / runs)
        alone = "keys" in setting
        what = f"{setting['law']}, {setting.get('people', setting.get('keys'))} {'keys' if alone else 'people'}"
        words = "deviations above the slack" if alone else "deviations from its probability"
        made.append(Row(f"{what}: {words}", apart if alone else abs(apart), "<=", _WIDE))
    return made
