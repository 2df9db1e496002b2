"""Many noisy sums over random lots of people: how much noise a target asks for, and what a whole run costs.

One step adds N(0, (z C)^2 I) to the sum, over a lot that holds each person independently with probability q, of vectors
of norm at most C. ``noise_multiplier`` finds the least z for which T steps are (epsilon, delta)-private.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Literal

import numpy as np

from discreet.accounting.conversions import epsilon_of_renyi
from discreet.accounting.loss_distribution import Profile, profiles
from discreet.core import numbers
from discreet.core.cost import ORDERS, Cost
from discreet.core.numbers import Number
from discreet.core.query import Relation, check_relation
from discreet.errors import InvalidRequest
from discreet.mechanisms.hockey_stick import epsilon_at, largest_shift

Accountant = Literal["loss", "renyi"]

_INTERVAL = 1e-5  # losses are rounded up to multiples of this ...
_CELLS = 6.0e4  # ... or of a coarser step, so that a distribution keeps to about this many cells
_COARSE = 16  # the first search for a noise multiplier takes losses in steps this much wider
_CLOSE = 2e-4  # bisection stops when the two ends are this close, relatively
_LEAST, _MOST = 1e-3, 1e8  # noise multipliers that are looked for
_PAD = 1 + 1e-9


@dataclass(frozen=True)
class Lots:
    """``steps`` noisy sums over lots that hold each person with probability ``rate``; ``noise`` is z.

    Proof. Let M be one step with everything before it fixed. Under add/remove the pair of output laws is dominated by
    (1-q) N(0, z^2) + q N(1, z^2) against N(0, z^2), in one order or the other (Mironov, Talwar and Zhang 2019; Zhu, Dong
    and Wang 2022, for the hockey-stick divergence), and domination is kept by adaptive composition, so T-fold
    composition of the two loss distributions bounds the profile: see ``loss_distribution.profiles``, where the rounding
    of the convolution is paid for too. The smaller of that epsilon and the one of the Rényi curve holds. With q = 1
    the steps are one Gaussian of shift sqrt(T)/z, twice that under replace: the profile is exact. Replacing a person is
    removing one and adding another: (e, d) for each of the two gives (2e, (1 + e^e) d). ``both`` covers either, and a
    replacement is the dearer of the two.
    """

    rate: Fraction
    steps: int
    noise: Fraction
    relation: Relation = "add_remove"

    def __post_init__(self) -> None:
        object.__setattr__(self, "rate", sampling_rate(self.rate))
        object.__setattr__(self, "noise", numbers.positive(self.noise, "noise"))
        check_relation(self.relation)
        check_steps(self.steps)

    @property
    def replaces(self) -> bool:
        """Whether a neighbour may have another person in the place of one."""
        return self.relation != "add_remove"

    def epsilon(self, delta: Number, accountant: Accountant = "loss") -> float:
        """The least epsilon at ``delta`` that the accountant proves."""
        d = numbers.probability(delta, "delta")
        check_accountant(accountant)
        z = float(self.noise)
        if self.rate == 1:
            shift = math.sqrt(self.steps) * (2 if self.replaces else 1) / z
            if accountant == "loss":
                return epsilon_at(d, shift)
            return max(0.0, min(epsilon_of_renyi(a, a * shift * shift / 2, float(d)) for a in ORDERS))
        if not self.replaces:
            return _epsilon(z, float(self.rate), self.steps, float(d), accountant)
        # The least e with (1 + e^(e/2)) profile(e/2) <= d: the share of delta depends on e, so e is searched for.
        low, high = 0.0, 1.0
        while not self._replaces_within(high, d, accountant):
            low, high = high, 2 * high
            if high > 1e6:
                return math.inf
        while high - low > _CLOSE * high:
            middle = (low + high) / 2
            low, high = (low, middle) if self._replaces_within(middle, d, accountant) else (middle, high)
        return high

    def _replaces_within(self, epsilon: float, delta: Fraction, accountant: Accountant) -> bool:
        half, share = halved(epsilon, float(delta))
        return share > 0 and _epsilon(float(self.noise), float(self.rate), self.steps, share, accountant) <= half

    def curve(self) -> list[tuple[float, float]]:
        """(delta, epsilon) of the whole run for deltas from 1e-10 to 0.1: what the accountant knows of it."""
        return [(d, self.epsilon(d)) for d in (1e-10, 1e-8, 1e-7, 1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 1e-1)]

    def cost(self, epsilon: Number, delta: Number) -> Cost:
        """What the run costs: the claim (checked here), zCDP without the help of sampling, and the Rényi curve.

        Proof of the curve: under add/remove that of the sampled Gaussian, which adds up over steps; under replace
        mixtures with equal weights diverge at most as their parts do (Rényi divergence is jointly quasi-convex), so
        a (2/z)^2 / 2 holds for every rate; the same with shift 1/z is zCDP under add/remove.
        """
        e, d = numbers.positive(epsilon, "epsilon"), numbers.probability(delta, "delta")
        if not self._keeps(e, d):
            raise InvalidRequest(
                f"{self.steps} steps at rate {float(self.rate):.4g} with noise {float(self.noise):.6g} are not "
                f"({float(e):g}, {float(d):g})-private, the least epsilon is {self.epsilon(d):.6g}; use noise_multiplier"
            )
        shift = Fraction(2 if self.replaces else 1) / self.noise
        rho = self.steps * shift * shift / 2
        if self.replaces or self.rate == 1:
            return Cost.renyi(lambda a: a * float(rho), epsilon=e, delta=d, rho=rho)
        each = dict(zip(ORDERS, renyi(float(self.rate), float(self.noise)), strict=True))
        return Cost.renyi(lambda a: min(self.steps * each[a] * _PAD, a * float(rho) * _PAD), epsilon=e, delta=d, rho=rho)

    def _keeps(self, epsilon: Fraction, delta: Fraction) -> bool:
        if self.rate == 1:
            return self.epsilon(delta) <= float(epsilon) * (1 + 2e-9)  # both ends were rounded up by 1e-9
        e, d = float(epsilon), float(delta)
        if self.replaces:
            e, d = halved(e, d)
        return _epsilon(float(self.noise), float(self.rate), self.steps, d, "loss") <= e


def noise_multiplier(
    epsilon: Number,
    delta: Number,
    rate: Number,
    steps: int,
    relation: Relation = "add_remove",
    accountant: Accountant = "loss",
) -> Fraction:
    """The least noise multiplier z of which ``steps`` lots at ``rate`` are (epsilon, delta)-private.

    At rate 1 it is sqrt(T) / mu(epsilon, delta), twice that under replace; otherwise the accepted end of a bisection.
    """
    e, d = numbers.positive(epsilon, "epsilon"), numbers.probability(delta, "delta")
    q = sampling_rate(rate)
    check_steps(steps)
    check_accountant(accountant)
    replaces = check_relation(relation) != "add_remove"
    if q == 1 and accountant == "loss":
        shift = largest_shift(e, d)
        return numbers.round_up(math.sqrt(steps) * (2 if replaces else 1) / shift * _PAD)
    return _multiplier(float(e), float(d), float(q), int(steps), replaces, accountant)


@lru_cache(maxsize=256)
def _multiplier(epsilon: float, delta: float, rate: float, steps: int, replaces: bool, accountant: Accountant) -> Fraction:
    e, d = (epsilon, delta) if not replaces or rate == 1 else halved(epsilon, delta)
    stretch = 2 if replaces and rate == 1 else 1

    def keeps(z: float, coarse: int = 1) -> bool:
        return _epsilon(z / stretch, rate, steps, d, accountant, coarse) <= e

    def refuse() -> InvalidRequest:
        return InvalidRequest(
            f"no noise multiplier up to {_MOST:g} brings {steps} steps at rate {rate:.4g} within epsilon {epsilon:g} and "
            f"delta {delta:g}; take fewer steps, a smaller rate, or spend more"
        )

    if d <= 0:
        raise refuse()
    # Where one lot hardly ever meets a person, the run resembles a Gaussian of shift q sqrt(T (e^(1/z^2) - 1)).
    high = max(2 * _LEAST, min(_MOST, math.sqrt(rate * steps) / max(e, 1e-6) * 0.5 + 0.5))
    while not keeps(high, _COARSE):
        if high >= _MOST:
            raise refuse()
        high = min(2 * high, _MOST)
    low = high / 2
    while low > _LEAST and keeps(low, _COARSE):
        low, high = low / 2, low
    while high - low > 1e-3 * high:
        middle = (low + high) / 2
        low, high = (low, middle) if keeps(middle, _COARSE) else (middle, high)
    # Coarse losses are rounded up too: what they accept holds, and the finer ones only have to look below it.
    step = high / 500
    while high - step > _LEAST and keeps(high - step):
        high -= step
    low = high - step
    while high - low > _CLOSE * high:
        middle = (low + high) / 2
        low, high = (low, middle) if keeps(middle) else (middle, high)
    return Fraction(high)


@lru_cache(maxsize=4096)
def _epsilon(noise: float, rate: float, steps: int, delta: float, accountant: Accountant, coarse: int = 1) -> float:
    """The epsilon of add/remove lots at ``delta``, from above; losses in steps ``coarse`` times the usual."""
    each = renyi(rate, noise)
    known = max(0.0, min(epsilon_of_renyi(a, steps * r, delta) for a, r in zip(ORDERS, each, strict=True)))
    if accountant == "renyi":
        return known
    if rate == 1:  # as a double
        return min(known, epsilon_at(delta, math.sqrt(steps) / noise))
    # The convolution knows deltas to some 1e-10 only, and says so; below that the Rényi curve is what is proved.
    return min(known, max(profile.epsilon(delta) for profile in _profiles(noise, rate, steps, coarse)))


@lru_cache(maxsize=4)
def _profiles(noise: float, rate: float, steps: int, coarse: int) -> tuple[Profile, Profile]:
    """The profiles of the whole run, a person taken away and a person added.

    A coarser step is still an upper bound, and keeps a hopeless run from filling the memory: the losses of a run reach
    about (square + 12 root) of its shift as a Gaussian where the noise is large, one loss for each meeting else.
    """
    if noise >= 0.5:
        shift = rate * math.sqrt(steps * math.expm1(1 / (noise * noise)))
        reach, cells = shift * shift + 12 * shift + 2 / noise**2 + 10 / noise, _CELLS
    else:
        reach, cells = (1 / noise + 8) / noise * (1 + rate * steps + 6 * math.sqrt(rate * steps)), 30 * _CELLS
    return profiles(noise, rate, steps, max(_INTERVAL, reach / cells) * coarse)


@lru_cache(maxsize=512)
def renyi(rate: float, noise: float) -> tuple[float, ...]:
    """The Rényi divergence of one step at each of ``ORDERS``, add/remove, from above.

    At a whole order a it is ln(sum over k of C(a, k) (1-q)^(a-k) q^k e^(k (k-1) / (2 z^2))) / (a-1) (Mironov, Talwar
    and Zhang 2019). Between, (a-1) R(a) is the logarithm of a moment, convex in a and zero at 1, so the chord is above
    it.
    """
    whole = {1: 0.0}  # (a-1) R(a)
    for order in sorted({n for a in ORDERS for n in (math.floor(a), math.ceil(a)) if n > 1}):
        whole[order] = _log_moment(order, rate, noise)
    found = []
    for a in ORDERS:
        low, high = math.floor(a), math.ceil(a)
        chord = whole[low] if low == high else (high - a) * whole[low] + (a - low) * whole[high]
        found.append(min(max(chord, 0.0) / (a - 1) * _PAD, a / (2 * noise * noise) * _PAD))
    return tuple(found)


def _log_moment(order: int, rate: float, noise: float) -> float:
    from scipy.special import gammaln, logsumexp

    k = np.arange(order + 1.0)
    log_choose = gammaln(order + 1) - gammaln(k + 1) - gammaln(order - k + 1)
    if rate == 1:
        return order * (order - 1) / (2 * noise * noise)
    terms = log_choose + (order - k) * math.log1p(-rate) + k * math.log(rate) + k * (k - 1) / (2 * noise * noise)
    # A unit in the last place of each term, of size up to the largest: what the logarithms may have lost.
    return float(logsumexp(terms)) + 2.0**-44 * (1 + float(np.abs(log_choose).max()))


def halved(epsilon: float, delta: float) -> tuple[float, float]:
    """What add/remove has to keep so that replacing one keeps (epsilon, delta): (e/2, d / (1 + e^(e/2)))."""
    return epsilon / 2, delta / (1 + math.exp(epsilon / 2)) if epsilon < 1400 else 0.0


def sampling_rate(rate: Number) -> Fraction:
    """The probability that a person is in a lot."""
    exact = numbers.rational(rate, "rate")
    if not 0 < exact <= 1:
        raise InvalidRequest(f"rate must lie in (0, 1], got {rate}; it is the lot size over expected_rows")
    return exact


def check_accountant(accountant: str) -> None:
    """Refuse a word that is not an accountant."""
    if accountant not in ("loss", "renyi"):
        raise InvalidRequest(f"accountant must be 'loss' or 'renyi', got {accountant!r}")


def check_steps(steps: int) -> None:
    """Refuse a number of steps that is not one."""
    if isinstance(steps, bool) or not isinstance(steps, int) or steps < 1:
        raise InvalidRequest(f"steps must be a whole number of at least 1, got {steps!r}")
