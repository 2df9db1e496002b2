"""Which keys to name: the most likely naming that privacy allows, for people with one key each."""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import localcontext
from fractions import Fraction
from functools import lru_cache
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
from discreet.mechanisms.finding_keys import exp, moved_keys, precise, price, settled, together

_BITS = 128
_ONE = 1 << _BITS
_MOST_STEPS = 1 << 18


@mechanisms("optimal_keys")
@dataclass(frozen=True, init=False)
class OptimalKeys(Mechanism):
    """Name each key that n people have with probability pi(n), the largest that (epsilon, delta) allows for one key.

    pi(0) = 0 and pi(n) = min(E pi(n - 1) + delta, 1 - (1 - pi(n - 1) - delta)/E, 1) with E = e^epsilon (Desfontaines,
    Voss, Gipson and Mandayam 2022). Released is a dict with the names for keys, in their order, and no counts.

    ``cost``: a person who moves c keys by one each pays c epsilon, outside an event of probability 1 - (1 - delta)**c.

    Proof: naming a key is one bit, and a person moves n by one: the two bounds on pi(n) say that a yes, and a no, is at
    most E times as likely as on the neighbour plus delta; the other two of the four hold because pi increases. So the
    pair is, outside an event of probability delta, one with log-ratio within epsilon; keys are independent, log-ratios add
    and events multiply. E is a rational rounded down and each pi(n) a multiple of 2**-128 rounded down: both bounds fall
    with E and bound pi(n) from above, so they still hold; and the draw is 128 uniform bits below pi(n), exactly. A key that
    nobody has is never named, as pi(0) = 0 says, so it need not be known.
    """

    words = (
        "Optimal naming: a label is named with a probability that grows with the number of people who have it as fast as "
        "e^ε and δ allow; a label of one person is named with probability δ at most."
    )

    epsilon: Fraction
    delta: Fraction
    claim: Price | None

    def __init__(self, epsilon: Number, delta: Number, claim: Price | None = None) -> None:
        object.__setattr__(self, "epsilon", numbers.positive(epsilon, "epsilon"))
        object.__setattr__(self, "delta", numbers.probability(delta, "delta"))
        object.__setattr__(self, "claim", claim)
        if 2 / self.epsilon * max(1, numbers.floor_log2(1 / self.delta)) > _MOST_STEPS:
            raise InvalidRequest(f"epsilon must be larger to name keys, got {float(self.epsilon):g}; none would be named")
        _chances(self.epsilon, self.delta)  # refuses what names nothing, before anything is paid

    @classmethod
    def costing(cls, sensitivity: Sensitivity = 1, *, epsilon: Number, delta: Number) -> Self:
        """The law that costs (epsilon, delta) where a person moves as many keys as the L1 distance says, by one each."""
        return cls(*price(epsilon, delta, moved_keys(Distance.of(sensitivity))))

    def cost(self, sensitivity: Sensitivity = 1) -> Cost:
        keys = moved_keys(Distance.of(sensitivity))
        return settled(self.claim, keys * self.epsilon, together(self.delta, keys))

    def chance(self, people: int) -> Fraction:
        """pi(n): the probability that a key of so many people is named."""
        steps = _chances(self.epsilon, self.delta)
        return Fraction(steps[min(max(people, 0), len(steps) - 1)], _ONE)

    def people_for(self, chance: Number) -> int:
        """The least number of people whose key is named with at least this probability."""
        wanted = numbers.rational(chance, "chance")
        if not 0 <= wanted <= 1:
            raise InvalidRequest(f"chance must lie between 0 and 1, got {chance}")
        return next(n for n, pi in enumerate(_chances(self.epsilon, self.delta)) if pi >= wanted * _ONE)

    def release(self, exact: Any, *, seed: int | Random | None = None) -> dict[str, None]:
        """The keys named, of a dict of keys and numbers of people."""
        given, steps = Keyed.of(exact), _chances(self.epsilon, self.delta)
        words = chosen(seed).words(2 * len(given.keys)).reshape(-1, 2).tolist()
        last = len(steps) - 1
        named = [
            high << 64 | low < steps[min(max(int(n), 0), last)]
            for n, (high, low) in zip(given.exact.counts.tolist(), words, strict=True)
        ]
        return {key: None for key, shown in zip(given.keys, named, strict=True) if shown}

    def log_prob(self, released: Any, exact: Any) -> float:
        """The log-probability of naming exactly these keys."""
        given = Keyed.of(exact)
        if not set(released) <= set(given.keys):
            return -math.inf
        chances = np.array([float(self.chance(int(n))) for n in given.exact.counts])
        shown = np.array([key in released for key in given.keys], np.bool_)
        with np.errstate(divide="ignore"):
            return float(np.log(np.where(shown, chances, 1 - chances)).sum())


@lru_cache(maxsize=16)
def _chances(epsilon: Fraction, delta: Fraction) -> list[int]:
    """pi(n) in multiples of 2**-128, up to the first n at which it is 1."""
    with localcontext(precise()):
        growth = math.floor(Fraction(exp(epsilon)[0]) * _ONE)  # E in the same multiples
    step = math.floor(delta * _ONE)
    found = [0]
    while found[-1] < _ONE:
        last = found[-1]
        up = (growth * last >> _BITS) + step
        # 1 - (1 - pi - delta)/E, with what is taken off rounded up.
        down = _ONE + (last + step - _ONE) * _ONE // growth
        found.append(min(up, down, _ONE))
        if len(found) > _MOST_STEPS or found[-1] == last:
            raise InvalidRequest(f"delta must be larger to name keys, got {float(delta):g}; none would be named")
    return found
