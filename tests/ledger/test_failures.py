"""A failure at every point between paying and handing out: what the error says of it is what a fresh look at the book finds.

Every statement and commit of the database, every write to the head file, every lock, the look and the draw fails once, or
from then on; a commit also fails after it was made. Enumerated: no randomness, no false alarms.
"""

from __future__ import annotations

import fcntl
import os
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from discreet.cli import main
from discreet.core.ask import Ask
from discreet.core.budget import Budget
from discreet.core.random import Random
from discreet.core.release import Release
from discreet.core.runner import Desk
from discreet.errors import DiscreetError, LedgerError, Withheld
from discreet.ledger import Ledger, process_tally
from discreet.ledger.database import Database
from tests.patches import only_here

from .laws import People, Plain, Sevens, eps

ASK = Ask(Sevens("a"), eps("0.3"))


@dataclass
class Trap:
    """Counts what a ledger does, and fails the ``at``-th time, ``late``: once it is done; ``ever``: and each time after."""

    at: int = -1
    late: bool = False
    ever: bool = False
    seen: list[str] = field(default_factory=list)

    def __call__(self, what: str, act: Callable[..., Any], *given: Any) -> Any:
        here = len(self.seen)
        self.seen.append(what)
        if here == self.at or (self.ever and here > self.at >= 0 and what not in ("look", "draw")):
            if self.late:
                act(*given)
            raise sqlite3.OperationalError("disk I/O error") if what.isupper() else OSError(28, "No space left on device")
        return act(*given)


class Driver:
    """A connection of SQLite with a trap in its way."""

    def __init__(self, raw: Any, trap: Trap) -> None:
        self.raw, self.trap = raw, trap
        self.connection = self
        self.dbapi_connection = self

    def execute(self, text: str, *given: Any) -> Any:
        return self.trap(text.split(maxsplit=1)[0].upper(), self.raw.execute, text, *given)

    def commit(self) -> None:
        self.trap("COMMIT", self.raw.commit)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.raw, name)


@contextmanager
def trapped(trap: Trap) -> Iterator[None]:
    """Everything a ledger does to its database and its files goes through a trap."""
    connected = Database._connected

    def through(self: Database, *given: Any) -> Any:
        return Driver(connected(self, *given).connection.dbapi_connection, trap)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Database, "_connected", through)
        patch.setattr(Sevens, "evaluate", lambda self, source: trap("look", lambda: 7))
        patch.setattr(Plain, "release", lambda self, exact, **seed: trap("draw", lambda: exact))
        for module, name in ((os, "pwrite"), (os, "pread"), (fcntl, "lockf")):
            real = getattr(module, name)
            patch.setattr(module, name, lambda *given, real=real, name=name: trap(name, real, *given))
        yield


def ask(ledger: Ledger) -> Release:
    return Desk(People(), ledger, Random(), "add_remove").answer((ASK,))[0]


def failing(folder: Path, trap: Trap) -> tuple[str, BaseException | None]:
    """Ask where the trap is set; what a user is told, and what was raised, if anything was."""
    folder.mkdir()
    process_tally.clear()
    with Ledger(f"sqlite:///{folder}/ledger.db", Budget(epsilon=1), timeout=0.05) as ledger:
        ledger.recall(ASK, People(), "add_remove")  # opens what is opened once
        try:
            with trapped(trap):
                assert ask(ledger).value == 7
        except Exception as problem:
            return "; ".join([str(problem), *getattr(problem, "__notes__", ())]), problem
    return "", None


def holds(folder: Path, told: str) -> list[str]:
    """The statements of an error that do not hold of the book as it is found afterwards; asks again as a user would."""
    with Ledger(f"sqlite:///{folder}/ledger.db") as ledger:
        charged = str(ledger.spent()) == "ε=0.3"
        stored = ledger.recall(ASK, People(), "add_remove") is not None
        looked = dict(ledger.unanswered()).get(1) == "looked"
        try:
            free = ask(ledger).entry.number == 1 and charged
        except Withheld:
            free = False
        if looked:
            ledger.redeem(1)
            assert ask(ledger).value == 7
        assert str(ledger.spent()) == "ε=0.3", "once in all, whatever failed"
        ledger.verify()
    unknown = "not known" in told
    says = {
        "Nothing was charged": not charged,
        "ε=0.3 was charged (": charged,
        "stays paid": charged,
        "is paid": charged,
        "asking the same again is free": free or unknown or "or, if the mark was written" in told,
        "was not stored and is withheld": looked,
        "it is withheld until the custodian": looked,
        "is stored:": stored,
        "whether ε=0.3 was charged is not known": True,
        "Whether the answer was stored is not known": stored or looked,
    }
    assert any(words in told for words in says), told
    return [words for words, true in says.items() if words in told and not true]


