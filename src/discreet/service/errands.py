"""The desk's side of the hand: it is given a turn, listened to, and killed where the turn is over and it is not done."""

from __future__ import annotations

import contextlib
import json
import queue
import subprocess
import sys
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from discreet.service.log import Log

_MEASURES = 3  # runs of which the worst counts
_PREPARING = 120.0  # seconds in which a made-up table is written


@dataclass
class Made:
    """What came of a turn: answers by reference, what was begun, how long each took, and whether the hand died of itself."""

    answers: dict[str, dict[str, Any]] = field(default_factory=dict)
    began: set[str] = field(default_factory=set)
    seconds: dict[str, float] = field(default_factory=dict)
    died: bool = False


class Errands:
    """One hand at a time."""

    def __init__(self, config: Path, log: Log) -> None:
        self._config, self._log = config, log
        self._heard: queue.SimpleQueue[dict[str, Any]] = queue.SimpleQueue()
        self._wanted: list[str] = []
        self._measure: tuple[str, float] | None = None
        self._ready = False
        self._process = self._start()

    @property
    def pid(self) -> int:
        """The process of the hand."""
        return self._process.pid

    def ready(self, wait: float = 0.0) -> bool:
        """Whether the hand can be given something to do; one that died is replaced."""
        end = time.monotonic() + wait
        while not self._ready:
            if self._process.poll() is not None:
                self._replace()
            try:
                self._ready = "ready" in self._heard.get(timeout=max(0.0, end - time.monotonic()) or 0.0001)
            except queue.Empty:
                return False
        if self._process.poll() is not None:
            self._replace()
            return False
        return True

    def answer(self, orders: list[dict[str, Any]], end: float) -> None:
        """Give the hand a turn that is over at ``end``."""
        self._wanted = [order["ref"] for order in orders]
        self._tell({"do": "answer", "requests": orders, "end": end})

    def collect(self) -> Made:
        """What the hand made of its turn, which is over now; a hand that is not done is killed."""
        made = Made()
        while True:
            try:
                said = self._heard.get_nowait()
            except queue.Empty:
                break
            if "began" in said:
                made.began.add(said["began"])
            elif "ref" in said:
                made.answers[said["ref"]] = said
                made.seconds[said["ref"]] = said["seconds"]
        made.died = self._process.poll() is not None
        if made.died or len(made.answers) < len(self._wanted):
            self._log.alarm("the hand died" if made.died else "the hand overran its turn")
            self._replace()
        return made

    def measure(self, name: str, text: str, rows: int | None, longest: float) -> None:
        """Have a class of questions measured on the made-up table; one that takes ``longest`` is given up."""
        self._measure = (name, time.monotonic() + _PREPARING + longest)
        self._tell({"do": "measure", "name": name, "text": text, "rows": rows, "runs": _MEASURES})

    def measured(self) -> tuple[str, float | None] | None:
        """The class and its seconds, once known; seconds are None where it cannot be measured."""
        assert self._measure is not None
        name, end = self._measure
        try:
            while True:
                said = self._heard.get_nowait()
                if said.get("name") == name:
                    return name, said["seconds"]
        except queue.Empty:
            pass
        if self._process.poll() is not None or time.monotonic() > end:
            self._replace()
            return name, None
        return None

    def stop(self) -> None:
        """End the hand."""
        self._process.kill()
        self._process.wait()
        self._listener.join()
        for pipe in (self._process.stdin, self._process.stdout):
            with contextlib.suppress(OSError):  # what it was told last, and never read
                pipe.close()  # type: ignore[union-attr]

    def _tell(self, order: dict[str, Any]) -> None:
        assert self._process.stdin is not None
        with contextlib.suppress(OSError):  # it died; ``collect`` finds out
            self._process.stdin.write((json.dumps(order) + "\n").encode())
            self._process.stdin.flush()

    def _replace(self) -> None:
        self.stop()
        self._ready = False
        self._heard = queue.SimpleQueue()
        self._process = self._start()

    def _command(self) -> list[str]:
        """What is started as the hand."""
        return [sys.executable, "-m", "discreet.service.hand", str(self._config)]

    def _start(self) -> subprocess.Popen[bytes]:
        process = subprocess.Popen(self._command(), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)  # noqa: S603  ourselves
        self._listener = threading.Thread(target=_listen, args=(process.stdout, self._heard), daemon=True)
        self._listener.start()
        return process


def _listen(out: Any, heard: queue.SimpleQueue[dict[str, Any]]) -> None:
    for line in out:
        heard.put(json.loads(line))
