"""Studies that are stopped, gone on with, or worked off by several processes give the same tallies. This module is one."""

from __future__ import annotations

import sys
from itertools import islice
from pathlib import Path
from typing import Any

from study.harness import Stored, parts

ME = sys.modules[__name__]
RUNS, PART = 10, 4
SETTINGS: list[dict[str, Any]] = [{"place": place} for place in range(3)]


def run(setting: dict[str, Any], seed: int, runs: int) -> dict[str, float]:
    """Tallies that say which seeds were used, by which setting."""
    return {"seeds": float(sum(range(seed, seed + runs))), "parts": 1.0, "place": float(setting["place"] * runs)}


EXPECTED = [
    (s, RUNS, {"seeds": float(sum((p << 40) + r for r in range(RUNS))), "parts": 3.0, "place": 10.0 * p})
    for p, s in enumerate(SETTINGS)
]


def test_a_study_gives_the_same_whoever_makes_its_parts(tmp_path: Path) -> None:
    for jobs in (1, 2):
        stored = Stored("whole", tmp_path / str(jobs))
        assert len(list(parts(ME, stored, jobs=jobs))) == 9
        assert Stored("whole", tmp_path / str(jobs)).results(ME) == EXPECTED


def test_a_study_that_was_stopped_goes_on(tmp_path: Path) -> None:
    assert len(list(islice(parts(ME, Stored("stopped", tmp_path)), 4))) == 4
    begun = Stored("stopped", tmp_path)
    assert [runs for _, runs, _ in begun.results(ME)] == [8, 4, 4]
    assert len(list(parts(ME, begun, runs=7))) == 2
    assert [runs for _, runs, _ in begun.results(ME)] == [8, 7, 7]
    list(parts(ME, begun))
    assert [(runs, tallies["seeds"]) for _, runs, tallies in begun.results(ME)] == [(r, t["seeds"]) for _, r, t in EXPECTED]
