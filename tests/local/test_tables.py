"""The server half over files and a cluster: the same whole numbers as in memory."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.csv
import pyarrow.parquet
import pytest

from discreet.errors import InvalidRequest, UnsupportedFormat
from discreet.local import (
    Cube,
    DyadicTree,
    Hadamard,
    Hybrid,
    LocalHash,
    OneCoordinate,
    OptimizedUnary,
    PrivUnit,
    estimate_table,
)

LAWS = [
    (Hadamard(1, 10), np.arange(3000) % 10),
    (OptimizedUnary(1, 10), np.arange(3000) % 10),
    (LocalHash(1, 10), np.arange(3000) % 10),
    (Hybrid(1, (0, 1)), np.linspace(0, 1, 3000)),
    (Cube(1, 11), np.zeros((3000, 11))),
    (OneCoordinate(1, 11), np.zeros((3000, 11))),
    (PrivUnit(1, 3), np.zeros((3000, 3))),
    (DyadicTree(1, (0, 1), 4), np.linspace(0, 1, 3000)),
]
each = pytest.mark.parametrize(("law", "values"), LAWS, ids=lambda v: getattr(v, "name", ""))


def assert_same(found: Any, wanted: Any) -> None:
    assert (np.asarray(found.value) == np.asarray(wanted.value)).all()
    assert (np.asarray(found.standard_error) == np.asarray(wanted.standard_error)).all()
    assert found.count == wanted.count
    assert found.private is wanted.private is False


@each
def test_files(law: Any, values: Any, tmp_path: Path) -> None:
    sent = law.reports(values, seed=1)
    wanted = law.estimate(sent)
    runs = (slice(0, 1000), slice(1000, None))
    half = [replace(sent, columns={k: v[run] for k, v in sent.columns.items()}) for run in runs]
    for i, part in enumerate(half):
        pyarrow.parquet.write_table(part.to_arrow(), tmp_path / f"part{i}.parquet")
        pyarrow.csv.write_csv(part.to_arrow(text=True), tmp_path / f"part{i}.csv")
    assert_same(estimate_table(law, str(tmp_path / "*.parquet")), wanted)
    assert_same(estimate_table(law, [tmp_path / "part0.csv", tmp_path / "part1.csv"]), wanted)
    assert_same(estimate_table(law, sent.to_arrow()), wanted)


def test_files_of_another_law_and_of_nothing(tmp_path: Path) -> None:
    law, path = Hadamard(1, 10), tmp_path / "a.parquet"
    pyarrow.parquet.write_table(Hadamard("0.9", 10).reports([1] * 5).to_arrow(), path)
    with pytest.raises(InvalidRequest, match="reports must come from hadamard"):
        estimate_table(law, path)
    pyarrow.parquet.write_table(Hybrid(1).reports([1] * 5).to_arrow(), path)
    with pytest.raises(UnsupportedFormat, match="needs the columns"):
        estimate_table(law, path)
    pyarrow.parquet.write_table(law.reports([]).to_arrow(), path)
    with pytest.raises(InvalidRequest, match="at least one report"):
        estimate_table(law, path)
    path.write_text("nonsense")
    with pytest.raises(UnsupportedFormat, match="cannot be read"):
        estimate_table(law, path)
    with pytest.raises(InvalidRequest, match="file that exists"):
        estimate_table(law, tmp_path / "nowhere.parquet")


def test_private_reports_stay_private(tmp_path: Path) -> None:
    law, strange = Hadamard(1, 10), tmp_path / "a[1]*'?.parquet"
    pyarrow.parquet.write_table(law.reports([1] * 5).to_arrow(), strange)
    assert estimate_table(law, strange).private is True


def test_files_with_people_twice(tmp_path: Path) -> None:
    law = Hadamard(1, 10)
    pyarrow.parquet.write_table(law.reports([1] * 4).named("abcd").to_arrow(), tmp_path / "a.parquet")
    assert estimate_table(law, tmp_path / "a.parquet").count == 4
    pyarrow.parquet.write_table(law.reports([1] * 2).named("xd").to_arrow(), tmp_path / "b.parquet")
    with pytest.raises(InvalidRequest, match="got 1 reports too many"):
        estimate_table(law, tmp_path / "*.parquet")


def test_spark(spark: Any, tmp_path: Path) -> None:
    for law, values in (LAWS[2], LAWS[4]):  # unsigned 64 bits, and bytes
        sent = law.reports(values, seed=1)
        pyarrow.parquet.write_table(sent.to_arrow(), tmp_path / f"{law.name}.parquet")
        assert_same(estimate_table(law, spark.read.parquet(str(tmp_path / f"{law.name}.parquet"))), law.estimate(sent))
    pyarrow.parquet.write_table(law.reports(values[:3]).named("aab").to_arrow(), tmp_path / "named.parquet")
    with pytest.raises(InvalidRequest, match="got 1 reports too many"):
        estimate_table(law, spark.read.parquet(str(tmp_path / "named.parquet")))


def test_people_are_spilled_where_they_are_private_and_removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """DuckDB's own choice is a folder beside whoever calls, readable by others and left there by a killed process."""
    import duckdb

    given: list[str] = []
    connect = duckdb.connect
    monkeypatch.setattr(
        duckdb, "connect", lambda config: (given.append(config["temp_directory"]), connect(config=config))[1]
    )
    law, path = Hadamard(1, 10), tmp_path / "a.parquet"
    pyarrow.parquet.write_table(law.reports([1] * 5).to_arrow(), path)
    estimate_table(law, path)
    [folder] = given
    assert Path(folder).name.startswith("discreet-spill-")
    assert not Path(folder).exists()
