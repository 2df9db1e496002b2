"""A museum of broken mechanisms: claims that were printed and shipped, each in a few lines, each refuted by the auditor.

They are here so that the auditor is itself tested, and so that nobody restores them. None is reachable from the rest of
the package. Every exhibit is a function of (input, number of runs) that returns so many outputs, with the pair of inputs
that breaks it and what it claims.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from discreet.audit.bits import bit_bound
from discreet.audit.lower_bound import CONFIDENCE, LowerBound, lower_bound
from discreet.audit.views import Integers
from discreet.core.random import system
from discreet.mechanisms.hockey_stick import analytic_ratio, epsilon_at
from discreet.mechanisms.sampling.normal_draws import discrete_gaussian

Floats = npt.NDArray[np.float64]
_STEPS = 2.0**34


@dataclass(frozen=True)
class Exhibit:
    """A broken mechanism: what it claims, the inputs that break it, and why it is wrong."""

    name: str
    why: str
    epsilon: float
    run: Callable[[Any, int], Any]
    a: Any
    b: Any
    delta: float = 0.0
    trials: int = 20_000
    bits: bool = False

    def audit(self, confidence: float = CONFIDENCE, trials: int | None = None) -> LowerBound:
        """The epsilon certified; it refutes the claim."""
        count = trials or self.trials
        if self.bits:
            return bit_bound(self.run, self.a, self.b, count, batched=True, confidence=confidence)
        return lower_bound(self._rounded, self.a, self.b, count, self.delta, batched=True, confidence=confidence)

    def _rounded(self, exact: Any, runs: int) -> Any:
        """Real numbers without their last bits, or every exhibit would be refuted for adding its noise in doubles."""
        outputs = self.run(exact, runs)
        real = isinstance(outputs, np.ndarray) and outputs.dtype.kind == "f"
        return np.rint(outputs * _STEPS) / _STEPS if real else outputs


EXHIBITS: list[Exhibit] = []


def exhibit(**facts: Any) -> Callable[[Callable[[Any, int], Any]], Callable[[Any, int], Any]]:
    def hang(run: Callable[[Any, int], Any]) -> Callable[[Any, int], Any]:
        EXHIBITS.append(Exhibit(run.__name__.replace("_", " "), (run.__doc__ or "").strip(), run=run, **facts))
        return run

    return hang


def uniform(count: int) -> Floats:
    """Uniform doubles in (0, 1), as every textbook implementation draws them."""
    return ((system().words(count) >> np.uint64(11)).astype(np.float64) + 0.5) * 2.0**-53


def laplace(count: int, scale: float = 1.0) -> Floats:
    u = uniform(count) - 0.5
    return np.asarray(-scale * np.sign(u) * np.log1p(-2 * np.abs(u)))


def gaussian(count: int, scale: float = 1.0) -> Floats:
    return np.asarray(scale * np.sqrt(-2 * np.log(uniform(count))) * np.cos(2 * np.pi * uniform(count)))


def choose(utilities: Sequence[float], rate: float, count: int) -> npt.NDArray[np.intp]:
    keys = rate * np.asarray(utilities, np.float64) - np.log(-np.log(uniform(count * len(utilities)).reshape(count, -1)))
    return np.asarray(np.argmax(keys, 1))


def _text(rows: Any) -> npt.NDArray[np.str_]:
    return np.array([str(r) for r in rows])


@exhibit(epsilon=1.0, a=0.0, b=1.0, bits=True)
def laplace_in_doubles(exact: float, runs: int) -> Floats:
    """Noise added in doubles is rounded to the spacing of the sum: the last bits tell what was added to (Mironov 2012)."""
    return exact + laplace(runs)


@exhibit(epsilon=4.0, a=0, b=1, delta=0.05, trials=1_000_000)
def discrete_gaussian_at_an_analytic_scale(exact: int, runs: int) -> Integers:
    """The scale that makes the continuous Gaussian (4, 0.05)-private is too small for the discrete one on whole numbers."""
    return exact + discrete_gaussian(system(), Fraction(analytic_ratio(4.0, 0.05)), runs)


@exhibit(epsilon=1.0, a=0.0, b=1.0, trials=100_000)
def variance_redrawn_until_positive(exact: float, runs: int) -> Floats:
    """Drawing again until the answer is positive rescales the law by an amount that depends on the data."""
    drawn = exact + laplace(4 * runs)
    return drawn[drawn > 0][:runs]


@exhibit(epsilon=1.0, a=(1.0, 2.0, 3.0), b=(1.0, 2.0))
def histogram_with_edges_from_the_data(values: tuple[float, ...], runs: int) -> Any:
    """The edges are released without noise, and they are the smallest and the largest value."""
    edges = np.linspace(min(values), max(values), 3)
    return _text([(tuple(edges), round(n)) for n in len(values) / 2 + laplace(runs)])


@exhibit(epsilon=1.0, a=("f", "m", "x"), b=("f", "m"))
def table_with_levels_from_the_data(values: tuple[str, ...], runs: int) -> Any:
    """Which categories appear says that somebody is in them."""
    return _text([sorted(set(values))] * runs)


@exhibit(epsilon=1.0, a=(0.1, 0.2, 0.3, 0.9), b=(0.1, 0.2, 0.3, 0.8))
def quantile_that_returns_a_value(values: tuple[float, ...], runs: int) -> Any:
    """A candidate that is somebody's value is somebody's value."""
    ranks = -np.abs(np.arange(len(values)) - len(values) / 2)
    return np.asarray(values)[choose(ranks, 0.5, runs)]


@exhibit(epsilon=1.0, a=(1.0,), b=(1.0,) * 2)
def mean_with_noise_scaled_by_a_private_count(values: tuple[float, ...], runs: int) -> Any:
    """The spread of the noise is 1 / n, and n is what add/remove protects."""
    return np.mean(values) + laplace(runs, 1 / len(values))


@exhibit(epsilon=1.0, a=(1.0, math.nan), b=(1.0, 2.0))
def mean_that_fails_on_a_missing_value(values: tuple[float, ...], runs: int) -> Any:
    """Whether an error occurs is an output."""
    if any(map(math.isnan, values)):
        return _text(["ValueError"] * runs)
    return _text([round(v, 1) for v in np.mean(values) + laplace(runs)])


_LOW, _HIGH = tuple(range(20)), tuple(range(20, 40))


def _rank_sum(first: tuple[float, ...], second: tuple[float, ...]) -> float:
    """The sum of the first group's ranks, centred: half of what the pairs of both groups say."""
    return 0.5 * float(np.sign(np.subtract.outer(first, second)).sum())


