"""What is computed exactly, and how far one person can move it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, Literal, Protocol, TypeVar

from discreet.core.cost import Distance
from discreet.core.registry import Named, Registry
from discreet.errors import InvalidRequest

Relation = Literal["add_remove", "replace", "both"]
RELATIONS: tuple[Relation, ...] = ("add_remove", "replace", "both")

S = TypeVar("S")


def check_relation(relation: str) -> Relation:
    """Refuse a word that is not a neighbouring relation."""
    for known in RELATIONS:
        if relation == known:
            return known
    raise InvalidRequest(f"neighbors must be one of {', '.join(RELATIONS)}, got {relation!r}")


class Source(Protocol):
    """Where records live. It knows nothing of noise, budgets or algorithms."""

    @property
    def version(self) -> str:
        """A word that changes whenever the records may have changed."""

    def fold(self, map: Callable[[Any], S], combine: Callable[[S, S], S], columns: Sequence[str]) -> S:  # noqa: A002
        """``map`` over batches with whole people in them, and their results combined."""


class Query(Named, ABC):
    """An exact computation with its sensitivity. Every subclass is a frozen dataclass in the registry ``queries``."""

    @abstractmethod
    def distance(self, relation: Relation) -> Distance:
        """The most one person can move the value of ``evaluate``, under a neighbouring relation."""

    @abstractmethod
    def evaluate(self, source: Any) -> Any:
        """The exact value: whole numbers on a grid, utilities, or a problem to be minimised."""

    @abstractmethod
    def blank(self) -> Any:
        """A value of the shape ``evaluate`` gives, made from declarations alone: what a plan runs on."""


class FoldQuery(Query, ABC):
    """A query that is one fold: several of them share one pass over the data."""

    columns: tuple[str, ...]

    @abstractmethod
    def step(self, batch: Any) -> Any:
        """What one batch contributes."""

    @abstractmethod
    def combine(self, left: Any, right: Any) -> Any:
        """Two contributions as one, in either order."""

    @abstractmethod
    def finish(self, total: Any) -> Any:
        """The exact value from all contributions."""

    def evaluate(self, source: Source) -> Any:
        return evaluate_together([self], source)[0]


def evaluate_together(asked: Sequence[Query], source: Any) -> list[Any]:
    """Every query's exact value; all that are folds in a single pass."""
    folds = [q for q in asked if isinstance(q, FoldQuery)]
    totals: dict[int, Any] = {}
    if folds:
        columns = list(dict.fromkeys(c for q in folds for c in q.columns))
        result = source.fold(
            lambda batch: [q.step(batch) for q in folds],
            lambda left, right: [q.combine(a, b) for q, a, b in zip(folds, left, right, strict=True)],
            columns,
        )
        totals = {id(q): q.finish(t) for q, t in zip(folds, result, strict=True)}
    return [totals[id(q)] if id(q) in totals else q.evaluate(source) for q in asked]


queries: Registry[Query] = Registry("query")
