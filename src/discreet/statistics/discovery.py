"""Columns declared with private bounds or labels: what finding them asks, and the schema with what was found.

A column with ``bounds = "private"`` or ``values = "private"`` and a price is paid for when it is first needed, like any
question; afterwards its declaration is what was found. A question is checked on a stand-in before that is paid.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from discreet.core.price import Price
from discreet.core.query import Relation
from discreet.core.result import Result
from discreet.core.runner import Procedure
from discreet.core.schema import Categories, Column, Schema
from discreet.statistics.question import Question, Table, build

FINDERS = ("bounds", "categories")  # the statistics that look for a declaration instead of needing one


def needed(schema: Schema, names: Iterable[Any]) -> list[str]:
    """Of these columns those that have to be found first, each once."""
    wanted = dict.fromkeys(name for name in names if isinstance(name, str) and name in schema.columns)
    return [name for name in wanted if schema[name].private and schema[name].price is not None]


def finder(schema: Schema, name: str) -> tuple[str, dict[str, Any]]:
    """The statistic that finds a column's declaration, and its options: names alone, unless a count is asked for."""
    column = schema[name]
    if not isinstance(column, Categories):
        return "bounds", {}
    return "categories", {"counts": False} if column.minimum is None else {"minimum": int(column.minimum)}


def questions(schema: Schema, names: Sequence[str]) -> list[tuple[Question, Price]]:
    """What is asked to find these columns, and for how much."""
    asked = []
    for name in names:
        statistic, options = finder(schema, name)
        asked.append((build(statistic, Table(schema), name, **options), Price(**dict(schema[name].price or ()))))
    return asked


def finding(asked: Sequence[tuple[Question, Price]], relation: Relation) -> Procedure[list[Result]]:
    """All of them in one transaction and one pass."""
    asks = [question.asks(price, relation) for question, price in asked]
    releases = yield tuple(ask for group in asks for ask in group)
    return [Result(question.reading, (r,), r.cost) for (question, _), r in zip(asked, releases, strict=True)]


def found(schema: Schema, results: Mapping[str, Result]) -> dict[str, Column]:
    """The declarations that results say."""
    columns: dict[str, Column] = {}
    for name, result in results.items():
        column = schema[name]
        if isinstance(column, Categories):
            columns[name] = column.found(result.labels[0][1])
        else:
            lo, hi = (float(end) for end in result.value)
            columns[name] = column.found(lo, hi)
    return columns


def stand_in(schema: Schema, names: Iterable[str]) -> Schema:
    """The schema as if nothing had been found: outer bounds, and no label but ``other``."""
    made: dict[str, Column] = {}
    for name in names:
        column = schema[name]
        made[name] = column.found(()) if isinstance(column, Categories) else column.found(column.lo, column.hi)
    return replace(schema, columns={**schema.columns, **made})
