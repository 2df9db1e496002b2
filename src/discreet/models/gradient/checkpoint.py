"""A run on the disk: everything it takes to go on, and nothing that was not released or public before.

The file is JSON. It holds the public run, the parameters, and the account that was paid for all of it; a run that goes on
takes the steps that the account has left, so nothing is paid twice and nothing is taken twice.
"""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

import numpy as np

from discreet.core import whole_files
from discreet.core.ask import Account
from discreet.core.codec import read_as, written
from discreet.core.documents import reading
from discreet.core.registry import SCHEMA_VERSION, check_version
from discreet.core.release import Release
from discreet.errors import InvalidRequest, UnsupportedFormat
from discreet.models.gradient.engine import Run, State

KIND = "gradient checkpoint"
_ARRAYS = ("flat", "velocity", "total", "square")


def save(path: str | Path, run: Run, state: State, bought: Release | None = None) -> None:
    """Write where a run stands, whole or not at all, to the disk itself."""
    if state.account is None:
        raise InvalidRequest("a run is kept once it has been paid for; take a step first")
    account = {"number": state.account.number, "seal": state.account.seal, "version": state.account.version}
    doc = {
        "kind": KIND,
        "schema": SCHEMA_VERSION,
        "run": written(run),
        "step": state.step,
        "account": account,
        "ledger": state.ledger,
        "private": state.private,
        "bought": None if bought is None else bought.to_dict(),
        "arrays": {name: _packed(getattr(state, name)) for name in _ARRAYS},
    }
    try:
        whole_files.write_text(path, json.dumps(doc), whole_files.OWN)
    except OSError as problem:
        raise InvalidRequest(
            f"a checkpoint must be a file that can be written, got {str(path)!r} ({problem.strerror or problem}); make room "
            "and fit again: the run goes on from where it was kept last"
        ) from None


def check_place(path: Path) -> None:
    """Refuse a place that no checkpoint can be written to, before anything is paid."""
    if not path.parent.is_dir():
        raise InvalidRequest(f"a checkpoint needs a folder that exists, got {str(path)!r}; make {str(path.parent)!r} first")
    if path.is_dir():
        raise InvalidRequest(f"a checkpoint is a file, got the folder {str(path)!r}; give another name")
    try:
        whole_files.check_writable(path.parent)
    except OSError as problem:
        raise InvalidRequest(
            f"a checkpoint must be a file that can be written, got {str(path)!r} ({problem.strerror or problem}); choose "
            "another folder"
        ) from None


def load(path: str | Path) -> tuple[Run, State, Release | None]:
    """The run a file holds, where it stands, and the clip norm that was bought for it, if one was."""
    try:
        doc = json.loads(Path(path).read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as problem:
        raise UnsupportedFormat(f"{path}: not a checkpoint ({problem}); begin a new run with another file") from None
    check_version(doc, KIND)
    with reading(f"{path}: a checkpoint"):
        run = read_as(Run, doc["run"])
        kept_arrays = {"square": _packed(np.zeros(run.network.size))} | doc["arrays"]  # 0.1.0 had no squares to keep
        arrays = {name: _unpacked(kept_arrays[name], run.network.size) for name in _ARRAYS}
        account = doc["account"]
        kept = Account(int(account["number"]), seal=str(account["seal"]), version=str(account["version"]))
        step = int(doc["step"])
        ledger, private = str(doc["ledger"]), doc["private"] is True
        bought = None if doc["bought"] is None else Release.from_dict(doc["bought"])
        if not 0 <= step <= run.steps:
            raise UnsupportedFormat(f"{path}: a checkpoint after step {step} of {run.steps}")
    return run, State(step, account=kept, private=private, ledger=ledger, **arrays), bought


def check_same(path: str | Path, kept: Run, asked: Run) -> None:
    """Refuse to go on with other settings than a run began with."""
    mine, theirs = written(kept), written(asked)
    for word in mine:
        if mine[word] != theirs[word]:
            raise InvalidRequest(
                f"{path} holds a run with another {word}: {_brief(mine[word])}, got {_brief(theirs[word])}; "
                "go on with the settings it began with, or begin a new run with another file"
            )


def _brief(value: Any) -> str:
    text = str(value)
    return text if len(text) <= 60 else f"{text[:57]}..."


def _packed(array: Any) -> str:
    return base64.b64encode(np.ascontiguousarray(array, "<f8").tobytes()).decode()


def _unpacked(text: str, size: int) -> Any:
    array = np.frombuffer(base64.b64decode(text, validate=True), "<f8").astype(np.float64)
    if array.shape != (size,) or not np.isfinite(array).all():
        raise UnsupportedFormat(f"a checkpoint needs {size} finite parameters, got {array.size}")
    return array
