"""Partial results travel as bytes and come back as they were; nothing that a parcel names is imported."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.errors import InvalidRequest
from discreet.sources.parcels import pack, unpack


@dataclass
class Totals:
    value: float
    gradient: Any


class Pair(NamedTuple):
    one: int
    other: Any


simple = st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.binary() | st.fractions()
values = st.recursive(
    simple,
    lambda inner: st.lists(inner) | st.tuples(inner, inner) | st.dictionaries(st.text() | st.integers(), inner),
    max_leaves=12,
)


@settings(deadline=None, derandomize=True, max_examples=60)
@given(values)
def test_whatever_is_packed_comes_back(value: Any) -> None:
    assert repr(unpack(pack(value), value)) == repr(value)


def test_arrays_and_records_come_back_to_the_bit() -> None:
    value = {
        "whole": np.arange(6).reshape(2, 3),
        "odd": np.array([np.nan, -0.0, 1e-320, np.inf]),
        "large": np.array([2**70, -(2**80)], object),
        "none": np.empty((0, 4), np.int8),
        "one": np.float32(0.1),
        "record": Totals(0.1, np.ones(3)),
        "pair": Pair(3, [Totals(2.0, None)]),
        "counter": Counter({(1, 2): 3}),
        "sets": (frozenset({1}), {"a"}),
        "share": Fraction(1, 3),
    }
    made = unpack(pack(value), value)
    assert made.keys() == value.keys()
    for name in ("whole", "odd", "large", "none"):
        assert made[name].dtype == value[name].dtype
        assert np.array_equal(made[name], value[name], equal_nan=name == "odd")
    assert np.signbit(made["odd"][1])
    assert type(made["one"]) is np.float32
    assert isinstance(made["record"], Totals)
    assert made["pair"].other[0].value == 2.0
    assert {k: made[k] for k in ("counter", "sets", "share")} == {k: value[k] for k in ("counter", "sets", "share")}


def test_what_is_unknown_is_refused_and_nothing_is_imported() -> None:
    with pytest.raises(InvalidRequest, match="numbers, texts and arrays, got object"):
        pack([object()])
    with pytest.raises(KeyError):
        unpack(pack(Totals(1.0, None)), {"another": "make"})
