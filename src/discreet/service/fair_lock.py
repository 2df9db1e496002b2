"""Turns at something that one can use at a time: they go round those who wait, so nobody's load is another's delay."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from discreet.service.calls import Refused


class FairLock:
    """A lock that goes round: of those who wait, whoever had it longest ago has it next, and nobody waits in many places."""

    def __init__(self, most: int = 20) -> None:
        self._most = most
        self._guard = threading.Lock()
        self._held = False
        self._waiting: list[tuple[int, threading.Event]] = []
        self._had: dict[int, int] = {}
        self._count = 0

    @contextmanager
    def of(self, who: int = 0) -> Iterator[None]:
        """Wait for the turn of somebody and hold it; 0 is the front itself."""
        mine = (who, threading.Event())
        with self._guard:
            if not self._held:
                self._begin(mine)
            elif sum(other == who for other, _ in self._waiting) >= self._most:
                raise Refused(429, f"at most {self._most} calls wait at a time", remedy="wait for the replies to the others")
            else:
                self._waiting.append(mine)
        mine[1].wait()
        try:
            yield
        finally:
            with self._guard:
                self._held = False
                if self._waiting:  # of those who had it equally long ago, who came first
                    following = min(self._waiting, key=lambda each: self._had.get(each[0], 0))
                    self._waiting.remove(following)
                    self._begin(following)

    def _begin(self, place: tuple[int, threading.Event]) -> None:
        self._held, self._count = True, self._count + 1
        self._had[place[0]] = self._count
        place[1].set()
