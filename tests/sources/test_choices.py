"""Splits and samples: who is chosen, how often, and who is touched by one person more."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest

from discreet.core.schema import Real, Schema
from discreet.errors import InvalidRequest, UnknownName
from discreet.sources import choosing, open_source
from tests.sources.conftest import REPLACE, ROWLESS, SCHEMA, TABLES
from tests.sources.folds import everything

NUMBERED = {"x": Real(0, 2**20)}


def values(source: Any) -> list[float]:
    found: list[float] = source.fold(lambda b: b.numeric("x").tolist(), lambda a, b: a + b, ["x"])
    return found


def kinds(tmp_path: Path, count: int) -> list[Any]:
    """Row numbers as values, in memory and in two kinds of file."""
    x = np.arange(count, dtype=float)
    pyarrow.parquet.write_table(pa.table({"x": x}), tmp_path / "x.parquet", row_group_size=1000)
    (tmp_path / "x.csv").write_text("x\n" + "\n".join(map(str, x)) + "\n")
    return [{"x": x}, tmp_path / "x.parquet", tmp_path / "x.csv"]


def test_rows_without_people_split_by_a_label_that_stays(tmp_path: Path) -> None:
    for table in kinds(tmp_path, 9000):
        parts = open_source(table, Schema(NUMBERED), batch_rows=700).split(3)
        found = [values(part) for part in parts]
        assert sorted(x for part in found for x in part) == list(range(9000))
        assert [sorted(values(part)) for part in parts] == [sorted(part) for part in found]
        # Binomial(9000, 1/3): 4.9 standard deviations, once in a million.
        assert all(abs(len(part) - 3000) < 4.9 * math.sqrt(2000) for part in found)


def test_under_replace_a_row_number_decides(tmp_path: Path) -> None:
    for table in kinds(tmp_path, 5000):
        parts = open_source(table, Schema(NUMBERED, neighbors="replace"), batch_rows=700).split(3)
        for remainder, part in enumerate(parts):
            assert sorted(values(part)) == list(range(remainder, 5000, 3))


def test_a_sample_takes_each_row_with_the_rate(tmp_path: Path) -> None:
    for table in kinds(tmp_path, 20_000):
        source = open_source(table, Schema(NUMBERED))
        first, second = source.sample(0.3), source.sample(0.3)
        assert sorted(values(first)) == sorted(values(first))
        assert sorted(values(first)) != sorted(values(second))
        both = len(set(values(first)) & set(values(second)))
        assert abs(len(values(first)) - 6000) < 4.9 * math.sqrt(20_000 * 0.3 * 0.7)
        assert abs(both - 1800) < 4.9 * math.sqrt(20_000 * 0.09 * 0.91)
        assert len(values(source.sample(1))) == 20_000


def test_a_sample_takes_whole_people() -> None:
    rng = np.random.default_rng(4)
    table = {"id": rng.permutation(np.repeat(np.arange(20_000), 2)), "x": np.ones(40_000)}
    source = open_source(table, Schema(NUMBERED, person="id", max_rows=2)).sample("0.3")
    found, who, torn = source.fold(*everything(["x"]))
    assert sum(found.values()) == 2 * len(who)
    assert not torn
    assert abs(len(who) - 6000) < 4.9 * math.sqrt(20_000 * 0.3 * 0.7)


def test_one_person_more_changes_one_part() -> None:
    rows = TABLES["typed"]
    more = [*rows, *({**rows[0], "id": 1000, "x": float(i)} for i in range(5))]
    columns = {name: [row[name] for row in more] for name in rows[0]}
    fewer = {name: cells[: len(rows)] for name, cells in columns.items()}
    parts = [open_source(table, SCHEMA).split(4) for table in (fewer, columns)]
    changed = [
        one.fold(*everything(["x"]))[0] != other.fold(*everything(["x"]))[0] for one, other in zip(*parts, strict=True)
    ]
    assert sum(changed) == 1


def test_a_cap_does_not_favour_values() -> None:
    """People with the rows 0 and 1 keep either: with one hash for all they would all keep the same."""
    count = 4000
    table = {"id": np.repeat(np.arange(count), 2), "x": np.tile([0.0, 1.0], count)}
    schema = Schema({"x": Real(0, 1)}, person="id", max_rows=1)
    ones = open_source(table, schema).fold(lambda b: int(b.numeric("x")[b.kept(["x"])].sum()), int.__add__, ["x"])
    assert abs(ones - count / 2) < 4.9 * math.sqrt(count / 4)


def test_hashes_that_meet_are_ordered_by_codes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(choosing, "row_hashes", lambda codes, start: np.zeros_like(start))
    keys, hashes = np.zeros(50, np.int64), np.zeros(50, np.uint64)
    codes = np.random.default_rng(5).permutation(50)
    kept = choosing.smallest_rows(keys, hashes, 3, lambda rows: [codes[rows]], lambda rows: [])
    assert sorted(codes[kept]) == [0, 1, 2]
    kept = choosing.smallest_rows(keys, hashes, 3, lambda rows: [codes[rows] // 10], lambda rows: [-codes[rows]])
    assert sorted(codes[kept]) == [7, 8, 9]


def test_which_of_two_rows_with_one_code_is_kept_depends_on_nobody_else() -> None:
    """Values beyond the bounds have one code, and are told apart by a question with wider bounds or by what is missing."""
    schema = Schema({"x": Real(0, 1, missing=1), "y": Real(-9, 9)}, person="id", max_rows=1)
    count = 300
    rows = [(who, x, 0.0) for who in range(count) for x in (1.5, 7.0, math.nan, 1.0, 3.25)]

    def look(batch: Any) -> Counter[Any]:
        picked = batch.choose(batch.kept(["x", "y"]))
        return Counter(zip(picked.identities().keys.tolist(), map(repr, picked.present("x").tolist()), strict=True))

    def kept(chosen: list[tuple[int, float, float]]) -> Counter[Any]:
        table = {name: [row[place] for row in chosen] for place, name in enumerate(("id", "x", "y"))}
        found: Counter[Any] = open_source(table, schema).fold(look, lambda a, b: a + b, ["x", "y"])
        return found

    whole = kept(rows)
    assert sum(whole.values()) == count
    rng = np.random.default_rng(6)
    for _ in range(3):
        assert kept([rows[place] for place in rng.permutation(len(rows))]) == whole
    assert kept([row for row in rows if row[0]]) == Counter({pair: times for pair, times in whole.items() if pair[0]})


def test_the_salt_changes_who_is_where() -> None:
    table = {"id": np.arange(200), "x": np.arange(200.0)}
    schema = Schema(NUMBERED, person="id", max_rows=1)
    one, other = (values(open_source(table, schema, salt=salt).split(2)[0]) for salt in (1, 2))
    assert one != other
    assert one == values(open_source(table, schema, salt=1).split(2)[0])


@pytest.mark.parametrize("schema", [REPLACE, Schema(ROWLESS.columns, neighbors="both")])
def test_spark_rows_without_numbers_are_not_split(schema: Schema, opened: Callable[..., Any]) -> None:
    with pytest.raises(InvalidRequest, match="declare person="):
        opened("spark", TABLES["typed"][:5], schema).split(2)


def test_requests_are_checked() -> None:
    source = open_source({name: [] for name in ("id", *SCHEMA.columns)}, SCHEMA)
    with pytest.raises(UnknownName, match="did you mean 'sex'"):
        source.where(sexx="f")
    with pytest.raises(UnknownName, match="no category 'q'"):
        source.where(sex=["f", "q"])
    with pytest.raises(InvalidRequest, match="a number"):
        source.where(x=1)
    with pytest.raises(InvalidRequest, match="parts must be"):
        source.split(0)
    with pytest.raises(InvalidRequest, match="rate must lie"):
        source.sample(0)
    with pytest.raises(UnknownName, match="no column is declared"):
        source.fold(lambda b: b.size, int.__add__, ["agee"])
    with pytest.raises(InvalidRequest, match="ask for its codes"):
        source.fold(lambda b: b.numeric("sex"), lambda a, b: a, ["sex"])
    with pytest.raises(UnknownName, match="was not asked for"):
        source.fold(lambda b: b.numeric("x"), lambda a, b: a, ["sex"])
