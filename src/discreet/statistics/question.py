"""A statistic is a question: what to compute exactly, and how to read what is released. One file for each."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from discreet.core.ask import Ask
from discreet.core.mechanism import Mechanism
from discreet.core.price import Price
from discreet.core.query import Query, Relation
from discreet.core.reading import Axes, Reading
from discreet.core.registry import load
from discreet.core.result import SCOPES
from discreet.core.schema import Categories, Integer, Real, Schema
from discreet.errors import DiscreetError, InvalidRequest
from discreet.manifest import homes
from discreet.mechanisms.priced import law_of_sums
from discreet.statistics.cells import Cells, Factor, Kind

_MILLION = 1e6


@dataclass(frozen=True)
class Table:
    """What is public about a table: its schema and, where the relation makes it so, its number of rows.

    ``public_labels`` says that who is in which group is no secret, ``largest_group`` then how many are in the largest:
    facts about the table, never options of a question. ``gaussian`` says that the price asks for Gaussian noise.
    """

    schema: Schema
    rows: int | None = None
    public_labels: bool = False
    largest_group: int | None = None
    gaussian: bool = False

    @property
    def most_rows(self) -> int:
        """The most rows of one person that count."""
        return self.schema.max_rows or 1

    def number(self, column: str) -> Real | Integer:
        """The declaration of a column of numbers; refuses one of categories."""
        declared = self.schema[column]
        if isinstance(declared, Categories):
            raise InvalidRequest(
                f"column {column!r} holds categories; this statistic needs a number, declared as Real or Integer"
            )
        return declared

    def categories(self, column: str, *, found: bool = True) -> Categories:
        """The declaration of a column of categories; refuses one of numbers, and labels that are yet to be ``found``."""
        declared = self.schema[column]
        if not isinstance(declared, Categories):
            raise InvalidRequest(f"column {column!r} holds numbers; group by bins({column}, [...]), or declare Categories")
        if found and declared.private:
            raise InvalidRequest(
                f"the labels of column {column!r} are private and have no price; declare price={{'epsilon': ..., 'delta': "
                "...}, or ask for categories and declare what they find"
            )
        return declared

    def factor(self, kind: Kind, column: str, edges: Sequence[float] = ()) -> Factor:
        """A factor with the bounds, edges or labels that are declared for its column."""
        if kind == "category":
            return Factor(kind, self.schema.name_of(column), labels=self.categories(column).labels)
        declared = self.number(column)
        return Factor(kind, column, float(declared.lo), float(declared.hi), tuple(edges))

    def groups(self, by: str | Sequence[str] | None) -> tuple[Factor, ...]:
        """The factors of the columns to group by."""
        names = [self.schema.name_of(name) for name in ([by] if isinstance(by, str) else list(by or ()))]
        if len(set(names)) != len(names):
            raise InvalidRequest(f"a column can be grouped by once only, got {names}")
        return tuple(self.factor("category", name) for name in names)

    def two_groups(self, by: str, test: str) -> tuple[Factor]:
        """The factor of a column of exactly two labels, which a test compares."""
        groups = self.groups(by)
        if len(groups) != 1 or groups[0].size != 2:
            raise InvalidRequest(f"{test} compares two groups; {by!r} must be one category of two labels")
        return (groups[0],)

    def cells(self, *factors: Factor) -> Cells:
        """The query for a product of factors."""
        return Cells(factors, self.most_rows)


def for_population(of: str) -> bool:
    """Whether a question is about the population; refuses any other word than the two."""
    if of not in SCOPES:
        raise InvalidRequest(f"of must be 'table' or 'population', got {of!r}")
    return of == "population"


def axes(factors: Sequence[Factor]) -> Axes:
    """Names and labels of the axes that picking factors make."""
    return tuple((f.column, f.labels or intervals(f.edges)) for f in factors)


def intervals(edges: Sequence[float]) -> tuple[str, ...]:
    """Labels for bins."""
    last = len(edges) - 2
    shown = [f"{edge:g}" if abs(edge) < _MILLION else f"{edge:.12g}" for edge in edges]  # a time has ten digits
    return tuple(f"[{a}, {b}{']' if i == last else ')'}" for i, (a, b) in enumerate(pairwise(shown)))


@dataclass(frozen=True)
class Question:
    """An exact query and the reading of its release."""

    query: Query
    reading: Reading

    @property
    def size(self) -> int:
        """How many numbers it releases."""
        return self.query.size

    def law(self, price: Price, relation: Relation) -> Mechanism:
        """The noise that costs exactly what is to be spent."""
        return law_of_sums(price, self.query.distance(relation), self.query.grid)

    def asks(self, price: Price, relation: Relation) -> tuple[Ask, ...]:
        """What is asked for the price, in one transaction: one release, unless the question says otherwise."""
        return (Ask(self.query, self.law(price, relation)),)


Builder = Callable[..., Question]
_BUILDERS: dict[str, Builder] = {}


def statistic(name: str) -> Callable[[Builder], Builder]:
    """Register a statistic: a function from a ``Table`` and its arguments to a ``Question``."""

    def keep(builder: Builder) -> Builder:
        _BUILDERS[name] = builder
        return builder

    return keep


def builder(name: str) -> Builder:
    """The statistic of that name."""
    if not isinstance(name, str):
        raise InvalidRequest(f"a statistic is named by a text such as 'mean', got {name!r}")
    if name not in _BUILDERS:
        load(name, _BUILDERS, homes("statistic"), "statistic")
    return _BUILDERS[name]


def build(name: str, table: Table, *args: Any, **kwargs: Any) -> Question:
    """The question that a statistic asks with these arguments; refuses arguments it does not take."""
    make = builder(name)
    try:
        _check_taken(make, 1 + len(args), tuple(kwargs))
    except TypeError as problem:
        taken = ", ".join(p.name for p in [*signature(make).parameters.values()][1:])
        raise InvalidRequest(
            f"the statistic {name!r} takes other arguments ({problem}); it takes {taken or 'none'}"
        ) from None
    given = signature(make).bind(table, *args, **kwargs)
    for word, value in given.arguments.items():
        _check_names(word, value, str(given.signature.parameters[word].annotation))
    try:
        return make(table, *args, **kwargs)
    except DiscreetError:
        raise
    except (TypeError, ValueError, AttributeError, LookupError, OverflowError) as problem:  # a type that nobody foresaw
        said = ", ".join(f"{word}={value!r}" for word, value in given.arguments.items() if value is not table)
        raise InvalidRequest(f"the statistic {name!r} takes values of other types ({problem}), got {said[:200]}") from None


signature = functools.cache(inspect.signature)  # of a builder


@functools.lru_cache(maxsize=1024)
def _check_taken(make: Builder, places: int, named: tuple[str, ...]) -> None:
    signature(make).bind(*[None] * places, **dict.fromkeys(named))


def _check_names(word: str, value: Any, annotation: str) -> None:
    """Refuse what is no name of a column, or several of them, where that is what a statistic takes."""
    if not annotation.startswith("str"):
        return
    several = word in ("by", "columns") or "Sequence[str]" in annotation
    names = list(value) if several and isinstance(value, list | tuple) else [value]
    if value is None and "None" in annotation:
        return
    if not all(isinstance(name, str) for name in names):
        kind = "a column's name or a list of names" if several else "a text"
        raise InvalidRequest(f"{word} must be {kind}, got {value!r}; write it in quotation marks")


def names() -> list[str]:
    """Every registered statistic."""
    return sorted({*_BUILDERS, *homes("statistic")})
