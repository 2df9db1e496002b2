"""Numbers as a person reads them, in the language of the page."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from discreet.core.categories import OTHER
from discreet.report.language import say, spelt


def shown(value: Any) -> str:
    """Thousands apart, four digits of the rest; a true minus sign."""
    number = float(value)
    text = f"{number:,.0f}" if abs(number) >= 1000 else f"{number:.4g}"
    return spelt("0" if text in ("-0", "0") else text).replace("-", "−")


def plain(value: Any) -> str:
    """The same in plain characters, for a terminal; "unknown" for what is None."""
    return "unknown" if value is None else shown(value).replace("−", "-")


def percent(value: float) -> str:
    """A share of one in per cent, with a digit more near the ends."""
    size = 100 * value
    return spelt(f"{size:.2f} %" if 99.9 < size < 100 else f"{size:.3g} %")


def in_words(label: Any, edge: Callable[[float], str] | None = None) -> str:
    """A bin such as ``[18, 30)`` in words, true and false, and what was not found; every other label as it is.

    ``edge`` says an end of a bin.
    """
    if isinstance(label, bool):
        return say("true" if label else "false")
    if isinstance(label, float):
        return shown(label)
    if label == OTHER:
        return say("other")
    found = re.fullmatch(r"\[(\S+), (\S+)([)\]])", str(label))
    if not found:
        return str(label)
    low, high = (_end(found[i], edge) for i in (1, 2))
    return say("between", low=low, high=f"{say('below') if found[3] == ')' else ''}{high}")


def _end(text: str, edge: Callable[[float], str] | None) -> str:
    """An end of a bin: a number, or a date as it is."""
    try:
        number = float(text)
    except ValueError:
        return text
    return edge(number) if edge else spelt(text).replace("-", "−")
