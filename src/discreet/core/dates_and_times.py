"""Columns of dates, times and lengths of time: numbers between public bounds that are written in other ways.

A date is its day since 1970-01-01, a time the second since then on the clock of its zone, a duration a number of its unit.
"""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, ClassVar

from discreet.core.bounded import Real
from discreet.errors import InvalidRequest
from discreet.expressions import KnownColumn, calendar

UNITS = {"seconds": 1.0, "minutes": 60.0, "hours": 3600.0, "days": 86400.0, "weeks": 604800.0}
_GROUPS = {
    "Y": "[0-9]{4}", "y": "[0-9]{2}", "m": "[0-9]{1,2}", "d": "[0-9]{1,2}", "H": "[0-9]{1,2}", "M": "[0-9]{2}",
    "S": "[0-9]{2}", "f": "[0-9]{1,9}", "z": "Z|[+-][0-9]{2}:?[0-9]{2}",
}  # fmt: skip
_TIMES = tuple(
    f"%Y-%m-%d{sep}%H:%M{rest}" for sep in (" ", "T") for rest in (":%S", ":%S.%f", "", ":%S%z", ":%S.%f%z", "%z")
)


@lru_cache(maxsize=64)
def pattern(form: str) -> str:
    """The regular expression, in RE2's grammar, of a format; refuses what it cannot tell."""
    if not isinstance(form, str):
        raise InvalidRequest(f"formats must be texts such as '%d.%m.%Y', got {form!r}", key="formats")
    made, used = "", set()
    for directive, letter in re.findall(r"%(.)|(.)", form, re.DOTALL):
        if directive in _GROUPS and directive not in used:
            used.add(directive)
            made += f"(?P<{directive}>{_GROUPS[directive]})"
        elif letter or directive == "%":
            made += re.escape(letter or "%")
        else:
            known = ", ".join(f"%{each}" for each in _GROUPS)
            raise InvalidRequest(f"formats may use each of {known} once, got {form!r}", key="formats")
    if (
        not {"m", "d"} <= used
        or len(used & {"Y", "y"}) != 1
        or ("H" in used) < ("M" in used)
        or ("M" in used) < ("S" in used)
    ):
        raise InvalidRequest(
            f"formats must say year, month and day, and no minute without an hour, got {form!r}", key="formats"
        )
    return f"^{made}$"


@dataclass(frozen=True)
class Date(Real):
    """A date between public dates, written in one of ``formats`` (tried in order, cell by cell); days since 1970-01-01.

    Two digits of a year, ``%y``, are those of 1969 to 2068. A time that says its zone is its date on the clock of ``zone``.
    """

    formats: Sequence[str] = field(default=("%Y-%m-%d",), kw_only=True)
    zone: str | None = field(default=None, kw_only=True)
    type: ClassVar[str] = "date"

    def __post_init__(self) -> None:
        given = (self.formats,) if isinstance(self.formats, str) else self.formats
        if not isinstance(given, Sequence) or not given:
            raise InvalidRequest(f"formats must be a list such as ['%d.%m.%Y'], got {self.formats!r}", key="formats")
        object.__setattr__(self, "formats", tuple(given))
        for form in self.formats:
            pattern(form)
        if self.zone is not None:
            hours(self.zone, 0, 0)
        super().__post_init__()

    @classmethod
    def _number(cls, value: Any, name: str) -> float:
        try:
            if isinstance(value, dt.date) and not isinstance(value, dt.datetime):
                return calendar.day_of(value.isoformat())
            return calendar.day_of(value) if isinstance(value, str) else super()._number(value, name)
        except ValueError as problem:
            if isinstance(problem, InvalidRequest):
                raise
            raise InvalidRequest(f"{name} must be a date such as '2020-12-31', got {value!r}", key=name) from None

    def at(self, moment: Any) -> float:
        """The number of a date that a person has written, such as ``"2020-12-31"``; refuses what is none."""
        return self._number(moment, "an edge")

    def written(self, number: float) -> str:
        """A number of the column as a person writes it."""
        return calendar.written(number)

    @property
    def known(self) -> KnownColumn:
        """What an expression knows of it."""
        return KnownColumn("date")

    def to_dict(self) -> dict[str, Any]:
        """What TOML and JSON hold."""
        doc = super().to_dict()
        for key in ("bounds", "outer"):
            if isinstance(doc.get(key), list):
                doc[key] = [self.written(end) for end in doc[key]]
        if isinstance(self.missing, int | float):
            doc["missing"] = self.written(self.missing)
        usual = type(self).__dataclass_fields__["formats"].default
        doc |= {} if self.formats == usual else {"formats": list(self.formats)}
        return doc | ({} if self.zone is None else {"zone": self.zone})


