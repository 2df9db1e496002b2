"""A session that is dropped without being closed leaves no file open and no thread behind."""

from __future__ import annotations

import gc
import os
import threading
import time
from pathlib import Path

import discreet as ds

SCHEMA = ds.Schema({"x": ds.Real(0, 1)})


def _held() -> tuple[int, int]:
    gc.collect()
    return len(os.listdir("/proc/self/fd")), threading.active_count()


def test_dropped_sessions_leave_nothing_open(tmp_path: Path) -> None:
    """Twelve ledgers on disk hold as much as one: the last one's head file stays open until another ledger is opened."""
    for name in range(12):
        url = f"sqlite:///{tmp_path}/{name}.db"
        session = ds.Session({"x": [0.1, 0.2]}, SCHEMA, ds.Budget(epsilon=1), url, version="one")
        session.mean("x", epsilon=1)
        del session
        if name == 0:
            files, threads = _held()
    until = time.monotonic() + 60
    while any(now > then for now, then in zip(_held(), (files, threads), strict=True)):
        assert time.monotonic() < until  # threads settle what is left and end by themselves
        time.sleep(0.05)
