"""Requests that Schemathesis makes of the service's own description: whatever is sent, no reply has a code from 500 on.

It runs in an environment of its own (``bench/environments.py``) against a front that listens, with a stand-in for the desk.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

from study.harness import Row

SETTINGS: list[dict[str, Any]] = [{"requests": "by Schemathesis"}]
RUNS, PART = 50_000, 5_000


def run(setting: dict[str, Any], seed: int, runs: int) -> dict[str, float]:
    """How many requests were made, what codes they had, and how many had a reply that they must not have."""
    from bench.environments import ask_peer
    from tests.service.stand import standing

    from discreet.service.helper import Helper

    helpers = Helper(60.0), Helper(60.0)
    limits = "[limits]\nper_minute = 10000000\nqueued = 1000000\n"
    try:
        with tempfile.TemporaryDirectory() as folder, standing(Path(folder), more=limits, helpers=helpers) as stand:
            found = ask_peer("schemathesis", "service", stand.url, stand.token, str(runs), str(seed))
    finally:
        for each in helpers:
            each.close()
    for line in found["bad"]:
        print(line)
    return {"made": found["made"], "failures": found["failures"], **{f"code {k}": v for k, v in found["codes"].items()}}


def rows(results: list[tuple[dict[str, Any], int, dict[str, float]]]) -> list[Row]:
    made = []
    for _, runs, found in results:
        made.append(Row(f"requests made by Schemathesis, of {runs}", found["made"], ">=", runs))
        made.append(Row("replies from 500 on, without JSON, or with a traceback", found["failures"], "<=", 0))
        made.append(Row("requests that were taken or priced", found.get("code 2xx", 0), ">=", runs / 50))
    return made
