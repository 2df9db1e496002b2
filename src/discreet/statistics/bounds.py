"""Where the values of a column lie, for someone who does not know its bounds: found within a public outer range."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from discreet.core import grid as quantum
from discreet.core import numbers
from discreet.core.cost import Distance
from discreet.core.exact import Exact
from discreet.core.mechanism import NoiseLaw
from discreet.core.numbers import Number
from discreet.core.query import Relation, SumQuery, check_rows, distance_of_weights, queries
from discreet.core.reading import Reading, readings
from discreet.core.release import Release
from discreet.core.schema import Integer
from discreet.core.source import Batch
from discreet.errors import InvalidRequest
from discreet.statistics.cells import Integers
from discreet.statistics.question import Question, Table, statistic

_DEEP = 30  # powers of two between the largest value of the outer range and the unit below which values count as zero
_DEEPEST = 120
_LEAST_UNIT = Fraction(1, 1 << 328)  # so that found bounds are never too near to one another to be declared
_FALSE = 1e-9  # how likely an empty bin among all of them passes for one with people


@statistic("bounds")
def bounds(table: Table, column: str, *, unit: Number | None = None, bins: int | None = None) -> Question:
    """Bounds for a column whose declared bounds are a wide outer range: people counted in public bins.

    Bins are powers of two of either sign; values smaller than ``unit`` (rounded down to a power of two; 1 for whole
    numbers, 2**-30 of the outer range for others) are in one with zero. ``bins`` asks for that many even ones instead.
    """
    number = table.number(column)
    lo, hi = float(number.lo), float(number.hi)
    if bins is not None:
        if unit is not None:
            raise InvalidRequest(f"unit is for bins by powers of two, got unit={unit} and bins={bins}; give one of them")
        edges = _even(lo, hi, bins)
    else:
        edges = _by_powers(lo, hi, _unit(unit, lo, hi, isinstance(number, Integer)))
    return Question(PeopleInBins(column, edges, table.most_rows), FoundBounds(edges, isinstance(number, Integer)))


def _even(lo: float, hi: float, bins: Any) -> tuple[float, ...]:
    if isinstance(bins, bool) or not isinstance(bins, int) or not 2 <= bins <= 1 << 16:
        raise InvalidRequest(f"bins must be a whole number from 2 to {1 << 16}, got {bins!r}")
    edges = np.linspace(lo, hi, bins + 1)
    if not np.diff(edges).min() >= 2 * float(_LEAST_UNIT):
        raise InvalidRequest(f"bins must be fewer between bounds as near as ({lo}, {hi}), got {bins}")
    return tuple(edges.tolist())


def _unit(unit: Number | None, lo: float, hi: float, whole: bool) -> Fraction:
    """The power of two below which values count as zero; the larger of what is asked for and what is possible."""
    largest = max(abs(Fraction(lo)), abs(Fraction(hi)))
    if unit is None:
        asked = Fraction(1) if whole else largest / (1 << _DEEP)
    else:
        asked = numbers.positive(unit, "unit")
        if asked * (1 << _DEEPEST) < largest:
            raise InvalidRequest(
                f"unit must be at least 2**-{_DEEPEST} of the largest value {float(largest):g}, got {unit}; "
                "use a larger unit or narrower bounds"
            )
    return max(Fraction(2) ** numbers.floor_log2(asked), _LEAST_UNIT)


def _by_powers(lo: float, hi: float, unit: Fraction) -> tuple[float, ...]:
    """lo, the powers of two times the unit between lo and hi with either sign, hi; none nearer to an end than unit/2."""
    powers, edge = [], unit
    while edge < max(abs(Fraction(lo)), abs(Fraction(hi))):
        powers.append(edge)
        edge *= 2
    inner = [*(-p for p in reversed(powers)), *powers]
    return (lo, *(float(e) for e in inner if Fraction(lo) + unit / 2 <= e <= Fraction(hi) - unit / 2), hi)


@queries("people_in_bins")
@dataclass(frozen=True)
class PeopleInBins(SumQuery):
    """People counted in public bins: of a person with r rows that have a value, each weighs 1/r.

    A value is clipped to the outer edges and lies in [edge_i, edge_i+1), the last bin closed. A missing value is in none,
    whatever the schema makes of it elsewhere.

    ``distance``: L1 and L2 are 1 under add/remove; 2 and sqrt(2) under replace and both; L-infinity is 1.

    Proof: a person's rows are kept ``rows`` at most (the bound plays no part in the distance), and each of the r kept ones
    with a value adds 1/r rounded down to the grid to one bin: the person's vector v is not negative and has |v|_1 <= 1.
    Adding or removing it moves the sum by v; replacing v by w by v - w, of L1 at most 2 and |v - w|_2^2 <= |v|_2^2 +
    |w|_2^2 <= 2 because both are not negative. Bins are public, and a comparison of doubles is exact.
    """

    column: str
    edges: tuple[float, ...]
    rows: int = 1

    def __post_init__(self) -> None:
        if len(self.edges) < 2 or not all(a < b for a, b in zip(self.edges, self.edges[1:], strict=False)):
            raise InvalidRequest(f"edges must increase, got {self.edges}")
        check_rows(self.rows)

    @property
    def columns(self) -> tuple[str, ...]:
        return (self.column,)

    @property
    def shape(self) -> tuple[int, ...]:
        """One number for each bin."""
        return (len(self.edges) - 1,)

    @property
    def grid(self) -> Fraction:
        """Whole people where each has one row, fine steps where a row may be a part of one."""
        return Fraction(1) if self.rows == 1 else quantum.UNIT

    def distance(self, relation: Relation) -> Distance:
        return distance_of_weights(1, relation)

    def step(self, batch: Batch) -> Integers:
        values = batch.present(self.column)
        kept = batch.kept(self.columns)
        valid = ~np.isnan(values) if kept is None else kept & ~np.isnan(values)
        count = self.shape[0]
        place = np.clip(np.searchsorted(np.array(self.edges), values[valid], side="right") - 1, 0, count - 1)
        if self.rows == 1 or batch.people is None:
            return np.bincount(place, minlength=count) * int(1 / self.grid)
        person = batch.people[valid]
        own = np.bincount(person, minlength=1)[person]
        # Whole numbers below 2**53: the sums of a batch are exact in doubles.
        return np.bincount(place, weights=np.floor(quantum.ONE / own), minlength=count).astype(np.int64)

    def blank(self, rows: int) -> Exact:
        """As if everybody were in the middle bin."""
        counts = np.zeros(self.shape, np.int64)
        counts[self.shape[0] // 2] = max(1, rows // self.rows) * int(1 / self.grid)
        return Exact(counts, self.grid)


@readings("found_bounds")
@dataclass(frozen=True)
class FoundBounds(Reading):
    """The outer edges of the lowest and the highest bin with more people than noise alone makes believe.

    A bin counts from T on, where all B bins stay below T with probability 1 - 1e-9 if nobody is in them. Where none
    counts, the bounds are the outer range and ``note`` says so: never an error. How many people lie outside is not known.
    """

    edges: tuple[float, ...]
    whole: bool = False

    @property
    def labels(self) -> tuple[tuple[str, tuple[str, ...]], ...]:
        """Which bound each number is."""
        return (("bound", ("lower", "upper")),)

    @property
    def lo(self) -> float:
        """The outer range."""
        return self.edges[0]

    @property
    def hi(self) -> float:
        """The outer range."""
        return self.edges[-1]

    def value(self, releases: Sequence[Release]) -> Any:
        lo, hi = self._ends(releases) or (self.lo, self.hi)
        return np.array([math.floor(lo), math.ceil(hi)] if self.whole else [lo, hi], np.float64)

    def note(self, releases: Sequence[Release]) -> str | None:
        """That nothing was found, where nothing was."""
        if self._ends(releases) is None:
            return "no bin has enough people to be told from noise; these are the declared outer bounds"
        return None

    def sentence(self, releases: Sequence[Release]) -> str:
        """What was found, for a report."""
        lo, hi = self.value(releases)
        return (
            f"Nearly everybody lies between {lo:g} and {hi:g}."
            if self.note(releases) is None
            else f"No narrower bounds were found: {self.note(releases)}."
        )

    def interval(self, releases: Sequence[Release], level: float) -> tuple[Any, Any]:
        """The outer range for either: where the extreme values lie within it is not public."""
        return np.full(2, self.lo), np.full(2, self.hi)

    def expected_error(self, releases: Sequence[Release]) -> None:
        return None

    def people_needed(self, releases: Sequence[Release]) -> float:
        """How many people a bin needs to be told from an empty one."""
        return threshold(releases[0].noise, len(self.edges) - 1)

    def _ends(self, releases: Sequence[Release]) -> tuple[float, float] | None:
        counts = np.ravel(np.asarray(releases[0].value, np.float64))
        full = np.flatnonzero(counts >= self.people_needed(releases))
        return (self.edges[int(full[0])], self.edges[int(full[-1]) + 1]) if full.size else None


def threshold(law: NoiseLaw, bins: int) -> float:
    """T: the noise of ``bins`` empty bins stays below it with probability 1 - 1e-9.

    A grid step above the quantile of (1 - 1e-9)**(1/bins), which noise, being symmetric, has as far above 0 as that of
    p = 1 - (1 - 1e-9)**(1/bins) is below. It is for use only: no guarantee rests on it.
    """
    p = -math.expm1(math.log1p(-_FALSE) / bins)
    return float(law.grid) - float(np.min(law.quantile(p)))
