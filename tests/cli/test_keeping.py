"""``discreet ledger redeem``, ``backup``, ``adopt``; and the one line with which an interrupted command ends."""

from __future__ import annotations

import errno
import signal
import sqlite3
from pathlib import Path

import pytest

import discreet as ds
from discreet.ledger import tally
from tests.cli.conftest import Run


@pytest.fixture
def asked(folder: Path, run: Run) -> Path:
    assert run("release", folder / "people.toml").code == 0
    tally.clear()
    return folder


def test_a_backup_is_adopted_by_word(asked: Path, run: Run) -> None:
    copy = asked / "copy.db"
    done = run("ledger", "backup", asked / "ledger.db", copy)
    assert (done.code, done.err) == (0, "")
    assert "'people', every event checked" in done.out
    again = run("ledger", "backup", asked / "ledger.db", copy)
    assert again.code == 2
    assert "exists already" in again.err
    assert run("ledger", "verify", copy).code == 0
    assert "counts from now on" in run("ledger", "adopt", copy).out
    assert run("ledger", "backup", asked / "none.db", asked / "x.db").code == 2


@pytest.mark.parametrize("act", ["show", "verify", "backup", "adopt", "upgrade", "redeem"])
def test_a_ledger_of_a_later_version_is_left_alone(asked: Path, run: Run, act: str) -> None:
    path, copy = asked / "ledger.db", asked / "copy.db"
    with sqlite3.connect(path) as connection:
        connection.execute("UPDATE discreet_ledgers SET schema = 3")
    connection.close()
    before = path.read_bytes()
    told = run("ledger", act, path, *{"backup": [copy], "redeem": ["1"]}.get(act, []))
    assert told.code == 2
    assert "has schema version 3 and this package reads up to 2; upgrade discreet" in told.err
    assert told.err.count("\n") == 1
    assert path.read_bytes() == before
    assert not copy.exists()


def test_a_ledger_shows_which_rows_were_asked_about(asked: Path, run: Run) -> None:
    assert "median of age where sex is f" in run("ledger", "show", asked / "ledger.db").out


def test_redeem_says_what_it_decided(asked: Path, run: Run) -> None:
    for words in (("7",), ("7", "--forgo")):
        told = run("ledger", "redeem", asked / "ledger.db", *words)
        assert told.code == 2
        assert "entry 7 of 'people' is not one" in told.err


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_command_says_what_was_charged(
    folder: Path, run: Run, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    """Struck while it looks: the answer is stored first, the line says so, and asking again is free."""
    from discreet.sources.files import FileSource

    tally.clear()
    fold, struck = FileSource.fold, []

    def strike(self: FileSource, *arguments: object) -> object:
        if not struck:
            struck.append(True)
            signal.raise_signal(number)
        return fold(self, *arguments)

    monkeypatch.setattr(FileSource, "fold", strike)
    ran = run("release", folder / "people.toml")
    assert ran.code == 130
    line = ran.err.strip().splitlines()[-1]
    assert line == "discreet: interrupted; ε=0.5 was charged; every answer is stored: asking the same again is free"
    again = run("release", folder / "people.toml")
    assert again.code == 0
    with ds.Ledger(f"sqlite:///{folder / 'ledger.db'}") as ledger:
        assert str(ledger.spent()) == "ε=0.5"


def test_a_full_disk_says_what_was_charged(asked: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device", "releases.json")

    monkeypatch.setattr("discreet.jobs.release.released", full)
    ran = run("release", asked / "people.toml")
    assert ran.code == 2
    assert ran.err == "discreet: No space left on device: releases.json; make room; nothing was charged\n"
