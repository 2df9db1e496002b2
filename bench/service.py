"""The service without its network: durable submissions, rows taken, requests and asks answered by a real hand, previews.

Submissions are made by 16 threads into an SQLite inbox with full sync. Rows are taken as the desk takes them: parsed, priced
and judged again. Answers are those of a desk with slots of 250 ms and its hand in a process of its own, which stays busy.
"""

from __future__ import annotations

import json
import statistics
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

from tests.service.conftest import SCHEMA, body, make_clinic, mean

from discreet.service.errands import Errands
from discreet.service.inbox import Inbox
from discreet.service.question import parse, price

CLIENTS, EACH, TAKEN, PREVIEWS, SECONDS, ANALYSTS = 16, 100, 1000, 500, 10.0, 3


def run() -> dict[str, Any]:
    """All of it, in a folder that is gone afterwards."""
    with tempfile.TemporaryDirectory() as folder:
        first, second = Path(folder) / "first", Path(folder) / "second"
        first.mkdir()
        second.mkdir()
        return submissions(first) | previews() | answers(second)


def submissions(folder: Path) -> dict[str, float]:
    """Durable submissions a second and the time that all but one in a hundred take; rows taken a second."""
    clinic = make_clinic(folder, budget="{epsilon = 1000}")
    clinic.edit("one_user = true", "one_user = true\n[limits]\nqueued = 100000")
    ann = clinic.analyst("ann", 1000)
    ann.submit(mean())
    inbox = Inbox(clinic.config.front_boxes, write=True)
    took: list[float] = []

    def client() -> None:
        for _ in range(EACH):
            began = time.perf_counter()
            inbox.submit(1, body(mean("0.01")), time.time())
            took.append(time.perf_counter() - began)

    threads = [threading.Thread(target=client) for _ in range(CLIENTS)]
    began = time.perf_counter()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    whole = time.perf_counter() - began
    inbox.close()
    with clinic.desk() as office:
        started = time.perf_counter()
        while int(office.outbox.fact("taken") or 0) < TAKEN:
            office._take(time.time())
        taken = int(office.outbox.fact("taken") or 0) / (time.perf_counter() - started)
    p99 = statistics.quantiles(took, n=100)[98]
    return {"submissions_per_second": len(took) / whole, "submission_p99_ms": 1000 * p99, "taken_per_second": taken}


def previews() -> dict[str, float]:
    """Questions parsed and priced a second, in one process."""
    texts = [body(mean("0.1", where={"sex": "fm"[n % 2]})) for n in range(PREVIEWS)]
    price(parse(texts[0]), SCHEMA)
    took = []
    for text in texts:
        began = time.perf_counter()
        price(parse(text), SCHEMA)
        took.append(time.perf_counter() - began)
    return {
        "previews_per_second": 1 / statistics.fmean(took),
        "preview_p99_ms": 1000 * statistics.quantiles(took, n=100)[98],
    }


def answers(folder: Path) -> dict[str, float]:
    """Requests of ten asks each, answered by a real hand in ``SECONDS`` seconds; and how many of them were withheld."""
    clinic = make_clinic(folder, budget="{epsilon = 1000}", slot="0.25", count=500)
    clinic.edit("seconds = 0.01", "seconds = 0.008")
    people = [clinic.analyst(f"a{n}", 100) for n in range(ANALYSTS)]
    with clinic.desk(Errands) as office:
        refs = []
        for place, person in enumerate(people):
            for number in range(office.config.limits.queued):
                where = f"age >= {number + 1} and bmi >= {place + 11}"
                asks = [mean("0.01", where=where, statistic=name) for name in _TEN]
                asks += [mean("0.02", where=where, statistic=name) for name in _TEN[:3]]
                refs.append(person.submit(*asks))
        office.run(time.time() + SECONDS)
        states = [asked.state for asked in office.outbox.states(refs).values()]
        answered = states.count("answered")
        lines = (clinic.folder / "private" / "desk.log").read_text().splitlines()
    seconds = [row["seconds"] for row in map(json.loads, lines) if "seconds" in row]
    return {
        "requests_per_second": answered / SECONDS,
        "asks_per_second": answered * 10 / SECONDS,
        "withheld": float(states.count("withheld")),
        "request_p99_ms_in_the_hand": 1000 * (statistics.quantiles(seconds, n=100)[98] if len(seconds) > 1 else 0.0),
    }


_TEN = ("mean", "sum", "variance", "histogram", "median", "distribution", "wilcoxon")


def checks(result: dict[str, Any]) -> list[tuple[str, float, str, float]]:
    """What is promised."""
    return [
        ("durable submissions a second, 16 clients", result["submissions_per_second"], ">=", 500),
        ("ms of a submission, 99 %", result["submission_p99_ms"], "<=", 50),
        ("previews a second, one process", result["previews_per_second"], ">=", 500),
        ("ms of a preview, 99 %", result["preview_p99_ms"], "<=", 50),
        ("rows taken a second", result["taken_per_second"], ">=", 50),
        ("requests answered a second", result["requests_per_second"], ">=", 4),
        ("asks answered a second", result["asks_per_second"], ">=", 40),
        ("requests withheld", result["withheld"], "<=", 0),
    ]
