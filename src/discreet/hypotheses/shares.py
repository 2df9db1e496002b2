"""Tests of a share: exact where the number of rows is public, the equation of a share where it is not."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from discreet.core.mechanism import Mechanism, NoiseLaw
from discreet.core.price import Price
from discreet.core.query import Relation
from discreet.core.reading import readings
from discreet.core.release import Release
from discreet.errors import InvalidRequest
from discreet.hypotheses.reading import AT_POWER, HypothesisTest, ScoreTest, check_alternative, deviation
from discreet.mechanisms import Tulap
from discreet.statistics.equation import Statement, interval
from discreet.statistics.label_counts import LabelCounts
from discreet.statistics.question import Question, Table, statistic
from discreet.statistics.reading import Floats
from discreet.statistics.variance import everyone_in_a_group

_HALVINGS = 60


@statistic("binomtest")
def binomtest(table: Table, column: str, *, label: Any = None, p: float = 0.5, alternative: str = "two-sided") -> Question:
    """Whether the share of a label (the last one declared, unless ``label`` says which) is ``p`` in the population.

    Where the number of rows is public and every row has a label, the label's count alone is released, with Tulap noise,
    and the test is exact and most powerful. Otherwise its count and that of all other labels are, and the share's
    equation is read.
    """
    check_alternative(alternative)
    if not 0 < p < 1:
        raise InvalidRequest(f"p must lie strictly between 0 and 1, got {p}")
    factor = table.factor("category", column)
    place = len(factor.labels) - 1
    if label is not None:
        if label not in factor.labels:
            raise InvalidRequest(
                f"no label of {column!r} is called {label!r}; there are {', '.join(map(str, factor.labels))}"
            )
        place = factor.labels.index(label)
    if table.rows is not None and everyone_in_a_group(table, column):
        return TulapCount(LabelCounts(factor, place, True), ExactShare(table.rows, float(p), alternative))
    return Question(LabelCounts(factor, place, rows=table.most_rows), OneShare(float(p), alternative, table.most_rows))


class TulapCount(Question):
    """A count that pure noise makes Tulap's: the test is then exact."""

    def law(self, price: Price, relation: Relation) -> Mechanism:
        if not price.is_pure:
            return super().law(price, relation)
        return Tulap.costing(self.query.distance(relation), epsilon=price.pure_epsilon)


@readings("binomtest")
@dataclass(frozen=True)
class OneShare(ScoreTest):
    """The share Y / (Y + Z), and the p-value of one value of it: L = (1 - p) Y - p Z, V = p (1 - p) (Y + Z)."""

    p: float = 0.5
    alternative: str = "two-sided"
    rows: int = 1
    shape: ClassVar[tuple[int, ...]] = (2,)
    method: ClassVar[str] = "asymptotic: score test of a share, noise included"
    effect: ClassVar[str] = "Share"

    @property
    def hypothesis(self) -> float | None:
        return self.p

    def compute(self, cells: Floats) -> Floats:
        total = cells.sum(-1)
        part = np.divide(cells[..., 0], total, out=np.full(np.shape(total), 0.5), where=total > 0)
        return np.asarray(np.clip(part, 0.0, 1.0))

    def _equation(self, cells: Floats, p: Floats) -> Statement:
        weights = np.stack([1 - p, -p], -1)
        return Statement(weights @ cells, self.rows * p * (1 - p) * float(cells.sum()), weights)

    def statement(self, releases: Sequence[Release]) -> Statement:
        return self._equation(self.cells(releases), np.array([self.p]))

    def seen_effect(self, releases: Sequence[Release]) -> float | None:
        total = float(self.cells(releases).sum())
        return None if total <= 0 else AT_POWER * deviation(self.statement(releases), releases[0].noise) / total

    def population_interval(self, releases: Sequence[Release], level: float, strict: bool) -> tuple[float, float]:
        cells, law = self.cells(releases), releases[0].noise

        def equation(p: Floats) -> Statement:
            return self._equation(cells, p)

        return interval(equation, law, float(self.compute(cells)), 0.0, 1.0, level, strict)


@readings("exact_binomtest")
@dataclass(frozen=True)
class ExactShare(HypothesisTest):
    """The share z / n of n rows, n public, and the p-value of one value of it: the tails of a binomial count plus the noise.

    P(count + noise >= z) = sum over x of Bin(x; n, p) P(noise >= z - x), and the lower tail likewise, each summed by
    itself; two-sided is twice the smaller. With Tulap noise the one-sided test is uniformly most powerful among private
    ones (Awan and Slavković 2018); with whole noise it is valid and conservative. The interval takes both tails at half.
    """

    n: int
    p: float = 0.5
    alternative: str = "two-sided"
    shape: ClassVar[tuple[int, ...]] = (1,)
    effect: ClassVar[str] = "Share"

    @property
    def method(self) -> str:
        return "exact: binomial count plus the noise as drawn; two-sided is twice the smaller tail"

    @property
    def hypothesis(self) -> float | None:
        return self.p

    def compute(self, cells: Floats) -> Floats:
        return np.asarray(np.clip(cells[..., 0] / self.n, 0.0, 1.0))

    def statistic(self, releases: Sequence[Release]) -> float:
        return float(self.cells(releases)[0])

    def tails(self, releases: Sequence[Release]) -> _Tails:
        """Both tails as functions of the share."""
        return _Tails(self.n, float(self.cells(releases)[0]), releases[0].noise)

    def pvalue(self, releases: Sequence[Release]) -> float:
        tails = self.tails(releases)
        upper, lower = tails.upper(self.p), tails.lower(self.p)
        return {"greater": upper, "less": lower, "two-sided": min(1.0, 2 * min(upper, lower))}[self.alternative]

    def seen_effect(self, releases: Sequence[Release]) -> float | None:
        law = releases[0].noise
        spread = math.sqrt(self.n * self.p * (1 - self.p) + float(np.mean(law.expected_error)) ** 2)
        return AT_POWER * spread / self.n

    def population_interval(self, releases: Sequence[Release], level: float, strict: bool) -> tuple[Any, Any]:
        tails, tail = self.tails(releases), (1 - level) / 2
        low = _root(lambda p: tails.upper(p) - tail)  # grows with p
        high = 1 - _root(lambda p: tails.lower(1 - p) - tail)
        return low, max(low, high)


@dataclass(frozen=True)
class _Tails:
    """P(count + noise >= z) and P(count + noise <= z) for a binomial count of n."""

    n: int
    z: float
    law: NoiseLaw

    def upper(self, p: float) -> float:
        return self._sum(p, self.law.at_least(self.z - np.arange(self.n + 1.0)))

    def lower(self, p: float) -> float:
        return self._sum(p, self.law.at_least(np.arange(self.n + 1.0) - self.z))

    def _sum(self, p: float, tail: Floats) -> float:
        return min(1.0, float(binomial(self.n, p) @ tail))


def binomial(n: int, p: float) -> Floats:
    """The probabilities of 0 .. n successes."""
    from scipy.special import gammaln, xlog1py, xlogy

    x = np.arange(n + 1.0)
    ways = gammaln(n + 1.0) - gammaln(x + 1) - gammaln(n - x + 1)
    return np.asarray(np.exp(ways + xlogy(x, p) + xlog1py(n - x, -p)))


def _root(grows: Any) -> float:
    """Where a function that grows on [0, 1] passes 0; an end without a root is 0 or 1."""
    low, high = 0.0, 1.0
    if grows(low) > 0:
        return 0.0
    if grows(high) < 0:
        return 1.0
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        low, high = (low, middle) if grows(middle) > 0 else (middle, high)
    return low
