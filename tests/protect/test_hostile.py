"""What a hostile reviewer found, so that it stays mended."""

from __future__ import annotations

import io
import multiprocessing
import sqlite3
from contextlib import closing
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet
import pytest

from discreet.errors import InvalidRequest, UnsupportedFormat
from discreet.protect import Field, FileKeys, Hierarchy, Pseudonymizer, Vault, anonymize, check

from .test_vault import database

__all__ = ["database"]
FACTS: dict[str, Any] = {"purpose": "care", "categories": ["health"], "retention": "10 years"}
TREE = Hierarchy.tree({"a": ["*"], "b": ["*"]})


@pytest.mark.parametrize("c", [0.3333333333333333, "0.3333333333333333", "1/3", 1e-17])
def test_recursive_diversity_does_not_overflow(c: Any) -> None:
    table = pa.table({"q": ["a"] * 1001, "s": ["hiv"] * 1000 + ["flu"]})
    with pytest.raises(InvalidRequest, match="no levels satisfy"):
        anonymize(table, ["q"], {"q": TREE}, k=2, sensitive="s", l=2, diversity="recursive", c=c)
    made = anonymize(table, ["q"], {"q": TREE}, k=2, sensitive="s", l=2, diversity="recursive", c="1000.0000000000000001")
    assert made.levels == {"q": 0}


def vault_at(folder: Path, **options: Any) -> Vault:
    path = folder / "keys.json"
    people = Pseudonymizer(["name"], FileKeys(path) if path.exists() else FileKeys.create(path))
    return Vault(f"sqlite:///{folder}/vault.db", people, **options)


def test_erased_values_leave_the_dictionaries_of_a_file(tmp_path: Path) -> None:
    names = ["Ann Smith", "Bob", "Cy", None]
    frame = pd.DataFrame(
        {
            "name": pd.Categorical(names),
            "diag": pd.Categorical(["HIVSECRET", "flu", "cold", "flu"], ["flu", "HIVSECRET", "cold"], ordered=True),
        }
    )
    table = pa.Table.from_pandas(frame)
    nested = pa.array([["HIVNESTED"], ["x"], [], None], pa.list_(pa.dictionary(pa.int32(), pa.string())))
    pyarrow.parquet.write_table(table.append_column("nested", nested), tmp_path / "t.parquet")
    schema = pyarrow.parquet.read_schema(tmp_path / "t.parquet")
    with vault_at(tmp_path) as vault:
        vault.register("t", tmp_path / "t.parquet", **FACTS)
        told = vault.access("Bob").rows["t"]
        assert told["diag"].unify_dictionaries().combine_chunks().dictionary.to_pylist() == ["flu"]
        assert vault.erase("Ann Smith").tables == {"t": 1}
    content = (tmp_path / "t.parquet").read_bytes()
    assert not any(word in content for word in (b"Ann Smith", b"HIVSECRET", b"HIVNESTED"))
    assert pyarrow.parquet.read_schema(tmp_path / "t.parquet") == schema
    left = pd.read_parquet(tmp_path / "t.parquet")
    assert left["name"].tolist()[:2] == ["Bob", "Cy"]
    assert left["diag"].tolist() == ["flu", "cold", "flu"]
    assert list(left["diag"].cat.categories) == ["flu", "cold"]
    assert left["diag"].cat.ordered


def _content(table: Any, folder: Path) -> bytes:
    if isinstance(table, pl.DataFrame):
        out = io.BytesIO()
        table.write_parquet(out)
        return out.getvalue()
    made = pa.Table.from_pandas(table) if isinstance(table, pd.DataFrame) else table
    pyarrow.parquet.write_table(made, folder / "again.parquet")
    return (folder / "again.parquet").read_bytes()


@pytest.mark.parametrize("kind", ["arrow", "pandas", "polars", "file"])
def test_suppressed_values_leave_the_dictionaries_of_a_copy(kind: str, tmp_path: Path) -> None:
    table = pa.table({"q": ["a", "a", "b"], "name": pa.array(["x", "y", "SECRET"]).dictionary_encode()})
    given: Any = table
    if kind == "pandas":
        given = table.to_pandas()
    elif kind == "polars":
        given = pl.DataFrame(table.to_pandas()).with_columns(
            pl.col("name").cast(pl.String).cast(pl.Enum(["x", "SECRET", "y"])),
            pl.col("name").cast(pl.String).cast(pl.Categorical).alias("other"),
        )
    elif kind == "file":
        given = tmp_path / "in.parquet"
        pyarrow.parquet.write_table(table, given)
    made = anonymize(given, ["q"], {"q": TREE}, k=2, suppression=0.4)
    assert made.suppressed == 1
    assert b"SECRET" not in _content(made.table, tmp_path)
    made.write(tmp_path / "out.parquet", order="kept")
    assert b"SECRET" not in (tmp_path / "out.parquet").read_bytes()
    assert pyarrow.parquet.read_table(tmp_path / "out.parquet")["name"].to_pylist() == ["x", "y"]


