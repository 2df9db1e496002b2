"""Where in a TOML file a key stands: ``tomllib`` reads values and forgets their lines, and an error should name one."""

from __future__ import annotations

import re
import tomllib
from typing import Any

Key = tuple[str | int, ...]

_HEADER = re.compile(r"\s*(\[{1,2})([^\[\]]+)\]{1,2}\s*(#.*)?$")
_ASSIGNMENT = re.compile(r"""\s*((?:[\w.\- ]|"[^"]*"|'[^']*')+?)\s*=""")


def line_numbers(text: str) -> dict[Key, int]:
    """The line of every table header and key; the third ``[[ask]]`` is ``("ask", 2)``."""
    found: dict[Key, int] = {}
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
        found.setdefault(table if header else table + path, line)
    return found


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
