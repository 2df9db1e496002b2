"""Run the studies, print what was measured, write ``bench/results.json``, and fail where a promise does not hold."""

from __future__ import annotations

import importlib
import json
import platform
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

STUDIES = (
    "noise",
    "ledger",
    "descriptive",
    "engines",
    "cluster",
    "tables",
    "local",
    "protect",
    "models",
    "models_files",
    "small_tables",
    "dppack",
    "regression",
    "intervals",
    "gradient",
    "own_network",
    "inference",
    "calibration",
    "service",
    "synthetic",
    "survival",
    "population",
)
RESULTS = Path(__file__).parent / "results.json"


def main(names: list[str]) -> int:
    """One study in this process; several each in a process of its own, so that none slows, fattens or ends another."""
    if len(names) == 1:
        return _measured(names[0])
    ended = [subprocess.run([sys.executable, "-m", "bench", name], check=False).returncode for name in names or STUDIES]
    return 1 if any(ended) else 0


def _measured(name: str) -> int:
    study = importlib.import_module(f"bench.{name}")
    start = time.perf_counter()
    result = study.run()
    rows = study.checks(result)
    _keep(name, {"machine": f"{platform.machine()}, Python {platform.python_version()}", **result})
    print(f"\n{name} ({time.perf_counter() - start:.0f} s)")
    failed = 0
    for what, value, sign, bound in rows:
        holds = value >= bound if sign == ">=" else value <= bound
        failed += not holds
        print(f"  {'holds ' if holds else 'FAILS '} {what}: {value:.4g} (promised {sign} {bound:g})", flush=True)
    return 1 if failed else 0


def _keep(name: str, result: dict[str, Any]) -> None:
    """Add a study's result to those that there are by now: another may have ended in the meantime."""
    known = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    RESULTS.write_text(json.dumps(known | {name: result}, indent=1) + "\n")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