def _caseless(connection: Any) -> str:
    """A PostgreSQL type that ignores case, where this server has one."""
    if connection.exec_driver_sql("SELECT 1 FROM pg_available_extensions WHERE name = 'citext'").first():
        connection.exec_driver_sql("CREATE EXTENSION citext")
        connection.exec_driver_sql("CREATE DOMAIN caseless AS citext")
        return "caseless"
    return "CHAR(5)"


def test_a_collation_takes_nobody_for_another(database: str, tmp_path: Path) -> None:
    people = Pseudonymizer([Field("name", case="keep")], FileKeys.create(tmp_path / "keys.json"))
    with Vault(database, people) as vault:
        with vault._database.transaction(write=True) as connection:
            kind = "TEXT COLLATE NOCASE" if vault._database.sqlite else _caseless(connection)
            connection.exec_driver_sql(f"CREATE TABLE wards (name {kind}, number INTEGER)")
            rows = "('Ann', 1), ('ann', 2), ('Ann', 3), ('ANN', 4), (NULL, 5)"
            connection.exec_driver_sql(f"INSERT INTO wards VALUES {rows}")
        vault.register("wards", database="wards", **FACTS)
        for name, numbers in {"Ann": [1, 3], "ann": [2], "ANN": [4]}.items():
            assert sorted(vault.access(name).rows["wards"]["number"].to_pylist()) == numbers
        assert vault.erase("Ann").tables == {"wards": 2}
        with vault._database.transaction(write=False) as connection:
            left = connection.exec_driver_sql("SELECT number FROM wards ORDER BY number").scalars().all()
        assert left == [2, 4, 5]


def csv(folder: Path, text: str, name: str = "a.csv") -> Path:
    (folder / name).write_text("name,x\n" + text)
    return folder / name


def test_an_unregistered_table_is_not_in_the_receipt(tmp_path: Path) -> None:
    path = csv(tmp_path, "Bob,1\nBob,2\nCy,3\n")
    with vault_at(tmp_path) as vault:
        vault.register("files", path, recipients=["hospital"], **FACTS)
        vault._log.write("erase", {"tables": {"files": 2}}, vault._subject(vault._pseudonyms.digest("Bob")))
        path.rename(tmp_path / "b.csv")
        with pytest.raises(InvalidRequest, match="while an erasure is unfinished"):
            vault.unregister("files", "moved")
        vault.unregister("files", "lost", override=True)
        [receipt] = vault.resume()
        assert receipt.tables == {}
        assert receipt.document["not_reached"] == {"files": 2}
        assert receipt.recipients == ["hospital"]
        assert vault.verify() == len(vault.log())


def test_a_receipt_says_what_may_be_left(tmp_path: Path) -> None:
    path = csv(tmp_path, "Ida,1\nI\u200bda,2\n,3\nBo,4\n")
    (tmp_path / "link.csv").hardlink_to(path)
    with vault_at(tmp_path) as vault:
        vault.register("files", path, **FACTS)
        receipt = vault.erase("Ida")
        assert receipt.tables == {"files": 1}
        assert receipt.document["rows_without_identity"] == {"files": 2}
        assert receipt.document["hard_links"] == {"files": 1}
        assert vault.erase("Bo").document["hard_links"] == {}


def test_a_refused_erasure_needs_an_override(tmp_path: Path) -> None:
    with vault_at(tmp_path) as vault:
        vault.register("files", csv(tmp_path, "Eve,1\n"), **FACTS)
        vault.refuse("Eve", "legal obligation")
        with pytest.raises(InvalidRequest, match=r"was refused on .*legal obligation.*override=True"):
            vault.erase("Eve")
        receipt = vault.erase("Eve", override=True)
        assert receipt.tables == {"files": 1}
        assert vault.erase("Eve") == receipt


