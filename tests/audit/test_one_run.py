"""The audit by one run: exact on randomised response, passes our descent, refutes a clipped average."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import discreet as ds
from discreet.audit.one_run import least_epsilon, one_run
from discreet.core.random import Random
from discreet.core.runner import Desk, NoLedger
from discreet.errors import InvalidRequest
from discreet.mechanisms.hockey_stick import largest_shift
from discreet.models.design import Design
from discreet.models.gradient.engine import Run, descend
from discreet.models.gradient.network import Network
from discreet.models.gradient.steps import Constant
from discreet.models.losses import Logistic
from discreet.sources import open_source

CANARIES = 400
DELTA = 1e-9  # 2 m delta has to stay below one minus the confidence


def test_guesses_are_a_binomial() -> None:
    """With delta 0 the bound inverts a binomial tail; all right of r certifies the root of p^r = 1 - confidence."""
    for guesses in (10, 200):
        p = 1e-6 ** (1 / guesses)
        expected = math.log(p / (1 - p))
        assert least_epsilon(guesses, guesses, 500) == pytest.approx(max(0.0, expected), abs=1e-6)
    assert least_epsilon(100, 200, 500) == 0
    assert least_epsilon(190, 200, 500, delta=1e-3) < least_epsilon(190, 200, 500)
    assert least_epsilon(190, 200, 500, delta=1e-9) == pytest.approx(least_epsilon(190, 200, 500), rel=1e-3)


def test_randomised_response_stays_below_its_epsilon() -> None:
    """Each coin is told with probability e/(1+e): 20,000 of them certify most of epsilon 1 and never more (1 in 1e6)."""
    random = np.random.default_rng(1)

    def train(coins: Any) -> Any:
        told = random.uniform(size=len(coins)) < math.e / (1 + math.e)
        return np.where(told, coins, ~coins) + random.uniform(0, 0.1, len(coins))

    found = one_run(train, 20_000, seed=3)
    assert 0.8 < found.epsilon <= 1
    assert found.refutes(0.5)
    assert not found.refutes(1)


def rows_of(coins: Any, size: float = 1.0) -> Any:
    """Canaries with a direction each: the rows of those that are in."""
    return np.eye(len(coins))[coins] * size


def test_our_descent_passes_and_the_audit_has_teeth() -> None:
    """Whole lots, 20 steps, a claim of (6, 1e-9): the certified bound stays below it, and is not nothing."""
    names = [f"x{i}" for i in range(CANARIES)]
    schema = ds.Schema({**dict.fromkeys(names, ds.Real(-1, 1)), "y": ds.Categories((0, 1))})
    design = Design.of(schema, names, "y", intercept=False, radius=1)
    run = Run.within(
        design, Network((CANARIES, 1), Logistic(), bias=False), epsilon=6.0, delta=DELTA, lot=200, steps=20, clip=0.5,
        sizes=Constant(1.0), expected_rows=200, relation="add_remove",
    )  # fmt: skip

    def train(coins: Any) -> Any:
        x = rows_of(coins)
        table = {name: x[:, i] for i, name in enumerate(names)} | {"y": np.ones(len(x), int)}
        return Desk(open_source(table, schema), NoLedger(), Random(5), "add_remove").run(descend(run)).flat

    found = one_run(train, CANARIES, 100, delta=DELTA, seed=1)
    assert 0.2 < found.epsilon < 6
    assert not found.refutes(6.0)


def test_a_clipped_average_is_refuted() -> None:
    """As printed in a thesis: the *average* of a lot is clipped, with noise as if each gradient had been.

    20 whole lots of canaries with large gradients, noise of deviation z C / lot on the average.
    """
    generator = np.random.default_rng(2)
    z = math.sqrt(20) / largest_shift(1, DELTA)

    def train(coins: Any) -> Any:
        total = np.zeros(CANARIES)
        for _ in range(20):
            mean = rows_of(coins, 1000.0).mean(axis=0)
            mean *= min(1.0, 1.0 / math.sqrt(float(mean @ mean)))
            total += mean + generator.normal(0, z / (CANARIES / 2), CANARIES)
        return total

    found = one_run(train, CANARIES, 200, delta=DELTA, seed=1)
    assert found.refutes(1.0)
    assert found.right > 180


def test_refusals() -> None:
    for bad in ((5, 4, 10), (1, 0, 10), (1, 20, 10)):
        with pytest.raises(InvalidRequest):
            least_epsilon(*bad)
    with pytest.raises(InvalidRequest, match="delta"):
        least_epsilon(1, 2, 3, delta=1)
    with pytest.raises(InvalidRequest, match="even"):
        one_run(lambda c: c, 10, 3)
    with pytest.raises(InvalidRequest, match="one score"):
        one_run(lambda c: c[:2], 10)
