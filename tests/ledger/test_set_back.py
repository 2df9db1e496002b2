"""A ledger that was copied, set back, cut or damaged: found, or harmless; never a smaller sum that verifies."""

from __future__ import annotations

import contextlib
import os
import random
import shutil
import sqlite3
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from discreet.core.ask import Ask
from discreet.core.budget import Budget
from discreet.core.random import Random
from discreet.core.runner import Desk
from discreet.errors import DiscreetError, InvalidRequest, LedgerCorrupt
from discreet.ledger import Ledger, beside, keeping
from discreet.ledger.answers import Answers

from .laws import People, Sevens, eps


def ask(ledger: Ledger, topic: str, cost: str = "0.01") -> None:
    Desk(People(), ledger, Random(), "add_remove").answer((Ask(Sevens(topic), eps(cost)),))


def settled(path: Path) -> None:
    """Wait until the file alone holds what was committed."""
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline:
        copy = path.with_name("probe.db")
        shutil.copy(path, copy)
        probe = sqlite3.connect(copy)
        try:
            found = probe.execute("SELECT number FROM discreet_ledgers").fetchone()[0]
        except sqlite3.DatabaseError:
            found = None  # copied in the middle of it
        probe.close()
        with sqlite3.connect(path) as whole:
            all_of_it = whole.execute("SELECT number FROM discreet_ledgers").fetchone()[0]
        whole.close()
        copy.unlink()
        if found == all_of_it:
            return
        time.sleep(0.02)
    raise AssertionError("the log was not brought into the file")


def test_the_file_alone_is_the_ledger_while_it_is_open(file: str, tmp_path: Path) -> None:
    path = tmp_path / "ledger.db"
    with Ledger(file, Budget(epsilon=1)) as ledger:
        for place in range(5):
            ask(ledger, str(place))
        settled(path)
        copy = tmp_path / "copy.db"
        shutil.copy(path, copy)
        with Ledger(f"sqlite:///{copy}") as read:
            assert read.spent() == ledger.spent()
            assert read.verify() == 10
            with pytest.raises(LedgerCorrupt, match=r"is a copy, or it was restored.*discreet ledger adopt"):
                read.charge(eps("0.1"))


@pytest.mark.parametrize("keep", [0, 1, 4])
def test_a_file_put_in_the_place_of_a_newer_one_is_found(file: str, tmp_path: Path, keep: int) -> None:
    path, older = tmp_path / "ledger.db", tmp_path / "older.db"
    with Ledger(file, Budget(epsilon=1)) as ledger:
        for place in range(keep):
            ask(ledger, str(place))
        ledger.close()
    shutil.copy(path, older)
    with Ledger(file) as ledger:
        ask(ledger, "more")
    shutil.copy(older, path)
    with Ledger(file) as ledger:
        for act in (lambda: ask(ledger, "again"), ledger.verify):
            with pytest.raises(
                LedgerCorrupt, match=rf"set back or replaced: it has {2 * keep} events, and {2 * keep + 2} were"
            ):
                act()


@pytest.mark.parametrize("noted", range(5))
def test_a_head_that_was_not_noted_in_time_is_a_lower_bound(file: str, tmp_path: Path, noted: int) -> None:
    """A process may die between its commit and the note of it, at any number of events and also at the first."""
    with Ledger(file, Budget(epsilon=1)) as ledger:
        hashes = [ledger.head]
        for _ in range(4):
            hashes.append(ledger.charge(eps("0.01")).hash)
        ledger._database.beside.forget(1)
        ledger._database.beside.note(1, noted, hashes[noted])
        assert ledger.charge(eps("0.01")).number == 5
        ledger._database.beside.forget(1)
        ledger._database.beside.note(1, noted, "0" * 64)
        with pytest.raises(LedgerCorrupt, match="set back or replaced"):
            ledger.charge(eps("0.01"))


