"""What the custodian did, one row after another, each with the hash of the one before: grants, approvals, revocations."""

from __future__ import annotations

import getpass
import os
import time
from typing import Any

from sqlalchemy import Connection, select

from discreet.errors import LedgerCorrupt
from discreet.ledger.events import canonical, digest
from discreet.service.outbox import Outbox

_START = digest("the custodian's trail")


def add(connection: Connection, outbox: Outbox, kind: str, what: dict[str, Any]) -> None:
    """Write down what was done, in the same transaction as doing it."""
    a = outbox.t.audit
    before = connection.execute(select(a.c.hash).order_by(a.c.n.desc()).limit(1)).scalar() or _START
    row = {"at": time.time(), "who": _user(), "kind": kind, "what": canonical(what), "previous": before}
    connection.execute(a.insert(), row | {"hash": digest(canonical(row))})


def verify(outbox: Outbox) -> int:
    """The number of rows, after checking every hash."""
    a, before, count = outbox.t.audit, _START, 0
    for found in outbox.box.read(select(a).order_by(a.c.n)):
        row = {name: getattr(found, name) for name in ("at", "who", "kind", "what", "previous")}
        if found.previous != before or found.hash != digest(canonical(row)):
            raise LedgerCorrupt(f"row {found.n} of the custodian's trail was altered, added or dropped; restore a copy")
        before, count = found.hash, count + 1
    return count


def _user() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return f"user {os.getuid()}"
