"""The whole distribution of a column, from one release: its curve with a band, every quantile with an interval in values."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.core import drawing, numbers
from discreet.core.mechanism import NoiseLaw
from discreet.core.numbers import Number
from discreet.core.random import Random
from discreet.core.reading import Axes, Reading, readings
from discreet.core.release import Release
from discreet.core.result import Result
from discreet.core.schema import Integer
from discreet.errors import InvalidRequest
from discreet.mechanisms import Gaussian
from discreet.statistics.equation import noise_variance, upper_tail
from discreet.statistics.histogram import bin_edges
from discreet.statistics.nodes import Nodes, branches_for, incidence, least_squares
from discreet.statistics.question import Question, Table, axes, for_population, intervals, statistic
from discreet.statistics.reading import CellReading, Floats, GroupReading, plain
from discreet.statistics.score import each_group

if TYPE_CHECKING:
    import matplotlib.axes


_BINS = 256
_DRAWS = 1000  # redraws behind a band: its end is right to about 0.7 % of coverage


@statistic("distribution")
def distribution(
    table: Table,
    column: str,
    *,
    bins: int | Sequence[float] = _BINS,
    by: str | Sequence[str] | None = None,
    of: str = "population",
) -> Question:
    """Counts on a tree of public bins over the bounds: the quietest tree for the noise that is paid for.

    Both intervals, of the table and of the population, come at the same price.
    """
    for_population(of)
    query = tree(table, column, bins, by)
    return Question(
        query, DistributionReading(query.bins.edges, query.branches, query.shape[:-1], axes(query.groups), query.rows)
    )


def tree(table: Table, column: str, bins: int | Sequence[float], by: str | Sequence[str] | None) -> Nodes:
    """The tree over a column's bins; the values of a short integer column are bins of their own."""
    number = table.number(column)
    edges = bin_edges(table, column, bins)
    if isinstance(number, Integer) and isinstance(bins, int) and number.hi - number.lo < bins:
        edges = tuple(float(v) for v in range(int(number.lo), int(number.hi) + 2))
    if len(edges) < 3:
        raise InvalidRequest(f"a distribution needs at least 2 bins, got {len(edges) - 1}")
    factor = table.factor("bins", column, edges)
    return Nodes(table.groups(by), factor, branches_for(len(edges) - 1, table.gaussian), table.most_rows)


