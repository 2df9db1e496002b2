"""A table whose own expression fails for one of its records is refused before anything is charged, wherever it lies.

Each has a poison record among good ones. What is computed from stored cells without failing is read as ever.
"""

from __future__ import annotations

import json
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import closing
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import narwhals as nw
import numpy as np
import pandas as pd
import polars as pl
import psycopg
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset
import pyarrow.parquet
import pytest
from pandas.api.extensions import ExtensionArray, ExtensionDtype

import discreet as ds
from discreet.errors import InvalidRequest
from discreet.sources.spark_plans import total_cast

SCHEMA = ds.Schema({"x": ds.Real(0, 9)})
CELLS = ["1", "2", "0", "poison", None]
RULE = "could fail because of a record|must be of a type of pandas"


def refused(table: Any, rule: str = RULE, schema: ds.Schema = SCHEMA) -> str:
    """In one line, when it is opened or else before anything is charged; the ledger stays as it was."""
    ledger = ds.Ledger("sqlite://", ds.Budget(epsilon=1))
    with pytest.raises(InvalidRequest, match=rule) as caught:
        ds.Session(table, schema, ledger=ledger, version="one").mean(next(iter(schema.columns)), epsilon=0.5)
    assert "\n" not in str(caught.value)
    assert caught.value.remedy or "; " in str(caught.value)
    assert ledger.spent().epsilon == 0
    return str(caught.value)


def total(table: Any, schema: ds.Schema = SCHEMA) -> float:
    """The exact sum, where it is read."""
    return round(float(ds.Session(table, schema, ledger="test", version="one").sum("x", epsilon=float("inf"))), 5)


class _Odd(ExtensionDtype):
    """A type of somebody's own, whose array computes its cells when they are read."""

    name, type, na_value = "odd", float, None


class _OddCells(ExtensionArray):
    dtype = _Odd()

    def __len__(self) -> int:
        return len(CELLS)

    def copy(self) -> Any:
        return self

    def __getitem__(self, item: Any) -> Any:
        return self if isinstance(item, slice) else 1 / 0


LAZY: dict[str, Callable[[Path], Any]] = {
    "polars": lambda _: pl.LazyFrame({"t": CELLS}).select(x=pl.col("t").cast(pl.Float64)),
    "polars of a file": lambda at: pl.scan_parquet(at / "t.parquet").select(x=1 // pl.col("x")),
    "narwhals": lambda _: nw.from_native(pl.LazyFrame({"x": [1, 0]})),
    "duckdb": lambda at: duckdb.sql(f"SELECT CAST(t AS DOUBLE) AS x FROM '{at}/t.parquet'"),
    "dataset": lambda at: pyarrow.dataset.dataset(at / "t.parquet").filter(pc.scalar(1) / pc.field("x") > 0),
    "pandas": lambda _: pd.DataFrame({"x": pd.Series(_OddCells())}),
    "a series of pandas": lambda _: {"x": pd.Series(_OddCells())},
}


@pytest.mark.parametrize("kind", LAZY)
def test_what_is_computed_when_it_is_read_is_no_table(kind: str, tmp_path: Path) -> None:
    pa.parquet.write_table(pa.table({"t": CELLS, "x": [1, 2, 0, 3, None]}), tmp_path / "t.parquet")
    refused(LAZY[kind](tmp_path))
    assert total(tmp_path / "t.parquet") == 6


def test_a_reader_that_is_read_once_is_no_table() -> None:
    with pytest.raises(InvalidRequest, match="table must be a dict of arrays"):
        ds.Session(pa.table({"x": [1.0]}).to_reader(), SCHEMA)


def test_of_sqlite_what_is_stored_is_read_and_nothing_else(tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / "t.db")) as other:
        other.executescript(
            "CREATE TABLE t (x REAL, j TEXT); INSERT INTO t VALUES (1, '1'), (2, '2'), (3, '{');"
            "CREATE VIEW v AS SELECT json_extract(j, '$') AS x FROM t;"
            "CREATE TABLE g (j TEXT, x REAL GENERATED ALWAYS AS (abs(j)) VIRTUAL, y REAL GENERATED ALWAYS AS (2) STORED);"
            "INSERT INTO g (j) VALUES (-9223372036854775807 - 1);"
            "CREATE VIRTUAL TABLE f USING fts5(x); CREATE TABLE stored AS SELECT x FROM t"
        )
    at = f"sqlite:///{tmp_path}/t.db?table="
    for name in ("v", "f", "sqlite_master"):
        schema = SCHEMA if name != "sqlite_master" else ds.Schema({"rootpage": ds.Real(0, 9)})
        assert "CREATE TABLE ... AS SELECT" in refused(at + name, schema=schema)
    assert "computes 'x'" in refused(at + "g")
    assert total(at + "t") == total(at + "T") == total(at + "main.stored") == 6
    other_column = ds.Session(at + "g", ds.Schema({"y": ds.Real(0, 9)}), ledger="test", version="one")
    assert float(other_column.sum("y", epsilon=float("inf"))) == pytest.approx(2, abs=1e-5)


