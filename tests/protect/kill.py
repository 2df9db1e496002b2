"""Erase one person and die by SIGKILL at a given step, or with files that cannot grow beyond a size.

A step is every call that could leave something half-done: a flush to the disk, a new name, a rename, a removal, the
start and the end of a transaction, a row for the log. Run in a process of its own, which has no threads yet: it forks for
every line ``folder person step`` that it reads, and answers with how the child ended. A step below zero stands for so many
bytes that a table file may have.
"""

from __future__ import annotations

import os
import resource
import signal
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from discreet.ledger.database import Database
from discreet.protect import FileKeys, Pseudonymizer, Vault, replacing
from discreet.protect.reach import OutOfRoom
from discreet.protect.vault_log import VaultLog

_left = [10**9]
FULL = 28


def step() -> None:
    _left[0] -= 1
    if _left[0] == 0:
        os.kill(os.getpid(), signal.SIGKILL)


def around(call: Any) -> Any:
    def counted(*args: Any, **options: Any) -> Any:
        step()
        done = call(*args, **options)
        step()
        return done

    return counted


def patch() -> None:
    os.replace = around(os.replace)
    os.link = around(os.link)
    os.unlink = around(os.unlink)
    Path.unlink = around(Path.unlink)  # type: ignore[method-assign]
    os.fsync = around(os.fsync)
    VaultLog.append = around(VaultLog.append)  # type: ignore[method-assign]
    original = Database.transaction

    @contextmanager
    def transaction(self: Database, *, write: bool) -> Any:
        step()
        with original(self, write=write) as connection:
            yield connection
            step()
        step()

    Database.transaction = transaction  # type: ignore[method-assign]


def open_vault(folder: Path) -> Vault:
    return Vault(f"sqlite:///{folder}/vault.db", Pseudonymizer(["id"], FileKeys(folder / "keys.json")))


def limit(size: int) -> None:
    """Let no file grow beyond a size while a table file is rewritten, as on a disk that is full."""
    once = replacing._once
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)

    def limited(*args: Any) -> Any:
        soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
        try:
            return once(*args)
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))

    replacing._once = limited


def erase(folder: Path, person: str, at: int) -> None:
    with open_vault(folder) as vault:
        if at < 0:
            limit(-at - 1)
            vault.erase(person)
            return
        patch()
        _left[0] = at
        vault.erase(person)


class Killer:
    """The process that forks, seen from outside."""

    def __init__(self) -> None:
        command = [sys.executable, "-m", "tests.protect.kill"]
        root = Path(__file__).parents[2]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=root)

    def __enter__(self) -> Killer:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.communicate()

    def erase(self, folder: Path, person: str, at: int) -> str:
        """``killed`` or ``finished``."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(f"{folder} {person} {at}\n")
        self._process.stdin.flush()
        code = int(self._process.stdout.readline())
        assert code in (0, FULL, -signal.SIGKILL), code
        return "finished" if code == 0 else "killed"


def main() -> None:
    for line in sys.stdin:
        where, person, at = line.rsplit(maxsplit=2)
        child = os.fork()
        if child == 0:
            try:
                erase(Path(where), person, int(at))
            except OutOfRoom:
                os._exit(FULL)
            os._exit(0)
        _, status = os.waitpid(child, 0)
        sys.stdout.write(f"{os.waitstatus_to_exitcode(status)}\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
