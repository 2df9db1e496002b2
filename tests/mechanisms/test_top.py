"""The law of a noisy ranking: enumerated, against exponential mechanisms in sequence and against its cost."""

from __future__ import annotations

from itertools import permutations, product

import numpy as np
import pytest
from scipy import stats

from discreet.core.cost import ORDERS
from discreet.core.random import Random
from discreet.core.release import Release
from discreet.errors import InvalidRequest
from discreet.mechanisms import Exponential
from discreet.mechanisms.top import Top

UTILITIES = np.array([0, 1, 3, 1, 0])
ORDERS_OF_TWO = list(permutations(range(5), 2))


def masses(law: Top, utilities: object) -> np.ndarray:
    return np.exp(law.log_prob(np.array(list(permutations(range(np.size(utilities)), law.choices))), utilities))


def test_it_is_exponential_mechanisms_one_after_another() -> None:
    law, one = Top("0.7", 2), Exponential("0.7")
    for (first, second), mass in zip(ORDERS_OF_TWO, masses(law, UTILITIES), strict=True):
        left = [i for i in range(5) if i != first]
        apart = one.log_prob(first, UTILITIES) + one.log_prob(left.index(second), UTILITIES[left])
        assert np.log(mass) == pytest.approx(apart, abs=1e-12)
    assert masses(law, UTILITIES).sum() == pytest.approx(1, abs=1e-12)


def test_samples_follow_the_density() -> None:
    """Chi-squared over 8,000 draws of 20 orders; false alarm 1e-6."""
    law, random = Top("0.7", 2), Random(3)
    drawn = [tuple(law.release(UTILITIES, seed=random).tolist()) for _ in range(8000)]
    seen = np.array([drawn.count(order) for order in ORDERS_OF_TWO])
    expected = 8000 * masses(law, UTILITIES)
    assert stats.chi2.sf(((seen - expected) ** 2 / expected).sum(), len(seen) - 1) > 1e-6


@pytest.mark.parametrize("one_sided", [False, True])
def test_the_cost_covers_every_neighbour(one_sided: bool) -> None:
    """All moves of three utilities by at most 1, up only where that is said: pure and Rényi claims on the enumerated law."""
    law = Top.costing(1, epsilon="0.8", choices=2, one_sided=one_sided)
    cost = law.cost(1)
    assert cost.epsilon == pytest.approx(1.6)
    assert float(cost.rho) == pytest.approx(2 * 0.64 / 8)  # type: ignore[arg-type]
    here, largest = masses(law, [0, 2, 5]), 0.0
    for move in product((0, 1) if one_sided else (-1, 0, 1), repeat=3):
        there = masses(law, np.array([0, 2, 5]) + move)
        largest = max(largest, np.abs(np.log(here / there)).max())
        for a, b in ((here, there), (there, here)):
            for order, bound in zip(ORDERS, cost.curve, strict=True):
                if order <= 100:
                    logs = order * np.log(a) - (order - 1) * np.log(b)
                    divergence = np.logaddexp.reduce(logs) / (order - 1)
                    assert divergence <= bound * (1 + 1e-9) + 1e-10
    assert largest <= 1.6 * (1 + 1e-9)
    assert largest >= 0.8  # one choice alone comes near its own epsilon


def test_documents_and_refusals() -> None:
    law = Top("0.7", 2)
    release = Release(law.release(UTILITIES, seed=1), law, cost=law.cost(), private=False)
    again = Release.from_json(release.to_json())
    assert again.mechanism == law
    assert np.array_equal(again.value, release.value)
    for bad in (0, True, 1.5):
        with pytest.raises(InvalidRequest, match="choices must be"):
            Top(1, bad)  # type: ignore[arg-type]
    with pytest.raises(InvalidRequest, match="utilities must be"):
        Top(1, 3).release([1, 2])