def test_of_postgres_what_is_stored_is_read_and_nothing_else(server: str) -> None:
    at = f"{server}{'&' if '?' in server else '?'}table="
    with psycopg.connect(server, autocommit=True) as other:
        other.execute("CREATE SCHEMA poison; GRANT USAGE ON SCHEMA poison TO PUBLIC; SET search_path = poison")
        for words in (
            "CREATE TABLE t AS SELECT * FROM (VALUES (1.0::float8, 'a'), (2, 'b'), (0, 'c')) r (x, s)",
            "CREATE VIEW v AS SELECT 1 / x AS x FROM t",
            "CREATE VIEW renamed AS SELECT x FROM t",  # cannot fail, which nobody can tell of a view by its name
            "CREATE MATERIALIZED VIEW m AS SELECT x FROM t",
            "CREATE TABLE p (x float8) PARTITION BY RANGE (x)",
            "CREATE TABLE p1 PARTITION OF p FOR VALUES FROM (0) TO (9)",
            "INSERT INTO p SELECT x FROM t",
            "CREATE FOREIGN DATA WRAPPER w; CREATE SERVER far FOREIGN DATA WRAPPER w",
            "CREATE TABLE q (x float8); CREATE FOREIGN TABLE q1 () INHERITS (q) SERVER far",
            "CREATE TABLE r AS SELECT x FROM t; ALTER TABLE r ENABLE ROW LEVEL SECURITY",
            "CREATE POLICY own ON r USING (1 / x > 0); CREATE ROLE poisoned LOGIN; GRANT SELECT ON r TO poisoned",
            "CREATE TYPE mood AS ENUM ('1', '2'); CREATE TABLE own (x mood, y float8); INSERT INTO own VALUES ('1', 1)",
            "CREATE FUNCTION said(mood) RETURNS text LANGUAGE sql AS 'SELECT (1 / 0)::text'",
            "CREATE CAST (mood AS text) WITH FUNCTION said(mood)",
        ):
            other.execute(words)
        assert "CREATE MATERIALIZED VIEW" in refused(at + "poison.v")
        assert "is or holds a view" in refused(at + "poison.renamed")
        assert "foreign table" in refused(at + "poison.q")
        assert "computes 'x'" in refused(at + "poison.own")
        assert "BYPASSRLS" in refused((at + "poison.r").replace("postgres:@", "poisoned:@"))
        assert total(at + "poison.t") == total(at + "poison.m") == total(at + "poison.p") == total(at + "poison.r") == 3
        session = ds.Session(at + "poison.t", SCHEMA, ds.Budget(epsilon=1), version="one")
        other.execute("ALTER TABLE t RENAME TO old; CREATE VIEW t AS SELECT 1 / x AS x FROM old")
        with pytest.raises(InvalidRequest, match="is or holds a view"):
            session.mean("x", epsilon=0.5)
        assert session.spent().epsilon == 0


