"""What is left out of a copy leaves no trace in it: not in its bytes, its types, its size or its dictionaries."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet
import pytest

from discreet.protect import Hierarchy, anonymize, mondrian

LEVELS = {"age": Hierarchy.intervals(0, 100, [10]), "job": Hierarchy.tree({"a": ["*"], "b": ["*"], "c": ["*"], "d": ["*"]})}
ROWS = 40
# One row is left out: alone with its job. Its other cells, and all of a column that is dropped, are these or those.
LEFT_OUT: list[dict[str, Any]] = [
    {"job": "c", "ill": "flu", "paid": 7, "note": "x", "gone": 1},
    {"job": "d", "ill": "a disease that nobody else of the table has", "paid": 10**12, "note": None, "gone": 10**12},
]


def table(kind: str, cells: dict[str, Any], folder: Path) -> Any:
    rows = {
        "age": [30 + row % 3 for row in range(ROWS)],
        "job": ["ab"[row % 2] for row in range(ROWS)],
        "ill": [["flu", "cold"][row // 2 % 2] for row in range(ROWS)],
        "paid": [row % 5 for row in range(ROWS)],
        "note": [f"n{row % 4}" for row in range(ROWS)],
        "gone": [cells["gone"]] * ROWS,
    }
    for name, value in ({"age": 31} | cells).items():
        rows[name].insert(17, value)
    if kind == "dict":
        return rows
    if kind.startswith("pandas"):
        frame = pd.DataFrame(rows, index=[f"row {row} of {cells['ill']}" for row in range(ROWS + 1)])
        frame.attrs["source"] = cells["ill"]
        return frame.astype({"job": "category", "ill": "category"}) if kind.endswith("categories") else frame
    if kind.startswith("polars"):
        frame = pl.DataFrame(rows)
        if kind.endswith("categories"):
            return frame.with_columns(
                pl.col("ill").cast(pl.Enum(sorted({*rows["ill"]}))), pl.col("job").cast(pl.Categorical)
            )
        return frame
    given = pa.table(rows, metadata={"about": cells["ill"]})
    if kind == "dictionaries":
        return given.set_column(2, "ill", given["ill"].dictionary_encode()).set_column(
            1, "job", given["job"].dictionary_encode()
        )
    if kind == "csv":
        pd.DataFrame(rows).to_csv(folder / "in.csv", index=False)
    if kind == "parquet":
        pyarrow.parquet.write_table(given, folder / "in.parquet", use_dictionary=True)
    return folder / f"in.{kind}" if kind in ("csv", "parquet") else given


def bytes_of(native: Any) -> bytes:
    if isinstance(native, pa.Table):
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, native.schema) as out:
            out.write_table(native)
        return sink.getvalue().to_pybytes()
    if isinstance(native, pl.DataFrame):
        return pickle.dumps([(name, native[name].dtype, native[name].cast(pl.String).to_list()) for name in native.columns])
    if isinstance(native, pd.DataFrame):
        return pickle.dumps([native.dtypes.astype(str).to_dict(), native.attrs, list(native.index), native.to_csv()])
    return pickle.dumps({name: (str(column.dtype), column.tolist()) for name, column in native.items()})


KINDS = [
    "dict",
    "pandas",
    "pandas with categories",
    "polars",
    "polars with categories",
    "arrow",
    "dictionaries",
    "csv",
    "parquet",
]


@pytest.mark.parametrize("local", [False, True])
@pytest.mark.parametrize("kind", KINDS)
def test_cells_that_are_left_out_change_no_byte_of_a_copy(kind: str, local: bool, tmp_path: Path) -> None:
    """The copies of two tables that differ in what is left out alone are the same, in memory and in files, to the byte."""
    made = []
    for number, cells in enumerate(LEFT_OUT):
        folder = tmp_path / str(number)
        folder.mkdir()
        if local:  # nothing is suppressed: the tables differ in the column that is dropped
            only = LEFT_OUT[0] | {"gone": cells["gone"]}
            copy: Any = mondrian(table(kind, only, folder), ["age", "job"], LEVELS, 1, drop=["gone"])
        else:
            copy = anonymize(table(kind, cells, folder), ["age", "job"], LEVELS, 5, suppression=0.1, drop=["gone"])
            assert (copy.levels, copy.suppressed) == ({"age": 0, "job": 0}, 1)
        files = [copy.write(folder / f"out.{ending}", seed=1).read_bytes() for ending in ("csv", "parquet")]
        made.append([bytes_of(copy.copy(seed=1)), bytes_of(copy.copy("kept")), *files])
    assert made[0] == made[1]
