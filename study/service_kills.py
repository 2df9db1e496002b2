"""A desk and its hand are killed at named points of a request's life: paid is never less than looked.

Each run submits a few requests and starts a desk in a process of its own, with its real hand. Both are killed (SIGKILL) when
one of them reaches the run's point for the run's time: before a row is taken, between payment and look, between look and
store, before and after a head is kept and an answer published. Another desk goes on. A witness beside the reader of the
table notes every entry that is looked for, so that

- *unpaid*: looks at entries that no event paid for;
- *looked twice*: entries looked for again, which would be two noises for one payment;
- *lost*: requests that did not end, ended without an answer, were answered in a slot that was over at the kill, or are
  withheld although nobody had looked;
- *not withheld*: entries that were looked for and not stored, whose request is not withheld.
"""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from study.harness import Row


class Point(NamedTuple):
    """Where a desk or its hand is killed: before or after a call, of which one is made for each request or not."""

    part: str
    module: str
    call: str
    when: str
    each: bool


_HAND, _RUNNER, _LEDGER, _DESK = "discreet.service.hand", "discreet.core.runner", "discreet.ledger", "discreet.service.desk"
_OFFICE, _DELIVERY = "discreet.service.errands", "discreet.service.delivery"
POINTS = [
    Point("desk", "discreet.service.taking", "Taker.take", "before", True),
    Point("desk", "discreet.service.taking", "Taker.take", "after", True),
    Point("desk", _DESK, "Office._take", "after", False),
    Point("desk", _OFFICE, "Errands.answer", "before", False),
    Point("desk", _OFFICE, "Errands.answer", "after", False),
    Point("hand", _HAND, "Hand.answer", "before", True),
    Point("hand", _LEDGER, "Ledger.buy", "before", True),
    Point("hand", _LEDGER, "Ledger.buy", "after", True),
    Point("hand", _LEDGER, "Ledger.look", "after", True),
    Point("hand", _RUNNER, "Desk._look", "before", True),
    Point("hand", _RUNNER, "Desk._look", "after", True),
    Point("hand", _LEDGER, "Ledger.store", "before", True),
    Point("hand", _LEDGER, "Ledger.store", "after", True),
    Point("hand", _HAND, "Hand.answer", "after", True),
    Point("hand", _HAND, "_stay_busy", "before", False),
    Point("desk", _OFFICE, "Errands.collect", "after", False),
    Point("desk", "discreet.service.heads", "Heads.note", "before", False),
    Point("desk", "discreet.service.heads", "Heads.note", "after", False),
    Point("desk", _DELIVERY, "Delivery._write", "after", False),
    Point("desk", _DELIVERY, "Delivery.deliver", "after", False),
]
SETTINGS: list[dict[str, Any]] = [{"requests": 4, "points": len(POINTS)}]
RUNS, PART = 3 * len(POINTS), len(POINTS) // 4
_LONGEST = 120.0
_SLOT = "4"  # seconds: a slow machine is no overrun
_BAD = ("unpaid", "looked_twice", "lost", "not_withheld")


def run(setting: dict[str, Any], seed: int, runs: int) -> dict[str, float]:
    """Tallies of ``runs`` kills, each at the next point."""
    first = seed % (1 << 40)
    with tempfile.TemporaryDirectory() as folder:
        return killed(Path(folder), [POINTS[(first + n) % len(POINTS)] for n in range(runs)], seed, setting["requests"])


def rows(results: list[tuple[dict[str, Any], int, dict[str, float]]]) -> list[Row]:
    made = []
    for _, runs, found in results:
        made.append(Row("kills of a desk and its hand at a point that they reached", found["reached"], ">=", max(50, runs)))
        made += [Row(f"of {runs} kills: {word.replace('_', ' ')}", found[word], "<=", 0) for word in _BAD]
        made.append(
            Row("requests answered, or withheld and said so", found["answered"] + found["withheld"], ">=", found["asked"])
        )
        made.append(Row("requests that were looked for when killed, and are withheld", found["withheld"], ">=", runs / 10))
    return made


def killed(folder: Path, points: list[Point], seed: int, requests: int = 4) -> dict[str, float]:
    """What was found after a kill at each of these points, of a service of its own."""
    dice = random.Random(seed)
    found: Counter[str] = Counter(dict.fromkeys((*_BAD, "reached", "asked", "answered", "withheld"), 0))
    for number, point in enumerate(points):
        (folder / str(number)).mkdir()
        found.update(_kill(folder / str(number), point, 1 + dice.randrange(requests) if point.each else 1, requests))
    return dict(found)


