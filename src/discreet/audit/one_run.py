"""A lower bound on epsilon from a single training run: canaries put in by coin flips, and guesses at the coins.

Many made-up records, each in or out of the table by a fair coin of its own, are trained on at once. Whoever sees the
model guesses the coins of those it feels sure about. A private model makes each guess little better than a coin, so
many right guesses refute the claim, with one run instead of thousands (Steinke, Nasr and Jagielski 2023).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from discreet.audit.lower_bound import CONFIDENCE
from discreet.core.random import Random, chosen
from discreet.errors import InvalidRequest

Train = Callable[[Any], Any]  # which canaries are in (booleans); a score for each, higher where it seems to be in


@dataclass(frozen=True)
class OneRun:
    """What one run certifies: ``epsilon`` is a lower bound at ``delta``, from ``right`` of ``guesses`` guesses."""

    epsilon: float
    delta: float
    right: int
    guesses: int
    canaries: int
    confidence: float

    def refutes(self, epsilon: float) -> bool:
        """Whether a claim of ``epsilon`` at this delta is certainly false."""
        return self.epsilon > epsilon


def one_run(
    train: Train,
    canaries: int,
    guesses: int | None = None,
    delta: float = 0.0,
    *,
    confidence: float = CONFIDENCE,
    seed: int | Random | None = None,
) -> OneRun:
    """Flip a coin for each canary, train once, guess the ``guesses`` surest (half in, half out), and bound epsilon."""
    count = canaries // 4 * 2 if guesses is None else guesses
    if canaries < 4 or not 2 <= count <= canaries or count % 2:
        raise InvalidRequest(f"guesses must be an even number of at most {canaries} canaries, got {count}")
    coins = (chosen(seed).words(canaries) & np.uint64(1)).astype(bool)
    scores = np.asarray(train(coins), np.float64)
    if scores.shape != (canaries,):
        raise InvalidRequest(f"train must return one score for each of {canaries} canaries, got shape {scores.shape}")
    order = np.argsort(scores, kind="stable")
    out, inside = order[: count // 2], order[canaries - count // 2 :]
    right = int(coins[inside].sum() + (~coins[out]).sum())
    return OneRun(least_epsilon(right, count, canaries, delta, confidence), delta, right, count, canaries, confidence)


def least_epsilon(right: int, guesses: int, canaries: int, delta: float = 0.0, confidence: float = CONFIDENCE) -> float:
    """The largest epsilon that so many right guesses rule out, with the confidence asked for; 0 where they rule out none.

    Proof: under (epsilon, delta) the number W of right guesses satisfies P(W >= v) <= f(v) + 2 m delta max over i in 1
    .. v of (f(v - i) - f(v)) / i, with f the upper tail of a binomial of ``guesses`` trials at e^epsilon / (1 +
    e^epsilon) and m the number of canaries (their theorem 5.2). It grows with epsilon; a value seen that had
    probability at most 1 - confidence under a claim refutes it, so the least epsilon that is not refuted is a lower
    bound.
    """
    if not 0 <= right <= guesses <= canaries or guesses < 1:
        raise InvalidRequest(f"right, guesses and canaries must grow in this order, got {right}, {guesses}, {canaries}")
    if not 0 <= delta < 1 or not 0 < confidence < 1:
        raise InvalidRequest(f"an audit needs a delta in [0, 1) and a confidence in (0, 1), got {delta}, {confidence}")
    from scipy.stats import binom

    places = np.arange(right, -1, -1)  # v - i for i = 0 .. v

    def probability(epsilon: float) -> float:
        tail = binom.sf(places - 1, guesses, 1 / (1 + math.exp(-epsilon)))
        slope = float(np.max((tail[1:] - tail[0]) / np.arange(1, len(tail)))) if right else 0.0
        return float(tail[0]) + 2 * canaries * delta * slope

    if probability(0.0) > 1 - confidence:
        return 0.0
    low, high = 0.0, 1.0
    while probability(high) <= 1 - confidence:
        low, high = high, 2 * high
    while high - low > 1e-9 * high:
        middle = (low + high) / 2
        low, high = (middle, high) if probability(middle) <= 1 - confidence else (low, middle)
    return low
