"""Hostile rows straight into the inbox: whatever they hold, the desk goes on, pays for nothing, and answers by one word.

A front that was broken into may write anything. Each run is one row: every type in every column, bodies bent in every way,
questions that are refused and bombs. The desk takes them as it always does; then a good question is answered.
"""

from __future__ import annotations

import sqlite3
import tempfile
import time
from pathlib import Path
from typing import Any

from study.harness import Row

SETTINGS: list[dict[str, Any]] = [{"rows": "hostile"}]
RUNS, PART = 100_000, 2_000


def run(setting: dict[str, Any], seed: int, runs: int) -> dict[str, float]:
    """How many rows were taken, how many broke the desk, were answered or charged, and the longest tick."""
    from tests.service.conftest import make_clinic, mean, settle
    from tests.service.hostile import rows

    from discreet.service.inbox import Inbox
    from discreet.service.outbox import FINAL, WAITING

    found = dict.fromkeys(("taken", "broke", "strange", "charged", "good"), 0.0)
    with tempfile.TemporaryDirectory() as folder:
        clinic = make_clinic(Path(folder))
        ann = clinic.analyst("ann")
        clinic.analyst("mallory", "0.001")  # whose token most rows have, and whose share pays for none of them
        with clinic.desk() as office:
            Inbox(clinic.config.front_boxes, write=True).close()
            inbox = sqlite3.connect(Path(folder) / "boxes" / "front" / "inbox.db")
            made = [(f"{seed + n:032x}", token, body, float(n)) for n, (token, body) in enumerate(rows(runs, seed))]
            inbox.executemany("INSERT INTO requests (ref, token, body, at) VALUES (?, ?, ?, ?)", made)
            inbox.commit()
            inbox.close()
            while int(office.outbox.fact("taken") or 0) < runs:
                try:
                    office._take(time.time())
                except Exception:
                    found["broke"] += 1
                    break
            states = [row.state for row in office.outbox.box.read(office.outbox.t.requests.select())]
            found["taken"] = len(states)
            found["strange"] = sum(state not in (*FINAL, *WAITING) or state == "answered" for state in states)
            found["charged"] = sum(event.kind in ("draw", "use", "open") for event in office.ledgers["clinic"].events())
            found["good"] = settle(office, ann.submit(mean())) == ["answered"]
    return found


def rows(results: list[tuple[dict[str, Any], int, dict[str, float]]]) -> list[Row]:
    made = []
    for _, runs, found in results:
        made.append(Row(f"hostile rows taken, of {runs}", found["taken"], ">=", runs))
        for word in ("broke", "strange", "charged"):
            made.append(Row(f"hostile rows: {word}", found[word], "<=", 0))
        made.append(Row("good questions answered after them", found["good"], ">=", 1))
    return made
