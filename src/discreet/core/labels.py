"""Names and labels as text: when two are the same, and which one was meant."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from typing import TypeAlias

Label: TypeAlias = str | int | bool


def canonical(label: Label) -> str:
    """The text by which a category or a person id is compared: ``1``, ``"1"`` and ``1.0`` are the same."""
    return ("true" if label else "false") if isinstance(label, bool) else str(label)


def fold(text: str) -> str:
    """A text without regard to letter case and to spaces around it."""
    return text.strip().casefold()


def closest(name: str, known: Iterable[str]) -> str:
    """``; did you mean 'age'?`` when a known name is near, else the known names."""
    names = list(known)
    near = difflib.get_close_matches(name, names, n=1)
    return f"; did you mean {near[0]!r}?" if near else f"; known: {', '.join(names) or 'none'}"
