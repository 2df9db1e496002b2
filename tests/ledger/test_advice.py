"""What a ledger says to whoever has to put something right is true, short, and can be carried out."""

from __future__ import annotations

import contextlib
import io
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

import pytest

from discreet.cli import main
from discreet.core.ask import Ask
from discreet.core.budget import Budget
from discreet.core.random import Random
from discreet.core.runner import Bill, Desk
from discreet.core.unit import Unit
from discreet.core.whole_files import is_full
from discreet.errors import (
    DiscreetError,
    InvalidRequest,
    LedgerCorrupt,
    LedgerUnavailable,
    RelationMismatch,
    UnitMismatch,
    Withheld,
)
from discreet.ledger import Ledger, keeping, process_tally
from discreet.ledger.address import parse, shown
from discreet.ledger.beside import Beside
from discreet.ledger.settling import Settler
from tests.patches import only_here

from .laws import People, Sevens, eps
from .test_unit import as_anybody

ASKS = [Ask(Sevens(str(place)), eps("0.1")) for place in range(3)]


def bills(asks: list[Ask]) -> list[Bill]:
    made = []
    for ask in asks:
        distance = ask.query.distance("add_remove")
        made.append(Bill(ask, distance, ask.mechanism.cost(distance), People(), True))
    return made


def abandon(ledger: Ledger, *, looked: bool) -> None:
    paid = ledger.buy(bills(ASKS), "add_remove")
    if looked:
        ledger.look(paid)
    ledger.give_up(paid)


def answer(ledger: Ledger) -> None:
    Desk(People(), ledger, Random(), "add_remove").answer(tuple(ASKS))


def charged(file: str) -> Path:
    with Ledger(file, Budget(epsilon=1)) as ledger:
        answer(ledger)
    return Path(file.removeprefix("sqlite:///"))


def test_whoever_is_interrupted_while_the_settler_starts_has_nothing_to_wait_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settler = Settler(str(tmp_path / "x.db"), Beside(tmp_path / "x.db"))

    def interrupted(self: threading.Thread) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        only_here(patched, threading.Thread, "start", interrupted)
        with pytest.raises(KeyboardInterrupt):
            settler.soon()
    settler.stop()


def test_several_entries_are_redeemed_together_or_not_at_all(file: str) -> None:
    with Ledger(file, Budget(epsilon=1)) as ledger:
        abandon(ledger, looked=True)
        with pytest.raises(InvalidRequest, match="entry 9"):
            ledger.redeem(1, 2, 9)
        assert [state for _, state in ledger.unanswered()] == ["looked"] * 3
        assert str(ledger.redeem(1, 2, 3, 3)) == "ε=0.3"
        assert [e.kind for e in ledger.events()] == ["charge"] * 3 + ["redeem"] * 3
        answer(ledger)
        assert str(ledger.spent()) == "ε=0.3"
        ledger.verify()


@pytest.mark.parametrize("looked", [False, True])
def test_what_was_paid_and_not_answered_is_not_due_again(file: str, looked: bool) -> None:
    with Ledger(file, Budget(epsilon="0.3")) as ledger:
        assert str(ledger.due(bills(ASKS), "add_remove")) == "ε=0.3"
        abandon(ledger, looked=looked)
        assert str(ledger.due(bills(ASKS), "add_remove")) == "ε=0"
        assert [ledger.paid_for(ask, People(), "add_remove") for ask in ASKS] == [1, 2, 3]
        assert ledger.paid_for(ASKS[0], People("2"), "add_remove") is None


def test_advice_names_the_ledger_as_commands_take_it(tmp_path: Path) -> None:
    folder = tmp_path / "a b"
    folder.mkdir()
    with Ledger(f"sqlite:///{folder}/l.db", Budget(epsilon=1), name="o'clock") as ledger:
        abandon(ledger, looked=True)
        with pytest.raises(Withheld) as told:
            answer(ledger)
        assert f"redeem '{folder}/l.db' --name 'o'\"'\"'clock' 1" in str(told.value)
        assert f"redeem '{folder}/l.db' --name" in process_tally.in_words()
    assert "LEDGER" not in str(told.value)


