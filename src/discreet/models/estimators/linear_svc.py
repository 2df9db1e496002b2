"""A private linear support vector machine."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from discreet.core.numbers import Number
from discreet.core.query import Relation
from discreet.core.runner import Procedure
from discreet.errors import InvalidRequest
from discreet.models.design import Design
from discreet.models.estimators.arrays import check_penalty, positive_ridge
from discreet.models.estimators.class_lines import lines_design, perturbed_lines
from discreet.models.estimators.perturbed_classifier import PerturbedClassifier
from discreet.models.estimators.several_classes import SeveralClasses
from discreet.models.losses import HuberHinge, Loss
from discreet.models.perturbation import free_ridge
from discreet.models.protocol import Columns


@dataclass(kw_only=True, eq=False, repr=False)
class LinearSVC(SeveralClasses, PerturbedClassifier):
    """A linear support vector machine: the hinge with its corner rounded over ``width``, and a ridge.

    ``width`` h rounds the corner between margins 1 - h and 1 + h; a smaller one is nearer to the hinge and has the larger
    curvature 1 / (2h), for which objective perturbation needs more ridge or more noise. Everything else is as for
    ``LogisticRegression``; there are scores, and no probabilities.

    More than two ``classes`` are fitted together at one price, not one after another: the loss is the hinge of Crammer and
    Singer, how far the largest score of another class, and 1, passes that of the true one, with its maximum rounded as h
    times the logarithm of a sum of exponentials. ``coef_`` then has a line for each class, ``ridge`` is that of all lines,
    and "auto" is the least at which the Jacobian is free of charge, 4 / (h epsilon), twice that under replace. ``method`` is
    "objective" or "output"; there are no intervals.
    """

    ridge: Any = 1.0
    width: Number = 0.5
    shares: Any = None

    @property
    def _loss(self) -> Loss:
        return HuberHinge(self.width)  # type: ignore[arg-type]

    def procedure(self, columns: Columns, relation: Relation) -> Procedure[Any]:
        if not self._more_than_two(columns):
            return super().procedure(columns, relation)
        check_penalty(self.penalty)
        if self.intervals or self.shares is not None:
            raise InvalidRequest(
                "confidence intervals are for two classes; leave intervals and shares out, or fit each class against the "
                "others, which pays for each"
            )
        design, width = lines_design(self, columns), HuberHinge(self.width).width  # type: ignore[arg-type]
        return perturbed_lines(self, design, columns, relation, self._ridge_of_lines(design, relation, width), width)

    def _ridge_of_lines(self, design: Design, relation: Relation, width: Fraction) -> Fraction:
        auto = isinstance(self.ridge, str) and self.ridge == "auto"
        return free_ridge(4, design, self.price, relation) / width if auto else positive_ridge(self.ridge)
