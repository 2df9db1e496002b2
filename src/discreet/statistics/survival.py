"""Survival curves with intervals, median survival and restricted mean, from one release of counts in public time bins."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.core import drawing, numbers
from discreet.core.mechanism import NoiseLaw
from discreet.core.numbers import Number
from discreet.core.reading import Axes, Reading, readings
from discreet.core.release import Release
from discreet.core.result import Result
from discreet.core.schema import Categories
from discreet.errors import InvalidRequest
from discreet.statistics.cells import Factor
from discreet.statistics.equation import noise_variance
from discreet.statistics.histogram import bin_edges
from discreet.statistics.life_table import Curve, LifeTable
from discreet.statistics.lifetimes import Lifetimes
from discreet.statistics.question import Question, Table, axes, statistic
from discreet.statistics.reading import CellReading, Floats, GroupReading, plain
from discreet.statistics.score import each_group

if TYPE_CHECKING:
    import matplotlib.axes


_BINS = 10


@statistic("survival")
def survival(
    table: Table,
    time: str,
    event: str,
    *,
    happened: Any = None,
    bins: int | Sequence[float] = _BINS,
    by: str | Sequence[str] | None = None,
) -> Question:
    """Counts of people by time bin and event: a number of even bins over the bounds of ``time``, or public edges.

    ``event`` is a number between 0 and 1 (1: it happened, 0: censored), or a category with the label ``happened``.
    """
    query = lifetimes(table, time, event, happened, bins, by)
    return Question(query, Survival(query.edges, query.shape[:-1], axes(query.groups)))


def lifetimes(
    table: Table, time: str, event: str, happened: Any, bins: int | Sequence[float], by: str | Sequence[str] | None
) -> Lifetimes:
    """The counts behind every question about survival."""
    if table.most_rows > 1:
        raise InvalidRequest(
            f"survival takes one row a person, got a schema with max_rows={table.most_rows}; declare max_rows=1, or make a "
            "table with one row for each person first"
        )
    edges = bin_edges(table, time, bins)
    if isinstance(table.schema[event], Categories):
        factor = table.factor("category", event)
    else:
        factor = Factor("level", event)
        if (float(table.number(event).lo), float(table.number(event).hi)) != (0.0, 1.0):
            raise InvalidRequest(f"event must be a category or a number declared between 0 and 1, got column {event!r}")
        if happened is not None:
            raise InvalidRequest(f"happened is the label of a category, and {event!r} holds numbers; leave it out")
    return Lifetimes(table.groups(by), time, edges, factor, happened)


@readings("survival")
@dataclass(frozen=True)
class Survival(CellReading):
    """S at the right end of every time bin, group by group (life-table form of Kaplan and Meier).

    Intervals of the population are by the normal law of ln(-ln S), Greenwood's variance and the noise's together; they say
    [0, 1] where the counts say nothing.
    """

    edges: tuple[float, ...]
    outer: tuple[int, ...] = ()
    groups: Axes = ()

    @property
    def bins(self) -> int:
        """How many bins there are."""
        return len(self.edges) - 1

    @property
    def shape(self) -> tuple[int, ...]:
        return (*self.outer, 2 * self.bins + 1)

    @property
    def labels(self) -> Axes:
        """Groups, then times."""
        return (*self.groups, ("time", self.edges[1:]))

    @property
    def about_population(self) -> bool:
        return True

    def compute(self, cells: Floats) -> Floats:
        return LifeTable.of(cells).survival

    def released(self, releases: Sequence[Release]) -> Floats:
        """The released counts, group by group."""
        return np.asarray(releases[0].value, np.float64).reshape(self.shape)

    def each(self, releases: Sequence[Release]) -> list[tuple[Floats, Any]]:
        """The counts of every group with their noise."""
        return each_group(self.released(releases), releases[0].noise, 1)

    def population_interval(self, releases: Sequence[Release], level: float, strict: bool) -> tuple[Any, Any]:
        low, high = self.ends(releases, level, sampled=True)
        value = self.compute(self.released(releases))
        return np.minimum(low, value), np.maximum(high, value)

    def ends(self, releases: Sequence[Release], level: float, sampled: bool) -> tuple[Floats, Floats]:
        """Both ends of the interval of S at every edge, group by group."""
        intervals = [Curve.of(own).interval(noise, level, sampled) for own, noise in self.each(releases)]
        low, high = (np.array(ends).reshape(*self.outer, self.bins) for ends in zip(*intervals, strict=True))
        return low, high

    def curve(self, releases: Sequence[Release]) -> Floats:
        """S at every edge, the first included, where it is 1."""
        value = self.compute(self.released(releases))
        return np.concatenate([np.ones((*self.outer, 1)), value], -1)

    def numbers_at_risk(self, releases: Sequence[Release]) -> Floats:
        """How many people's times lie past the left end of every bin, and past the last edge."""
        table = LifeTable.of(self.released(releases))
        return np.concatenate([table.from_here_on, table.beyond[..., None]], -1)

    def quantile(self, q: Number) -> Reading:
        """The time by which a share ``q`` had the event; the median survival for 0.5."""
        level = numbers.rational(q, "q")
        if not 0 < level < 1:
            raise InvalidRequest(f"q must lie strictly between 0 and 1 to be read off a survival curve, got {q}")
        return SurvivalTime(self, float(level))

    def restricted_mean(self, until: float | None) -> Reading:
        """The mean of time up to ``until``, an edge (the last by default)."""
        end = self.edges[-1] if until is None else until
        if end not in self.edges[1:]:
            raise InvalidRequest(f"until must be an edge of the time bins, {list(self.edges[1:])}, got {until}")
        return RestrictedMean(self, float(end))

    def draw(self, result: Result, axes: matplotlib.axes.Axes, level: float) -> matplotlib.axes.Axes:
        """The curve of every group with its pointwise intervals, and the numbers at risk under the edges."""
        curves = self.curve(result.releases).reshape(-1, self.bins + 1)
        ends = [end.reshape(-1, self.bins) for end in self.population_interval(result.releases, level, False)]
        low, high = (np.concatenate([np.ones((len(end), 1)), end], 1) for end in ends)
        risk = self.numbers_at_risk(result.releases).reshape(-1, self.bins + 1)
        names = [
            " · ".join(str(known[i]) for (_, known), i in zip(self.groups, place, strict=True))
            for place in np.ndindex(self.outer)
        ]
        title = f"survival, with {100 * level:g} % intervals for the population"
        return drawing.lives(axes, self.edges, curves, low, high, risk, names or [""], title, time_of(result.releases))


