"""Does the 100,001st charge cost what the 10th did? Medians of 200 charges each, on an SQLite file with full sync."""

from __future__ import annotations

import statistics
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

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


EVENTS, RUNS, BATCH = 100_000, 200, 1000


def charges(ledger: Ledger, law: Laplace) -> list[float]:
    """Seconds of each of ``RUNS`` charges."""
    seconds = []
    for _ in range(RUNS):
        start = time.perf_counter()
        ledger.charge(law, 1, "how many")
        seconds.append(time.perf_counter() - start)
    return seconds


def grow(ledger: Ledger, law: Laplace, events: int) -> None:
    """Write ``events`` events, a thousand to a transaction."""
    distance = Distance.of(1)
    cost = law.cost(distance)
    ask = Ask(Question(), law)
    for start in range(0, events, BATCH):
        ledger.pay([(ask, distance, cost)] * min(BATCH, events - start), ledger.relation)


def run() -> dict[str, Any]:
    law = Laplace(scale=1_000_000)
    with Ledger("sqlite://", Budget(epsilon=1)) as memory:
        bare = charges(memory, law)
    with tempfile.TemporaryDirectory() as folder, Ledger(f"sqlite:///{folder}/ledger.db", Budget(epsilon=1)) as ledger:
        grow(ledger, law, 9)
        early = charges(ledger, law)
        grow(ledger, law, EVENTS - 9 - RUNS)
        late = charges(ledger, law)
        start = time.perf_counter()
        events = ledger.verify()
        checked = time.perf_counter() - start
        size = sum(p.stat().st_size for p in Path(folder).iterdir())
    first, last = statistics.median(early), statistics.median(late)
    return {
        "charge_10_us": first * 1e6,
        "charge_100001_us": last * 1e6,
        "ratio": last / first,
        "without_disk_us": statistics.median(bare) * 1e6,
        "verify_s": checked,
        "events": events,
        "megabytes": size / 1e6,
    }


def checks(result: dict[str, Any]) -> list[tuple[str, float, str, float]]:
    return [("the 100,001st charge over the 10th", result["ratio"], "<=", 1.5)]
