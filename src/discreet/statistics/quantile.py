"""Quantiles and the median, chosen by the exponential mechanism on a public grid of values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from discreet.core import numbers
from discreet.core.cost import Distance
from discreet.core.grid import quantise
from discreet.core.mechanism import Mechanism
from discreet.core.numbers import Number
from discreet.core.query import FoldQuery, Relation, queries
from discreet.core.release import Release
from discreet.core.result import Reading, readings
from discreet.core.schema import Integer
from discreet.errors import InvalidRequest
from discreet.mechanisms import Exponential
from discreet.statistics.cells import Integers
from discreet.statistics.question import Question, Table, statistic
from discreet.statistics.spend import Spend

_FINEST = 10**6  # the largest denominator of q: ranks times it stay exact
POINTS = 1 << 16  # values to choose from between the bounds of a real column
_MOST_WHOLE = 1 << 20  # the most values of an integer column that are each a candidate


@statistic("quantile")
def quantile(table: Table, column: str, *, q: Number = "0.5") -> Question:
    """The value below which a share q of the rows lies (Smith 2011), among evenly spaced public values."""
    level = numbers.rational(q, "q")
    if not 0 <= level <= 1:
        raise InvalidRequest(f"q must lie between 0 and 1, got {q}")
    level = level.limit_denominator(_FINEST)
    number = table.number(column)
    span = int(number.hi - number.lo) if isinstance(number, Integer) else 0
    points = span if 0 < span <= _MOST_WHOLE else POINTS
    query = Ranks(column, float(number.lo), float(number.hi), points, level, table.most_rows)
    return Choice(query, Chosen(float(number.lo), float(number.hi), points))


@statistic("median")
def median(table: Table, column: str) -> Question:
    """The value with half of the rows on either side."""
    return quantile(table, column, q=Fraction(1, 2))


class Choice(Question):
    """A question answered by choosing among public candidates."""

    def law(self, spend: Spend, relation: Relation) -> Mechanism:
        return Exponential.costing(self.query.distance(relation), epsilon=spend.pure())


@queries("ranks")
@dataclass(frozen=True)
class Ranks(FoldQuery):
    """How well each of ``points`` + 1 evenly spaced values serves as the q-quantile.

    With q = a/b the utility of a value v is -max(0, b #(below v) - a n, a n - b #(at or below v)): zero where v is a
    q-quantile, and falling by b for every rank that it is off.

    ``distance``: L-infinity is k max(a, b - a) under add/remove and k b under replace and both, k rows a person.

    Proof: a row adds (b - a) or -a to b #(below v) - a n, and the negative of one of these to the other difference; so a
    person with k rows moves either by at most k max(a, b - a), and an exchange of rows by at most k b. Maxima move no
    further than their arguments. Counts are taken at public values, so nothing else of the data enters.
    """

    column: str
    lo: float
    hi: float
    points: int
    q: Fraction
    rows: int = 1

    def __post_init__(self) -> None:
        object.__setattr__(self, "q", numbers.rational(self.q, "q"))
        if not 0 <= self.q <= 1 or self.q.denominator > _FINEST:
            raise InvalidRequest(f"q must lie between 0 and 1 with a denominator of at most {_FINEST}, got {self.q}")

    @property
    def columns(self) -> tuple[str, ...]:
        return (self.column,)

    @property
    def step_key(self) -> Any:
        """Quantiles of the same column share their counts."""
        return ("ranks", self.column, self.lo, self.hi, self.points, self.rows)

    def distance(self, relation: Relation) -> Distance:
        a, b = self.q.numerator, self.q.denominator
        reach = Fraction(self.rows * (max(a, b - a) if relation == "add_remove" else b))
        return Distance(reach * (self.points + 1), reach * (self.points + 1), reach)

    def step(self, batch: Any) -> Integers:
        values = batch.numeric(self.column)
        kept = batch.kept(self.columns)
        if kept is not None:
            values = values[kept]
        place = quantise(values, self.lo, self.hi, steps=self.points)
        if np.isnan(place).any():
            place = place[~np.isnan(place)]
        return np.bincount(place.astype(np.intp), minlength=self.points + 1)

    def combine(self, left: Integers, right: Integers) -> Integers:
        return left + right

    def finish(self, total: Integers) -> Any:
        a, b = self.q.numerator, self.q.denominator
        # Ranks are clipped so that their multiples stay whole in doubles; a clip moves no two of them further apart.
        at_or_below = np.minimum(np.cumsum(total), (1 << 53) // b)
        below = np.concatenate([[0], at_or_below[:-1]])
        wanted = a * int(at_or_below[-1])
        return -np.maximum(0, np.maximum(b * below - wanted, wanted - b * at_or_below)).astype(np.float64)

    def blank(self, rows: int) -> Any:
        each = np.full(self.points + 1, rows / (self.points + 1))
        return self.finish(np.rint(np.cumsum(each)).astype(np.int64) - np.rint(np.cumsum(each) - each).astype(np.int64))


@readings("chosen")
@dataclass(frozen=True)
class Chosen(Reading):
    """The value chosen. Its error is one of rank: how far that is in value is not public, so the interval is the bounds."""

    lo: float
    hi: float
    points: int

    def value(self, releases: Sequence[Release]) -> Any:
        return self.lo + (self.hi - self.lo) * (int(releases[0].value) / self.points)

    def interval(self, releases: Sequence[Release], level: float) -> tuple[Any, Any]:
        return self.lo, self.hi

    def expected_error(self, releases: Sequence[Release]) -> Any:
        return None

    def rank_error(self, releases: Sequence[Release], level: float = 0.95) -> float:
        """With probability ``level`` the value is a quantile to within this many rows of the one asked for.

        P(utility < -t) <= (points + 1) exp(-rate t) for the exponential mechanism.
        """
        release = releases[0]
        query: Any = release.query
        rate = float(release.mechanism.rate) * query.q.denominator  # type: ignore[attr-defined]
        return float(np.log((self.points + 1) / (1 - level)) / rate)
