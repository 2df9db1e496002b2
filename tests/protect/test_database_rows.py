"""A registered table of the vault's own database: no cell, constraint or trigger of it stands in anybody else's way."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import psycopg
import pytest

from discreet.errors import InvalidRequest
from discreet.protect import Field, FileKeys, Pseudonymizer, Vault

FACTS: dict[str, Any] = {"purpose": "care", "categories": ["health"], "retention": "10 years"}


def opened(folder: Path, *statements: str, field: Field | str = "name") -> Vault:
    path = folder / "keys.json"
    people = Pseudonymizer([field], FileKeys(path) if path.exists() else FileKeys.create(path))
    vault = Vault(f"sqlite:///{folder}/vault.db", people)
    with vault._database.transaction(write=True) as connection:
        for statement in statements:
            connection.exec_driver_sql(statement)
    return vault


WARDS = (
    "CREATE TABLE wards (id INTEGER PRIMARY KEY, name TEXT)",
    "INSERT INTO wards VALUES (1, 'Ann'), (2, 'Bob'), (3, 'Cy')",
)
IN_THE_WAY = {
    "reference": ("CREATE TABLE stays (ward INTEGER REFERENCES wards(id))", "INSERT INTO stays VALUES (1)"),
    "reference at the end": (
        "CREATE TABLE stays (ward INTEGER REFERENCES wards(id) DEFERRABLE INITIALLY DEFERRED)",
        "INSERT INTO stays VALUES (1)",
    ),
    "trigger": (
        "CREATE TRIGGER keep BEFORE DELETE ON wards WHEN old.name = 'Ann' BEGIN SELECT RAISE(ABORT, 'Ann stays'); END",
    ),
    "silent trigger": ("CREATE TRIGGER keep BEFORE DELETE ON wards WHEN old.name = 'Ann' BEGIN SELECT RAISE(IGNORE); END",),
}


@pytest.mark.parametrize("what", IN_THE_WAY)
def test_rows_that_the_database_keeps_are_not_said_to_be_gone(what: str, tmp_path: Path) -> None:
    """The receipt says that they are there and why, quotes nothing, calls nothing damaged, and others are served. It is not
    begun again at every opening."""
    other = tmp_path / "other.csv"
    other.write_text("name,x\nAnn,1\nBob,2\n")
    with opened(tmp_path, *WARDS, *IN_THE_WAY[what]) as vault:
        vault.register("wards", database="wards", **FACTS)
        vault.register("other", other, **FACTS)
        receipt = vault.erase("Ann")
        assert receipt.tables == {"wards": 0, "other": 1}
        assert receipt.document["not_reached"] == {"wards": 1}
        [missed] = receipt.missed["wards"]
        assert "cannot be deleted" in missed["reason"]
        assert "Ann" not in missed["reason"]
        assert not receipt.complete
        assert vault.access("Ann").rows["wards"].num_rows == 1
        assert vault.erase("Bob").tables == {"wards": 1, "other": 1}
        rows = len(vault.log())
    with opened(tmp_path) as vault:
        assert len(vault.log()) == rows


KEEPING = "CREATE FUNCTION keep() RETURNS trigger AS $$ BEGIN {} END $$ LANGUAGE plpgsql"
KEPT = "CREATE TRIGGER keep BEFORE DELETE ON wards FOR EACH ROW WHEN (old.name = 'Ann') EXECUTE FUNCTION keep()"
ON_A_SERVER = {
    "reference": IN_THE_WAY["reference"],
    "reference at the end": IN_THE_WAY["reference at the end"],
    "trigger": (KEEPING.format("RAISE EXCEPTION 'Ann stays';"), KEPT),
    "silent trigger": (KEEPING.format("RETURN NULL;"), KEPT),
    "rule": ("CREATE RULE keep AS ON DELETE TO wards WHERE old.name = 'Ann' DO INSTEAD NOTHING",),
}


@pytest.mark.parametrize("what", ON_A_SERVER)
def test_rows_that_a_server_keeps_are_not_said_to_be_gone(what: str, server: str, keys: FileKeys, tmp_path: Path) -> None:
    schema = f"keeps{list(ON_A_SERVER).index(what)}"
    with psycopg.connect(server, autocommit=True) as plain:
        plain.execute(f"CREATE SCHEMA {schema}")
    with Vault(f"{server}&options=-csearch_path%3D{schema}", Pseudonymizer(["name"], keys)) as vault:
        with vault._database.transaction(write=True) as connection:
            for statement in (*WARDS, *ON_A_SERVER[what]):
                connection.exec_driver_sql(statement)
        vault.register("wards", database="wards", **FACTS)
        receipt = vault.erase("Ann")
        assert receipt.tables == {"wards": 0}
        [missed] = receipt.missed["wards"]
        assert "cannot be deleted" in missed["reason"]
        assert "Ann" not in missed["reason"]
        assert vault.erase("Bob").tables == {"wards": 1}
        assert vault.unfinished == []


def test_a_view_is_no_table(tmp_path: Path) -> None:
    """Nothing can be taken out of it, so every erasure would stay begun; one that took a table's place stands in no way."""
    with opened(tmp_path, *WARDS, "CREATE VIEW shown AS SELECT name FROM wards") as vault:
        with pytest.raises(InvalidRequest, match="is a view"):
            vault.register("shown", database="shown", **FACTS)
        vault.register("wards", database="wards", **FACTS)
        with vault._database.transaction(write=True) as connection:
            connection.exec_driver_sql("CREATE TABLE more AS SELECT * FROM wards")
            connection.exec_driver_sql("DROP VIEW shown")
            connection.exec_driver_sql("DROP TABLE wards")
            connection.exec_driver_sql("CREATE VIEW wards AS SELECT name FROM more")
        vault.register("more", database="more", **FACTS)
        receipt = vault.erase("Ann")
        assert receipt.tables["more"] == 1
        assert "is a view" in receipt.missed["wards"][0]["reason"]