@dataclass(frozen=True)
class Datetime(Date):
    """A date and time between public ones; seconds since 1970 on the clock of ``zone``, or as they are written without one.

    A cell that says its offset from UTC, or a stored time with a zone, is put on the clock of ``zone`` (UTC without one).
    Differences are those of the clock.
    """

    formats: Sequence[str] = field(default=_TIMES, kw_only=True)
    type: ClassVar[str] = "datetime"

    @classmethod
    def _number(cls, value: Any, name: str) -> float:
        try:
            if isinstance(value, dt.date):
                return calendar.second_of(value.isoformat())
            return calendar.second_of(value) if isinstance(value, str) else super(Date, cls)._number(value, name)
        except ValueError as problem:
            if isinstance(problem, InvalidRequest):
                raise
            raise InvalidRequest(
                f"{name} must be a time such as '2020-12-31 23:59', got {value!r}",
                key=name,
            ) from None

    def written(self, number: float) -> str:
        """A number of the column as a person writes it."""
        return calendar.written_time(number)

    @property
    def known(self) -> KnownColumn:
        """What an expression knows of it."""
        return KnownColumn("datetime")


@dataclass(frozen=True)
class Duration(Real):
    """A length of time between public bounds, in ``unit``: a number of it, ``2:30``, ``2:30:15`` (hours first) or
    ``P1DT2H30M`` as ISO 8601 has it, or a stored length of time.
    """

    unit: str = field(default="hours", kw_only=True)
    type: ClassVar[str] = "duration"

    def __post_init__(self) -> None:
        if self.unit not in UNITS:
            raise InvalidRequest(f"unit must be one of {', '.join(UNITS)}, got {self.unit!r}", key="unit")
        super().__post_init__()

    def to_dict(self) -> dict[str, Any]:
        """What TOML and JSON hold."""
        return super().to_dict() | {"unit": self.unit}


@lru_cache(maxsize=16)
def hours(zone: str, first: int, last: int) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """When the clock of a zone changes between two days, in seconds UTC, and its offsets from UTC before and after.

    The days are public bounds; a time beyond them has the offset of the nearest, and is clipped anyway.
    """
    from zoneinfo import ZoneInfo

    try:
        place = ZoneInfo(zone)
    except Exception:  # a name of another type, a name that is none, a machine without zones
        raise InvalidRequest(f"zone must be a time zone such as 'Europe/Berlin', got {zone!r}", key="zone") from None
    start = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)

    def offset(second: int) -> float:
        shift = (start + dt.timedelta(seconds=second)).astimezone(place).utcoffset()
        return 0.0 if shift is None else shift.total_seconds()

    day = 86400
    changes, offsets = [], [offset(first * day)]
    for here in range(first * day, last * day, day):
        if offset(here + day) != offsets[-1]:
            low, high = here, here + day
            while high - low > 1:
                middle = (low + high) // 2
                low, high = (middle, high) if offset(middle) == offsets[-1] else (low, middle)
            changes.append(float(high))
            offsets.append(offset(high))
    return tuple(changes), tuple(offsets)
