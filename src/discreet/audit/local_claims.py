"""The claims of local laws: one person's report, for two values as far apart as they can be."""

from __future__ import annotations

import time
from collections.abc import Callable
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np

from discreet import local
from discreet.audit.lower_bound import CONFIDENCE, lower_bound
from discreet.audit.row import Row
from discreet.audit.views import Floats
from discreet.local import LocalMechanism

_ONE = Fraction(1)
LOCAL: list[tuple[LocalMechanism, Any, Any]] = [
    (local.RandomizedResponse(_ONE, ("a", "b", "c")), "a", "b"),
    (local.OptimizedUnary(_ONE, 6), 0, 1),
    (local.LocalHash(_ONE, 8), 0, 1),
    (local.Hadamard(_ONE, 6), 0, 1),
    (local.SubsetSelection(_ONE, 8), 0, 1),
    (local.Duchi(_ONE), -1.0, 1.0),
    (local.Piecewise(_ONE), -1.0, 1.0),
    (local.Hybrid(_ONE), -1.0, 1.0),
    (local.TruncatedLaplace(_ONE), -1.0, 1.0),
    (local.Cube(_ONE, 4), [1.0] * 4, [-1.0] * 4),
    (local.OneCoordinate(_ONE, 4), [1.0] * 4, [-1.0] * 4),
    (local.PrivUnit(_ONE, 4), [0.5] * 4, [-0.5] * 4),
    (local.DyadicTree(_ONE, (Fraction(0), Fraction(8)), 3), 0.0, 7.9),
]


def reports(trials: int) -> list[tuple[str, Callable[[], Row]]]:
    """Every local law by the likelihood ratio of its reports, and a descent that hears one person at each step."""
    laws = [(law.name, partial(_law, law, a, b, trials, CONFIDENCE)) for law, a, b in LOCAL]
    return [*laws, ("descent", partial(_descent, trials // 100, CONFIDENCE))]


def _law(law: LocalMechanism, a: Any, b: Any, trials: int, confidence: float) -> Row:
    start = time.perf_counter()

    def run(value: Any, n: int) -> Floats:
        sent = law.reports([value] * n)
        return law.log_prob(sent, a) - law.log_prob(sent, b)

    claim = float(law.epsilon)
    found = lower_bound(run, a, b, trials, confidence=confidence, batched=True).epsilon
    return Row("local", law.name, claim, 0.0, found, found <= claim, time.perf_counter() - start)


def _descent(trials: int, confidence: float) -> Row:
    """The path of two steps, of two people, of whom the first is changed: it costs that person one report."""
    start = time.perf_counter()
    law = local.Cube(Fraction(1), 2)

    def run(first: Any) -> Floats:
        people = np.array([first, [1.0, 1.0, 1.0]])
        return np.ravel(local.local_sgd(people, local.logistic_gradient, law, start=(0.0, 0.0), steps=2).path[1:])

    found = lower_bound(run, [1.0, 1.0, 1.0], [1.0, 1.0, -1.0], trials, confidence=confidence).epsilon
    return Row("local", "descent, two steps", 1.0, 0.0, found, found <= 1, time.perf_counter() - start)
