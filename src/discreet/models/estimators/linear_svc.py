"""A private linear support vector machine."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from discreet.core.numbers import Number
from discreet.models.estimators.perturbed_classifier import PerturbedClassifier
from discreet.models.losses import HuberHinge, Loss


@dataclass(kw_only=True, eq=False, repr=False)
class LinearSVC(PerturbedClassifier):
    """A linear support vector machine: the hinge with its corner rounded over ``width``, and a ridge.

    ``width`` h rounds the corner between margins 1 - h and 1 + h; a smaller one is nearer to the hinge and has the larger
    curvature 1 / (2h), for which objective perturbation needs more ridge or more noise. Everything else is as for
    ``LogisticRegression``; there are scores, and no probabilities.
    """

    width: Number = 0.5
    shares: Any = None

    @property
    def _loss(self) -> Loss:
        return HuberHinge(self.width)  # type: ignore[arg-type]
