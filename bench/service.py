"""The service: durable submissions, rows taken, requests and asks answered by a real hand, previews; and a front by HTTP.

Submissions are made by 16 threads into an SQLite inbox with full sync. Rows are taken as the desk takes them: parsed, priced
and judged again. Answers are those of a desk with slots of 250 ms and its hand in a process of its own, which stays busy.
By HTTP the front and its helpers are processes of their own; no two questions are alike, so that each is priced.
"""

from __future__ import annotations

import json
import os
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

from tests.service.conftest import SCHEMA, body, make_clinic, mean
from tests.service.twins import Caller

from discreet.service.errands import Errands
from discreet.service.inbox import Inbox
from discreet.service.remote_question import parse, price

CLIENTS, EACH, TAKEN, PREVIEWS, SECONDS, ANALYSTS = 16, 100, 1000, 500, 10.0, 3


def run() -> dict[str, Any]:
    """All of it, in a folder that is gone afterwards."""
    with tempfile.TemporaryDirectory() as folder:
        first, second, third = (Path(folder) / name for name in ("first", "second", "third"))
        for each in (first, second, third):
            each.mkdir()
        return submissions(first) | previews() | answers(second) | by_http(third)


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


def by_http(folder: Path) -> dict[str, float]:
    """Previews and submissions a second by 16 clients, the time of all but one in a hundred, and processor time."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    clinic = make_clinic(folder, budget="{epsilon = 1000}")
    for old, new in (("https://ask.clinic.example", f"http://127.0.0.1:{port}"), ("127.0.0.1:8443", f"127.0.0.1:{port}")):
        clinic.edit(old, new)
    clinic.edit("one_user = true", "one_user = true\n[limits]\nper_minute = 1000000\nqueued = 100000")
    ann = clinic.analyst("ann", 1000)
    with clinic.desk():
        pass  # what the front shows of tables is in the outbox now
    front = subprocess.Popen([sys.executable, "-m", "discreet", "serve", "front", str(folder / "serve.toml")])
    try:
        _ready(clinic.config.url)
        found: dict[str, float] = {}
        for name, path in (("http_previews", "/v1/requests?preview=1"), ("http_submissions", "/v1/requests")):
            before = _processor(front.pid)
            whole, took = _clients(clinic.config.url, ann.secret, path)
            found |= {
                f"{name}_per_second": len(took) / whole,
                f"{name}_p99_ms": 1000 * statistics.quantiles(took, n=100)[98],
            }
            found[f"{name}_processor_ms"] = 1000 * (_processor(front.pid) - before) / len(took)
        return found
    finally:
        front.terminate()
        front.wait(60)


def _ready(url: str) -> None:
    caller = Caller(url)
    for _ in range(600):
        try:
            caller.call("GET", "/health")
            break
        except OSError:
            caller.close()
            time.sleep(0.2)
    caller.close()


def _clients(url: str, token: str, path: str) -> tuple[float, list[float]]:
    took: list[float] = []

    def client(place: int) -> None:
        caller = Caller(url, token)
        for number in range(EACH):
            text = body(mean(f"0.0{place + 10}{number + 100}", where={"sex": "fm"[number % 2]})).encode()
            began = time.perf_counter()
            assert caller.call("POST", path, text).code in (200, 202)
            took.append(time.perf_counter() - began)
        caller.close()

    threads = [threading.Thread(target=client, args=(n,)) for n in range(CLIENTS)]
    began = time.perf_counter()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return time.perf_counter() - began, took


def _processor(pid: int) -> float:
    """Seconds that a process and its children had of the processors."""
    threads = Path(f"/proc/{pid}/task").iterdir()  # whichever of them started it
    children = [child for thread in threads for child in (thread / "children").read_text().split()]
    fields = [Path(f"/proc/{each}/stat").read_text().rpartition(")")[2].split() for each in (pid, *children)]
    return sum(int(each[11]) + int(each[12]) for each in fields) / os.sysconf("SC_CLK_TCK")


def answers(folder: Path) -> dict[str, float]:
    """Requests of ten asks each, answered by a real hand in ``SECONDS`` seconds; and how many of them were withheld."""
    clinic = make_clinic(folder, budget="{epsilon = 1000}", slot="0.25", count=500)
    clinic.edit("seconds = 0.01", "seconds = 0.004")
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
        ("previews a second by HTTP, 16 clients", result["http_previews_per_second"], ">=", 500),
        ("ms of a preview by HTTP, 99 %", result["http_previews_p99_ms"], "<=", 50),
        ("submissions a second by HTTP, 16 clients", result["http_submissions_per_second"], ">=", 500),
        ("ms of a submission by HTTP, 99 %", result["http_submissions_p99_ms"], "<=", 50),
        ("rows taken a second", result["taken_per_second"], ">=", 50),
        ("requests answered a second", result["requests_per_second"], ">=", 4),
        ("asks answered a second", result["asks_per_second"], ">=", 40),
        ("requests withheld", result["withheld"], "<=", 0),
    ]
