"""Which keys to show, with their counts: truncated discrete Laplace noise, for people with one key each."""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import localcontext
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import Any, Self

import numpy as np

from discreet.core import numbers
from discreet.core.cost import Cost, Distance
from discreet.core.exact import Keyed
from discreet.core.mechanism import Mechanism, Sensitivity, mechanisms
from discreet.core.numbers import Number
from discreet.core.price import Price
from discreet.core.random import Random, chosen
from discreet.errors import InvalidRequest
from discreet.mechanisms.finding_keys import ONE, exp, moved_keys, precise, price, settled, together
from discreet.mechanisms.sampling import digits, exponential_draws
from discreet.mechanisms.sampling.uniform import Floats, Integers

_MOST = 1 << 20
_SPREAD = Fraction(1, 2)  # t over the scale of the noise: a draw lies within t at least 39 times in 100


@mechanisms("truncated_keys")
@dataclass(frozen=True, init=False)
class TruncatedKeys(Mechanism):
    """Show a key that n >= 1 people have, with n + X, where n + X > t and n + X >= ``minimum``.

    X is discrete Laplace noise of scale 1/epsilon redrawn until |X| <= t, and t the least whole number with P(X = t) =
    p^t (1 - p)/(1 + p - 2 p^(t+1)) <= delta, p = e^-epsilon. Released is a dict of keys and noisy counts, in the order of
    the keys.

    ``cost``: a person who moves c keys by one each pays c epsilon, outside an event of probability 1 - (1 - delta)**c.

    Proof: let one key have n people and n + 1 on the neighbour. Shifting X by one maps the draws of either side to those
    of the other, with the same count or both hidden, and changes a probability by e^epsilon at most; a single draw has no
    partner, X = t on the side of n + 1 and X = -t on the side of n, of probability P(X = t) <= delta. For n = 0 nothing is
    shown, and of n + 1 = 1 only with X = t, of probability at most delta. So each pair is (epsilon, delta), that is, pure
    outside an event of probability delta; keys are independent, log-ratios add and events multiply. ``minimum`` looks at
    what would be shown only. t is found in decimal intervals that are certain to hold the two sides.
    """

    words = (
        "Truncated discrete Laplace noise: a label is shown with its noisy count where that exceeds the largest noise "
        "that can be drawn; a label of one person is shown with probability δ at most."
    )

    epsilon: Fraction
    delta: Fraction
    minimum: int
    claim: Price | None

    def __init__(self, epsilon: Number, delta: Number, minimum: int = 0, claim: Price | None = None) -> None:
        if isinstance(minimum, bool) or not isinstance(minimum, int) or minimum < 0:
            raise InvalidRequest(f"minimum must be a whole number of at least 0, got {minimum!r}")
        object.__setattr__(self, "epsilon", numbers.positive(epsilon, "epsilon"))
        object.__setattr__(self, "delta", numbers.probability(delta, "delta"))
        object.__setattr__(self, "minimum", minimum)
        object.__setattr__(self, "claim", claim)
        _reach(self.epsilon, self.delta)  # refuses what finds nothing, before anything is paid

    @classmethod
    def costing(cls, sensitivity: Sensitivity = 1, *, epsilon: Number, delta: Number, minimum: int = 0) -> Self:
        """The law that costs (epsilon, delta) where a person moves as many keys as the L1 distance says, by one each."""
        own, tail, claim = price(epsilon, delta, moved_keys(Distance.of(sensitivity)))
        return cls(own, tail, minimum, claim)

    @property
    def reach(self) -> int:
        """t: the most that noise adds or takes away, and what a shown count exceeds."""
        return _reach(self.epsilon, self.delta)

    @property
    def least_shown(self) -> int:
        """The least count that is shown."""
        return max(self.reach + 1, self.minimum)

    def cost(self, sensitivity: Sensitivity = 1) -> Cost:
        keys = moved_keys(Distance.of(sensitivity))
        return settled(self.claim, keys * self.epsilon, together(self.delta, keys))

    def release(self, exact: Any, *, seed: int | Random | None = None) -> dict[str, int]:
        """The keys shown, of a dict of keys and numbers of people, with their noisy counts."""
        given = Keyed.of(exact)
        counts, there = given.exact.counts, given.exact.counts >= 1
        noisy = counts + self._noise(chosen(seed), counts.size)
        shown = there & (noisy >= self.least_shown)
        return {key: int(n) for key, n, s in zip(given.keys, noisy.tolist(), shown.tolist(), strict=True) if s}

    def _noise(self, random: Random, size: int) -> Integers:
        """Draws of X; those beyond t are drawn again, however often: how often does not depend on the counts."""
        scale, reach = 1 / self.epsilon, self.reach
        noise = exponential_draws.discrete_laplace(random, scale, size)
        while (far := np.flatnonzero(np.abs(noise) > reach)).size:
            noise[far] = exponential_draws.discrete_laplace(random, scale, far.size)
        return noise

    @cached_property
    def _masses(self) -> Floats:
        """P(X = x) for x = -t .. t."""
        weights = np.exp(-float(self.epsilon) * np.abs(np.arange(-self.reach, self.reach + 1)))
        masses: Floats = weights / weights.sum()
        return masses

    def chance(self, people: int) -> float:
        """The probability that a key of so many people is shown."""
        least = self.least_shown - people + self.reach  # the place of the least noise that suffices
        return float(self._masses[max(least, 0) :].sum()) if people >= 1 else 0.0

    def log_prob(self, released: Any, exact: Any) -> float:
        """The log-probability of showing exactly these keys with these counts."""
        given, total = Keyed.of(exact), 0.0
        if not set(released) <= set(given.keys):
            return -math.inf
        for key, n in zip(given.keys, given.exact.counts.tolist(), strict=True):
            if key in released:
                noise = int(released[key]) - n
                good = n >= 1 and released[key] >= self.least_shown and abs(noise) <= self.reach
                chance = float(self._masses[noise + self.reach]) if good else 0.0
            else:
                chance = 1 - self.chance(n)
            total += math.log(chance) if chance > 0 else -math.inf
        return total

    def error(self, level: float = 0.95) -> int:
        """The least a with P(|X| <= a) >= level."""
        within = np.cumsum(np.append(self._masses[self.reach], 2 * self._masses[self.reach + 1 :]))
        return int(np.searchsorted(within, level * (1 - 1e-15)))

    @property
    def expected_error(self) -> float:
        """The root mean square of X."""
        return float(np.sqrt(self._masses @ np.arange(-self.reach, self.reach + 1) ** 2))


