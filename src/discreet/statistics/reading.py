"""How noisy cells become an answer with its uncertainty.

The noise is known exactly, so the uncertainty needs no theory: draw the noise again, take it off the released cells, and
see what the answer becomes. For an answer that is linear in the cells the law's own quantiles say it directly.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from discreet.core import drawing
from discreet.core.mechanism import Mechanism
from discreet.core.numbers import Number
from discreet.core.random import Random
from discreet.core.reading import Axes, Reading, readings
from discreet.core.release import Release
from discreet.core.result import Result
from discreet.mechanisms.additive import Additive

if TYPE_CHECKING:
    import matplotlib.axes


Floats = npt.NDArray[np.float64]

_RUNS = 20_000  # redraws of the noise: an end of a 95 % interval is then right to 0.15 % of coverage
_MOST = 2_000_000  # numbers redrawn in all, for answers with many cells


def plain(values: Floats) -> Any:
    """A number for a single answer, an array for several."""
    return values if values.ndim else float(values)


def root_mean_square(off: Floats) -> Floats:
    """Over the first axis, also of numbers whose squares are more than a double holds."""
    largest = np.abs(off).max(0)
    shares = off / np.where(largest > 0, largest, 1.0)
    return np.asarray(largest * np.sqrt((shares**2).mean(0)))


class CellReading(Reading):
    """An answer computed from one release of cells; ``compute`` works on many releases at once (leading axes)."""

    @property
    @abstractmethod
    def shape(self) -> tuple[int, ...]:
        """The shape of the cells."""

    @abstractmethod
    def compute(self, cells: Floats) -> Floats:
        """The answer for cells in the last axes."""

    def value(self, releases: Sequence[Release]) -> Any:
        return plain(self.compute(_cells(releases[0], self.shape)))

    def interval(self, releases: Sequence[Release], level: float) -> tuple[Any, Any]:
        tail = (1 - level) / 2
        low, high = np.quantile(self._redrawn(releases[0]), [tail, 1 - tail], axis=0)
        return plain(low), plain(high)

    def expected_error(self, releases: Sequence[Release]) -> Any:
        middle = self.compute(_cells(releases[0], self.shape))
        return plain(root_mean_square(self._redrawn(releases[0]) - middle))

    def _redrawn(self, release: Release) -> Floats:
        cells = _cells(release, self.shape)
        runs = max(1000, min(_RUNS, _MOST // max(1, cells.size)))
        return self.compute(cells - _noise(release.mechanism, self.shape, runs))


def _cells(release: Release, shape: tuple[int, ...]) -> Floats:
    return np.asarray(release.value, np.float64).reshape(shape)


def _noise(law: Mechanism, shape: tuple[int, ...], runs: int) -> Floats:
    """Fresh draws of a law's noise; the stream is public and fixed, so that reading twice reads the same.

    Laws that are multiples of one law have multiples of its draws, which are made once.
    """
    size = int(np.prod(shape, dtype=int))
    if not isinstance(law, Additive) or (unit := law.unit) is None:
        return _drawn(law, size, runs).reshape(runs, *shape)
    scales = np.array([float(scale) for scale in law.scales])
    return np.asarray(_drawn(unit, size, runs) * scales).reshape(runs, *shape)


@lru_cache(maxsize=4)
def _drawn(law: Mechanism, size: int, runs: int) -> Floats:
    return np.asarray(law.release(np.zeros((runs, size)), seed=Random(seed=size)), np.float64)


class GroupReading(Reading):
    """A number for every group, read off a release that tells of the population too; ``sampled`` covers sampling as well."""

    @property
    def about_population(self) -> bool:
        return True

    @property
    @abstractmethod
    def labels(self) -> Axes:
        """The groups."""

    @abstractmethod
    def ends(self, releases: Sequence[Release], level: float, sampled: bool) -> tuple[Any, Any]:
        """Both ends of the interval, group by group."""

    def interval(self, releases: Sequence[Release], level: float) -> tuple[Any, Any]:
        return self.ends(releases, level, sampled=False)

    def population_interval(self, releases: Sequence[Release], level: float, strict: bool) -> tuple[Any, Any]:
        return self.ends(releases, level, sampled=True)

    def expected_error(self, releases: Sequence[Release]) -> Any:
        """Half the length of the interval that the noise alone has at the level of one deviation."""
        low, high = self.interval(releases, 0.6827)
        return plain((np.asarray(high) - np.asarray(low)) / 2)


@readings("scaled")
@dataclass(frozen=True)
class Scaled(Reading):
    """offset + factor * release, kept within [least, most]: an answer linear in what was released."""

    offset: float = 0.0
    factor: float = 1.0
    least: float | None = None
    most: float | None = None
    shape: tuple[int, ...] = ()
    labels: Axes = ()

    def _answer(self, values: Floats) -> Any:
        moved = self.offset + self.factor * values
        low = -np.inf if self.least is None else self.least
        high = np.inf if self.most is None else self.most
        return plain(np.clip(moved, low, high))

    def value(self, releases: Sequence[Release]) -> Any:
        return self._answer(_cells(releases[0], self.shape))

    def interval(self, releases: Sequence[Release], level: float) -> tuple[Any, Any]:
        cells = _cells(releases[0], self.shape)
        reach = np.asarray(releases[0].noise.error(level))
        reach = reach.reshape(self.shape) if reach.ndim else reach
        low, high = self._answer(cells - reach), self._answer(cells + reach)
        return (low, high) if self.factor >= 0 else (high, low)

    def draw(self, result: Result, axes: matplotlib.axes.Axes, level: float) -> matplotlib.axes.Axes:
        """Counts by one axis are bars."""
        if len(self.labels) != 1 or self.least != 0:
            return super().draw(result, axes, level)
        low, high = result.interval(level, of=result.scope)
        words = [str(label) for label in self.labels[0][1]]
        names = self.labels[0][0], self.measured(result.releases)
        return drawing.bars(axes, words, result.value, low, high, f"with {100 * level:g} % intervals", names)

    def expected_error(self, releases: Sequence[Release]) -> Any:
        error = np.asarray(releases[0].noise.expected_error)
        return plain(abs(self.factor) * np.broadcast_to(error if not error.ndim else error.reshape(self.shape), self.shape))


@readings("part")
@dataclass(frozen=True)
class Part(Reading):
    """The reading of one part of a joint release: coordinates ``start`` up to ``stop``, on its own ``grid``."""

    inner: Reading
    start: int
    stop: int

    @property
    def labels(self) -> Axes:
        """The labels of the inner answer."""
        return self.inner.labels

    def _own(self, releases: Sequence[Release]) -> list[Release]:
        whole = releases[0]
        law = whole.noise
        part = slice(self.start, self.stop)
        return [Release(np.asarray(whole.value)[part], law.at(part), private=whole.private)]

    def own(self, releases: Sequence[Release]) -> Sequence[Release]:
        (made,) = self._own(releases)
        query, start = None, 0
        for part in releases[0].queries:
            query = part if start == self.start else query
            start += part.size
        return [replace(made, query=query, where=releases[0].where)]

    def rank_error(self, releases: Sequence[Release]) -> float | None:
        return self.inner.rank_error(self.own(releases))

    def people_needed(self, releases: Sequence[Release]) -> float | None:
        return self.inner.people_needed(self.own(releases))

    def gap(self, releases: Sequence[Release]) -> float | None:
        return self.inner.gap(self.own(releases))

    def seen_effect(self, releases: Sequence[Release]) -> float | None:
        return self.inner.seen_effect(self.own(releases))

    def error_of_own(self, own: Sequence[Release]) -> Any:
        return self.inner.expected_error(own)

    @property
    def over_deviation(self) -> bool:
        return self.inner.over_deviation

    @property
    def hypothesis(self) -> float | None:
        return self.inner.hypothesis

    def axes(self, releases: Sequence[Release]) -> Axes:
        return self.inner.axes(self._own(releases))

    def measured(self, releases: Sequence[Release]) -> str:
        return self.inner.measured(self.own(releases))

    def note(self, releases: Sequence[Release]) -> str | None:
        return self.inner.note(self._own(releases))

    def sentence(self, releases: Sequence[Release]) -> str | None:
        return self.inner.sentence(self._own(releases))

    def headline(self, releases: Sequence[Release]) -> str:
        return self.inner.headline(self._own(releases))

    def value(self, releases: Sequence[Release]) -> Any:
        return self.inner.value(self._own(releases))

    def interval(self, releases: Sequence[Release], level: float) -> tuple[Any, Any]:
        return self.inner.interval(self._own(releases), level)

    def expected_error(self, releases: Sequence[Release]) -> Any:
        return self.inner.expected_error(self._own(releases))

    def draw(self, result: Result, axes: matplotlib.axes.Axes, level: float) -> matplotlib.axes.Axes:
        return self.inner.draw(replace(result, reading=self.inner, releases=tuple(self.own(result.releases))), axes, level)

    @property
    def about_population(self) -> bool:
        return self.inner.about_population

    def population_interval(self, releases: Sequence[Release], level: float, strict: bool) -> tuple[Any, Any]:
        return self.inner.population_interval(self._own(releases), level, strict)

    def _of_it(self, inner: Reading) -> Part:
        """Another reading of the same part."""
        return replace(self, inner=inner)

    def contrast(self, coefficients: dict[Any, float], ratio_within: tuple[float, float] | None = None) -> Reading:
        return self._of_it(self.inner.contrast(coefficients, ratio_within))

    def test(self, name: str, releases: Sequence[Release], **options: Any) -> Reading:
        return self._of_it(self.inner.test(name, self.own(releases), **options))

    def quantile(self, q: Number) -> Reading:
        return self._of_it(self.inner.quantile(q))

    def restricted_mean(self, until: float | None) -> Reading:
        return self._of_it(self.inner.restricted_mean(until))

    def curve(self, releases: Sequence[Release]) -> Any:
        return self.inner.curve(self._own(releases))

    def band(self, releases: Sequence[Release], level: float, of: str) -> tuple[Any, Any]:
        return self.inner.band(self._own(releases), level, of)

    def numbers_at_risk(self, releases: Sequence[Release]) -> Any:
        return self.inner.numbers_at_risk(self._own(releases))

    def statistic(self, releases: Sequence[Release]) -> float:
        return self.inner.statistic(self._own(releases))

    def pvalue(self, releases: Sequence[Release]) -> float:
        return self.inner.pvalue(self._own(releases))

    @property
    def method(self) -> str:
        return self.inner.method
