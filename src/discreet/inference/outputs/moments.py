"""Sums of powers and products of columns, read off releases as if they were exact: what a naive analyst would use."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import numpy.typing as npt

from discreet.core.release import Release
from discreet.statistics.cells import Cells, Factor
from discreet.statistics.spread import Spread

Floats = npt.NDArray[np.float64]
Powers = frozenset[tuple[str, int]]

# Powers of t from the cells of a factor: (1 - t, t) and ((1 - t)**2, 2t(1 - t), t**2).
_POWERS = {
    "linear": np.array([[1.0, 1.0], [0.0, 1.0]]),
    "square": np.array([[1.0, 1.0, 1.0], [0.0, 0.5, 1.0], [0.0, 0.0, 1.0]]),
}


class Moments:
    """Sums over people of products of powers of columns; what several releases say of one is averaged.

    ``rows`` is the number of people where that is public; else it is read off the releases too. A release that counts rows
    is divided by its own count first: a naive analyst reads its mean.
    """

    def __init__(self, releases: Sequence[Release], rows: float | None = None) -> None:
        found: dict[Powers, list[float]] = {}
        levels: list[tuple[str, float, float, float]] = []
        names: dict[str, None] = {}
        for query, value in _cells(releases):
            names |= dict.fromkeys(f.column for f in query.factors if f.is_number)
            sums = dict(_sums(query, value))
            own = max(sums.get(frozenset(), 1.0), 1.0)
            for powers, total in sums.items():
                found.setdefault(powers, []).append(total / own if powers else total)
            levels += _levels(query, value)
        self.columns = list(names)  # those that are numbers, in the order in which the releases name them
        spreads = [r.query for r in releases if isinstance(r.query, Spread)]
        rows = rows if rows is not None or not spreads else float(spreads[0].rows)
        counted = found.pop(frozenset(), [])
        self.rows = float(rows) if rows is not None else max(float(np.mean(counted)), 1.0) if counted else None
        self._known: dict[Powers, float] = {}
        if self.rows is not None:
            self._known = {powers: self.rows * float(np.mean(each)) for powers, each in found.items()}
            for column, low, width, total in levels:
                self._known.setdefault(frozenset([(column, 1)]), low * self.rows + width * total)
        self._add_spreads(releases)

    def _add_spreads(self, releases: Sequence[Release]) -> None:
        """A released (co)variance, divisor n - 1, becomes a sum of products where the sums of its columns are known."""
        for release in releases:
            spread = release.query
            if not isinstance(spread, Spread) or spread.group is not None:
                continue
            totals = [self.of({f.column: 1}) for f in (spread.x, spread.y)]
            if totals[0] is None or totals[1] is None:
                continue
            area = (spread.x.hi - spread.x.lo) * (spread.y.hi - spread.y.lo)
            product = (spread.rows - 1) * area * float(release.value) + totals[0] * totals[1] / spread.rows
            names = [spread.x.column, spread.y.column]
            self._known.setdefault(frozenset((c, names.count(c)) for c in names), product)

    def of(self, powers: Mapping[str, int]) -> float | None:
        """The sum of a product of powers; None where no release has it."""
        key = frozenset((c, p) for c, p in powers.items() if p)
        return self.rows if not key else self._known.get(key)


def _cells(releases: Sequence[Release]) -> Iterator[tuple[Cells, Floats]]:
    """Every query over cells with its numbers; those asked together come apart."""
    for release in releases:
        flat, start = np.ravel(np.asarray(release.value, np.float64)) if release.query is not None else np.empty(0), 0
        for part in release.queries:
            if isinstance(part, Cells):
                yield part, flat[start : start + part.size].reshape(part.shape)
            start += part.size


def _sums(query: Cells, value: Floats) -> Iterator[tuple[Powers, float]]:
    """The sums that one query has, in the columns' own units; groups are added up."""
    if any(f.kind in ("level", "signed") for f in query.factors):
        return
    spreads: list[Factor] = []
    table = value
    for axis in reversed(range(len(query.factors))):
        factor = query.factors[axis]
        if not factor.is_number:
            table = table.sum(axis)
            continue
        spreads.insert(0, factor)
        change = _units(factor) @ _POWERS[factor.kind]
        table = np.moveaxis(np.tensordot(change, table, (1, axis)), 0, axis)
    if len({f.column for f in spreads}) < len(spreads):
        return
    for place in np.ndindex(table.shape):
        powers = frozenset((f.column, p) for f, p in zip(spreads, place, strict=True) if p)
        yield powers, float(table[place])


def _units(factor: Factor) -> Floats:
    """Powers of x = lo + R t from powers of t."""
    low, width = factor.lo, factor.hi - factor.lo
    rows = [[1.0, 0.0, 0.0], [low, width, 0.0], [low**2, 2 * low * width, width**2]]
    size = factor.size
    return np.array(rows)[:size, :size]


def _levels(query: Cells, value: Floats) -> Iterator[tuple[str, float, float, float]]:
    """Sums of t alone (x = lo + R t) or of x / m alone (x = m c): column, what one row adds at zero, unit, sum."""
    for factor in query.factors:
        total = float(value.sum())
        if factor.kind == "level":
            yield factor.column, factor.lo, factor.hi - factor.lo, total
        elif factor.kind == "signed":
            yield factor.column, 0.0, max(abs(factor.lo), abs(factor.hi)), total
