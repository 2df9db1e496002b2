"""Whether replies, or the load of the machine, tell how large a table is: 10**3 rows against 10**6, more than neighbours.

An analyst asks one of two services at random, which differ in the size of their tables alone, and does not know which. Each
is a whole one: front, desk and hand are processes, on cores apart where there are two. He notes how long after its public
moment the reply came (``latency``), how many slots that moment was away (``slots``), and how fast the front answered other
calls meanwhile (``ping``). A reply that was withheld counts as the slowest. From half of the calls he learns by which
threshold to tell the two, and uses it on the other half, both ways round. ``naive`` is the time that the hand took: what he
would have seen without slots.

Tallies are counts of what was noted, in bins, by half, table and feature, so that they add up.
"""

from __future__ import annotations

import contextlib
import json
import math
import os
import random
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from study.harness import Row

SIZES = {"small": 1_000, "large": 1_000_000}
SETTINGS: list[dict[str, Any]] = [{"replies": "slots"}, {"replies": "naive"}]
RUNS, PART = 2_000, 500
FEATURES = {"slots": ("latency", "slots", "ping"), "naive": ("seconds",)}
_SLOWEST = 400
_SLOT, _SECONDS = "0.15", "0.05"  # shorter than a service needs: more calls in an hour
_PATIENCE = 300.0


def run(setting: dict[str, Any], seed: int, runs: int) -> dict[str, float]:
    """Tallies of so many calls."""
    dice, found = random.Random(seed), {"withheld": 0.0}
    memory = "/dev/shm" if os.path.isdir("/dev/shm") else None  # a disk's noise would only hide what is looked for
    with tempfile.TemporaryDirectory(dir=memory) as folder, ExitStack() as stack:
        sides = {}
        for name, rows in SIZES.items():
            (Path(folder) / name).mkdir()
            start = _naive if setting["replies"] == "naive" else _served
            sides[name] = stack.enter_context(start(Path(folder) / name, rows))
        for name in SIZES:  # what is asked first also loads what answering needs
            sides[name](seed, 0)
        for number in range(1, runs + 1):
            name = dice.choice(list(SIZES))
            for feature, place in sides[name](seed, number).items():
                key = f"{feature} {number % 2} {name} {min(place, _SLOWEST)}"
                found[key] = found.get(key, 0) + 1
                found["withheld"] += feature == "latency" and place >= _SLOWEST
    return found


def rows(results: list[tuple[dict[str, Any], int, dict[str, float]]]) -> list[Row]:
    """Told apart by naive replies; not by slots. By chance .57 of 2,000 is passed less than once in 500,000."""
    made = []
    for setting, runs, found in results:
        naive = setting["replies"] == "naive"
        for feature in FEATURES[setting["replies"]]:
            told = _told(found, feature)
            what = f"{setting['replies']}, by {feature}: told apart, of {runs} calls"
            made.append(Row(what, told, ">=", 0.9) if naive else Row(what, told, "<=", 0.57))
        if not naive:
            made.append(Row(f"withheld, of {runs} calls", found["withheld"], "<=", 0))
    return made


def _told(found: dict[str, float], feature: str) -> float:
    """The share of calls whose table is told, each half by the threshold that is best on the other half."""
    counts = {(half, name): [found.get(f"{feature} {half} {name} {place}", 0.0) for place in range(_SLOWEST + 1)]
              for half in (0, 1) for name in SIZES}  # fmt: skip
    right = 0.0
    for half in (0, 1):
        learned = max(
            ((_right(counts, 1 - half, cut, up), cut, up) for cut in range(_SLOWEST + 1) for up in (True, False)),
            key=lambda each: each[0],
        )
        right += _right(counts, half, *learned[1:])
    return right / max(1.0, sum(map(sum, counts.values())))


def _right(counts: dict[tuple[int, str], list[float]], half: int, cut: int, up: bool) -> float:
    """How many calls are told where those from ``cut`` on are taken for the large table, or for the small one."""
    above, below = ("large", "small") if up else ("small", "large")
    return sum(counts[half, above][cut:]) + sum(counts[half, below][:cut])


