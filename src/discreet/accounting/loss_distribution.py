"""The privacy loss of many noisy sums over random lots, as a distribution on a grid, with every error of doubles paid for.

One step is (1-q) N(0, z^2) + q N(1, z^2) against N(0, z^2), or the other way round. Its profile is known in closed form; a
law on a grid of losses whose profile lies above it is made by joining its points (Doroshenko, Ghazi, Kamath, Kumar and
Manurangsi 2022), and convolved with itself by one Fourier transform.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

_TAIL = 1e-18  # mass of a run that may fall outside the window of its losses
_ORDERS = 20  # of the moments that bound such a mass
_REACH = 9.5  # deviations of one step that its grid covers; the mass beyond counts as an infinite loss
_NORMAL = 2.0**-46  # what the normal integrals of SciPy may be wrong by, relatively
_LARGE = 600.0  # beyond, exponentials are taken of sums of logarithms
_TURN = 16.0  # units in the last place that a Fourier transform loses for each doubling of its length, at most


class Profile(NamedTuple):
    """``deltas[i]`` bounds the delta of a run at epsilon = (``first`` + i) ``interval``, from above."""

    first: int
    interval: float
    deltas: Any

    def epsilon(self, delta: float) -> float:
        """The least epsilon at ``delta``; infinite where the bound never falls below it.

        Between two losses of the grid the profile is linear in e^epsilon.
        """
        place = int(np.searchsorted(-self.deltas, -delta))  # the first bound that is no larger
        if place == len(self.deltas):
            return math.inf
        if place == 0:
            return max(0.0, self.first * self.interval)
        before, after = float(self.deltas[place - 1]), float(self.deltas[place])
        share = (before - delta) / (before - after)
        return max(0.0, (self.first + place - 1) * self.interval + math.log1p(math.expm1(self.interval) * min(1.0, share)))


def profiles(noise: float, rate: float, steps: int, interval: float) -> tuple[Profile, Profile]:
    """The profiles of ``steps`` steps: a person taken away, and a person added.

    Proof. Let f be the profile of one step, and p the law on the grid with an infinite loss of mass m. If the profile
    of p plus h lies above f at the losses of the grid, it does between them, where it is linear in e^epsilon and f
    is convex, and beyond its ends; then the law with the infinite mass m + h dominates the step, and its T-fold
    convolution the run (Zhu, Dong and Wang 2022), at 1 - (1 - m - h)^T for the infinite losses plus the sum over finite
    ones of (1 - e^(epsilon - loss)) times their mass. Here h is measured: the profile of p, made as it is with all
    its rounding, is held against f and what the doubles of f may hide. Masses are measures
    for that proof, and need not sum up to 1. The mass of the run that falls outside the window,
    at most 1e-18 by a Chernoff bound, is added.

    The convolution g = F^-1 (F p)^T is wrong by rounding, u a unit in the last place. With E = 16 u log2 N the relative
    error of a transform of length N in L2 (Higham 2002, theorem 24.2, has 7 u for each factor of two), each of its
    values is wrong by at most a = E sqrt(N) |p|_2; a power by repeated squaring adds 3 u T relatively. So (F p)^T is
    wrong in L2 by at most T (a + 3 u) w, w = |(|F p| + a)^(T-1)|_2, and the transform back by at most E w more, both over
    sqrt(N). A delta weighs the values of g with numbers in [0, 1], so by Cauchy and Schwarz it is wrong by sqrt(N) times
    that: T (a + 3 u) w + E w, which is added. u is that of the longest floats of the machine.
    """
    return _profile(noise, rate, steps, interval, True), _profile(noise, rate, steps, interval, False)


def _profile(noise: float, rate: float, steps: int, interval: float, removed: bool) -> Profile:
    first, law, lost = _one(noise, rate, interval, removed)
    lowest, mass, wrong = _convolved(law, steps)
    finite = _deltas(mass, interval) * (1 + 8 * len(mass) * 2.0**-53)
    return Profile(first * steps + lowest, interval, finite - math.expm1(steps * math.log1p(-lost)) + wrong + _TAIL)


def _one(noise: float, rate: float, interval: float, removed: bool) -> tuple[int, Any, float]:
    """One step: the first loss of its grid, the masses from there on, and the mass of an infinite loss."""
    low, high = (_loss(x, noise, rate) for x in (-_REACH * noise, 1 + _REACH * noise))
    if not removed:
        low, high = -high, -low
    start, stop = min(-1, math.floor(low / interval)), max(1, math.ceil(high / interval))
    grid = np.arange(start, stop + 1)
    up, there = _step_profile(grid * interval, noise, rate, removed)
    # Below 0 the profile is 1 - e^epsilon and something small; what joins the points of the former has no mass. At 0 the
    # two forms are the same, and the mass there is made of the second alone.
    small = np.where(grid <= 0, there, up).astype(np.longdouble)
    wide, narrow = np.expm1(np.longdouble(interval)), -np.expm1(-np.longdouble(interval))
    falls = -np.diff(small)
    law = np.concatenate([-small[:1] - falls[:1] / wide, falls[:-1] / narrow - falls[1:] / wide, falls[-1:] / narrow])
    last, zero, first = there[-start - 1 : -start + 2].astype(np.longdouble)
    law[-start] = (last - zero) / narrow - (zero - first) / wide
    law = np.maximum(law, 0)
    # Both terms of the profile are at most the rate; where losses are large a logarithm as large is taken back.
    above = up + rate * (4 * _NORMAL + 2.0**-50 * max(0.0, high))
    missing = float(np.max(above - _deltas(law, interval)))
    return start, law, min(1 - 2.0**-50, max(0.0, missing, 1 - float(law.sum())) + 2.0**-60)


def _loss(x: float, noise: float, rate: float) -> float:
    exponent = (2 * x - 1) / (2 * noise * noise)
    return float(np.logaddexp(math.log1p(-rate), math.log(rate) + exponent))


def _step_profile(epsilon: Any, noise: float, rate: float, removed: bool) -> tuple[Any, Any]:
    """The profile f of one step, and f(epsilon) - (1 - e^epsilon): e^epsilon times the reversed profile at -epsilon."""
    size = np.abs(epsilon)
    here, back = (_above(size, noise, rate, way) for way in (removed, not removed))
    less = np.exp(np.minimum(epsilon, 0.0)) * back
    up = np.where(epsilon >= 0, here, -np.expm1(np.minimum(epsilon, 0.0)) + less)
    there = np.where(epsilon <= 0, less, here + np.expm1(np.minimum(epsilon, 1.0)))
    return up, there


def _above(epsilon: Any, noise: float, rate: float, removed: bool) -> Any:
    """The profile of one step at epsilon >= 0.

    A person taken away: with b = e^epsilon - 1 + q and x = z^2 ln(b / q) + 1/2 it is q (1 - Phi((x-1)/z)) - b (1 -
    Phi(x/z)). A person added: with b = 1 - (1-q) e^epsilon and x = z^2 ln(b e^-epsilon / q) + 1/2, b Phi(x/z) - q
    e^epsilon Phi((x-1)/z), and 0 where b is not positive.
    """
    from scipy.special import log_ndtr, ndtr

    with np.errstate(all="ignore"):
        if removed:
            log_b = epsilon + np.log1p((rate - 1) * np.exp(-epsilon))
            x = noise * noise * (log_b - math.log(rate)) + 0.5
            b = np.expm1(np.minimum(epsilon, _LARGE)) + rate
            gone = np.where(epsilon < _LARGE, b * ndtr(-x / noise), np.exp(log_b + log_ndtr(-x / noise)))
            made = rate * ndtr((1 - x) / noise) - gone
        else:
            b = -np.expm1(epsilon + math.log1p(-rate))
            x = noise * noise * (np.log(np.maximum(b, 0) / rate) - epsilon) + 0.5
            made = b * ndtr(x / noise) - rate * np.exp(epsilon) * ndtr((x - 1) / noise)
    return np.where(b > 0, np.maximum(np.nan_to_num(made), 0.0), 0.0)


def _convolved(law: Any, steps: int) -> tuple[int, Any, float]:
    """``law`` convolved ``steps`` times with itself: the first place kept, the masses, and how wrong a delta may be."""
    from scipy import fft

    low, high = _window(law.astype(np.float64), steps)
    low, high = max(0, low - 2), min((len(law) - 1) * steps, high + 2)
    kept = high - low + 1
    length = fft.next_fast_len(max(kept, len(law)), real=True)
    turned = fft.rfft(law, length)
    power, left = np.ones_like(turned), steps
    square = turned.copy()
    while left:
        if left & 1:
            power *= square
        left >>= 1
        if left:
            square *= square
    masses = np.roll(fft.irfft(power, length), -low)[:kept]
    unit = float(np.finfo(np.longdouble).eps) / 2
    turn = _TURN * unit * math.log2(max(length, 2))
    wrong = turn * math.sqrt(length) * float(np.sqrt(np.sum(law * law)))
    sizes = np.abs(turned).astype(np.float64) * (1 + 2.0**-50) + wrong
    wide = math.sqrt(2 * float(np.sum(sizes ** (2 * (steps - 1)))))
    return low, np.maximum(masses, 0).astype(np.float64), 1.01 * (steps * (wrong + 3 * unit) + turn) * wide


def _window(law: Any, steps: int) -> tuple[int, int]:
    """The places between which all of ``steps`` convolutions of ``law`` lies but ``_TAIL``, half of that at either end.

    Proof: by Chernoff, P(X >= b) <= M(t)^steps e^(-t b) for t > 0 and the moment M(t) of one step, and likewise below. The
    orders t are k / length with k up to 20, so that no exponential is beyond e^20.
    """
    size = len(law)
    factor = np.exp(np.arange(size) / size)
    low, high = 0, (size - 1) * steps
    if not law.any():
        return low, high
    room = math.log(4 / _TAIL)
    up = down = law
    for order in range(1, _ORDERS + 1):
        up, down = up * factor, down / factor
        above, below = (steps * math.log(each.sum()) + room for each in (up, down))
        low, high = max(low, math.floor(-below * size / order)), min(high, math.ceil(above * size / order))
    return low, high


def _deltas(mass: Any, interval: float) -> Any:
    """The sum over losses above each one of (1 - e^(loss - other)) times the other's mass.

    From loss to loss downwards it is e^-interval times the last one plus (1 - e^-interval) times all mass above: sums of
    numbers that are not negative.
    """
    from scipy.signal import lfilter

    kind = mass.dtype.type
    above = np.cumsum(mass[::-1])
    narrow = -np.expm1(-kind(interval))
    shifted = np.concatenate([np.zeros(1, mass.dtype), above[:-1]])
    return lfilter(np.array([narrow], mass.dtype), np.array([1, narrow - 1], mass.dtype), shifted)[::-1]
