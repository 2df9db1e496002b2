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
from typing import Any, ClassVar

import numpy as np

from discreet.core.mechanism import NoiseLaw
from discreet.core.reading import readings
from discreet.core.release import Release
from discreet.errors import InvalidRequest
from discreet.hypotheses.draws import noise, normals
from discreet.hypotheses.monte_carlo import MonteCarloTest, check_draws
from discreet.hypotheses.rank_split import RankSplit, RankSplitTest
from discreet.hypotheses.rank_sums import RankSums
from discreet.hypotheses.reading import AT_POWER, ScoreTest, check_alternative, deviation, off_centre
from discreet.hypotheses.signed_rank_sum import SignedRankSum
from discreet.statistics.equation import Statement, interval, noise_variance
from discreet.statistics.question import Question, Table, statistic
from discreet.statistics.reading import Floats

DRAWS = 4999  # the stream is fixed: its own error moves the level of every table alike, with 4999 draws by .003


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
class MannWhitney(ScoreTest):
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
    shape: ClassVar[tuple[int, ...]] = (3,)
    method: ClassVar[str] = "asymptotic: normal law of the rank sum, noise included, without a correction for ties"
    effect: ClassVar[str] = "P({first} > {second}), ties half"

    def _sizes(self, cells: Floats) -> Floats:
        return np.maximum(cells[..., 1:] / self.weight, 0.0)

    @property
    def hypothesis(self) -> float | None:
        return 0.5

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

    def seen_effect(self, releases: Sequence[Release]) -> float | None:
        """A distance of theta from 1/2."""
        found = self.statement(releases)
        if found is None:
            return None
        one, other = self._sizes(self.cells(releases))
        return float(AT_POWER * deviation(found, releases[0].noise) * (one + other) / (one * other))

    def population_interval(self, releases: Sequence[Release], level: float, strict: bool) -> tuple[Any, Any]:
        cells, law = self.cells(releases), releases[0].noise
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

        return interval(equation, law, float(self.compute(cells)), 0.0, 1.0, level, strict)


@statistic("kruskal")
def kruskal(table: Table, column: str, *, by: str, draws: int = DRAWS) -> Question:
    """Whether values of three groups or more have the same distribution, by their ranks.

    Under replace and both the sums of all groups would take 2 in L1, the largest over the ways to split them in two 1: it
    is released instead (``rank_split``).
    """
    one_row_each(table, "kruskal")
    groups = table.groups(by)
    if len(groups) != 1 or groups[0].size < 3:
        raise InvalidRequest(
            f"kruskal compares three groups or more; {by!r} must be one category of so many labels (two: mannwhitneyu)"
        )
    number, size = table.factor("level", column), groups[0].size
    if _is_add_remove(table):
        weight = Fraction(1, 4)
        return Question(RankSums(number, groups[0], weight), KruskalWallis(size, float(weight), check_draws(draws)))
    weight = Fraction(1, 16)
    return Question(RankSplit(number, groups[0], weight), RankSplitTest(size, float(weight), check_draws(draws)))


@readings("kruskal")
@dataclass(frozen=True)
class KruskalWallis(MonteCarloTest):
    """Q = sum of C**2 / s**2 - (sum of C / s**2)**2 / (sum of s**-2) with s**2 = n / 12 + the noise's variance.

    Its law under the hypothesis is drawn: sums of ranks are normal with covariance N/12 (diag p - p p'), p the shares of the
    groups, plus the noise of the release, which moves the sizes as well. Sizes below 0 are taken as 0; with nobody left p
    is 1.
    """

    groups: int
    weight: float
    draws: int = DRAWS
    effect: ClassVar[str] = "Range of the groups' mean ranks, of all ranks"

    @property
    def shape(self) -> tuple[int, ...]:
        return (2 * self.groups,)

    @property
    def method(self) -> str:
        return f"Monte Carlo: {self.draws} normal rank sums with the noise of the release, without a correction for ties"

    def compute(self, cells: Floats) -> Floats:
        """The range of the groups' mean ranks over N, centred: the largest less the smallest."""
        sizes = self._sizes(cells)
        means = np.where(sizes > 0, cells[..., : self.groups] / np.where(sizes > 0, sizes, 1.0), 0.0)
        return np.asarray(np.clip(np.ptp(np.clip(means, -0.5, 0.5), -1), 0.0, 1.0))

    def statistic(self, releases: Sequence[Release]) -> float:
        return float(self._q(self.cells(releases), self._noise(releases[0].noise)))

    def seen_effect(self, releases: Sequence[Release]) -> float | None:
        """How far one group's P(X > Y) is from 1/2 against all others, of groups as large as these are on average."""
        size = float(self._sizes(self.cells(releases)).mean())
        if size <= 0:
            return None
        shape = (1 - 1 / self.groups) ** 2 + (self.groups - 1) / self.groups**2
        spread = size / 12 + float(self._noise(releases[0].noise).mean())
        return min(math.sqrt(off_centre(self.groups - 1) * spread / shape) / size, 0.5)

    def under_hypothesis(self, cells: Floats, law: NoiseLaw) -> Floats | None:
        sizes = self._sizes(cells)
        people = float(sizes.sum())
        if people <= 0:
            return None
        steps = normals(self.draws, self.groups) * np.sqrt(sizes / 12)
        made = noise(law, self.draws, 2 * self.groups) + np.concatenate([np.zeros(self.groups), cells[self.groups :]])
        made[:, : self.groups] += steps - steps.sum(-1, keepdims=True) * (sizes / people)
        return self._q(made, self._noise(law))

    def _sizes(self, cells: Floats) -> Floats:
        return np.maximum(cells[..., self.groups :] / self.weight, 0.0)

    def _q(self, cells: Floats, quiet: Floats) -> Floats:
        sums = cells[..., : self.groups]
        inverse = 1 / np.maximum(self._sizes(cells) / 12 + quiet, 1e-12)
        pooled = (sums * inverse).sum(-1) ** 2 / inverse.sum(-1)
        return np.asarray((sums**2 * inverse).sum(-1) - pooled)

    def _noise(self, law: NoiseLaw) -> Floats:
        """The variance of the noise of every sum."""
        return noise_variance(np.eye(2 * self.groups)[: self.groups], law)


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
class SignedRank(ScoreTest):
    """The rank-biserial correlation 2T / (N + 1) in [-1, 1], and the p-value of values spread evenly about the centre.

    T = sum of sgn(d) R / N has the variance (N + 1)(2N + 1) / 6N under the hypothesis. Where nobody is left p is 1.
    """

    weight: float
    alternative: str = "two-sided"
    shape: ClassVar[tuple[int, ...]] = (2,)
    effect: ClassVar[str] = "Rank-biserial correlation"

    @property
    def about_population(self) -> bool:
        """It has no interval in the population."""
        return False

    method: ClassVar[str] = "asymptotic: normal law of the signed rank sum, noise included, without a correction for ties"

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

    def seen_effect(self, releases: Sequence[Release]) -> float | None:
        """A rank-biserial correlation."""
        found = self.statement(releases)
        if found is None:
            return None
        people = float(self._people(self.cells(releases)))
        return 2 * AT_POWER * deviation(found, releases[0].noise) / (people + 1)

    def population_interval(self, releases: Sequence[Release], level: float, strict: bool) -> tuple[Any, Any]:
        raise InvalidRequest("the signed rank test has no interval; ask for that of a mean difference (ttest_rel)")