def time_of(releases: Sequence[Release]) -> str:
    """The name of the column of times; of counts that came from elsewhere it is not known."""
    query = releases[0].query
    return query.time if isinstance(query, Lifetimes) else "time"


class _OfCurve(GroupReading):
    """A number for every group, read off its survival curve."""

    survival: Survival

    @property
    def labels(self) -> Axes:
        """The groups."""
        return self.survival.groups

    def measured(self, releases: Sequence[Release]) -> str:
        return time_of(releases)

    def _by_group(self, found: list[Any]) -> Any:
        return plain(np.array(found, np.float64).reshape(self.survival.outer))

    def ends(self, releases: Sequence[Release], level: float, sampled: bool) -> tuple[Any, Any]:
        low, high = zip(*(self.one(own, noise, level, sampled) for own, noise in self.survival.each(releases)), strict=True)
        return self._by_group(list(low)), self._by_group(list(high))

    @abstractmethod
    def one(self, cells: Floats, noise: NoiseLaw, level: float, sampled: bool) -> tuple[float, float]:
        """The interval of one group."""


@readings("survival_time")
@dataclass(frozen=True)
class SurvivalTime(_OfCurve):
    """The time by which a share q had the event, or the last edge where that lies beyond; straight between edges.

    The interval holds the edges at which the interval of S holds 1 - q (Brookmeyer and Crowley 1982): from the left, edges
    are gone through while S is surely above 1 - q, and the last of them is the lower end; likewise from the right.

    Proof: a fixed sequence of tests at (1 - level)/2 each stops before the first true hypothesis is rejected with
    probability at least 1 - (1 - level)/2; S need not fall from edge to edge for it.
    """

    survival: Survival
    q: float

    def value(self, releases: Sequence[Release]) -> Any:
        curves = self.survival.curve(releases).reshape(-1, self.survival.bins + 1)
        return self._by_group([_crossing(1 - curve, self.survival.edges, self.q) for curve in curves])

    def one(self, cells: Floats, noise: NoiseLaw, level: float, sampled: bool) -> tuple[float, float]:
        low, high = Curve.of(cells).interval(noise, level, sampled)
        edges = self.survival.edges
        first = int(np.argmin(np.append(low > 1 - self.q, False)))
        last = int(np.argmin(np.append((high < 1 - self.q)[::-1], False)))
        value = _crossing(np.append(0.0, 1 - LifeTable.of(cells).survival), edges, self.q)
        return min(edges[first], value), max(edges[min(len(edges) - last, len(edges) - 1)], value)