@readings("distribution")
@dataclass(frozen=True)
class DistributionReading(CellReading):
    """Counts of bins that fit all nodes best, by weighted least squares; and what can be read off them.

    ``curve`` is the cumulated share below each edge, made to increase; ``band`` holds the whole curve; ``quantile``
    gives the reading of one quantile of the same release.
    """

    edges: tuple[float, ...]
    branches: tuple[int, ...]
    outer: tuple[int, ...] = ()
    groups: Axes = ()
    rows: int = 1

    @property
    def bins(self) -> int:
        """How many bins there are."""
        return len(self.edges) - 1

    @property
    def shape(self) -> tuple[int, ...]:
        return (*self.outer, len(incidence(self.branches)))

    @property
    def labels(self) -> Axes:
        """Groups, then bins."""
        return (*self.groups, ("bin", intervals(self.edges)))

    def compute(self, cells: Floats) -> Floats:
        return np.asarray(cells @ least_squares(self.branches).T)

    def value(self, releases: Sequence[Release]) -> Any:
        """The counts, none below 0 as no count is; what is read off them is read off what fits best."""
        return plain(np.maximum(self.compute(self._nodes(releases)), 0.0))

    def interval(self, releases: Sequence[Release], level: float) -> tuple[Any, Any]:
        low, high = super().interval(releases, level)
        return plain(np.maximum(low, 0.0)), plain(np.maximum(high, 0.0))

    def expected_error(self, releases: Sequence[Release]) -> Any:
        """Exact: a bin's count is linear in what was released, so its variance is that of the weighted noise."""
        spread = np.sqrt(noise_variance(least_squares(self.branches), releases[0].noise))
        return plain(np.broadcast_to(spread, (*self.outer, self.bins)).copy())

    @property
    def about_population(self) -> bool:
        return True

    def curve(self, releases: Sequence[Release]) -> Floats:
        """The share of rows below each edge, group by group: within [0, 1] and increasing."""
        return monotone_curve(self.compute(self._nodes(releases)))

    def _nodes(self, releases: Sequence[Release]) -> Floats:
        return np.asarray(releases[0].value, np.float64).reshape(self.shape)

    def population_interval(self, releases: Sequence[Release], level: float, strict: bool) -> tuple[Any, Any]:
        """Of every bin's expected count, by its own variance: the count's (Poisson's) and the noise's."""
        from scipy.special import ndtri

        counts = self.compute(self._nodes(releases))
        noise = noise_variance(least_squares(self.branches), releases[0].noise)
        reach = float(ndtri(0.5 + level / 2)) * np.sqrt(self.rows * np.maximum(counts, 1.0) + noise)
        return plain(np.maximum(counts - reach, 0.0)), plain(np.maximum(counts + reach, 0.0))

    def band(self, releases: Sequence[Release], level: float, of: str) -> tuple[Floats, Floats]:
        """Two curves between which the whole distribution function lies with probability ``level``.

        Half-width: the ``level`` quantile of the largest |F* - F|, F* drawn from the fitted curve with the noise of the
        release and, of the population, with sampling (the limit of Kolmogorov's statistic, a Brownian bridge), made to
        increase as F is. Where fewer than one row is left: 0 to 1.
        """
        nodes = self._nodes(releases).reshape(-1, self.shape[-1])
        curves = [self._one_band(own, noise, level, for_population(of)) for own, noise in
                  each_group(nodes, releases[0].noise, 1)]  # fmt: skip
        low, high = (np.array(ends).reshape((*self.outer, self.bins + 1)) for ends in zip(*curves, strict=True))
        return low, high

    def _one_band(self, nodes: Floats, noise: NoiseLaw, level: float, sampled: bool) -> tuple[Floats, Floats]:
        counts = self.compute(nodes)
        rows, middle = float(counts.sum()), monotone_curve(counts)
        if rows < 1:
            return np.zeros(self.bins + 1), np.ones(self.bins + 1)
        drawn, normal = _redraws(noise, len(nodes), self.bins)
        fitted = np.diff(middle) * rows
        if sampled:
            steps = normal * np.sqrt(self.rows * fitted)
            fitted = fitted + steps - steps.sum(-1, keepdims=True) * (fitted / rows)
        redrawn = monotone_curve(fitted + self.compute(drawn))
        reach = float(np.quantile(np.abs(redrawn - middle).max(-1), level))
        low, high = np.clip(middle - reach, 0.0, 1.0), np.clip(middle + reach, 0.0, 1.0)
        low[0], high[-1] = 0.0, 1.0
        return low, high

    def draw(self, result: Result, axes: matplotlib.axes.Axes, level: float) -> matplotlib.axes.Axes:
        """The distribution function of every group with its band."""
        low, high = (end.reshape(-1, self.bins + 1) for end in self.band(result.releases, level, "population"))
        curves = self.curve(result.releases).reshape(-1, self.bins + 1)
        groups = [
            " · ".join(str(known[i]) for (_, known), i in zip(self.groups, place, strict=True))
            for place in np.ndindex(self.outer)
        ]
        title = f"with a {100 * level:g} % band for the population"
        for words, middle, lower, upper in zip(groups or [""], curves, low, high, strict=True):
            drawing.curve(axes, self.edges, middle, lower, upper, words, title, self.measured(result.releases))
        return axes

    def quantile(self, q: Number) -> Reading:
        """The reading of one quantile."""
        level = numbers.rational(q, "q")
        if not 0 < level < 1:
            raise InvalidRequest(f"q must lie strictly between 0 and 1 to be read off a distribution, got {q}")
        return QuantileOf(self, float(level))


@lru_cache(maxsize=4)
def _redraws(noise: NoiseLaw, nodes: int, bins: int) -> tuple[Floats, Floats]:
    """Noise for the nodes and normal numbers for the bins, from a public stream: reading twice reads the same."""
    stream = Random(seed=nodes)
    drawn = np.asarray(noise.release(np.zeros((_DRAWS, nodes)), seed=stream), np.float64)
    return drawn, np.asarray(Gaussian(1).release(np.zeros((_DRAWS, bins)), seed=stream), np.float64)


