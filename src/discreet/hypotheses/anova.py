"""Whether several groups have one mean, and everything else that one release of their cells says of them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any, ClassVar

import numpy as np

from discreet.core.mechanism import NoiseLaw
from discreet.core.reading import Axes, Reading, readings, tests_read_off
from discreet.core.release import Release
from discreet.errors import InvalidRequest
from discreet.hypotheses.draws import noise, normals, stream_of
from discreet.hypotheses.monte_carlo import MonteCarloTest, check_draws
from discreet.hypotheses.reading import LEAST_DRAWS, HypothesisTest, off_centre
from discreet.hypotheses.ttest import Welch
from discreet.statistics.equation import noise_variance
from discreet.statistics.mean import PopulationMean, mean_of_population
from discreet.statistics.question import Question, Table, statistic
from discreet.statistics.reading import Floats


@statistic("f_oneway")
def f_oneway(table: Table, column: str, *, by: str, draws: int = LEAST_DRAWS) -> Question:
    """Whether all groups have the same mean (one-way analysis of variance, without equal variances): three groups on."""
    question = _by_groups(table, column, by)
    return Question(question.query, OneWay(_means_of(question.reading), check_draws(draws)))


@statistic("compare")
def compare(table: Table, column: str, *, by: str, draws: int = LEAST_DRAWS) -> Question:
    """Groups' means, their differences with intervals, and the test of their being equal, from one release.

    The p-value is Welch's for two groups and that of ``f_oneway`` for more.
    """
    question = _by_groups(table, column, by)
    return Question(question.query, Comparison(_means_of(question.reading), check_draws(draws)))


def _by_groups(table: Table, column: str, by: str) -> Question:
    number = table.number(column)
    if len(table.groups(by)) != 1:
        raise InvalidRequest(f"groups are the labels of one category, got by={by!r}")
    return mean_of_population(table, column, float(number.lo), float(number.hi), by)


@readings("f_oneway")
@dataclass(frozen=True)
class OneWay(MonteCarloTest):
    """Q = sum of w_g (m_g - m)**2 with w_g = N_g**2 / (V_g + nu_g), V_g and nu_g taken at the common mean, m weighted by w.

    Under the hypothesis L_g = sqrt(V_g) z + (weights of the score) . xi and V_g* = V_g + (weights of the square) . xi,
    with one and the same noise xi in both, z normal. Where a group has no rows left p is 1.
    """

    means: PopulationMean
    draws: int = LEAST_DRAWS
    effect: ClassVar[str] = "Range of the means"

    def __post_init__(self) -> None:
        if len(self.means.shape) != 2 or self.means.shape[0] < 3:
            raise InvalidRequest("f_oneway compares three groups or more, by one column; use ttest_ind for two")

    @property
    def shape(self) -> tuple[int, ...]:
        return self.means.shape

    @property
    def method(self) -> str:
        return f"Monte Carlo: {self.draws} statistics drawn under the hypothesis, with the noise of the release"

    def compute(self, cells: Floats) -> Floats:
        """The range of the groups' means: the largest less the smallest."""
        return np.asarray(np.ptp(self.means.compute(cells), -1))

    def statistic(self, releases: Sequence[Release]) -> float:
        parts = self._parts(self.cells(releases), releases[0].noise)
        return 0.0 if parts is None else float(_between(parts.score, parts.spread + parts.quiet, parts.sizes))

    def seen_effect(self, releases: Sequence[Release]) -> float | None:
        """One mean's distance from all others, of groups as large as these are on average."""
        parts = self._parts(self.cells(releases), releases[0].noise)
        if parts is None:
            return None
        groups, size = len(parts.sizes), float(parts.sizes.mean())
        spread = float((parts.spread + parts.quiet).mean())
        width = float(self.means.hi - self.means.lo)
        return width * math.sqrt(off_centre(groups - 1) * spread / (1 - 1 / groups)) / size

    def under_hypothesis(self, cells: Floats, law: NoiseLaw) -> Floats | None:
        parts = self._parts(cells, law)
        if parts is None:
            return None
        stream = stream_of(cells)
        drawn = noise(law, self.draws, cells.size, stream).reshape(-1, *self.shape)
        score = np.sqrt(parts.spread) * normals(self.draws, len(cells), stream) + drawn @ parts.weights
        spread = np.maximum(parts.spread + drawn @ parts.spread_weights, 0.0)
        return _between(score, spread + parts.quiet, parts.sizes)

    def _parts(self, cells: Floats, law: NoiseLaw) -> _Parts | None:
        sizes = cells.sum(-1)
        if (sizes <= 0).any():
            return None
        middle = float(np.clip(self.means.share(cells.sum(0)), 0.0, 1.0))
        at = self.means.score.equation(cells[0])(np.array([middle]))
        assert at.variance_weights is not None
        weights, squares = at.weights[0], at.variance_weights[0]
        width = cells.shape[-1]
        quiet = [
            float(noise_variance(weights[None], law.at(slice(i * width, (i + 1) * width)))[0]) for i in range(len(cells))
        ]
        return _Parts(cells @ weights, np.maximum(cells @ squares, 0.0), np.array(quiet), sizes, weights, squares)


