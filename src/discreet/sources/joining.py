"""Several tables as one: public lookups joined on a key, and tables of the same people joined on the person.

    visits = ds.Schema({"cost": ds.Real(0, 10**5), "icd": ds.Text()}, person="id", max_rows=20)
    patients = ds.Schema({"born": ds.Integer(1900, 2030)}, person="id", max_rows=1)
    chapters = {"chapter": ds.Categories(["infection", "injury"])}
    joined = ds.join("visits.parquet", visits, ds.People("patients.csv", patients), ds.Lookup("icd.csv", "icd", chapters))
    session = ds.Session(joined, joined.schema, ds.Budget(epsilon=1))

The first table decides which rows there are: each of its rows stays, once for every row that its person has in another table
(once, with missing values, where there is none), with what a lookup says of its key beside it.

Proof that a join changes no guarantee, and of its row bound. Lookups are public, and what is attached is a function of the
row's own key. A row of the join on the person is made of rows of one person, so the joined rows of a person are a function
of that person's rows in all tables: tables that differ in one person have joins that differ in that person's rows, under
either relation, and a query's distance holds with the join's own ``max_rows``. Let the first table count k rows of a person,
and the others p_1 .. p_m. Of every other table at most p_i rows of a person are joined (those with the smallest salted hash
of their codes, a function of that person's rows in it), so a row of the first table becomes at most p_1 p_2 .. p_m rows, and
k rows of it at most k p_1 .. p_m: that is the bound of the join, which the cap of every sum enforces whatever is stored.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from discreet.core.schema import Categories, Column, Schema
from discreet.core.text import Text
from discreet.errors import InvalidRequest


@dataclass(frozen=True)
class People:
    """A private table of the same people: anything that a session opens, its schema, and its version."""

    table: Any = field(repr=False)  # records are not shown
    schema: Schema
    version: str | None = None


@dataclass(frozen=True)
class Lookup:
    """A public table with one row for each ``key``, a column of that name in the first table too; ``columns`` the rest."""

    table: Any = field(repr=False)  # records are not shown
    key: str
    columns: Mapping[str, Column]


@dataclass(frozen=True)
class Join:
    """Tables to be read as one, and the schema that follows."""

    table: Any = field(repr=False)  # records are not shown
    first: Schema
    people: tuple[People, ...]
    lookups: tuple[Lookup, ...]
    schema: Schema


def join(table: Any, schema: Schema, *others: People | Lookup, columns: Mapping[str, Column] | None = None) -> Join:
    """The first ``table`` with ``others`` beside it. ``columns`` are derived ones that read columns of several tables."""
    people = tuple(each for each in others if isinstance(each, People))
    lookups = tuple(each for each in others if isinstance(each, Lookup))
    if len(people) + len(lookups) < len(others) or not others:
        kinds = ", ".join(type(each).__name__ for each in others) or "nothing"  # a table itself would show its records
        raise InvalidRequest(f"a table is joined with People(...) and Lookup(...), got {kinds}")
    made = dict(schema.columns)
    for each in others:
        _add(made, each.schema.columns if isinstance(each, People) else each.columns)
    for each in people:
        _check_people(schema, each.schema)
    for found in lookups:
        _check_key(schema, found)
    _add(made, columns or {})
    if derived := next((name for name, column in (columns or {}).items() if column.formula is None), None):
        raise InvalidRequest(f"columns of a join are derived, got {derived!r} without a formula; declare it in its table")
    rows = None if schema.max_rows is None else schema.max_rows * math.prod(each.schema.max_rows or 1 for each in people)
    return Join(table, schema, people, lookups, replace(schema, columns=made, max_rows=rows))


def _add(made: dict[str, Column], more: Mapping[str, Column]) -> None:
    for name, column in more.items():
        if name in made:
            raise InvalidRequest(f"columns of joined tables must have different names, got {name!r} twice; rename one")
        made[name] = column


def _check_people(first: Schema, other: Schema) -> None:
    if first.person is None or other.person is None:
        raise InvalidRequest("tables of people are joined on the person; declare person= and max_rows= in both schemas")
    if other.neighbors != first.neighbors or other.population != first.population:
        raise InvalidRequest(
            f"joined tables must have one relation and one population, got {first.neighbors!r} and {other.neighbors!r}, "
            f"{first.population!r} and {other.population!r}"
        )
    for name, column in other.columns.items():
        if isinstance(column, Text) or column.private:
            raise InvalidRequest(
                f"column {name!r} of a joined table must have public bounds or labels; declare them, or join the tables the "
                "other way round"
            )


def _check_key(first: Schema, lookup: Lookup) -> None:
    declared = first.columns.get(lookup.key)
    if not isinstance(declared, Text | Categories) or declared.private or declared.formula is not None:
        raise InvalidRequest(
            f"the key of a lookup must be a stored column of text or of known categories, got {lookup.key!r}; declare it as "
            "Text()",
            key=lookup.key,
        )
    for name, column in lookup.columns.items():
        if isinstance(column, Text) or column.private or column.formula is not None:
            raise InvalidRequest(f"column {name!r} of a lookup must have declared bounds or labels, and no formula")
