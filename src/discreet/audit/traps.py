"""The museum's third room: sound noise, read wrongly. Each exhibit claims 95 % and is wrong far more often.

An exhibit draws tables for which a statement is true, releases noisy numbers of them, and says for each table whether its
method denies the statement: a test that rejects at .05, or an interval of 95 % that misses. Like the other rooms it stands
alone in a few lines and calls nothing of the code that it warns of. Numbers of people, epsilon and effects are chosen so
that the mistake shows; how often each errs there is its measured level.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from discreet.audit.broken import gaussian, laplace, uniform
from discreet.audit.lower_bound import CONFIDENCE, least_share

Floats = npt.NDArray[np.float64]
Wrong = npt.NDArray[np.bool_]

CLAIM = 0.05
_Z = 1.959963984540054


@dataclass(frozen=True)
class FalseAlarms:
    """How often a method denied what is true: the share found, and what it certainly is at least."""

    share: float
    certified: float
    trials: int


@dataclass(frozen=True)
class Trap:
    """A method that says it errs in 5 % of tables, why it does not keep to that, and ``wrong(tables)``: where it erred."""

    name: str
    why: str
    wrong: Callable[[int], Wrong]
    trials: int = 4000

    def audit(self, confidence: float = CONFIDENCE, trials: int | None = None) -> FalseAlarms:
        """Counted over tables drawn anew; the lower limit is Clopper and Pearson's."""
        count = trials or self.trials
        errors = int(np.count_nonzero(self.wrong(count)))
        return FalseAlarms(errors / count, least_share(errors, count, 1 - confidence), count)


TRAPS: list[Trap] = []


def trap(trials: int = 4000) -> Callable[[Callable[[int], Wrong]], Callable[[int], Wrong]]:
    def hang(wrong: Callable[[int], Wrong]) -> Callable[[int], Wrong]:
        TRAPS.append(Trap(wrong.__name__.replace("_", " "), (wrong.__doc__ or "").strip(), wrong, trials))
        return wrong

    return hang


def _normal(*shape: int) -> Floats:
    return gaussian(int(np.prod(shape))).reshape(shape)


def noise(scale: float, *shape: int) -> Floats:
    """Laplace noise."""
    return laplace(int(np.prod(shape)), scale).reshape(shape)


def _uniform(*shape: int) -> Floats:
    return uniform(int(np.prod(shape))).reshape(shape)


def beyond(score: Any, variance: Any) -> Wrong:
    """Whether a normal score lies beyond its 95 %; a variance that noise made negative is none."""
    return np.asarray(np.abs(score) > _Z * np.sqrt(np.maximum(variance, 1e-12)))


def binomial(tables: int, n: int, p: float = 0.5) -> Floats:
    """How many of n people have what a share p of the population has."""
    return np.asarray((_uniform(tables, n) < p).sum(-1), np.float64)


@trap()
def t_test_of_noisy_moments(tables: int) -> Wrong:
    """The textbook's test takes the noise of both means for a difference (two groups of 100, epsilon 0.2)."""
    t = np.clip(0.5 + _normal(tables, 2, 100) / 6, 0, 1)
    n, first, second = (s + noise(5, tables, 2) for s in (100.0, t.sum(-1), (t**2).sum(-1)))
    n = np.maximum(n, 1.0)
    means = first / n
    spread = np.maximum(second / n - means**2, 1e-4) / n
    return beyond(means[:, 0] - means[:, 1], spread.sum(-1))


@trap()
def chi_squared_test_of_noisy_counts(tables: int) -> Wrong:
    """Pearson's denominators know of sampling alone: 3 x 4 cells, 500 people, epsilon 0.1."""
    place = (12 * _uniform(tables, 500)).astype(int) + 12 * np.arange(tables)[:, None]
    counts = np.bincount(place.ravel(), minlength=12 * tables).reshape(tables, 3, 4) + noise(10, tables, 3, 4)
    counts = np.maximum(counts, 0.5)
    expected = counts.sum(-1, keepdims=True) * counts.sum(-2, keepdims=True) / counts.sum((-1, -2), keepdims=True)
    return np.asarray(((counts - expected) ** 2 / expected).sum((-1, -2)) > 12.591587)


@trap()
def interval_of_the_noise_for_the_population(tables: int) -> Wrong:
    """A mean of 1,000 at epsilon 1 with the noise's own interval: it holds the mean of this table, not of the people."""
    means = np.clip(0.5 + _normal(tables, 1000) / 6, 0, 1).mean(-1) + noise(1 / 1000, tables)
    return np.asarray(np.abs(means - 0.5) > np.log(20) / 1000)


