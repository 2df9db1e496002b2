"""A process beside the front in which questions are priced, rehearsed and shown, so that none can hold up the front.

The front hands it one job at a time, a line of JSON, and waits two seconds: a helper that has not answered by then is ended
and another one is started. Jobs and replies are JSON and nothing else; what a helper may do is the closed table of
``service.helping``.
"""

from __future__ import annotations

import json
import os
import select
import subprocess
import sys
import time
from collections.abc import Mapping
from typing import Any

from discreet import errors
from discreet.service.fair_lock import FairLock

_STARTING = 300.0  # seconds that a new process may take until it is ready, on a machine that is busy otherwise
_ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
_CHUNK = 1 << 16


class TakesTooLong(errors.InvalidRequest):
    """What was asked takes longer to look at than the front gives it."""


class Helper:
    """One process for jobs; those who ask take turns."""

    def __init__(self, seconds: float = 2.0) -> None:
        self.seconds = seconds
        self._turn = FairLock()
        self._process: subprocess.Popen[bytes] | None = None
        self._told: str | None = None

    def start(self) -> None:
        """Start the process and wait until it is ready."""
        with self._turn.of():
            self._started()

    def do(self, job: Mapping[str, Any], tables: str = "{}", who: int = 0) -> dict[str, Any]:
        """What somebody's job comes to; a refusal is raised as the error it is. ``tables`` is what is public about them."""
        with self._turn.of(who):
            process = self._started()
            jobs = [] if self._told == tables else [f'{{"do":"tables","tables":{tables}}}']
            try:
                for line in [*jobs, json.dumps(job)]:
                    reply = self._exchange(process, line, self.seconds)
                self._told = tables
            except (OSError, ValueError, TimeoutError) as problem:
                self._end()
                if isinstance(problem, TimeoutError):
                    words = (
                        f"a question is looked at for at most {self.seconds:g} seconds before it is sent, got a longer one"
                    )
                    raise TakesTooLong(words, remedy="ask for less at once") from None
                raise TakesTooLong("this question could not be looked at", remedy="ask for less at once") from None
        return _unwrapped(reply)

    def close(self) -> None:
        """End the process."""
        with self._turn.of():
            self._end()

    def _started(self) -> subprocess.Popen[bytes]:
        if self._process is None or self._process.poll() is not None:
            self._end()
            self._process = subprocess.Popen(
                [sys.executable, "-m", "discreet.service.helping"],
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0, env=os.environ | _ONE_THREAD,
            )  # fmt: skip
            self._exchange(self._process, '{"do":"nothing"}', _STARTING)
        return self._process

    def _end(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            for pipe in (self._process.stdin, self._process.stdout):
                if pipe is not None:
                    pipe.close()
        self._process, self._told = None, None

    def _exchange(self, process: subprocess.Popen[bytes], line: str, seconds: float) -> dict[str, Any]:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(line.encode() + b"\n")
        until, parts = time.monotonic() + seconds, []
        waiting = select.poll()  # select() refuses descriptors from 1,024 on, which a front with many connections has
        waiting.register(process.stdout, select.POLLIN)
        while waiting.poll(1000 * max(0.0, until - time.monotonic())):
            part = os.read(process.stdout.fileno(), _CHUNK)
            if not part:
                raise OSError("the process ended")
            parts.append(part)
            if part.endswith(b"\n"):
                made: dict[str, Any] = json.loads(b"".join(parts))
                return made
        raise TimeoutError


def _unwrapped(reply: Mapping[str, Any]) -> dict[str, Any]:
    if "refused" not in reply:
        made: dict[str, Any] = reply["done"]
        return made
    told = reply["refused"]
    raise errors.named(told["kind"])(told["rule"], key=told["key"], remedy=told["remedy"])
