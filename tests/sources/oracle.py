"""A slow, plain reading of what a table means: one cell at a time, in Python numbers only."""

from __future__ import annotations

import math
import re
from collections import Counter, defaultdict
from hashlib import blake2b
from typing import Any

from discreet.core.schema import Categories, Schema

WORD = 2**64 - 1
MISSING = 2**62


def scramble(word: int) -> int:
    word = (word ^ (word >> 30)) * 0xBF58476D1CE4E5B9 & WORD
    word = (word ^ (word >> 27)) * 0x94D049BB133111EB & WORD
    return word ^ (word >> 31)


def text(cell: Any) -> str | None:
    if cell is None or cell == "" or (isinstance(cell, float) and math.isnan(cell)):
        return None
    if isinstance(cell, bool):
        return "true" if cell else "false"
    return str(int(cell)) if isinstance(cell, float) and cell == int(cell) else str(cell)


def number(cell: Any) -> float:
    if isinstance(cell, str):
        plain = re.fullmatch(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?|[+-]?(inf|infinity)", cell.strip(), re.I | re.A)
        return float(cell) if plain else math.nan
    return math.nan if cell is None else float(cell)


def code(cell: Any, name: str, schema: Schema) -> int:
    """The quantised value of a number or the code of a category, after the missing rule."""
    column = schema[name]
    if isinstance(column, Categories):
        labels = [text(label) for label in column.labels]
        missing = labels.index(text(column.missing)) if column.missing not in (None, "drop") else -1
        if missing == -1 and column.other is not None and schema.neighbors == "replace":
            missing = labels.index(text(column.other))
        if text(cell) is None:
            return missing
        return (
            labels.index(text(cell))
            if text(cell) in labels
            else (missing if column.other is None else labels.index(text(column.other)))
        )
    value = number(cell)
    if math.isnan(value):
        if column.missing in (None, "drop") and schema.neighbors != "replace":
            return MISSING
        value = (column.lo + column.hi) / 2 if column.missing is None else column.missing
    clipped = min(max(value, column.lo), column.hi)
    return min(round((clipped - column.lo) * (2.0**30 / (column.hi - column.lo))), 2**30)


def person_hash(cell: Any, salt: int) -> int:
    name = text(cell)
    if name is None:
        return scramble(-(2**63) + salt & WORD)
    if re.fullmatch("0|-?[1-9][0-9]{0,17}", name):
        return scramble(int(name) + salt & WORD)
    key = (salt & WORD).to_bytes(8, "little")
    return int.from_bytes(blake2b(name.encode(), digest_size=8, key=key).digest(), "little")


def kept_rows(rows: list[dict[str, Any]], columns: list[str], schema: Schema, salt: int) -> Counter[tuple[int, ...]]:
    """How often each (person, codes) is kept."""
    everyone: dict[str | None, list[tuple[int, tuple[int, ...], int]]] = defaultdict(list)
    for row in rows:
        person = person_hash(row[schema.person], salt) if schema.person else 0
        codes = tuple(code(row[name], name, schema) for name in sorted(columns))
        word = scramble(person)
        for c in codes:
            word = scramble(word ^ scramble(c & WORD))
        everyone[text(row[schema.person]) if schema.person else None].append((word, codes, person))
    kept: Counter[tuple[int, ...]] = Counter()
    for owner, theirs in everyone.items():
        if owner is None and schema.person:
            continue  # rows without an id are nobody's
        for _, codes, person in sorted(theirs)[: schema.max_rows]:
            kept[(person, *codes)] += 1
    return kept