def _kill(folder: Path, point: Point, times: int, requests: int) -> dict[str, int]:
    from tests.service.conftest import body, make_clinic, mean, settle

    clinic = make_clinic(folder, slot=_SLOT)
    ann = clinic.analyst("ann")
    asked = [mean("0.01", statistic="histogram", options={"bins": 2 + n}) for n in range(requests)]
    refs = [ann.submit(text=body(each)) for each in asked]
    reached = _killed_desk(folder, point, times)
    moment = time.time()
    with clinic.ledger() as ledger:
        ledger.verify()
        paid = {event.number for event in ledger.events() if event.kind == "draw"}
        interrupted = [state for _, state in ledger.unanswered()].count("looked")
    unpaid = sum(entry not in paid for entry in _looked(folder))
    before = {ref: ann.answer(ref) is not None for ref in refs}
    with _witness(folder), clinic.desk() as office:
        states = dict(zip(refs, settle(office, *refs), strict=True))
        dues = {ref: each.due or 0.0 for ref, each in office.outbox.states(refs).items()}
    ends = Counter(states.values())
    answered = [ref for ref in refs if states[ref] == "answered"]
    lost = requests - ends["answered"] - ends["withheld"]
    lost += sum(ann.answer(ref) is None or not (before[ref] or dues[ref] > moment) for ref in answered)
    return {
        "reached": reached,
        "asked": requests,
        "answered": ends["answered"],
        "withheld": ends["withheld"],
        "unpaid": unpaid,
        "looked_twice": sum(times > 1 for times in _looked(folder).values()),
        "lost": lost,
        "not_withheld": abs(ends["withheld"] - interrupted),
    }


def _looked(folder: Path) -> Counter[int]:
    """How often each entry was looked for."""
    file = folder / "looked"
    return Counter(map(int, file.read_text().split())) if file.exists() else Counter()


@contextmanager
def _witness(folder: Path) -> Iterator[None]:
    """Note every entry whose records are about to be read, before they are."""
    from discreet.core.runner import Desk

    real = Desk._draw

    def noted(self: Any, bills: Any, paid: Any) -> Any:
        if not self.ledger.keeps:  # made-up rows, to warm up
            return real(self, bills, paid)
        with (folder / "looked").open("a") as file:
            file.writelines(f"{number}\n" for number in sorted({each.entry.number for each in paid if each.release is None}))
        return real(self, bills, paid)

    Desk._draw = noted  # type: ignore[method-assign]
    try:
        yield
    finally:
        Desk._draw = real  # type: ignore[method-assign]


def _killed_desk(folder: Path, point: Point, times: int) -> bool:
    """Run a desk until it or its hand comes to a point for the given time; whether it did."""
    command = [sys.executable, "-m", "study.service_kills", "desk", str(folder), str(POINTS.index(point)), str(times)]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, start_new_session=True, cwd=Path(__file__).parents[1])
    try:
        return process.wait(_LONGEST) == -signal.SIGKILL
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        return False


def _armed(point: Point, times: int) -> None:
    """Have the call of a point kill this process and its group."""
    import importlib

    home: Any = importlib.import_module(point.module)
    *path, name = point.call.split(".")
    for word in path:
        home = getattr(home, word)
    real, count = getattr(home, name), 0

    def call(*given: Any, **named: Any) -> Any:
        nonlocal count
        count += 1
        if count == times and point.when == "before":
            os.killpg(0, signal.SIGKILL)
        made = real(*given, **named)
        if count == times:
            os.killpg(0, signal.SIGKILL)
        return made

    setattr(home, name, call)


def _desk(folder: Path, number: int, times: int) -> None:
    """A desk whose hand is armed, or which is armed itself."""
    from discreet.service import config
    from discreet.service.desk import Office
    from discreet.service.errands import Errands

    class Armed(Errands):
        def _command(self) -> list[str]:
            return [sys.executable, "-m", "study.service_kills", "hand", str(folder), str(number), str(times)]

    with Office.open(config.read(folder / "serve.toml"), Armed) as office:
        assert office.errands.ready(_LONGEST)
        if POINTS[number].part == "desk":
            _armed(POINTS[number], times)
        office.run(time.time() + _LONGEST)


def _hand(folder: Path, number: int, times: int) -> None:
    """A hand that is watched."""
    from discreet.service import hand

    hand._NICE = 0  # others may be at work on this machine
    real = hand._say

    def say(out: Any, what: dict[str, Any]) -> None:
        if "ready" in what and POINTS[number].part == "hand":  # what it does to warm up is no request
            _armed(POINTS[number], times)
        real(out, what)

    hand._say = say
    with _witness(folder):
        hand.main([str(folder / "serve.toml")])


if __name__ == "__main__":
    {"desk": _desk, "hand": _hand}[sys.argv[1]](Path(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4]))
