"""Retention that falls due, automated decisions that are contested and reviewed, and columns for each partner."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.errors import DiscreetError, InvalidRequest, UnknownName, UnsupportedFormat
from discreet.protect import FileKeys, Pseudonymizer, Receipt
from discreet.protect.retention import Keep, Retention
from discreet.protect.vault import Vault

from .kill import open_vault

FACTS: dict[str, Any] = {"purpose": "care", "categories": ["health"], "retention": "10 years"}
DAY = date(2015, 3, 1)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The same 20 people with a date each, in a CSV file, a Parquet file and a table of the database."""
    FileKeys.create(tmp_path / "keys.json")
    days = [date(2000 + i, 3, 1) for i in range(20)]
    lines = [f"p{i},{day:%d.%m.%Y}\n" for i, day in enumerate(days)]
    (tmp_path / "a.csv").write_text("id,day\n" + "".join(lines) + "p2,no date\n")
    pyarrow.parquet.write_table(pa.table({"id": [f"p{i}" for i in range(20)], "day": days}), tmp_path / "b.parquet")
    with open_vault(tmp_path) as vault:
        vault.register("a", tmp_path / "a.csv", recipients=["lab"], due=("day", 3650, "%d.%m.%Y"), **FACTS)
        vault.register("b", tmp_path / "b.parquet", due=("day", 3650), **FACTS)
    with closing(sqlite3.connect(tmp_path / "vault.db")) as base, base:
        base.execute("CREATE TABLE visits (id TEXT, day TEXT)")
        base.executemany("INSERT INTO visits VALUES (?, ?)", [(f"p{i}", day.isoformat()) for i, day in enumerate(days)])
    with open_vault(tmp_path) as vault:
        vault.register("c", database="visits", due=("day", 3650), **FACTS)
    return tmp_path


def left(folder: Path) -> list[list[str]]:
    """Who is in each table, read without the code under test."""
    with closing(sqlite3.connect(folder / "vault.db")) as base:
        rows = [row[0] for row in base.execute("SELECT id FROM visits")]
    lines = [line.split(",")[0] for line in (folder / "a.csv").read_text().splitlines()[1:]]
    return [lines, pyarrow.parquet.read_table(folder / "b.parquet")["id"].to_pylist(), rows]


def test_what_fell_due_goes_and_nothing_else(folder: Path) -> None:
    due = [f"p{i}" for i in range(20) if date(2000 + i, 3, 1) + timedelta(days=3650) < DAY]
    stay = [f"p{i}" for i in range(20) if f"p{i}" not in due]
    with open_vault(folder) as vault:
        vault.refuse("p1", "legal claims")  # rows the law wants kept do not fall due
        found = vault.retention.due(DAY)
        assert {name: part.rows.num_rows for name, part in found.items()} == dict.fromkeys("abc", len(due) - 1)
        assert found["a"].unreadable == 1
        rows = len(vault.log())
        (receipt,) = vault.retention.expire(DAY)
        assert len(vault.log()) == rows + 2
        assert receipt.tables == dict.fromkeys("abc", len(due) - 1)
        assert receipt.recipients == ["lab"]
        assert (receipt.document["people_held"], receipt.document["rows_without_date"]) == (1, {"a": 1})
        assert Receipt.from_json(receipt.to_json()) == receipt
        receipt.verify(vault.public_key)
        assert vault.retention.expire(DAY) == []
        assert vault.verify() == len(vault.log())
        with pytest.raises(InvalidRequest, match="before they fall due"):
            vault.retention.expire(datetime.now(UTC).date() + timedelta(days=2))
    assert left(folder) == [["p1", *stay, "p2"], ["p1", *stay], ["p1", *stay]]