def test_an_address_is_shown_without_passwords() -> None:
    told = shown(parse("postgresql://me:secret@host:5433/db?password=secret&sslpassword=secret&options=-cx%3Dy"))
    assert "secret" not in told
    assert "me@host:5433/db" in told
    assert "options=" in told


def test_a_damaged_head_file_is_no_reason_not_to_check_against_a_head(file: str) -> None:
    path = charged(file)
    with Ledger(file) as ledger:
        head = ledger.head
    Path(f"{path}.head").write_bytes(b"x" * 512)
    with Ledger(file) as ledger:
        with pytest.raises(LedgerCorrupt, match=r"is damaged.*verify \S+ledger.db --head HASH.*adopt \S+ledger"):
            ledger.verify()
        assert ledger.verify(head) == 6
        with pytest.raises(LedgerCorrupt, match="no event has the hash"):
            ledger.verify("0" * 64)
        assert "is damaged" in str(ledger.doubt)
        with pytest.raises(LedgerCorrupt, match="damaged"):
            ledger.charge(eps("0.1"))


@pytest.mark.parametrize("what", ["own", "lost", "copy", "damaged", "set back", "another", "backup"])
def test_a_file_that_is_not_known_to_count_is_in_doubt(file: str, tmp_path: Path, what: str) -> None:
    with Ledger(file, Budget(epsilon=1)) as ledger:
        ledger.charge(eps("0.1"))
    path = tmp_path / "ledger.db"
    older = path.read_bytes()
    with Ledger(file) as ledger:
        answer(ledger)
        assert ledger.doubt is None
    head = tmp_path / "ledger.db.head"
    words = {"lost": "is gone or empty", "copy": "is itself a copy", "damaged": "is damaged", "set back": "was set back"}
    if what == "lost":
        head.unlink()
    elif what == "copy":
        shutil.copy(head, tmp_path / "moved")
        os.replace(tmp_path / "moved", head)
    elif what == "damaged":
        head.write_bytes(b"\xff" * head.stat().st_size)
    elif what == "set back":
        path.write_bytes(older)
    elif what == "backup":
        keeping.backup(file, tmp_path / "copy.db")
        file = f"sqlite:///{tmp_path}/copy.db"
        words["backup"] = "is gone or empty"
    elif what == "another":
        with sqlite3.connect(path) as connection:
            connection.execute("UPDATE discreet_ledgers SET id = 2")
        connection.close()
        words["another"] = "knows nothing of"
    there = head.exists()
    with Ledger(file) as ledger:
        told = ledger.doubt
        assert (told is None) == (what == "own")
        assert words.get(what, "") in str(told)
        assert head.exists() == there, "looking makes no head file"
        if what != "own":
            with pytest.raises(LedgerCorrupt) as refused:
                ledger.charge(eps("0.1"))
            assert str(refused.value).startswith(str(told))


def test_a_backup_has_the_key_of_its_ledger_or_none(file: str, tmp_path: Path) -> None:
    key = Path(f"{charged(file)}.key")
    kept = key.read_bytes()
    keeping.backup(file, tmp_path / "whole.db")
    assert (tmp_path / "whole.db.key").read_bytes() == kept
    for state in ("another", "missing"):
        key.write_bytes(b"x" * 32) if state == "another" else key.unlink()
        keeping.backup(file, tmp_path / f"{state}.db")
        assert not (tmp_path / f"{state}.db.key").exists()
    (tmp_path / "next.db.key").write_bytes(b"of somebody else")
    with pytest.raises(InvalidRequest, match=r"next.db.key exists already"):
        keeping.backup(file, tmp_path / "next.db")
    assert not (tmp_path / "next.db").exists()


@pytest.mark.parametrize("state", ["missing", "cut", "another"])
def test_a_lost_key_has_a_way_out(file: str, state: str) -> None:
    path = charged(file)
    key = Path(f"{path}.key")
    key.write_bytes({"missing": b"", "cut": b"abc", "another": b"x" * 32}[state])
    if state == "missing":
        key.unlink()
    with (
        Ledger(file) as ledger,
        pytest.raises(LedgerCorrupt, match=r"restore it from a backup, or.*adopt \S+ledger.db.*paid for again.*Nothing was"),
    ):
        answer(ledger)
    keeping.adopt(file)
    assert len(key.read_bytes()) == 32
    with Ledger(file) as ledger:
        answer(ledger)
        assert str(ledger.spent()) == "ε=0.6"


