"""What is computed exactly, and how far one person can move it."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal

from discreet.core import numbers
from discreet.core.cost import Distance
from discreet.core.documents import brief
from discreet.core.exact import Exact, add
from discreet.core.grid import UNIT
from discreet.core.registry import Named, Registry
from discreet.core.source import Batch, Source
from discreet.errors import InvalidRequest

Relation = Literal["add_remove", "replace", "both"]
RELATIONS: tuple[Relation, ...] = ("add_remove", "replace", "both")


def check_relation(relation: str) -> Relation:
    """Refuse a word that is not a neighbouring relation."""
    for known in RELATIONS:
        if relation == known:
            return known
    named = {"bounded": "; bounded privacy is 'replace'", "unbounded": "; unbounded privacy is 'add_remove'"}
    also = named.get(relation, "") if isinstance(relation, str) else ""
    raise InvalidRequest(f"neighbors must be one of {', '.join(RELATIONS)}, got {brief(relation)}{also}", key="neighbors")


class Query(Named, ABC):
    """An exact computation with its sensitivity. Every subclass is a frozen dataclass in the registry ``queries``."""

    @property
    def described(self) -> bool:
        """Whether its document says all that it computes; of a user's own function it has the title only.

        Where it does not, two questions with one document may differ, so a stored answer is never given again.
        """
        return all(getattr(value, "described", True) for value in vars(self).values())

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of its value, where that is an array; of a single number ()."""
        return ()

    @property
    def size(self) -> int:
        """How many numbers its value has."""
        return math.prod(self.shape)

    @property
    def grid(self) -> Fraction:
        """The step that its numbers are whole multiples of; 1 by default."""
        return Fraction(1)

    def read_columns(self) -> tuple[str, ...]:
        """The columns that it reads, where it names them."""
        return ()

    def members(self) -> tuple[Query, ...]:
        """The questions that it answers, in the order of its numbers: itself, or those that were asked together."""
        return (self,)

    def totals(self, rows: int) -> tuple[float, float] | None:
        """The least and the largest sum of its numbers when all of ``rows`` rows are used; None where that is not known."""
        return None

    @abstractmethod
    def distance(self, relation: Relation) -> Distance:
        """The most one person can move the value of ``evaluate``, under a neighbouring relation."""

    @abstractmethod
    def evaluate(self, source: Source) -> Any:
        """The exact value: whole numbers on a grid, utilities, or a problem to be minimised."""

    @abstractmethod
    def blank(self, rows: int) -> Any:
        """A made-up value of the form that ``evaluate`` returns, for a table of ``rows`` rows: plans run on it."""


class FoldQuery(Query, ABC):
    """A query that is computed batch by batch, so that several of them share one pass over the data."""

    @property
    @abstractmethod
    def columns(self) -> tuple[str, ...]:
        """The columns that ``step`` reads."""

    def read_columns(self) -> tuple[str, ...]:
        return self.columns

    @property
    def step_key(self) -> Any:
        """Queries with equal keys make the same steps, which are then made once for all of them."""
        return self

    @abstractmethod
    def step(self, batch: Batch) -> Any:
        """What one batch contributes."""

    @abstractmethod
    def combine(self, left: Any, right: Any) -> Any:
        """The contribution of two sets of records together; the order does not matter."""

    @abstractmethod
    def finish(self, total: Any) -> Any:
        """The exact value from all contributions."""

    def evaluate(self, source: Source) -> Any:
        return evaluate_together([self], source)[0]


class SumQuery(FoldQuery, ABC):
    """A fold that adds up whole numbers, in steps of its grid."""

    def combine(self, left: Any, right: Any) -> Any:
        return add(left, right)

    def finish(self, total: Any) -> Exact:
        return Exact(total, self.grid)


class FineSum(SumQuery, ABC):
    """A sum of numbers that were quantised, in the fine steps of ``core.grid``."""

    @property
    def grid(self) -> Fraction:
        return UNIT


def distance_of_weights(most: Fraction | int, relation: Relation) -> Distance:
    """How far a person moves sums by weights that are not negative and come to at most ``most`` in all.

    Proof: let v be the person's weights, v >= 0 and |v|_1 <= k. Adding or removing them moves the sums by v: L1 at most k,
    L2 at most |v|_1. Replacing v by w moves them by v - w: L1 at most 2k, |v - w|_2^2 <= |v|_2^2 + |w|_2^2 <= 2 k^2 because
    neither is negative, and for the same reason no single sum by more than k.
    """
    k = Fraction(most)
    if relation == "add_remove":
        return Distance(k, k, k)
    return Distance(2 * k, numbers.square_root_up(Fraction(2)) * k, k)


def check_rows(rows: int, name: str = "rows") -> None:
    """Refuse a value that is not a number of rows."""
    if isinstance(rows, bool) or rows < 1:
        raise InvalidRequest(f"{name} must be a whole number of at least 1, got {rows}")


class LotQuery(FoldQuery, ABC):
    """A query that is asked of many lots: the rows of a table in memory are gathered once, and each lot picks its people."""

    @abstractmethod
    def gather(self, source: Source) -> Any | None:
        """All rows of a table in memory, with ``people``, their number; None where the source has to be read each time."""

    @abstractmethod
    def of_lot(self, gathered: Any, chosen: Any | None) -> Any:
        """The exact value over the chosen people (None: all), as ``evaluate`` would give it of a sample of them."""


def evaluate_together(asked: Sequence[Query], source: Source) -> list[Any]:
    """Every query's exact value; all that are folds in a single pass, and equal steps made once."""
    folds = {q.step_key: q for q in asked if isinstance(q, FoldQuery)}
    totals: dict[Any, Any] = {}
    if folds:
        columns = list(dict.fromkeys(c for q in folds.values() for c in q.columns))
        together = JoinedFolds(tuple(folds.values()))
        sums: list[Any] = source.fold(together.step, together.combine, columns)
        totals = dict(zip(folds, sums, strict=True))
    return [q.finish(totals[q.step_key]) if isinstance(q, FoldQuery) else q.evaluate(source) for q in asked]


@dataclass(frozen=True)
class JoinedFolds:
    """Several folds as one. A plain object, so that a cluster can send it to its workers."""

    folds: tuple[FoldQuery, ...]

    def step(self, batch: Batch) -> list[Any]:
        return [q.step(batch) for q in self.folds]

    def combine(self, left: list[Any], right: list[Any]) -> list[Any]:
        return [q.combine(a, b) for q, a, b in zip(self.folds, left, right, strict=True)]


queries: Registry[Query] = Registry("query")
Query.registry = queries
