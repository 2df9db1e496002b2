"""Readings that also speak of the population: what they share, and contrasts between groups."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from discreet.core.mechanism import NoiseLaw
from discreet.core.reading import Reading, readings
from discreet.core.release import Release
from discreet.errors import InvalidRequest
from discreet.statistics.equation import Statement, interval, noise_variance
from discreet.statistics.question import Question
from discreet.statistics.reading import CellReading, Floats, plain, root_mean_square
from discreet.statistics.score import Score, each_group

_LARGEST = 1e100  # of a coefficient: squares of what it is multiplied with are still doubles
_REACH = 60.0  # deviations: every p-value beyond is 0


class PopulationReading(CellReading):
    """A reading of cells, group by group, that can also be read as a statement about the population."""

    @property
    def about_population(self) -> bool:
        return True

    @property
    def inner(self) -> int:
        """How many of the last axes of the cells belong to one answer."""
        return 1

    @property
    def range(self) -> tuple[float, float]:
        """Between which numbers the bounds leave the population's value."""
        return -math.inf, math.inf

    @abstractmethod
    def population_of(self, cells: Floats, noise: NoiseLaw, level: float, strict: bool) -> tuple[Any, Any]:
        """The interval of one group's answer, or of its several, from its own cells and their noise."""

    def value(self, releases: Sequence[Release]) -> Any:
        """The answer, within what the bounds allow; the interval of the table knows no such limit."""
        return plain(np.clip(np.asarray(super().value(releases)), *self.range))

    def population_interval(self, releases: Sequence[Release], level: float, strict: bool) -> tuple[Any, Any]:
        """Every group's, and the answer itself: another root of the equation where little is left of a group."""
        release = releases[0]
        cells = np.asarray(release.value, np.float64).reshape(self.shape)
        intervals = [
            self.population_of(own.reshape(cells.shape[cells.ndim - self.inner :]), noise, level, strict)
            for own, noise in each_group(cells, release.noise, self.inner)
        ]
        outer = cells.shape[: cells.ndim - self.inner]
        low, high = (np.array(ends) for ends in zip(*intervals, strict=True))
        low, high = (end.reshape((*outer, *end.shape[1:])) for end in (low, high))
        answer = np.asarray(self.value(releases))
        return plain(np.minimum(low, answer)), plain(np.maximum(high, answer))


class MeanReading(PopulationReading):
    """lo + R m, with m between 0 and 1, and the statement E (t - m) = 0."""

    lo: float
    hi: float

    @abstractmethod
    def share(self, cells: Floats) -> Floats:
        """m as the cells have it, before it is clamped."""

    def compute(self, cells: Floats) -> Floats:
        return np.asarray(self.lo + (self.hi - self.lo) * np.clip(self.share(cells), 0.0, 1.0))

    @property
    @abstractmethod
    def score(self) -> Score:
        """The score of m."""

    def population_of(self, cells: Floats, noise: NoiseLaw, level: float, strict: bool) -> tuple[float, float]:
        low, high = self.score.interval(cells, noise, float(self.share(cells)), (0.0, 1.0), level, strict)
        return self.lo + (self.hi - self.lo) * low, self.lo + (self.hi - self.lo) * high


@dataclass(frozen=True)
class MeanQuestion(Question):
    """A question whose answer is a mean."""

    reading: MeanReading


def total_interval(score: Score, cells: Floats, noise: NoiseLaw, level: float, strict: bool) -> tuple[float, float]:
    """The interval of a total: theta enters L with slope -1 and V not at all, so p falls on both sides of the estimate."""
    equation = score.equation(cells)
    here = equation(np.zeros(1))
    estimate = float(here.score[0])
    known = here.variance + noise_variance(here.weights, noise)
    loose = 0.0 if here.variance_weights is None else float(np.sqrt(noise_variance(here.variance_weights, noise)[0]))
    reach = _REACH * math.sqrt(float(known[0]) + _REACH * loose)
    if not reach:
        return estimate, estimate
    return interval(equation, noise, estimate, estimate - reach, estimate + reach, level, strict)


