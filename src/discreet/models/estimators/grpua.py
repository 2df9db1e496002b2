"""GRPUA, corrected: gradient perturbation one record at a time, with the step sizes of its paper.

As printed each step uses one record, picked uniformly, and adds noise for a sensitivity of 2/n, as if it had used the
mean of all: n times too little. ``printed_epsilon`` says what that is worth. Here a step is a lot of one expected
person, the noise is what the accountant finds for all steps together, and nothing else differs.
"""

from __future__ import annotations

import math
from typing import Any

from discreet.accounting.lots import noise_multiplier
from discreet.core import numbers
from discreet.core.numbers import Number
from discreet.core.query import Relation
from discreet.errors import InvalidRequest
from discreet.mechanisms.hockey_stick import largest_shift
from discreet.models.design import Design
from discreet.models.estimators.gradient_descent import Descends
from discreet.models.estimators.mlp_classifier import MLPClassifier
from discreet.models.estimators.sgd_classifier import SGDClassifier
from discreet.models.gradient.steps import InverseRoot, StepSize, StronglyConvex
from discreet.models.protocol import Columns

REACH = 10.0  # how far the parameters of a problem without a ridge are thought to be from the start


class SingleRecord(Descends):
    """Steps on one expected person each."""

    def settings(self, columns: Columns | None) -> tuple[int, int, int]:
        if self.lot_size not in (None, 1):
            raise InvalidRequest(
                f"GRPUA takes one record a step, got lot_size={self.lot_size}; use SGDClassifier or MLPClassifier for more"
            )
        expected, _, _ = super().settings(columns)
        steps = math.ceil(self.epochs * expected) if self.steps is None else self.steps
        return expected, 1, steps


class GRPUA(SingleRecord, SGDClassifier):
    """``SGDClassifier`` with single-record steps: lots of one expected person, and steps of 1 / (strength (t + 1)).

    The strength is that of the mean objective, ridge / expected_rows; without a ridge steps fall as 1 / sqrt(t + 1),
    scaled by the noise (Bassily, Smith and Thakurta 2014). Parameters are those of ``SGDClassifier``; ``lot_size`` is
    1.

    Proof: see ``discreet.models.gradient.engine.descend``.
    """

    def _sizes(self, scale: float, clip: float, design: Design | None, columns: Columns, relation: Relation) -> StepSize:
        if self.learning_rate != "auto":
            return super()._sizes(scale, clip, design, columns, relation)
        ridge, (expected, _, steps) = float(numbers.non_negative(self.ridge, "ridge")), self.settings(columns)
        if ridge:
            return StronglyConvex(ridge / expected, scale / clip)
        noise = 0.0
        if self.epsilon is not None and self.delta is not None and self.epsilon != math.inf:
            noise = float(noise_multiplier(self.epsilon, self.delta, numbers.rational(1) / expected, steps, relation))
        assert design is not None
        return InverseRoot.of_noise(REACH, clip, design.width, noise * clip)


class GRPUANetwork(SingleRecord, MLPClassifier):
    """``MLPClassifier`` with single-record steps: lots of one expected person; all else is as there.

    A network is not convex, so no step size of the theorems applies: ``learning_rate`` means what it means for a network.

    Proof: see ``discreet.models.gradient.engine.descend``.
    """


def printed_epsilon(rows: int, step_epsilon: Number, step_delta: Number, delta: Number) -> float:
    """The true epsilon at ``delta`` of GRPUA as printed, from its last iterate alone: n^2 - 1 uniform picks, n = ``rows``.

    The losses are w z with z = 0 or 1, so that the last iterate is a multiple of K + N(0, s^2), K the number of times
    that the record with z = 1 was picked, and s = sqrt(n^2 - 1) / (n mu(step_epsilon, step_delta)) the printed noise of
    all steps. Its law is a binomial mixture of normals, against one normal where that record has z = 0; the divergence
    is summed up.
    """
    import numpy as np
    from scipy.stats import binom, norm

    steps = rows * rows - 1
    deviation = math.sqrt(steps) / (rows * largest_shift(step_epsilon, step_delta))
    spread = 12 * math.sqrt(rows) + 12
    counts = np.arange(max(0, math.floor(rows - spread)), math.ceil(rows + spread) + 1)
    log_weight = binom.logpmf(counts, steps, 1 / rows)
    x = np.linspace(-12 * deviation, counts[-1] + 12 * deviation, 40_001)
    mixed = np.full(x.size, -np.inf)
    for count, weight in zip(counts, log_weight, strict=True):
        mixed = np.logaddexp(mixed, weight + norm.logpdf(x, count, deviation))
    loss: Any = mixed - norm.logpdf(x, 0, deviation)
    mass = np.exp(mixed) * (x[1] - x[0])
    target = float(numbers.probability(delta, "delta"))

    def delta_at(epsilon: float) -> float:
        above = loss > epsilon
        return float((mass[above] * -np.expm1(epsilon - loss[above])).sum())

    low, high = 0.0, 1.0
    while delta_at(high) > target:
        low, high = high, 2 * high
    while high - low > 1e-6 * high:
        middle = (low + high) / 2
        low, high = (middle, high) if delta_at(middle) > target else (low, middle)
    return high
