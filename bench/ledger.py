"""Fast books: an ask on a ledger on disk, many processes at once, and checking, showing and exporting 200,000 events.

Medians on an SQLite file with full sync. An ask is a count through a session: pay, mark, look, draw, store, read back.
"""

from __future__ import annotations

import io
import multiprocessing
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import discreet as ds
from discreet.core.ask import Ask
from discreet.core.budget import Budget
from discreet.core.cost import Distance
from discreet.core.query import Query, Relation
from discreet.ledger import Ledger
from discreet.mechanisms import Laplace


@dataclass(frozen=True)
class Question(Query):
    """A question that is only ever paid for."""

    name: ClassVar[str] = "bench"

    def distance(self, relation: Relation) -> Distance:
        return Distance.of(1)

    def evaluate(self, source: Any) -> Any:
        return 0

    def blank(self, rows: int) -> Any:
        return 0


EVENTS, RUNS, BATCH, PROCESSES, EACH = 200_000, 200, 1000, 8, 60
SCHEMA = ds.Schema({"sex": ds.Categories(["f", "m"])})


def session(url: str) -> ds.Session:
    return ds.Session({"sex": ["f", "m"]}, SCHEMA, Budget(epsilon=1000), url, version="1")


def medians(act: Callable[[int], Any]) -> float:
    """The median seconds of ``RUNS`` calls, after a few that are not counted."""
    seconds = []
    for turn in range(RUNS + 20):
        start = time.perf_counter()
        act(turn)
        seconds.append(time.perf_counter() - start)
    return statistics.median(seconds[20:])


def grow(ledger: Ledger, law: Laplace, events: int) -> None:
    """Write ``events`` events, a thousand to a transaction."""
    distance = Distance.of(1)
    cost = law.cost(distance)
    ask = Ask(Question(), law)
    for start in range(0, events, BATCH):
        ledger.pay([(ask, distance, cost)] * min(BATCH, events - start), ledger.relation)


def _asker(url: str, place: int, start: Any, done: Any) -> None:
    with session(url).ledger as ledger:
        asking = ds.Session({"sex": ["f", "m"]}, SCHEMA, ledger=ledger, version="1")
        asking.count(epsilon=1e-4 * (place + 1))
        start.wait()
        for turn in range(EACH):
            asking.count(epsilon=0.001 + 1e-6 * (place * EACH + turn))
        done.put(place)


def together(url: str) -> float:
    """Asks a second of ``PROCESSES`` processes on one file."""
    session(url).ledger.close()
    processes = multiprocessing.get_context("spawn")
    start, done = processes.Barrier(PROCESSES + 1), processes.Queue()
    askers = [processes.Process(target=_asker, args=(url, place, start, done)) for place in range(PROCESSES)]
    for asker in askers:
        asker.start()
    start.wait()
    began = time.perf_counter()
    for _ in askers:
        done.get()
    seconds = time.perf_counter() - began
    for asker in askers:
        asker.join()
    return PROCESSES * EACH / seconds


_EXPORT = """
import resource, sys
from discreet.cli import main
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
assert main(["ledger", "show", sys.argv[1], "--json", "--last", "1000000"]) == 0
sys.stderr.write(str(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss))
"""


def exported(path: str) -> float:
    """The most memory, in megabytes, of a process that exports the whole book."""
    with open("/dev/null", "w") as nowhere:
        ran = subprocess.run(
            [sys.executable, "-c", _EXPORT, path], stdout=nowhere, stderr=subprocess.PIPE, text=True, check=True
        )
    return int(ran.stderr.split()[-1]) / 1000


def shown(path: str) -> float:
    from discreet.cli import main

    start = time.perf_counter()
    with redirect_stdout(io.StringIO()):
        assert main(["ledger", "show", path]) == 0
    return time.perf_counter() - start


def run() -> dict[str, Any]:
    law = Laplace(scale=1_000_000)
    with session("sqlite://").ledger as memory:
        bare = medians(lambda turn: ds.Session({"sex": ["f"]}, SCHEMA, ledger=memory).count(epsilon=0.001))
    with tempfile.TemporaryDirectory() as folder:
        path = f"{folder}/ledger.db"
        asking = session(f"sqlite:///{path}")
        ledger = asking.ledger
        ask = medians(lambda turn: asking.count(epsilon=0.001 + turn * 1e-6))
        early = medians(lambda turn: ledger.charge(law, 1, "how many"))
        grow(ledger, law, EVENTS - ledger.count)
        late = medians(lambda turn: ledger.charge(law, 1, "how many"))
        start = time.perf_counter()
        events = ledger.verify()
        checked = time.perf_counter() - start
        ledger.close()
        size = sum(p.stat().st_size for p in Path(folder).iterdir())
        display, memory_mb = shown(path), exported(path)
    with tempfile.TemporaryDirectory() as folder:
        rate = together(f"sqlite:///{folder}/ledger.db")
    return {
        "ask_ms": ask * 1e3,
        "ask_without_disk_ms": bare * 1e3,
        "charge_early_us": early * 1e6,
        "charge_late_us": late * 1e6,
        "ratio": late / early,
        "asks_per_second_of_8_processes": rate,
        "verify_s": checked,
        "show_s": display,
        "export_mb": memory_mb,
        "events": events,
        "megabytes": size / 1e6,
        "most_memory_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1000,
    }


def checks(result: dict[str, Any]) -> list[tuple[str, float, str, float]]:
    return [
        ("the 200,001st charge over the first", result["ratio"], "<=", 1.5),
        ("an ask on disk, milliseconds", result["ask_ms"], "<=", 1.6),
        ("asks a second of 8 processes", result["asks_per_second_of_8_processes"], ">=", 250),
        ("200,000 events checked, seconds", result["verify_s"], "<=", 10),
        ("200,000 events shown, seconds", result["show_s"], "<=", 1),
        ("200,000 events exported, megabytes of memory", result["export_mb"], "<=", 300),
    ]