@readings("contrast")
@dataclass(frozen=True)
class Contrast(Reading):
    """The sum of c_g mu_g over groups (``ratio`` False), or mu_1 / mu_2 for the two groups with coefficients 1 and -1.

    L = sum of c_g m_g - delta with every m_g read at its own mean; V = sum of c_g**2 V_g / N_g**2. For a ratio theta the
    statement is mu_1 - theta mu_2 = 0. Where a group's number of rows is not positive nothing can be said: the whole range.
    """

    means: MeanReading
    coefficients: tuple[float, ...]
    ratio: bool = False
    within: tuple[float, float] | None = None

    @property
    def about_population(self) -> bool:
        return True

    @property
    def range(self) -> tuple[float, float]:
        """What the bounds allow, or what was declared."""
        if self.within is not None:
            return self.within
        c = np.array(self.coefficients)
        lo, hi = self.means.lo, self.means.hi
        low, high = np.where(c > 0, c * lo, c * hi).sum(), np.where(c > 0, c * hi, c * lo).sum()
        return float(low), float(high)

    def combined(self, means: Floats) -> Floats:
        """The contrast of groups' means."""
        flat = means.reshape(*means.shape[: means.ndim - (len(self.means.shape) - 1)], -1)
        low, high = self.range
        if not self.ratio:
            return np.asarray(np.clip(flat @ np.array(self.coefficients), low, high))
        top, bottom = (flat[..., self.coefficients.index(c)] for c in (1.0, -1.0))
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.clip(np.nan_to_num(top / bottom, nan=high, posinf=high, neginf=low), low, high)

    def value(self, releases: Sequence[Release]) -> Any:
        return plain(np.asarray(self.combined(np.asarray(self.means.value(releases)))))

    def _redrawn(self, releases: Sequence[Release]) -> Floats:
        return self.combined(self.means._redrawn(releases[0]))

    def interval(self, releases: Sequence[Release], level: float) -> tuple[Any, Any]:
        low, high = np.quantile(self._redrawn(releases), [(1 - level) / 2, (1 + level) / 2])
        return float(low), float(high)

    def expected_error(self, releases: Sequence[Release]) -> float:
        return float(root_mean_square(self._redrawn(releases) - self.value(releases)))

    def population_interval(self, releases: Sequence[Release], level: float, strict: bool) -> tuple[Any, Any]:
        low, high = self.range
        groups = self.groups(np.asarray(releases[0].value, np.float64))
        if groups is None:
            return low, high
        noise = releases[0].noise

        def equation(theta: Floats) -> Statement:
            return self.statement(groups, theta)

        return interval(equation, noise, float(self.value(releases)), low, high, level, strict)

    def groups(self, cells: Floats) -> list[tuple[float, float, Floats, Floats, Floats]] | None:
        """Of every group the number of rows, its mean, its cells and the weights of score and spread at that mean."""
        reading = self.means
        draws = []
        for own, c in zip(cells.reshape(-1, reading.shape[-1]), self.coefficients, strict=True):
            rows = float(own.sum())
            if c and rows <= 0:
                return None
            mean = min(max(float(reading.share(own)), 0.0), 1.0) if c else 0.0
            at = reading.score.equation(own)(np.array([mean]))
            assert at.variance_weights is not None
            draws.append((rows if c else 1.0, mean, own, at.weights[0], at.variance_weights[0]))
        return draws

    def statement(self, groups: Any, theta: Floats) -> Statement:
        """L and V at each theta, from every group at its own mean; in units of the bounds' distance, whose square may be
        more than a double holds.
        """
        width = self.means.hi - self.means.lo
        lowest = self.means.lo / width
        ones = np.ones_like(theta)
        score, variance = np.zeros_like(theta), np.zeros_like(theta)
        weights, spreads = [], []
        for c, (rows, mean, own, weight, spread) in zip(self.coefficients, groups, strict=True):
            factor = (ones if c > 0 else -theta) if self.ratio and c else ones * c
            # At its own mean a group's score is zero but for the clamp; the mean itself carries the estimate.
            score += factor * (lowest + mean + float(weight @ own) / rows)
            variance += factor**2 * max(0.0, float(spread @ own)) / rows**2
            weights.append(factor[:, None] * weight / rows)
            spreads.append(factor[:, None] ** 2 * spread / rows**2)
        if not self.ratio:
            score = score - theta / width
        return Statement(score, variance, np.concatenate(weights, -1), np.concatenate(spreads, -1))


def contrast_of_groups(
    means: MeanReading, labels: Sequence[Any], coefficients: dict[Any, float], within: tuple[float, float] | None
) -> Contrast:
    """The contrast of groups named by their labels; with ``within``, the ratio of the two that are named."""
    unknown = [label for label in coefficients if label not in labels]
    if unknown:
        raise InvalidRequest(f"no group is called {unknown[0]!r}; there are {', '.join(map(str, labels))}")
    if len(set(coefficients)) < 2 or not all(abs(c) < _LARGEST for c in coefficients.values()):
        raise InvalidRequest(f"a contrast names at least two groups with finite coefficients, got {coefficients}")
    named = tuple(float(coefficients.get(label, 0.0)) for label in labels)
    return Contrast(means, named, within is not None, None if within is None else _ends(within))


def _ends(within: Any) -> tuple[float, float]:
    """Two public numbers between which a ratio lies."""
    try:
        low, high = (float(end) for end in within)
    except (TypeError, ValueError, OverflowError):
        low, high = math.nan, math.nan
    if not -math.inf < low < high < math.inf:
        raise InvalidRequest(f"within must be two finite public numbers that increase, such as (0.5, 2), got {within!r}")
    return low, high
