"""Services that differ in their tables alone: 500 calls, good and hostile, to each of three, and every reply compared."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

from study.harness import Row

SETTINGS: list[dict[str, Any]] = [{"tables": "full, one person less, empty"}]
RUNS, PART = 500, 100


def run(setting: dict[str, Any], seed: int, runs: int) -> dict[str, float]:
    from tests.service.twins import differences

    from discreet.service.helper import Helper

    helpers = Helper(60.0), Helper(60.0)  # patient ones: what is compared is what they say
    try:
        with tempfile.TemporaryDirectory() as folder:
            made, found = differences(Path(folder), helpers, runs, seed)
    finally:
        for each in helpers:
            each.close()
    return {"calls": made, "differences": len(found)}


def rows(results: list[tuple[dict[str, Any], int, dict[str, float]]]) -> list[Row]:
    return [
        Row(f"replies that differ between services in {runs} calls to each", found.get("differences", 0), "<=", 0)
        for _, runs, found in results
    ]