def _crossing(gone: Floats, edges: Sequence[float], q: float) -> float:
    """Where the share of those gone first reaches q, straight between edges; the last edge if it does not."""
    after = np.flatnonzero(gone >= q)
    if not after.size:
        return float(edges[-1])
    j = int(after[0])
    share = (q - gone[j - 1]) / (gone[j] - gone[j - 1])
    return float(edges[j - 1] + share * (edges[j] - edges[j - 1]))


@readings("restricted_mean")
@dataclass(frozen=True)
class RestrictedMean(_OfCurve):
    """The mean of min(time, until) from the first edge on: the area under S, straight between edges.

    The interval is by the normal law: with B_l the area's weight of everything from bin l on, the variance of sampling is
    the sum of B_l**2 h_l / (r_l (1 - h_l)), and the noise's that of the area's weights on the cells. Where the counts say
    nothing of S before ``until`` it is the whole range.
    """

    survival: Survival
    until: float

    @property
    def _areas(self) -> Floats:
        """What S at every edge after the first adds to the area."""
        edges = np.array(self.survival.edges)
        widths = np.where(edges[1:] <= self.until, np.diff(edges), 0.0)
        return np.asarray((widths + np.append(widths[1:], 0.0)) / 2)

    def value(self, releases: Sequence[Release]) -> Any:
        curves = self.survival.curve(releases).reshape(-1, self.survival.bins + 1)
        return self._by_group([self._area(curve[1:]) for curve in curves])

    def _area(self, curve: Floats) -> float:
        edges = self.survival.edges
        return float(edges[0] + (edges[1] - edges[0]) / 2 + self._areas @ curve)

    def one(self, cells: Floats, noise: NoiseLaw, level: float, sampled: bool) -> tuple[float, float]:
        from scipy.special import ndtri

        whole = Curve.of(cells)
        least, most = self.survival.edges[0], self.until
        used = self._areas > 0
        if not whole.good[used].all():
            return least, most
        parts = self._areas * np.exp(np.where(used, whole.log_survival, 0.0))
        after = np.cumsum(parts[::-1])[::-1]
        variance = float(noise_variance((parts @ whole.weights)[None, :], noise)[0])
        if sampled:
            variance += float(after**2 @ (whole.hazards * whole.gradients))
        if variance < 0:
            return least, most
        middle = self._area(LifeTable.of(cells).survival)
        reach = float(ndtri(0.5 + level / 2)) * np.sqrt(variance)
        return float(max(middle - reach, least)), float(min(middle + reach, most))
