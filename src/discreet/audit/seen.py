"""What a run shows: its value, and its warnings, what it prints, its exceptions and its exit code, which are outputs too."""

from __future__ import annotations

import contextlib
import os
import sys
import tempfile
import threading
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, TextIO, cast

import numpy as np
import numpy.typing as npt

ALONE = 4_000  # where a batch speaks up, so many runs are made one by one to hear which of them did


@dataclass(frozen=True)
class Seen:
    """One value for each run (None where it raised or stopped), and what else each run showed: "" where nothing."""

    values: Any
    notes: npt.NDArray[np.str_]

    def __len__(self) -> int:
        return len(self.notes)


def watch(f: Callable[..., Any], inputs: tuple[Any, Any], trials: int, batched: bool) -> list[Seen]:
    """So many runs of ``f`` on each of two inputs.

    A batch whose run raises, warns or prints is made again one by one, on both inputs: a noise that is heard once tells
    nothing about how often it is made. Those runs are new ones, so that deciding to make them takes nothing off them.
    """
    if batched:
        seen = [_batch(f, x, trials) for x in inputs]
        if all(one is not None for one in seen):
            return [one for one in seen if one is not None]
        return [_one_by_one(lambda y: f(y, 1)[0], x, min(trials, ALONE)) for x in inputs]
    return [_one_by_one(f, x, trials) for x in inputs]


def _batch(f: Callable[..., Any], x: Any, trials: int) -> Seen | None:
    """A batch that ran in silence; None if it did not."""
    with listening() as heard:
        try:
            values = f(x, trials)
        except (Exception, SystemExit):
            return None
        return None if heard() else Seen(np.asarray(values), np.zeros(len(values), np.str_))


def _one_by_one(f: Callable[[Any], Any], x: Any, trials: int) -> Seen:
    values: list[Any] = []
    notes = []
    with listening() as heard:
        for _ in range(trials):
            value, note = None, ""
            try:
                value = f(x)
            except SystemExit as stop:
                note = f"exited with {stop.code}"
            except Exception as problem:
                note = f"raised {type(problem).__name__}: {problem}"
            values.append(value)
            notes.append(note + heard())
    return Seen(values, np.array(notes))


@contextlib.contextmanager
def listening() -> Iterator[Callable[[], str]]:
    """Within it, a function that says what this thread has warned of or printed since it was last asked; "" if nothing.

    Standard output and standard error are followed down to their descriptors, so that a library in C is heard too. What
    other threads print through Python (a spinner) is passed on: it is no output of what is audited.
    """
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
    kept = [os.dup(1), os.dup(2)]
    with contextlib.ExitStack() as stack:
        stack.callback(_restore, kept)
        files = [stack.enter_context(tempfile.TemporaryFile()) for _ in kept]
        for file, number in zip(files, (1, 2), strict=True):
            os.dup2(file.fileno(), number)
        passed = [stack.enter_context(open(os.dup(k), "w", encoding="utf-8", errors="replace")) for k in kept]
        stack.enter_context(contextlib.redirect_stdout(cast(TextIO, _Mine(files[0].fileno(), passed[0]))))
        stack.enter_context(contextlib.redirect_stderr(cast(TextIO, _Mine(files[1].fileno(), passed[1]))))
        caught = stack.enter_context(warnings.catch_warnings(record=True))
        warnings.simplefilter("always")

        def heard() -> str:
            words = [f"; warned {w.category.__name__}: {w.message}" for w in caught]
            caught.clear()
            for file, name in zip(files, ("output", "error"), strict=True):
                written = os.lseek(file.fileno(), 0, os.SEEK_CUR)
                if written:
                    words.append(f"; wrote to standard {name}: {os.pread(file.fileno(), 4096, 0)!r}")
                    os.ftruncate(file.fileno(), 0)
                    os.lseek(file.fileno(), 0, os.SEEK_SET)
            return "".join(words)

        yield heard


def _restore(kept: list[int]) -> None:
    for number, old in zip((1, 2), kept, strict=True):
        os.dup2(old, number)
        os.close(old)


class _Mine:
    """A stream that keeps what this thread writes, and passes on what others write."""

    def __init__(self, descriptor: int, passed: TextIO) -> None:
        self._descriptor, self._passed, self._thread = descriptor, passed, threading.get_ident()

    def write(self, text: str) -> int:
        if threading.get_ident() == self._thread:
            os.write(self._descriptor, text.encode("utf-8", "replace"))
        else:
            self._passed.write(text)
            self._passed.flush()
        return len(text)

    def flush(self) -> None:
        pass

    def isatty(self) -> bool:
        return self._passed.isatty()

    def fileno(self) -> int:
        return self._descriptor
