"""Tests whose p-value is drawn: statistics under the hypothesis that fits the release best, with the release's own noise."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence

import numpy as np

from discreet.core.mechanism import NoiseLaw
from discreet.core.release import Release
from discreet.errors import InvalidRequest
from discreet.hypotheses.reading import LEAST_DRAWS, OmnibusTest, monte_carlo
from discreet.statistics.reading import Floats

_MOST_DRAWS = 1_000_000  # more would not fit the memory of whoever reads the release
_TIES = 1e-9  # statistics that rounding alone tells apart are tied


class MonteCarloTest(OmnibusTest):
    """An omnibus test by Monte Carlo. Subclasses are dataclasses with ``draws``, how many statistics the p-value draws.

    A p-value is then a whole number of (draws + 1)-ths: 999 are enough for one test at .05; for m tests with Holm's
    correction take 20 m / .05.
    """

    draws: int

    @abstractmethod
    def under_hypothesis(self, cells: Floats, law: NoiseLaw) -> Floats | None:
        """``draws`` statistics under the hypothesis that fits the cells best; None where nothing can be said."""

    def pvalue(self, releases: Sequence[Release]) -> float:
        made = self.under_hypothesis(self.cells(releases), releases[0].noise)
        if made is None:
            return 1.0
        drawn, observed = made, self.statistic(releases)
        return monte_carlo(observed - _TIES * abs(observed), lambda size, seed: np.asarray(drawn), self.draws)


def check_draws(draws: int) -> int:
    """Refuse a number of draws that leaves no p-value below .05."""
    if isinstance(draws, bool) or not isinstance(draws, int) or draws < 19:
        raise InvalidRequest(f"draws must be a whole number of at least 19, got {draws!r}; {LEAST_DRAWS} is the default")
    if draws > _MOST_DRAWS:
        raise InvalidRequest(f"draws must be at most {_MOST_DRAWS}, which tells p-values of a millionth, got {draws}")
    return draws
