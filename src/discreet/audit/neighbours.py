"""Pairs of neighbouring tables that are likely to break a claim: extremes, empty, duplicated, missing, outliers."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

from discreet.core.query import Relation
from discreet.core.schema import Categories, Schema

Rows = list[dict[str, Any]]


def _cells(schema: Schema, name: str) -> list[Any]:
    """Values of a column worth trying: both bounds, beyond them, the middle, missing, and what is not a value at all."""
    column = schema[name]
    if isinstance(column, Categories):
        return [*column.labels[:3], "nobody declared this", None]
    lo, hi = float(column.lo), float(column.hi)
    return [lo, hi, (lo + hi) / 2, hi + (hi - lo), -math.inf, math.inf, math.nan]


def records(schema: Schema) -> Rows:
    """Adversarial records: every column at one kind of value, and numbers at opposite corners."""
    names = list(schema.columns)
    kinds = max(len(_cells(schema, n)) for n in names)
    plain = [{n: _cells(schema, n)[k % len(_cells(schema, n))] for n in names} for k in range(kinds)]
    corners = [{n: _cells(schema, n)[(i + k) % 2] for i, n in enumerate(names)} for k in range(2)]
    return plain + corners


def pairs(schema: Schema, relation: Relation, size: int = 6) -> Iterator[tuple[Rows, Rows]]:
    """Neighbouring tables: each record beside backgrounds of nothing, one of itself, its opposite, and a mixture."""
    known = records(schema)
    for i, record in enumerate(known):
        backgrounds = [[], [record] * (size - 1), [known[(i + 1) % len(known)]] * (size - 1), known[: size - 1]]
        for background in backgrounds:
            here = [*background, record]
            if relation in ("add_remove", "both"):
                yield here, background
            if relation in ("replace", "both"):
                yield from ((here, [*background, other]) for other in known if other is not record)


def table(schema: Schema, rows: Rows) -> dict[str, list[Any]]:
    """Rows as columns; everyone is a person of their own, the last row the one who differs."""
    columns: dict[str, list[Any]] = {name: [row[name] for row in rows] for name in schema.columns}
    if schema.person is not None and schema.person not in columns:
        columns[schema.person] = list(range(len(rows)))
    return columns
