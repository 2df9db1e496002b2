"""Batches worked off by several threads at once, and what came of them combined in the order of the batches.

NumPy lets other threads run while it works on an array, so a table in memory is worked off on all cores. What is computed is
the same to the bit for any number of threads: each batch is mapped by itself, and results are combined first to last.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Generator, Iterator
from contextlib import suppress
from contextvars import copy_context
from functools import cache
from typing import Any, Generic, TypeVar

import numpy as np

S = TypeVar("S")
_MOST = 8  # between one array and the next a thread needs Python for itself, so more than a few only wait
_AHEAD = 4  # results of a thread that may wait for an earlier batch: they are held in memory meanwhile
_KEPT_BYTES = 1 << 24


def available() -> int:
    """How many threads are worth having: the cores that this process may use now, up to a few."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return min(_MOST, cores)


class _Work(Generic[S]):
    """Batches that are handed out one by one; what was made of them, up to the first that is not done yet, is the total."""

    def __init__(self, batches: Iterator[Any], step: Callable[[Any], S], combine: Callable[[S, S], S], ahead: int) -> None:
        self._batches, self._step, self._combine, self._ahead = enumerate(batches), step, combine, ahead
        self._changed = threading.Condition()
        self._made: dict[int, S] = {}
        self._taken = self._done = 0
        self._ended = False
        self._problems: dict[int, BaseException] = {}
        self._total: Any = None

    def run(self) -> None:
        """Take, map and give back until nothing is left or something failed."""
        place = 0
        try:
            while (given := self._take()) is not None:
                place, batch = given
                self._give(place, self._step(batch))
        except BaseException as problem:  # told by ``result``, in the thread that asked
            with self._changed:  # an interrupt is nobody's batch, and comes before all of them
                self._problems.setdefault(place if isinstance(problem, Exception) else -1, problem)
            self.end()

    def _take(self) -> tuple[int, Any] | None:
        with self._changed:
            while self._taken - self._done >= self._ahead and not self._ended:
                self._changed.wait()
            if self._ended:
                return None
            try:
                found = next(self._batches, None)
            except Exception as problem:  # after all batches that were handed out
                self._problems[self._taken] = problem
                found = None
            self._ended = found is None
            self._taken += 1
            return found

    def _give(self, place: int, part: S) -> None:
        with self._changed:
            self._made[place] = part
            while self._done in self._made:
                found = self._made.pop(self._done)
                self._total = self._combine(self._total, found) if self._done else found
                self._done += 1
            self._changed.notify_all()

    def end(self) -> None:
        """Hand out no more."""
        with self._changed:
            self._ended = True
            self._changed.notify_all()

    def result(self) -> tuple[int, S]:
        """How many batches there were, and the total; or the error that working them off one by one would have met.

        Batches are handed out in order and everything handed out is finished, so the first of the failed batches is the one
        at which a single thread would have stopped.
        """
        problems, self._problems = self._problems, {}
        try:
            if problems:
                raise problems[min(problems)]
        finally:
            del problems  # an error that knows itself would hold on to the batches and their files
        return self._done, self._total


def combined(
    batches: Iterator[Any], step: Callable[[Any], S], combine: Callable[[S, S], S], threads: int = 1
) -> tuple[int, S]:
    """How many batches there are, and ``step`` of each of them combined in their order, by up to so many threads.

    The calling thread is one of them, so that an interrupt finds it at work. The others see its context: what NumPy does
    about an overflow belongs to it, and a warning that only one of them gives would tell of a record.
    """
    keep_memory()
    work = _Work(batches, step, combine, _AHEAD * threads)
    helpers: list[threading.Thread] = []
    try:
        with suppress(RuntimeError):  # the system allows no more threads: those that there are do the work
            for _ in range(threads - 1):
                helper = threading.Thread(target=copy_context().run, args=(work.run,), daemon=True)
                helper.start()
                helpers.append(helper)
        work.run()
    finally:
        work.end()
        for helper in helpers:
            helper.join()
        if isinstance(batches, Generator):  # whatever it has opened
            batches.close()
    return work.result()


@cache
def keep_memory() -> None:
    """Have arrays of some megabytes made in memory that the process has already, instead of asking the system for each.

    The allocator of GNU's C library raises its threshold for that to the largest array it has seen freed (mallopt(3),
    M_MMAP_THRESHOLD). Below it the arrays of a batch come back as the same pages; above it the system clears each page anew,
    which took half of the time of a derived column. Nothing is held but what was used; elsewhere this does nothing.
    """
    np.empty(_KEPT_BYTES, np.uint8)
