"""A desk and its hand are killed at random moments: paid is never less than looked, nothing is answered twice or lost.

Each run is a service of its own. Requests are submitted, and a desk in a process of its own, with its real hand, is killed
(SIGKILL, both) after a random part of a slot; another desk goes on. What was paid and not looked for is answered in a new
slot, what was looked for and not kept is withheld and says so.
"""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from study.harness import Row

SETTINGS: list[dict[str, Any]] = [{"requests": 4}]
RUNS, PART = 50, 5
_LONGEST = 120.0


def run(setting: dict[str, Any], seed: int, runs: int) -> dict[str, float]:
    """Tallies of ``runs`` kills."""
    with tempfile.TemporaryDirectory() as folder:
        return killed(Path(folder), seed, runs, setting["requests"])


def rows(results: list[tuple[dict[str, Any], int, dict[str, float]]]) -> list[Row]:
    made = []
    for _, _, found in results:
        made.append(Row("kills of a desk and its hand", found["kills"], ">=", 1))
        for word in ("paid_less_than_looked", "two_values", "lost"):
            made.append(Row(f"of {found['kills']:g} kills: {word.replace('_', ' ')}", found[word], "<=", 0))
        made.append(Row("requests answered or withheld in the end", found["ended"], ">=", found["asked"]))
    return made


def killed(folder: Path, seed: int, kills: int, requests: int = 4) -> dict[str, float]:
    """What was found after so many kills of one service."""
    from tests.service.conftest import body, make_clinic, mean

    dice = random.Random(seed)
    clinic = make_clinic(folder, slot="0.25", budget="{epsilon = 100}")
    ann = clinic.analyst("ann", 100)
    found = dict.fromkeys(("kills", "paid_less_than_looked", "two_values", "lost", "asked", "ended", "withheld"), 0.0)
    refs: list[str] = []
    asked = [mean("0.01", statistic="histogram", options={"bins": 2 + n}) for n in range(kills * requests)]
    for number in range(kills):
        refs += [ann.submit(text=body(a)) for a in asked[number * requests : (number + 1) * requests][:requests]]
        _desk_for(folder, dice.uniform(0.0, 0.6))
        found["kills"] += 1
        found["paid_less_than_looked"] += _unpaid(clinic)
    with clinic.desk() as office:
        from tests.service.conftest import settle

        states = settle(office, *refs)
    found["asked"], found["ended"] = len(refs), sum(state in ("answered", "withheld") for state in states)
    found["withheld"] = states.count("withheld")
    with clinic.ledger() as ledger:
        ledger.verify()
        draws = [event.question for event in ledger.events() if event.kind == "draw"]
        pending = dict(ledger.unanswered())
    found["two_values"] = len(draws) - len(set(draws))  # a question drawn twice would be two noises for one
    found["lost"] = sum(state == "answered" and ann.answer(ref) is None for ref, state in zip(refs, states, strict=True))
    found["lost"] += abs(len(pending) - found["withheld"])
    return found


def _unpaid(clinic: Any) -> int:
    """Releases that are kept, or entries that are looked for, without an event that paid."""
    with clinic.ledger() as ledger:
        ledger.verify()
        events = list(ledger.events())
        paid = {event.number for event in events if event.kind == "draw"}
        return sum(number not in paid for number, _ in ledger.unanswered())


def _desk_for(folder: Path, seconds: float) -> None:
    """A desk of its own process group, killed so long after it took its first request."""
    code = (
        "import sys; from discreet.service import config; from discreet.service.desk import Office\n"
        "with Office.open(config.read(sys.argv[1])) as office:\n"
        "    assert office.errands.ready(60)\n"
        "    print('ready', flush=True)\n"
        "    office.run()\n"
    )
    command = [sys.executable, "-c", code, str(folder / "serve.toml")]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, start_new_session=True)
    assert process.stdout is not None
    try:
        assert process.stdout.readline().strip() == b"ready"
        time.sleep(seconds)
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait(_LONGEST)
        process.stdout.close()
