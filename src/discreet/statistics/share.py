"""Which part of the rows has which label."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from discreet.core.mechanism import NoiseLaw
from discreet.core.reading import Axes, readings
from discreet.core.release import Release
from discreet.statistics.equation import Statement, interval
from discreet.statistics.population import PopulationReading
from discreet.statistics.question import Question, Table, axes, for_population, statistic
from discreet.statistics.reading import Floats


@statistic("share")
def share(table: Table, column: str, *, by: str | Sequence[str] | None = None, of: str = "population") -> Question:
    """The share of every declared label, within groups where ``by`` names any: counts of labels over their sum.

    The counts tell of the population as they are, so both intervals come at the same price.
    """
    for_population(of)
    groups, labels = table.groups(by), table.factor("category", column)
    query = table.cells(*groups, labels)
    return Question(query, Share(query.shape, axes((*groups, labels)), table.most_rows))


@readings("share")
@dataclass(frozen=True)
class Share(PopulationReading):
    """Y / N within [0, 1] with N the sum of all labels' counts; one over their number where nothing is left to divide by.

    Population: L = (1 - p) Y - p Z with Z the other labels' counts, V = p (1 - p) N: known up to N, which p hardly
    depends on. With up to k = ``rows`` rows a person V is at most k times that.
    """

    shape: tuple[int, ...] = (2,)
    labels: Axes = ()
    rows: int = 1

    def measured(self, releases: Sequence[Release]) -> str:
        return "share"

    def compute(self, cells: Floats) -> Floats:
        total = cells.sum(-1, keepdims=True)
        part = np.divide(cells, total, out=np.full(np.shape(cells), 1 / cells.shape[-1]), where=total > 0)
        return np.asarray(np.clip(part, 0.0, 1.0))

    def population_of(self, cells: Floats, noise: NoiseLaw, level: float, strict: bool) -> tuple[Floats, Floats]:
        ends = np.array([self._one(place, cells, noise, level, strict) for place in range(len(cells))])
        return ends[:, 0], ends[:, 1]

    def _one(self, place: int, cells: Floats, noise: NoiseLaw, level: float, strict: bool) -> tuple[float, float]:
        total = float(cells.sum())

        def equation(p: Floats) -> Statement:
            weights = np.repeat(-p[:, None], len(cells), 1)
            weights[:, place] += 1.0
            spread = self.rows * p * (1 - p)
            return Statement(weights @ cells, spread * total, weights, None, np.repeat(spread[:, None], len(cells), 1))

        return interval(equation, noise, float(self.compute(cells)[place]), 0.0, 1.0, level, strict)
