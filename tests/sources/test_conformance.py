"""Every kind of source gives the records that a slow reading of the table gives."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from discreet.core.query import evaluate_together
from discreet.core.schema import Real, Schema
from discreet.sources.choosing import DEFAULT_SALT
from discreet.statistics.question import Table, build
from tests.sources.conftest import COLUMNS, KINDS, REPLACE, ROWLESS, SCHEMA, TABLES
from tests.sources.folds import everything
from tests.sources.oracle import code, kept_rows, person_hash

Opened = Callable[..., Any]
LOCAL = [kind for kind in KINDS if kind != "spark"]


@pytest.mark.parametrize("name", TABLES)
@pytest.mark.parametrize("kind", KINDS)
def test_capped_records_are_those_of_the_oracle(kind: str, name: str, opened: Opened) -> None:
    rows = TABLES[name]
    source = opened(kind, rows, SCHEMA, batch_rows=64)
    for columns in [["x", "ward"]] if kind == "spark" else [["x"], ["ward", "x"], ["sex", "visits", "x", "ward"]]:
        found, people, torn = source.fold(*everything(columns))
        assert found == kept_rows(rows, columns, SCHEMA, DEFAULT_SALT)
        assert people == {person_hash(row["id"], DEFAULT_SALT) for row in rows}
        assert not torn  # whole people in every batch
        per_person: Counter[int] = Counter()
        for row, count in found.items():
            per_person[row[0]] += count
        assert max(per_person.values()) == SCHEMA.max_rows


@pytest.mark.parametrize("kind", LOCAL)
@pytest.mark.parametrize("schema", [ROWLESS, REPLACE], ids=["add_remove", "replace"])
def test_records_without_people(kind: str, schema: Schema, opened: Opened) -> None:
    for rows in TABLES.values():
        columns = ["sex", "visits", "ward", "x"]
        found, _, _ = opened(kind, rows, schema, batch_rows=100).fold(*everything(columns, person=False))
        assert found == Counter((0, *(code(row[c], c, schema) for c in sorted(columns))) for row in rows)


@pytest.mark.parametrize("kind", LOCAL)
@pytest.mark.parametrize("batch_rows", [1, 7, 10_000])
def test_order_of_rows_and_size_of_batches_do_not_matter(kind: str, batch_rows: int, opened: Opened) -> None:
    rows = TABLES["typed"]
    shuffled = [rows[i] for i in np.random.default_rng(3).permutation(len(rows))]
    one = opened(kind, rows, SCHEMA).fold(*everything(["visits", "sex"]))
    other = opened(kind, shuffled, SCHEMA, batch_rows=batch_rows).fold(*everything(["visits", "sex"]))
    assert one[0] == other[0]
    assert not other[2]


@pytest.mark.parametrize("kind", KINDS)
def test_where_comes_before_the_cap(kind: str, opened: Opened) -> None:
    rows = TABLES["text"]
    source = opened(kind, rows, SCHEMA, batch_rows=50).where(sex=["f", "x"], ward=1)
    wanted = [r for r in rows if code(r["sex"], "sex", SCHEMA) in (0, 2) and code(r["ward"], "ward", SCHEMA) == 0]
    assert source.fold(*everything(["x"]))[0] == kept_rows(wanted, ["x"], SCHEMA, DEFAULT_SALT)


@pytest.mark.parametrize("kind", KINDS)
def test_a_split_divides_the_people(kind: str, opened: Opened) -> None:
    rows = TABLES["typed"]
    source = opened(kind, rows, SCHEMA, batch_rows=64)
    parts = [part.fold(*everything(["x"])) for part in source.split(3)]
    people = [part[1] for part in parts]
    assert sum(map(len, people)) == len(set().union(*people)) == len({row["id"] for row in rows})
    assert all(people)
    assert sum((part[0] for part in parts), Counter()) == kept_rows(rows, ["x"], SCHEMA, DEFAULT_SALT)


def test_engines_and_parts_agree(opened: Opened) -> None:
    parts = {}
    for kind in KINDS:
        part = opened(kind, TABLES["typed"], SCHEMA).split(2)[1]
        part = part if kind == "spark" else part.split(2)[0]
        parts[kind] = part.fold(*everything(["x"]))[1]
    whole = opened("numpy", TABLES["typed"], SCHEMA).split(2)[1].fold(*everything(["x"]))[1]
    assert parts.pop("spark") == whole
    assert len({frozenset(people) for people in parts.values()}) == 1
    assert 0 < len(parts["numpy"]) < len(whole)  # a part of a part is neither all of it nor nothing


@pytest.mark.parametrize("kind", KINDS)
def test_an_empty_table_is_one_empty_batch(kind: str, opened: Opened) -> None:
    columns = list(COLUMNS)
    found, people, _ = opened(kind, [], SCHEMA).fold(*everything(columns))
    assert not found
    assert not people
    if opened(kind, [], REPLACE).numbered:
        assert opened(kind, [], REPLACE).split(2)[1].where(sex="f").fold(lambda b: b.size, int.__add__, []) == 0


@pytest.mark.parametrize("kind", LOCAL)
def test_a_table_of_missing_cells_is_answered(kind: str, opened: Opened) -> None:
    rows = [dict.fromkeys(["id", *COLUMNS]) for _ in range(9)]
    found, people, _ = opened(kind, rows, SCHEMA).fold(*everything(["x", "sex"]))
    assert not sum(found.values())  # rows without an id are nobody's
    assert len(people) == 1


def test_spark_rows_without_people(opened: Opened) -> None:
    rows = TABLES["typed"]
    source = opened("spark", rows, ROWLESS)
    columns = ["x", "visits"]
    everyone = Counter((0, *(code(row[c], c, ROWLESS) for c in sorted(columns))) for row in rows)
    parts = [part.fold(*everything(columns, person=False))[0] for part in source.split(2)]
    assert parts[0] + parts[1] == everyone
    sample = source.sample(0.5)
    found = sample.fold(*everything(columns, person=False))[0]
    assert found <= everyone
    # Binomial(600, 1/2): further than 4.9 standard deviations from the mean once in a million.
    assert abs(sum(found.values()) - 300) < 4.9 * math.sqrt(150)


def test_people_and_expressions_on_every_source(opened: Opened) -> None:
    """What people amount to, by group, filter and derived column: the same whole numbers wherever the table lies."""
    schema = Schema({**COLUMNS, "ratio": Real(-5, 5, formula="x / visits")}, person="id", max_rows=3)
    asked: list[tuple[str, tuple[str, ...], dict[str, Any]]] = [
        ("count_people", (), {}),
        ("count_people", (), {"by": ["sex", "bins(x, [-10, 0, 20, 50])"]}),
        ("people_sum", ("x",), {"clip": [-20, 90], "by": "ward"}),
        ("people_mean", ("ratio",), {"each": "mean", "by": "visits > 4"}),
        ("count_distinct", ("visits",), {}),
        ("count_distinct", ("sex",), {}),
        ("top", ("ward",), {"k": 2}),
    ]
    queries = [build(name, Table(schema), *args, **options).query for name, args, options in asked]
    found = {}
    for kind in KINDS:
        source = opened(kind, TABLES["typed"], schema).where(**schema.condition("x > -5 or missing(x)"))
        values = evaluate_together(queries, source)
        found[kind] = [np.asarray(getattr(value, "counts", value)).tolist() for value in values]
    assert all(each == found["numpy"] for each in found.values())
