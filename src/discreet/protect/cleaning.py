"""What an opening does first: removes what killed processes left, and empties a log that could not be emptied before."""

from __future__ import annotations

from contextlib import suppress

from discreet.protect.erasure import IN_USE, Register
from discreet.protect.holding_files import Files
from discreet.protect.keys import FileKeys
from discreet.protect.private import database_path
from discreet.protect.shredding import Shredder
from discreet.protect.vault_log import VaultLog
from discreet.protect.writing import locked
from discreet.sources.spill import sweep


def clean(log: VaultLog, register: Register, shredder: Shredder) -> None:
    """Remove copies of keys, files that were being written and folders of spilled rows; then the write-ahead log."""
    sweep()
    keys = register.pseudonyms.keys
    if isinstance(keys, FileKeys):
        with suppress(OSError), locked(keys.path.parent, shared=False):
            keys.sweep()
    for table in register.holdings():
        if isinstance(table, Files):
            table.clean()
    _empty(log, shredder)


def _empty(log: VaultLog, shredder: Shredder) -> None:
    """Empty the write-ahead log, and write down for which receipts that had still to be done."""
    done = {number for row in log.rows(("emptied",)) for number in row.document["receipts"]}
    receipts = log.rows(("receipt",))
    left = [r.number for r in receipts if r.document["receipt"].get("database") == IN_USE and r.number not in done]
    path = database_path(log.database)
    beside = None if path is None else path.with_name(f"{path.name}-wal")
    full = beside is not None and beside.exists() and beside.stat().st_size > 0
    if (full or left) and shredder.emptied(wait=False) and left:
        log.write("emptied", {"receipts": left})
