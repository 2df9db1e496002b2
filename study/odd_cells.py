"""Odd cells for tables of every kind: what ``study.reading`` and ``study.interference`` fill tables with."""

from __future__ import annotations

import datetime as dt
import math
import random
import uuid
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa

LONG = 10**6  # characters of the longest text
Rng = random.Random


class Odd:
    """An object that cannot be compared, written or hashed."""

    def __eq__(self, other: object) -> bool:
        raise RuntimeError("no")

    def __str__(self) -> str:
        raise RuntimeError("no")

    __hash__ = None  # type: ignore[assignment]


def signalling(rng: Rng) -> float:
    """A NaN that sets the processor's flag for an invalid operation when it is touched."""
    return float(np.array([0x7FF0000000000001 + rng.randrange(1 << 40)], np.uint64).view(np.float64)[0])


def a_float(rng: Rng) -> float:
    return rng.choice(
        [
            0.0,
            -0.0,
            1.0,
            7.0,
            2.5,
            math.nan,
            math.inf,
            -math.inf,
            5e-324,
            1e308,
            -1e308,
            1e18,
            2.0**63,
            1e-300,
            rng.gauss(0, 9),
        ]
    )


def an_int(rng: Rng) -> int:
    return rng.choice([0, 1, 7, -7, 2**31, 2**53 + 1, 2**63 - 1, -(2**63), 10**17, 10**18, rng.randrange(-20, 20)])


def a_text(rng: Rng, surrogates: bool = False) -> str:
    """Numbers, words, and characters of every plane; at times a very long one."""
    planes = [0x20, 0xE9, 0x2028, 0x6F22, 0xFEFF, 0x1F600, 0x2F800, 0xE0001, 0xF0000, 0x10FFFD, 0x0, 0x85, 0x130, 0x131]
    kind = rng.randrange(12)
    if kind == 0:
        return "".join(chr(rng.choice(planes) + rng.randrange(3)) for _ in range(rng.randrange(1, 6)))
    if kind == 1 and surrogates:
        return rng.choice(["\ud800", "a\udcff", "\udfff7"])
    if kind == 2 and rng.random() < 0.03:
        return rng.choice("1a ") * LONG
    words = ["", " ", "7", "7.0", " 7\t", "007", "a", "b", "A", "true", "True", "nan", "NaN", "inf", "-Infinity", "1e400",
             "1e-400", "null", "None", "\\xff", "2020-03-04", "0x1", "1_0", "٣", ",", '"', "a\nb", "\r", "--1"]  # fmt: skip
    return rng.choice(words)


def some_bytes(rng: Rng) -> bytes:
    made = [b"", b"7", b"a", b"\xff", b"\\xff", b"\xed\xa0\x80", b"\xe2\x82", b"\x00", b"a\xffb", b"\xc0\xaf", b"7\xff"]
    return rng.choice([*made, rng.randbytes(rng.randrange(6))])


def a_moment(rng: Rng, aware: bool = False) -> dt.datetime:
    zone = rng.choice([dt.UTC, dt.timezone(dt.timedelta(hours=5))]) if aware else None
    when = rng.choice([(1, 1, 1), (1970, 1, 1), (2020, 3, 4), (9999, 12, 31)])
    return dt.datetime(*when, rng.randrange(6, 18), 5, 6, rng.choice([0, 7]), tzinfo=zone)