def monotone_curve(counts: Floats) -> Floats:
    """Cumulated shares from 0 to 1 that increase: the average of the largest so far and the smallest to come."""
    total = counts.sum(-1, keepdims=True)
    some = np.where(total > 0, total, 1.0)
    share = np.where(total > 0, np.cumsum(counts, -1) / some, np.arange(1, counts.shape[-1] + 1) / counts.shape[-1])
    share = np.clip(share, 0.0, 1.0)
    upward = np.maximum.accumulate(share, -1)
    downward = np.minimum.accumulate(share[..., ::-1], -1)[..., ::-1]
    middle = (upward + downward) / 2
    return np.concatenate([np.zeros((*middle.shape[:-1], 1)), middle[..., :-1], np.ones((*middle.shape[:-1], 1))], -1)


@readings("quantile_of")
@dataclass(frozen=True)
class QuantileOf(GroupReading):
    """The q-quantile read off a distribution, with intervals in values: their ends are edges of bins.

    From below, the edges e are gone through while "the quantile is at most e" is rejected at (1 - level)/2; the last one
    rejected is the lower end, and the upper end is found likewise from above. The test is one-sided, of L = C - q N with
    C the rows below e: at the true quantile it is normal with variance N q (1 - q) (of the table: 0) plus the noise.

    Proof: a fixed sequence of tests, each at level a, stops before the first true hypothesis is rejected with
    probability 1 - a: the lower end passes the quantile only if the test of the first edge at or above it rejects. No
    monotone curve is needed, and the ends cannot cross because no edge is rejected on both sides.
    """

    distribution: DistributionReading
    q: float

    @property
    def labels(self) -> Axes:
        """The groups."""
        return self.distribution.groups

    @cached_property
    def weights(self) -> Floats:
        """Of C - q N on the nodes, for every edge between bins."""
        bins = self.distribution.bins
        below = np.tri(bins - 1, bins) - self.q
        return np.asarray(below @ least_squares(self.distribution.branches))

    def value(self, releases: Sequence[Release]) -> Any:
        edges = np.array(self.distribution.edges)
        curves = self.distribution.curve(releases).reshape(-1, len(edges))
        # Between two edges the curve is taken to be straight; a flat stretch is its middle.
        quantiles = [(np.interp(self.q, c + np.arange(len(c)) * 1e-12, edges)) for c in curves]
        return plain(np.array(quantiles).reshape(self.distribution.outer))

    def ends(self, releases: Sequence[Release], level: float, sampled: bool) -> tuple[Any, Any]:
        nodes = self.distribution._nodes(releases)
        intervals = [self._one(own, noise, (1 - level) / 2, sampled) for own, noise in
                 each_group(nodes, releases[0].noise, 1)]  # fmt: skip
        low, high = (plain(np.array(ends).reshape(self.distribution.outer)) for ends in zip(*intervals, strict=True))
        return low, high

    def _one(self, nodes: Floats, noise: NoiseLaw, tail: float, sampled: bool) -> tuple[float, float]:
        score = self.weights @ nodes
        rows = max(float(self.distribution.compute(nodes).sum()), 0.0)
        variance = self.distribution.rows * rows * self.q * (1 - self.q) if sampled else 0.0
        # Of the table the noise alone counts, a whole number of steps, and P(X >= score) holds the score: half a step less.
        step = 0.0 if variance else float(noise.grid) * np.abs(self.weights).max(-1) / 2
        edges = self.distribution.edges
        below = self._rejected(-score - step, variance, self.weights, noise, tail)
        above = self._rejected((score - step)[::-1], variance, self.weights[::-1], noise, tail)
        return edges[below], edges[len(edges) - 1 - above]

    def _rejected(self, score: Floats, variance: float, weights: Floats, noise: NoiseLaw, tail: float) -> int:
        """How many of the tests are rejected, in their order, before the first that is not: P(X >= score) below ``tail``.

        The integral is taken where Chebyshev's inequality leaves it open.
        """
        far = 2 / math.sqrt(tail) * np.sqrt(variance + noise_variance(weights, noise))
        for place, here in enumerate(score):
            if here > far[place]:
                continue
            one = slice(place, place + 1)
            if here <= 0 or upper_tail(score[one], np.array([variance]), weights[one], noise)[0] >= tail:
                return place
        return len(score)