def test_a_population_that_nobody_named_is_not_spoken_of_as_if_somebody_had(file: str) -> None:
    with Ledger(file, Budget(epsilon=1), unit=Unit()) as ledger:
        said = r"counts one row of a population that was given no name and goes by the ledger's, 'default', got .*'A'"
        with pytest.raises(UnitMismatch, match=said):
            Ledger(file, unit=Unit(population="A"))
        Ledger(file, unit=Unit(population="default")).close()
        assert ledger.count == 0


@pytest.mark.parametrize("kept", ["add_remove", "replace", "both"])
def test_another_relation_is_answered_with_what_would_be_taken(file: str, kept: str) -> None:
    other = "replace" if kept == "add_remove" else "add_remove"
    with Ledger(file, Budget(epsilon=1), neighbors=kept) as ledger:
        takes = "declare 'both', or keep" if kept == "both" else f"declare '{kept}', or 'both', which covers either, or keep"
        for act in (lambda: Ledger(file, neighbors=other), lambda: ledger.charge(eps("0.1"), relation=other)):
            with pytest.raises(RelationMismatch, match=f"{takes}.*Nothing was charged"):
                act()


COLUMNS = {
    "discreet_ledgers": ("name", "relation", "filter", "created", "head", "spent", "reserved", "founded"),
    "discreet_events": ("time", "who", "kind", "question", "law", "sensitivity", "cost", "previous", "hash", "key"),
    "discreet_releases": ("document", "hash", "key"),
}


@pytest.mark.parametrize(("table", "column"), [(t, c) for t, columns in COLUMNS.items() for c in columns])
def test_what_does_not_hold_is_told_in_a_short_line(file: str, table: str, column: str) -> None:
    """Whatever was altered: a row by a whole long document, and a cost by one of its digits."""
    path = charged(file)
    whole, told = path.read_bytes(), []
    for change in (f"{column} || '{{\"x\": {'9' * 3000}}}'", f"replace({column}, '1', '2')"):
        with sqlite3.connect(path) as connection:
            connection.execute(f"UPDATE {table} SET {column} = {change} WHERE {column} IS NOT NULL")
        connection.close()
        try:
            with Ledger(file) as ledger:
                ledger.verify()
        except DiscreetError as problem:
            told.append(str(problem))
        path.write_bytes(whole)
    assert told
    assert all(len(line) < 500 and "\n" not in line for line in told), told


