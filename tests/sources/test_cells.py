"""What a cell means, whatever it holds: nothing raises, nothing warns."""

from __future__ import annotations

import datetime as dt
import math
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.core.schema import Categories, Real, Schema
from discreet.sources import cell_meaning, open_source
from discreet.sources.ids import identities
from tests.sources.oracle import number, person_hash, text

SCHEMA = Schema({"x": Real(-5, 5), "c": Categories(["a", 1, True], other="rest")}, person="id", max_rows=2)


class Odd:
    def __eq__(self, other: object) -> bool:
        raise RuntimeError("no")

    __hash__ = None  # type: ignore[assignment]

    def __str__(self) -> str:
        raise RuntimeError("no")


ODD_CELLS = [
    None, math.nan, math.inf, -math.inf, -0.0, 10**400, -(10**400), 2**63, -(2**63), "7", " 7\t", "x", "",
    "\ud800", b"5", b"\xff",
    True, np.float32(2.5), np.int8(3), np.datetime64("NaT", "s"), np.timedelta64(3, "s"), 1j, Decimal("2.50"),
    Decimal("sNaN"), Decimal("1e999"), Fraction(1, 3), dt.date(2020, 1, 1), [1], {"a": 1}, (), pd.NA, pd.NaT, Odd(),
    object, np.array([1.0]),
]  # fmt: skip
odd = st.lists(
    st.sampled_from(ODD_CELLS) | st.integers() | st.floats() | st.text() | st.binary() | st.booleans(), max_size=12
)


def look(batch: Any) -> Any:
    assert len(batch.people) == len(batch.kept(["x", "c"])) == batch.size
    return list(zip(batch.numeric("x").tolist(), batch.codes("c").tolist(), strict=True))


@given(odd, odd, odd)
@settings(max_examples=150, deadline=None, derandomize=True)
def test_no_cell_raises_or_warns(ids: list[Any], xs: list[Any], cs: list[Any]) -> None:
    size = min(len(ids), len(xs), len(cs))
    table = {
        "id": cell_meaning.objects(ids[:size]),
        "x": cell_meaning.objects(xs[:size]),
        "c": cell_meaning.objects(cs[:size]),
    }
    found = open_source(table, SCHEMA, batch_rows=5).fold(look, lambda a, b: a + b, ["x", "c"])
    assert len(found) == size
    open_source(pd.DataFrame(table, dtype=object), SCHEMA).fold(look, lambda a, b: a + b, ["x", "c"])


def test_what_odd_cells_are_as_numbers() -> None:
    found = dict(enumerate(cell_meaning.numbers(cell_meaning.objects(ODD_CELLS)).tolist()))
    wanted = {2: math.inf, 3: -math.inf, 4: 0.0, 5: math.inf, 6: -math.inf, 7: 2.0**63, 8: -(2.0**63), 9: 7.0, 10: 7.0}
    wanted |= {14: 5.0, 16: 1.0, 17: 2.5, 18: 3.0, 22: 2.5, 24: math.inf, 25: 1 / 3}
    for place, value in found.items():
        assert value == wanted[place] if place in wanted else math.isnan(value), ODD_CELLS[place]


number_like = st.text("0123456789+-.eE _infatyNIx", max_size=8) | st.floats().map(repr) | st.text(max_size=4)


@given(st.lists(number_like, max_size=8))
@settings(max_examples=400, deadline=None, derandomize=True)
def test_text_reads_as_the_same_number_alone_and_in_company(texts: list[str]) -> None:
    texts = [t for t in texts if t.isprintable()]
    together = cell_meaning.numbers(pa.array([*texts, "nonsense"], pa.string()))[:-1]
    alone = [cell_meaning.numbers(pa.array([t], pa.string()))[0] for t in texts]
    mixed = cell_meaning.numbers(cell_meaning.objects([*texts, 1, None]))[:-2]
    plain = [number(t) for t in texts]
    for found in (alone, mixed, plain):
        np.testing.assert_array_equal(together, np.array(found, float))


@given(
    st.lists(st.one_of(st.none(), st.integers(-(2**63), 2**63 - 1), st.integers(-20, 20)), max_size=9), st.integers(0, 2**70)
)
@settings(max_examples=200, deadline=None, derandomize=True)
def test_an_id_hashes_alike_as_number_as_text_and_as_object(ids: list[int | None], salt: int) -> None:
    texts = [None if i is None else str(i) for i in ids]
    forms = [
        pa.array(ids, pa.int64()),
        pa.array(texts, pa.string()),
        pa.array(texts, pa.large_string()),
        cell_meaning.objects(ids),
    ]
    forms += [pa.array(texts, pa.string()).dictionary_encode(), pl.Series(texts, dtype=pl.String).to_arrow()]
    for form in forms:
        keys, hashes = identities(form, salt)[:2]
        assert hashes.tolist() == [person_hash(i, salt) for i in ids]
        assert [[a == b for a in keys] for b in keys] == [[a == b for a in ids] for b in ids]