@trap()
def normal_theory_of_a_rank_sum(tables: int) -> Wrong:
    """Wilcoxon's variance fed a noisy sum: 200 people a group, epsilon 0.1."""
    ranks = np.argsort(np.argsort(_uniform(tables, 400), -1), -1) + 1.0
    score = (ranks[:, :200] - 200.5).sum(-1) / 400 + noise(5, tables)
    return beyond(score, 200 * 200 * 401 / (12 * 400**2))


@trap()
def noise_at_the_price_and_not_as_drawn(tables: int) -> Wrong:
    """Under replace a histogram of epsilon 0.5 has noise of scale 4; a share is judged as if it had scale 2."""
    count = binomial(tables, 100) + noise(4, tables)
    return beyond(count - 50, 25 + 2 * 2**2)


def _whole_counts(tables: int, n: int, epsilon: float) -> tuple[npt.NDArray[np.intp], Floats]:
    """Counts of heads in n tosses with whole noise, as places in the table of their probabilities."""
    q, reach = np.exp(-epsilon), 60
    geometric = np.floor(np.log(_uniform(tables, 2)) / np.log(q))
    ways = np.cumprod(np.append(1.0, np.arange(n, 0, -1) / np.arange(1, n + 1))) / 2.0**n
    mass = np.convolve(ways, q ** np.abs(np.arange(-reach, reach + 1.0)) * (1 - q) / (1 + q))
    return (binomial(tables, n) + geometric[:, 0] - geometric[:, 1]).astype(np.intp) + reach, mass


@trap(20_000)
def lower_tail_as_one_less_the_upper(tables: int) -> Wrong:
    """With whole noise the point itself belongs to both tails; one less the upper tail leaves it out of the lower."""
    place, mass = _whole_counts(tables, 10, 3.0)
    upper = np.cumsum(mass[::-1])[::-1][place]
    return np.asarray(2 * np.minimum(upper, 1 - upper) <= CLAIM)


@trap(20_000)
def uniform_drawn_anew_at_each_reading(tables: int) -> Wrong:
    """The uniform number that makes a test of whole numbers exact is drawn at twenty readings, and the best one shown."""
    place, mass = _whole_counts(tables, 30, 1.0)
    above = np.append(np.cumsum(mass[::-1])[::-1], 0.0)[place + 1]
    return np.asarray(above + _uniform(tables, 20).min(-1) * mass[place] <= CLAIM)


@trap()
def released_again_until_significant(tables: int) -> Wrong:
    """Five releases of one count at epsilon 0.2, each with a right test of its own; the smallest p-value is told."""
    count = binomial(tables, 100)[:, None] + noise(5, tables, 5)
    return np.asarray(beyond(count - 50, 25 + 2 * 5**2).any(-1))


@trap()
def ten_tests_of_one_release_uncorrected(tables: int) -> Wrong:
    """Ten shares read off one release, each test right, and one is called a discovery: readings are not free in alpha."""
    count = binomial(10 * tables, 100).reshape(tables, 10) + noise(1, tables, 10)
    return np.asarray(beyond(count - 50, 25 + 2).any(-1))


@trap(20_000)
def test_chosen_by_the_data(tables: int) -> Wrong:
    """A test of means and one of ranks, both right, and whichever has the smaller p-value: 30 people a group."""
    values = _normal(tables, 60)
    values = np.where(_uniform(tables, 60) < 0.1, 6 * values, values)  # a few outliers, as ever
    ranks = np.argsort(np.argsort(values, -1), -1) + 1.0
    sizes, clipped = 30.0, np.clip(values, -10, 10)
    means = clipped.reshape(tables, 2, 30).mean(-1)
    variance = clipped.reshape(tables, 2, 30).var(-1, ddof=1).sum(-1) / sizes
    rank_sum = (ranks[:, :30] - 30.5).sum(-1)
    by_means = np.abs(means[:, 0] - means[:, 1]) > 2.0 * np.sqrt(variance)
    return np.asarray(by_means | beyond(rank_sum, sizes * sizes * 61 / 12))


@trap()
def groups_cut_where_the_difference_is_largest(tables: int) -> Wrong:
    """Of nine places to cut a column into young and old, the one with the smallest p-value: the groups follow the data."""
    sums = _normal(tables, 10, 20).sum(-1) + noise(1, tables, 10)
    left = np.cumsum(sums, -1)[:, :-1]
    k = np.arange(1, 10)
    score = left / k - (sums.sum(-1, keepdims=True) - left) / (10 - k)
    return np.asarray(beyond(score, 22 / k + 22 / (10 - k)).any(-1))


