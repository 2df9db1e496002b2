"""Requests of people: access, erasure with a receipt, refusal, and no way to leave one half-done."""

from __future__ import annotations

import itertools
import json
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import psycopg
import pyarrow as pa
import pyarrow.parquet
import pytest

from discreet import Budget, Laplace, Ledger
from discreet.errors import InvalidRequest, LedgerCorrupt, UnknownName, UnsupportedFormat
from discreet.ledger.events import canonical, digest
from discreet.protect import Field, FileKeys, Pseudonymizer, Receipt, Vault

from .kill import Killer, open_vault

FACTS: dict[str, Any] = {"purpose": "care", "categories": ["health"], "retention": "10 years"}
KILLS = 8  # the study does more than 200
_fresh = itertools.count()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Three files and a key file; everyone has rows in each."""
    fill(tmp_path, [f"p{i}" for i in range(20)])
    return tmp_path


def fill(folder: Path, people: list[str]) -> None:
    FileKeys.create(folder / "keys.json")
    ids = people * 3
    (folder / "visits.csv").write_text("id,day\n" + "".join(f"{p},{n}\n" for n, p in enumerate(ids)))
    labs = pa.table(
        {"id": ids, "value": pa.array(np.arange(len(ids)) / 7, pa.float32()), "kind": pa.array(ids).dictionary_encode()}
    )
    pyarrow.parquet.write_table(labs, folder / "labs.parquet")
    names = Pseudonymizer(["id"], FileKeys(folder / "keys.json"))
    pyarrow.parquet.write_table(names.table(labs, "lab", "study"), folder / "study.parquet")
    with open_vault(folder) as vault:
        vault.register("visits", folder / "visits.csv", recipients=["insurer"], **FACTS)
        vault.register("labs", folder / "labs.parquet", **FACTS)
        vault.register("study", folder / "study.parquet", token=("token", "lab", "study"), recipients=["lab"], **FACTS)


def counts(folder: Path, person: str) -> list[int]:
    """How many rows of a person each file holds, read without the code under test."""
    people = Pseudonymizer(["id"], FileKeys(folder / "keys.json"))
    visits = sum(line.split(",")[0] == person for line in (folder / "visits.csv").read_text().splitlines())
    labs = pyarrow.parquet.read_table(folder / "labs.parquet")["id"].to_pylist().count(person)
    token = people.tokens([person], "lab", "study")[0]
    study = pyarrow.parquet.read_table(folder / "study.parquet")["token"].to_pylist().count(token)
    return [visits, labs, study]


def test_access_gathers_everything(folder: Path) -> None:
    with open_vault(folder) as vault:
        vault.use("labs", "quality control", recipient="auditor")
        vault.use("visits", "billing")
        found = vault.access("P3 ")
        assert {name: table.num_rows for name, table in found.rows.items()} == {"visits": 3, "labs": 3, "study": 3}
        assert set(found.rows["visits"]["id"].to_pylist()) == {"p3"}
        assert [(use["table"], use["recipient"]) for use in found.uses] == [("labs", "auditor"), ("visits", None)]
        assert {fact["name"] for fact in found.facts} == {"visits", "labs", "study"}
        assert found.requests == []
        assert [row["kind"] for row in vault.access("p3").requests] == ["access"]
        json.dumps(found.to_dict())
        with pytest.raises(UnknownName, match="no registered table holds this identity") as problem:
            vault.access("nobody at all")
        assert "nobody" not in str(problem.value)
        assert "p3" not in json.dumps([row for row in vault.log() if row["kind"] == "access"])


def test_erase_leaves_a_signed_receipt(folder: Path) -> None:
    schema = pyarrow.parquet.read_schema(folder / "labs.parquet")
    with open_vault(folder) as vault:
        vault.use("labs", "trial", recipient="university")
        receipt = vault.erase("p3")
        assert receipt.tables == {"visits": 3, "labs": 3, "study": 3}
        assert receipt.recipients == ["insurer", "lab", "university"]
        assert receipt.document["budget_refunded"] == "none"
        receipt.verify(vault.public_key)
        again = Receipt.from_json(receipt.to_json())
        assert again == receipt
        forged = Receipt(receipt.document | {"tables": {"visits": 0}}, receipt.signature, receipt.public_key)
        with pytest.raises(InvalidRequest, match="signature"):
            forged.verify(vault.public_key)
        with pytest.raises(InvalidRequest, match="signature"):
            receipt.verify("00" * 32)
        assert vault.erase("p3") == receipt
        with pytest.raises(UnknownName):
            vault.erase("p99")
        assert vault.verify() == len(vault.log())
    assert counts(folder, "p3") == [0, 0, 0]
    assert all(counts(folder, f"p{i}") == [3, 3, 3] for i in range(20) if i != 3)
    assert pyarrow.parquet.read_schema(folder / "labs.parquet") == schema
    with pytest.raises(UnsupportedFormat, match="not a receipt"):
        Receipt.from_json('{"kind": "receipt", "schema": 1}')


def test_receipt_lists_what_was_released_and_refunds_nothing(folder: Path) -> None:
    url = f"sqlite:///{folder}/vault.db"
    with Ledger(url, Budget(epsilon=1), name="patients") as ledger, open_vault(folder) as vault:
        ledger.charge(Laplace(scale=10), 1, "how many")
        vault.unregister("visits", "to be registered with its ledger")
        vault.register("visits", folder / "visits.csv", ledger="patients", **FACTS)
        before = ledger.spent()
        assert vault.erase("p1").releases == [{"ledger": "patients", "questions": 1, "stored": []}]
        assert ledger.spent() == before
        assert ledger.verify() == 1


def test_refusal_is_recorded(folder: Path) -> None:
    with open_vault(folder) as vault:
        with pytest.raises(InvalidRequest, match="ground must be one of legal obligation"):
            vault.refuse("p1", "too much work")
        with pytest.raises(UnknownName):
            vault.refuse("p99", "legal claims")
        recorded = vault.refuse("p1", "legal obligation", "tax law, 10 years")
        assert (recorded["kind"], recorded["ground"]) == ("refuse", "legal obligation")
        assert counts(folder, "p1") == [3, 3, 3]
        assert [row["kind"] for row in vault.access("p1").requests] == ["refuse"]


def test_record_of_processing(folder: Path) -> None:
    with open_vault(folder) as vault:
        vault.processing("treatment", people="patients", recipients=["insurer"], **FACTS)
        vault.processing("treatment", people="patients and staff", **FACTS)
        vault.erase("p1")
        written = json.loads(vault.export(folder / "record.json").read_text())
        assert written == vault.record()
        assert [activity["people"] for activity in written["activities"]] == ["patients and staff"]
        assert {table["name"]: table["recipients"] for table in written["tables"]}["study"] == ["lab"]
        assert {kind: count for kind, count in written["requests"].items() if count} == {"erase": 1, "receipt": 1}
        with pytest.raises(InvalidRequest, match="new file"):
            vault.export(folder / "record.json")


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"name": "visits"}, "registered once, got 'visits' again"),
        ({"name": "vіsits"}, "mix Cyrillic and Latin"),
        ({"name": "Visits"}, "looks like 'visits'"),
        ({}, "must be registered once, and"),
        ({"table": None}, "both or neither"),
        ({"table": "none.csv"}, "exists"),
        ({"table": None, "database": "nowhere"}, "no table 'nowhere'"),
        ({"columns": {"id": "day"}, "purpose": ""}, "purpose must be said"),
        ({"categories": "health"}, "categories must be a list"),
        ({"table": "other.csv", "columns": {"id": "nope"}}, "no column 'nope'"),
        ({"table": "other.csv", "columns": {"ID": "id"}}, "no field is called 'ID'"),
    ],
)
def test_bad_registrations(folder: Path, change: dict[str, Any], says: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    Path("other.csv").write_text("id,x\na,1\n")
    with open_vault(folder) as vault:
        before = vault.log()
        request = {"name": "again", "table": "visits.csv", **FACTS} | change
        with pytest.raises((InvalidRequest, UnknownName), match=says):
            vault.register(**request)
        assert vault.log() == before


def test_rows_without_identity_belong_to_nobody(folder: Path) -> None:
    with (folder / "visits.csv").open("a") as out:
        out.write(",99\n p1 ,100\n")
    with open_vault(folder) as vault:
        found = vault.access("p1")
        assert found.unreadable == {"visits": 1}
        assert found.rows["visits"].num_rows == 4
        assert vault.erase("p1").tables["visits"] == 4
    assert (folder / "visits.csv").read_text().splitlines()[-1] == ",99"


def test_sealed_copies_are_shredded(folder: Path) -> None:
    with open_vault(folder) as vault:
        sealed = vault.seal("p1", b"an old scan")
        other = vault.seal("p2", b"another")
        assert vault.unseal("p1", sealed) == b"an old scan"
        with pytest.raises(InvalidRequest, match="this person's"):
            vault.unseal("p2", sealed)
        assert vault.erase("p1").document["sealed_key_destroyed"] is True
        with pytest.raises(UnknownName, match="no key"):
            vault.unseal("p1", sealed)
        assert vault.unseal("p2", other) == b"another"
        vault.seal("nowhere else", b"x")
        assert vault.erase("nowhere else").document["sealed_key_destroyed"] is True


def test_altered_log_shows(folder: Path) -> None:
    with open_vault(folder) as vault:
        vault.erase("p1")
        vault.verify()
    for change in (
        "UPDATE discreet_vault_log SET who = 'someone' WHERE number = 2",
        "DELETE FROM discreet_vault_log WHERE number = 5",
        "UPDATE discreet_vault_log SET document = replace(document, 'care', 'fun') WHERE number = 1",
        "UPDATE discreet_vaults SET number = 4",
        "forge",
    ):
        with closing(sqlite3.connect(folder / "vault.db")) as raw, raw:
            raw.execute("BEGIN")
            saved = list(raw.iterdump())
            raw.execute(change) if change != "forge" else forge(raw)
        with open_vault(folder) as vault, pytest.raises(LedgerCorrupt):
            vault.verify()
        with closing(sqlite3.connect(folder / "vault.db")) as raw, raw:
            for table in ("discreet_vault_keys", "discreet_vault_log", "discreet_vaults"):
                raw.execute(f"DROP TABLE {table}")
            raw.executescript("\n".join(saved))
    with open_vault(folder) as vault:
        vault.verify()


def forge(raw: sqlite3.Connection) -> None:
    """Alter a row and give it the hash that fits: the next row still holds the old one."""
    names = ["number", "time", "who", "kind", "subject", "document", "previous"]
    row = dict(
        zip(
            names, raw.execute(f"SELECT {', '.join(names)} FROM discreet_vault_log WHERE number = 2").fetchone(), strict=True
        )
    )
    row["who"] = "someone"
    raw.execute("UPDATE discreet_vault_log SET who = 'someone', hash = ? WHERE number = 2", [digest(canonical(row))])


@pytest.fixture(params=["sqlite", "postgres"])
def database(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    if request.param == "sqlite":
        yield f"sqlite:///{tmp_path}/vault.db"
        return
    server: str = request.getfixturevalue("server")
    name = f"vault{next(_fresh)}"
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute(f"CREATE SCHEMA {name}")
    yield f"{server}&options=-csearch_path%3D{name}"


def test_tables_in_the_database(database: str, tmp_path: Path) -> None:
    people = Pseudonymizer([Field("name"), Field("born", date="%d.%m.%Y")], FileKeys.create(tmp_path / "keys.json"))
    with Vault(database, people) as vault:
        with vault._database.transaction(write=True) as connection:
            connection.exec_driver_sql("CREATE TABLE wards (patient TEXT, born TEXT, ward TEXT)")
            connection.exec_driver_sql(
                "INSERT INTO wards VALUES ('Anna', '01.02.1990', 'A'), ('ANNA ', '1.2.1990', 'B'), "
                "('Anna', '02.02.1990', 'C'), (NULL, '01.02.1990', 'D')"
            )
        vault.register("wards", database="wards", columns={"name": "patient"}, **FACTS)
        found = vault.access(("anna", "01.02.1990"))
        assert sorted(found.rows["wards"]["ward"].to_pylist()) == ["A", "B"]
        assert found.unreadable == {"wards": 1}
        assert vault.erase({"name": "anna", "born": "01.02.1990"}).tables == {"wards": 2}
        with vault._database.transaction(write=False) as connection:
            left = connection.exec_driver_sql("SELECT ward FROM wards").scalars().all()
        assert sorted(left) == ["C", "D"]
        assert vault.verify() == len(vault.log()) == 4


def test_two_erasures_at_once_do_not_undo_one_another(folder: Path) -> None:
    def erase(person: str) -> None:
        with open_vault(folder) as vault:
            vault.erase(person)

    threads = [threading.Thread(target=erase, args=(f"p{i}",)) for i in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [counts(folder, f"p{i}") for i in range(7)] == [[0, 0, 0]] * 6 + [[3, 3, 3]]
    with open_vault(folder) as vault:
        assert len(vault.receipts()) == 6


def test_an_erasure_finished_twice_has_one_receipt(folder: Path) -> None:
    with open_vault(folder) as vault:
        receipt = vault.erase("p1")
        intent = next(row for row in vault._log.rows(("erase",)))
        assert vault._erasures.finish(intent) == receipt
        assert vault.receipts() == [receipt]


def kill_and_restart(killer: Killer, folder: Path, person: str, at: int) -> str:
    """Erase, die at a step, open again: what became of the person. Asserts that nothing is half-done."""
    ended = killer.erase(folder, person, at)
    with open_vault(folder) as vault:
        receipts = [r for r in vault.receipts() if r.subject == vault._subject(vault._pseudonyms.digest(person))]
        vault.verify()
        assert vault.resume() == []
    assert counts(folder, person) == ([0, 0, 0] if receipts else [3, 3, 3])
    assert not list(folder.glob(".*.part"))
    assert all(receipt.tables == {"visits": 3, "labs": 3, "study": 3} for receipt in receipts)
    assert len(receipts) <= 1
    return "finished" if ended == "finished" else "gone" if receipts else "there"


def test_killed_at_any_step(folder: Path) -> None:
    """Steps spread over all of an erasure, which has 73; the study goes through every one."""
    with Killer() as killer:
        steps = np.linspace(1, 73, KILLS).astype(int)
        ends = [kill_and_restart(killer, folder, f"p{i}", int(at)) for i, at in enumerate(steps)]
    assert {"there", "gone"} <= set(ends)
    assert all(counts(folder, f"p{i}") == [3, 3, 3] for i in range(KILLS, 20))


def test_keys_are_needed_before_anything_is_touched(tmp_path: Path) -> None:
    people = Pseudonymizer(["id"], tmp_path / "none.json")
    with pytest.raises(InvalidRequest, match="key file must be there"):
        Vault(f"sqlite:///{tmp_path}/vault.db", people)
    assert list(tmp_path.iterdir()) == []
