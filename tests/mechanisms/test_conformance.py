"""Every registered law: its samples against its density, its cost against the divergence of its density."""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np
import pytest
from scipy import stats

from discreet.core.cost import ORDERS
from discreet.core.mechanism import mechanisms
from discreet.core.random import Random
from discreet.core.release import Release

from .examples import ELSEWHERE, EXAMPLES, Example

every = pytest.mark.parametrize("example", EXAMPLES, ids=str)


def ours(registry: Any) -> set[str]:
    """The words that the package registers itself; a page of the documentation may have added its own."""
    return {word for word, module in registry.homes().items() if module.startswith("discreet.")}


def test_every_law_has_an_example() -> None:
    assert {e.law.name for e in EXAMPLES} | ELSEWHERE == ours(mechanisms)


@every
def test_probabilities_sum_to_one(example: Example) -> None:
    assert example.masses(example.exact).sum() == pytest.approx(1, abs=1e-9)
    assert example.masses(example.neighbour).sum() == pytest.approx(1, abs=1e-9)


@every
def test_samples_follow_the_density(example: Example) -> None:
    """Chi-squared over 20,000 draws, cells with at least 5 expected; false alarm 1e-6."""
    runs = 20_000
    random = Random(7)
    if hasattr(example.law, "grid"):
        drawn = example.law.release(np.full(runs, float(example.exact)), seed=random).tolist()
    elif example.law.name == "randomized_response":
        drawn = example.law.release([example.exact] * runs, seed=random)
    else:
        drawn = [example.law.release(example.exact, seed=random) for _ in range(runs)]
    place = {o: i for i, o in enumerate(example.outputs)}
    seen = np.bincount([place[d] for d in drawn], minlength=len(place)).astype(float)
    expected = example.masses(example.exact) * runs
    big = expected >= 5
    assert seen[expected == 0].sum() == 0
    seen = np.append(seen[big], seen[~big].sum())
    expected = np.append(expected[big], expected[~big].sum())
    keep = expected > 0
    statistic = ((seen[keep] - expected[keep]) ** 2 / np.maximum(expected[keep], 1)).sum()
    assert stats.chi2.sf(statistic, keep.sum() - 1) > 1e-6


@every
def test_pure_claim_bounds_every_ratio(example: Example) -> None:
    cost = example.law.cost(example.sensitivity)
    if cost.epsilon is None or cost.delta:
        return
    p, q = example.masses(example.exact), example.masses(example.neighbour)
    both = (p > 1e-290) & (q > 1e-290)
    largest = np.abs(np.log(p[both] / q[both])).max()
    assert largest <= float(cost.epsilon) * (1 + 1e-9)
    assert not example.tight or largest >= float(cost.epsilon) * 0.999


@every
def test_renyi_curve_bounds_the_divergence(example: Example) -> None:
    """In both directions and at every order, on the enumerated law."""
    cost = example.law.cost(example.sensitivity)
    for a, b in ((example.exact, example.neighbour), (example.neighbour, example.exact)):
        with np.errstate(divide="ignore"):
            log_p, log_q = np.log(example.masses(a)), np.log(example.masses(b))
        both = np.isfinite(log_p) & np.isfinite(log_q)
        log_p, log_q = log_p[both], log_q[both]
        for order, bound in zip(ORDERS, cost.curve, strict=True):
            if order > 100:
                continue
            divergence = np.logaddexp.reduce(order * log_p - (order - 1) * log_q) / (order - 1)
            assert divergence <= bound * (1 + 1e-9) + 1e-10, order
            assert cost.rho is None or divergence <= float(cost.rho) * order + 1e-10


@every
def test_approximate_claim_bounds_the_hockey_stick(example: Example) -> None:
    cost = example.law.cost(example.sensitivity)
    if cost.epsilon is None:
        return
    for a, b in ((example.exact, example.neighbour), (example.neighbour, example.exact)):
        p, q = example.masses(a), example.masses(b)
        delta = np.maximum(p - math.exp(cost.epsilon) * q, 0).sum()
        assert delta <= float(cost.delta) * (1 + 1e-9) + 1e-12


@every
def test_neighbours_share_their_support(example: Example) -> None:
    """What one input can release, its neighbour can: same set of outputs with positive probability."""
    assert ((example.masses(example.exact) > 0) == (example.masses(example.neighbour) > 0)).mean() > 0.95
    with np.errstate(divide="ignore"):
        a = [np.isfinite(example.law.log_prob(o, example.exact)) for o in example.outputs]
        b = [np.isfinite(example.law.log_prob(o, example.neighbour)) for o in example.outputs]
    assert a == b


@every
def test_document_round_trip(example: Example) -> None:
    value = example.law.release(example.exact, seed=1)
    release = Release(value, example.law, cost=example.law.cost(example.sensitivity), private=False)
    again = Release.from_json(release.to_json())
    assert json.loads(release.to_json()) == json.loads(json.dumps(release.to_dict()))
    assert again.mechanism == example.law
    assert again.mechanism.cost(example.sensitivity) == example.law.cost(example.sensitivity)
    assert again.value == value
    assert again.log_prob(example.exact) == release.log_prob(example.exact)


@pytest.mark.parametrize("name", sorted(mechanisms))
def test_proof_is_written(name: str) -> None:
    assert "Proof:" in (mechanisms[name].__doc__ or "")


@every
def test_same_seed_same_noise(example: Example) -> None:
    assert example.law.release(example.exact, seed=3) == example.law.release(example.exact, seed=3)
