"""How many."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from discreet.core.mechanism import NoiseLaw
from discreet.core.reading import readings
from discreet.core.release import Release
from discreet.statistics.equation import Statement, interval, noise_variance
from discreet.statistics.question import Question, Table, axes, for_population, statistic
from discreet.statistics.reading import Floats, Scaled, plain

_REACH = 60.0  # deviations: every p-value beyond is 0


@statistic("count")
def count(table: Table, *, by: str | Sequence[str] | None = None, of: str = "table") -> Question:
    """The number of rows, in all or by group: one cell for each group, exact integers, noise of a discrete law.

    ``of="population"``: the expected number in a table like this one.
    """
    groups = table.groups(by)
    query = table.cells(*groups)
    return Question(query, counts(table, of, shape=query.shape, labels=axes(groups)))


def counts(table: Table, of: str, least: float | None = 0.0, **facts: Any) -> Scaled:
    """The reading of whole counts, of the table or of the population as well: then none is above a public number of rows."""
    if for_population(of):
        most = None if table.rows is None or least is None else float(table.rows)
        return ExpectedCounts(least=least, most=most, rows=table.most_rows, public=table.rows, **facts)
    return Scaled(least=least, **facts)


@readings("expected_counts")
@dataclass(frozen=True)
class ExpectedCounts(Scaled):
    """Counts, and what they are expected to be in a table like this one.

    L = Y - tau. With a private number of rows Y is Poisson's: V = tau. With n ``public`` it is binomial: V = tau (1 -
    tau/n). With up to k = ``rows`` rows a person V is at most k times that.
    """

    rows: int = 1
    public: int | None = None

    @property
    def about_population(self) -> bool:
        return True

    def population_interval(self, releases: Sequence[Release], level: float, strict: bool) -> tuple[Any, Any]:
        values = np.ravel(np.asarray(releases[0].value, np.float64))
        law = releases[0].noise
        intervals = [self._one(y, law.at([place]), level, strict) for place, y in enumerate(values)]
        low, high = (plain(np.array(ends).reshape(self.shape)) for ends in zip(*intervals, strict=True))
        return low, high

    def _one(self, y: float, noise: NoiseLaw, level: float, strict: bool) -> tuple[float, float]:
        def equation(tau: Floats) -> Statement:
            spread = self.rows * tau * (1.0 if self.public is None else 1 - tau / self.public)
            return Statement(y - tau, spread, np.ones((len(tau), 1)))

        most = float(self.public) if self.public is not None else self._most(y, noise)
        return interval(equation, noise, y, 0.0, most, level, strict)

    def _most(self, y: float, noise: NoiseLaw) -> float:
        """A tau so large that p is 0 there: deviations grow with its root only."""
        wide = float(noise_variance(np.ones((1, 1)), noise)[0])
        return max(y, 0.0) + _REACH * float(np.sqrt(self.rows * max(y, 0.0) + wide)) + _REACH**2 * self.rows
