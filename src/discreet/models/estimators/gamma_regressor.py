"""Private gamma regression, with confidence intervals."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

from discreet.models.design import Design
from discreet.models.estimators.log_linear import LogLinear
from discreet.models.losses import GammaLoss


@dataclass(kw_only=True, eq=False, repr=False)
class GammaRegressor(LogLinear):
    """Gamma regression with a ridge: the logarithm of an expected amount (a cost, a duration) is linear in the features.

    ``target_bounds`` are the public (lo, hi) of the amounts, lo > 0; others are clipped to them. Means are modelled from lo
    up to hi: the score 0 stands for their geometric mean, and below lo the loss goes on as a line, which is what bounds how
    far one person pulls. A typical person pulls lo / hi times as far, so n people count like n lo / hi of them beside the
    noise: where bounds are far apart, or amounts may be 0, a ``PoissonRegressor`` models the same logarithm with less noise.
    ``ridge`` is that of the sum of losses times lo / hi, on rows of norm at most 1. Everything else is as for
    ``PoissonRegressor``.

    Proof: over hi the loss has slopes in [-1, 1] and a curvature of at most 1 (``GammaLoss``); the rest is that of
    ``Problem`` and ``ObjectivePerturbation``.
    """

    _numbers: ClassVar[str] = "amounts"
    _positive: ClassVar[bool] = True

    def _loss_of(self, design: Design) -> GammaLoss:
        return GammaLoss(Fraction(design.target.ends[0]))
