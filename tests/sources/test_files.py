"""Files: what is refused at opening, and what a broken record does (nothing)."""

from __future__ import annotations

import gzip
import os
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.dataset
import pyarrow.parquet
import pytest

import discreet as ds
from discreet.core.schema import Categories, Real, Schema
from discreet.errors import DiscreetError, InvalidRequest, UnknownName, UnsupportedFormat
from discreet.sources import open_source

SCHEMA = Schema({"x": Real(0, 9)})


def xs(table: Any, schema: Schema = SCHEMA, **options: Any) -> list[float]:
    found: list[float] = open_source(table, schema, **options).fold(lambda b: b.numeric("x").tolist(), list.__add__, ["x"])
    return sorted(found)


def parquet(path: Path, **columns: Any) -> Path:
    pyarrow.parquet.write_table(pa.table(columns), path)
    return path


def test_several_files_are_one_table(tmp_path: Path) -> None:
    for place in range(3):
        parquet(tmp_path / f"part-{place}.parquet", x=[float(place)])
        (tmp_path / f"part [{place}].csv").write_text(f"y,x\n1,{place}\n")
    assert xs(str(tmp_path / "*.parquet")) == [0, 1, 2]
    assert xs([tmp_path / "part-0.parquet", tmp_path / "part-2.parquet"]) == [0, 2]
    assert xs(str(tmp_path / "*.csv")) == [0, 1, 2]
    assert xs(tmp_path / "part [1].csv") == [1]
    with gzip.open(tmp_path / "zipped.csv.gz", "wt") as out:
        out.write("x\n4\n")
    assert xs(tmp_path / "zipped.csv.gz") == [4]
    (tmp_path / "tabs.tsv").write_text("a\tx\n1\t5\n")
    assert xs(tmp_path / "tabs.tsv") == [5]


def test_broken_files_are_refused_when_opened(tmp_path: Path) -> None:
    whole = parquet(tmp_path / "whole.parquet", x=[1.0] * 1000).read_bytes()
    (tmp_path / "cut.parquet").write_bytes(whole[:-20])
    (tmp_path / "text.parquet").write_text("x\n1\n")
    (tmp_path / "binary.csv").write_bytes(whole)
    (tmp_path / "empty.csv").write_text("")
    (tmp_path / "twice.csv").write_text("x,x\n1,2\n")
    (tmp_path / "table.xlsx").write_text("x")
    for name in ("cut.parquet", "text.parquet", "binary.csv", "empty.csv", "twice.csv", "table.xlsx"):
        with pytest.raises(UnsupportedFormat, match=name.replace(".", r"\.")):
            open_source(tmp_path / name, SCHEMA)
    parquet(tmp_path / "other.parquet", x=["1"])
    with pytest.raises(UnsupportedFormat, match="same columns"):
        open_source([tmp_path / "whole.parquet", tmp_path / "other.parquet"], SCHEMA)
    for missing in (tmp_path / "no.parquet", str(tmp_path / "no*.csv"), tmp_path):
        with pytest.raises((InvalidRequest, UnsupportedFormat), match=r"exists|must end"):
            open_source(missing, SCHEMA)
    (tmp_path / "one.csv").write_text("age,xx\n")
    with pytest.raises(UnknownName, match=r"no column 'x'; of the declared columns it has none") as refused:
        open_source(tmp_path / "one.csv", SCHEMA)
    assert "age" not in str(refused.value)
    with pytest.raises(InvalidRequest, match="all CSV or all Parquet"):
        open_source([tmp_path / "whole.parquet", tmp_path / "one.csv"], SCHEMA)


def test_a_file_that_breaks_later_says_nothing_of_its_records(tmp_path: Path) -> None:
    path = parquet(tmp_path / "x.parquet", x=[float(i) for i in range(50_000)])
    source = open_source(path, SCHEMA)
    broken = bytearray(path.read_bytes())
    broken[100:-2000] = b"\xff" * (len(broken) - 2100)
    path.write_bytes(broken)
    with pytest.raises(UnsupportedFormat, match="damaged, changed or gone"):
        source.fold(lambda b: b.size, int.__add__, ["x"])


def test_what_a_remote_reader_says_holds_no_record_and_no_key(tmp_path: Path) -> None:
    """Whatever fails, when a table is opened or later, is told in our words, without the user and key of an address."""
    with pytest.raises((InvalidRequest, UnsupportedFormat)) as caught:
        open_source("s3://someone:topsecret@bucket/t.parquet?nothing=known", SCHEMA)
    assert "topsecret" not in str(caught.value)
    path = tmp_path / "a.parquet"
    pyarrow.parquet.write_table(pa.table({"x": [f"MyName{i}" for i in range(9000)]}), path, use_dictionary=False)
    source = open_source(f"file://{tmp_path}", Schema({"x": Categories(["MyName1"])}))
    whole = path.read_bytes()
    for broken in (whole[:100] + b"\xff" * 5000 + whole[5100:], whole[:40]):
        path.write_bytes(broken)
        with pytest.raises(UnsupportedFormat, match=r"damaged, changed or gone|changed while|not a whole") as caught:
            source.fold(lambda b: b.size, int.__add__, ["x"])
        assert "MyName" not in str(caught.value)
        assert caught.value.__suppress_context__ or caught.value.__context__ is None
    path.unlink()
    with pytest.raises((InvalidRequest, UnsupportedFormat)):
        source.fold(lambda b: b.size, int.__add__, ["x"])


