"""Erase one person and die by SIGKILL at a given step.

A step is every call that could leave something half-done: a flush to the disk, a rename, the start and the end of a
transaction, a row for the log. Run in a process of its own, which has no threads yet: it forks for every line
``folder person step`` that it reads, and answers with how the child ended.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from discreet.ledger.database import Database
from discreet.protect import FileKeys, Pseudonymizer, Vault
from discreet.protect.vault_log import VaultLog

_left = [10**9]


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


def erase(folder: Path, person: str, at: int) -> None:
    with open_vault(folder) as vault:
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
        assert code in (0, -signal.SIGKILL), code
        return "finished" if code == 0 else "killed"


def main() -> None:
    for line in sys.stdin:
        where, person, at = line.rsplit(maxsplit=2)
        child = os.fork()
        if child == 0:
            erase(Path(where), person, int(at))
            os._exit(0)
        _, status = os.waitpid(child, 0)
        sys.stdout.write(f"{os.waitstatus_to_exitcode(status)}\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
