"""Interleaving by enumeration: an adversary who mixes the steps of a plan with other questions gains nothing by the order.

Everything is randomised response, so every adaptive strategy can be tried: an adversary's best hockey-stick divergence over
all interleavings, choosing what to ask next by all answers so far, is computed exactly by walking the tree of pairs of
likelihoods.
"""

from __future__ import annotations

import itertools
import math
from functools import cache

import pytest

Pair = tuple[float, float]


def response(epsilon: float) -> tuple[Pair, Pair]:
    """The two answers of randomised response under the two tables."""
    high = 1 / (1 + math.exp(-epsilon))
    return (high, 1 - high), (1 - high, high)


def stick(pairs: list[Pair], epsilon: float) -> float:
    return sum(max(0.0, p - math.exp(epsilon) * q) for p, q in pairs)


def composed(epsilon: float, times: int) -> list[Pair]:
    """All outcomes of a plan of ``times`` steps."""
    steps = [response(epsilon)] * times
    return [(math.prod(a for a, _ in each), math.prod(b for _, b in each)) for each in itertools.product(*steps)]


def renyi(pairs: list[Pair], order: float) -> float:
    return math.log(sum(p**order * q ** (1 - order) for p, q in pairs)) / (order - 1)


@pytest.mark.parametrize(("step", "steps", "other"), [(0.4, 3, 0.3), (0.8, 4, 0.5), (1.0, 2, 1.0)])
@pytest.mark.parametrize("epsilon", [0.2, 0.6, 1.0])
def test_a_plan_at_its_own_price_and_other_charges_cost_their_sum(
    step: float, steps: int, other: float, epsilon: float
) -> None:
    """The plan is bought as (e, d) with d the exact divergence of its steps at e, far below the sum of the steps. Whatever
    charge of ``other`` is put between which steps, and whether it is put at all may depend on what was seen, the whole
    stays within (e + other, d)."""
    price = stick(composed(step, steps), epsilon)

    @cache
    def best(left: int, charges: int, p: float, q: float) -> float:
        """The most that is gained from here on, over all adaptive strategies; stopping is one of them."""
        found = max(0.0, p - math.exp(epsilon + other) * q)
        if left:
            found = max(found, sum(best(left - 1, charges, p * a, q * b) for a, b in response(step)))
        if charges:
            found = max(found, sum(best(left, charges - 1, p * a, q * b) for a, b in response(other)))
        return found

    assert best(steps, 1, 1.0, 1.0) <= price + 1e-12


@pytest.mark.parametrize("order", [1.5, 2.0, 8.0])
def test_renyi_divergences_add_up_in_every_adaptive_order(order: float) -> None:
    """Two plans and a charge, interleaved by every strategy: the divergence never passes the sum of what was paid."""
    paid = 2 * renyi(list(response(0.7)), order) + renyi(list(response(0.3)), order)

    @cache
    def best(left: int, charges: int) -> float:
        """The largest E (p/q)^(order-1) from here on."""
        found = 1.0
        for epsilon, a, b in ((0.7, left - 1, charges), (0.3, left, charges - 1)):
            if min(a, b) >= 0:
                found = max(found, sum(p**order * q ** (1 - order) for p, q in response(epsilon)) * best(a, b))
        return found

    assert math.log(best(2, 1)) / (order - 1) <= paid + 1e-12
