"""Output perturbation of a descent as Zhang, Zheng, Mou and Wang (2017) have it, and how near such a fit comes to the best.

Their descent has the rate 1 / smoothness and a number of steps that balances what is left to descend with the noise, which
grows with the steps. Their distances are 2.5 to 3 times those of ``Descent``, which are used here.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from discreet.core import numbers
from discreet.core.mechanism import Mechanism
from discreet.core.numbers import Number
from discreet.core.price import Price
from discreet.core.query import Relation
from discreet.mechanisms.priced import law_in_l2
from discreet.models.design import Design, Floats
from discreet.models.losses import Loss
from discreet.models.queries.opera import Descent, check_whole, public_rows

MOST_STEPS = 10_000


@dataclass(frozen=True)
class OutPert:
    """A ``method`` for linear classifiers under replace: descent at the rate 1 / smoothness, then noise, once.

    ``steps`` are those with the least ``utility_bound`` unless they are given: found from public numbers, and shown by a
    preview. Without a ridge the bound needs ``reach``, a guess of the length of the best coefficients.
    """

    steps: int | None = None
    reach: Number = 1

    def __post_init__(self) -> None:
        if self.steps is not None:
            object.__setattr__(self, "steps", check_whole(self.steps, "steps"))
        numbers.positive(self.reach, "reach")

    def __str__(self) -> str:
        return "outpert"

    def query(
        self, design: Design, loss: Loss, ridge: Fraction, relation: Relation, rows: int | None, price: Price
    ) -> Descent:
        """The descent on a table whose number of rows is public."""
        rate = 1 / (design.most_weight * loss.curvature + ridge / public_rows("outpert", relation, rows))
        first = Descent(design, loss, ridge, public_rows("outpert", relation, rows), 1, rate)
        if self.steps is not None:
            return Descent(design, loss, ridge, first.rows, self.steps, rate)
        law = law_in_l2(price, first.distance(relation), design.width)
        steps = np.arange(1, MOST_STEPS + 1)
        gone = float(rate * first.shrinking)
        grown = -np.expm1(steps * np.log1p(-gone)) / gone if gone else steps.astype(np.float64)
        bound = _to_go(first, steps, float(numbers.positive(self.reach, "reach")))
        bound += smoothness(first) / 2 * noise_length(law, design.width) * grown**2
        return Descent(design, loss, ridge, first.rows, int(steps[np.argmin(bound)]), rate)


def utility_bound(query: Descent, law: Mechanism, reach: Number | None = None) -> float | None:
    """The most by which the expected objective exceeds the best one, the ridge included, in the mean over rows.

    With b the smoothness, m the strong convexity and z the noise it is (b / 2) ((1 - rate m)^(2 steps) R^2 + E|z|^2), R the
    largest slope over m; without a ridge R^2 / (2 rate steps) + (b / 2) E|z|^2, where R = ``reach`` is said, and else None.

    Proof: z has mean 0 and is independent of the last point p (its rounding to a fine grid is left out). A function of
    smoothness b exceeds its least value at q by at most (b / 2)|. - q|^2, so in expectation by at most (b / 2)(|p - q|^2 +
    E|z|^2). Every step brings the point closer to q by 1 - rate m (``Descent``), from 0, and m |q| = |mean gradient of the
    losses at q| <= the largest slope. Without a ridge, smoothness bounds E F(p + z) - F(p) by (b / 2) E|z|^2, and a step
    of rate <= 1 / b from p to p' has F(p') - F(q) <= (|p - q|^2 - |p' - q|^2) / (2 rate) and goes down: the mean over
    steps of the left is at most R^2 / (2 rate steps), and the last is the least of them.
    """
    far = smoothness(query) / 2 * noise_length(law, query.design.width)
    if query.ridge:
        return float(_to_go(query, np.array([query.steps]), 0.0)[0]) + far
    if reach is None or float(query.rate) * smoothness(query) > 1 + 1e-12:
        return None
    return float(_to_go(query, np.array([query.steps]), float(numbers.positive(reach, "reach")))[0]) + far


def smoothness(query: Descent) -> float:
    """b: the largest curvature of the mean objective."""
    return float(query.design.most_weight * query.loss.curvature + query.shrinking)


def noise_length(law: Mechanism, width: int) -> float:
    """E|z|^2 of noise on ``width`` coordinates: the sum of their variances."""
    return float(np.sum(law.deviation(width) ** 2))


def _to_go(query: Descent, steps: npt.NDArray[np.int64], reach: float) -> Floats:
    """How far the objective may be from its least value after so many steps, without noise."""
    m, rate = float(query.shrinking), float(query.rate)
    if not m:
        return np.asarray(reach**2 / (2 * rate * steps))
    start = float(query.design.most_weight * query.loss.slope) / m
    return np.asarray(smoothness(query) / 2 * start**2 * np.exp(2 * steps * np.log1p(-rate * m)))
