"""Signals wait while an answer is on its way from the table to the store.

Between the mark that an entry is looked for and the row that answers it, an interrupt would leave an answer that is paid for
and must be withheld (``ledger.answers`` proves why). So SIGINT and SIGTERM take effect after the row is stored.
Python runs handlers in the main thread alone: elsewhere there is nothing to hold back.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from importlib import import_module
from types import FrameType
from typing import Any

_SIGNALS = (int(signal.SIGINT), int(signal.SIGTERM))
_plain: Any = import_module("_signal")  # what ``signal`` wraps, without the enums that it makes of every handler


@contextmanager
def deferred() -> Iterator[None]:
    """Hold signals back until the end of the block, then let them act as they would have."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    waiting: list[int] = []

    def note(number: int, _: FrameType | None) -> None:
        first = not waiting
        waiting.append(number)
        if first:
            # A closed pipe, or a write that was interrupted in the middle, would raise here and lose the answer.
            with suppress(Exception):
                sys.stderr.write("discreet: stopping once the answer that is paid for is stored\n")

    before: dict[int, Any] = {}
    try:
        for number in _SIGNALS:
            before[number] = _plain.getsignal(number)
            if before[number] is not None:  # None: installed by something other than Python, and left alone
                _plain.signal(number, note)
        yield
    finally:
        for each, handler in before.items():
            if handler is not None:
                _plain.signal(each, handler)
        if waiting:
            _act(waiting[0], before[waiting[0]])


@contextmanager
def interrupted() -> Iterator[list[int]]:
    """The signals that raised within the block: a KeyboardInterrupt without one was raised by the code itself."""
    raised: list[int] = []
    if threading.current_thread() is not threading.main_thread():
        yield raised
        return
    before = {number: _plain.getsignal(number) for number in _SIGNALS}

    def note(number: int, frame: FrameType | None) -> None:
        try:
            before[number](number, frame)
        except BaseException:
            raised.append(number)
            raise

    mine = [number for number, handler in before.items() if callable(handler)]
    try:
        for number in mine:
            _plain.signal(number, note)
        yield raised
    finally:
        for number in mine:
            _plain.signal(number, before[number])


def _act(number: int, handler: Any) -> None:
    if callable(handler):
        handler(number, None)
    elif handler == signal.SIG_DFL:
        os.kill(os.getpid(), number)
