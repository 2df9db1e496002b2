"""The language that a page is written in: its phrases, and how it spells numbers.

The phrases lie in ``phrases.toml``, a table for each language; what a law, a test or the method of a test says of itself is
English there, so that the English table leaves it out. Which one is spoken is a fact of the page that is being made, so it
is set once around the making of it (``spoken``), and whoever writes a sentence or a number asks here.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from importlib.resources import files
from typing import Any

from discreet.hypotheses.words import ENGLISH

LANGUAGES = ("en", "de", "fr")
_spoken: ContextVar[str] = ContextVar("language", default="en")


@cache
def phrases() -> dict[str, dict[str, str]]:
    """The phrases of every language."""

    found = tomllib.loads(files("discreet.report").joinpath("phrases.toml").read_text(encoding="utf-8"))
    french = found["fr"].items()  # where no line begins with a colon
    tied = {key: re.sub(r" (?=[:;%»])|(?<=«) ", "\u00a0", text) for key, text in french}
    return found | {"en": found["en"] | ENGLISH, "fr": tied}


@contextmanager
def spoken(language: str) -> Iterator[None]:
    """Write in this language within the block."""
    token = _spoken.set(language)
    try:
        yield
    finally:
        _spoken.reset(token)


def say(key: str, **words: Any) -> str:
    """A phrase, its words filled in."""
    return phrases()[_spoken.get()][key].format(**words)


def says(key: str) -> bool:
    """Whether the language has a phrase of its own."""
    return key in phrases()[_spoken.get()]


def spelt(number: str) -> str:
    """A number as Python formats it (``1,234.5``), with the marks of the language."""
    own = phrases()[_spoken.get()]
    return number.replace(",", "\0").replace(".", own["decimal"]).replace("\0", own["thousands"])


def localised(text: str) -> str:
    """A text in which numbers such as ``0.5`` stand, with the decimal mark of the language."""
    return re.sub(r"(?<=\d)\.(?=\d)", phrases()[_spoken.get()]["decimal"], text)


def priced(text: str) -> str:
    """A cost or a budget as a ledger writes it, in the language."""
    for key, english in phrases()["en"].items():
        if key.startswith("cost_"):
            text = text.replace(english, say(key))
    return localised(text)