@pytest.mark.parametrize("ever", [False, True], ids=["once", "from then on"])
@pytest.mark.parametrize("late", [False, True], ids=["undone", "done"])
def test_what_an_error_says_is_true(tmp_path: Path, late: bool, ever: bool) -> None:
    smooth = Trap()
    failing(tmp_path / "smooth", smooth)
    reached = set()
    for at, what in enumerate(smooth.seen):
        if (late or ever) and what not in ("BEGIN", "COMMIT", "pwrite"):  # the others are undone with what they are part of
            continue
        folder = tmp_path / str(at)
        told, problem = failing(folder, Trap(at, late, ever))
        if problem is None:  # only the head was not noted, which is a lower bound, or nothing was left to do
            told = "is stored: asking the same again is free"
        else:
            reached.add(what)
            assert isinstance(problem, LedgerError) or what in ("look", "draw"), problem
        assert "\n" not in told
        assert not holds(folder, told), f"{what} at step {at}: {told}"
    everything = {"BEGIN", "INSERT", "UPDATE", "DELETE", "COMMIT", "pread", "look", "draw"}
    assert reached >= ({"COMMIT"} if late or ever else everything), reached


@pytest.mark.parametrize("kind", [OSError(5, "Input/output error"), ZeroDivisionError("x"), DiscreetError("gone")], ids=repr)
def test_an_error_while_looking_carries_what_became_of_the_charge(
    file: str, kind: Exception, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(self: Sevens, source: Any) -> Any:
        raise kind

    monkeypatch.setattr(Sevens, "evaluate", fail)
    with Ledger(file, Budget(epsilon=1)) as ledger:
        for once, note in (
            (
                False,
                "entry 1 was looked for and not answered: it is withheld until the custodian runs discreet ledger redeem "
                f"{file.removeprefix('sqlite:///')} --name default 1",
            ),
            (True, "entry 2 is paid and not answered, and asking again is charged again: its answer serves once"),
        ):
            monkeypatch.setattr(Sevens, "described", not once)
            with pytest.raises(type(kind)) as told:
                ask(ledger)
            assert told.value.__notes__[-1] == note


@pytest.mark.parametrize("ever", [False, True], ids=["once", "from then on"])
def test_a_release_whose_head_cannot_be_noted_is_answered(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], ever: bool
) -> None:
    """At the command line, where it was a traceback: the head is a lower bound; asking again charges nothing more."""
    (tmp_path / "people.csv").write_text("sex\n" + "f\nm\n" * 5)
    (tmp_path / "people.toml").write_text(
        'title = "t"\ntable = "people.csv"\nledger = "sqlite:///ledger.db"\n[budget]\nepsilon = 1\n'
        '[schema.columns.sex]\ntype = "category"\nvalues = ["f", "m"]\n'
        '[[ask]]\nstatistic = "count"\nepsilon = 0.3\n'
    )
    monkeypatch.chdir(tmp_path)
    process_tally.clear()
    real, turns = os.pwrite, iter([False, False, False, True])

    def full(*given: Any) -> int:
        if next(turns, ever):
            raise OSError(28, "No space left on device")
        return real(*given)

    with monkeypatch.context() as patch:
        only_here(patch, os, "pwrite", full)
        assert main(["release", "people.toml"]) == 0
    assert next(turns, None) is None, "the head was to be noted"
    assert capsys.readouterr().err == ""
    assert main(["release", "people.toml"]) == 0
    with Ledger(f"sqlite:///{tmp_path}/ledger.db") as ledger:
        assert str(ledger.spent()) == "ε=0.3"