def anything(rng: Rng) -> Any:
    """One cell of any Python type."""
    makers: list[Any] = [
        lambda: None, lambda: a_float(rng), lambda: an_int(rng), lambda: a_text(rng, surrogates=True),
        lambda: some_bytes(rng),
        lambda: rng.random() < 0.5, lambda: a_moment(rng), lambda: a_moment(rng, aware=True), lambda: a_moment(rng).date(),
        lambda: a_moment(rng).time(), lambda: dt.timedelta(rng.randrange(-9, 9), 1, rng.choice([0, 3])),
        lambda: Decimal(rng.choice(["2.50", "7", "7.00", "1e999", "-1e-999", "1e999999999", "NaN", "sNaN", "-0"])),
        lambda: Fraction(rng.randrange(-9, 9), rng.choice([1, 3])), lambda: 10 ** rng.choice([20, 400, 5000]),
        lambda: rng.choice([[1], (), {"a": 1}, {1}, [None, "x"], [[7]], object(), Odd(), Odd, 1j, uuid.UUID(int=7)]),
        lambda: rng.choice([np.float32(2.5), np.float64(7), np.int8(7), np.uint64(2**64 - 1), np.bool_(True), np.str_("7"),
                            np.longdouble("1e4000"), np.complex128(1), np.bytes_(b"7"), np.float16(0.5)]),
        lambda: rng.choice([np.datetime64("NaT", "s"), np.datetime64("2020-03-04"),
                            np.datetime64("2020-03-04T05:06:07.5", "ns"), np.datetime64(2**62, "s"),
                            np.timedelta64(3, "s"), np.timedelta64(2, "Y")]),
        lambda: rng.choice([np.array([1.0]), np.array([1, 2]), np.ma.masked, bytearray(b"7"), memoryview(b"7")]),
        lambda: _of_pandas(rng), lambda: signalling(rng),
    ]  # fmt: skip
    return rng.choice(makers)()


def _of_pandas(rng: Rng) -> Any:
    import pandas as pd

    zoned = pd.Timestamp("2020-03-04", tz="UTC")
    return rng.choice([pd.NA, pd.NaT, pd.Timestamp(7), zoned, pd.Timedelta(5), pd.Period("2020-03", "M"), pd.Interval(0, 1)])


# Typed columns: the Arrow type, a maker of one cell, and whether Parquet, Spark and Polars have the type.
TYPES: dict[str, tuple[Any, Any]] = {
    "double": (pa.float64(), a_float),
    "float": (pa.float32(), lambda rng: rng.choice([0.0, 7.0, 2.5, math.nan, math.inf, 1e38, 1e-45])),
    "long": (pa.int64(), an_int),
    "small": (pa.int8(), lambda rng: rng.randrange(-128, 128)),
    "unsigned": (pa.uint64(), lambda rng: rng.choice([0, 7, 2**53 + 1, 2**64 - 1])),
    "text": (pa.string(), a_text),
    "wide text": (pa.large_string(), a_text),
    "broken text": (pa.string(), some_bytes),
    "bytes": (pa.binary(), some_bytes),
    "bool": (pa.bool_(), lambda rng: rng.random() < 0.5),
    "date": (pa.date32(), lambda rng: a_moment(rng).date()),
    "moment": (pa.timestamp("us"), a_moment),
    "zoned": (pa.timestamp("us", "UTC"), lambda rng: a_moment(rng, aware=True)),
    "nanoseconds": (pa.timestamp("ns"), lambda rng: rng.choice([0, 1, 10**18 + 7])),
    "far": (pa.timestamp("s"), lambda rng: rng.choice([0, 2**40, -(2**40), 2**62])),
    "time": (pa.time64("us"), lambda rng: a_moment(rng).time()),
    "length": (pa.duration("us"), lambda rng: dt.timedelta(rng.randrange(-9, 9), 1, 3)),
    "decimal": (pa.decimal128(20, 2), lambda rng: Decimal(rng.choice(["2.50", "7.00", "-0.01", "123456789012345678.90"]))),
    "list": (pa.list_(pa.int64()), lambda rng: rng.choice([[], [7], [1, None]])),
    "record": (pa.struct([("a", pa.string())]), lambda rng: {"a": rng.choice([None, "x"])}),
    "coded": (pa.dictionary(pa.int8(), pa.string()), a_text),
}
# What holds no person's id (refused as such when a table is opened), and what an engine does not have.
NOT_IDS = ("length", "list", "record")
NOT_IN = {
    "parquet": ("length", "far"),
    "polars": ("broken text", "far", "coded"),
    "spark": ("length", "far", "time", "nanoseconds", "unsigned", "coded", "list", "record"),
}


def typed(kind: str, cells: list[Any]) -> Any:
    """Cells as an Arrow array of one of ``TYPES``; broken text may hold bytes that are not UTF-8."""
    if kind == "broken text":
        return pa.array(cells, pa.binary()).view(pa.string())
    if kind == "coded":
        return pa.array(cells, pa.string()).dictionary_encode()
    return pa.array(cells, TYPES[kind][0])
