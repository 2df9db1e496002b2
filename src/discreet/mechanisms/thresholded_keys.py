"""Which keys to show, with noisy numbers: noise on every key that was met and a threshold, for people with many keys."""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import localcontext
from fractions import Fraction
from typing import Any, Self

import numpy as np

from discreet.core import numbers
from discreet.core.cost import ORDERS, Cost, Distance
from discreet.core.exact import Keyed
from discreet.core.mechanism import Mechanism, Sensitivity, mechanisms
from discreet.core.numbers import Number
from discreet.core.price import Price
from discreet.core.random import Random
from discreet.errors import InvalidRequest
from discreet.mechanisms.discrete_laplace import DiscreteLaplace
from discreet.mechanisms.finding_keys import ONE, each, exp, precise, together
from discreet.mechanisms.gaussian import Gaussian
from discreet.mechanisms.sampling import digits

_FINE = Fraction(1, 1 << 30)
_SAFE = 1 + 2.0**-30  # by more than doubles can be wrong about a normal tail


@mechanisms("thresholded_keys")
@dataclass(frozen=True, init=False)
class ThresholdedKeys(Mechanism):
    """Add the noise of ``law`` to every key that was met, and show those that reach ``threshold`` and ``minimum``.

    A person has at most ``keys`` keys. With discrete Laplace noise they add 1 to each; with Gaussian noise someone with j
    keys adds 1/sqrt(j) to each. Released is a dict of keys and noisy numbers, in the order of the keys.

    ``cost``: that of ``law``, outside an event of probability ``slack``: that a key which only one person has is shown.

    Proof: keys that the person shares with others have the noise of ``law`` on both sides, and the others of the person
    are met on one side only. Given that none of those is shown, what is shown is the law's output cut off at a public
    number, which costs what the law does; so the pair is, outside the event that one is shown, a pair with the law's cost.
    Noise is independent: with tail p_j above the threshold of a key of weight 1/sqrt(j), or 1, the event has probability
    1 - (1 - p_j)**j, and ``slack`` is its largest value over j = 1 .. ``keys`` (not that of one j: the weight falls with
    j, the number of keys grows). Under replace either side has such an event of its own. The Laplace tail q^(T-1)/(1 + q)
    is taken in decimal intervals; of the Gaussian law, which is rounded to its grid, the threshold less one grid step.
    """

    words = (
        "Noise and a threshold: a label is shown with its noisy number where that is so large that a label of one "
        "person reaches it with probability δ at most."
    )

    law: DiscreteLaplace | Gaussian
    threshold: Fraction
    keys: int
    slack: Fraction
    minimum: int

    def __init__(
        self, law: Mechanism | dict[str, Any], threshold: Number, keys: int, slack: Number, minimum: int = 0
    ) -> None:
        noise = mechanisms.read(law) if isinstance(law, dict) else law
        if not isinstance(noise, DiscreteLaplace | Gaussian) or len(noise.scales) != 1:
            raise InvalidRequest(f"law must be discrete Laplace or Gaussian with one scale, got {noise!r}")
        if isinstance(noise, DiscreteLaplace) and noise.grid != 1:
            raise InvalidRequest(f"discrete Laplace noise must be on whole numbers, got a grid of {noise.grid}")
        for name, value, least in (("keys", keys, 1), ("minimum", minimum, 0)):
            if isinstance(value, bool) or not isinstance(value, int) or value < least:
                raise InvalidRequest(f"{name} must be a whole number of at least {least}, got {value!r}")
        object.__setattr__(self, "law", noise)
        object.__setattr__(self, "threshold", numbers.positive(threshold, "threshold"))
        object.__setattr__(self, "keys", keys)
        object.__setattr__(self, "slack", numbers.probability(slack, "slack"))
        object.__setattr__(self, "minimum", minimum)

    @classmethod
    def laplace(cls, distance: Distance, *, epsilon: Number, delta: Number, keys: int, minimum: int = 0) -> Self:
        """Discrete Laplace noise of scale L1 / epsilon; T is least with q^(T-1)/(1 + q) <= 1 - (1 - delta)^(1/keys)."""
        claim = Price(epsilon, delta)
        law = DiscreteLaplace.costing(distance, epsilon=epsilon)
        tail, scale = each(claim.delta, keys), law.scales[0]
        guess = math.ceil(float(scale) * math.log(1 / (float(tail) * (1 + math.exp(-1 / float(scale))))))
        steps = max(0, guess - 2)
        while not _tail(scale, steps)[1] <= tail:
            steps += 1
        return cls(law, 1 + steps, keys, claim.delta, minimum)

    @classmethod
    def gaussian(cls, distance: Distance, *, epsilon: Number, delta: Number, keys: int, minimum: int = 0) -> Self:
        """Gaussian noise for (epsilon, delta/2), and T for the other half: the largest of 1/sqrt(j) + sigma z_j.

        z_j is the normal quantile of (1 - delta/2)^(1/j), for j = 1 .. keys.
        """
        claim = Price(epsilon, delta)
        half = claim.delta / 2
        noise = Gaussian.costing(distance, epsilon=epsilon, delta=half)
        coarse = Fraction(2) ** (numbers.floor_log2(noise.scales[0]) - 40)
        law = Gaussian(noise.scale, max(_FINE, coarse), claim=noise.claim)
        reach = (1 / np.sqrt(_some(keys)) + float(law.scales[0]) * _quantiles(float(half), keys)).max()
        return cls(law, Fraction(float(reach) * _SAFE) + 2 * law.grid, keys, half, minimum)

    @property
    def least_shown(self) -> Fraction:
        """The least number that is shown."""
        return max(self.threshold, Fraction(self.minimum))

    def escape(self) -> Fraction:
        """The probability, rounded up, that some key is shown which only one person has."""
        if isinstance(self.law, DiscreteLaplace):
            steps = math.ceil(self.threshold) - 1
            return together(_tail(self.law.scales[0], steps)[1], self.keys) if steps >= 0 else Fraction(1)
        from scipy.special import ndtr

        j = _some(self.keys)
        above = ndtr(-(float(self.threshold - self.law.grid) - 1 / np.sqrt(j)) / float(self.law.scales[0]))
        return numbers.round_up(float((-np.expm1(j * np.log1p(-np.minimum(above, 1 - 1e-16)))).max()))

    def cost(self, sensitivity: Sensitivity = 1) -> Cost:
        escape = self.escape()
        slack = self.slack if escape <= self.slack else escape
        if slack >= 1:
            return Cost.infinite()
        return self.law.cost(sensitivity) + Cost(Fraction(0), slack, Fraction(0), slack, (0.0,) * len(ORDERS))

    def release(self, exact: Any, *, seed: int | Random | None = None) -> dict[str, Any]:
        """The keys shown, of a dict of keys and numbers, with their noisy numbers."""
        given = Keyed.of(exact)
        if not given.keys:
            return {}
        noisy = np.atleast_1d(self.law.release(given.exact, seed=seed))
        there = given.exact.counts > 0
        least = math.ceil(self.least_shown / self.law.grid) * self.law.grid
        shown = there & (noisy >= float(least))
        return {key: n for key, n, s in zip(given.keys, noisy.tolist(), shown.tolist(), strict=True) if s}

    def log_prob(self, released: Any, exact: Any) -> float:
        """The log-probability of showing exactly these keys with these numbers, per unit of grid width for each."""
        given, total = Keyed.of(exact), 0.0
        if not set(released) <= set(given.keys):
            return -math.inf
        for key, n in given.value.items():
            if key not in released:
                total += math.log(self._hidden(n)) if n > 0 else 0.0
            elif n > 0 and released[key] >= self.least_shown:
                total += float(self.law.log_prob(released[key], n))
            else:
                return -math.inf
        return total

    def _hidden(self, number: float) -> float:
        """The probability that a key with this number is not shown: noise is symmetric, so one step short of the edge."""
        edge = math.ceil(self.least_shown / self.law.grid) * self.law.grid
        return float(self.law.at_least(number - float(edge - self.law.grid)))

    def error(self, level: float = 0.95) -> float:
        """How far noise moves a number at most, with probability ``level``."""
        return float(np.max(self.law.error(level)))

    @property
    def expected_error(self) -> float:
        """The root mean square of the noise."""
        return float(np.max(self.law.expected_error))


def _some(keys: int) -> Any:
    return np.arange(1, keys + 1, dtype=np.float64)


def _quantiles(delta: float, keys: int) -> Any:
    """The normal quantiles of (1 - delta)^(1/j), by their upper tails."""
    from scipy.special import ndtri

    return -ndtri(-np.expm1(math.log1p(-delta) / _some(keys)))


def _tail(scale: Fraction, steps: int) -> tuple[Fraction, Fraction]:
    """P(X >= steps) = q^steps / (1 + q) of discrete Laplace noise, q = e^(-1/scale), between two rationals."""
    with localcontext(precise()):
        low, high = digits.divide(exp(-steps / scale), digits.add(ONE, exp(-1 / scale)))
        return Fraction(low), Fraction(high)
