"""Counts of people by the bin that their time falls into, with or without the event: what a survival curve is made of."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from discreet.core.cost import Distance
from discreet.core.exact import Exact
from discreet.core.query import Relation, SumQuery, distance_of_weights, queries
from discreet.core.source import Batch
from discreet.errors import InvalidRequest
from discreet.statistics.cells import Factor, Integers


@queries("lifetimes")
@dataclass(frozen=True)
class Lifetimes(SumQuery):
    """Group by group: people censored in each bin (e, e'], people with the event in each, and people beyond the last edge.

    A bin holds its right end, so someone censored on an edge was at risk throughout the bin before it. A time past the last
    edge is beyond, whatever happened then, and so is one on it without the event; a time at or before the first edge is in
    the first bin. Times are not clipped: clipped, those beyond would fall into the last bin. ``event`` picks who had
    the event: a category with the label ``happened``, or a number between 0 and 1, where more than 1/2 says it happened.

    ``distance``: L1, L2 and L-infinity are 1 under add/remove; 2, sqrt(2) and 1 under replace and both.

    Proof: a person has one row (the source keeps no more) and is counted in one cell, or in none where the time, the event
    or the group is missing: the person's vector is a unit vector or 0. Adding or removing moves the counts by it, replacing
    by the difference of two such vectors.
    """

    groups: tuple[Factor, ...]
    time: str
    edges: tuple[float, ...]
    event: Factor
    happened: Any = None

    def __post_init__(self) -> None:
        if len(self.edges) < 2 or not np.isfinite(self.edges).all() or any(a >= b for a, b in pairwise(self.edges)):
            raise InvalidRequest(f"edges must be finite and increase, at least two of them, got {list(self.edges)}")
        if self.event.kind == "category" and self.happened not in self.event.labels:
            known = ", ".join(repr(label) for label in self.event.labels)
            raise InvalidRequest(f"happened must be the label of the event, one of {known}, got {self.happened!r}")

    @property
    def bins(self) -> int:
        """How many bins there are."""
        return len(self.edges) - 1

    @property
    def columns(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys((*(f.column for f in self.groups), self.time, self.event.column)))

    @property
    def shape(self) -> tuple[int, ...]:
        """Groups, then censored bin by bin, events bin by bin, and beyond."""
        return (*(f.size for f in self.groups), 2 * self.bins + 1)

    def distance(self, relation: Relation) -> Distance:
        return distance_of_weights(1, relation)

    def step(self, batch: Batch) -> Integers:
        times = batch.numeric(self.time)
        happened, known = self._happened(batch)
        valid = known & ~np.isnan(times)
        kept = batch.kept(self.columns)
        valid = valid if kept is None else valid & kept
        # What lies less than 2**-40 of the whole range above an edge counts as on it: edges are rounded as well.
        slack = (self.edges[-1] - self.edges[0]) * 2.0**-40
        place = np.searchsorted(np.array(self.edges[1:]) + slack, times, side="left")
        # Whoever is still without the event at the last edge was at risk throughout the last bin.
        beyond = (place == self.bins) | (~happened & (times >= self.edges[-1] - slack))
        cell = np.where(beyond, 2 * self.bins, place + self.bins * happened)
        group = np.zeros(batch.size, np.int64)
        for factor in self.groups:
            codes = batch.codes(factor.column).astype(np.int64)
            valid &= codes >= 0
            group = group * factor.size + codes
        width = self.shape[-1]
        size = int(np.prod(self.shape, dtype=int))
        flat = (group * width + cell)[valid]
        return np.bincount(flat, minlength=size).astype(np.int64).reshape(self.shape)

    def _happened(self, batch: Batch) -> tuple[Any, Any]:
        if self.event.kind == "category":
            codes = batch.codes(self.event.column)
            return codes == self.event.labels.index(self.happened), codes >= 0
        values = batch.numeric(self.event.column)
        return values > 0.5, ~np.isnan(values)

    def blank(self, rows: int) -> Exact:
        """As if a tenth were beyond and the others fell evenly into all other cells."""
        groups = int(np.prod(self.shape[:-1], dtype=int))
        own = np.full(2 * self.bins + 1, 0.9 * rows / groups / (2 * self.bins))
        own[-1] = 0.1 * rows / groups
        return Exact(np.rint(np.broadcast_to(own, self.shape)).astype(np.int64), self.grid)