@given(st.lists(st.text() | st.none(), max_size=9))
@settings(max_examples=100, deadline=None, derandomize=True)
def test_a_word_hashes_alike_everywhere(words: list[str | None]) -> None:
    words = [w for w in words if w is None or w.isprintable()]
    for form in (
        pa.array(words, pa.string()),
        cell_meaning.objects(words),
        pa.array(words, pa.string()).dictionary_encode(),
    ):
        assert identities(form, 5)[1].tolist() == [person_hash(w, 5) for w in words]


def test_labels_compare_by_canonical_text() -> None:
    for cell, wanted in [
        (1, "1"), (1.0, "1"), (True, "true"), (np.bool_(False), "false"), (Decimal("2.50"), "2.5"), (b"a", "a"), ("A", "A"),
        (-0.0, "0"), (2.5, "2.5"), ("", None), (None, None), (math.nan, None), (pd.NA, None), (pd.NaT, None), (Odd(), None),
    ]:  # fmt: skip
        assert cell_meaning.label(cell) == wanted
    assert text(1.0) == "1"
    lookup = Categories([True, False]).lookup()
    assert cell_meaning.codes(np.array(["true", "True", "TRUE", "false", "1", "tRUE"]), lookup, -1, -1).tolist() == [
        0,
        0,
        0,
        1,
        -1,
        -1,
    ]
    assert cell_meaning.codes(np.array([True, False]), lookup, -1, -1).tolist() == [0, 1]


def test_whole_numbers_are_the_same_labels_near_each_other_and_far_apart() -> None:
    """Whatever their type and sign, as one by one; only labels that are there are found."""
    for kind in ("i1", "u1", "i2", "i8", "u8", ">i4"):
        ends = np.iinfo(np.dtype(kind))
        middle = (ends.min + ends.max) // 2
        for near in ([ends.min, ends.min + 3, ends.min], [ends.max - 9, ends.max], [middle, middle + 1] * 200, []):
            for more in ([], [ends.min, ends.max] * (200 if kind.endswith("1") else 1)):
                column = np.array([*near, *more], kind)
                names = [str(n) for n in column.tolist()]
                known = Categories(sorted(set(names[:-1])) or ["x"], other="x")
                labels = known.lookup(), known.stray("add_remove"), known.fill("add_remove"), known.fold
                alone = cell_meaning.codes(cell_meaning.objects(names), *labels)
                assert cell_meaning.codes(column, *labels).tolist() == alone.tolist()
                assert sorted(cell_meaning.keys(column)[0]) == sorted(set(names))


@pytest.mark.parametrize(
    "column",
    [
        np.array([1, 2, 3], np.int16), np.array([1.0, 2, 3], np.float32), np.array([1, 2, 3], np.uint64),
        np.array(["1", "2", "3"]),
        np.array([b"1", b"2", b"3"]), np.array([1, 2, 3], object), np.ma.masked_array([1.0, 2, 3]),
        np.array([1, 2, 3], np.float16),
        np.array([1, 2, 3], np.longdouble), pd.Series([1, 2, 3], dtype="Int64"),
        pd.Series(["1", "2", "3"], dtype="category"),
        pd.Series([1, 2, 3], dtype="float64"), pd.Series(["1", "2", "3"], dtype="string"), pl.Series([1, 2, 3]),
        pl.Series(["1", "2", "3"], dtype=pl.Categorical), pa.array([Decimal(1), Decimal(2), Decimal(3)]), [1, "2", 3.0],
        pa.chunked_array([[1], [2, 3]]), pa.array([b"1", b"2", b"3"], pa.binary()),
        pa.array(["1", "2", "3"], pa.string_view()),
    ],
)  # fmt: skip
def test_every_kind_of_column_is_read(column: Any) -> None:
    schema = Schema({"x": Real(0, 9)})
    assert open_source({"x": column}, schema).fold(lambda b: b.numeric("x").tolist(), list.__add__, ["x"]) == [1, 2, 3]
    schema = Schema({"x": Categories([3, 2, 1])})
    assert open_source({"x": column}, schema).fold(lambda b: b.codes("x").tolist(), list.__add__, ["x"]) == [2, 1, 0]


def test_missing_values_of_every_kind_of_column() -> None:
    columns = [
        np.array([1.0, np.nan]), np.array([1, None], object), np.ma.masked_array([1.0, 2], [False, True]),
        pd.Series([1, None], dtype="Int64"), pd.Series([True, None], dtype="boolean"), pl.Series([1, None]),
        pa.array([1, None]), pa.array([True, None]), pa.array(["1", None]).dictionary_encode(),
    ]  # fmt: skip
    for column in columns:
        source = open_source({"x": column}, Schema({"x": Real(0, 9)}))
        found = source.fold(lambda b: b.numeric("x").tolist(), list.__add__, ["x"])
        assert found[0] == 1
        assert math.isnan(found[1])
        source = open_source({"x": column}, Schema({"x": Real(0, 9)}, neighbors="replace"))
        assert source.fold(lambda b: b.numeric("x").tolist(), list.__add__, ["x"]) == [1, 4.5]
    for column in (np.array(["2020-01-01", "NaT"], "M8[D]"), pa.array([[1], None]), pa.nulls(2), np.array([1j, 2])):
        source = open_source({"x": column, "c": column, "id": column}, SCHEMA)
        assert all(math.isnan(x) for x, _ in source.fold(look, list.__add__, ["x", "c"]))
