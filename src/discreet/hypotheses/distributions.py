"""Whether two groups have the same distribution, by the largest gap or read off the counts of public bins."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from discreet.core.mechanism import NoiseLaw
from discreet.core.reading import Reading, readings, tests_read_off
from discreet.core.release import Release
from discreet.errors import InvalidRequest
from discreet.hypotheses.draws import multinomial, noise, stream_of, uniforms
from discreet.hypotheses.largest_gap import LargestGap, LargestGapTest
from discreet.hypotheses.monte_carlo import MonteCarloTest, check_draws
from discreet.hypotheses.reading import LEAST_DRAWS
from discreet.statistics.distribution import DistributionReading, monotone_curve, tree
from discreet.statistics.nodes import incidence
from discreet.statistics.question import Question, Table, axes, statistic
from discreet.statistics.reading import Floats

_BINS = 32
_WEIGHT = Fraction(1, 8)
_KINDS = ("ks", "ranks")


@statistic("ks_2samp")
def ks_2samp(
    table: Table, column: str, *, by: str, bins: int | Sequence[float] | None = None, draws: int = LEAST_DRAWS
) -> Question:
    """Whether two groups have the same distribution (Kolmogorov and Smirnov), from the largest gap between their curves.

    With ``bins``, or where a person may have several rows, from counts in public bins of both groups, 32 unless given.
    """
    groups = table.two_groups(by, "ks_2samp")
    if bins is None and table.most_rows == 1:
        gap = LargestGap(table.factor("level", column), groups[0], _WEIGHT)
        return Question(gap, LargestGapTest(float(_WEIGHT), check_draws(draws)))
    query = tree(table, column, _BINS if bins is None else bins, by)
    whole = DistributionReading(query.bins.edges, query.branches, query.shape[:-1], axes(query.groups), query.rows)
    return Question(query, TwoDistributions(whole, "ks", check_draws(draws)))


@readings("ks_2samp")
@dataclass(frozen=True)
class TwoDistributions(MonteCarloTest):
    """A distance of two groups' distributions, both made to increase, and the p-value of their being the same.

    ``kind`` "ks": the largest distance of the two curves. "ranks": how far P(X > Y) + P(X = Y) / 2 is from one half (Mann
    and Whitney), values within a bin counting as equal. Under the hypothesis both groups are drawn from the curve of both
    together, as many people as each has, with the noise of the release. With up to k rows a person the deviations of the
    counts are drawn sqrt(k) as large. Where a group has fewer than one row left p is 1.
    """

    distribution: DistributionReading
    kind: str = "ks"
    draws: int = LEAST_DRAWS

    def __post_init__(self) -> None:
        if not isinstance(self.distribution, DistributionReading) or self.distribution.outer != (2,):
            raise InvalidRequest("two distributions are compared: ask for a distribution by one category of two labels")
        if self.kind not in _KINDS:
            raise InvalidRequest(f"kind must be one of {', '.join(_KINDS)}, got {self.kind!r}")

    @property
    def shape(self) -> tuple[int, ...]:
        return self.distribution.shape

    @property
    def method(self) -> str:
        return (
            f"Monte Carlo: {self.draws} pairs of groups drawn from their common distribution, with the noise of the release"
        )

    @property
    def effect(self) -> str:  # type: ignore[override]
        """What the distance is."""
        return LargestGapTest.effect if self.kind == "ks" else "Distance of P({first} > {second}) from 1/2"

    def compute(self, cells: Floats) -> Floats:
        curves = monotone_curve(self.distribution.compute(cells))
        first, second = curves[..., 0, :], curves[..., 1, :]
        if self.kind == "ks":
            return np.asarray(np.abs(first - second).max(-1))
        middles = (second[..., 1:] + second[..., :-1]) / 2
        return np.asarray(np.abs((np.diff(first, axis=-1) * middles).sum(-1) - 0.5))

    def under_hypothesis(self, cells: Floats, law: NoiseLaw) -> Floats | None:
        counts = self.distribution.compute(cells)
        sizes = counts.sum(-1)
        if (sizes < 1).any():
            return None
        stream = stream_of(cells)
        shares = np.diff(monotone_curve(counts.sum(0)))
        spread = uniforms(self.draws, 2 * self.distribution.bins, stream).reshape(self.draws, 2, -1)
        made = np.stack([self._group(round(float(size)), shares, spread[:, i]) for i, size in enumerate(sizes)], 1)
        nodes = made @ incidence(self.distribution.branches).T
        return self.compute(nodes + noise(law, self.draws, cells.size, stream).reshape(-1, *self.shape))

    def _group(self, people: int, shares: Floats, uniform: Floats) -> Floats:
        expected = people * shares
        return np.asarray(expected + np.sqrt(self.distribution.rows) * (multinomial(people, shares, uniform) - expected))


def _read_off(kind: str) -> Any:
    def test(reading: Reading, releases: Sequence[Release], *, draws: int = LEAST_DRAWS) -> Reading:
        whole = getattr(reading, "distribution", reading)
        if not isinstance(whole, DistributionReading):
            raise InvalidRequest("this test is read off a distribution by one category of two labels; ask for one")
        return TwoDistributions(whole, kind, check_draws(draws))

    return test


tests_read_off["ks_2samp"] = _read_off("ks")
tests_read_off["mannwhitneyu"] = _read_off("ranks")
