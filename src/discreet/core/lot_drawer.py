"""The lots of a run, one after another: drawn at random each, or parts of the people in turns."""

from __future__ import annotations

import os
from collections import deque
from concurrent.futures import Future, ThreadPoolExecutor
from fractions import Fraction
from typing import Any

import numpy as np

from discreet.core.random import Random, system

MANY = 1 << 20  # people from which on drawing takes as long as a step on a GPU; so many, of several lots, are drawn at once
MOST = 64  # lots drawn at once
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
        """The places of the people in the next part."""
        self._taken += 1
        return self._lots[(self._taken - 1) % len(self._lots)]


class LotDrawer:
    """Who of ``people`` is in each lot, everybody independently with probability ``rate``; lots are drawn ahead: several of
    few people at once, and the next ones of many people while one is worked off.

    Proof: a lot is drawn from a stream of system randomness, independent of all else, so when it is drawn makes no
    difference; that of a thread is its own. Several lots are one lot of people who are counted once for each of them, and
    all of those are in it independently. Lots are handed out in the order in which they were begun, whichever is ready
    first, so that no lot's size decides over the order. A seeded stream is for tests, and has one order: there lots are
    drawn when they are needed. A forked child has neither the threads nor a right to lots that its parent drew, and begins
    anew.
    """

    def __init__(self, random: Random, rate: Fraction, people: int) -> None:
        self._random, self._rate, self._people = random, rate, people
        self._several = max(1, min(MOST, MANY // max(1, people))) if random.private else 1
        self._threads = THREADS if random.private and people >= MANY else 0
        self._begin()

    def _begin(self) -> None:
        self._process = os.getpid()
        self._beside = ThreadPoolExecutor(self._threads) if self._threads else None
        self._working: deque[Future[list[Any]]] = deque()
        self._drawn: deque[Any] = deque()

    def next(self) -> Any:
        """The places of the people in the next lot."""
        if self._process != os.getpid():
            self._begin()
        if not self._drawn:
            self._drawn.extend(self._beside_this(self._beside) if self._beside else self._draw(self._random))
        return self._drawn.popleft()

    def _beside_this(self, threads: ThreadPoolExecutor) -> list[Any]:
        while len(self._working) <= self._threads:
            self._working.append(threads.submit(lambda: self._draw(system())))
        return self._working.popleft().result()

    def _draw(self, random: Random) -> list[Any]:
        places = random.places(self._rate, self._several * self._people)
        first = np.arange(self._several) * self._people
        lots = np.split(places, np.searchsorted(places, first[1:]))
        return [lot - start for lot, start in zip(lots, first, strict=True)]
