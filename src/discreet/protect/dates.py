"""Days by month, quarter, half-year, year, decade and century."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from itertools import pairwise
from typing import Any, ClassVar

from discreet.errors import InvalidRequest
from discreet.protect.hierarchies import TOP
from discreet.protect.measured import Measured

# For every step, the months it spans (0: one day) and how it is written.
_STEPS: dict[str, tuple[int, Callable[[date], str]]] = {
    "day": (0, lambda d: d.isoformat()),
    "month": (1, lambda d: f"{d.year:04}-{d.month:02}"),
    "quarter": (3, lambda d: f"{d.year:04}-Q{(d.month + 2) // 3}"),
    "half": (6, lambda d: f"{d.year:04}-H{(d.month + 5) // 6}"),
    "year": (12, lambda d: f"{d.year:04}"),
    "decade": (120, lambda d: f"{d.year // 10 * 10:04}s"),
    "century": (1200, lambda d: f"{d.year // 100 * 100:04}s (100 years)"),
}


@dataclass(frozen=True)
class Dates(Measured):
    """Days between two dates, written in ISO form, and the coarser periods that hold them.

    Proof: counted in months from January of the year 0, each period starts at a multiple of its length, and each
    length is a multiple of the one before it in the calendar of steps, so levels nest.
    """

    first: date | str
    last: date | str
    steps: tuple[str, ...]
    kind: ClassVar[str] = "dates"

    def __post_init__(self) -> None:
        object.__setattr__(self, "first", _day(self.first, "first"))
        object.__setattr__(self, "last", _day(self.last, "last"))
        if not self._first < self._last:
            raise InvalidRequest(f"dates need first < last, got {self.first} and {self.last}")
        order = list(_STEPS)
        for step in self.steps:
            if step not in order:
                raise InvalidRequest(f"a step of dates must be one of {', '.join(order)}, got {step!r}; weeks do not nest")
        places = [order.index(step) for step in self.steps]
        if any(a >= b for a, b in pairwise(places)):
            raise InvalidRequest(f"steps must go from finer to coarser, got {list(self.steps)}; the order is {order}")

    @property
    def _first(self) -> date:
        return self.first  # type: ignore[return-value]

    @property
    def _last(self) -> date:
        return self.last  # type: ignore[return-value]

    @property
    def levels(self) -> tuple[str, ...]:  # type: ignore[override]
        return ("value", *self.steps, "top")

    def path(self, value: str) -> tuple[str, ...]:
        day = self._within(value)
        return (value, *(_STEPS[step][1](day) for step in self.steps), TOP)

    def stretch(self, value: str, level: int) -> tuple[float, float]:
        start, stop = _period(self._within(value), _STEPS[self.steps[level - 1]][0])
        days = self._last - self._first
        return (max(start, self._first) - self._first) / days, (min(stop, self._last) - self._first) / days

    def place(self, value: str) -> date:
        return self._within(value)

    def positions(self, values: Sequence[str]) -> list[float]:
        return [(self._within(value) - self._first) / (self._last - self._first) for value in values]

    def plain(self, value: str) -> str:
        return self._within(value).isoformat()

    def centre(self, mean: float, frequent: str) -> str:
        return (self._first + timedelta(days=round(mean * (self._last - self._first).days))).isoformat()

    def to_dict(self) -> dict[str, Any]:
        return {
            "kind": self.kind,
            "first": self._first.isoformat(),
            "last": self._last.isoformat(),
            "steps": list(self.steps),
        }

    def _within(self, value: str) -> date:
        day = _day(value, "a value")
        if not self._first <= day <= self._last:
            raise InvalidRequest(f"a date must lie from {self._first} to {self._last}, got {value!r}; widen the bounds")
        return day


def _day(value: Any, name: str) -> date:
    """The day of a date, a time stamp or an ISO text, whose first ten characters are the day."""
    try:
        return date.fromisoformat(str(value)[:10])
    except ValueError:
        raise InvalidRequest(f"{name} must be a date in ISO form, such as 2024-05-31, got {value!r}; convert it") from None


def _period(day: date, months: int) -> tuple[date, date]:
    """The first day of the period around a day, and its last."""
    if months == 0:
        return day, day
    start = (day.year * 12 + day.month - 1) // months * months
    stop = start + months
    return _month(start, date.min), _month(stop, date.max) - timedelta(days=1) if stop // 12 <= 9999 else date.max


def _month(number: int, beyond: date) -> date:
    year, month = divmod(number, 12)
    return date(year, month + 1, 1) if 1 <= year <= 9999 else beyond
