"""Chi-squared tests of tables of counts: independence of two categories, and fit to given shares."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from discreet.core.mechanism import NoiseLaw
from discreet.core.reading import Reading, readings, tests_read_off
from discreet.core.release import Release
from discreet.errors import InvalidRequest
from discreet.hypotheses.draws import multinomial, noise, stream_of, uniforms
from discreet.hypotheses.monte_carlo import MonteCarloTest, check_draws
from discreet.hypotheses.reading import LEAST_DRAWS, off_centre
from discreet.statistics.cells import Cells
from discreet.statistics.joint import Bundle
from discreet.statistics.question import Question, Table, statistic
from discreet.statistics.reading import Floats, Scaled
from discreet.statistics.share import Share


@statistic("chi2_contingency")
def chi2_contingency(table: Table, x: str, y: str, *, draws: int = LEAST_DRAWS) -> Question:
    """Whether two columns of categories are independent in the population: from the counts of their combinations."""
    query = table.cells(*table.groups((x, y)))
    return Question(query, Independence(query.shape, check_draws(draws), table.most_rows))


@statistic("chisquare")
def chisquare(table: Table, column: str, *, shares: Sequence[float] | None = None, draws: int = LEAST_DRAWS) -> Question:
    """Whether the labels of a column have given ``shares`` in the population, in the order declared (default: even)."""
    query = table.cells(*table.groups(column))
    return Question(
        query, GoodnessOfFit(query.shape, check_shares(shares, query.shape[0]), check_draws(draws), table.most_rows)
    )


def check_shares(shares: Sequence[float] | None, labels: int) -> tuple[float, ...]:
    """Shares that are positive and sum to 1, one for each label."""
    if labels < 2:
        raise InvalidRequest(f"a test of fit needs at least 2 labels, got {labels}")
    made = tuple(float(s) for s in shares) if shares is not None else (1 / labels,) * labels
    if len(made) != labels or not min(made) > 0 or abs(sum(made) - 1) > 1e-9:
        raise InvalidRequest(f"shares must be {labels} positive numbers that sum to 1, got {made}")
    return made


class _ChiSquare(MonteCarloTest):
    """Q = sum of (O - E)**2 / (k E + v), with v the variance of the noise and up to k = ``rows`` rows a person.

    Under the hypothesis counts are drawn from the multinomial law that fits best, with the release's own noise, and the
    expected counts are fitted anew to each draw (k rows a person: deviations of the counts are drawn sqrt(k) as large,
    which no dependence among a person's rows exceeds in variance). Without v in the denominators, as Gaboardi, Lim, Rogers
    and Vadhan (2016) have it, the test is valid too and weaker.
    """

    rows: int

    @property
    def method(self) -> str:
        return f"Monte Carlo: {self.draws} tables drawn under the hypothesis, with the noise of the release"

    @abstractmethod
    def expected(self, cells: Floats) -> Floats:
        """The counts expected under the hypothesis, for released counts (leading axes: many of them)."""

    @property
    @abstractmethod
    def freedom(self) -> int:
        """The degrees of freedom."""

    def cohens_w(self, releases: Sequence[Any]) -> float:
        """The deviation from the hypothesis, Cohen's w over even cells, that is found with probability .8."""
        law = releases[0].noise
        people, cells = float(self.expected(self.cells(releases)).sum()), math.prod(self.shape)
        spread = self.rows * people / cells + float(np.mean(law.expected_error)) ** 2
        return math.sqrt(off_centre(self.freedom) * spread * cells) / people

    def with_noise(self, cells: Floats, variance: float) -> Floats:
        """Q, for noise of that variance."""
        expected = self.expected(cells)
        size = tuple(range(-len(self.shape), 0))
        return np.asarray(((cells - expected) ** 2 / (self.rows * expected + variance)).sum(size))

    def under_hypothesis(self, cells: Floats, law: NoiseLaw) -> Floats | None:
        expected, stream = self.expected(cells), stream_of(cells)
        people = round(float(expected.sum()))
        shares = expected.ravel() / expected.sum()
        made = multinomial(people, shares, uniforms(self.draws, cells.size, stream))
        made = people * shares + np.sqrt(self.rows) * (made - people * shares)
        drawn = (made + noise(law, self.draws, cells.size, stream)).reshape(-1, *self.shape)
        return self.with_noise(drawn, float(np.mean(law.expected_error)) ** 2)

    def statistic(self, releases: Sequence[Any]) -> float:
        law = releases[0].noise
        return float(self.with_noise(self.cells(releases), float(np.mean(law.expected_error)) ** 2))


@readings("chi2_contingency")
@dataclass(frozen=True)
class Independence(_ChiSquare):
    """Cramér's V of a table of two categories, and the chi-squared test of their independence.

    Expected counts are N r c with the shares r and c of the margins, each margin at least one half.
    """

    shape: tuple[int, ...] = (2, 2)
    draws: int = LEAST_DRAWS
    rows: int = 1
    effect: ClassVar[str] = "Cramér's V"

    def __post_init__(self) -> None:
        if len(self.shape) != 2 or min(self.shape) < 2:
            raise InvalidRequest(f"independence is of two columns with at least 2 labels each, got a table of {self.shape}")

    @property
    def freedom(self) -> int:
        return (self.shape[0] - 1) * (self.shape[1] - 1)

    def seen_effect(self, releases: Sequence[Any]) -> float | None:
        """Cramér's V."""
        return min(1.0, self.cohens_w(releases) / math.sqrt(min(self.shape) - 1))

    def expected(self, cells: Floats) -> Floats:
        lines, columns = np.maximum(cells.sum(-1), 0.5), np.maximum(cells.sum(-2), 0.5)
        total = (lines.sum(-1) + columns.sum(-1)) / 2
        scale = total / (lines.sum(-1) * columns.sum(-1))
        return np.asarray(lines[..., :, None] * columns[..., None, :] * scale[..., None, None])

    def compute(self, cells: Floats) -> Floats:
        expected = self.expected(cells)
        found = ((cells - expected) ** 2 / expected).sum((-1, -2)) / expected.sum((-1, -2))
        return np.asarray(np.sqrt(np.clip(found / (min(self.shape) - 1), 0.0, 1.0)))


@readings("chisquare")
@dataclass(frozen=True)
class GoodnessOfFit(_ChiSquare):
    """The largest distance of a label's share from the one given, and the chi-squared test of the fit. E = N p."""

    shape: tuple[int, ...] = (2,)
    shares: tuple[float, ...] = (0.5, 0.5)
    draws: int = LEAST_DRAWS
    rows: int = 1
    effect: ClassVar[str] = "Largest distance of a share from the one given"

    def __post_init__(self) -> None:
        if len(self.shape) != 1:
            raise InvalidRequest(f"a test of fit is of the counts of one column, got a table of {self.shape}")
        object.__setattr__(self, "shares", check_shares(self.shares, self.shape[0]))

    @property
    def freedom(self) -> int:
        return self.shape[0] - 1

    def seen_effect(self, releases: Sequence[Any]) -> float | None:
        """The distance of one label's share, where the others make up for it evenly and all shares are even."""
        labels = self.shape[0]
        return min(1.0, self.cohens_w(releases) * math.sqrt((labels - 1) / labels**2))

    def expected(self, cells: Floats) -> Floats:
        return np.asarray(np.maximum(cells.sum(-1), 0.5)[..., None] * np.array(self.shares))

    def compute(self, cells: Floats) -> Floats:
        total = np.maximum(cells.sum(-1), 0.5)[..., None]
        return np.asarray(np.clip(np.abs(cells / total - np.array(self.shares)).max(-1), 0.0, 1.0))


def _counts(reading: Reading, releases: Sequence[Release]) -> tuple[tuple[int, ...], int]:
    """The shape of released counts and the most rows a person has, of an answer that holds counts and nothing else."""
    query = releases[0].query
    asked = [q for q in (query.parts if isinstance(query, Bundle) else (query,)) if q is not None]
    whole = all(isinstance(q, Cells) and q.grid == 1 for q in asked)
    if not whole or not isinstance(reading, Scaled | Share) or not reading.shape:
        raise InvalidRequest(f"this test is read off a crosstab, a histogram or shares, not off {reading.name!r}")
    return reading.shape, max((q.rows for q in asked if isinstance(q, Cells)), default=1)


def _independence(reading: Reading, releases: Sequence[Release], *, draws: int = LEAST_DRAWS) -> Reading:
    shape, rows = _counts(reading, releases)
    return Independence(shape, check_draws(draws), rows)


def _fit(
    reading: Reading, releases: Sequence[Release], *, shares: Sequence[float] | None = None, draws: int = LEAST_DRAWS
) -> Reading:
    shape, rows = _counts(reading, releases)
    return GoodnessOfFit(shape, check_shares(shares, shape[-1]), check_draws(draws), rows)


tests_read_off["chi2_contingency"] = _independence
tests_read_off["chisquare"] = _fit
