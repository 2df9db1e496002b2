"""Answers about a column of dates, times or lengths of time, whose numbers a page shows as dates or says the unit of."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

from discreet.core.dates_and_times import Duration
from discreet.core.schema import Schema
from discreet.expressions import calendar
from discreet.report.language import say, spelt
from discreet.report.numerals import in_words, shown

_VALUES = ("mean", "median", "quantile", "bounds", "distribution")  # statistics whose answers are values of the column


_IN_ITS_UNIT = (*_VALUES, "sum", "std", "people_sum", "people_mean")


@dataclass(frozen=True)
class _About:
    """The column that an answer is about; ``kind`` is "date" or "datetime", "" where it is of numbers."""

    column: str = ""
    kind: str = ""
    values: bool = False


_NUMBERS = _About()
_about: ContextVar[_About] = ContextVar("about", default=_NUMBERS)


def kinds(schema: Schema) -> dict[str, str]:
    """The types of declared columns; of a length of time the phrase of its unit."""
    return {name: f"unit.{c.unit}" if isinstance(c, Duration) else c.type for name, c in schema.columns.items()}


def title(ask: Mapping[str, Any], types: Mapping[str, str]) -> str:
    """What was asked, and in which unit its answer is where that is a length of time."""
    kind = types.get(next(iter(ask.get("columns", ())), ""), "")
    if not kind.startswith("unit.") or ask["statistic"] not in _IN_ITS_UNIT or ask.get("options", {}).get("each") == "count":
        return str(ask["title"])
    return say("in_unit", title=ask["title"], unit=say(kind))


def in_language(iso: str) -> str:
    """An ISO date, or one with a time after it, as the language writes dates."""
    found = re.fullmatch(r"(\d{4})-(\d\d)-(\d\d)(.*)", iso)
    return iso if found is None else say("day", year=found[1], month=found[2], day=found[3]) + found[4]


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
        day = calendar.written(round(number)) if kind == "date" else calendar.written_time(60 * round(number / 60))[:16]
    except OverflowError:  # beyond the calendar
        return shown(number)
    return in_language(day)
