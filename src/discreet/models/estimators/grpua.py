"""GRPUA, corrected: gradient perturbation one record at a time, with the step sizes of its paper.

As printed each step uses one record, picked uniformly, and adds noise for a sensitivity of 2/n, as if it had used the
mean of all: n times too little. ``printed_epsilon`` says what that is worth. Here a step is a lot of one expected
person, the noise is what the accountant finds for all steps together, and nothing else differs.
"""

from __future__ import annotations

import math
from typing import Any

from discreet.accounting.lots import halved, noise_multiplier
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
        expected, _, steps = super().settings(columns)
        return expected, 1, math.ceil(self.epochs * expected) if self.steps is None else steps


class GRPUA(SingleRecord, SGDClassifier):
    """``SGDClassifier`` with single-record steps: lots of one expected person, and steps of 1 / (strength (t + 1)).

    The strength is that of the mean objective, ridge / expected_rows; without a ridge steps fall as 1 / sqrt(t + 1),
    scaled by the noise (Bassily, Smith and Thakurta 2014). Parameters are those of ``SGDClassifier``; ``lot_size`` is
    1, and ``steps`` may be "theorem", see ``theorem_steps``. A preview shows the steps and, with a ridge, how far from the
    best objective they end (``discreet.models.gradient.utility``).

    Proof: see ``discreet.models.gradient.engine.descend``.
    """

    def settings(self, columns: Columns | None) -> tuple[int, int, int]:
        if self.steps != "theorem":
            return super().settings(columns)
        if self.epsilon is None or self.delta is None or self.epsilon == math.inf:
            raise InvalidRequest(
                f"steps='theorem' follows from epsilon and delta, got {self.epsilon} and {self.delta}; give both"
            )
        relation = self.neighbors if columns is None else columns.schema.neighbors
        expected = self._expected(columns)
        return expected, 1, theorem_steps(self.epsilon, self.delta, expected, relation)

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


def theorem_steps(epsilon: Number, delta: Number, rows: int, relation: Relation) -> int:
    """T = rows**2 (Bassily, Smith and Thakurta 2014, theorem 2.4), or (2 mu rows)**2 where that is less.

    The theorem takes rows**2 steps so that what is left to descend is no more than what the noise costs. With mu the
    largest shift of a normal law that is (epsilon, delta)-private (of a removal, where a replacement is one of two), T steps
    on one record each need noise of about sqrt(T) / (mu rows) clip norms where that is large, and more where it is not. At
    (2 mu rows)**2 steps it is about 2: what V / T of ``utility_bound`` may still fall by is a seventh of its noise, as
    exp(1/4) - 1 is to 1/4, and the choice of records, which adds 1 to 4 for each parameter.
    """
    e, d = float(numbers.positive(epsilon, "epsilon")), float(numbers.probability(delta, "delta"))
    shift = largest_shift(*(halved(e, d) if relation != "add_remove" else (e, d)))
    return max(1, min(rows**2, math.ceil((2 * float(shift) * rows) ** 2)))


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