def test_a_shredded_key_is_in_no_file(tmp_path: Path) -> None:
    def here(text: str) -> bool:
        return any(text.encode() in part.read_bytes() for part in tmp_path.glob("vault.db*"))

    with vault_at(tmp_path) as vault:
        with vault._database.transaction(write=True) as connection:
            connection.exec_driver_sql("CREATE TABLE people (name TEXT, secret TEXT)")
            rows = ", ".join(f"('person{i}', 'SECRETVALUE{i:04d}')" for i in range(300))
            connection.exec_driver_sql(f"INSERT INTO people VALUES {rows}")
        vault.register("people", database="people", **FACTS)
        for person in ("person7", "person8"):
            vault.seal(person, b"an old scan")
        with closing(sqlite3.connect(tmp_path / "vault.db")) as raw, raw:
            keys = [key for (key,) in raw.execute("SELECT key FROM discreet_vault_keys WHERE holder != 'log'")]
        raw.close()
        assert all(map(here, keys))
        assert vault.erase("person7").document["sealed_key_destroyed"] is True
        assert sorted(map(here, keys)) == [False, True]
        assert not here("SECRETVALUE0007")
    with vault_at(tmp_path, timeout=0.2) as vault, closing(sqlite3.connect(tmp_path / "vault.db")) as reader:
        reader.execute("BEGIN")
        reader.execute("SELECT * FROM people").fetchone()
        assert vault.erase("person8").document["sealed_key_destroyed"] is False  # the reader still needs the old pages
    reader.close()


def test_cells_of_one_group_look_alike() -> None:
    noon = datetime(2024, 1, 1, 12, tzinfo=UTC)
    later = datetime(2024, 1, 1, 14, tzinfo=timezone(timedelta(hours=2)))
    assert noon == later
    days = Hierarchy.dates("2020-01-01", "2025-01-01")
    numbers = Hierarchy.intervals(0, 10, [5])
    cells: list[Any]
    for cells, levels in (([1, 1.0, 2.0, 2], numbers), ([noon, later, later, noon], days), (["a", "a", "b", "b"], TREE)):
        frame = pd.DataFrame({"q": pd.Series(cells, dtype=object)})
        made = anonymize(frame, ["q"], {"q": levels}, k=2)
        assert made.levels == {"q": 0}
        shown = [repr(cell) for cell in made.copy(order="kept")["q"]]
        assert shown[0] == shown[1]
        assert shown[2] == shown[3]
        assert made.table["q"].dtype == object
        assert frame["q"].tolist() == cells


def test_other_digits_make_no_token(tmp_path: Path) -> None:
    keys = FileKeys.create(tmp_path / "keys.json")
    for _ in range(9):
        keys.add_version()
    people = Pseudonymizer(["name"], keys)
    token = people.tokens(["Ann"], "lab")[0]
    assert token.startswith("10.")
    with pytest.raises(InvalidRequest, match="a token must be"):
        people.verify("1\u0660" + token[2:], "lab", identity="Ann")


def test_nobody_else_makes_the_tokens_of_a_vault(tmp_path: Path) -> None:
    with vault_at(tmp_path) as vault:
        people = vault._pseudonyms
        token = vault._subject(people.digest("Ann"))
        for name in ("discreet vault", "Discreet Vault"):
            for attempt in (
                lambda name=name: people.tokens(["Ann"], name),
                lambda name=name: people.translate([token], name, "lab"),
                lambda name=name: people.verify(token, name),
                lambda name=name: people.table({"name": ["Ann"]}, name),
                lambda name=name: vault.register("t", csv(tmp_path, ""), token=("x", name, "default"), **FACTS),
            ):
                with pytest.raises(InvalidRequest, match="must not be 'discreet vault'"):
                    attempt()


def _add(path: Path, ready: Any) -> None:
    ready.wait()
    for _ in range(5):
        FileKeys(path).add_version()