TYPES = ("TEXT", "DATE", "DATETIME", "TIME", "DECIMAL(5,2)", "INTEGER", "REAL", "BOOLEAN", "JSON", "BLOB", "WORD", "")
CELLS = ("'1.2.1990'", "'1990-02-01'", "'{'", "7", "7.5", "x'ff00'", "NULL", "''")


def test_no_cell_of_another_kind_than_its_column_stops_a_request(tmp_path: Path) -> None:
    """In SQLite a declared type binds no cell. Every kind of cell under every type, in columns that are copied: no error,
    and everybody is found and goes."""
    columns = ", ".join(f"c{i} {kind}" for i, kind in enumerate(TYPES))
    rows = ", ".join(f"('p{j}', {', '.join([cell] * len(TYPES))})" for j, cell in enumerate(CELLS))
    with opened(tmp_path, f"CREATE TABLE odd (name TEXT, {columns})", f"INSERT INTO odd VALUES {rows}") as vault:
        vault.register("odd", database="odd", **FACTS)
        for j in range(len(CELLS)):
            assert vault.access(f"p{j}").to_dict()["rows"]["odd"][0]["name"] == f"p{j}"
            assert vault.erase(f"p{j}").tables == {"odd": 1}
            assert vault.receipts()[-1].complete


@pytest.mark.parametrize("kind", TYPES)
def test_people_are_found_by_cells_of_any_kind(kind: str, tmp_path: Path) -> None:
    values = ", ".join(f"({cell})" for cell in CELLS)
    with opened(tmp_path, f"CREATE TABLE odd (born {kind})", f"INSERT INTO odd VALUES {values}", field="born") as vault:
        vault.register("odd", database="odd", **FACTS)
        assert vault.erase("1.2.1990").tables == {"odd": 1}
        with vault._database.transaction(write=False) as connection:
            assert connection.exec_driver_sql("SELECT count(*) FROM odd").scalar_one() == len(CELLS) - 1


@pytest.mark.parametrize("kind", ["NUMERIC", "DECIMAL(20,0)", "INTEGER", "BIGINT", "WORD", ""])
def test_long_numbers_are_no_doubles(kind: str, tmp_path: Path) -> None:
    """Numbers of people that differ beyond 2^53 are those of different people, whatever the column is called."""
    first = 2**53
    values = ", ".join(f"({first + i})" for i in range(4))
    with opened(tmp_path, f"CREATE TABLE odd (id {kind})", f"INSERT INTO odd VALUES {values}", field="id") as vault:
        vault.register("odd", database="odd", **FACTS)
        for i in (1, 2):
            assert vault.access(str(first + i)).rows["odd"]["id"].to_pylist() == [first + i]
            assert vault.erase(str(first + i)).tables == {"odd": 1}
        with vault._database.transaction(write=False) as connection:
            assert connection.exec_driver_sql("SELECT id FROM odd ORDER BY id").scalars().all() == [first, first + 3]