@trap(1000)
def bounds_chosen_by_the_data(tables: int) -> Wrong:
    """Bounds around the middle 90 % of this table (2,000 lognormal values, epsilon 1): the mean loses its largest values."""
    x = np.exp(_normal(tables, 2000))
    low, high = np.quantile(x, [0.05, 0.95], axis=-1, keepdims=True)
    cut, scale = np.clip(x, low, high), (high - low)[:, 0] / 2000
    return beyond(cut.mean(-1) + scale * noise(1, tables) - np.exp(0.5), cut.var(-1) / 2000 + 2 * scale**2)


@trap()
def groups_with_negative_counts_left_out(tables: int) -> Wrong:
    """Fifty groups of two people, epsilon 0.2: those with a negative noisy count are dropped, the rest add up to more."""
    counts = 2 + noise(5, tables, 50)
    kept = np.where(counts > 0, counts, 0.0)
    return beyond(kept.sum(-1) - 2 * (counts > 0).sum(-1), 2 * 5**2 * (counts > 0).sum(-1))


@trap()
def not_rejected_as_no_difference(tables: int) -> Wrong:
    """A right test of 50 people a group at epsilon 0.5 with 0.4 deviations between them: "no difference" is mostly false."""
    means = np.clip(0.5 + _normal(tables, 2, 50) / 6, 0, 1).mean(-1) + noise(2 / 50, tables, 2)
    return ~beyond(means[:, 0] - means[:, 1] + 0.4 / 6, 2 * (1 / 36 / 50 + 2 * (2 / 50) ** 2))


@trap()
def rows_taken_for_people(tables: int) -> Wrong:
    """200 people with five rows each that go together: the variance over rows makes the interval of the mean too short."""
    rows = _normal(tables, 200, 1) * np.sqrt(0.5) + _normal(tables, 200, 5) * np.sqrt(0.5)
    flat = rows.reshape(tables, 1000)
    return beyond(flat.mean(-1), flat.var(-1) / 1000)


@trap()
def normal_theory_of_a_variance(tables: int) -> Wrong:
    """Twice the squared variance over n is right for normal values; lognormal ones spread more (500 people)."""
    x = np.minimum(np.exp(_normal(tables, 500)) / 10, 1.0)
    v = x.var(-1)
    return beyond(v - _LOGNORMAL_VARIANCE, 2 * v**2 / 500)


_LOGNORMAL_VARIANCE = 0.0308979  # of exp(z) / 10 cut at 1, by quadrature


@trap()
def normal_theory_of_a_correlation(tables: int) -> Wrong:
    """One column spreads more where the other is far out, without any correlation: 1,000 people."""
    x = _normal(tables, 1000)
    y = x * np.where(_uniform(tables, 1000) < 0.5, 1.0, -1.0)
    r = ((x - x.mean(-1, keepdims=True)) * (y - y.mean(-1, keepdims=True))).mean(-1) / (x.std(-1) * y.std(-1))
    return beyond(r, (1 - r**2) ** 2 / 1000)


@trap(1000)
def ridge_interval_that_excludes_zero(tables: int) -> Wrong:
    """Two columns of correlation 0.9, the second without effect: a ridge moves it away from 0, and the interval follows."""
    x = _normal(tables, 500, 1)
    columns = np.concatenate([x, 0.9 * x + np.sqrt(1 - 0.81) * _normal(tables, 500, 1)], -1)
    y = columns[..., 0] + 0.3 * _normal(tables, 500)
    moments = np.swapaxes(columns, 1, 2) @ columns / 500 + 0.1 * np.eye(2)
    coefficients = np.linalg.solve(moments, (np.swapaxes(columns, 1, 2) @ y[..., None]) / 500)[..., 0]
    return beyond(coefficients[:, 1], 0.3**2 / 500 * np.linalg.inv(moments)[:, 1, 1])


@trap(1000)
def inner_test_that_does_not_hold_in_a_part(tables: int) -> Wrong:
    """Test of tests: 50 parts of 20 skewed values each, Student's t inside at .1, which rejects far more often there."""
    x = np.minimum((1 - _uniform(tables, 50, 20)) ** (-1 / 1.5), 100.0)
    z = (x.mean(-1) - _PARETO_MEAN) / (x.std(-1, ddof=1) / np.sqrt(20))
    counted = (np.abs(z) > 1.729133).sum(-1) + noise(1, tables)
    return beyond(counted - 5, 50 * 0.1 * 0.9 + 2)


