"""Treatment rules that are not linear: outcome-weighted learning with a Gaussian kernel."""

from __future__ import annotations

from dataclasses import dataclass

from discreet.models.estimators.kernel_svc import KernelSVC
from discreet.models.estimators.outcome_weighted import OutcomeWeightedLearner


@dataclass(kw_only=True, eq=False, repr=False)
class KernelOutcomeWeightedLearner(OutcomeWeightedLearner, KernelSVC):
    """``OutcomeWeightedLearner`` with the kernel exp(-beta |x - x'|^2), by random Fourier features as in ``KernelSVC``.

    Weights, propensities and their bound are those of the linear rule; ``components``, ``beta`` and ``key`` those of the
    kernel.

    Proof: random features are drawn without a look at the data and have a norm of at most 1, so what remains is the linear
    rule on them.
    """