def _made(folder: Path, rows: int, port: int) -> Any:
    """A clinic with so many patients, and an analyst who may ask a great deal."""
    import numpy as np
    import pyarrow as pa
    import pyarrow.parquet
    from tests.service.conftest import make_clinic

    clinic = make_clinic(folder, slot=_SLOT, budget="{epsilon = 100000}")
    dice = np.random.default_rng(rows)
    labels = {"sex": ["f", "m"], "stroke": ["no", "yes"]}
    columns = {"age": dice.integers(0, 101, rows), "bmi": dice.uniform(10, 60, rows)}
    columns |= {name: np.array(values)[dice.integers(0, 2, rows)] for name, values in labels.items()}
    pa.parquet.write_table(pa.table(columns), folder / "patients.parquet")
    for old, new in (
        ("https://ask.clinic.example", f"http://127.0.0.1:{port}"), ("127.0.0.1:8443", f"127.0.0.1:{port}"),
        ("patients.csv", "patients.parquet"), ("most_rows = 500", "most_rows = 4000000"),
        ("seconds = 0.01", f"seconds = {_SECONDS}"),
    ):  # fmt: skip
        clinic.edit(old, new)
    with (folder / "serve.toml").open("a") as file:
        file.write("[limits]\nper_minute = 1000000\n")
    return clinic, clinic.analyst("ann", 100_000)


def _question(seed: int, number: int) -> str:
    """A mean that nobody asked for before: what is stored would not be looked for again."""
    from tests.service.conftest import body, mean

    return body(mean(f"1.{seed % 10**9:09}{number:04}", columns=["bmi"]))


@contextmanager
def _naive(folder: Path, rows: int) -> Iterator[Any]:
    """The time of the hand, in milliseconds."""
    from discreet.service.hand import Hand

    clinic, _ = _made(folder, rows, 1)
    with clinic.desk() as office:
        (grant,) = office.outbox.grants()
    hand = Hand.open(clinic.config)

    def ask(seed: int, number: int) -> dict[str, int]:
        order = {"text": _question(seed, number), "account": grant.account, "analyst": grant.analyst, "rows": None}
        began = time.perf_counter()
        assert hand.answer(order)["state"] == "answered"
        return {"seconds": int((time.perf_counter() - began) * 1000)}

    try:
        yield ask
    finally:
        for ledger in hand.ledgers.values():
            ledger.close()


@contextmanager
def _served(folder: Path, rows: int) -> Iterator[Any]:
    """A service as it is run, and what an analyst can note of one question to it."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    clinic, ann = _made(folder, rows, port)
    command = [sys.executable, "-m", "discreet", "serve", str(folder / "serve.toml")]
    service = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        asker, prober = _caller(clinic, ann.secret, service), _caller(clinic, "", service)
        yield lambda seed, number: _noted(clinic, asker, prober, _question(seed, number))
        asker.close()
        prober.close()
    finally:
        service.terminate()
        service.wait(60)


def _caller(clinic: Any, token: str, service: subprocess.Popen[bytes]) -> Any:
    from tests.service.twins import Caller

    caller, end = Caller(clinic.config.url, token), time.monotonic() + _PATIENCE
    while True:
        try:
            caller.call("GET", "/health")
            caller.close()
            return caller
        except OSError:
            caller.close()
            assert service.poll() is None, "the service ended"
            assert time.monotonic() < end, "the service did not start"
            time.sleep(0.2)


def _noted(clinic: Any, asker: Any, prober: Any, question: str) -> dict[str, int]:
    pings: list[float] = []
    done = threading.Event()

    def probe() -> None:
        while not done.is_set():
            began = time.perf_counter()
            prober.call("GET", "/health")
            pings.append(time.perf_counter() - began)

    sent = json.loads(asker.call("POST", "/v1/requests", question.encode()).body)
    probing = threading.Thread(target=probe)
    probing.start()
    try:
        got = asker.waited(sent["request"])
        arrived = time.time()
    finally:
        done.set()
        probing.join()
    mean = sum(pings) / max(1, len(pings))
    noted = {"ping": max(0, int(100 * math.log10(max(mean, 1e-4) / 1e-4)))}
    if got["state"] != "answered":
        with contextlib.suppress(Exception), clinic.custodian() as custodian:
            custodian.reopen("clinic")
        return noted | {"latency": _SLOWEST, "slots": _SLOWEST}
    waited = round((got["due"] - got["sent"]) / float(_SLOT))
    return noted | {"latency": max(0, int((arrived - got["due"]) * 1000)), "slots": min(waited, _SLOWEST - 1)}
