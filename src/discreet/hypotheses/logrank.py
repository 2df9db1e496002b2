"""The log-rank test of two survival curves, plain or stratified, from the release that the curves are read off."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from discreet.core.reading import Reading, readings, tests_read_off
from discreet.core.release import Release
from discreet.errors import InvalidRequest
from discreet.hypotheses.reading import AT_POWER, ScoreTest, check_alternative, deviation
from discreet.statistics.equation import Statement
from discreet.statistics.life_table import LifeTable
from discreet.statistics.question import Question, Table, axes, statistic
from discreet.statistics.reading import Floats
from discreet.statistics.survival import Survival, lifetimes

_LEAST, _MOST = 0.01, 100.0  # a hazard ratio is looked for between these


@statistic("logrank")
def logrank(
    table: Table,
    time: str,
    event: str,
    *,
    by: str,
    happened: Any = None,
    bins: int | Sequence[float] = 10,
    alternative: str = "two-sided",
    strata: str | Sequence[str] | None = None,
) -> Question:
    """Whether two groups have the same survival, from the counts of ``survival``; ``by`` is a category of two labels.

    Within ``strata``, further categories, the groups are compared label by label: hazards may differ between strata.
    """
    check_alternative(alternative)
    within = () if strata is None else (strata,) if isinstance(strata, str) else tuple(strata)
    if not isinstance(by, str) or len(table.groups(by)[0].labels) != 2:
        raise InvalidRequest(f"the log-rank test compares two groups; {by!r} must be one category of two labels")
    query = lifetimes(table, time, event, happened, bins, (by, *within))
    return Question(query, LogRank(Survival(query.edges, query.shape[:-1], axes(query.groups)), alternative))


@readings("logrank")
@dataclass(frozen=True)
class LogRank(ScoreTest):
    """The hazard ratio of the first group to the second, and the p-value of equal hazards in every bin.

    With r and d of the groups, pi = r1 / r and the pooled hazard h = d / r: U = sum of (1 - pi)(d1 - h r1) - pi (d0 - h r0),
    V = sum of h (1 - h) pi (1 - pi) r. Bins from the first on in which a group has nobody left are left out. The ratio is
    exp(U / V) (Peto), good near 1, between 1/100 and 100. ``alternative="greater"``: the first group has the larger hazard.

    Of curves by further categories the first is compared and the others are strata: U and V are the sums of theirs, each
    stratum with a hazard of its own (Mantel 1966). The strata's noise adds up, so many small ones cost power.
    """

    survival: Survival
    alternative: str = "two-sided"
    effect: ClassVar[str] = "Hazard ratio, {first} to {second}"
    ratio: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if self.survival.outer[:1] != (2,):
            raise InvalidRequest(
                "the log-rank test compares two groups; ask for survival by a category of two labels, then by the strata"
            )
        check_alternative(self.alternative)

    @property
    def shape(self) -> tuple[int, ...]:
        return self.survival.shape

    @property
    def strata(self) -> int:
        """How many life tables the groups are compared in."""
        return int(np.prod(self.survival.outer[1:], dtype=int))

    @property
    def method(self) -> str:
        words = "of a life table" if self.strata == 1 else f"of the life tables of {self.strata} strata"
        return f"asymptotic: log-rank score {words}, noise included"

    def _scored(self, cells: Floats) -> tuple[Floats, Floats, Floats]:
        """U, V and the weights, summed over the strata."""
        axes = len(self.survival.outer)
        score, variance, weights = log_rank(np.moveaxis(cells, -axes - 1, -2))
        strata = tuple(range(-axes + 1, 0))
        return score.sum(strata), variance.sum(strata), np.moveaxis(weights, -2, -axes - 1)

    @property
    def hypothesis(self) -> float | None:
        return 1.0

    def compute(self, cells: Floats) -> Floats:
        score, variance, _ = self._scored(cells)
        return np.asarray(_ratio(np.where(variance > 0, score / np.where(variance > 0, variance, 1.0), 0.0)))

    def statement(self, releases: Sequence[Release]) -> Statement | None:
        """U, V and the weights of U on the cells; None where no bin is left that both groups are seen in."""
        score, variance, weights = self._scored(self.cells(releases))
        if not weights.any():
            return None
        return Statement(np.array([score]), np.array([variance]), weights.reshape(1, -1))

    def seen_effect(self, releases: Sequence[Release]) -> float | None:
        """A hazard ratio above 1."""
        found = self.statement(releases)
        if found is None or not found.variance[0] > 0:
            return None
        return float(_ratio(AT_POWER * deviation(found, releases[0].noise) / float(found.variance[0])))

    def population_interval(self, releases: Sequence[Release], level: float, strict: bool) -> tuple[Any, Any]:
        from scipy.special import ndtri

        found = self.statement(releases)
        v = 0.0 if found is None else float(found.variance[0])
        if found is None or not v > 0:
            return _LEAST, _MOST
        reach = float(ndtri(0.5 + level / 2)) * deviation(found, releases[0].noise) / v
        middle = float(found.score[0]) / v
        return float(_ratio(middle - reach)), float(_ratio(middle + reach))


def _of_survival(reading: Any, releases: Sequence[Release], alternative: str = "two-sided") -> Reading:
    """The log-rank test of survival curves that were released already."""
    if not isinstance(reading, Survival):
        raise InvalidRequest("the log-rank test is read off survival curves; ask for them with survival(..., by=...)")
    return LogRank(reading, alternative)


tests_read_off["logrank"] = _of_survival


def _ratio(log_ratio: Any) -> Any:
    return np.exp(np.clip(log_ratio, np.log(_LEAST), np.log(_MOST)))


def log_rank(cells: Floats) -> tuple[Floats, Floats, Floats]:
    """U, V and the weights of U on the cells of two groups, for cells in the last two axes.

    A person at risk in bin l moves the score by -(1 - pi) h there in the first group and by pi h in the second: through
    all bins up to the person's own, a1 = -cumsum((1 - pi) h) and a0 = cumsum(pi h). An event adds 1 - pi or -pi in its bin,
    someone censored there was at risk for half of it. The weights of pi and of h vanish under the hypothesis.
    """
    table = LifeTable.of(cells)
    r, d = table.at_risk, table.events
    there = np.logical_and.accumulate((r > 0).all(-2), -1)
    total = np.where(there, r.sum(-2), 1.0)
    pi = np.where(there, r[..., 0, :] / total, 0.0)
    h = np.where(there, d.sum(-2) / total, 0.0)
    seen = there.astype(np.float64)
    first = seen * (1 - pi)
    score = (first * (d[..., 0, :] - h * r[..., 0, :]) - pi * (d[..., 1, :] - h * r[..., 1, :])).sum(-1)
    variance = np.maximum((h * (1 - h) * pi * first * total).sum(-1), 0.0)
    ahead, behind = -np.cumsum(first * h, -1), np.cumsum(pi * h, -1)
    one = np.concatenate([ahead + first * h / 2, ahead + first, ahead[..., -1:]], -1)
    other = np.concatenate([behind - pi * h / 2, behind - pi, behind[..., -1:]], -1)
    return np.asarray(score), np.asarray(variance), np.stack([one, other], -2)
