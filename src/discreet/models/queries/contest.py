"""How well several fitted models do on the same people: the utilities that a private choice among them needs."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from discreet.core import numbers
from discreet.core.cost import Distance
from discreet.core.query import FoldQuery, Relation, queries
from discreet.core.source import Batch
from discreet.errors import InvalidRequest
from discreet.models.design import Design, scores
from discreet.models.losses import Loss

Integers = npt.NDArray[np.int64]
_STEPS = 1 << 20  # a squared error, or a weight over its bound, is counted in so many steps


@dataclass(frozen=True)
class ScoringRule:
    """A fitted linear model as it is judged: how records become rows, and the coefficients of its score."""

    design: Design
    theta: tuple[float, ...]
    loss: Loss | None = None  # what a score predicts a number by, where that is not the score itself

    def errors(self, batch: Batch) -> int:
        """The number of wrong classes, or what rows are wrong by in steps: (hi - lo)^2 / 2^20, a row's weight over its
        bound.
        """
        rows, target = self.design.block(batch), self.design.target
        score = scores(rows.x, self.theta)
        share = None if self.design.weight is None or rows.weight is None else rows.weight / self.design.weight.most
        if target.classes:
            wrong = (score > 0) != (rows.y > 0)
            return int(wrong.sum() if share is None else np.rint(_STEPS * wrong * share).astype(np.int64).sum())
        lo, hi = target.ends
        score = score if self.loss is None else self.loss.predicted(score)
        missed = np.clip((np.clip(score, lo, hi) - np.clip(rows.y, lo, hi)) / (hi - lo), -1.0, 1.0)
        return _squared(missed, 1.0 if share is None else share)

    @property
    def whole(self) -> bool:
        """Whether errors are counted, each as one."""
        return bool(self.design.target.classes) and self.design.weight is None


class Judging(FoldQuery):
    """The utility of each of several rules: minus its errors, each a whole number of ``steps`` from 0 to 1.

    ``distance``: a person moves any utility by at most ``most_rows``, in L-infinity, under every relation.
    """

    @property
    @abstractmethod
    def candidates(self) -> int:
        """The number of rules."""

    @property
    @abstractmethod
    def most_rows(self) -> int:
        """The most rows of a person that count."""

    @property
    def steps(self) -> int:
        """How many steps an error of 1 has."""
        return 1

    def distance(self, relation: Relation) -> Distance:
        k = Fraction(self.most_rows)
        return Distance(k * self.candidates, k * numbers.square_root_up(Fraction(self.candidates)), k)

    def combine(self, left: Integers, right: Integers) -> Integers:
        return left + right

    def finish(self, total: Integers) -> Any:
        # Whole in doubles; a clip of the utility itself moves no two of them further apart.
        return -np.minimum(total, 1 << 53).astype(np.float64) / self.steps

    def blank(self, rows: int) -> Any:
        return np.full(self.candidates, -rows / 2)


@queries("contest")
@dataclass(frozen=True)
class Contest(Judging):
    """The utility of each rule: minus its number of errors, or minus its sum of squared errors over (hi - lo)^2.

    Where rows have weights, each error counts with its weight over the bound of weights. For a treatment rule, whose
    weights are benefits over propensities, that ranks rules by their value: what a rule does not lose it gains, and all
    rules share the total.

    ``distance``: a person moves any utility by at most ``rows``, in L-infinity, under every relation.

    Proof: an error is a whole number of steps from 0 to 1 whatever a row holds (numbers and predictions are clipped to
    the public bounds, weights to [0, their bound], and the steps of a number at most 1 are at most 2^20), a sum of whole
    numbers is exact, and a person has at most ``rows`` rows. Adding a person moves no utility up; replacing one moves
    each by at most ``rows``.
    """

    rules: tuple[ScoringRule, ...]

    def __post_init__(self) -> None:
        if not self.rules:
            raise InvalidRequest("a contest needs at least one rule, got none")
        if len({rule.whole for rule in self.rules}) > 1:
            raise InvalidRequest("rules must be judged alike: all by weights, or none")

    @property
    def columns(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(c for r in self.rules for c in r.design.columns))

    @property
    def candidates(self) -> int:
        return len(self.rules)

    @property
    def most_rows(self) -> int:
        return max(r.design.rows for r in self.rules)

    @property
    def steps(self) -> int:
        return 1 if self.rules[0].whole else _STEPS

    def step(self, batch: Batch) -> Integers:
        return np.array([rule.errors(batch) for rule in self.rules], np.int64)


@dataclass(frozen=True)
class _RulesContest(Judging):
    """A contest of rules of any kind, told apart by their ``digests``, where a person has at most ``rows`` rows."""

    reads: tuple[str, ...]
    rows: int
    digests: tuple[str, ...]
    rules: Any = field(default=(), compare=False, repr=False)

    @classmethod
    def of(cls, rules: Sequence[Any], rows: int) -> Self:
        """The contest of several rules, where a person has at most ``rows`` rows."""
        reads = dict.fromkeys(c for r in rules for c in (*(i.column for i in r.inputs), r.target) if c)
        return cls(tuple(reads), rows, tuple(r.digest for r in rules), tuple(rules))

    @property
    def columns(self) -> tuple[str, ...]:
        return self.reads

    @property
    def candidates(self) -> int:
        return len(self.digests)

    @property
    def most_rows(self) -> int:
        return self.rows


@queries("decision_contest")
@dataclass(frozen=True)
class DecisionContest(_RulesContest):
    """The utility of each of several classifiers of any kind: minus the number of rows that it decides wrong.

    ``rules`` decide row by row (``discreet.models.evaluate.decisions.DecisionRule``).

    ``distance``: a person moves any utility by at most ``rows``, in L-infinity, under every relation.

    Proof: a row counts 0 or 1 for each rule, and 0 where a value is missing, whatever it holds; what a rule decides about
    a row depends on that row alone, and a person has at most ``rows`` rows. Adding a person moves no utility up;
    replacing one moves each by at most ``rows``.
    """

    def step(self, batch: Batch) -> Integers:
        decided = (rule.decide(batch) for rule in self.rules)
        return np.array([int((truth != guess).sum()) for truth, guess in decided], np.int64)


@queries("number_contest")
@dataclass(frozen=True)
class NumberContest(_RulesContest):
    """The utility of each of several networks of a number, or of several sets of centres: minus its sum of squared misses.

    ``rules`` say row by row by how much they miss, within [-1, 1]: a network by its error over hi - lo
    (``discreet.models.evaluate.network_rule.NetworkRule``), centres by the distance of the nearest over the largest that
    there can be (``discreet.models.evaluate.centres_rule.CentresRule``).

    ``distance``: a person moves any utility by at most ``rows``, in L-infinity, under every relation.

    Proof: that of ``Contest``: a row adds a whole number of steps from 0 to 1, and by how much a rule misses a row depends
    on that row alone.
    """

    @property
    def steps(self) -> int:
        return _STEPS

    def step(self, batch: Batch) -> Integers:
        return np.array([_squared(rule.misses(batch)) for rule in self.rules], np.int64)


def _squared(missed: Any, share: Any = 1.0) -> int:
    """The squares of what rows are wrong by, each at most 1 and times its ``share``, in steps."""
    return int(np.rint(_STEPS * (missed * missed * share)).astype(np.int64).sum())
