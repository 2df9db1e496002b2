"""Cells that are dates, times and lengths of time, as doubles; NaN where a cell is none. Row by row, as ``cell_meaning``."""

from __future__ import annotations

import datetime as dt
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from discreet.core.dates_and_times import UNITS, Date, Datetime, Duration, hours, pattern
from discreet.core.dialect import Dialect
from discreet.sources import cell_meaning
from discreet.sources.cell_meaning import Column, Floats

_IN_A_SECOND = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}
_DAY = 86400.0
_CLOCK = r"^(?P<H>[0-9]{1,5}):(?P<M>[0-5][0-9])(?::(?P<S>[0-5][0-9]))?$"
_ISO = (
    r"^P(?:(?P<W>[0-9]{1,6})W)?(?:(?P<D>[0-9]{1,6})D)?(?:T(?:(?P<H>[0-9]{1,8})H)?(?:(?P<M>[0-9]{1,8})M)?(?:(?P<S>[0-9]{1,8}"
    r"(?:\.[0-9]{1,9})?)S)?)?$"
)
_LENGTHS = {"W": 604800.0, "D": _DAY, "H": 3600.0, "M": 60.0, "S": 1.0}


def moments(column: Column, declared: Date, dialect: Dialect) -> Floats:
    """Days, or seconds of a ``Datetime``."""
    naive, aware = _seconds(cell_meaning.arrow(column), declared, dialect)
    seconds = np.where(np.isnan(naive), _on_the_clock(aware, declared), naive)
    return seconds if isinstance(declared, Datetime) else np.floor(seconds / _DAY)


def durations(column: Column, declared: Duration, dialect: Dialect) -> Floats:
    """Lengths of time in the declared unit."""
    unit = UNITS[declared.unit]
    column = cell_meaning.arrow(column)
    if isinstance(column, np.ndarray):
        lengths = np.array([_length(cell, unit) for cell in column], np.float64)
        return np.where(np.isnan(lengths), _durations_of_texts(column, unit, dialect), lengths)
    if pa.types.is_duration(column.type):
        return _stored_seconds(column, column.type.unit) / unit
    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    return _durations_of_texts(column, unit, dialect)


def _length(cell: Any, unit: float) -> float:
    """A length of time of Python's or NumPy's as a number of the unit; NaN of every other cell."""
    try:
        if isinstance(cell, np.timedelta64):
            name, count = np.datetime_data(cell.dtype)
            if np.isnat(cell) or name not in _IN_A_SECOND:
                return np.nan if np.isnat(cell) else float(cell / np.timedelta64(1, "s")) / unit
            return float(_in_seconds(np.array([cell.astype(np.int64)]) * count, name)[0]) / unit
        return cell.total_seconds() / unit if isinstance(cell, dt.timedelta) else np.nan
    except Exception:  # a length of months, one that is none: a missing cell
        return np.nan


def _durations_of_texts(column: Column, unit: float, dialect: Dialect) -> Floats:
    values = cell_meaning.numbers(column, dialect)
    texts = cell_meaning.texts(column, dialect)
    for form in (_CLOCK, _ISO):
        parts = _parts(texts, form)
        known = parts.pop("")
        total = sum((np.nan_to_num(part) * _LENGTHS[name] for name, part in parts.items()), np.zeros(len(values)))
        some = np.any([~np.isnan(part) for part in parts.values()], axis=0) if len(values) else known
        values = np.where(np.isnan(values) & known & some, total / unit, values)
    return values


def _seconds(column: Column, declared: Date, dialect: Dialect) -> tuple[Floats, Floats]:
    """Of every cell the second as its clock says, and the second in UTC where it says how far it is from that."""
    if isinstance(column, np.ndarray):
        return _of_objects(column, declared, dialect)
    kind, nothing = column.type, np.full(len(column), np.nan)
    if pa.types.is_dictionary(kind):
        return _seconds(column.dictionary_decode(), declared, dialect)
    if pa.types.is_date(kind):
        return (_days(column) * _DAY if pa.types.is_date32(kind) else _stored_seconds(column, "ms")), nothing
    if pa.types.is_timestamp(kind):
        found = _stored_seconds(column, kind.unit)
        return (found, nothing) if kind.tz is None else (nothing, found)
    if cell_meaning.is_text(kind) or cell_meaning.is_bytes(kind):
        return _of_texts(cell_meaning.texts(column, dialect), declared)
    return nothing, nothing


def _days(column: Any) -> Floats:
    found: Floats = column.view(pa.int32()).cast(pa.float64()).to_numpy(zero_copy_only=False)
    return found


def _stored_seconds(column: Any, unit: str) -> Floats:
    """The whole numbers that Arrow keeps of times, in seconds; NaN where there is none."""
    whole = column.view(pa.int64())
    seconds = _in_seconds(whole.fill_null(0).to_numpy(zero_copy_only=False), unit)
    return np.where(whole.is_null().to_numpy(zero_copy_only=False), np.nan, seconds)


