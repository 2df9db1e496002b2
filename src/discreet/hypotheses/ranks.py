"""Tests on ranks: Mann-Whitney, Kruskal-Wallis and Wilcoxon's signed rank.

Ranks need no bounds to be tight and do not feel outliers. The sums are released with the sizes of the groups in one vector;
what the hypothesis says of their variance is computed from the noisy sizes, and ties, which make it smaller, are left out:
with many ties the tests are conservative.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from discreet.core.random import Random
from discreet.core.release import Release
from discreet.core.result import readings
from discreet.errors import InvalidRequest
from discreet.hypotheses.rank_sums import RankSums
from discreet.hypotheses.reading import HypothesisTest, OmnibusTest, check_alternative, monte_carlo
from discreet.hypotheses.signed_rank_sum import SignedRankSum
from discreet.mechanisms import Gaussian
from discreet.statistics.equation import Statement, interval, noise_variance, p_values
from discreet.statistics.question import Question, Table, statistic
from discreet.statistics.reading import Floats


def one_row_each(table: Table, name: str) -> None:
    """Refuse a table where a person may have several rows."""
    if table.most_rows > 1:
        raise InvalidRequest(
            f"{name} takes one row a person, got a schema with max_rows={table.most_rows}; declare max_rows=1, or make a "
            "table with one row for each person first"
        )


def _is_add_remove(table: Table) -> bool:
    return table.schema.neighbors == "add_remove"


@statistic("mannwhitneyu")
def mannwhitneyu(table: Table, column: str, *, by: str, alternative: str = "two-sided") -> Question:
    """Whether values of two groups have the same distribution, by their ranks. ``by`` is a category of two labels."""
    check_alternative(alternative)
    one_row_each(table, "mannwhitneyu")
    groups = table.groups(by)
    if len(groups) != 1 or groups[0].size != 2:
        raise InvalidRequest(f"mannwhitneyu compares two groups; {by!r} must be one category of two labels (else kruskal)")
    # Under replace a person moves the sum of ranks by 1 within a group, and sizes by at most as much for nothing.
    weight = Fraction(1, 8) if _is_add_remove(table) else Fraction(1, 4)
    query = RankSums(table.factor("level", column), groups[0], weight)
    return Question(query, MannWhitney(float(weight), alternative))


@readings("mannwhitneyu")
@dataclass(frozen=True)
class MannWhitney(HypothesisTest):
    """P(X > Y) + P(X = Y)/2 for X of the first group and Y of the second, and the p-value of its being 1/2 because both
    have one distribution.

    The released sum is W = n1 n2 (theta - 1/2) / N. Under the hypothesis its variance is n1 n2 (N + 1) / 12 N**2.
    ``statistic`` is W over its deviation, noise included. Sizes below 0 are taken as 0; with nobody left in a group p is 1.

    The interval of theta takes the largest variance that a theta allows, so it is longer than the test needs at 1/2.
    Proof: averaged over all ways to pair min(n1, n2) people of either group, U / n1 n2 is a mean of min(n1, n2) independent
    numbers in [0, 1] with mean theta, and averaging does not raise a variance (Hoeffding 1963): it is at most theta (1 -
    theta) / min(n1, n2), ties included.
    """

    weight: float
    alternative: str = "two-sided"

    @property
    def shape(self) -> tuple[int, ...]:
        return (3,)

    @property
    def method(self) -> str:
        return "asymptotic: normal law of the rank sum, noise included, without a correction for ties"

    def _sizes(self, cells: Floats) -> Floats:
        return np.maximum(cells[..., 1:] / self.weight, 0.0)

    def compute(self, cells: Floats) -> Floats:
        sizes = self._sizes(cells)
        pairs, people = sizes.prod(-1), sizes.sum(-1)
        theta = 0.5 + cells[..., 0] * people / np.where(pairs > 0, pairs, 1.0)
        return np.asarray(np.where(pairs > 0, np.clip(theta, 0.0, 1.0), 0.5))

    def statement(self, releases: Sequence[Release]) -> Statement | None:
        """W, its variance under the hypothesis and its weights; None where a group has nobody left."""
        cells = self.cells(releases)
        one, other = self._sizes(cells)
        people = one + other
        if not one * other > 0:
            return None
        variance = one * other * (people + 1) / (12 * people**2)
        return Statement(cells[:1], np.array([variance]), np.array([[1.0, 0.0, 0.0]]))

    def statistic(self, releases: Sequence[Release]) -> float:
        return in_deviations(self.statement(releases), releases)

    def pvalue(self, releases: Sequence[Release]) -> float:
        return judged(self.statement(releases), releases, self.alternative)

    def population_interval(self, releases: Sequence[Release], level: float, strict: bool) -> tuple[Any, Any]:
        cells, law = self.cells(releases), releases[0].mechanism
        one, other = self._sizes(cells)
        if not one * other > 0:
            return 0.0, 1.0
        people = one + other
        factor = one * other / people

        def equation(theta: Floats) -> Statement:
            away = theta - 0.5
            variance = factor**2 * theta * (1 - theta) / min(one, other)
            # Noise in the sizes moves n1 n2 / N by (n2 / N)**2 and (n1 / N)**2 times itself.
            shares = np.array([(other / people) ** 2, (one / people) ** 2]) / self.weight
            weights = np.concatenate([np.ones((len(theta), 1)), -away[:, None] * shares], 1)
            return Statement(cells[0] - factor * away, variance, weights)

        return interval(equation, law, float(self.compute(cells)), 0.0, 1.0, level, strict)  # type: ignore[arg-type]


def in_deviations(statement: Statement | None, releases: Sequence[Release]) -> float:
    """The score over its deviation, noise included; 0 where there is none."""
    if statement is None:
        return 0.0
    law: Any = releases[0].mechanism
    spread = math.sqrt(float(statement.variance[0]) + float(noise_variance(statement.weights, law)[0]))
    return float(statement.score[0]) / spread if spread > 0 else 0.0


def judged(statement: Statement | None, releases: Sequence[Release], alternative: str) -> float:
    """The p-value of a statement; 1 where there is none."""
    law: Any = releases[0].mechanism
    return 1.0 if statement is None else float(p_values(statement, law, alternative=alternative)[0])


@statistic("kruskal")
def kruskal(table: Table, column: str, *, by: str) -> Question:
    """Whether values of three groups or more have the same distribution, by their ranks."""
    one_row_each(table, "kruskal")
    groups = table.groups(by)
    if len(groups) != 1 or groups[0].size < 3:
        raise InvalidRequest(
            f"kruskal compares three groups or more; {by!r} must be one category of so many labels (two: mannwhitneyu)"
        )
    weight = Fraction(1, 4)
    return Question(RankSums(table.factor("level", column), groups[0], weight), KruskalWallis(groups[0].size, float(weight)))


@readings("kruskal")
@dataclass(frozen=True)
class KruskalWallis(OmnibusTest):
    """Q = sum of C**2 / s**2 - (sum of C / s**2)**2 / (sum of s**-2) with s**2 = n / 12 + the noise's variance.

    Its law under the hypothesis is drawn: sums of ranks are normal with covariance N/12 (diag p - p p'), p the shares of the
    groups, plus the noise of the release. Sizes below 0 are taken as 0.
    """

    groups: int
    weight: float

    @property
    def shape(self) -> tuple[int, ...]:
        return (2 * self.groups,)

    @property
    def method(self) -> str:
        return "Monte Carlo: 999 draws of normal rank sums with the noise, without a correction for ties"

    def compute(self, cells: Floats) -> Floats:
        """Of several releases, each takes its own sizes; the noise's variance is left to ``statistic``."""
        return self._q(cells, 0.0)

    def _q(self, cells: Floats, noise: Any) -> Floats:
        sums, sizes = cells[..., : self.groups], np.maximum(cells[..., self.groups :] / self.weight, 0.0)
        inverse = 1 / np.maximum(sizes / 12 + noise, 1e-12)
        pooled = (sums * inverse).sum(-1) ** 2 / inverse.sum(-1)
        return np.asarray((sums**2 * inverse).sum(-1) - pooled)

    def _noise(self, releases: Sequence[Release]) -> Any:
        law: Any = releases[0].mechanism
        return noise_variance(np.eye(2 * self.groups)[: self.groups], law)

    def statistic(self, releases: Sequence[Release]) -> float:
        return float(self._q(self.cells(releases), self._noise(releases)))

    def pvalue(self, releases: Sequence[Release]) -> float:
        cells, noise = self.cells(releases), self._noise(releases)
        sizes = np.maximum(cells[self.groups :] / self.weight, 0.0)
        people = max(float(sizes.sum()), 1.0)
        law: Any = releases[0].mechanism

        def draw(size: int, seed: int) -> Floats:
            stream = Random(seed=seed)
            normal = np.asarray(Gaussian(1).release(np.zeros((size, self.groups)), seed=stream), np.float64)
            steps = normal * np.sqrt(sizes / 12)
            sums = steps - steps.sum(-1, keepdims=True) * (sizes / people)
            middle = np.concatenate([np.zeros(self.groups), np.asarray(cells[self.groups :])])
            drawn = np.asarray(law.release(np.zeros((size, 2 * self.groups)), seed=stream), np.float64)
            made = middle + drawn
            made[:, : self.groups] += sums
            return self._q(made, noise)

        return monte_carlo(float(self._q(cells, noise)), draw)


@statistic("wilcoxon")
def wilcoxon(table: Table, x: str, y: str | None = None, *, centre: float = 0.0, alternative: str = "two-sided") -> Question:
    """Whether a column is spread evenly about ``centre``, or the differences of two columns about 0, by signed ranks.

    Two columns are clipped to the smallest bounds that hold both of theirs.
    """
    check_alternative(alternative)
    one_row_each(table, "wilcoxon")
    factor = table.factor("level", x)
    other = None
    if y is not None:
        if centre != 0:
            raise InvalidRequest(f"two columns are compared about 0, got centre={centre}; leave it out")
        second = table.factor("level", y)
        lo, hi = min(factor.lo, second.lo), max(factor.hi, second.hi)
        factor, other = type(factor)("level", x, lo, hi), type(factor)("level", y, lo, hi)
    elif not factor.lo <= centre <= factor.hi:
        raise InvalidRequest(f"centre must lie within the declared bounds [{factor.lo:g}, {factor.hi:g}], got {centre}")
    weight = Fraction(3, 8) if _is_add_remove(table) else Fraction(1, 2)  # a half costs nothing under replace
    query = SignedRankSum(factor, other, float(centre), weight)
    return Question(query, SignedRank(float(weight), alternative))


@readings("wilcoxon")
@dataclass(frozen=True)
class SignedRank(OmnibusTest):
    """The rank-biserial correlation 2T / (N + 1) in [-1, 1], and the p-value of values spread evenly about the centre.

    T = sum of sgn(d) R / N has the variance (N + 1)(2N + 1) / 6N under the hypothesis. Where nobody is left p is 1.
    """

    weight: float
    alternative: str = "two-sided"

    @property
    def shape(self) -> tuple[int, ...]:
        return (2,)

    @property
    def method(self) -> str:
        return "asymptotic: normal law of the signed rank sum, noise included, without a correction for ties"

    def _people(self, cells: Floats) -> Floats:
        return np.maximum(cells[..., 1] / self.weight, 0.0)

    def compute(self, cells: Floats) -> Floats:
        return np.clip(2 * cells[..., 0] / (self._people(cells) + 1), -1.0, 1.0)

    def statement(self, releases: Sequence[Release]) -> Statement | None:
        """T, its variance under the hypothesis and its weights; None where nobody is left."""
        cells = self.cells(releases)
        people = float(self._people(cells))
        if not people > 0:
            return None
        variance = (people + 1) * (2 * people + 1) / (6 * people)
        return Statement(cells[:1], np.array([variance]), np.array([[1.0, 0.0]]))

    def statistic(self, releases: Sequence[Release]) -> float:
        return in_deviations(self.statement(releases), releases)

    def pvalue(self, releases: Sequence[Release]) -> float:
        return judged(self.statement(releases), releases, self.alternative)
