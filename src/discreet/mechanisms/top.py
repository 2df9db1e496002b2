"""The few best of many public candidates, in their order: exponential mechanisms one after another."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from scipy.special import logsumexp

from discreet.core import numbers
from discreet.core.cost import Cost, Distance
from discreet.core.mechanism import Mechanism, Sensitivity, mechanisms
from discreet.core.numbers import Number
from discreet.core.random import Random, chosen
from discreet.errors import InvalidRequest
from discreet.mechanisms.additive import some
from discreet.mechanisms.exponential import Exponential


@mechanisms("top")
@dataclass(frozen=True, init=False)
class Top(Mechanism):
    """The places of the ``choices`` candidates with the largest rate u_i + G_i, G_i independent standard Gumbel, in order.

    ``one_sided`` says that adding a person moves no utility down (or none up), as of counts under add/remove.

    ``cost``: ``choices`` times that of one exponential mechanism: with D the largest move of a utility and e = 2 rate D
    (half of it if one-sided) epsilon is choices e, rho is choices e**2 / 8.

    Proof: given the largest, the others are again the largest of the rest in order with the Gumbels' law unchanged
    (Gumbel's maxima: P(i first) = exp(rate u_i) / sum of exp(rate u), independent of the maximum's size; Durfee and Rogers
    2019). So the j-th choice is an exponential mechanism among what is left, with utilities that move as before; each
    costs e and is e**2 / 8-zCDP by the proof of ``Exponential``, and they compose. One race is drawn for each choice.
    """

    words = (
        "Noisy ranking: a private choice of the largest, in order. Any order can come out; better ones are more likely, and "
        "one person changes no order's chance by more than a factor e^ε."
    )
    no_posterior = "it chose among candidates by their counts, and releases no count; ask for a crosstab instead"

    rate: Fraction
    choices: int
    one_sided: bool

    def __init__(self, rate: Number, choices: int = 1, one_sided: bool = False) -> None:
        if isinstance(choices, bool) or not isinstance(choices, int) or choices < 1:
            raise InvalidRequest(f"choices must be a whole number of at least 1, got {choices!r}")
        for key, value in (("rate", numbers.positive(rate, "rate")), ("choices", choices), ("one_sided", bool(one_sided))):
            object.__setattr__(self, key, value)

    @classmethod
    def costing(cls, sensitivity: Sensitivity, *, epsilon: Number, choices: int, one_sided: bool = False) -> Self:
        """The ranking each choice of which costs ``epsilon`` when a person moves any utility by at most ``sensitivity``."""
        sides = 1 if one_sided else 2
        return cls(numbers.positive(epsilon, "epsilon") / (sides * some(Distance.of(sensitivity).linf)), choices, one_sided)

    def cost(self, sensitivity: Sensitivity = 1) -> Cost:
        return Exponential(self.rate, one_sided=self.one_sided).cost(sensitivity) * self.choices

    def release(self, exact: Any, *, seed: int | Random | None = None) -> npt.NDArray[np.int64]:
        """The places of the largest, the first first."""
        utilities, random = np.asarray(exact), chosen(seed)
        if utilities.ndim != 1 or utilities.size < self.choices:
            raise InvalidRequest(
                f"utilities must be one number per candidate, {self.choices} or more, got {utilities.shape}"
            )
        one, left = Exponential(self.rate), np.arange(utilities.size)
        places = []
        for _ in range(self.choices):
            won = one.release(utilities[left], seed=random)
            places.append(left[won])
            left = np.delete(left, won)
        return np.array(places, np.int64)

    def log_prob(self, released: Any, exact: Any) -> Any:
        """The log-probability of an order of places, or of many (leading axes), given the utilities."""
        score = float(self.rate) * (np.asarray(exact, np.float64) - np.max(exact))
        places = np.asarray(released, np.int64)
        left = np.broadcast_to(score, (*places.shape[:-1], score.size)).copy()
        total = np.zeros(places.shape[:-1])
        for turn in range(self.choices):
            place = places[..., turn : turn + 1]
            total += np.take_along_axis(left, place, -1)[..., 0] - logsumexp(left, axis=-1)
            np.put_along_axis(left, place, -np.inf, -1)
        return total if total.ndim else float(total)
