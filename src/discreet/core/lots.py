"""The lots of a run, one after another: drawn at random each, or parts of the people in turns."""

from __future__ import annotations

import os
from collections import deque
from concurrent.futures import Future, ThreadPoolExecutor
from fractions import Fraction
from typing import Any

import numpy as np

from discreet.core.random import Random, system

MANY = 1 << 20  # people from which on drawing takes as long as a step on a GPU
THREADS = max(1, min(3, (os.cpu_count() or 1) - 1))  # that draw ahead, beside the one that computes


class PartsInTurns:
    """Parts of ``people``, one after another; everybody is in one of them, drawn once, uniformly and independently.

    Proof: words of the last, incomplete run of ``parts`` are drawn again, so the remainder of a word is uniform.
    """

    def __init__(self, random: Random, parts: int, people: int) -> None:
        limit = (1 << 64) // parts * parts
        words = random.words(people)
        while limit < 1 << 64 and len(bad := np.flatnonzero(words >= np.uint64(limit))):
            words[bad] = random.words(len(bad))
        part = (words % np.uint64(parts)).astype(np.intp)
        order = np.argsort(part, kind="stable")
        self._lots = np.split(order, np.searchsorted(part[order], np.arange(1, parts)))
        self._taken = 0

    def next(self) -> Any:
        """The places of the people whose turn it is."""
        self._taken += 1
        return self._lots[(self._taken - 1) % len(self._lots)]


class LotDrawer:
    """Who of ``people`` is in each lot, everybody independently with probability ``rate``; the next ones of many people are
    drawn while one is worked off.

    Proof: a lot is drawn from a stream of system randomness of the thread's own, independent of all else, so when it is
    drawn makes no difference. Lots are handed out in the order in which they were begun, whichever is ready first, so
    that no lot's size decides over the order. A seeded stream is for tests, and has one order: there lots are drawn when
    they are needed. A forked child has neither the threads nor a right to lots that its parent drew, and begins anew.
    """

    def __init__(self, random: Random, rate: Fraction, people: int) -> None:
        self._random, self._rate, self._people = random, rate, people
        self._ahead = random.private and people >= MANY
        self._begin()

    def _begin(self) -> None:
        self._process = os.getpid()
        self._beside = ThreadPoolExecutor(THREADS) if self._ahead else None
        self._drawn: deque[Future[Any]] = deque()

    def next(self) -> Any:
        """The places of the people in the next lot."""
        if self._process != os.getpid():
            self._begin()
        if self._beside is None:
            return self._random.places(self._rate, self._people)
        while len(self._drawn) <= THREADS:
            self._drawn.append(self._beside.submit(self._draw))
        return self._drawn.popleft().result()

    def _draw(self) -> Any:
        return system().places(self._rate, self._people)
