"""How well a regression does on private rows: a paid coefficient of determination."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from discreet.core.ask import Ask
from discreet.core.price import Price
from discreet.core.query import Relation
from discreet.core.reading import Reading, readings
from discreet.core.release import Release
from discreet.core.result import Result
from discreet.core.runner import Procedure
from discreet.mechanisms.priced import law_in_l2
from discreet.models.queries.regression_sums import RegressionMoments, RegressionSums, read

_MISSED = np.array([1.0, 0.0, -1.0])  # a prediction less the truth; the constant is between them
_ENTRIES = 6  # of the triangle of sums that got noise


@readings("determination")
@dataclass(frozen=True)
class Determination(Reading):
    """1 - (sum of squared errors) / (sum of squares around the mean), from the noisy sums of predictions, 1 and truths.

    ``rows`` is the number of rows where that is public. 1 is perfect, 0 is no better than the mean.
    """

    rows: int | None = None

    def value(self, releases: Sequence[Release]) -> float:
        sums = self._moments(releases).repaired
        spread = _spread(sums[2, 2], sums[1, 2], sums[1, 1])
        return float(1.0 - _MISSED @ sums @ _MISSED / spread) if spread > 0 else 0.0

    def interval(self, releases: Sequence[Release], level: float) -> tuple[Any, Any]:
        """Each of the six sums lies within its own interval of level 1 - (1 - level) / 6: so all do, at ``level``."""
        sums, reach = self._moments(releases).raw, self._reach(releases, 1 - (1 - level) / _ENTRIES)
        missed, value = float(_MISSED @ sums @ _MISSED), self.value(releases)
        # |z - z'|^2 is a square less twice a product plus a square: wrong by four reaches at most.
        fewest, most = max(0.0, missed - 4 * reach), max(0.0, missed + 4 * reach)
        total, rows = abs(float(sums[1, 2])), float(sums[1, 1])
        off = 0.0 if self.rows is not None else reach
        narrow = _spread(sums[2, 2] - reach, total + reach, rows - off)
        wide = _spread(sums[2, 2] + reach, max(0.0, total - reach), rows + off)
        low = 1.0 - most / narrow if narrow > 0 else -math.inf
        high = 1.0 - fewest / wide if wide > 0 else 1.0
        return min(low, value), max(high, value)

    def expected_error(self, releases: Sequence[Release]) -> float:
        """To first order in the noise."""
        sums = self._moments(releases).repaired
        spread = _spread(sums[2, 2], sums[1, 2], sums[1, 1])
        if spread <= 0:
            return math.inf
        ratio, mean = float(_MISSED @ sums @ _MISSED) / spread, sums[1, 2] / sums[1, 1]
        by_rows = 0.0 if self.rows is not None else ratio * mean**2
        # What a unit in each sum does: predictions squared, products, the total, the rows, truths squared.
        slopes = np.array([1.0, -2.0, 2 * ratio * mean, by_rows, 1.0 - ratio]) / spread
        return float(np.max(releases[0].mechanism.deviation(_ENTRIES))) * float(np.linalg.norm(slopes))

    def _moments(self, releases: Sequence[Release]) -> RegressionMoments:
        return read(releases[0], self.rows)

    def _reach(self, releases: Sequence[Release], level: float) -> float:
        return releases[0].mechanism.margin(level, _ENTRIES)


def _spread(squares: float, total: float, rows: float) -> float:
    """The sum of squares around the mean."""
    return float(squares - total**2 / rows) if rows > 0 else 0.0


def determination_of(query: RegressionSums, price: Price, relation: Relation, rows: int | None) -> Procedure[Result]:
    """The coefficient of determination of predictions and truths, one release."""
    release: Release = yield Ask(query, law_in_l2(price, query.distance(relation), query.shape[0]))
    assert release.cost is not None
    return Result(Determination(rows), (release,), release.cost)
