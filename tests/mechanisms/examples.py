"""Instances of every registered law, small enough to enumerate: what the conformance suites run over."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from discreet.core.mechanism import Mechanism
from discreet.mechanisms import (
    DiscreteGaussian,
    DiscreteLaplace,
    Exponential,
    Gaussian,
    Laplace,
    NoNoise,
    ObjectivePerturbation,
    OptimalKeys,
    RandomizedResponse,
    SphericalLaplace,
    ThresholdedKeys,
    TruncatedKeys,
    Tulap,
)
from discreet.mechanisms.top import Top


@dataclass(frozen=True)
class Example:
    """A law, an exact value, a neighbour at exactly ``sensitivity``, and every output worth looking at."""

    law: Mechanism
    exact: Any
    neighbour: Any
    sensitivity: Any
    outputs: list[Any]
    tight: bool = True  # whether some output reaches the pure claim

    def masses(self, exact: Any) -> np.ndarray:
        """The probability of each output, given an exact value."""
        logs = np.array([float(self.law.log_prob(o, exact)) for o in self.outputs])
        return np.exp(logs) * float(getattr(self.law, "grid", 1))

    def __str__(self) -> str:
        return f"{self.law.name}-{str(self.law.to_dict())[:60]}"


def whole(reach: int, step: float = 1.0) -> list[float]:
    return [float(k * step) for k in range(-reach, reach + 1)]


UTILITIES = [0.0, 1.0, 2.0, 1.0, 0.0]
MOVED = [1.0, 0.0, 3.0, 2.0, -1.0]
RAISED = [1.0, 1.0, 2.0, 2.0, 0.0]

EXAMPLES = [
    Example(Laplace("1.5", grid=1), 0.0, 2.0, 2, whole(120)),
    Example(Laplace("0.3", grid=1), 0.0, 1.0, 1, whole(40)),
    Example(Laplace("1.5", grid=1), 0.25, 0.75, "0.5", whole(120)),
    Example(Laplace(4, grid=Fraction(1, 2)), 0.5, -0.5, 1, whole(700, 0.5)),
    Example(Gaussian("1.5", grid=1), 0.0, 1.0, 1, whole(60)),
    Example(Gaussian.costing(1, epsilon=1, delta="1e-3", grid=1), 0.0, 1.0, 1, whole(60)),
    Example(Gaussian.costing(1, epsilon="0.5", delta="1e-2", calibration="classical", grid=1), 0.0, 1.0, 1, whole(120)),
    Example(Gaussian.costing(2, epsilon=2, delta="1e-2", calibration="probabilistic", grid=1), 0.4, 2.4, 2, whole(60)),
    Example(Gaussian.costing(1, rho="0.1", grid=Fraction(1, 4)), 0.0, 1.0, 1, whole(400, 0.25)),
    Example(DiscreteLaplace("1.5"), 0, 1, 1, whole(150)),
    Example(DiscreteLaplace("0.4"), 3, 1, 2, whole(60)),
    Example(DiscreteGaussian("0.7"), 0, 1, 1, whole(25)),
    Example(DiscreteGaussian.costing(2, rho="0.3"), 0, 2, 2, whole(60)),
    Example(Exponential.costing(1, epsilon=1), UTILITIES, MOVED, 1, list(range(5)), tight=False),
    Example(
        Exponential.costing(1, epsilon=2, measure=[1, 2, 0, 3, "0.5"]), UTILITIES, MOVED, 1, list(range(5)), tight=False
    ),
    Example(Exponential.costing(1, epsilon=1, one_sided=True), UTILITIES, RAISED, 1, list(range(5)), tight=False),
    Example(Exponential.costing(1, epsilon=1, method="permute_and_flip"), UTILITIES, MOVED, 1, list(range(5)), tight=False),
    Example(
        Exponential.costing(1, epsilon=1, candidates=list("abcde"), method="permute_and_flip", one_sided=True),
        UTILITIES,
        RAISED,
        1,
        list("abcde"),
        tight=False,
    ),
    Example(RandomizedResponse.keeping("0.75", [False, True]), True, False, 1, [False, True]),
    Example(RandomizedResponse.costing(epsilon=1, categories=["a", "b", "c", "d"]), "b", "d", 1, ["a", "b", "c", "d"]),
    Example(RandomizedResponse.keeping("0.1", ["a", "b", "c"]), "a", "c", 1, ["a", "b", "c"]),
]
# The cells of one have no closed form, one has no noise, one takes an objective, one lies between the whole numbers, three
# find keys, one releases an order: they are compared by tests of their own.
KEYS = {OptimalKeys.name, ThresholdedKeys.name, TruncatedKeys.name}
ELSEWHERE = {SphericalLaplace.name, Top.name, NoNoise.name, ObjectivePerturbation.name, Tulap.name} | KEYS
