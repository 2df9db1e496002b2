"""The accuracy of a classifier on private rows: a paid count, or a paid mean of weights."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from discreet.core import grid as quantum
from discreet.core.ask import Ask
from discreet.core.cost import Distance
from discreet.core.exact import Exact
from discreet.core.price import Price
from discreet.core.query import Relation, distance_of_weights, queries
from discreet.core.reading import Reading, readings
from discreet.core.release import Release
from discreet.core.result import Result
from discreet.core.runner import Procedure
from discreet.core.source import Batch
from discreet.mechanisms.priced import law_of_sums
from discreet.models.design import Design, scores
from discreet.models.queries.design_sum import DesignSum

Integers = npt.NDArray[np.int64]


@queries("hits")
@dataclass(frozen=True)
class Hits(DesignSum):
    """Two sums over rows, of t and of 1 - t: t is a row's weight over the largest one where theta . x and y agree, else 0.

    Without weights these are the numbers of right and wrong predictions. A score of 0 is the first class.

    ``distance``: a row adds (t, 1 - t), so a person with at most ``rows`` rows moves the two together by at most rows (L1)
    under add/remove, twice that under replace and both; L2 by rows and sqrt(2) rows.

    Proof: t lies within [0, 1] whatever the row holds, and t + (1 - t) = 1. Under replace one such pair is taken away and
    another put in its place, which moves each sum by at most rows, in opposite directions at the most.
    """

    design: Design
    theta: tuple[float, ...]

    @property
    def grid(self) -> Fraction:
        """What the sums are whole multiples of."""
        return Fraction(1) if self.design.weight is None else quantum.UNIT

    def distance(self, relation: Relation) -> Distance:
        return distance_of_weights(self.design.rows, relation)

    def step(self, batch: Batch) -> Integers:
        rows = self.design.block(batch)
        right = ((scores(rows.x, self.theta) > 0) == (rows.y > 0)).astype(np.int64)
        one = int(1 / self.grid)
        if rows.weight is not None:
            right *= np.rint(rows.weight * (one / self.design.weight.most)).astype(np.int64)  # type: ignore[union-attr]
        hit = int(right.sum())
        return np.array([hit, one * len(right) - hit], np.int64)

    def blank(self, rows: int) -> Exact:
        half = rows * int(1 / self.grid) // 2
        return Exact(np.array([half, half], np.int64), self.grid)


@readings("hits")
@dataclass(frozen=True)
class HitShare(Reading):
    """most * hits / (hits + misses), within [0, most]; the middle of them where nothing is left to divide by."""

    most: float = 1.0

    def value(self, releases: Sequence[Release]) -> float:
        hits, misses = np.asarray(releases[0].value, np.float64)
        return self._share(float(hits), float(misses))

    def _share(self, hits: float, misses: float) -> float:
        total = hits + misses
        share = hits / total if total > 0 else 0.5
        return self.most * min(1.0, max(0.0, share))

    def interval(self, releases: Sequence[Release], level: float) -> tuple[Any, Any]:
        """Each of the two sums lies within its own interval of level 1 - (1 - level) / 2: so both do, at ``level``."""
        hits, misses = np.asarray(releases[0].value, np.float64)
        reach = float(np.max(releases[0].noise.error(1 - (1 - level) / 2)))
        more_hits, more_misses = max(0.0, hits + reach), max(0.0, misses + reach)
        fewer_hits, fewer_misses = max(0.0, hits - reach), max(0.0, misses - reach)
        low = 0.0 if fewer_hits == 0 else self._share(fewer_hits, more_misses)
        high = self.most if fewer_misses == 0 else self._share(more_hits, fewer_misses)
        return low, high

    def expected_error(self, releases: Sequence[Release]) -> Any:
        """To first order in the noise."""
        hits, misses = np.maximum(np.asarray(releases[0].value, np.float64), 0.0)
        total = hits + misses
        one = float(np.max(releases[0].noise.expected_error))
        return self.most if total <= 0 else min(self.most, self.most * one * math.hypot(hits, misses) / total**2)


def score_of(design: Design, theta: Any, price: Price, relation: Relation) -> Procedure[Result]:
    """The share of rows on which a classifier is right; with weights, the mean of the weights of these rows."""
    query = Hits(design, tuple(np.asarray(theta, np.float64).tolist()))
    release: Release = yield Ask(query, law_of_sums(price, query.distance(relation), query.grid))
    assert release.cost is not None
    return Result(HitShare(1.0 if design.weight is None else design.weight.most), (release,), release.cost)