def test_no_key_version_is_lost(tmp_path: Path) -> None:
    keys = FileKeys.create(tmp_path / "keys.json")
    first = keys.key("master/1")
    context = multiprocessing.get_context("forkserver")
    ready = context.Barrier(3)
    workers = [context.Process(target=_add, args=(keys.path, ready)) for _ in range(3)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert keys.version() == 16
    assert keys.key("master/1") == first
    assert keys.path.stat().st_mode & 0o777 == 0o600
    assert [path.name for path in tmp_path.iterdir()] == ["keys.json"]


@pytest.mark.parametrize(
    "text",
    [
        "Ann\x00",
        "Ann\x7f",
        "An\x08n",
        "An\x1fn",
        "Ann\u034f",
        "Ann\ufe0f",
        "Ann\u115f",
        "Ann\u2800",
        "Ann\u3164",
        "Ann\u2028x",
        "Ann\U000e0101",
        "\ua4eenn",
    ],
)
def test_names_hold_nothing_unseen(text: str, tmp_path: Path) -> None:
    keys = FileKeys.create(tmp_path / "keys.json")
    with pytest.raises(InvalidRequest, match=r"can be seen, got U\+|mix Latin and Lisu"):
        Pseudonymizer(["name"], keys).digest(text)
    Pseudonymizer([Field("name", look_alikes="allow")], keys).digest(text)


def test_blanks_may_be_tabs_where_they_are_brought_into_one_form(tmp_path: Path) -> None:
    keys = FileKeys.create(tmp_path / "keys.json")
    people = Pseudonymizer(["name"], keys)
    assert people.digest("Ann\tLee\r\n") == people.digest("ann lee")
    assert people.digest("\u00c5sa\tLee\n") == people.digest("\u00e5sa lee")
    trimmed = Pseudonymizer([Field("name", blanks="trim")], keys)
    assert trimmed.digest("Ann Lee\n") == trimmed.digest("ann lee")
    for bad in (trimmed, Pseudonymizer([Field("name", blanks="keep")], keys)):
        with pytest.raises(InvalidRequest, match=r"U\+0009"):
            bad.digest("Ann\tLee")


def test_an_index_and_notes_do_not_travel(tmp_path: Path) -> None:
    frame = pd.DataFrame({"q": ["a", "a", "b"]}, index=["AnnSECRET", "BobSECRET", "CySECRET"])
    frame.attrs["note"] = "SECRET"
    made = anonymize(frame, ["q"], {"q": TREE}, k=2, suppression=0.4)
    assert list(made.table.index) == [0, 1]
    assert made.table.attrs == {}
    assert frame.attrs == {"note": "SECRET"}
    made.write(tmp_path / "frame.parquet")
    assert pyarrow.parquet.read_schema(tmp_path / "frame.parquet").names == ["q"]
    field = pa.field("q", pa.string(), metadata={"note": "SECRET"})
    table = pa.table({"q": ["a", "a", "b"]}, pa.schema([field], {"note": "SECRET"}))
    pyarrow.parquet.write_table(table, tmp_path / "in.parquet")
    copy = anonymize(tmp_path / "in.parquet", ["q"], {"q": TREE}, k=2, suppression=0.4)
    copy.write(tmp_path / "file.parquet")
    for name in ("frame.parquet", "file.parquet"):
        assert b"SECRET" not in (tmp_path / name).read_bytes()
    for result in (copy.table, anonymize(table, ["q"], {"q": TREE}, k=2, suppression=0.4).table):
        assert not result.schema.metadata
        assert not result.schema.field("q").metadata


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_columns_that_differ_by_case_only(kind: str, tmp_path: Path) -> None:
    path = tmp_path / f"t.{kind}"
    if kind == "csv":
        path.write_text("Zip,zip\n11,11\n11,22\n")
    else:
        pyarrow.parquet.write_table(pa.table({"Zip": ["11", "11"], "zip": ["11", "22"]}), path)
    with pytest.raises(UnsupportedFormat, match="differ by more than case, got 'Zip' and 'zip'"):
        anonymize(path, ["zip"], {"zip": Hierarchy.prefixes(2)}, k=2)


@pytest.mark.parametrize("options", [{}, {"diversity": "entropy"}, {"diversity": "recursive", "c": 9}])
def test_a_missing_cell_is_no_sensitive_value(options: dict[str, Any]) -> None:
    table = {"q": ["a"] * 4 + ["b"] * 4, "s": ["hiv", "hiv", None, None, "hiv", "flu", "flu", "flu"]}
    made = anonymize(table, ["q"], {"q": TREE}, k=2, sensitive="s", l=2, **options)
    assert made.levels == {"q": 1}
    table["s"] = ["hiv", "flu", None, None, "hiv", "flu", None, None]
    assert anonymize(table, ["q"], {"q": TREE}, k=2, sensitive="s", l=2, **options).levels == {"q": 0}
    for empty in ([None] * 4, ["hiv", None, None, None]):
        found = check({"q": ["a"] * 4, "s": empty}, ["q"], "s")
        assert (found.l, found.entropy_l, found.recursive_c) == (1, 1.0, float("inf"))
        with pytest.raises(InvalidRequest, match="no levels satisfy"):
            anonymize({"q": ["a"] * 4, "s": empty}, ["q"], {"q": TREE}, k=2, sensitive="s", l=2, **options)
    assert anonymize({"q": ["a"] * 4, "s": [None] * 4}, ["q"], {"q": TREE}, k=2, sensitive="s", l=1).suppressed == 0
