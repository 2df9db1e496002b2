"""The exponential mechanism: a private choice among public candidates by utility."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal, Self

import numpy as np

from discreet.core import numbers
from discreet.core.cost import Cost, Distance
from discreet.core.mechanism import Mechanism, Sensitivity, mechanisms
from discreet.core.numbers import Number
from discreet.core.random import Random, chosen
from discreet.errors import InvalidRequest
from discreet.mechanisms.additive import some
from discreet.mechanisms.sampling import digits, race
from discreet.mechanisms.sampling.uniform import UNIT, Floats

Method = Literal["exponential", "permute_and_flip"]
_FAR = 1e300


@mechanisms("exponential")
@dataclass(frozen=True, init=False)
class Exponential(Mechanism):
    """Choose candidate i with probability proportional to measure_i exp(rate u_i) (McSherry and Talwar 2007).

    ``candidates`` are what is returned (the index where there are none), ``measure`` the public base measure (equal by
    default). ``one_sided`` says that adding a person moves no utility down (or none up). ``method="permute_and_flip"``
    chooses the largest rate u_i + E_i with independent standard exponentials E_i, which is never worse and takes no
    measure (McKenna and Sheldon 2020; Ding et al. 2021).

    ``cost``: epsilon = 2 rate (largest move of a utility), half of that if one-sided, exactly.

    Proof: the log-ratio of two neighbours at candidate i is rate (u_i - u'_i) plus a constant that is the same for all
    i; the u_i - u'_i lie in an interval of width 2D, or D if one-sided, so the log-ratios span at most epsilon. They
    cannot all have one sign, so each is within epsilon; and a span of epsilon is epsilon**2 / 8-zCDP (Cesar and Rogers
    2021). Permute-and-flip: raising E_i by epsilon in noise units keeps a winner the winner on a neighbour, and
    P(E > x + epsilon) = e^-epsilon P(E > x). Utilities that are whole numbers are measured from the largest of them, M, and
    held at 2**53 below it, so that doubles hold them exactly: max(u_i, M - 2**53) moves no further than utilities do, and
    neither method sees a constant added to all.
    """

    words = (
        "Exponential mechanism: a private choice. Every candidate value can be chosen; better ones are more likely, and one "
        "person changes no candidate's chance by more than a factor e^ε."
    )
    no_posterior = (
        "it chose among candidates by the utilities of all of them, which are ranks over the whole table and no sum over "
        "records; release a histogram, a mean or a table instead of a quantile"
    )

    rate: Fraction
    candidates: tuple[Any, ...] | None
    measure: tuple[Fraction, ...] | None
    one_sided: bool
    method: Method

    def __init__(
        self,
        rate: Number,
        candidates: Sequence[Any] | None = None,
        measure: Sequence[Number] | None = None,
        one_sided: bool = False,
        method: Method = "exponential",
    ) -> None:
        weights = None if measure is None else tuple(numbers.non_negative(m, "measure") for m in measure)
        if method not in ("exponential", "permute_and_flip"):
            raise InvalidRequest(f"method must be 'exponential' or 'permute_and_flip', got {method!r}")
        if weights is not None and method == "permute_and_flip":
            raise InvalidRequest("permute_and_flip takes no measure; use method='exponential'")
        if weights is not None and not any(weights):
            raise InvalidRequest("measure must be positive somewhere, got zeros only")
        if candidates is not None and (not candidates or (weights is not None and len(weights) != len(candidates))):
            raise InvalidRequest(f"candidates and measure must match and not be empty, got {len(candidates)} candidates")
        for key, value in {
            "rate": numbers.positive(rate, "rate"),
            "candidates": None if candidates is None else tuple(candidates),
            "measure": weights,
            "one_sided": bool(one_sided),
            "method": method,
        }.items():
            object.__setattr__(self, key, value)

    @classmethod
    def costing(
        cls,
        sensitivity: Sensitivity = 1,
        *,
        epsilon: Number,
        candidates: Sequence[Any] | None = None,
        measure: Sequence[Number] | None = None,
        one_sided: bool = False,
        method: Method = "exponential",
    ) -> Self:
        """The choice that costs ``epsilon`` when one person moves any utility by at most ``sensitivity``."""
        sides = 1 if one_sided else 2
        rate = numbers.positive(epsilon, "epsilon") / (sides * some(Distance.of(sensitivity).linf))
        return cls(rate, candidates, measure, one_sided, method)

    def cost(self, sensitivity: Sensitivity = 1) -> Cost:
        epsilon = (1 if self.one_sided else 2) * self.rate * Distance.of(sensitivity).linf
        pure = Cost.pure(epsilon)
        if self.method == "permute_and_flip" or pure.rho is None:
            return pure
        ranged = Cost.zcdp(epsilon * epsilon / 8)
        rho = min(pure.rho, epsilon * epsilon / 8)
        return Cost(pure.epsilon, pure.delta, rho, pure.slack, tuple(map(min, pure.curve, ranged.curve)))

    def release(self, exact: Any, *, seed: int | Random | None = None) -> Any:
        """The candidate chosen for utilities ``exact``."""
        utilities = self._utilities(exact)
        rate = float(self.rate)
        with np.errstate(over="ignore"):
            score = np.clip(rate * utilities, -_FAR, _FAR)
        # Scores beyond the doubles are settled exactly.
        error = np.where(np.abs(score) < _FAR, 4 * UNIT * np.abs(score), np.inf)
        if self.measure is not None:
            weights = np.array([float(m) for m in self.measure])
            with np.errstate(divide="ignore"):
                log_weights = np.log(weights)
            score = score + log_weights
            error = error + 8 * UNIT * (1 + np.abs(np.where(weights > 0, log_weights, 0.0)))

        def exactly(i: int) -> digits.Interval:
            value = digits.exactly(self.rate * Fraction(float(utilities[i])))
            return value if self.measure is None else digits.add(value, digits.log(digits.exactly(self.measure[i])))

        draw = race.gumbel if self.method == "exponential" else race.exponential
        index = draw(chosen(seed), score, error, exactly)
        return index if self.candidates is None else self.candidates[index]

    def log_prob(self, released: Any, exact: Any) -> float:
        """The log-probability of a candidate, given the utilities."""
        score = float(self.rate) * self._utilities(exact)
        index = int(released) if self.candidates is None else self.candidates.index(released)
        if self.method == "permute_and_flip":
            return _permute_and_flip(score, index)
        if self.measure is not None:
            with np.errstate(divide="ignore"):
                score = score + np.log(np.array([float(m) for m in self.measure]))
        top = float(score.max())
        return float(score[index]) - top - math.log(float(np.exp(score - top).sum()))

    def _utilities(self, exact: Any) -> Floats:
        utilities = np.asarray(exact)
        if utilities.dtype.kind in "iu" and utilities.size:
            # Without a sign the difference of any two whole numbers of 64 bits has 64 bits.
            below = utilities.max(keepdims=True).astype(np.uint64) - utilities.astype(np.uint64)
            utilities = -np.minimum(below, 1 << 53).astype(np.float64)
        utilities = np.asarray(utilities, np.float64)
        sizes = {len(known) for known in (self.candidates, self.measure) if known is not None}
        if utilities.ndim != 1 or not utilities.size or sizes - {utilities.size}:
            raise InvalidRequest(f"utilities must be one number per candidate, got shape {utilities.shape}")
        if not np.isfinite(utilities).all():
            raise InvalidRequest("utilities must be finite")
        return utilities


def _permute_and_flip(score: Floats, index: int) -> float:
    """With p = exp(score - max): p_i times the integral over t in (0, 1) of the product over s != i of (1 - p_s t).

    The integrand is a polynomial of degree k - 1, so Gauss-Legendre with k/2 nodes is exact.
    """
    p = np.exp(score - score.max())
    nodes, weights = np.polynomial.legendre.leggauss(max(1, -(-score.size // 2)))
    t = (nodes + 1) / 2
    others = np.delete(p, index)
    logs = np.log1p(-np.outer(t, others)).sum(1) + np.log(weights / 2)
    top = float(logs.max())
    return float(score[index] - score.max()) + top + math.log(float(np.exp(logs - top).sum()))
