"""Tables in memory: no copies, refusals before any record is read, versions."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pandas as pd
import polars as pl
import pytest

from discreet.core.schema import Integer, Real, Schema
from discreet.errors import InvalidRequest, UnknownName
from discreet.sources import open_source

SCHEMA = Schema({"x": Real(0, 1), "y": Integer(0, 9)})


def test_doubles_are_handed_out_without_a_copy_and_cannot_be_written() -> None:
    x = np.arange(600_000.0)
    frame = pd.DataFrame({"x": x, "y": 1})
    tables = [({"x": x, "y": x}, x), (frame, frame["x"].to_numpy()), (pl.DataFrame({"x": x, "y": x}), None)]
    for table, memory in tables:
        views = open_source(table, SCHEMA).fold(lambda b: [b.numeric("x")], list.__add__, ["x"])
        assert [len(view) for view in views] == [1 << 19, 600_000 - (1 << 19)]
        assert not any(view.flags.writeable for view in views)
        if memory is not None:
            assert all(np.shares_memory(view, memory) for view in views)
    assert x.flags.writeable


def test_arrays_take_the_columns_of_the_schema_in_order() -> None:
    table = np.array([[1.0, 2.0], [3.0, 4.0]])
    assert open_source(table, SCHEMA).fold(lambda b: b.numeric("y").tolist(), list.__add__, ["y"]) == [2, 4]
    one = Schema({"x": Real(0, 1)})
    assert open_source(np.array([5.0]), one).fold(lambda b: b.numeric("x").tolist(), list.__add__, ["x"]) == [5]
    people = Schema({"x": Real(0, 1)}, person="id", max_rows=1)
    found = open_source(np.array([[5.0, 1], [5.0, 1]]), people).fold(lambda b: int(b.kept(["x"]).sum()), int.__add__, ["x"])
    assert found == 1
    with pytest.raises(InvalidRequest, match="one column for each of x, y, got 1"):
        open_source(np.array([5.0]), SCHEMA)
    with pytest.raises(InvalidRequest, match="one or two dimensions"):
        open_source(np.zeros((1, 1, 1)), SCHEMA)


def test_a_person_may_be_a_declared_column() -> None:
    schema = Schema({"id": Integer(0, 9)}, person="id", max_rows=1)
    assert open_source({"id": [3, 3, 4]}, schema).fold(lambda b: int(b.kept(["id"]).sum()), int.__add__, ["id"]) == 2


def test_tables_that_do_not_fit_are_refused() -> None:
    with pytest.raises(UnknownName, match=r"no column 'y'; of the declared columns it has 'x'"):
        open_source({"x": [1], "yy": [2]}, SCHEMA)
    with pytest.raises(InvalidRequest, match="one length"):
        open_source({"x": [1], "y": [2, 3]}, SCHEMA)
    with pytest.raises(InvalidRequest, match="one dimension"):
        open_source({"x": np.zeros((2, 2)), "y": [2, 3]}, SCHEMA)
    for table in (3, object(), pl.DataFrame({"x": [1], "y": [1]}).lazy()):
        with pytest.raises(InvalidRequest, match="table must be"):
            open_source(table, SCHEMA)
    with pytest.raises(InvalidRequest, match="must be a Schema"):
        open_source({}, {})  # type: ignore[arg-type]


def test_the_version_is_the_custodians_word() -> None:
    """Nothing of the content is in it: two sources of one table differ, unless the custodian says they do not."""
    table = {"x": [0.1], "y": [1]}

    def version(schema: Schema = SCHEMA, **options: str) -> str:
        return open_source(table, schema, **options).version  # type: ignore[arg-type]

    assert version() != version()
    assert version(version="may") == version(version="may")
    source = open_source(table, SCHEMA, version="may")
    assert source.version == source.version
    others = [version(version="june"), version(Schema({"x": Real(0, 2), "y": Integer(0, 9)}), version="may")]
    others += [*(part.version for part in source.split(2)), source.sample(0.5).version]
    assert len({source.version, *others}) == 1 + len(others)
    with pytest.raises(InvalidRequest, match="version"):
        open_source(table, SCHEMA, version="")


def test_cells_that_crash_arrow_are_read_one_at_a_time() -> None:
    cells = [np.complex128(1), np.datetime64("2020-01-01"), np.timedelta64(1, "D"), 3.0]
    source = open_source({"x": np.array(cells, object), "y": cells}, SCHEMA)
    assert source.fold(lambda b: b.size, int.__add__, ["x", "y"]) == 4


def test_other_libraries_are_loaded_only_when_used() -> None:
    code = "import sys, discreet.sources; print([m for m in ('pandas', 'polars', 'pyspark', 'duckdb') if m in sys.modules])"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"
