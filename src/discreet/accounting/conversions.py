"""From one currency of privacy to another: what a cost means as (epsilon, delta)."""

from __future__ import annotations

import math
from fractions import Fraction

from discreet.core import numbers
from discreet.core.cost import ORDERS, Cost
from discreet.core.numbers import Number
from discreet.errors import InvalidRequest


def epsilon_of_renyi(order: float, divergence: float, delta: float) -> float:
    """The epsilon at ``delta`` implied by a Rényi divergence at one order.

    epsilon = R + ln(1 - 1/a) - ln(a delta) / (a - 1) (Canonne, Kamath and Steinke 2020, proposition 12; Asoodeh et
    al. 2020). Proof: delta(eps) <= E (1 - e^(eps - L))_+ for the privacy loss L, and for every l
    (1 - e^(eps - l))_+ <= c e^((a-1)(l - eps)) with c = (1 - 1/a)^(a-1) / a, the tangent at e^(l - eps) = a / (a - 1);
    so delta <= c e^((a-1)(R - eps)), solved for eps.
    """
    if divergence == math.inf:
        return math.inf
    return divergence + math.log1p(-1 / order) - math.log(order * delta) / (order - 1)


def epsilon_of_zcdp(rho: Number, delta: Number) -> float:
    """The least epsilon at ``delta`` that rho-zCDP implies: max(0, min over orders of the conversion), minimised in full."""
    r, d = float(numbers.non_negative(rho, "rho")), float(numbers.probability(delta, "delta"))
    if r == 0.0:
        return 0.0

    def value(x: float) -> float:  # x = ln(order - 1)
        order = 1 + math.exp(x)
        return epsilon_of_renyi(order, r * order, d)

    # The conversion is quasi-convex in the order: golden sections on its logarithm.
    low, high = -30.0, 60.0
    ratio = (math.sqrt(5) - 1) / 2
    for _ in range(200):
        a, b = high - ratio * (high - low), low + ratio * (high - low)
        low, high = (low, b) if value(a) <= value(b) else (a, high)
    return max(0.0, value((low + high) / 2) * (1 + 1e-12))


def zcdp_within(epsilon: Number, delta: Number) -> Fraction:
    """The largest rho, to nine digits, that implies (epsilon, delta)-differential privacy by ``epsilon_of_zcdp``."""
    wanted = float(numbers.positive(epsilon, "epsilon")) * (1 - 2.0**-50)
    low, high = Fraction(0), Fraction(wanted) + 1
    while high - low > high / 10**9:
        middle = Fraction(float((low + high) / 2))
        low, high = (middle, high) if epsilon_of_zcdp(middle, delta) <= wanted else (low, middle)
    return low


def epsilon(cost: Cost, delta: Number = 0) -> float:
    """The least epsilon at ``delta`` that any statement of ``cost`` implies; infinite where none does."""
    d = numbers.rational(delta, "delta")
    if not 0 <= d < 1:
        raise InvalidRequest(f"delta must lie in [0, 1), got {delta}")
    best = math.inf
    if cost.epsilon is not None and cost.delta <= d:
        best = float(cost.epsilon)
    left = d - cost.slack
    if left > 0:
        if cost.rho is not None:
            best = min(best, epsilon_of_zcdp(cost.rho, left))
        near = float(left)
        best = min([best, *(epsilon_of_renyi(a, v, near) for a, v in zip(ORDERS, cost.curve, strict=True))])
    return max(0.0, best)


def zcdp_of_pure(epsilon: Number) -> Fraction:
    """rho = epsilon tanh(epsilon / 2), the tight concentrated privacy of a pure guarantee, rounded up."""
    rho = Cost.pure(epsilon).rho
    assert rho is not None
    return rho
