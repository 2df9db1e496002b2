"""Private multinomial logistic regression."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from discreet.core.numbers import Number
from discreet.core.query import Relation
from discreet.core.runner import Procedure
from discreet.errors import InvalidRequest
from discreet.models.design import Floats
from discreet.models.estimators.arrays import positive_ridge
from discreet.models.estimators.class_lines import FittedLines, lines_design, perturbed_lines
from discreet.models.estimators.classes import ManyClasses
from discreet.models.estimators.private_model import LossModel
from discreet.models.perturbation import free_ridge
from discreet.models.protocol import Columns
from discreet.models.publish.network_predictor import NetworkPredictor


@dataclass(kw_only=True, eq=False, repr=False)
class SoftmaxRegression(ManyClasses, LossModel):
    """Multinomial logistic regression of three classes or more with a ridge, private by noise in its objective.

    All classes are fitted together at one price, not one after another at a price each. ``epsilon`` alone, ``epsilon`` and
    ``delta``, or ``rho`` is that price; ``bounds`` are the public (lo, hi) of the features, ``classes`` the public labels.
    ``method`` is "objective" or "output"; ``ridge`` that of the sum of losses over rows of norm at most 1, of the
    coefficients of all classes. With noise in the objective a ridge of 4 / epsilon (8 / epsilon under replace) makes the
    Jacobian free of charge, and is what ``ridge="auto"`` takes. ``radius`` is as for ``LogisticRegression``.
    ``coef_`` has a line for each class, and lines sum to 0. ``random_state`` is for tests only.
    """

    rho: Number | None = None
    ridge: Any = "auto"
    method: Literal["objective", "output"] = "objective"
    fit_intercept: bool = True
    radius: Number | None = None
    reference: Any = None

    def procedure(self, columns: Columns, relation: Relation) -> Procedure[FittedLines]:
        design = lines_design(self, columns)
        if len(design.target.classes) < 3:
            raise InvalidRequest(
                f"{type(self).__name__} is for three declared classes or more, got "
                f"{list(design.target.classes) or 'a number'}; use LogisticRegression for two"
            )
        auto = self.ridge == "auto"
        ridge = free_ridge(4, design, self.price, relation) if auto else positive_ridge(self.ridge)
        return perturbed_lines(self, design, columns, relation, ridge)

    def _set_fitted(self, fitted: FittedLines) -> None:
        fitted.set_on(self)

    @property
    def predictor(self) -> NetworkPredictor:
        """What predicts: all of a model that is published."""
        from sklearn.utils.validation import check_is_fitted

        check_is_fitted(self)
        fitted: FittedLines = self.fitted_
        return fitted.predictor(self)

    def decision_function(self, X: Any) -> Floats:
        """The score of every class, for each row."""
        rows = self.columns_of(X)
        return self.predictor.decision_function(rows)