def test_a_broken_line_stops_nothing(tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    path.write_bytes(b'id,x,c\n1,3,a\n2\n3,4,a,9,9\n4,\xff\xfe,a\n5,"6",a\n6,"2\n7",a\n\n7,8,"q""q"\n')
    schema = Schema({"x": Real(0, 9), "c": Categories(["a", 'q"q'])})
    found = open_source(path, schema).fold(
        lambda b: list(zip(b.numeric("x").tolist(), b.codes("c").tolist(), strict=True)), list.__add__, ["x", "c"]
    )
    for record in ((3.0, 0), (4.0, 0), (6.0, 0), (8.0, 1)):
        assert record in found
    path.write_bytes(b'x\n1\n2\n"3\n4\n5\n')
    assert set(xs(path)) >= {1.0, 2.0}


def test_names_and_paths_are_quoted(tmp_path: Path) -> None:
    odd = "a \"b\" 'c'"
    path = parquet(tmp_path / "it's; --.parquet", **{odd: [1.0], "order": ["p"]})
    schema = Schema({odd: Real(0, 9)}, person="order", max_rows=1)
    assert open_source(path, schema).fold(lambda b: b.numeric(odd).tolist(), list.__add__, [odd]) == [1]


def test_a_person_with_very_many_rows_is_one_batch(tmp_path: Path) -> None:
    count = 30_000
    path = parquet(tmp_path / "x.parquet", x=[1.0] * count, id=["p"] * (count - 5) + ["q"] * 5)
    schema = Schema({"x": Real(0, 9)}, person="id", max_rows=2)
    sizes = open_source(path, schema, batch_rows=100).fold(lambda b: [b.size], list.__add__, ["x"])
    assert max(sizes) >= count - 5
    assert sum(sizes) == count


def test_rows_without_an_id_count_for_nothing(tmp_path: Path) -> None:
    schema = Schema({"x": Real(0, 9)}, person="id", max_rows=1)
    for ids in (["a", "", None, ""], [1.5, float("nan"), None, float("nan")]):
        path = parquet(tmp_path / "x.parquet", x=[1.0] * 4, id=ids)
        kept = open_source(path, schema, batch_rows=1).fold(lambda b: int(b.kept(["x"]).sum()), int.__add__, ["x"])
        assert kept == 1


def test_the_version_follows_the_file(tmp_path: Path) -> None:
    path = parquet(tmp_path / "x.parquet", x=[1.0])
    before = open_source(path, SCHEMA).version
    assert open_source(path, SCHEMA).version == before
    os.utime(path, ns=(1, 1))
    assert open_source(path, SCHEMA).version != before


def test_spark_reads_the_same_path(tmp_path: Path, spark: Any) -> None:
    path = parquet(tmp_path / "x.parquet", x=[1.0, 2.0])
    (tmp_path / "x.csv").write_text("x\n1\nbad\n")
    assert xs(path, spark=spark) == [1, 2]
    assert xs(str(tmp_path / "x.csv"), spark=spark)[0] == 1
    assert open_source(path, SCHEMA, spark=spark).version == open_source(path, SCHEMA, spark=spark).version
    frame = spark.createDataFrame([(1.0,)], "x double")
    assert open_source(frame, SCHEMA, version="1").version != open_source(frame, SCHEMA, version="2").version
    with pytest.raises(InvalidRequest, match="a Spark frame needs version="):
        open_source(frame, SCHEMA)
    with pytest.raises(UnsupportedFormat, match="cannot open"):
        open_source(str(tmp_path / "no.parquet"), SCHEMA, spark=spark)
    with pytest.raises(UnknownName, match="no column 'x'"):
        open_source(spark.createDataFrame([(1.0,)], "y double"), SCHEMA, version="1")


@pytest.mark.parametrize("kind", ["csv", "parquet", "remote", "spark"])
def test_files_that_changed_are_refused_before_anything_is_paid(
    kind: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    """A column that is gone or of another type, and a file that is gone: one line, and nothing is charged."""
    path = tmp_path / f"t.{'csv' if kind == 'csv' else 'parquet'}"
    whole = pa.table({"x": [0.25, 0.5] * 20, "g": ["a", "b"] * 20})

    def write(table: pa.Table) -> None:
        pyarrow.csv.write_csv(table, path) if kind == "csv" else pyarrow.parquet.write_table(table, path)

    write(whole)
    schema = ds.Schema({"x": ds.Real(0, 1), "g": ds.Categories(["a", "b"])})
    options = {"spark": request.getfixturevalue("spark")} if kind == "spark" else {}
    session = ds.Session(f"file://{path}" if kind == "remote" else path, schema, ds.Budget(epsilon=9), **options)
    changes = {"no column 'x'": whole.drop(["x"])}
    if kind != "csv":  # where every cell is text
        changes["was double and is string now"] = whole.set_column(0, "x", pa.array(["u"] * 40))
    for rule, table in changes.items():
        write(table)
        with pytest.raises(DiscreetError, match=rule) as caught:
            session.mean("x", epsilon=1)
        assert "\n" not in str(caught.value)
    path.unlink()
    with pytest.raises(DiscreetError, match=r"gone|cannot|no Parquet"):
        session.mean("x", epsilon=1)
    assert session.spent().epsilon == 0
    write(whole.select(["g", "x"]))  # in another order: read by name
    assert session.count(by="g", epsilon=8).value.sum() == pytest.approx(40, abs=12)  # further off once in 10**20


def test_a_dataset_is_read_as_it_was_opened(tmp_path: Path) -> None:
    """One that is not of files, or whose files changed, is refused."""
    for label in ("a", "b"):
        pyarrow.parquet.write_table(pa.table({"x": [0.25] * 30, "g": [label] * 30}), tmp_path / f"{label}.parquet")
    schema = Schema({"x": Real(0, 1), "g": Categories(["a", "b"])})
    session = ds.Session(pyarrow.dataset.dataset(tmp_path), schema, ds.Budget(epsilon=9))
    assert session.count(by="g", epsilon=8).value.tolist() == pytest.approx([30, 30], abs=9)  # further off once in 10**16
    pyarrow.parquet.write_table(pa.table({"x": [0.25] * 31, "g": ["a"] * 31}), tmp_path / "a.parquet")
    with pytest.raises(UnsupportedFormat, match="not those that were opened"):
        session.count(epsilon=1)
    assert session.spent().epsilon == 8
    with pytest.raises(InvalidRequest, match="must be of files"):
        open_source(pyarrow.dataset.dataset(pa.table({"x": [1.0]})), SCHEMA)


def test_no_type_of_a_dataset_is_guessed_or_converted(tmp_path: Path) -> None:
    """A folder's name, a line of CSV or a file of another type would decide how everybody else is read."""
    for name in ("hive", "csv", "types"):
        (tmp_path / name).mkdir()
    for label in ("01", "02"):
        (tmp_path / "hive" / f"x={label}").mkdir()
        pyarrow.parquet.write_table(pa.table({"v": [0.25] * 3}), tmp_path / "hive" / f"x={label}" / "t.parquet")
    (tmp_path / "csv" / "t.csv").write_text("x\n1\n2\n")
    for name, cells in (("a", [1, 2]), ("b", [0.5, 70.0])):
        pyarrow.parquet.write_table(pa.table({"x": cells}), tmp_path / "types" / f"{name}.parquet")
    declared = Schema({"x": Real(0, 100)})
    for name, options, words in (
        ("hive", {"partitioning": "hive"}, "must be in every file"),
        ("csv", {"format": "csv"}, "must be Parquet"),
        ("types", {}, "one type in all files"),
    ):
        with pytest.raises(UnsupportedFormat, match=words):
            open_source(pyarrow.dataset.dataset(tmp_path / name, **options), declared)
    others = Schema({"v": Real(0, 1)})  # what folders name is not asked for
    assert open_source(pyarrow.dataset.dataset(tmp_path / "hive", partitioning="hive"), others).schema is others


@pytest.mark.parametrize("kind", ["path", "address"])
def test_files_that_change_between_two_passes_are_refused(kind: str, tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    pyarrow.parquet.write_table(pa.table({"x": [0.25, 0.5]}), path)
    source = open_source(path if kind == "path" else f"file://{path}", ds.Schema({"x": ds.Real(0, 1)}))
    count = lambda: source.fold(lambda batch: int(batch.size), int.__add__, ["x"])  # noqa: E731
    with source.snapshot():
        assert count() == 2
        pyarrow.parquet.write_table(pa.table({"x": [0.25, 0.5, 1.0]}), path)
        with pytest.raises(UnsupportedFormat, match="changed while it was read"):
            count()
    assert count() == 3


@pytest.mark.parametrize("kind", ["path", "address"])
def test_a_file_is_not_held_while_it_is_read(kind: str, tmp_path: Path) -> None:
    """Of a hundred row groups a few are held at once, however many there are."""
    path, rows = tmp_path / "t.parquet", 10_000
    x = np.random.default_rng(1).random(100 * rows)
    pyarrow.parquet.write_table(pa.table({"x": x}), path, row_group_size=rows)
    source = open_source(path if kind == "path" else f"file://{path}", SCHEMA, batch_rows=rows)
    before = pa.total_allocated_bytes()
    held = source.fold(lambda batch: (batch.size, pa.total_allocated_bytes() - before), _sum_and_most, ["x"])
    assert held[0] == len(x)
    assert held[1] < x.nbytes / 4


def _sum_and_most(one: tuple[int, int], other: tuple[int, int]) -> tuple[int, int]:
    return one[0] + other[0], max(one[1], other[1])