def test_a_removal_that_was_cut_off_is_finished_by_the_next(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def cut(self: Retention, intent: Any) -> Receipt:
        raise KeyboardInterrupt

    with open_vault(folder) as vault:
        with monkeypatch.context() as patched:
            patched.setattr(Retention, "_finish", cut)
            with pytest.raises(KeyboardInterrupt):
                vault.retention.expire(DAY)
        first, *rest = vault.retention.expire(DAY)
        assert rest == []
        assert first.document["on"] == DAY.isoformat()
        assert sum(first.tables.values()) == 18


def test_a_contest_is_reviewed_by_a_human(folder: Path) -> None:
    with open_vault(folder) as vault:
        number = vault.decisions.record("p9", "loan refused", "model.json")
        with pytest.raises(InvalidRequest, match="must be contested to be reviewed"):
            vault.decisions.review(number, "Dr B", "upheld", "looked again")
        with pytest.raises(UnknownName, match="no decision about this person"):
            vault.decisions.contest("p8", number, "not mine")
        contest = vault.decisions.contest("p9", number, "the income was wrong")
        with pytest.raises(InvalidRequest, match="contested already"):
            vault.decisions.contest("p9", number, "again")
        (waiting,) = vault.decisions.waiting()
        assert waiting["decision"] == number
        with pytest.raises(InvalidRequest, match="outcome must be one of"):
            vault.decisions.review(number, "Dr B", "fine", "looked again")
        review = vault.decisions.review(number, "Dr B", "changed", "the income was corrected")
        assert vault.decisions.waiting() == []
        for receipt in (contest, review):
            assert Receipt.from_json(receipt.to_json()) == receipt
            receipt.verify(vault.public_key)
        assert [row["kind"] for row in vault.decisions.about("p9")] == ["decision", "contest", "review"]
        assert [row["kind"] for row in vault.access("p9").requests] == ["decision", "contest", "review"]
        assert vault.decisions.about("p8") == []
        assert "p9" not in json.dumps(vault.log())
        assert vault.record()["requests"]["review"] == 1
        assert vault.verify() == len(vault.log())
        with pytest.raises(UnsupportedFormat, match="does not know"):
            Receipt.from_json(review.to_json().replace('"review"', '"other"'))


def test_a_table_that_cannot_be_looked_after_is_refused(folder: Path) -> None:
    with open_vault(folder) as vault:
        (folder / "new.csv").write_text("id\np1\n")
        for due in (("day",), "day", ("day", -1), ("day", True), ("day", 1, "iso"), ("", 1)):
            with pytest.raises(InvalidRequest, match=r"due must|form of a date"):
                vault.register("d", folder / "new.csv", due=due, **FACTS)
        with pytest.raises(DiscreetError, match="day"):
            vault.register("d", folder / "new.csv", due=("day", 1), **FACTS)
        (folder / "delta" / "_delta_log").mkdir(parents=True)
        (folder / "hudi" / ".hoodie").mkdir(parents=True)
        (folder / "ice" / "metadata").mkdir(parents=True)
        (folder / "ice" / "metadata" / "v1.metadata.json").touch()
        for files, words in (
            ([], "read from none"),
            (["s3a://bucket/part-0.parquet"], "files that it can reach"),
            (["file:/part-0.orc"], "of the kind .orc"),
            ([f"file://{folder}/delta/year=2020/part-0.parquet"], "Delta, Iceberg or Hudi"),
            ([f"file://{folder}/hudi/2020/01/part-0.parquet"], "Delta, Iceberg or Hudi"),
            ([f"file://{folder}/ice/data/year=2020/0.parquet"], "Delta, Iceberg or Hudi"),
        ):
            facts = {"__module__": "pyspark.sql.dataframe", "columns": ["id"], "inputFiles": lambda _, found=files: found}
            frame = type("DataFrame", (), facts)()
            with pytest.raises(InvalidRequest, match=words):
                vault.register("d", frame, **FACTS)
    (folder / "other").mkdir(mode=0o700)
    with (
        Vault(f"sqlite:///{folder}/other/v.db", Pseudonymizer(["id"], folder / "keys.json")) as empty,
        pytest.raises(InvalidRequest, match="none does"),
    ):
        empty.retention.due()


@settings(max_examples=200, deadline=None)
@given(st.one_of(st.none(), st.text(max_size=20)), st.sampled_from([None, "%d.%m.%Y"]))
def test_no_cell_stops_retention(cell: str | None, form: str | None) -> None:
    day = Keep("day", 1, form).day(cell)
    assert day is None or isinstance(day, date)


def test_a_partner_is_given_its_columns_alone(folder: Path) -> None:
    people = Pseudonymizer(["id"], folder / "keys.json")
    table = pa.table({"id": ["p1", "p2"], "age": [1, 2], "sex": ["f", "m"], "wage": [3, 4]})
    assert set(people.table(table, "lab", receives=["age"]).column_names) == {"age", "token"}
    assert set(people.table(table, "firm", receives=["wage", "sex"]).column_names) == {"wage", "sex", "token"}
    assert set(people.table(table, "all").column_names) == {"age", "sex", "wage", "token"}
    assert set(people.table(table, "own", receives=[], keep=True).column_names) == {"id", "token"}
    with pytest.raises(DiscreetError, match="agee"):
        people.table(table, "lab", receives=["agee"])
    with pytest.raises(InvalidRequest, match="list of columns"):
        people.table(table, "lab", receives="age")
