"""Documents by declared types: what is written is read again as it was, and anything else is refused in our own words."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, Literal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.core.codec import fields_written, read_as, read_field, written
from discreet.core.reading import Axes, Reading
from discreet.errors import DiscreetError, UnsupportedFormat
from discreet.statistics.cells import Factor
from discreet.statistics.population import MeanReading
from discreet.statistics.reading import Scaled


@dataclass(frozen=True)
class Everything:
    """A field of every kind that documents have."""

    exact: Fraction
    number: float
    count: int
    flag: bool
    word: Literal["a", "b"]
    many: tuple[float, ...]
    pair: tuple[int, str]
    labels: Axes
    factor: Factor | None
    reading: Reading
    either: int | tuple[Fraction, ...] | None
    seen: Any = field(default=None, compare=False)


FACTORS = st.builds(Factor, st.just("category"), st.text(), labels=st.lists(st.integers() | st.text()).map(tuple))
FLOATS = st.floats(allow_nan=False, allow_infinity=False)
WHOLE = st.builds(
    Everything, st.fractions(), FLOATS, st.integers(), st.booleans(), st.sampled_from("ab"),
    st.lists(FLOATS).map(tuple), st.tuples(st.integers(), st.text()),
    st.lists(st.tuples(st.text(), st.lists(st.text() | st.integers()).map(tuple))).map(tuple),
    st.none() | FACTORS, st.builds(Scaled, FLOATS, shape=st.lists(st.integers()).map(tuple)),
    st.none() | st.integers() | st.lists(st.fractions()).map(tuple),
)  # fmt: skip
JUNK: Any = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=6,
)


@given(WHOLE)
@settings(max_examples=100, deadline=None)
def test_what_is_written_is_read_again(made: Everything) -> None:
    again = read_as(Everything, json.loads(json.dumps(written(made))))
    assert again == made
    assert written(again) == written(made)


@given(WHOLE, st.sampled_from(["exact", "number", "count", "flag", "word", "many", "pair", "labels", "reading"]), JUNK)
@settings(max_examples=200, deadline=None)
def test_a_field_has_its_type_or_is_refused(made: Everything, name: str, junk: Any) -> None:
    doc = fields_written(made) | {name: junk}
    try:
        again = read_as(Everything, doc)
    except DiscreetError:
        return
    assert type(getattr(again, name)) is type(getattr(made, name))


def test_a_registered_thing_of_another_kind_is_refused() -> None:
    with pytest.raises(UnsupportedFormat, match="must be a MeanReading, got 'scaled'"):
        read_field(MeanReading, Scaled().to_dict(), "means")


def test_what_does_not_count_in_comparisons_is_not_written() -> None:
    made = Everything(Fraction(1), 1.0, 1, True, "a", (), (1, ""), (), None, Scaled(), None, seen=object())
    assert "seen" not in written(made)