@exhibit(epsilon=1.0, a=(_LOW, _HIGH), b=((*_LOW, 50), _HIGH), trials=2_000)
def rank_sum_that_is_not_divided(groups: tuple[tuple[float, ...], tuple[float, ...]], runs: int) -> Floats:
    """One person more is compared with everybody of the other group: undivided, the sum of ranks has no bound."""
    return _rank_sum(*groups) + laplace(runs)


@exhibit(epsilon=1.0, a=((-1,), _LOW), b=((50,), _LOW), trials=20_000)
def rank_sum_under_replace_at_the_scale_of_joining(groups: tuple[tuple[float, ...], tuple[float, ...]], runs: int) -> Floats:
    """Divided by n it moves by one half when somebody joins, and by one when somebody's value goes from last to first."""
    return _rank_sum(*groups) / sum(map(len, groups)) + laplace(runs, 0.5)


@exhibit(epsilon=1.0, a=100.0, b=0.0)
def tuning_on_an_unclipped_loss(outlier: float, runs: int) -> Integers:
    """The exponential mechanism on squared errors, its sensitivity taken from bounds that nothing enforces."""
    losses = [(outlier - 0.0) ** 2, (outlier - 1.0) ** 2 + 1]
    return choose([-v for v in losses], 0.5, runs)


@exhibit(
    epsilon=1.0,
    a=((0, (1, 1)), (0, (0, 0)), (0, (0, 0)), (1, (1, 0)), (1, (1, 0)), (1, (1, 0))),
    b=((1, (0, 1)), (0, (0, 0)), (0, (0, 0)), (1, (1, 0)), (1, (1, 0)), (1, (1, 0))),
    trials=200_000,
)
def pooled_covariance_with_private_labels(rows: tuple[tuple[int, tuple[float, float]], ...], runs: int) -> Floats:
    """R1 R2 / (n - J) holds while nobody changes groups; leaving one and joining another moves it almost twice as far."""
    total = 0.0
    for group in (0, 1):
        points = np.array([p for g, p in rows if g == group], np.float64)
        if len(points):
            centred = points - points.mean(0)
            total += float((centred[:, 0] * centred[:, 1]).sum())
    rest = len(rows) - 2
    return total / rest + laplace(runs, 1 / rest)


@exhibit(epsilon=epsilon_at(1e-2, 1 / 0.5), a=1.0, b=0.0, delta=1e-2, trials=200_000)
def sgd_with_a_variance_for_a_deviation(gradient: float, runs: int) -> Floats:
    """A noise multiplier of 0.5 is claimed and its square is used as the standard deviation."""
    return gradient + gaussian(runs, 0.5**2)


@exhibit(epsilon=epsilon_at(1e-2, 1.0), a=1.0, b=0.0, delta=1e-2, trials=100_000)
def sgd_that_clips_the_average(extreme: float, runs: int) -> Any:
    """Noise for a sensitivity of C / B where the average, not each gradient, is clipped to C = 1 in a lot of B = 8."""
    lot = np.concatenate([[1000.0 * extreme], np.full(7, -1.0)])
    return np.clip(lot.mean(), -1, 1) + gaussian(runs, 1 / 8)


@exhibit(epsilon=1.4, a=1.0, b=-1.0, delta=1e-3, trials=4_000)
def grpua_as_printed(record: float, runs: int) -> Any:
    """Single-record steps whose noise is divided by n: after n**2 steps of f = w z the last iterate betrays the record."""
    n, steps, per_step = 30, 899, analytic_ratio(0.1, 1e-6) * 2.0 / 30
    picked = np.minimum((uniform(runs * steps) * n).astype(np.int64), n - 1).reshape(runs, steps)
    others = np.zeros(n)
    others[0] = record
    return -(others[picked] + gaussian(runs * steps, per_step / n).reshape(runs, steps)).sum(1)


