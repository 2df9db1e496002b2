"""Every file that a vault, a source and DuckDB leave is read by a hostile reviewer, also after SIGKILL."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import duckdb
import pytest
from study import protect_kills

from discreet.protect import FileKeys, Pseudonymizer, Vault
from discreet.sources.spill import spill_folder, sweep

FACTS: dict[str, Any] = {"purpose": "care", "categories": ["health"], "retention": "10 years"}


def open_vault(folder: Path, **options: Any) -> Vault:
    path = folder / "keys.json"
    people = Pseudonymizer(["name"], FileKeys(path) if path.exists() else FileKeys.create(path))
    return Vault(f"sqlite:///{folder}/vault.db", people, **options)


def holding(folder: Path, *words: bytes) -> list[str]:
    """The files under a folder that hold one of the words."""
    files = [path for path in folder.rglob("*") if path.is_file()]
    return sorted(path.name for path in files if any(word in path.read_bytes() for word in words))


def test_erased_rows_leave_the_write_ahead_log(tmp_path: Path) -> None:
    """With a reader in the way the receipt says so; the next opening without one empties the log and writes that down."""
    with open_vault(tmp_path, timeout=0.2) as vault:
        with vault._database.transaction(write=True) as connection:
            connection.exec_driver_sql("CREATE TABLE wards (name TEXT, secret TEXT)")
            rows = ", ".join(f"('person{i}', 'SECRETVALUE{i:04d}')" for i in range(300))
            connection.exec_driver_sql(f"INSERT INTO wards VALUES {rows}")
        vault.register("wards", database="wards", **FACTS)
        assert "is empty" in vault.erase("person6").document["database"]
        assert holding(tmp_path, b"SECRETVALUE0006") == []
        reader = sqlite3.connect(tmp_path / "vault.db")
        reader.execute("BEGIN")
        reader.execute("SELECT * FROM wards").fetchone()
        receipt = vault.erase("person7")
        assert "another program has it open" in receipt.document["database"]
        assert receipt.document["sealed_key_destroyed"] is False
        assert holding(tmp_path, b"SECRETVALUE0007") != []
    with open_vault(tmp_path, timeout=0.2) as vault:  # the reader is still there: opening does not wait for it
        assert [row for row in vault.log() if row["kind"] == "emptied"] == []
    reader.close()
    with open_vault(tmp_path) as vault:
        [row] = [row for row in vault.log() if row["kind"] == "emptied"]
        assert row["receipts"] == [vault._log.rows(("receipt",))[-1].number]
        assert holding(tmp_path, b"SECRETVALUE0007") == []
        assert holding(tmp_path, b"SECRETVALUE0008") == ["vault.db"]
        vault.verify()
    with open_vault(tmp_path) as vault:
        assert len([row for row in vault.log() if row["kind"] == "emptied"]) == 1


SPILL = """
import sys, time
from discreet.core.schema import Schema
from discreet.sources.spill import spill_folder
with spill_folder() as folder:
    open(folder + "/rows", "w").write("Anna Svensson")
    print(folder, flush=True)
    time.sleep(60)
