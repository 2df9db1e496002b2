"""A study is settings, runs and tallies: a part of its runs is made, added to what is stored, and stored again.

A study is a module of this package with

- ``SETTINGS``: a list of dicts, what is tried;
- ``RUNS`` and ``PART``: how many runs each setting needs, and how many are made between two writes;
- ``run(setting, seed, runs) -> dict[str, float]``: tallies that add up over parts (failures, coverage counts, sums);
- ``rows(results) -> list[Row]``: what is promised, from ``[(setting, runs, tallies), ...]``.

Seeds follow from the setting's place and the runs already made, so that a study that was stopped and one that was not give
the same numbers; so do those of a study whose settings are worked off by several processes at once.
"""

from __future__ import annotations

import importlib
import json
import multiprocessing
import os
import platform
import time
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future, ProcessPoolExecutor
from itertools import islice
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

from discreet.core import whole_files

RESULTS = Path(__file__).parent / "results"


class Row(NamedTuple):
    """A promise: what, the value found, ``<=`` or ``>=``, and the bound."""

    what: str
    value: float
    sign: str
    bound: float

    @property
    def holds(self) -> bool:
        return self.value >= self.bound if self.sign == ">=" else self.value <= self.bound


class Stored:
    """The tallies of one study, in one file that is replaced whole."""

    def __init__(self, name: str, folder: Path = RESULTS) -> None:
        self.path = folder / f"{name}.json"
        known = json.loads(self.path.read_text()) if self.path.exists() else {}
        self.tallies: dict[str, dict[str, Any]] = known.get("settings", {})

    def runs(self, setting: dict[str, Any]) -> int:
        return int(self.tallies.get(_key(setting), {}).get("runs", 0))

    def add(self, setting: dict[str, Any], runs: int, found: dict[str, float]) -> None:
        entry = self.tallies.setdefault(_key(setting), {"runs": 0, "found": {}})
        entry["runs"] += runs
        for word, value in found.items():
            entry["found"][word] = entry["found"].get(word, 0) + value
        machine = f"{platform.machine()}, Python {platform.python_version()}, {os.cpu_count()} cores"
        document = {"date": time.strftime("%Y-%m-%d"), "machine": machine, "settings": self.tallies}
        self.path.parent.mkdir(parents=True, exist_ok=True)
        whole_files.write_text(self.path, json.dumps(document, indent=1) + "\n")

    def results(self, study: ModuleType) -> list[tuple[dict[str, Any], int, dict[str, float]]]:
        kept = [(setting, self.tallies.get(_key(setting))) for setting in study.SETTINGS]
        return [(setting, entry["runs"], entry["found"]) for setting, entry in kept if entry is not None]


class AtOnce(Executor):
    """Does what it is asked at once, in this process."""

    def submit(self, work: Callable[..., Any], /, *given: Any, **named: Any) -> Future[Any]:
        done: Future[Any] = Future()
        done.set_result(work(*given, **named))
        return done


def parts(study: ModuleType, stored: Stored, runs: int | None = None, jobs: int = 1) -> Iterator[str]:
    """Make what is missing, a part at a time, every setting in turn; says after each what it made.

    Several ``jobs`` make parts at once, which are still added one after another, in the order in which they were begun.
    """
    wanted = study.RUNS if runs is None else min(runs, study.RUNS)
    todo = _todo([stored.runs(setting) for setting in study.SETTINGS], wanted, study.PART)
    working: deque[tuple[int, int, Future[Any]]] = deque()
    ahead = 1 if jobs == 1 else 2 * jobs
    pool = AtOnce() if jobs == 1 else ProcessPoolExecutor(jobs, multiprocessing.get_context("spawn"))
    try:
        while True:
            for place, done, size in islice(todo, ahead - len(working)):
                working.append((place, size, pool.submit(_part, study.__name__, place, done, size)))
            if not working:
                return
            place, size, made = working.popleft()
            setting = study.SETTINGS[place]
            stored.add(setting, size, made.result())
            yield f"{_key(setting)}: {stored.runs(setting)} of {wanted}"
    finally:
        pool.shutdown(cancel_futures=True)


def _todo(done: list[int], wanted: int, most: int) -> Iterator[tuple[int, int, int]]:
    """The parts to make, every setting in turn: its place, the runs before, and how many there are in it."""
    while min(done, default=wanted) < wanted:
        for place, before in enumerate(done):
            size = min(most, wanted - before)
            if size > 0:
                yield place, before, size
                done[place] += size


def _part(name: str, place: int, done: int, size: int) -> dict[str, float]:
    study = importlib.import_module(name)
    found: dict[str, float] = study.run(study.SETTINGS[place], (place << 40) + done, size)
    return found


def _key(setting: dict[str, Any]) -> str:
    return json.dumps(setting, sort_keys=True)
