"""TOML files with the lines of their keys: ``tomllib`` reads values and forgets them, and an error should name one."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

from discreet.errors import UnsupportedFormat

Key = tuple[str | int, ...]
Place = Callable[..., str]  # from the path of a key to the file and line it stands at, for the start of a message

_HEADER = re.compile(r"\s*(\[{1,2})([^\[\]]+)\]{1,2}\s*(#.*)?$")
_ASSIGNMENT = re.compile(r"""\s*((?:[\w.\- ]|"[^"]*"|'[^']*')+?)\s*=""")


def read(path: str | Path, what: str) -> tuple[dict[str, Any], Place]:
    """The values of a file, and where they stand in it."""
    try:
        text = Path(path).read_text(encoding="utf-8")
    except (OSError, ValueError) as problem:
        reason = getattr(problem, "strerror", None) or "it is not text in UTF-8"
        raise UnsupportedFormat(f"{path}: the {what} cannot be read ({reason}); check the path") from None
    return parsed(text, str(path))


def parsed(text: str, name: str) -> tuple[dict[str, Any], Place]:
    """The values of a text, and where they stand in it; ``name`` is what the text is called."""
    try:
        doc = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as problem:
        raise UnsupportedFormat(f"{name}: not valid TOML: {problem}") from None
    lines = line_numbers(text)

    def place(*key: str | int) -> str:
        known: Key = key
        while known and known not in lines:
            known = known[:-1]
        return f"{name}, line {lines.get(known, 1)}: "

    return doc, place


def line_numbers(text: str) -> dict[Key, int]:
    """The line of every table header and key; the third ``[[ask]]`` is ``("ask", 2)``."""
    lines: dict[Key, int] = {}
    counts: dict[Key, int] = {}
    table: Key = ()
    for line, written in enumerate(text.splitlines(), 1):
        header, assignment = _HEADER.match(written), _ASSIGNMENT.match(written)
        source = f"[{header[2]}]" if header else f"{assignment[1]}=0" if assignment else ""
        try:
            path = _path(tomllib.loads(source))
        except tomllib.TOMLDecodeError:  # a line inside a longer text that only looks like a key
            continue
        if not path:
            continue
        if header and header[1] == "[[":
            counts[path] = counts.get(path, -1) + 1
            table = (*path, counts[path])
        elif header:
            table = _within(path, counts)
        lines.setdefault(table if header else table + path, line)
    return lines


def _within(path: Key, counts: dict[Key, int]) -> Key:
    """``[ask.options]`` belongs to the last ``[[ask]]`` before it."""
    for size in range(1, len(path)):
        if path[:size] in counts:
            return (*path[:size], counts[path[:size]], *path[size:])
    return path


def _path(doc: dict[str, Any]) -> Key:
    for key, value in doc.items():
        return (key, *(_path(value) if isinstance(value, dict) else ()))
    return ()