_PARETO_MEAN = 3.0 - 2.0 / 10.0  # of values above 1 with the tail x**-1.5, cut at 100


def _lives(tables: int, n: int, hazard: float, leaving: float) -> tuple[Floats, Wrong]:
    """Times and whether the event was seen, for people who leave at even times."""
    life, left = -np.log(_uniform(tables, n)) / hazard, leaving * _uniform(tables, n)
    return np.minimum(life, left), life <= left


def _counted(place: Any, bins: int) -> Floats:
    flat = place + bins * np.arange(len(place))[:, None]
    return np.bincount(flat.ravel(), minlength=bins * len(place)).reshape(len(place), bins).astype(np.float64)


def _log_rank(at_risk: list[Floats], events: list[Floats]) -> tuple[Floats, Floats]:
    """U and V of two arms."""
    total = np.maximum(at_risk[0] + at_risk[1], 1e-9)
    pi, h = at_risk[0] / total, (events[0] + events[1]) / total
    return (events[0] - pi * (events[0] + events[1])).sum(-1), (h * (1 - h) * pi * (1 - pi) * total).sum(-1)


@trap(500)
def time_bins_that_hold_their_left_end(tables: int) -> Wrong:
    """Visits on whole months and bins [e, e'): whoever left on an edge counts as at risk for a bin nobody saw them in."""
    found: tuple[list[Floats], list[Floats]] = ([], [])
    for leaving in (4.0, 40.0):
        life, left = -np.log(_uniform(tables, 1000)) / 0.1, np.ceil(leaving * _uniform(tables, 1000))
        place = np.minimum(np.minimum(life, left), 10).astype(int)
        event = (life <= left) & (life < 10)
        events, gone = (_counted(np.where(who, place, 11), 12)[:, :10] for who in (event, ~event & (place < 10)))
        past = 1000 - events.sum(-1) - gone.sum(-1)
        tail = np.cumsum((events + gone)[:, ::-1], -1)[:, ::-1] + past[:, None]
        found[0].append(tail - gone / 2)
        found[1].append(events)
    return beyond(*_log_rank(*found))


@trap(500)
def people_censored_in_a_bin_counted_whole(tables: int) -> Wrong:
    """At risk until the end of the bin they left in: equal arms that are censored differently seem to differ."""
    found: tuple[list[Floats], list[Floats]] = ([], [])
    for leaving in (4.0, 40.0):
        time, event = _lives(tables, 2000, 0.3, leaving)
        place = np.minimum(time, 10).astype(int)
        events, everybody = (_counted(np.where(who, place, 10), 11)[:, :10] for who in (event, time < 10))
        past = (time >= 10).sum(-1)
        found[0].append(np.cumsum(everybody[:, ::-1], -1)[:, ::-1] + past[:, None])
        found[1].append(events)
    return beyond(*_log_rank(*found))


@trap(1000)
def times_clipped_into_the_last_bin(tables: int) -> Wrong:
    """People followed past the last edge are counted in the last bin, some as events: survival comes out too low."""
    life = -np.log(_uniform(tables, 500)) / 0.1
    events = _counted(np.minimum(life, 9.999).astype(int), 10)
    events[:, 9] = events[:, 9] - 0.9 * (life >= 10).sum(-1)  # a tenth of them had the event in the end
    at_risk = np.cumsum(events[:, ::-1], -1)[:, ::-1] + 0.9 * (life >= 10).sum(-1)[:, None]
    h = np.clip(events / np.maximum(at_risk, 1.0), 0, 0.999)
    curve = np.prod(1 - h, -1)
    return beyond(curve - np.exp(-1), curve**2 * (h / ((1 - h) * at_risk)).sum(-1))


@trap(2000)
def greenwoods_variance_alone(tables: int) -> Wrong:
    """A survival curve of 1,000 people at epsilon 0.1 with the variance of sampling only."""
    life = -np.log(_uniform(tables, 1000)) / 0.1
    events = _counted(np.minimum(life, 10).astype(int), 11) + noise(10, tables, 11)
    at_risk = np.maximum(np.cumsum(events[:, ::-1], -1)[:, ::-1], 1.0)[:, :5]
    h = np.clip(events[:, :5] / at_risk, 0.0, 0.999)
    curve = np.prod(1 - h, -1)
    return beyond(curve - np.exp(-0.5), curve**2 * (h / ((1 - h) * at_risk)).sum(-1))