@exhibit(epsilon=1.0, a=(1, 1), b=(-1, 1), trials=200_000)
def cube_sampler_with_ties_in_both_halves(signs: tuple[int, int], runs: int) -> Any:
    """In even dimension corners at right angles lie in both halves: a report costs ln(1 + e) instead of 1."""
    corners = np.array([(x, y) for x in (-1, 1) for y in (-1, 1)])
    towards = corners @ np.array(signs)
    near, far = np.flatnonzero(towards >= 0), np.flatnonzero(towards <= 0)
    keep = uniform(runs) < math.e / (1 + math.e)
    place = (uniform(runs) * 3).astype(np.int64)
    return np.where(keep, near[np.minimum(place, 2)], far[np.minimum(place, 2)])


@exhibit(epsilon=0.08, a=1, b=0, trials=400_000)
def sampling_with_twice_the_rate(bit: int, runs: int) -> Any:
    """A sample at rate 0.01 of an answer at epsilon 4 is claimed to cost 2 * 0.01 * 4; it costs ln(1 + 0.01 (e^4 - 1))."""
    kept = np.where(uniform(runs) < 0.01, bit, 0)
    return np.where(uniform(runs) < 1 / (1 + math.exp(-4)), kept, 1 - kept)


@exhibit(epsilon=1.0, a=5.0, b=0.0)
def regression_with_the_lower_bound_twice(value: float, runs: int) -> Floats:
    """The width of the bounds is computed from the lower bound alone: at bounds (0, 5) there is no noise at all."""
    lo, _ = 0.0, 5.0
    return value + (abs(lo) + abs(lo)) * laplace(runs)


@exhibit(epsilon=1.0, a=(0.2, 0.9), b=(0.2, 0.3))
def local_mean_with_a_range_from_the_data(values: tuple[float, ...], runs: int) -> Floats:
    """Reports are scaled by the largest value anyone has."""
    largest = max(values)
    return largest * np.where(uniform(runs) < 0.5 + values[0] / largest / 4, 1, -1)


@exhibit(epsilon=0.2, a=1.0, b=-1.0, trials=100_000)
def objective_perturbation_without_its_jacobian(feature: float, runs: int) -> Any:
    """All of epsilon goes to the linear term; that a row also bends the objective, ln(1 + 1/2) here, is forgotten."""
    knots = np.array([-1e9, -1.5, -0.5, 0.5, 1.5, 1e9])
    # One row with label 1 under a hinge rounded over 1/2, and a ridge of 2: the gradient is linear between the knots.
    gradient = -feature * np.clip(1.5 - feature * knots, 0.0, 1.0) + 2.0 * knots
    return np.interp(-laplace(runs, 2 / 0.2), gradient, knots)


@exhibit(epsilon=1.0, a=1, b=0, trials=100_000)
def objective_perturbation_stopped_early(rows: int, runs: int) -> Floats:
    """One Newton step stands for the minimiser: its length depends on the curvature of the data, without any bound."""
    ridge = 2.0
    linear = laplace(runs, 1 / (1.0 - math.log1p(1 / ridge)))
    # From 1, the middle of the corner of a hinge rounded over 1/2: slope 1/2 and curvature 1 for each row.
    return 1.0 - (ridge + linear - 0.5 * rows) / (ridge + rows)


@exhibit(epsilon=1.0, a=1.0, b=-1.0, trials=100_000)
def kernel_features_longer_than_one(label: float, runs: int) -> Floats:
    """Random features sqrt(2 / D) cos(.) have a norm of up to sqrt(2), and the noise is for rows of norm 1."""
    ridge, feature = 10.0, math.sqrt(2)
    return label * feature / ridge + laplace(runs, 2 / ridge)


@exhibit(epsilon=1.0, a=(-1, -1, -1), b=(-1, -1, -1, 1), trials=200_000)
def tuning_by_shuffle_and_cut(records: tuple[int, ...], runs: int) -> Any:
    """Cut in the middle of a shuffled list, one more person moves somebody else across the cut: both halves change."""
    order = np.argsort(uniform(runs * len(records)).reshape(runs, -1), axis=1)
    shuffled, cut = np.array(records)[order], len(records) // 2
    return shuffled[:, cut:].sum(1) - shuffled[:, :cut].sum(1) + laplace(runs) + laplace(runs)


@exhibit(epsilon=1.0, a=0.0, b=1.0)
def covariance_with_wishart_noise(length: float, runs: int) -> Floats:
    """Noise is never negative: less than a person adds cannot come out with them, and does so often without them."""
    drawn = gaussian(6 * runs).reshape(runs, 3, 2)
    noisy = 1.5 * drawn.swapaxes(1, 2) @ drawn + np.diag([length**2, 0.0])
    # What is left of the first variance once the second column is taken off: it is moved by exactly what the person adds.
    return noisy[:, 0, 0] - noisy[:, 0, 1] ** 2 / noisy[:, 1, 1]
