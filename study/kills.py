"""Five hundred kills and three hundred damages: nothing is paid twice, overspent, lost, or handed out without being stored.

A process asks one question after another of one ledger, on SQLite or PostgreSQL, and writes down every answer it was
handed. At a random moment it is killed (SIGKILL) or interrupted (SIGINT). Then the same questions are asked again by
another process:

- *overspent*: the ledger holds more than its budget, or its chain does not verify;
- *twice*: a question has two charges and no decision of the custodian between them;
- *changed*: an answer handed out before the kill differs from the one that is stored;
- *unanswerable*: an entry that is paid can be answered neither by asking again nor, after a look, by the custodian's word.

A damage cuts, blots or flips a bit of the ledger file, its log or its head file: *set back* counts those after which a
smaller sum verifies.
"""

from __future__ import annotations

import json
import multiprocessing
import os
import random
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import discreet as ds
from discreet.errors import DiscreetError, Withheld
from study.harness import Row

SETTINGS = [
    {"kind": "kill", "on": "sqlite", "signal": "SIGKILL"},
    {"kind": "kill", "on": "sqlite", "signal": "SIGINT"},
    {"kind": "kill", "on": "postgres", "signal": "SIGKILL"},
    {"kind": "kill", "on": "postgres", "signal": "SIGINT"},
    {"kind": "damage", "of": "ledger.db"},
    {"kind": "damage", "of": "ledger.db-wal"},
    {"kind": "damage", "of": "ledger.db.head"},
]
RUNS, PART = 125, 25
QUESTIONS = 400

# Real processes that do not share this one's memory, started quickly because their parent has imported us already.
_processes = multiprocessing.get_context("forkserver")
_processes.set_forkserver_preload(["study.kills"])
SCHEMA = ds.Schema({"sex": ds.Categories(["f", "m"])})


def _session(ledger: str | ds.Ledger) -> ds.Session:
    return ds.Session({"sex": ["f", "m"] * 20}, SCHEMA, ledger=ledger, version="1", name="people")


def _victim(url: str, told: str) -> None:
    sys.stderr = open(os.devnull, "w")  # noqa: SIM115
    signal.signal(signal.SIGINT, signal.default_int_handler)
    session = _session(url)
    with open(told, "a", buffering=1) as out:
        out.write("ready\n")
        for place in range(QUESTIONS):
            out.write(f"{place} {float(session.count(epsilon=(place + 1) / 10**6))!r}\n")


def run(setting: dict[str, Any], seed: int, runs: int) -> dict[str, float]:
    chance = random.Random(seed)
    found: Counter[str] = Counter()
    if setting["kind"] == "damage":
        return dict(_damages(setting["of"], chance, runs))
    with tempfile.TemporaryDirectory() as folder, _server(setting["on"]) as address:
        for turn in range(runs):
            url = f"sqlite:///{folder}/ledger{turn}.db" if address is None else _schema_of(address, f"k{seed}_{turn}")
            found.update(_kill(url, Path(folder) / f"told{turn}", getattr(signal, setting["signal"]), chance))
    return {k: float(v) for k, v in found.items()}


def _kill(url: str, told: Path, number: int, chance: random.Random) -> Counter[str]:
    found: Counter[str] = Counter(kills=1)
    budget = ds.Budget(epsilon=1)
    ds.Ledger(url, budget, name="people").close()
    victim = _processes.Process(target=_victim, args=(url, str(told)))
    victim.start()
    deadline, answers = time.monotonic() + 120, chance.randrange(12)
    # After so many answers and not after so long: on a busy machine every kill would come before the first of them.
    while _lines(told) <= answers and victim.is_alive() and time.monotonic() < deadline:
        time.sleep(0.0002)
    time.sleep(chance.uniform(0, 0.01))
    assert victim.pid is not None
    with suppress(ProcessLookupError):
        os.kill(victim.pid, number)
    victim.join()
    lines = [line.split() for line in told.read_text().splitlines()[1:] if line.count(" ") == 1]
    handed = {int(place): float(value) for place, value in lines}
    with ds.Ledger(url, name="people") as ledger:
        session = _session(ledger)
        before, waiting = ledger.spent(), dict(ledger.unanswered())
        found.update({f"left {state}": 1 for state in waiting.values()})
        for place in range(len(handed) + 1):
            try:
                value = float(session.count(epsilon=(place + 1) / 10**6))
            except Withheld:
                ledger.redeem(next(entry for entry, state in ledger.unanswered() if state == "looked"))
                found["redeemed by the custodian"] += 1
                value = float(session.count(epsilon=(place + 1) / 10**6))
            except DiscreetError:
                found["unanswerable"] += 1
                continue
            found["changed"] += place in handed and handed[place] != value
        found["unanswerable"] += len(ledger.unanswered())
        charges = Counter(e.law for e in ledger.events() if e.kind == "charge")
        found["twice"] += sum(count - 1 for count in charges.values())
        try:
            ledger.verify()
        except DiscreetError:
            found["overspent"] += 1
        assert before <= ledger.spent()
        found["overspent"] += ledger.spent().epsilon > budget.epsilon
        found["asks"] += len(handed)
    return found


def _lines(told: Path) -> int:
    """How many lines a victim has written: that it is ready, and one for each answer."""
    return told.read_bytes().count(b"\n") if told.exists() else 0


def _damages(which: str, chance: random.Random, runs: int) -> Counter[str]:
    """The damages of the tests, more of them."""
    from tests.ledger import test_set_back as damages
    from tests.ledger.laws import Plain, Sevens

    from discreet.core.mechanism import mechanisms
    from discreet.core.query import queries

    mechanisms._known[Plain.name], queries._known[Sevens.name] = Plain, Sevens
    try:
        with tempfile.TemporaryDirectory() as folder:
            files = damages.written(Path(folder) / "original", which)
            outcomes = damages.damaged(files, which, Path(folder) / "original", chance, runs)
    finally:
        del mechanisms._known[Plain.name], queries._known[Sevens.name]
    return Counter(word if word in ("found", "harmless") else "set back" for word in outcomes)


@contextmanager
def _server(on: str) -> Iterator[str | None]:
    if on == "sqlite":
        yield None
        return
    import pgserver

    with tempfile.TemporaryDirectory() as home:
        server = pgserver.get_server(Path(home) / "data")
        try:
            yield server.get_uri()
        finally:
            server.cleanup()


def _schema_of(address: str, name: str) -> str:
    import psycopg

    with psycopg.connect(address, autocommit=True) as connection:
        connection.execute(f"CREATE SCHEMA {name}")
    return f"{address}&options=-csearch_path%3D{name}"


def rows(results: list[tuple[dict[str, Any], int, dict[str, float]]]) -> list[Row]:
    kills = [(s, n, f) for s, n, f in results if s["kind"] == "kill"]
    damages = [(s, n, f) for s, n, f in results if s["kind"] == "damage"]
    promised = [Row("kills made", sum(n for _, n, _ in kills), ">=", 500)]
    for word in ("overspent", "twice", "changed", "unanswerable"):
        promised.append(Row(f"kills: {word}", sum(f.get(word, 0) for _, _, f in kills), "<=", 0))
    for setting, made, found in damages:
        promised.append(Row(f"damages of {setting['of']}", made, ">=", 100))
        promised.append(Row(f"damages of {setting['of']}: set back", found.get("set back", 0), "<=", 0))
    return promised


def main() -> None:
    """A look at a few runs."""
    with suppress(KeyboardInterrupt):
        for setting in SETTINGS:
            sys.stdout.write(f"{json.dumps(setting)} {run(setting, 1, 3)}\n")


if __name__ == "__main__":
    main()
