"""Sums and ranks of tables larger than the doubles can count: whole numbers, and no further than the claim."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import discreet as ds
from discreet.sources import open_source
from discreet.statistics.cells import Cells, Factor
from discreet.statistics.quantile import Ranks

POINTS = 6
SHARES = st.one_of(
    st.sampled_from(
        [Fraction(0), Fraction(1), Fraction(1, 2), Fraction(1, 10**6), Fraction(999_999, 10**6), Fraction(1, 3)]
    ),
    st.fractions(0, 1, max_denominator=10**6),
)
# Rows at each value: few, around 2**53 / 10**6, where multiples of ranks leave the doubles, and as many as 64 bits hold.
COUNTS = st.one_of(st.integers(0, 50), st.integers(0, 2**36), st.integers(2**52, 2**54), st.integers(0, 2**61))


def utilities(q: Fraction, counts: list[int]) -> list[int]:
    """The definition, in whole numbers of any size."""
    a, b, n, found, below = q.numerator, q.denominator, sum(counts), [], 0
    for count in counts:
        at_or_below = below + count
        found.append(-min(2**53, max(0, b * below - a * n, a * n - b * at_or_below)))
        below = at_or_below
    return found


@settings(deadline=None)
@given(q=SHARES, counts=st.lists(COUNTS, min_size=POINTS + 1, max_size=POINTS + 1), place=st.integers(0, POINTS),
       other=st.integers(0, POINTS), rows=st.integers(1, 5))  # fmt: skip
def test_nobody_moves_a_utility_further_than_claimed(
    q: Fraction, counts: list[int], place: int, other: int, rows: int
) -> None:
    """However many rows there are: one person more, and one person elsewhere."""
    query = Ranks("x", 0.0, 1.0, POINTS, q, rows)
    table = np.array(counts, np.int64)
    more, moved = table.copy(), table.copy()
    more[place] += rows
    moved[place] += rows
    gone = moved.copy()
    gone[place] -= rows
    gone[other] += rows
    exact = query.finish(table)
    added = np.abs(query.finish(more) - exact).max()
    assert added <= query.distance("add_remove").linf
    replaced = np.abs(query.finish(gone) - query.finish(moved)).max()
    assert replaced <= query.distance("replace").linf


@settings(deadline=None)
@given(q=SHARES, counts=st.lists(st.integers(0, 2**59), min_size=POINTS + 1, max_size=POINTS + 1))
def test_utilities_are_whole_and_right(q: Fraction, counts: list[int]) -> None:
    found = Ranks("x", 0.0, 1.0, POINTS, q).finish(np.array(counts, np.int64))
    assert [int(v) for v in found] == utilities(q, counts)
    assert all(v == int(v) for v in found)


def test_more_rows_than_sixty_four_bits_hold_stand_still() -> None:
    query = Ranks("x", 0.0, 1.0, POINTS, Fraction(1, 2))
    full = np.full(POINTS + 1, 2**62)
    assert query.finish(full).tolist() == query.finish(full // 2).tolist()
    assert query.finish(full)[POINTS // 2] == 0


class OneBatch:
    """A batch of equal rows that needs no memory: more of them than a double could add up."""

    def __init__(self, size: int, value: float) -> None:
        self.size = size
        self._values = np.broadcast_to(np.array(value), (size,))

    def numeric(self, column: str) -> Any:
        return self._values

    def codes(self, column: str) -> Any:
        return np.broadcast_to(np.array(1, np.int8), (self.size,))

    def kept(self, columns: Any) -> None:
        return None


@pytest.mark.parametrize("kind", ["level", "linear", "square", "signed"])
@pytest.mark.parametrize("by", [False, True], ids=["alone", "by group"])
def test_a_batch_beyond_the_doubles_adds_up_exactly(kind: Any, by: bool) -> None:
    """2**23 + 1 rows of an odd code next to 2**30: their sum is odd and passes 2**53, where doubles are even."""
    size, value = 2**23 + 1, (2**30 - 1) / 2**30
    factor = Factor(kind, "x", 0.0, 1.0)
    query = Cells((Factor("category", "g", labels=("a", "b")), factor) if by else (factor,))
    total = query.step(OneBatch(size, value))
    assert total.dtype == np.int64
    once = query.step(OneBatch(1, value))
    assert (total == once * size).all()


@settings(max_examples=40, deadline=None)
@given(st.lists(st.tuples(st.floats(allow_nan=False), st.floats(-3, 3)), min_size=1, max_size=40))
def test_a_row_adds_the_same_beside_a_missing_one(pairs: list[tuple[float, float]]) -> None:
    """Two numbers are added up in another way where none is missing: to the step what they add beside one that is."""
    schema = ds.Schema({"x": ds.Real(-2, 5), "y": ds.Real(-1, 2)})
    query = Cells((Factor("linear", "x", -2, 5), Factor("linear", "y", -1, 2)))
    x, y = (list(column) for column in zip(*pairs, strict=True))
    alone = query.evaluate(open_source({"x": x, "y": y}, schema))
    for gone in ([None, 0.5], [0.5, None]):
        beside = query.evaluate(open_source({"x": [*x, gone[0]], "y": [*y, gone[1]]}, schema))
        assert np.array_equal(alone.counts, beside.counts)
    assert alone.counts.sum() == len(pairs) << 30