@pytest.mark.parametrize(("encoding", "code"), [("LATIN1", 0), ("SQL_ASCII", 1), ("WIN1252", 1)])
@pytest.mark.parametrize("asked", ["", "UTF8"])
def test_no_text_of_postgres_fails_for_its_letters(
    server: str, encoding: str, code: int, asked: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A byte that is no letter of the database's encoding is handed over as it is, whatever the environment asks for."""
    name = f"{encoding.lower()}_{asked.lower()}"
    with psycopg.connect(server, autocommit=True) as other:
        other.execute(
            f"CREATE DATABASE {name} ENCODING '{encoding}' TEMPLATE template0 LC_COLLATE 'C' LC_CTYPE 'C'".encode()
        )
    there = server.replace("/postgres?", f"/{name}?")
    with psycopg.connect(there, autocommit=True, client_encoding=encoding) as other:
        other.execute(b"CREATE TABLE t (x text); INSERT INTO t VALUES (E'\\344'), (E'\\201')")
    if asked:
        monkeypatch.setenv("PGCLIENTENCODING", asked)
    schema = ds.Schema({"x": ds.Categories(["ä", "\\xe4"])})
    told = ds.Session(f"{there}&table=t", schema, ledger="test", version="one").count(by="x", epsilon=float("inf"))
    assert np.array_equal(told.value, np.eye(2)[code])


def _classic(spark: Any, at: Path) -> Iterator[tuple[str, Any, bool]]:
    """Frames with the poison record in what they read, and whether they are read."""
    from pyspark.sql import functions as f

    plain = spark.read.parquet(str(at / "t.parquet"))
    plain.createOrReplaceTempView("poisoned_plain")
    plain.selectExpr("1 / x AS x").createOrReplaceTempView("poisoned")
    rows = [(1.0, "a"), (0.0, "b")]
    context = spark.sparkContext
    fail = f.udf(lambda cell: 1 / cell, "double")
    both = plain.join(plain.select("i", f.col("x").alias("y")), "i", "full")
    yield "a file", plain, True
    yield "its columns renamed", plain.withColumnRenamed("x", "y").selectExpr("y AS x", "i", "x IS NULL"), True
    yield "steps", plain.filter("x > 0 AND i IN (1, 2)").repartition(4).union(plain).sort("x").distinct(), True
    yield "joined", both.fillna(0).dropna(), True
    yield "a view", spark.table("poisoned_plain"), True
    yield "casts that cannot fail", plain.selectExpr("TRY_CAST(t AS DOUBLE) AS x", "CAST(i AS STRING)"), True
    yield "constants", plain.filter("d > '2020-01-01'"), True
    yield "rows of Python", spark.createDataFrame(rows, "x double, s string"), True
    yield "many rows of Python", spark.createDataFrame(rows * 5000, "x double, s string"), True
    yield "a table of Arrow", spark.createDataFrame(pa.table({"x": [1.0]})), True
    yield "a copy", plain.selectExpr("1 / (x + 1) AS x").localCheckpoint(), True
    yield "a division", plain.selectExpr("1 / x AS x"), False
    yield "a view that divides", spark.table("poisoned"), False
    yield "a kept one that divides", plain.selectExpr("1 / x AS x").cache(), False
    yield "a cast", plain.selectExpr("CAST(t AS DOUBLE) AS x"), False
    yield "a narrower type", plain.selectExpr("CAST(x AS TINYINT) AS x"), False
    yield "a cast that is inserted", plain.filter("t > 3"), False
    yield "a union that casts", plain.select("x").union(plain.select("t")), False
    yield "a sum", plain.selectExpr("i + 1 AS x"), False
    yield "a constant that fails", plain.selectExpr("x", "1 / 0 AS y"), False
    yield "an assertion", plain.selectExpr("x", "assert_true(x > 0) AS y"), False
    yield "a filter", plain.filter("1 / x > 0"), False
    yield "a subquery", spark.sql("SELECT x FROM poisoned_plain WHERE x > (SELECT x FROM poisoned_plain)"), False
    yield "Python", plain.select(fail("x").alias("x")), False
    yield "Python of batches", plain.mapInArrow(lambda found: found, plain.schema), False
    yield "Python of rows", spark.createDataFrame(context.parallelize(rows).map(lambda r: (1 / r[0],)), "x double"), False
    yield "decimals too long", spark.createDataFrame([(Decimal(12345),)], "x decimal(3, 0)"), False
    yield "a copy to come", plain.selectExpr("1 / x AS x").localCheckpoint(eager=False), False
    yield "groups", plain.groupBy("i").agg(f.sum("x").alias("x")), False
    yield "a CSV file", spark.read.csv(str(at / "t.csv"), schema="x double", mode="FAILFAST"), False
    yield "old dates", spark.read.option("datetimeRebaseMode", "EXCEPTION").parquet(str(at / "t.parquet")), False


def _written(at: Path) -> None:
    table = {
        "t": CELLS,
        "x": [1.0, 2.0, 0.0, 3.0, None],
        "i": [1, 2, 3, 4, None],
        "d": pa.array([1, 2, 3, 4, 5], pa.date32()),
    }
    pa.parquet.write_table(pa.table(table), at / "t.parquet")
    (at / "t.csv").write_text("x\n1\npoison\n")


def test_of_spark_what_cannot_fail_is_read_and_nothing_else(spark: Any, tmp_path: Path) -> None:
    from discreet.sources import spark_plans

    _written(tmp_path)
    frames = list(_classic(spark, tmp_path))
    try:
        for name, frame, read in frames:
            if not read:
                assert "write.parquet" in refused(frame), name
                continue
            spark_plans.check(frame)  # and nothing in it fails
            frame.collect()
    finally:
        spark.catalog.dropTempView("poisoned_plain")
        spark.catalog.dropTempView("poisoned")


def test_no_far_time_and_no_long_line_fails_on_spark(spark: Any, tmp_path: Path) -> None:
    """Spark multiplies a time in milliseconds, which overflows; and reads no more fields of a line than it was told."""
    far = pa.array([2**62, 0], pa.int64())
    schema = ds.Schema({"x": ds.Categories(["1970-01-01 00:00:00"])})
    for unit in ("ms", "us"):
        pa.parquet.write_table(pa.table({"x": far.cast(pa.timestamp(unit))}), tmp_path / f"{unit}.parquet")
    for table in (spark.read.parquet(str(tmp_path / "ms.parquet")).selectExpr("x"), str(tmp_path / "ms.parquet")):
        with pytest.raises(InvalidRequest, match="times in milliseconds in the column 'x'; write them in microseconds"):
            ds.Session(table, schema, version="one", spark=spark)
    session = ds.Session(spark.read.parquet(str(tmp_path / "us.parquet")), schema, ledger="test", version="one")
    assert np.array_equal(session.count(by="x", epsilon=float("inf")).value, [1])
    (tmp_path / "t.csv").write_text("x,y\n1,2\n" + "3" + "," * 100_000 + "\n4,5\n")
    assert total(str(tmp_path / "t.csv")) == 8
    long = ds.Session(str(tmp_path / "t.csv"), SCHEMA, ledger="test", version="one", spark=spark)
    assert float(long.sum("x", epsilon=float("inf"))) == pytest.approx(8, abs=1e-5)


VALUES: dict[str, list[Any]] = {
    "byte": [-128, 127], "short": [-(2**15), 2**15 - 1], "int": [-(2**31), 2**31 - 1], "bigint": [-(2**63), 2**63 - 1],
    "float": [np.nan, np.inf, -3e38, 1e-40], "double": [np.nan, -np.inf, 1e308, -1e-320, 2.0**63], "boolean": [True, None],
    "string": ["", "abc", "1e400", "9" * 30, "nan", "\0", "true", "-0", " 7 "],
}  # fmt: skip


def test_a_cast_that_is_let_through_fails_for_no_extreme(spark: Any) -> None:
    """Every one, in every mode, of the extremes of its type."""
    words = {"byte": "tinyint", "short": "smallint"}
    tried = 0
    for start, cells in VALUES.items():
        frame = spark.createDataFrame([(None if c is None else c,) for c in cells], f"x {start}")
        for ansi in (True, False):
            spark.conf.set("spark.sql.ansi.enabled", ansi)
            try:
                casts = {
                    f"{cast}(x AS {end})": total_cast(mode, words.get(start, start), words.get(end, end))
                    for end in VALUES
                    for cast, mode in (("CAST", "ANSI" if ansi else "LEGACY"), ("TRY_CAST", "TRY"))
                }
                let = [each for each, through in casts.items() if through]
                frame.selectExpr(*(f"{each} AS c{place}" for place, each in enumerate(let))).collect()
                tried += len(let)
            finally:
                spark.conf.unset("spark.sql.ansi.enabled")
    assert tried > 180
    assert not total_cast("ANSI", "string", "double")
    assert not total_cast("ANSI", "bigint", "int")
    assert not total_cast("TRY", "date", "timestamp")  # which overflows in any mode


CONNECT = """
import json, sys
import pyarrow as pa
from pathlib import Path
from pyspark.sql import SparkSession, functions as f
import discreet as ds
from discreet.errors import InvalidRequest
from discreet.sources import spark_plans

at, address = sys.argv[1:]
spark = SparkSession.builder.remote(address).getOrCreate()
t = spark.read.parquet(at + "/t.parquet")
t.createOrReplaceTempView("renamed")
spark.sql("CREATE TABLE stored USING parquet AS SELECT x, i FROM parquet.`" + at + "/t.parquet`")
spark.sql("CREATE VIEW divides AS SELECT 1 / x AS x FROM stored")
other = spark.createDataFrame([("a",)], "x string")
read = {
    "a file": t, "a table": spark.table("stored"), "rows": spark.createDataFrame([(1.0,)], "x double"),
    "arrow": spark.createDataFrame(pa.table({"x": [1.0]})), "columns": t.select("X", f.col("i").alias("j"), f.lit(3)),
    "a filter": t.filter((f.col("x") > 0) & f.col("i").isNotNull() & f.col("i").isin(1, 2)), "a union": t.union(t),
    "a join": t.join(t.select("i", f.col("x").alias("y")), "i"), "steps": t.repartition(2, "i").sort("x").distinct(),
    "names": t.withColumnRenamed("x", "z").drop("i").withColumn("w", f.col("z")),
}
fails = {
    "a division": t.select((1 / f.col("x")).alias("x")), "text": t.selectExpr("1 / x AS x"),
    "a cast": t.select(f.col("t").cast("double").alias("x")),
    "a cast that is inserted": t.filter(f.col("t") > 3), "a union that casts": t.select("i").union(other),
    "a view": spark.table("divides"), "a view of this session": spark.table("renamed"),
    "sql": spark.sql("SELECT 1 / x AS x FROM stored"),
    "python": t.select(f.udf(lambda cell: 1 / cell, "double")("x").alias("x")),
    "batches": t.mapInArrow(lambda b: b, t.schema),
    "groups": t.groupBy("x").count(), "csv": spark.read.csv(at + "/t.csv", schema="x double", mode="FAILFAST"),
    "an error": t.filter(f.raise_error(f.lit("x")).isNull()), "a copy": t.localCheckpoint(),
}
told = {}
for name, frame in read.items():
    spark_plans.check(frame)
    frame.collect()
for name, frame in fails.items():
    ledger = ds.Ledger("sqlite://", ds.Budget(epsilon=1))
    try:
        ds.Session(frame, ds.Schema({"x": ds.Real(0, 9)}), ledger=ledger, version="1").mean("x", epsilon=0.5)
        told[name] = "answered"
    except InvalidRequest as problem:
        told[name] = str(problem)
    assert ledger.spent().epsilon == 0
session = ds.Session(spark.table("stored"), ds.Schema({"x": ds.Real(0, 9)}), ds.Budget(epsilon=1), version="1")
spark.sql("DROP TABLE stored")
poison = spark.createDataFrame([("poison",)], "x string")
poison.select(f.col("x").cast("double").alias("x")).createOrReplaceTempView("stored")
try:
    session.mean("x", epsilon=0.5)
except InvalidRequest as problem:
    told["a name that became a view"] = str(problem)
assert session.spent().epsilon == 0
spark.sql("DROP VIEW divides")
print(json.dumps(told))
spark.stop()
"""


def test_by_connect_what_cannot_fail_is_read_and_nothing_else(connect: str, tmp_path: Path) -> None:
    _written(tmp_path)
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", CONNECT, str(tmp_path), connect], capture_output=True, text=True, check=False,
        cwd=tmp_path, env=_environment(),
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-3000:]
    told = json.loads(done.stdout.splitlines()[-1])
    assert len(told) == 15
    for name, said in told.items():
        assert "could fail because of a record" in said, (name, said)
        assert "\n" not in said


def _environment() -> dict[str, str]:
    import os

    known = {k: v for k, v in os.environ.items() if not k.startswith(("SPARK", "PYSPARK"))}
    paths = os.pathsep.join(filter(None, [str(Path(ds.__file__).parent.parent), *sys.path]))
    free = {"SPARK_LOCAL_IP": "127.0.0.1", "SPARK_TESTING": "1"}  # any free port: another test may have the usual one
    return known | {"PYTHONPATH": paths, "PYSPARK_PYTHON": sys.executable, **free}