@dataclass(frozen=True)
class _Parts:
    """Of every group L, V and the variance of the noise of L at the common mean, its size, and the weights of L and V."""

    score: Floats
    spread: Floats
    quiet: Floats
    sizes: Floats
    weights: Floats
    spread_weights: Floats


def _between(score: Floats, variance: Floats, sizes: Floats) -> Floats:
    """Q of scores with their variances; nothing where a group has neither variance nor noise."""
    with np.errstate(divide="ignore"):
        weight = np.where(variance > 0, sizes**2 / np.where(variance > 0, variance, 1.0), 0.0)
    means = score / sizes
    total = weight.sum(-1, keepdims=True)
    middle = (weight * means).sum(-1, keepdims=True) / np.where(total > 0, total, 1.0)
    return np.asarray((weight * (means - middle) ** 2).sum(-1))


@readings("compare")
@dataclass(frozen=True)
class Comparison(HypothesisTest):
    """The groups' means with their intervals; differences and tests are read off the same cells."""

    means: PopulationMean
    draws: int = LEAST_DRAWS

    def __post_init__(self) -> None:
        if len(self.means.shape) != 2 or self.means.shape[0] < 2:
            raise InvalidRequest("compare is for two groups or more, by one column of categories")

    @property
    def shape(self) -> tuple[int, ...]:
        return self.means.shape

    @property
    def labels(self) -> Axes:
        """The groups."""
        return self.means.labels

    @property
    def lo(self) -> float:
        """The least mean that the bounds allow; with ``hi`` the ends of a picture."""
        return float(self.means.lo)

    @property
    def hi(self) -> float:
        """The largest mean that the bounds allow."""
        return float(self.means.hi)

    @property
    def equality(self) -> HypothesisTest:
        """The test of the groups' having one mean."""
        return Welch(self.means) if self.shape[0] == 2 else OneWay(self.means, self.draws)

    @property
    def method(self) -> str:
        return self.equality.method

    def measured(self, releases: Sequence[Release]) -> str:
        return self.means.measured(releases)

    def compute(self, cells: Floats) -> Floats:
        return self.means.compute(cells)

    def statistic(self, releases: Sequence[Release]) -> float:
        return self.equality.statistic(releases)

    def pvalue(self, releases: Sequence[Release]) -> float:
        return self.equality.pvalue(releases)

    def seen_effect(self, releases: Sequence[Release]) -> float | None:
        return self.equality.seen_effect(releases)

    def population_interval(self, releases: Sequence[Release], level: float, strict: bool) -> tuple[Any, Any]:
        return self.means.population_interval(releases, level, strict)

    def contrast(self, coefficients: dict[Any, float], ratio_within: tuple[float, float] | None = None) -> Reading:
        return self.means.contrast(coefficients, ratio_within)

    def pairs(self) -> list[tuple[Any, Any]]:
        """Every two groups."""
        return list(combinations(self.labels[0][1], 2))


def _means_of(reading: Reading) -> PopulationMean:
    """The groups' means behind an answer."""
    means = getattr(reading, "means", reading)
    if not isinstance(means, PopulationMean) or len(means.shape) != 2:
        raise InvalidRequest(
            "this test is read off means by one column of groups; ask with by= and of='population', or use compare"
        )
    return means


def _welch(
    reading: Reading, releases: Sequence[Release], *, between: Sequence[Any] | None = None, alternative: str = "two-sided"
) -> Reading:
    means = _means_of(reading)
    labels = means.labels[0][1]
    pair = tuple(labels) if between is None else tuple(between)
    if len(pair) != 2 or pair[0] == pair[1] or any(label not in labels for label in pair):
        raise InvalidRequest(f"between must name two of the groups {', '.join(map(str, labels))}, got {pair}")
    return Welch(means, alternative, (labels.index(pair[0]), labels.index(pair[1])))


def _one_way(reading: Reading, releases: Sequence[Release], *, draws: int = LEAST_DRAWS) -> Reading:
    return OneWay(_means_of(reading), check_draws(draws))


tests_read_off["ttest_ind"] = _welch
tests_read_off["f_oneway"] = _one_way
