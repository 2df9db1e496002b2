"""How often each trap of the museum's third room denies what is true, where it promises 5 %."""

from __future__ import annotations

from typing import Any

from discreet.audit.traps import CLAIM, TRAPS
from study.harness import Row

RUNS, PART = 10_000, 1000
SETTINGS: list[dict[str, Any]] = [{"trap": trap.name} for trap in TRAPS]


def run(setting: dict[str, Any], seed: int, runs: int) -> dict[str, float]:
    """Tables in which the trap is wrong. The museum draws from the system's generator: no seed."""
    (trap,) = (t for t in TRAPS if t.name == setting["trap"])
    return {"wrong": float(trap.wrong(runs).sum())}


def rows(results: Any) -> list[Row]:
    """Every trap is wrong more often than it says."""
    return [Row(f"{s['trap']}, {n} tables: wrong in", t["wrong"] / n, ">=", CLAIM) for s, n, t in results]
