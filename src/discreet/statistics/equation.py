"""Statements about the population: one linear equation in released numbers whose noise has a known law.

The table is a sample of independent people from a population. A quantity theta of the population with E psi(t; theta) = 0 is
tested by L(theta) = sum over people of psi, which is linear in the released cells wherever psi is a polynomial that the
cells hold: L = w . S. At the true theta, L is a normal variable of variance V (the central limit theorem over people)
plus w . xi, where xi is the noise of the cells. Nothing is divided by anything noisy, and the number of people need not
be known.

Reference: this is the score method of Wilson (1927) for a released score; the inversion of the characteristic function is
Gil-Pelaez (1951), the guard against a noisy V is Berger and Boos (1994).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from discreet.core.mechanism import NoiseLaw

Floats = npt.NDArray[np.float64]

_STEP = 0.1  # of the integral, in standard deviations: what wraps round lies 2 pi / step - far = 22 of them out
_FAR = 40.0  # beyond, p is 0 to every digit of a double
_LONGEST = 200.0
_POINTS = 257  # public values of theta at which p is asked first
_ROUNDS = 60
_DEEP = 30.0  # normal quantiles: p is 0 to every digit of a double
_BETA = 0.05  # of alpha: the strict form allows V to be underestimated with this share of the error


@dataclass(frozen=True)
class Statement:
    """L, V and the weights of both on the cells, for each of several values of theta (the first axis).

    ``variance`` may come from the cells as well: ``variance_weights`` are then its weights, and it is as noisy as they make
    it. Without them it is known; ``guard_weights`` are then those of what little noise it has, for the strict form alone.
    """

    score: Floats
    variance: Floats
    weights: Floats
    variance_weights: Floats | None = None
    guard_weights: Floats | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "variance", np.maximum(self.variance, 0.0))

    def take(self, places: Any) -> Statement:
        """The statement for some of the values of theta."""
        more = [None if w is None else w[places] for w in (self.variance_weights, self.guard_weights)]
        return Statement(self.score[places], self.variance[places], self.weights[places], *more)


Equation = Callable[[Floats], Statement]


def noise_variance(weights: Floats, noise: NoiseLaw) -> Floats:
    """The variance of weights . noise."""
    total: Floats = (weights**2) @ np.broadcast_to(np.asarray(noise.expected_error, np.float64) ** 2, weights.shape[-1:])
    return total


def upper_tail(score: Floats, variance: Floats, weights: Floats, noise: NoiseLaw, far: float = _FAR) -> Floats:
    """P(X >= score) for X = N(0, variance) + weights . noise, to about 1e-12 (continuous noise).

    Proof: X is symmetric, so P(X >= x) = 1/2 - (1/pi) times the integral over t > 0 of sin(x t)/t times its characteristic
    function, exp(-V t**2 / 2) times those of the noise. The midpoint rule of step h adds the probabilities that X lies
    beyond 2 pi/h - |x|, with alternating signs: with h = 1/10 of a standard deviation and |x| below 40 that is more than 22
    deviations out, where a sum of Laplace and normal variables has less than e**-30. The integral is cut where the normal
    factor is below e**-32, or at 200, beyond which a single Laplace factor leaves at most 2.5e-5 / |x|.
    """
    spread = np.sqrt(variance + noise_variance(weights, noise))
    tail = np.where(score > 0, 0.0, 1.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        units = np.where(spread > 0, score / spread, np.where(score == 0, 0.0, np.sign(score) * np.inf))
    near = np.flatnonzero(np.abs(units) <= far)
    tail[near] = 0.5
    near = near[spread[near] > 0]
    for start in range(0, len(near), 64):
        some = near[start : start + 64]
        share = variance[some] / spread[some] ** 2
        length = min(_LONGEST, 8.0 / math.sqrt(max(float(share.min()), 1e-12)))
        t = np.arange(_STEP / 2, length, _STEP)
        exponent = -0.5 * share[:, None] * t**2
        scaled = weights[some] / spread[some, None]
        for law, sizes, times in _alike(scaled, noise):  # a cell at a time: arrays of values and nodes stay in the cache
            exponent += times * law.log_characteristic((sizes[:, None] * t)[..., None])[..., 0]
        integral = (np.exp(exponent) * np.sin(units[some, None] * t)) @ (1 / t) * _STEP
        tail[some] = 0.5 - integral / math.pi
    return np.clip(tail, 0.0, 1.0)


def _alike(weights: Floats, noise: NoiseLaw) -> list[tuple[NoiseLaw, Floats, int]]:
    """The cells that have any weight: their law, the sizes of their weights, and how many cells share both."""
    sizes = np.abs(weights)
    if len(noise.scales) > 1:
        return [(noise.at([int(place)]), sizes[:, place], 1) for place in np.flatnonzero(sizes.any(0))]
    distinct: Floats = sizes
    times: npt.NDArray[np.int64] = np.ones(sizes.shape[1], np.int64)
    if sizes.shape[1] > 8:
        distinct, times = np.unique(np.round(sizes, 12), axis=1, return_counts=True)
    return [(noise, distinct[:, i], int(times[i])) for i in range(distinct.shape[1]) if distinct[:, i].any()]


def p_values(statement: Statement, noise: NoiseLaw, far: float = _FAR, alternative: str = "two-sided") -> Floats:
    """The p-value of each theta, with Student's t where V is noisy; ``alternative`` as SciPy has it: the sign of the score.

    f = 2 (V + nu)**2 / Var(V), at least 1, with nu the variance of the noise of L: the degrees of freedom of a variance
    that is as noisy (Satterthwaite 1946). V is not negative, and Var(V) is that of noise so clamped: with the whole of it
    intervals cover up to .981 of small skewed tables where .95 is asked for (.992 under replace), with this .936 to .978.
    """
    turned = {"two-sided": np.abs, "greater": np.positive, "less": np.negative}[alternative](statement.score)
    tail = corrected(upper_tail(turned, statement.variance, statement.weights, noise, far), statement, noise)
    return np.minimum(2 * tail, 1.0) if alternative == "two-sided" else tail


def corrected(tail: Floats, statement: Statement, noise: NoiseLaw) -> Floats:
    """A one-sided tail of normal theory with the degrees of freedom that the noise of V leaves."""
    freedom = degrees_of_freedom(statement, noise)
    if freedom is None:
        return tail
    from scipy.special import ndtri, stdtr

    return np.asarray(np.where(np.isinf(freedom), tail, stdtr(np.minimum(freedom, 1e15), ndtri(tail))))


def degrees_of_freedom(statement: Statement, noise: NoiseLaw) -> Floats | None:
    """f of the t correction: 2 (V + nu)**2 over the variance of V, which is not negative; None where V is known."""
    if statement.variance_weights is None:
        return None
    total = statement.variance + noise_variance(statement.weights, noise)
    with np.errstate(divide="ignore", invalid="ignore"):
        freedom = 2 * total**2 / _clamped(statement.variance, noise_variance(statement.variance_weights, noise))
    return np.maximum(np.where(np.isnan(freedom), 1.0, freedom), 1.0)


def _clamped(value: Floats, variance: Floats) -> Floats:
    """The variance of max(0, X) for a normal X around ``value`` >= 0: noise that makes V negative is not seen.

    In deviations, with a the value: E max(0, X) = a Phi(a) + phi(a) and E max(0, X)**2 = (1 + a**2) Phi(a) + a phi(a). It
    is .34 of the variance at 0, and all of it six deviations away.
    """
    from scipy.special import ndtr

    with np.errstate(divide="ignore", invalid="ignore"):
        away = np.minimum(np.where(variance > 0, value / np.sqrt(variance), np.inf), _DEEP)
    density, below = np.exp(-(away**2) / 2) / math.sqrt(2 * math.pi), ndtr(away)
    return np.asarray(variance * ((1 + away**2) * below + away * density - (away * below + density) ** 2))


def strict_p_values(statement: Statement, noise: NoiseLaw, alpha: float, far: float = _FAR) -> Floats:
    """p-values that hold whatever the noise made of V: V is raised by the 1 - beta quantile of its noise, p by beta.

    Proof (Berger and Boos 1994): with probability 1 - beta the raised V is at least the variance of the sample; on that
    event p is at least the p-value of the true variance, because the tail grows with V.
    """
    noisy = statement.guard_weights if statement.variance_weights is None else statement.variance_weights
    if noisy is None:
        return p_values(statement, noise, far)
    beta = alpha * _BETA
    raised = statement.variance + noise_quantile(noisy, noise, beta)
    size = np.abs(statement.score)
    p = 2 * upper_tail(size, raised, statement.weights, noise, far) + beta
    return np.minimum(p, 1.0)


def noise_quantile(weights: Floats, noise: NoiseLaw, beta: float) -> Floats:
    """What weights . noise passes with probability ``beta``, for each row of weights.

    Rows that differ in their size only, as those of a share do, are one row times it.
    """
    size = np.abs(weights).max(-1, initial=0.0)
    shape = np.round(weights / np.where(size > 0, size, 1.0)[:, None], 12)
    weights, place = np.unique(shape, axis=0, return_inverse=True)
    spread = np.sqrt(noise_variance(weights, noise))
    low, high = np.zeros(len(spread)), np.full(len(spread), math.log(1 / beta))

    def depth(units: Floats) -> Floats:
        tail = upper_tail(units * spread, np.zeros(len(spread)), weights, noise)
        return np.asarray(math.log(beta) - np.log(np.maximum(tail, 1e-30)))

    units = _crossing(depth, low, high, depth(low), depth(high), 1e-4)
    reach = (units + 1e-3) * spread  # a thousandth of a deviation beyond: never below
    return np.asarray(reach[place.ravel()] * size)


def interval(
    equation: Equation, noise: NoiseLaw, estimate: float, low: float, high: float, level: float, strict: bool = False
) -> tuple[float, float]:
    """The hull of every theta in [low, high] whose p-value is above 1 - level.

    p is asked at 257 public values and at the estimate; from the outermost that pass, the ends are found by false position
    outward, on the scale of normal quantiles, where p is nearly straight. The interval always holds the estimate, and where
    nothing passes it is the estimate, which lies in the range.
    """
    from scipy.special import ndtri

    alpha = 1 - level
    wanted = float(ndtri(alpha / 2))

    def depth(theta: Floats) -> Floats:
        """Negative where p is above alpha: how far the normal quantile of p lies beyond that of alpha."""
        statement = equation(theta)
        possible = _possible(statement, noise, alpha)
        left = statement.take(possible)
        p = strict_p_values(left, noise, alpha) if strict else p_values(left, noise)
        depths = np.full(len(theta), _DEEP)
        depths[possible] = np.minimum(wanted - ndtri(p / 2), _DEEP)
        return depths

    middle = min(max(estimate, low), high)
    theta = np.unique(np.append(np.linspace(low, high, _POINTS), middle))
    depths = depth(theta)
    good = np.flatnonzero(depths < 0)
    if not good.size:
        return middle, middle
    inner, outer = good[[0, -1]], np.clip(good[[0, -1]] + [-1, 1], 0, len(theta) - 1)
    ends = _crossing(depth, theta[inner], theta[outer], depths[inner], depths[outer], 1e-12 * (high - low))
    return min(float(ends[0]), middle), max(float(ends[1]), middle)


def _crossing(
    depth: Callable[[Floats], Floats], inside: Floats, outside: Floats, below: Floats, above: Floats, least: float
) -> Floats:
    """Where a depth passes zero between points inside (negative) and outside, by false position (Illinois), side by side."""
    found, last = inside.copy(), np.zeros(len(inside))
    for _ in range(_ROUNDS):
        moving = (np.abs(outside - inside) > least) & (above > 0)
        if not moving.any():
            break
        share = np.where(moving, below / np.where(moving, below - above, 1.0), 0.0)
        point = inside + np.clip(share, 1e-3, 1 - 1e-3) * (outside - inside)
        now = depth(point)
        passes = now < 0
        side = np.where(passes, -1.0, 1.0)
        again = side == last
        above = np.where(passes, np.where(again, above / 2, above), now)
        below = np.where(passes, now, np.where(again, below / 2, below))
        inside, outside = np.where(moving & passes, point, inside), np.where(moving & ~passes, point, outside)
        found = np.where(moving & (passes | (now < 1e-9)), point, found)
        outside = np.where(np.abs(now) < 1e-9, inside, outside)
        last = side
    return found


def _possible(statement: Statement, noise: NoiseLaw, alpha: float) -> npt.NDArray[np.bool_]:
    """Where Chebyshev's inequality leaves it open whether p is above alpha: the integral need be taken there only.

    Proof: at z deviations p <= 1 / z**2, so beyond 2 / sqrt(alpha) p <= alpha / 4. Student's t of f degrees multiplies a
    normal tail at z by about exp(z**4 / 4f), which for f above 10**4 is below 4 for every alpha above 1e-12; f is at least
    2 (V + nu)**2 over the variance of the noise of V. The strict form raises V by at most sqrt(1 / beta) deviations of that
    noise (Chebyshev again), and p by alpha / 20.
    """
    total = statement.variance + noise_variance(statement.weights, noise)
    if statement.variance_weights is not None:
        loose = noise_variance(statement.variance_weights, noise)
        total = np.where(2 * total**2 > 1e4 * loose, total + np.sqrt(loose / (alpha * _BETA)), np.inf)
    open_still: npt.NDArray[np.bool_] = np.abs(statement.score) <= 2.0 / math.sqrt(alpha) * np.sqrt(total)
    return open_still
