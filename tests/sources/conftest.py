"""One messy table, opened in every way there is."""

from __future__ import annotations

import csv
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.dataset
import pyarrow.parquet
import pytest
import sqlalchemy

from discreet.core.schema import Categories, Integer, Real, Schema
from discreet.sources import open_source

KINDS = ("numpy", "pandas", "polars", "arrow", "csv", "parquet", "remote", "dataset", "postgres", "sqlite", "spark")
COLUMNS = {
    "x": Real(-10, 50),
    "visits": Integer(0, 50, missing=7),
    "sex": Categories(["f", "m"], other="x"),
    "ward": Categories([1, 2, 3], missing=2),
}
SCHEMA = Schema(COLUMNS, person="id", max_rows=3)
ROWLESS = Schema(COLUMNS)
REPLACE = Schema(COLUMNS, neighbors="replace")
Rows = list[dict[str, Any]]


def typed_rows(count: int = 600, seed: int = 1) -> Rows:
    """Numbers as numbers: repeated people, missing cells, out of range, undeclared categories."""
    rng = np.random.default_rng(seed)
    rows = []
    for _ in range(count):
        x = rng.choice([rng.normal(20, 30), np.nan, np.inf, -np.inf, -0.0, 1e300, float(rng.integers(0, 4))])
        rows.append(
            {
                "id": None if rng.random() < 0.05 else int(rng.integers(-5, 60)),
                "x": None if rng.random() < 0.1 else float(x),
                "visits": None if rng.random() < 0.1 else int(rng.choice([3, 4, 49, 99, -7, 10**17])),
                "sex": rng.choice(["f", "m", "q", "", None]),
                "ward": None if rng.random() < 0.1 else int(rng.integers(0, 5)),
            }
        )
    return rows


def text_rows(count: int = 600, seed: int = 2) -> Rows:
    """Everything as text, some of it nonsense, with ids that are words."""
    rng = np.random.default_rng(seed)
    cells = ["3.5", "abc", " 7 ", "1e400", "-inf", "nan", "+4", "1_0", "0x1", "٣", ".5", "5.", "--1", "", None, "true"]
    return [
        {
            "id": rng.choice([f"p{rng.integers(0, 40)}", str(rng.integers(0, 20)), "007", "", None]),
            "x": rng.choice(cells),
            "visits": rng.choice(cells),
            "sex": rng.choice(["f", "m", "F", "f ", "", None, "é"]),
            "ward": rng.choice(["1", "2", "3", "4", "1.0", "", None]),
        }
        for _ in range(count)
    ]


TABLES: dict[str, Rows] = {"typed": typed_rows(), "text": text_rows()}


def arrow_table(rows: Rows) -> pa.Table:
    numbers = not any(isinstance(row["x"], str) for row in rows)
    kinds = {"id": pa.int64(), "x": pa.float64(), "visits": pa.int64(), "sex": pa.string(), "ward": pa.int32()}
    return pa.table({k: pa.array([r[k] for r in rows], t if numbers else pa.string()) for k, t in kinds.items()})


def in_database(address: str, table: pa.Table, name: str) -> str:
    """The address of a new table in a database with these rows."""
    words = {pa.int64(): "bigint", pa.int32(): "integer", pa.float64(): "double precision", pa.string(): "text"}
    columns = ", ".join(f'"{field.name}" {words[field.type]}' for field in table.schema)
    url = sqlalchemy.make_url(address)
    url = url if url.drivername == "sqlite" else url.set(drivername="postgresql+psycopg")
    engine = sqlalchemy.create_engine(url, poolclass=sqlalchemy.pool.NullPool)
    with engine.begin() as connection:
        connection.exec_driver_sql(f"CREATE TABLE {name} ({columns})")
        if table.num_rows:
            slots = ", ".join(f":{field}" for field in table.column_names)
            connection.execute(sqlalchemy.text(f"INSERT INTO {name} VALUES ({slots})"), table.to_pylist())
    engine.dispose()
    return f"{address}{'&' if '?' in address else '?'}table={name}"


@pytest.fixture
def opened(tmp_path: Path, request: pytest.FixtureRequest) -> Callable[..., Any]:
    """``opened(kind, rows, schema)``: the same rows as a source of any kind."""

    def make(kind: str, rows: Rows, schema: Schema, **options: Any) -> Any:
        table = arrow_table(rows)
        if kind == "numpy":
            made: Any = {name: np.array([row[name] for row in rows], object) for name in table.column_names}
        elif kind == "pandas":
            made = table.to_pandas()
        elif kind == "polars":
            made = pl.from_arrow(table)
        elif kind == "arrow":
            made = table
        elif kind == "csv":
            made = tmp_path / "table.csv"
            with made.open("w", newline="", encoding="utf-8") as out:
                writer = csv.writer(out)
                writer.writerow(table.column_names)
                writer.writerows([row[name] for name in table.column_names] for row in rows)
        elif kind == "parquet":
            made = tmp_path / "table.parquet"
            pyarrow.parquet.write_table(table, made)
        elif kind in ("remote", "dataset"):
            (tmp_path / "parts").mkdir(exist_ok=True)
            half = table.num_rows // 2
            pyarrow.parquet.write_table(table.slice(0, half), tmp_path / "parts" / "a.parquet")
            pyarrow.parquet.write_table(table.slice(half), tmp_path / "parts" / "b.parquet")
            made = f"file://{tmp_path}/parts" if kind == "remote" else pyarrow.dataset.dataset(tmp_path / "parts")
        elif kind in ("postgres", "sqlite"):
            address = request.getfixturevalue("server") if kind == "postgres" else f"sqlite:///{tmp_path}/table.db"
            made = in_database(address, table, f"t{uuid.uuid4().hex}")
            options = {"version": "one"} | options
        else:
            made = request.getfixturevalue("spark").createDataFrame(table).repartition(4)
            options = {"version": "one"} | options
        return open_source(made, schema, **options)

    return make