@lru_cache(maxsize=64)
def _reach(epsilon: Fraction, delta: Fraction) -> int:
    """The least t with p^t (1 - p)/(1 + p - 2 p^(t+1)) <= delta: a first guess in doubles, settled in intervals."""
    e, d = float(epsilon), float(delta)
    p = math.exp(-e)
    # The equation in p^t: p^t ((1 - p) + 2 d p) = d (1 + p).
    guess = math.log(d * (1 + p) / (-math.expm1(-e) + 2 * d * p)) / -e if d > 0 else math.inf
    if not guess < _MOST:
        raise InvalidRequest(f"epsilon and delta must be larger to find keys, got {e:g} and {d:g}; none would be found")
    t = max(0, math.ceil(guess))
    while not _allowed(epsilon, delta, t):
        t += 1
    while t > 0 and _allowed(epsilon, delta, t - 1):
        t -= 1
    if epsilon * t < _SPREAD:  # nearly all draws would lie beyond t, and drawing again would not end
        raise InvalidRequest(f"epsilon must be at least 1.3 times delta to count keys, got {e:g} and {d:g}; spend more")
    return t


def _allowed(epsilon: Fraction, delta: Fraction, t: int) -> bool:
    """Whether P(X = t) <= delta, for certain."""
    with localcontext(precise()):
        p, power, beyond = exp(-epsilon), exp(-t * epsilon), exp(-(t + 1) * epsilon)
        top = digits.multiply(power, digits.add(ONE, digits.negate(p)))
        bottom = digits.add(digits.add(ONE, p), digits.negate(digits.add(beyond, beyond)))
        return digits.divide(top, bottom)[1] <= digits.exactly(delta)[0]
