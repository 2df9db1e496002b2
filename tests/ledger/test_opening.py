"""Making a ledger, opening it again, and what is said where it cannot be reached."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import psycopg
import pytest
from sqlalchemy.exc import DBAPIError

from discreet.core.budget import Budget
from discreet.errors import InvalidRequest, LedgerCorrupt, LedgerUnavailable, RelationMismatch, UnsupportedFormat
from discreet.ledger import Ledger

from .laws import Plain

Make = Callable[..., Ledger]


def test_a_ledger_is_opened_again_as_it_was_made(make: Make) -> None:
    first = make(Budget(epsilon=1, delta="1e-6", composition="renyi"), neighbors="replace")
    first.charge(Plain(2))
    first.close()
    again = make()
    assert (again.budget, again.relation, again.test) == (first.budget, "replace", False)
    assert again.filter == first.filter
    assert again.charge(Plain(4)).number == 2
    same = make(Budget(epsilon="1.0", delta="0.000001", composition="renyi"), neighbors="replace")
    assert same.verify() == 2


def test_another_budget_or_relation_is_refused(make: Make) -> None:
    make(Budget(epsilon=1))
    with pytest.raises(InvalidRequest, match=r"has ε=1 .*got ε=2 .*open it without a budget"):
        make(Budget(epsilon=2))
    with pytest.raises(RelationMismatch, match="'add_remove', got 'replace'"):
        make(neighbors="replace")
    assert make(neighbors="both").relation == "add_remove", "questions under both fit either"


def test_a_new_ledger_needs_a_budget(make: Make, url: str, tmp_path: Path) -> None:
    with pytest.raises(InvalidRequest, match="needs a budget, and there is none called 'default'"):
        make()
    assert not list(tmp_path.iterdir())
    make(Budget(epsilon=1))
    with pytest.raises(InvalidRequest, match="none called 'other'"):
        make(name="other")


@pytest.mark.parametrize(
    "address", ["ledger.db", "mysql://host/x", "sqlite:///a.db?nolock=1", "sqlite:///file:a.db?uri=true", ""]
)
def test_an_address_we_cannot_lock_is_refused(address: str) -> None:
    with pytest.raises(InvalidRequest, match=r"plain path|must be 'sqlite:///file.db'"):
        Ledger(address, Budget(epsilon=1))


@pytest.mark.parametrize("wrong", [{"budget": 1.0}, {"name": ""}, {"who": "a\0"}, {"timeout": -1}, {"neighbors": "x"}])
def test_bad_options_are_refused(file: str, wrong: dict[str, object]) -> None:
    with pytest.raises(InvalidRequest):
        Ledger(file, **({"budget": Budget(epsilon=1)} | wrong))


@pytest.mark.parametrize("budget", [None, Budget(epsilon=1)])
def test_a_missing_folder_is_told(tmp_path: Path, budget: Budget | None) -> None:
    with pytest.raises(LedgerUnavailable, match="unable to open database file; check the path") as caught:
        Ledger(f"sqlite:///{tmp_path}/none/ledger.db", budget)
    assert isinstance(caught.value.__cause__, DBAPIError)


def test_an_unreachable_server_is_told_without_its_password(tmp_path: Path) -> None:
    with pytest.raises(LedgerUnavailable, match="check the path or the server") as caught:
        Ledger(f"postgresql://ada:secret@/x?host={tmp_path}", Budget(epsilon=1))
    assert "secret" not in str(caught.value)


def test_a_file_that_is_no_database_is_told(tmp_path: Path) -> None:
    (tmp_path / "x.db").write_bytes(b"no database" * 1000)
    with pytest.raises(LedgerUnavailable, match="file is not a database"):
        Ledger(f"sqlite:///{tmp_path}/x.db", Budget(epsilon=1))


def test_a_locked_file_is_told_and_nothing_is_charged(file: str) -> None:
    with Ledger(file, Budget(epsilon=1), timeout=0.05) as ledger:
        holder = sqlite3.connect(file.removeprefix("sqlite:///"), isolation_level=None)
        holder.execute("BEGIN IMMEDIATE")
        start = time.monotonic()
        with pytest.raises(LedgerUnavailable, match=r"free within 0.05 s.*database is locked.*wait for the other"):
            ledger.charge(Plain(10))
        assert time.monotonic() - start < 2
        assert ledger.spent().epsilon == 0  # reading goes on
        holder.execute("ROLLBACK")
        holder.close()
        assert ledger.charge(Plain(10)).number == ledger.verify() == 1


def test_a_locked_row_is_told_and_nothing_is_charged(server: str) -> None:
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute("CREATE DATABASE locked")
    address = server.replace("/postgres?", "/locked?")
    with Ledger(address, Budget(epsilon=1), timeout=0.05) as ledger:
        with psycopg.connect(address) as holder:
            holder.execute("SELECT * FROM discreet_ledgers FOR UPDATE")
            with pytest.raises(LedgerUnavailable, match="lock timeout"):
                ledger.charge(Plain(10))
        assert ledger.charge(Plain(10)).number == ledger.verify() == 1
        with psycopg.connect(server, autocommit=True) as connection:
            connection.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = 'locked'")
        with pytest.raises(LedgerUnavailable):
            ledger.charge(Plain(10))
        assert ledger.charge(Plain(10)).number == ledger.verify() == 2


def test_a_charge_is_on_the_disk_when_it_returns(file: str) -> None:
    with Ledger(file, Budget(epsilon=1)) as ledger, ledger._database.transaction(write=False) as connection:
        assert connection.exec_driver_sql("PRAGMA journal_mode").scalar() == "wal"
        assert connection.exec_driver_sql("PRAGMA synchronous").scalar() == 2


def test_a_server_that_does_not_wait_for_the_disk_is_made_to(server: str) -> None:
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute("CREATE DATABASE lazy")
        connection.execute("ALTER DATABASE lazy SET synchronous_commit = off")
        connection.execute("ALTER DATABASE lazy SET default_transaction_isolation = 'serializable'")
    address = server.replace("/postgres?", "/lazy?")
    with Ledger(address, Budget(epsilon=1)) as ledger, ledger._database.transaction(write=True) as inside:
        assert inside.exec_driver_sql("SHOW synchronous_commit").scalar() == "on"
        assert inside.exec_driver_sql("SHOW transaction_isolation").scalar() == "read committed"


def test_a_newer_schema_is_refused(file: str) -> None:
    Ledger(file, Budget(epsilon=1)).close()
    with closing(sqlite3.connect(file.removeprefix("sqlite:///"))) as raw, raw:
        raw.execute("UPDATE discreet_ledgers SET schema = 99")
    raw.close()
    with pytest.raises(UnsupportedFormat, match=r"schema version 99.*upgrade discreet"):
        Ledger(file)


def test_a_row_set_back_stops_the_next_charge(file: str) -> None:
    with Ledger(file, Budget(epsilon=1)) as ledger:
        ledger.charge(Plain(10))
        with closing(sqlite3.connect(file.removeprefix("sqlite:///"))) as raw, raw:
            raw.execute("UPDATE discreet_ledgers SET number = 0")
        raw.close()
        with pytest.raises(LedgerCorrupt, match="set back"):
            ledger.charge(Plain(10))


def test_what_a_server_says_comes_in_one_line() -> None:
    with pytest.raises(LedgerUnavailable, match="Nothing was charged") as refused:
        Ledger("postgresql://nobody@127.0.0.1:1/x", Budget(epsilon=1), timeout=1)
    assert "\n" not in str(refused.value)


def test_a_decision_names_entries() -> None:
    ledger = Ledger("sqlite://", Budget(epsilon=1))
    for numbers, got in (((), "none"), (("1",), "'1'"), ((True,), "True"), ((1, None), "1, None")):
        with pytest.raises(InvalidRequest, match=f"redeem takes the numbers of entries, got {got}; ledger.unanswered"):
            ledger.redeem(*numbers)


def test_a_second_ledger_makes_no_new_key_where_that_of_the_first_is_lost(tmp_path: Path) -> None:
    """Whatever is left of a key file stays as it is: a backup may bring the key back."""
    url, key = f"sqlite:///{tmp_path}/l.db", tmp_path / "l.db.key"
    Ledger(url, Budget(epsilon=1), name="a").close()
    whole = key.read_bytes()
    for left in (whole[:7], b"", bytes(len(whole)), None):
        key.write_bytes(left) if left is not None else key.unlink()
        with pytest.raises(LedgerCorrupt, match="restore it from a backup"):
            Ledger(url, Budget(epsilon=1), name="b")
        assert (key.read_bytes() if key.exists() else None) == left
    key.write_bytes(whole)
    Ledger(url, Budget(epsilon=1), name="b").close()
    assert key.read_bytes() == whole
