"""Answers about a column of dates or times, whose numbers a page shows as dates."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

from discreet.expressions import calendar
from discreet.report.language import say, spelt
from discreet.report.numerals import in_words, shown

_VALUES = ("mean", "median", "quantile", "bounds", "distribution")  # statistics whose answers are values of the column


@dataclass(frozen=True)
class _About:
    """The column that an answer is about; ``kind`` is "date" or "datetime", "" where it is of numbers."""

    column: str = ""
    kind: str = ""
    values: bool = False


_NUMBERS = _About()
_about: ContextVar[_About] = ContextVar("about", default=_NUMBERS)


@contextmanager
def about(ask: Mapping[str, Any], types: Mapping[str, str]) -> Iterator[None]:
    """Within the block numbers are told as those of a question's column; ``types`` are the declared types of columns."""
    column = next(iter(ask.get("columns", ())), "")
    kind = types.get(column, "")
    values = ask["statistic"] in _VALUES or ask.get("options", {}).get("each") == "mean"
    token = _about.set(_About(column, kind if kind in ("date", "datetime") else "", values))
    try:
        yield
    finally:
        _about.reset(token)


def told(value: Any) -> str:
    """A value of an answer: a date, where it is one."""
    here = _about.get()
    return _written(here.kind, float(value)) if here.values and here.kind else shown(value)


def in_plain(value: Any) -> str:
    """The same in plain characters, for a terminal."""
    return told(value).replace("−", "-")


def size(error: float) -> str:
    """The size of an error: in days, where the answer is a date."""
    here = _about.get()
    if not (here.values and here.kind):
        return f"± {shown(error)}"
    return say("days", size=f"± {shown(error if here.kind == 'date' else error / calendar.DAY)}")


def label(value: Any, axis: str) -> str:
    """A label in words; of bins of the question's own column their ends as dates, where they are."""
    here = _about.get()
    return in_words(value, edge if here.kind and axis == here.column else None)


def edge(number: float) -> str:
    """An end of a bin of the question's own column."""
    kind = _about.get().kind
    return _written(kind, number) if kind else spelt(f"{number:g}").replace("-", "−")


def _written(kind: str, number: float) -> str:
    if not math.isfinite(number):
        return shown(number)
    try:
        return calendar.written(round(number)) if kind == "date" else calendar.written_time(60 * round(number / 60))[:16]
    except OverflowError:  # beyond the calendar
        return shown(number)
