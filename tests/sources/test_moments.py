"""Times that are kept as whole numbers of a fine unit are read to the nearest double, whole seconds exactly."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.core.dates_and_times import Datetime, Duration
from discreet.core.dialect import Dialect
from discreet.sources.dates_and_times import durations, moments

UNITS = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}
WHOLE = st.integers(-(2**62), 2**62)
FAR = Datetime("0001-01-01T00:00:00", "9999-12-31T23:59:59")


@given(WHOLE, st.sampled_from(list(UNITS)))
def test_a_length_of_time_is_rounded_once_at_most_and_the_same_from_arrow_and_numpy(whole: int, unit: str) -> None:
    declared, dialect = Duration(0, 1, unit="seconds"), Dialect()
    stored = durations(pa.array([whole, None], pa.duration(unit)), declared, dialect)
    objects = np.array([np.timedelta64(whole, unit), None], object)
    assert np.array_equal(stored, durations(objects, declared, dialect), equal_nan=True)
    exact = Fraction(whole, UNITS[unit])
    assert abs(Fraction(float(stored[0])) - exact) <= (abs(exact) + 1) * Fraction(1, 2**53)  # + 1: parts of a second
    assert np.isnan(stored[1])


@given(st.integers(-(2**33), 2**33), st.sampled_from(list(UNITS)), st.sampled_from([None, "UTC"]))
def test_a_whole_second_stays_one_in_every_unit(second: int, unit: str, zone: str | None) -> None:
    stored = pa.array([second * UNITS[unit]], pa.timestamp(unit, zone))
    assert moments(stored, FAR, Dialect()).tolist() == [second]


@pytest.mark.parametrize("second", [9_007_199_254, 9_007_199_255, 2**33 - 1])
def test_nanoseconds_beyond_what_a_double_holds(second: int) -> None:
    """A product with 1e-9 puts a midnight of the year 2255 before itself, and its day with it."""
    stored = pa.array([second * 10**9 + 1], pa.timestamp("ns"))
    assert int(np.floor(moments(stored, FAR, Dialect())[0])) == second