@pytest.mark.parametrize("asked", [0, 1, 4])
def test_a_power_cut_after_a_payment_that_was_not_waited_for_is_no_set_back(
    file: str, tmp_path: Path, asked: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The head reached the disk and the payment did not: nobody had looked, so the ledger goes on from what there is."""
    path, log = tmp_path / "ledger.db", tmp_path / "ledger.db-wal"
    with Ledger(file, Budget(epsilon=1)) as ledger:
        for place in range(asked):
            ask(ledger, str(place))
    monkeypatch.setattr(Answers, "look", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
    monkeypatch.setattr(Answers, "give_up", lambda *_: "")
    with Ledger(file) as ledger:
        before = {p: p.read_bytes() for p in (path, log) if p.exists()}
        with pytest.raises(KeyboardInterrupt):
            ask(ledger, "paid")
        head = (tmp_path / "ledger.db.head").read_bytes()
    monkeypatch.undo()
    for file_of in (path, log, tmp_path / "ledger.db-shm"):
        file_of.unlink(missing_ok=True)
    for file_of, content in before.items():
        file_of.write_bytes(content)
    (tmp_path / "ledger.db.head").write_bytes(head)
    with Ledger(file) as ledger:
        assert ledger.verify() == 2 * asked
        ask(ledger, "paid")
        assert ledger.spent().epsilon == pytest.approx(0.01 * (asked + 1))
        assert ledger.verify() == 2 * asked + 2


def test_a_lost_file_does_not_begin_anew(file: str, tmp_path: Path) -> None:
    with Ledger(file, Budget(epsilon=1)) as ledger:
        ask(ledger, "one")
    (tmp_path / "ledger.db").unlink()
    with pytest.raises(LedgerCorrupt, match="tells of a ledger with 2 events"):
        Ledger(file, Budget(epsilon=1))


def test_the_log_is_emptied_into_the_file(file: str, tmp_path: Path) -> None:
    """So there is nothing in it to lose; and one that is cut before that is found, or was told of to nobody."""
    log = tmp_path / "ledger.db-wal"
    with Ledger(file, Budget(epsilon=1)) as ledger:
        for place in range(4):
            ask(ledger, str(place))
        deadline = time.monotonic() + 20
        while log.stat().st_size and time.monotonic() < deadline:
            time.sleep(0.01)
        assert log.stat().st_size == 0
        assert ledger.verify() == 8


def damage(content: bytes, chance: random.Random) -> bytes:
    kind, size = chance.randrange(5), max(1, len(content))
    place = chance.randrange(size)
    if kind == 0:
        return content[:place]
    if kind == 1:
        return b""
    if kind == 2:  # a bit
        return content[:place] + bytes([content[place] ^ (1 << chance.randrange(8))]) + content[place + 1 :]
    length = chance.randrange(1, 600)
    blot = bytes(length) if kind == 3 else chance.randbytes(length)
    return (content[:place] + blot + content[place + length :])[:size]


def judged(folder: Path, truth: float) -> str:
    """What a damaged ledger does: "found", or "harmless" where it knows all that was spent and goes on."""
    try:
        with Ledger(f"sqlite:///{folder}/ledger.db") as ledger:
            ledger.verify()
            ask(ledger, "after the damage")
            ledger.verify()
            spent = float(ledger.spent().epsilon or 0)
    except DiscreetError:
        return "found"
    return "harmless" if spent >= truth else f"set back to {spent}"


@pytest.mark.parametrize("which", ["ledger.db", "ledger.db-wal", "ledger.db.head"])
def test_damages_are_found_or_harmless(file: str, tmp_path: Path, which: str) -> None:
    """Twelve here, a hundred of each in the study of kills. Deterministic: any "set back" is a defect."""
    files = written(tmp_path / "original", which)
    outcomes = damaged(files, which, tmp_path / "original", random.Random(7), 12)
    assert set(outcomes) <= {"found", "harmless"}, outcomes
    assert "harmless" in damaged(files, "nothing", tmp_path / "original", random.Random(7), 1)


def written(folder: Path, which: str) -> dict[str, bytes]:
    """The files of a ledger that spent 0.06; with everything in its log where that is to be damaged, as after a kill."""
    folder.mkdir()
    with Ledger(f"sqlite:///{folder}/ledger.db", Budget(epsilon=1)) as ledger:
        if which.endswith("-wal"):
            ledger._database._settler.soon = lambda: None
        for place in range(6):
            ask(ledger, str(place))
        if not which.endswith("-wal"):
            settled(folder / "ledger.db")
        return {p.name: p.read_bytes() for p in folder.iterdir() if not p.name.endswith("-shm")}


def damaged(files: dict[str, bytes], which: str, folder: Path, chance: random.Random, times: int) -> list[str]:
    """What became of ``times`` damages to one of the files of a ledger that spent 0.06; in place, as nothing else is one."""
    outcomes = []
    for _ in range(times):
        for there in folder.iterdir():
            if there.name not in files:
                there.unlink()
        for name, content in files.items():
            (folder / name).write_bytes(damage(content, chance) if name == which else content)
        outcomes.append(judged(folder, 0.06))
    return outcomes


@pytest.mark.parametrize("asked", [0, 1])
def test_a_folder_copied_whole_is_read_and_not_spent(file: str, tmp_path: Path, asked: int) -> None:
    """Head, key and all: two of them would spend one budget twice. A folder that was renamed is the same one."""
    with Ledger(file, Budget(epsilon=1)) as ledger, Ledger(file, Budget(epsilon=1), name="other") as other:
        ask(ledger, "one")
        for _ in range(asked):
            ask(other, "one")
    home = tmp_path / "home"
    home.mkdir()
    for each in list(tmp_path.glob("ledger.db*")):
        each.rename(home / each.name)
    shutil.copytree(home, tmp_path / "copy")
    with Ledger(f"sqlite:///{home}/ledger.db", name="default") as ledger:
        ask(ledger, "two")
    url = f"sqlite:///{tmp_path}/copy/ledger.db"
    with Ledger(url, name="default") as copy:
        assert copy.verify() == 2
        for _ in range(2):
            with pytest.raises(LedgerCorrupt, match=r"is a copy, or it was restored.*adopt.*Nothing was charged"):
                ask(copy, "two")
    with Ledger(url, name="other") as copy:  # also where nothing of it is spent: as many budgets as there are copies
        assert copy.verify() == 2 * asked
        with pytest.raises(LedgerCorrupt, match="is a copy"):
            ask(copy, "one")
    keeping.adopt(url)
    for name in ("default", "other"):
        with Ledger(url, name=name) as adopted:
            ask(adopted, "two")
            adopted.verify()


def test_a_file_copied_before_anything_was_spent_is_not_a_second_budget(file: str, tmp_path: Path) -> None:
    Ledger(file, Budget(epsilon=1)).close()
    shutil.copy(tmp_path / "ledger.db", tmp_path / "bare.db")
    with Ledger(f"sqlite:///{tmp_path}/bare.db") as bare, pytest.raises(LedgerCorrupt, match="Nothing was charged"):
        ask(bare, "one")
    with Ledger(file) as ledger:
        ask(ledger, "one")


def test_a_ledger_whose_making_was_cut_off_is_made_again(file: str) -> None:
    """The head file is written before the transaction ends: what it tells of a ledger that never was is forgotten."""
    for first in ("0" * 64, "f" * 64):
        with Ledger(file, Budget(epsilon=1), name=f"made before {first[0]}") as made:
            beside, number = made._database.beside, made._journal.id + 1
            assert beside is not None
            beside.note(number, 0, first)
        with Ledger(file, Budget(epsilon=1), name=f"made after {first[0]}") as again:
            assert again._journal.id == number
            ask(again, "one")


def test_a_backup_is_of_one_moment_and_is_adopted_only_by_word(file: str, tmp_path: Path) -> None:
    copy = tmp_path / "backup.db"
    with Ledger(file, Budget(epsilon=1)) as ledger:
        ask(ledger, "one")
        paid = ledger.buy([], "add_remove")
        assert paid == []
        assert keeping.backup(file, copy) == ["default"]
        with pytest.raises(InvalidRequest, match="exists already"):
            keeping.backup(file, copy)
        ask(ledger, "two")
    assert (copy.stat().st_mode & 0o777, Path(f"{copy}.key").stat().st_mode & 0o777) == (0o600, 0o600)
    with Ledger(f"sqlite:///{copy}") as restored:
        assert restored.verify() == 2
        with pytest.raises(LedgerCorrupt, match="adopt"):
            ask(restored, "three")
    assert keeping.adopt(f"sqlite:///{copy}") == {"default": 0}
    with Ledger(f"sqlite:///{copy}") as restored:
        ask(restored, "one")  # found again by the key that came with it
        assert restored.spent().epsilon * 100 == 1
        ask(restored, "three")
        assert restored.verify() == 5


def test_what_waited_for_an_answer_is_given_up_by_a_restore(file: str, tmp_path: Path) -> None:
    """It may have been answered after the copy was made: answered again it would be a second draw for one price."""
    from .test_order import ASK, abandon, answer

    copy = tmp_path / "backup.db"
    with Ledger(file, Budget(epsilon=1)) as ledger:
        abandon(ledger, ASK)
        keeping.backup(file, copy)
        answer(ledger, ASK)
    assert keeping.adopt(f"sqlite:///{copy}") == {"default": 1}
    with Ledger(f"sqlite:///{copy}") as restored:
        assert answer(restored, ASK)[0].entry.number == 3
        assert str(restored.spent()) == "ε=0.6"
        restored.verify()


def test_a_lost_key_is_told_and_adopting_makes_a_new_one(file: str, tmp_path: Path) -> None:
    with Ledger(file, Budget(epsilon=1)) as ledger:
        ask(ledger, "one")
    os.unlink(tmp_path / "ledger.db.key")
    with Ledger(file) as ledger, pytest.raises(LedgerCorrupt, match=r"key.*is missing.*Nothing was charged"):
        ask(ledger, "one")
    keeping.adopt(file)
    with Ledger(file) as ledger:
        ask(ledger, "one")
        assert ledger.spent().epsilon * 100 == 2
        ledger.verify()


@pytest.mark.parametrize("dies", ["forget", "note"])
def test_whoever_dies_while_adopting_leaves_nothing_to_redeem(
    file: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, dies: str
) -> None:
    """At every moment at which the head file is written the copy is refused, or has nothing left that waits."""
    from .test_order import ASK, abandon, answer

    copy = tmp_path / "backup.db"
    with Ledger(file, Budget(epsilon=1)) as ledger:
        abandon(ledger, ASK)
        keeping.backup(file, copy)
        answer(ledger, ASK)
    for moment in ("before", "after"):
        torn = tmp_path / f"{moment}.db"
        shutil.copy(copy, torn)
        shutil.copy(f"{copy}.key", f"{torn}.key")
        kept = getattr(beside.Beside, dies)

        def ended(files: beside.Beside, *told: object, kept: Callable[..., None] = kept, moment: str = moment) -> None:
            if moment == "after":
                kept(files, *told)
            raise KeyboardInterrupt

        with monkeypatch.context() as patch:
            patch.setattr(beside.Beside, dies, ended)
            with pytest.raises(KeyboardInterrupt):
                keeping.adopt(f"sqlite:///{torn}")
        with Ledger(f"sqlite:///{torn}") as restored, contextlib.suppress(LedgerCorrupt):
            assert answer(restored, ASK)[0].entry.number != 1  # paid anew
        keeping.adopt(f"sqlite:///{torn}")
        with Ledger(f"sqlite:///{torn}") as restored:
            assert answer(restored, ASK)[0].entry.number != 1
            restored.verify()


@pytest.mark.parametrize("events", [1, 2, 3, 4])
def test_a_torn_record_leaves_the_one_before_it(file: str, tmp_path: Path, events: int) -> None:
    """However many events a transaction has: the bound falls back by one transaction, and no further."""
    with Ledger(file, Budget(epsilon=1)) as ledger:
        ask(ledger, "first")
        for _ in range(5):
            before = ledger.count
            Desk(People(), ledger, Random(), "add_remove").answer(
                tuple(Ask(Sevens(f"{before} {place}"), eps("0.01")) for place in range(events))
            )
        files, last = beside.beside(str(tmp_path / "ledger.db"), fresh=False, in_use={tmp_path / "ledger.db"}), ledger.count
        assert files.noted(1).last == (last, ledger.head)
        head = tmp_path / "ledger.db.head"
        content = bytearray(head.read_bytes())
        content[content.index(f"1 {last} ".encode()) + 20] ^= 1
        head.write_bytes(content)
        assert files.noted(1).last[0] == last - events
