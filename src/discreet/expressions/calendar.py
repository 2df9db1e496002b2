"""Days and clocks as doubles: a date is its day since 1970-01-01, a time the second since then on the clock of its zone.

Every function is total: outside the years 1 to 9999, and where the argument is missing, the part is missing.
"""

from __future__ import annotations

import datetime as dt
from typing import Any

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
_FIRST, _LAST = -719162.0, 2932896.0  # the days of the years 1 and 9999
DAY = 86400.0


def day_of(text: str) -> float:
    """The day of an ISO date; ``ValueError`` where it is none."""
    return float((dt.date.fromisoformat(text) - dt.date(1970, 1, 1)).days)


def second_of(text: str) -> float:
    """The second of an ISO date and time without a zone; ``ValueError`` where it is none."""
    found = dt.datetime.fromisoformat(text)
    if found.tzinfo is not None:
        raise ValueError("a time zone is declared for a column, not written into a constant")
    return (found - dt.datetime(1970, 1, 1)) / dt.timedelta(seconds=1)


def written(day: float) -> str:
    """An ISO date."""
    return (dt.date(1970, 1, 1) + dt.timedelta(days=day)).isoformat()


def written_time(second: float) -> str:
    """An ISO date and time."""
    return (dt.datetime(1970, 1, 1) + dt.timedelta(seconds=second)).isoformat(" ")


def _days(values: Floats) -> tuple[npt.NDArray[np.int64], Any]:
    """Whole days, and where there are any."""
    days = np.floor(values)
    known = (days >= _FIRST) & (days <= _LAST)
    return np.where(known, days, 0.0).astype(np.int64), known


def part(name: str, values: Floats) -> Floats:
    """A part of dates, as doubles: year, quarter, month, day, or weekday from Monday, 1, to Sunday, 7."""
    days, known = _days(values)
    if name == "weekday":
        found = (days + 3) % 7 + 1
    else:
        dates = days.astype("datetime64[D]")
        months = dates.astype("datetime64[M]").astype(np.int64)
        found = {
            "year": lambda: months // 12 + 1970,
            "quarter": lambda: months % 12 // 3 + 1,
            "month": lambda: months % 12 + 1,
            "day": lambda: days - dates.astype("datetime64[M]").astype("datetime64[D]").astype(np.int64) + 1,
        }[name]()
    return np.where(known, found.astype(np.float64), np.nan)


def clock(name: str, values: Floats) -> Floats:
    """The hour or the minute of times, as doubles."""
    known = _days(values / DAY)[1]
    seconds = np.where(known, values, 0.0) % DAY
    found = np.floor(seconds / 3600) if name == "hour" else np.floor(seconds / 60) % 60
    return np.where(known, found, np.nan)