def test_a_full_disk_asks_for_room(file: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert is_full(OSError(28, "No space left on device"))
    assert not is_full(OSError(13, "Permission denied"))
    with Ledger(file, Budget(epsilon=1)) as ledger:

        def full(*_: object) -> None:
            raise OSError(28, "No space left on device")

        only_here(monkeypatch, Beside, "note", full)
        with pytest.raises(LedgerUnavailable, match="No space left on device; make room on its disk"):
            ledger.charge(eps("0.1"))


def read_all(ledger: str, out: str) -> str:
    """Everything that only reads, and one command that writes, as a custodian runs them: codes and what was printed."""
    told, codes = io.StringIO(), []
    with contextlib.redirect_stdout(told), contextlib.redirect_stderr(told):
        for words in (["show", ledger], ["show", ledger, "--json"], ["verify", ledger], ["backup", ledger, out]):
            codes.append(main(["ledger", *words]))
        codes.append(main(["ledger", "redeem", ledger, "1"]))
    return f"{codes}\n{told.getvalue()}"


@pytest.mark.parametrize("open_elsewhere", [False, True])
def test_a_ledger_that_cannot_be_written_to_is_shown_verified_and_copied(open_elsewhere: bool) -> None:
    """By somebody without the permission; also while its owner has it open."""
    with tempfile.TemporaryDirectory() as home:
        folder, out = Path(home) / "books", Path(home) / "out"
        folder.mkdir()
        out.mkdir()
        out.chmod(0o777)
        Path(home).chmod(0o755)
        ledger = Ledger(f"sqlite:///{folder}/ledger.db", Budget(epsilon=1))
        answer(ledger)
        read_all(f"{folder}/ledger.db", f"{out}/first.db")  # what is imported inside is there from now on
        if not open_elsewhere:
            ledger.close()
        for each in folder.iterdir():
            each.chmod(0o444)
        folder.chmod(0o555)
        told = as_anybody(lambda: read_all(f"{folder}/ledger.db", f"{out}/copy.db"))
        folder.chmod(0o755)
        ledger.close()
        assert told.startswith("[0, 0, 0, 0, 2]"), told
        assert told.count("spent ε=0.3") == 1
        assert "not known to be the one that counts" not in told
        last = told.splitlines()[-1]
        assert "Permission denied" in last or "read-only" in last
        assert "Nothing was charged" in last


def test_a_file_that_changes_while_it_is_read_without_locks_is_not_told_of(
    file: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    from discreet.ledger import read_only

    path = charged(file)
    only_here(monkeypatch, read_only, "is_read_only", lambda path: True)
    # Without SQLite's own locks, as where it cannot make its files.
    plain = read_only._open
    begun = read_only._state(str(path))
    only_here(
        monkeypatch, read_only, "connect",
        lambda path, timeout: (plain(path, "mode=ro&immutable=1", timeout), read_only.Unlocked(path, begun)),
    )  # fmt: skip
    with Ledger(file) as ledger:
        assert str(ledger.spent()) == "ε=0.3"
        with sqlite3.connect(path) as other:
            other.execute("UPDATE discreet_ledgers SET name = 'x'")
        other.close()
        with pytest.raises(LedgerUnavailable, match=r"somebody wrote to it meanwhile.*Nothing was charged"):
            ledger.spent()


def test_a_link_is_followed_before_it_is_asked_what_can_be_written(
    file: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """SQLite keeps its log beside the file that a link leads to: the link's own folder says nothing."""
    from discreet.ledger import read_only

    path, asked = charged(file), []
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "link.db").symlink_to(path)
    for end in (".key", ".head"):
        (tmp_path / "elsewhere" / f"link.db{end}").symlink_to(f"{path}{end}")
    only_here(monkeypatch, read_only, "is_read_only", lambda path: bool(asked.append(path)))
    with Ledger(f"sqlite:///{tmp_path}/elsewhere/link.db") as ledger:
        ledger.spent()
    assert set(asked) == {str(path.resolve())}


def test_a_log_that_cannot_be_read_is_not_passed_over(file: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from discreet.ledger import read_only

    path = charged(file)
    opened = sqlite3.connect(path, isolation_level=None)
    opened.execute("PRAGMA wal_autocheckpoint=0")
    opened.execute("UPDATE discreet_ledgers SET name = name")
    for end in ("", "-wal"):
        shutil.copy(f"{path}{end}", tmp_path / f"other.db{end}")
    opened.close()
    assert (tmp_path / "other.db-wal").stat().st_size

    class Refused(sqlite3.Connection):
        def execute(self, *_: object) -> sqlite3.Cursor:
            raise sqlite3.OperationalError("unable to open database file")

    # As where SQLite cannot make its own files.
    only_here(monkeypatch, read_only, "_open", lambda path, how, timeout: sqlite3.connect(":memory:", factory=Refused))
    with pytest.raises(LedgerUnavailable, match="read-only here, and its log holds"):
        read_only.connect(str(tmp_path / "other.db"), 0.1)


def test_an_interrupt_while_a_command_is_imported_ends_in_one_line() -> None:
    strike = (
        "import os, signal, sys\n"
        "class Strike:\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        "        if name == 'typer':\n"
        "            os.kill(os.getpid(), int(sys.argv[1]))\n"
        "sys.meta_path.insert(0, Strike())\n"
        "from discreet.cli import main\n"
        "number = sys.argv[1]\n"
        "code = main(['ledger', 'show', 'nothing.db'])\n"
        "sys.exit(code)\n"
    )
    for number in (signal.SIGINT, signal.SIGTERM):
        command = [sys.executable, "-c", strike, str(int(number))]
        ran = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
        assert (ran.returncode, ran.stderr) == (130, "discreet: interrupted; nothing was charged\n")
