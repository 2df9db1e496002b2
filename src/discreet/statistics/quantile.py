"""Quantiles and the median, chosen by the exponential mechanism on a public grid of values."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from discreet.core import numbers
from discreet.core.ask import Ask
from discreet.core.cost import Distance
from discreet.core.grid import quantise
from discreet.core.mechanism import Mechanism
from discreet.core.numbers import Number
from discreet.core.price import Price
from discreet.core.query import FoldQuery, Relation, queries
from discreet.core.reading import Reading, readings
from discreet.core.release import Release
from discreet.core.schema import Integer
from discreet.core.source import Batch
from discreet.errors import InvalidRequest
from discreet.mechanisms import Exponential
from discreet.statistics.cells import Floats, Integers
from discreet.statistics.distribution import DistributionReading, tree
from discreet.statistics.question import Question, Table, axes, for_population, statistic

_FINEST = 10**6  # the largest denominator of q
_MOST_UTILITY = 1 << 53  # whole numbers up to here are exact in doubles
POINTS = 1 << 16  # values to choose from between the bounds of a real column
_MOST_WHOLE = 1 << 20  # the most values of an integer column that are each a candidate


@statistic("quantile")
def quantile(
    table: Table,
    column: str,
    *,
    q: Number = "0.5",
    interval: bool = False,
    method: str | None = None,
    level: Number = "0.95",
    bins: int | Sequence[float] = 256,
    by: str | Sequence[str] | None = None,
    of: str = "table",
) -> Question:
    """The value below which a share q of the rows lies (Smith 2011), among evenly spaced public values.

    ``interval=True`` (or ``of="population"``, or ``by=``) reads it off a distribution of ``bins`` instead, which has
    intervals in values. ``method="pair"`` buys two more quantiles at the ends of an interval of ``level``, a third of
    the price each, where the number of rows is public: narrower where the values fill a small part of their bounds.
    """
    share = numbers.rational(q, "q")
    if not 0 <= share <= 1:
        raise InvalidRequest(f"q must lie between 0 and 1, got {q}")
    if method not in (None, "pair"):
        raise InvalidRequest(f"method must be 'pair' or left out, got {method!r}")
    if method == "pair":
        if by is not None:
            raise InvalidRequest("method='pair' is for a whole column; leave by out, or use interval=True")
        return _pair(table, column, share, level)
    if interval or by is not None or for_population(of):
        nodes = tree(table, column, bins, by)
        curve = DistributionReading(nodes.bins.edges, nodes.branches, nodes.shape[:-1], axes(nodes.groups), nodes.rows)
        return Question(nodes, curve.quantile(share))
    return _chosen(table, column, share)


def _chosen(table: Table, column: str, share: Fraction) -> ChoiceQuestion:
    level = share.limit_denominator(_FINEST)
    number = table.number(column)
    span = int(number.hi - number.lo) if isinstance(number, Integer) else 0
    points = span if 0 < span <= _MOST_WHOLE else POINTS
    query = Ranks(column, float(number.lo), float(number.hi), points, level, table.most_rows)
    return ChoiceQuestion(query, Chosen(float(number.lo), float(number.hi), points))


@statistic("median")
def median(
    table: Table,
    column: str,
    *,
    interval: bool = False,
    method: str | None = None,
    level: Number = "0.95",
    bins: int | Sequence[float] = 256,
    by: str | Sequence[str] | None = None,
    of: str = "table",
) -> Question:
    """The value with half of the rows on either side; options as for ``quantile``."""
    half = Fraction(1, 2)
    return quantile(table, column, q=half, interval=interval, method=method, level=level, bins=bins, by=by, of=of)


def _pair(table: Table, column: str, share: Fraction, level: Number) -> Question:
    """The q-quantile with one quantile below and one above it, so far apart that they hold q with probability ``level``."""
    wanted = numbers.rational(level, "level")
    if not 0 < wanted < 1:
        raise InvalidRequest(f"level must lie strictly between 0 and 1, got {level}")
    if table.rows is None:
        raise InvalidRequest(
            "method='pair' moves ranks by the number of rows, which is public under replace without people only; "
            "use interval=True"
        )
    if not 0 < share < 1:
        raise InvalidRequest(f"q must lie strictly between 0 and 1 for an interval, got {share}")
    return PairOfQuantiles(table, column, share, wanted, table.rows)


class PairOfQuantiles(Question):
    """Three choices for one price: the quantile, and the ends of its interval.

    The ends are the quantiles at ranks q n -+ (z sqrt(n q (1 - q)) + ln(c 4 / a) / r) with a = 1 - level, z the normal
    quantile of 1 - a/4, c the number of candidates and r the epsilon that one rank costs an exponential choice of a
    third of the price (Drechsler et al. 2022). Ranks beyond the table are its ends.
    """

    def __init__(self, table: Table, column: str, share: Fraction, level: Fraction, rows: int) -> None:
        middle = _chosen(table, column, share)
        super().__init__(middle.query, PairReading(middle.reading, float(share), float(level), rows))
        object.__setattr__(self, "_at", lambda q: _chosen(table, column, q))

    def asks(self, price: Price, relation: Relation) -> tuple[Ask, ...]:
        third = price.share(Fraction(1, 3))
        ranks, reading = self.query, self.reading
        assert isinstance(ranks, Ranks)
        assert isinstance(reading, PairReading)
        reach = reading.reach(float(numbers.rational(third.choice_epsilon, "epsilon")), ranks.points + 1)
        ends = (max(Fraction(0), ranks.q - reach), min(Fraction(1), ranks.q + reach))
        questions = [ChoiceQuestion(self.query, reading.middle), *(self._at(q) for q in ends)]  # type: ignore[attr-defined]
        return tuple(Ask(question.query, question.law(third, relation)) for question in questions)


@readings("pair_of_quantiles")
@dataclass(frozen=True)
class PairReading(Reading):
    """A quantile, and the interval that two more were bought for.

    Its ends serve every level up to theirs, for which they are wide enough. For a higher one only the bounds do: an answer
    that was paid for is read at any level, and is never refused afterwards.
    """

    middle: Chosen
    q: float
    level: float
    rows: int

    def reach(self, epsilon: float, candidates: int) -> Fraction:
        """How far in q the ends lie from the middle."""
        from scipy.special import ndtri

        alpha = 1 - self.level
        sampling = float(ndtri(1 - alpha / 4)) * math.sqrt(self.rows * self.q * (1 - self.q))
        choice = math.log(candidates * 4 / alpha) / (epsilon / 2)
        return Fraction((sampling + choice) / self.rows).limit_denominator(_FINEST)

    def value(self, releases: Sequence[Release]) -> Any:
        return self.middle.value(releases[:1])

    def interval(self, releases: Sequence[Release], level: float) -> tuple[Any, Any]:
        if level > self.level:
            return self.middle.lo, self.middle.hi
        ends = [float(self.middle.value([release])) for release in releases]
        return min(ends), max(ends)

    def expected_error(self, releases: Sequence[Release]) -> Any:
        return self.middle.expected_error(releases[:1])

    @property
    def about_population(self) -> bool:
        return True

    def population_interval(self, releases: Sequence[Release], level: float, strict: bool) -> tuple[Any, Any]:
        return self.interval(releases, level)


@dataclass(frozen=True)
class ChoiceQuestion(Question):
    """A question answered by choosing among public candidates."""

    reading: Chosen

    def law(self, price: Price, relation: Relation) -> Mechanism:
        return Exponential.costing(self.query.distance(relation), epsilon=price.choice_epsilon)


@queries("ranks")
@dataclass(frozen=True)
class Ranks(FoldQuery):
    """How well each of ``points`` + 1 evenly spaced values serves as the q-quantile.

    With q = a/b the utility of a value v is -max(0, b #(below v) - a n, a n - b #(at or below v)): zero where v is a
    q-quantile, and falling by b for every rank that it is off.

    ``distance``: L-infinity is k max(a, b - a) under add/remove and k b under replace and both, k rows a person.

    Proof: a row adds (b - a) or -a to b #(below v) - a n, and the negative of one of these to the other difference; so a
    person with k rows moves either by at most k max(a, b - a), and an exchange of rows by at most k b. Maxima move no
    further than their arguments. Counts are taken at public values, so nothing else of the data enters. Two clips keep
    everything whole. The number of rows at each value stands still at 2**62 / (points + 1): a row more then changes one of
    them by one or not at all, and #(below v), #(at or below v) and n are sums of the same clipped numbers, so the bounds
    above hold as they are. And a utility is held at -2**53, after it was computed in whole numbers: a clip of the utility
    itself moves no two of them further apart, and what is left is whole in doubles.
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

    def step(self, batch: Batch) -> Integers:
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
        at_or_below = np.cumsum(np.minimum(total, (1 << 62) // (self.points + 1)))
        below = np.concatenate([[0], at_or_below[:-1]])
        return -np.maximum(0.0, np.maximum(self._excess(below, at_or_below), -self._excess(at_or_below, at_or_below)))

    def _excess(self, ranks: Integers, every: Integers) -> Floats:
        """b ranks - a n, held within 2**53, where n is the last of ``every``: whole numbers, in doubles.

        Proof: ranks and n are at most 2**62 and b at most 10**6, so in doubles the difference is right to 2**83 2**-50 =
        2**33. Where that is beyond 2**54 the true one is beyond 2**53 and is clipped. Elsewhere the true one is below
        2**55, and arithmetic modulo 2**64, which is what 64 bits do, gives it exactly.
        """
        a, b, n = self.q.numerator, self.q.denominator, every[-1:]
        near = b * ranks.astype(np.float64) - a * n.astype(np.float64)
        exact = np.clip(b * ranks - a * n, -_MOST_UTILITY, _MOST_UTILITY)
        return np.where(np.abs(near) > 2 * _MOST_UTILITY, np.copysign(float(_MOST_UTILITY), near), exact)

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

    def value(self, releases: Sequence[Release]) -> float:
        return self.lo + (self.hi - self.lo) * (int(releases[0].value) / self.points)

    def interval(self, releases: Sequence[Release], level: float) -> tuple[Any, Any]:
        return self.lo, self.hi

    def expected_error(self, releases: Sequence[Release]) -> None:
        return None

    def rank_error(self, releases: Sequence[Release], level: float = 0.95) -> float:
        """With probability ``level`` the value is a quantile to within this many rows of the one asked for.

        P(utility < -t) <= (points + 1) exp(-rate t) for the exponential mechanism.
        """
        release = releases[0]
        query: Any = release.query
        rate = float(release.mechanism.rate) * query.q.denominator  # type: ignore[attr-defined]
        return float(np.log((self.points + 1) / (1 - level)) / rate)
