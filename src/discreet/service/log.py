"""The desk's log: when, which request, whose, which state, and how long it took. No question, no value, no body.

How long a run took may tell of the table, so the file is the desk's alone (mode 0600).
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Log:
    """One JSON object a line."""

    path: Path

    def write(self, ref: str, analyst: int, step: str, state: str, seconds: float | None = None) -> None:
        """Note one step of one request."""
        row = {"time": round(time.time(), 3), "ref": ref, "analyst": analyst, "step": step, "state": state}
        if seconds is not None:
            row["seconds"] = round(seconds, 4)
        append(self.path, row, 0o600)

    def alarm(self, what: str) -> None:
        """Something that the custodian has to look at."""
        self.write("", 0, "alarm", what)


def append(path: Path, row: Mapping[str, Any], mode: int) -> None:
    """One line more; the file is opened each time, so that it can be taken away and begun anew."""
    handle = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, mode)
    try:
        os.write(handle, (json.dumps(row) + "\n").encode())
    finally:
        os.close(handle)
