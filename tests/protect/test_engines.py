"""The same copy and the same tokens in memory, from files and on Spark; files whole or not at all."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import narwhals as nw
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest

from discreet.errors import InvalidRequest, UnknownName, UnsupportedFormat
from discreet.protect import Hierarchy, Pseudonymizer, anonymize, check
from discreet.protect.keys import FileKeys

from .kill import open_vault

HIERARCHIES = {
    "age": Hierarchy.intervals(0, 100, [10, 50]),
    "zip": Hierarchy.prefixes(3),
    "sex": Hierarchy.tree({"f": ["*"], "m": ["*"]}),
}
NAMES = list(HIERARCHIES)


@pytest.fixture(scope="module")
def rows() -> pa.Table:
    rng = np.random.default_rng(3)
    n = 400
    return pa.table(
        {
            "id": pa.array([f"p{i}" for i in range(n)]),
            "age": pa.array(rng.integers(0, 100, n), mask=rng.random(n) < 0.05),
            "zip": pa.array([f"{z:03}" for z in rng.integers(0, 300, n)]),
            "sex": pa.array(rng.choice(["f", "m"], n)),
            "ill": pa.array(rng.choice(["flu", "cold", "ulcer"], n)),
        }
    )


@pytest.fixture(params=["dict", "pandas", "polars", "arrow", "csv", "parquet", "spark"])
def table(request: pytest.FixtureRequest, rows: pa.Table, tmp_path: Path) -> Any:
    if request.param == "spark":
        return request.getfixturevalue("spark").createDataFrame(rows).repartition(3)
    if request.param == "csv":
        pyarrow.csv.write_csv(rows, tmp_path / "t.csv")
        return tmp_path / "t.csv"
    if request.param == "parquet":
        for part in range(2):
            pyarrow.parquet.write_table(rows.slice(part * 200, 200), tmp_path / f"t{part}.parquet")
        return [tmp_path / "t0.parquet", tmp_path / "t1.parquet"]
    kinds = {"dict": rows.to_pydict, "pandas": rows.to_pandas, "polars": lambda: pl.from_arrow(rows), "arrow": lambda: rows}
    return kinds[request.param]()


def texts(table: Any) -> list[tuple[str, ...]]:
    """The rows as sorted texts, whole numbers without a point and missing cells as None, whatever holds them."""
    if isinstance(table, dict):
        columns = {name: column.tolist() for name, column in table.items()}
    else:
        frame = nw.from_native(table.toArrow() if hasattr(table, "toArrow") else table, eager_only=True)
        columns = {name: frame[name].to_list() for name in frame.columns}
    return sorted(zip(*([_text(cell) for cell in columns[name]] for name in sorted(columns)), strict=True))


def _text(cell: Any) -> str:
    missing = cell is None or cell is pd.NA or cell != cell  # noqa: PLR0124
    return "None" if missing else str(int(cell)) if isinstance(cell, float) else str(cell)


def test_same_copy_on_every_engine(table: Any, rows: pa.Table) -> None:
    request = {"k": 4, "sensitive": "ill", "l": 2, "suppression": 0.1, "metric": "ncp"}
    expected = anonymize(rows, NAMES, HIERARCHIES, **request)
    result = anonymize(table, NAMES, HIERARCHIES, **request)
    assert result.suppressed == expected.suppressed > 0
    assert 0 < sum(result.levels.values()) < sum(h.height for h in HIERARCHIES.values())
    assert (result.levels, result.loss, result.nodes) == (expected.levels, expected.loss, expected.nodes)
    if not isinstance(table, Path | list):
        assert type(result.table) is type(table)
    made = result.table.toArrow() if hasattr(result.table, "toArrow") else result.table
    assert texts(made) == texts(expected.table)
    found = check(made, NAMES, "ill")
    assert (found.k >= 4, found.l) == (True, 2)
    assert check(table, NAMES, "ill") == check(rows, NAMES, "ill")


def test_same_tokens_on_every_engine(table: Any, rows: pa.Table, tmp_path: Path) -> None:
    pseudonyms = Pseudonymizer(["person"], FileKeys.create(tmp_path / "k.json"))
    made = pseudonyms.table(table, "lab", "visits", columns={"person": "id"})
    expected = pseudonyms.tokens(rows["id"].to_pylist(), "lab", "visits")
    plain = rows.drop_columns(["id"]).append_column("token", pa.array(expected))
    assert texts(made) == texts(plain)


def test_untouched_columns_keep_their_types_and_an_index_goes() -> None:
    frame = pd.DataFrame(
        {
            "size": np.float32([1, 1, 2, 2]),
            "age": [1, 2, 30, 40],
            "when": pd.to_datetime(["2020-01-01"] * 4),
            "c": pd.Categorical(list("aabb")),
        }
    )
    frame.index = [7, 8, 9, 5]
    levels = {"age": Hierarchy.intervals(0, 50, [25]), "size": Hierarchy.intervals(0, 9, [3])}
    result = anonymize(frame, ["age", "size"], levels, 2).copy(order="kept")
    assert result["size"].dtype == np.float32
    assert (result["when"].dtype, result["c"].dtype, list(result.index)) == (
        frame["when"].dtype,
        frame["c"].dtype,
        [0, 1, 2, 3],
    )
    assert result["age"].tolist() == ["[0, 25)", "[0, 25)", "[25, 50]", "[25, 50]"]
    assert frame["age"].tolist() == [1, 2, 30, 40]


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_write_streams_a_whole_file_or_none(kind: str, rows: pa.Table, tmp_path: Path) -> None:
    pyarrow.parquet.write_table(rows, tmp_path / "t.parquet")
    result = anonymize(tmp_path / "t.parquet", NAMES, HIERARCHIES, 4, suppression=0.1)
    seen: list[int] = []
    out = result.write(tmp_path / f"out.{kind}", seen.append)
    assert seen[-1] == 400
    assert out.stat().st_mode & 0o777 == 0o600
    made = pyarrow.csv.read_csv(out) if kind == "csv" else pyarrow.parquet.read_table(out)
    assert made.num_rows == 400 - result.suppressed
    assert check(out, NAMES).k == check(result.table, NAMES).k >= 4
    with pytest.raises(InvalidRequest, match="must not exist yet"):
        result.write(out)
    # As many rows in another order: only the file's own facts can tell.
    pyarrow.parquet.write_table(rows.take(list(range(399, -1, -1))), tmp_path / "t.parquet")
    before = sorted(tmp_path.iterdir())
    with pytest.raises(InvalidRequest, match="must not change"):
        result.write(tmp_path / f"other.{kind}")
    assert sorted(tmp_path.iterdir()) == before


def test_a_frame_that_changed_is_not_written(rows: pa.Table, tmp_path: Path) -> None:
    frame = rows.to_pandas()
    result = anonymize(frame, NAMES, HIERARCHIES, 4, suppression=0.1)
    frame.loc[1000] = frame.loc[0]
    with pytest.raises(InvalidRequest, match="must not change while it is copied"):
        result.write(tmp_path / "out.csv")
    assert not list(tmp_path.iterdir())


def test_bad_files(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("age,zip\n1,001\n2,002,extra,cells\n")
    with pytest.raises(UnsupportedFormat, match="no record"):
        anonymize(tmp_path / "t.csv", ["age"], HIERARCHIES, 1)
    (tmp_path / "u.csv").write_bytes(b"age\n\xff\xfe\n")
    with pytest.raises(UnsupportedFormat):
        check(tmp_path / "u.csv", ["age"])
    with pytest.raises(InvalidRequest, match="exists"):
        check(tmp_path / "none.csv", ["age"])


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"k": 0}, "k must be a whole number of at least 1, got 0"),
        ({"k": 5}, "k must not be larger than the table, got k=5 for 4 rows"),
        ({"quasi_identifiers": []}, "at least one column"),
        ({"quasi_identifiers": ["age", "age"]}, "named once"),
        ({"quasi_identifiers": ["agee"]}, "no column 'agee'; did you mean 'age'"),
        ({"quasi_identifiers": ["ill"]}, "'ill' has none"),
        ({"hierarchies": {"age": 3}}, "must be a Hierarchy"),
        ({"hierarchies": {"age": Hierarchy.intervals(5, 50, [5])}}, "column 'age': every value must be covered"),
        ({"suppression": 1}, r"\[0, 1\), got 1"),
        ({"suppression": float("nan")}, "finite"),
        ({"metric": "beauty"}, "no metric is called 'beauty'"),
        ({"l": 2}, "need a sensitive column"),
        ({"l": 2, "sensitive": "age"}, "named once"),
        ({"l": 1.5, "sensitive": "ill"}, "whole number"),
        ({"l": 3, "sensitive": "ill"}, "'ill' blocks"),
        ({"t": 2, "sensitive": "ill"}, r"t must lie in \[0, 1\]"),
        ({"t": 0.2, "sensitive": "ill", "order": ["flu"]}, "list every sensitive value"),
        ({"t": 0.2, "sensitive": "ill", "order": "numeric"}, "numbers"),
        ({"l": 2, "sensitive": "ill", "diversity": "many"}, "distinct, entropy or recursive"),
        ({"l": 2, "sensitive": "ill", "diversity": "recursive"}, "c must be given"),
        ({"c": 2}, "c must be given for recursive"),
        ({"weights": {"zip": 2}}, "quasi-identifier, got 'zip'"),
        ({"weights": {"age": 0}}, "positive"),
        ({"weights": {"age": 2}, "metric": "discernibility"}, "no column weights"),
        ({"at_most": {"age": 9}}, "level must be 0 to 2"),
        ({"at_most": {"age": 0}, "k": 2}, r"the columns \['age'\] block; raise at_most"),
        ({"table": 7}, "table must be"),
        ({"table": {"age": [1, 2], "ill": ["flu"]}}, "table must be"),
    ],
)
def test_refusals(change: dict[str, Any], says: str) -> None:
    request: dict[str, Any] = {
        "table": {"age": [1, 2, 3, 4], "ill": ["flu", "cold", "flu", "cold"]},
        "quasi_identifiers": ["age"],
        "hierarchies": {"age": Hierarchy.intervals(0, 50, [5])},
        "k": 1,
    }
    with pytest.raises((InvalidRequest, UnknownName), match=says):
        anonymize(**request | change)


def test_check_risks() -> None:
    """By hand: groups of 1, 2 and 3 rows out of populations of 4, 2 and 10."""
    sample = {"q": ["a", "b", "b", "c", "c", "c"], "s": [1, 1, 2, 1, 1, 2]}
    people = {"q": ["a"] * 4 + ["b"] * 2 + ["c"] * 10}
    found = check(sample, ["q"], "s", population=people, order="numeric")
    assert (found.k, found.l, found.groups, found.rows) == (1, 1, 3, 6)
    assert found.prosecutor == 1
    assert found.prosecutor_mean == 0.5
    assert found.journalist == 0.5
    assert found.marketer == pytest.approx((1 / 4 + 2 / 2 + 3 / 10) / 6)
    assert found.t == pytest.approx(1 / 3)
    assert found.recursive_c == float("inf")
    assert found.entropy_l == pytest.approx(1)
    assert check(sample, ["q"]).journalist == 1
    with pytest.raises(InvalidRequest, match="population must hold everyone"):
        check(sample, ["q"], population={"q": ["a", "b", "c"]})
    with pytest.raises(InvalidRequest, match="without rows"):
        check({"q": []}, ["q"])


def test_homogeneity_needs_diversity() -> None:
    """What k alone does not give: a group of two that share their illness gives it away, and l = 2 mends it."""
    table = {"age": [31, 32, 41, 42], "ill": ["hiv", "hiv", "flu", "cold"]}
    levels = {"age": Hierarchy.intervals(0, 100, [10])}
    blind = anonymize(table, ["age"], levels, 2)
    assert (blind.levels["age"], check(blind.table, ["age"], "ill").l) == (1, 1)
    assert anonymize(table, ["age"], levels, 2, sensitive="ill", l=2).levels["age"] == 2


def test_a_person_is_taken_out_of_a_spark_table_and_spark_reads_on(spark: Any, tmp_path: Path) -> None:
    """In parts and folders as Spark writes them, also in those that come later; its checksums go with what they were of."""
    FileKeys.create(tmp_path / "keys.json")
    rows = [(f"p{i % 10}", i, 2020 + i % 2) for i in range(60)]
    place = str(tmp_path / "the visits")

    def write(part: list[Any], mode: str) -> None:
        spark.createDataFrame(part, "id string, day int, year int").write.mode(mode).partitionBy("year").parquet(place)

    write(rows[:40], "overwrite")
    facts: dict[str, Any] = {"purpose": "care", "categories": ["health"], "retention": "10 years"}
    with open_vault(tmp_path) as vault:
        vault.register("visits", spark.read.parquet(place), **facts)
        write(rows[40:], "append")
        assert vault.access("p3").rows["visits"].num_rows == 6
        vault.erase("p3")
    spark.catalog.clearCache()
    left = spark.read.parquet(place).collect()
    assert sorted((r.id, r.day, r.year) for r in left) == sorted(row for row in rows if row[0] != "p3")