"""


def test_spilled_rows_of_a_killed_process_are_removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr(tempfile, "tempdir", None)
    child = subprocess.Popen([sys.executable, "-c", SPILL], stdout=subprocess.PIPE, text=True)
    assert child.stdout is not None
    folder = Path(child.stdout.readline().strip())
    assert folder.stat().st_mode & 0o777 == 0o700
    assert sweep() == []  # it lives, and so does what it spilled
    assert (folder / "rows").exists()
    child.send_signal(signal.SIGKILL)
    child.wait()
    child.stdout.close()
    assert holding(tmp_path, b"Anna") == ["rows"]
    with spill_folder() as mine:
        assert not folder.exists()
        assert Path(mine).exists()
    assert holding(tmp_path, b"Anna") == []
    assert list(tmp_path.iterdir()) == []


def test_duckdb_spills_nothing_of_a_protected_table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from discreet.protect.table_files import FileTable

    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr(tempfile, "tempdir", None)
    monkeypatch.chdir(tmp_path)
    given: list[dict[str, Any]] = []
    connect = duckdb.connect
    monkeypatch.setattr(duckdb, "connect", lambda config: (given.append(config), connect(config=config))[1])
    path = tmp_path / "a.csv"
    path.write_text("name,x\n" + "".join(f"person {i},{i}\n" for i in range(60_000)))
    FileTable([path], memory="7MB").counted(["name"])
    assert sum(batch.num_rows for batch in FileTable([path], memory="20MB").batches()) == 60_000
    assert [p.name for p in tmp_path.iterdir()] == ["a.csv"]
    assert {config["temp_directory"] for config in given} == {""}  # nowhere, also for a process that is killed


def test_a_reviewer_finds_nothing_after_a_kill(tmp_path: Path) -> None:
    """A few of the kills and full disks of the study, each followed by a reading of every file there is."""
    for what in ("kill", "disk"):
        found = protect_kills.run({"what": what}, 0, 4 if what == "kill" else 3, tmp_path)
        assert found["broken"] == 0, found
        assert found["found"] == 0, found
        assert found["blind"] == 0, found
        assert found["stopped"] >= 2


@pytest.mark.parametrize("given", ["v.csv", "v*.csv", "link.csv"])
def test_what_was_being_written_is_removed_even_if_the_file_is_gone(given: str, tmp_path: Path) -> None:
    """The old content under its second name, of a process that was killed, when the file was moved away since; but not what
    another process is writing now."""
    import fcntl

    data = tmp_path / "data"
    data.mkdir()
    (data / "v.csv").write_text("name,x\nAnn,1\n")
    (tmp_path / "link.csv").symlink_to(data / "v.csv")
    with open_vault(tmp_path) as vault:
        vault.register("v", tmp_path / given if given == "link.csv" else data / given, **FACTS)
    (data / "v.csv").rename(data / "moved.csv")
    (data / ".v.csv.abcd.old.part").write_text("name,x\nAnn,1\n")
    live = data / ".v.csv.efgh.part"
    live.write_text("x")
    with live.open("rb") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        open_vault(tmp_path).close()
        assert sorted(p.name for p in data.iterdir()) == [".v.csv.efgh.part", "moved.csv"]
    open_vault(tmp_path).close()
    assert [p.name for p in data.iterdir()] == ["moved.csv"]


def test_the_folder_of_a_vault_holds_only_what_it_should(tmp_path: Path) -> None:
    (tmp_path / "v.csv").write_text("name,x\nAnnika Lindqvist,1\nBob,2\n")
    before = time.time()
    with open_vault(tmp_path) as vault:
        vault.register("v", tmp_path / "v.csv", **FACTS)
        vault.seal("Annika Lindqvist", b"scan")
        vault.access("Annika Lindqvist")
        vault.erase("Annika Lindqvist")
    assert time.time() >= before
    assert sorted(os.listdir(tmp_path)) == ["keys.json", "v.csv", "vault.db", "vault.db.head"]
    assert holding(tmp_path, b"nnika", b"indqvist") == []


def test_settling_is_not_taken_for_another_program(tmp_path: Path) -> None:
    """While the thread that settles the database, here or in another process, is at it, SQLite says busy at once: the
    receipt must not say that a key may be left where nobody else has the file open."""
    import threading

    (tmp_path / "v.csv").write_text("name,x\n" + "".join(f"P{i},1\n" for i in range(12)))
    stop = threading.Event()

    def settling() -> None:
        connection = sqlite3.connect(tmp_path / "vault.db", timeout=0.0, isolation_level=None)
        while not stop.is_set():
            connection.execute("PRAGMA wal_checkpoint(PASSIVE)")
        connection.close()

    with open_vault(tmp_path) as vault:
        vault.register("v", tmp_path / "v.csv", **FACTS)
        for i in range(12):
            vault.seal(f"P{i}", b"scan")
        thread = threading.Thread(target=settling)
        thread.start()
        try:
            receipts = [vault.erase(f"P{i}") for i in range(12)]
        finally:
            stop.set()
            thread.join()
    assert all(receipt.document["sealed_key_destroyed"] for receipt in receipts)
