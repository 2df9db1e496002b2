"""How well several fitted models do on the same people: the utilities that a private choice among them needs."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from discreet.core import numbers
from discreet.core.cost import Distance
from discreet.core.query import FoldQuery, Relation, queries
from discreet.errors import InvalidRequest
from discreet.models.design import Design, scores

Integers = npt.NDArray[np.int64]
_STEPS = 1 << 20  # a squared error is counted in so many steps


@dataclass(frozen=True)
class ScoringRule:
    """A fitted linear model as it is judged: how records become rows, and the coefficients of its score."""

    design: Design
    theta: tuple[float, ...]

    def errors(self, batch: Any) -> int:
        """The number of wrong classes, or the sum of squared errors in steps of (hi - lo)^2 / 2^20."""
        rows, target = self.design.block(batch), self.design.target
        score = scores(rows.x, self.theta)
        if target.classes:
            return int(((score > 0) != (rows.y > 0)).sum())
        lo, hi = target.lo / target.unit, target.hi / target.unit
        apart = np.clip((np.clip(score, lo, hi) - np.clip(rows.y, lo, hi)) / (hi - lo), -1.0, 1.0)
        return int(np.rint(_STEPS * apart * apart).astype(np.int64).sum())


@queries("contest")
@dataclass(frozen=True)
class Contest(FoldQuery):
    """The utility of each rule: minus its number of errors, or minus its sum of squared errors over (hi - lo)^2.

    ``distance``: a person moves any utility by at most ``rows``, in L-infinity, under every relation.

    Proof: an error is a whole number of steps from 0 to 1 whatever a row holds (numbers and predictions are clipped to
    the public bounds, and the steps of a square at most 1 are at most 2^20), a sum of whole numbers is exact, and a person
    has at most ``rows`` rows. Adding a person moves no utility up; replacing one moves each by at most ``rows``.
    """

    rules: tuple[ScoringRule, ...]

    def __post_init__(self) -> None:
        if not self.rules:
            raise InvalidRequest("a contest needs at least one rule, got none")

    @property
    def columns(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(c for r in self.rules for c in r.design.columns))

    @property
    def _rows(self) -> int:
        return max(r.design.rows for r in self.rules)

    def distance(self, relation: Relation) -> Distance:
        k = Fraction(self._rows)
        return Distance(k * len(self.rules), k * numbers.square_root_up(Fraction(len(self.rules))), k)

    def step(self, batch: Any) -> Integers:
        return np.array([rule.errors(batch) for rule in self.rules], np.int64)

    def combine(self, left: Integers, right: Integers) -> Integers:
        return left + right

    def finish(self, total: Integers) -> Any:
        whole = bool(self.rules[0].design.target.classes)
        # Whole in doubles; a clip of the utility itself moves no two of them further apart.
        return -np.minimum(total, 1 << 53).astype(np.float64) / (1 if whole else _STEPS)

    def blank(self, rows: int) -> Any:
        return np.full(len(self.rules), -rows / 2)
