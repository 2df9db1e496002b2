"""``discreet ledger redeem``, ``backup``, ``adopt``; and the one line with which an interrupted command ends."""

from __future__ import annotations

import errno
import signal
import sqlite3
from pathlib import Path

import pytest

import discreet as ds
from discreet.ledger import process_tally
from tests.cli.conftest import Run


@pytest.fixture
def asked(folder: Path, run: Run) -> Path:
    assert run("release", folder / "people.toml").code == 0
    process_tally.clear()
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

    process_tally.clear()
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


@pytest.mark.parametrize("looked", [False, True])
def test_a_release_that_was_paid_for_and_not_answered_says_that_nothing_is_paid_now(
    folder: Path, run: Run, monkeypatch: pytest.MonkeyPatch, looked: bool
) -> None:
    """With a budget that it used up: asked again, it is neither refused nor said to be paid again."""
    from discreet.sources.files import FileSource

    file = folder / "people.toml"
    file.write_text(file.read_text().replace("epsilon = 1\n", "epsilon = 0.5\n", 1))

    def fail(*_: object) -> object:
        raise OSError(5, "Input/output error")

    with monkeypatch.context() as broken:
        if looked:
            broken.setattr(FileSource, "fold", fail)
        else:
            broken.setattr(ds.Ledger, "look", fail)
        assert run("release", file).code == 2
    book = folder / "ledger.db"
    if looked:
        assert "is withheld" in run("release", file).err
        assert "give --yes too" in run("ledger", "redeem", book, "--all").err
        assert "neither" in run("ledger", "redeem", book).err
        assert "answered, once" in run("ledger", "redeem", book, "--all", "--yes").out
        assert "nothing is to be decided" in run("ledger", "redeem", book, "--all", "--yes").err
    assert run("plan", file).out.count("free: paid before") == 3
    again = run("release", file)
    assert again.code == 0, again.err
    assert "These answers cost ε=0.5, of which ε=0 was paid now." in again.out
    assert "Left: ε=0." in again.out