def _in_seconds(whole: npt.NDArray[np.int64], unit: str) -> Floats:
    """Whole numbers of a unit in seconds, rounded once: a whole second stays one, however fine the unit is.

    A number of up to 2^53 is a double, and its quotient is rounded once. Beyond that, whole seconds are split off before a
    double would round them: 64 bits of nanoseconds are days with eleven bits too many.
    """
    many = _IN_A_SECOND[unit]
    seconds, rest = np.divmod(whole, many)
    found: Floats = np.where(np.abs(seconds) < (1 << 53) // many, whole / many, seconds + rest / many)
    return found


def _of_objects(column: npt.NDArray[np.object_], declared: Date, dialect: Dialect) -> tuple[Floats, Floats]:
    naive, aware = np.full(len(column), np.nan), np.full(len(column), np.nan)
    texts: list[str | None] = [None] * len(column)
    for place, cell in enumerate(column):
        if isinstance(cell, str | bytes | bytearray | memoryview):
            texts[place] = cell_meaning.said(cell, dialect)
        else:
            naive[place], aware[place] = _of_object(cell)
    found = _of_texts(pa.array(texts, pa.large_string()), declared)
    return np.where(np.isnan(naive), found[0], naive), np.where(np.isnan(aware), found[1], aware)


def _of_object(cell: Any) -> tuple[float, float]:
    try:
        moment = cell_meaning.plain_cell(cell) if isinstance(cell, np.generic) else cell
        if isinstance(moment, dt.datetime) and moment.utcoffset() is not None:
            return np.nan, (moment - dt.datetime(1970, 1, 1, tzinfo=dt.UTC)).total_seconds()
        if isinstance(moment, dt.datetime):
            return (moment - dt.datetime(1970, 1, 1)).total_seconds(), np.nan
        return (moment - dt.date(1970, 1, 1)).days * _DAY if isinstance(moment, dt.date) else np.nan, np.nan
    except Exception:  # whatever an odd object does, it is a missing cell
        return np.nan, np.nan


def _of_texts(texts: Any, declared: Date) -> tuple[Floats, Floats]:
    naive, aware = np.full(len(texts), np.nan), np.full(len(texts), np.nan)
    left = np.ones(len(texts), bool)
    for form in declared.formats:
        parts = _parts(texts, pattern(form))
        second, offset = _second(parts), parts.get("z")
        fits = left & parts[""]  # the first format that fits decides, also where the date does not exist
        if offset is None:
            naive[fits] = second[fits]
        else:
            aware[fits] = (second - offset)[fits]
        left &= ~fits
    return naive, aware


def _parts(texts: Any, form: str) -> dict[str, Floats]:
    """The named groups of a pattern as doubles, NaN where a text or a group does not fit; under ``""`` which texts fit."""
    trimmed = pc.utf8_trim_whitespace(texts)
    found = pc.extract_regex(trimmed, form)
    parts: dict[str, Any] = {"": ~found.is_null().to_numpy(zero_copy_only=False)}
    for field in found.type:
        group = found.field(field.name)
        parts[field.name] = (
            _offsets(group) if field.name == "z" else _fraction(group) if field.name == "f" else _whole(group)
        )
    return parts


def _whole(group: Any) -> Floats:
    some = pc.if_else(pc.equal(group, ""), pa.scalar(None, group.type), group)
    found: Floats = some.cast(pa.float64()).to_numpy(zero_copy_only=False)
    return found


def _fraction(group: Any) -> Floats:
    return _whole(pc.binary_join_element_wise(pa.scalar("0.", group.type), group, pa.scalar("", group.type)))


def _offsets(group: Any) -> Floats:
    """Seconds from UTC: ``Z``, ``+01:00`` or ``+0100``."""
    plain = pc.replace_substring(pc.if_else(pc.equal(group, "Z"), pa.scalar("+0000", group.type), group), ":", "")
    number = _whole(plain)
    seconds: Floats = np.sign(number) * (np.abs(number) // 100 * 3600 + np.abs(number) % 100 * 60)
    return seconds


def _second(parts: dict[str, Floats]) -> Floats:
    """The second of a date and time; NaN where the calendar or the clock has none such."""
    year = parts["Y"] if "Y" in parts else np.where(parts["y"] < 69, 2000, 1900) + parts["y"]
    month, day = parts["m"], parts["d"]
    zero = np.zeros(len(year))
    hour, minute, second = (parts.get(name, zero) for name in ("H", "M", "S"))
    good = (year >= 1) & (month >= 1) & (month <= 12) & (day >= 1) & (hour < 24) & (minute < 60) & (second < 60)
    months = np.where(good, (year - 1970) * 12 + month - 1, 0).astype(np.int64).astype("datetime64[M]")
    first, last = (each.astype("datetime64[D]").astype(np.float64) for each in (months, months + np.timedelta64(1, "M")))
    good &= day <= last - first
    total = (first + day - 1) * _DAY + hour * 3600 + minute * 60 + second + parts.get("f", zero)
    return np.where(good, total, np.nan)


def _on_the_clock(seconds: Floats, declared: Date) -> Floats:
    """Seconds in UTC as the clock of the declared zone shows them."""
    if declared.zone is None or np.isnan(seconds).all():
        return seconds
    unit = _DAY if isinstance(declared, Datetime) else 1.0
    changes, offsets = hours(declared.zone, int(declared.lo // unit) - 2, int(declared.hi // unit) + 2)
    shown: Floats = seconds + np.array(offsets)[np.searchsorted(np.array(changes), seconds, side="right")]
    return shown
