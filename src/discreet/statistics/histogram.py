"""Histograms and tables of categories."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from discreet.core.bounded import Bounded
from discreet.core.dates_and_times import Date
from discreet.core.reading import Axes, readings
from discreet.errors import InvalidRequest
from discreet.statistics.count import counts
from discreet.statistics.question import Question, Table, axes, for_population, statistic
from discreet.statistics.reading import CellReading, Floats

_MOST_BINS = 1 << 24  # what their counts and noise take has to fit into memory


@statistic("histogram")
def histogram(
    table: Table,
    column: str,
    *,
    bins: int | Sequence[float] = 10,
    normalize: bool = False,
    allow_negative: bool = False,
    by: str | Sequence[str] | None = None,
    of: str = "table",
) -> Question:
    """Counts in public bins: a number of them spread over the bounds, or the edges. Edges are never read off the data.

    Values outside are clipped into the first and last bin. Edges of a column of dates may be written as dates. ``normalize``
    makes the area 1.
    """
    edges = bin_edges(table, column, bins)
    groups = table.groups(by)
    query = table.cells(*groups, table.factor("bins", column, edges))
    least = None if allow_negative else 0.0
    labels = axes(query.factors)
    if normalize:
        if for_population(of):
            raise InvalidRequest(
                "a density of the population is read off a distribution; leave normalize out, or use of='table'"
            )
        widths = tuple(b - a for a, b in pairwise(edges))
        return Question(query, DensityReading(widths, allow_negative, query.shape, labels))
    return Question(query, counts(table, of, least, shape=query.shape, labels=labels))


def bin_edges(table: Table, column: str, bins: int | Sequence[float]) -> tuple[float, ...]:
    """Public edges: a number of even bins over the bounds, or the edges given."""
    number = table.number(column)
    if isinstance(bins, int) and not isinstance(bins, bool):
        if not 1 <= bins <= _MOST_BINS:
            raise InvalidRequest(f"bins must be between 1 and {_MOST_BINS}, got {bins}")
        return tuple(np.linspace(float(number.lo), float(number.hi), bins + 1).tolist())
    try:
        given = list(bins)  # type: ignore[arg-type]
        edges = tuple(_edge(number, e) for e in given)
    except InvalidRequest:  # of a date that is none
        raise
    except (TypeError, ValueError, OverflowError):
        raise InvalidRequest(f"bins must be a whole number or a list of edges, got {bins!r}") from None
    if not 2 <= len(edges) <= _MOST_BINS + 1 or not np.isfinite(edges).all() or any(a >= b for a, b in pairwise(edges)):
        raise InvalidRequest(f"edges must be finite and increase, 2 to {_MOST_BINS + 1} of them, got {given[:9]}")
    return edges


def _edge(number: Bounded, given: Any) -> float:
    """An edge as a number; of a column of dates it may be written as a date."""
    return number.at(given) if isinstance(number, Date) and isinstance(given, str | dt.date) else float(given)


@statistic("crosstab")
def crosstab(table: Table, *columns: str, allow_negative: bool = False, of: str = "table") -> Question:
    """Counts of every combination of declared categories, of any number of columns."""
    if not columns:
        raise InvalidRequest("a table needs at least one column of categories, got none")
    factors = table.groups(columns)
    query = table.cells(*factors)
    return Question(query, counts(table, of, None if allow_negative else 0.0, shape=query.shape, labels=axes(factors)))


@readings("density")
@dataclass(frozen=True)
class DensityReading(CellReading):
    """Counts over (total times width): area 1, or all zero where no count is left."""

    widths: tuple[float, ...]
    allow_negative: bool = False
    shape: tuple[int, ...] = ()
    labels: Axes = ()

    def compute(self, cells: Floats) -> Floats:
        counts = cells if self.allow_negative else np.maximum(cells, 0.0)
        total = counts.sum(-1, keepdims=True)
        share = np.divide(counts, total, out=np.zeros(np.shape(counts)), where=total > 0)
        return np.asarray(share / np.array(self.widths))
