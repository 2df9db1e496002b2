"""How often a classifier of any kind decides right on private rows: paid counts."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, Self, TypeVar, runtime_checkable

import numpy as np

from discreet.core.ask import Ask
from discreet.core.cost import Distance
from discreet.core.exact import Exact
from discreet.core.price import Price
from discreet.core.query import Relation, SumQuery, distance_of_weights, queries
from discreet.core.release import Release
from discreet.core.result import Result
from discreet.core.runner import Procedure
from discreet.core.source import Batch
from discreet.mechanisms.priced import law_of_sums
from discreet.models.evaluate.accuracy import HitShare
from discreet.models.publish.predictor import Input
from discreet.statistics.cells import Integers

J = TypeVar("J", bound="RuleCounts")


class DecisionRule(Protocol):
    """What a fitted classifier decides by: row by row, whatever a record holds."""

    @property
    def inputs(self) -> Sequence[Input]:
        """The features that it reads."""

    @property
    def target(self) -> str:
        """The column of the true classes."""

    @property
    def classes(self) -> int:
        """The number of classes."""

    @property
    def digest(self) -> str:
        """What tells it apart from others."""

    def decide(self, batch: Batch) -> tuple[Any, Any]:
        """The numbers of the true and of the decided class of every row that counts."""


@runtime_checkable
class Decides(Protocol):
    """A fitted classifier that is judged by a rule of its own."""

    classes_: Any

    def judged_on(self, X: Any, y: Any, kind: type[J]) -> tuple[dict[str, Any], Any, J]:
        """Arrays as a table, its schema, and the question how the model decides on it."""

    def judged_in(self, schema: Any, kind: type[J]) -> J:
        """The question how the model decides on a table that is declared as the one it was fitted to."""

    def desk(self, table: dict[str, Any], schema: Any) -> Any:
        """Where a procedure on arrays is run."""


@dataclass(frozen=True)
class RuleCounts(SumQuery):
    """Counts of rows by what a ``rule`` makes of them; the rule is told apart from others by its ``digest``."""

    reads: tuple[str, ...]
    classes: int
    rows: int
    digest: str
    rule: Any = field(default=None, compare=False, repr=False)

    @property
    def columns(self) -> tuple[str, ...]:
        return self.reads

    @classmethod
    def of(cls, rule: DecisionRule, rows: int) -> Self:
        """The question about a rule, where a person has at most ``rows`` rows."""
        return cls((*(i.column for i in rule.inputs), rule.target), rule.classes, rows, rule.digest, rule)

    def distance(self, relation: Relation) -> Distance:
        return distance_of_weights(self.rows, relation)

    def blank(self, rows: int) -> Exact:
        return Exact(np.full(self.shape, rows // self.size, np.int64))


@queries("decisions")
@dataclass(frozen=True)
class Decisions(RuleCounts):
    """How many rows of each true class a classifier puts into each class.

    ``distance``: that of counts to which a person adds at most ``rows``.

    Proof: a row counts 1 in one cell, or nowhere where a value is missing; see ``distance_of_weights``. What a rule
    decides about a row depends on that row alone.
    """

    @property
    def shape(self) -> tuple[int, ...]:
        """True classes, and decided ones."""
        return self.classes, self.classes

    def step(self, batch: Batch) -> Integers:
        truth, guess = self.rule.decide(batch)
        return np.bincount(truth * self.classes + guess, minlength=self.classes**2).reshape(self.shape)


@queries("right_decisions")
@dataclass(frozen=True)
class RightDecisions(RuleCounts):
    """How many rows a classifier decides right, and how many wrong.

    ``distance``: that of counts to which a person adds at most ``rows``.

    Proof: a row counts 1 in one of the two, or nowhere where a value is missing; see ``distance_of_weights``.
    """

    @property
    def shape(self) -> tuple[int, ...]:
        """Right and wrong."""
        return (2,)

    def step(self, batch: Batch) -> Integers:
        truth, guess = self.rule.decide(batch)
        right = int((truth == guess).sum())
        return np.array([right, len(truth) - right], np.int64)


def digest_of(*numbers: Any) -> str:
    """What tells the numbers of a model apart from those of another."""
    return hashlib.sha256(b"".join(np.ascontiguousarray(n, np.float64).tobytes() for n in numbers)).hexdigest()


def accuracy_of(question: RightDecisions, price: Price, relation: Relation) -> Procedure[Result]:
    """The share of rows on which a classifier is right."""
    release: Release = yield Ask(question, law_of_sums(price, question.distance(relation)))
    assert release.cost is not None
    return Result(HitShare(1.0), (release,), release.cost)
