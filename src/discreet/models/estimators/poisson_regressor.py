"""Private Poisson regression, with confidence intervals."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from discreet.core import numbers
from discreet.core.numbers import Number
from discreet.models.design import Design
from discreet.models.estimators.log_linear import LogLinear
from discreet.models.losses import PoissonLoss


@dataclass(kw_only=True, eq=False, repr=False)
class PoissonRegressor(LogLinear):
    """Poisson regression with a ridge: the logarithm of the expected count is linear in the features.

    ``target_bounds`` are the public (0, Y) of the counts; larger ones are clipped. Rates are modelled from small ones up to
    Y: a score of ``reach`` stands for Y, a score of 0 for Y e^-reach, and beyond Y the loss goes on as a line, which is
    what bounds how far one person pulls (an exponential alone is not bounded). ``ridge`` is that of the sum of losses over
    Y, on rows of norm at most 1. ``method`` is "objective" or "output". ``intervals`` pays for ``confidence_intervals``
    and ``summary`` out of the same price, in three ``shares`` (coefficients, curvature, slopes). Numbers are counted from
    the middle of their bounds, which costs nothing. Everything else is as for ``LinearRegression``.

    Proof: over Y the loss has slopes in [-1, 1] and a curvature of at most 1 (``PoissonLoss``); the rest is that of
    ``Problem`` and ``ObjectivePerturbation``.
    """

    reach: Number = 2
    _numbers: ClassVar[str] = "counts"
    _positive: ClassVar[bool] = False

    def _loss_of(self, design: Design) -> PoissonLoss:
        return PoissonLoss(numbers.positive(self.reach, "reach"))
