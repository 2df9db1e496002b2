"""A private linear classifier fitted by stochastic gradient descent."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from discreet.core import numbers
from discreet.core.query import Relation
from discreet.core.runner import Procedure
from discreet.errors import InvalidRequest
from discreet.models.design import Design, Floats
from discreet.models.estimators.arrays import check_penalty
from discreet.models.estimators.class_lines import FittedLines, lines_design
from discreet.models.estimators.gradient_descent import METHOD, Descends, privacy_of
from discreet.models.estimators.linear_classifier import FittedClassifier
from discreet.models.estimators.several_classes import SeveralClasses
from discreet.models.gradient.network import Network
from discreet.models.losses import HuberHinge, Logistic, Loss
from discreet.models.protocol import Columns

LOSSES: dict[str, Loss] = {"logistic": Logistic(), "huber_hinge": HuberHinge()}


@dataclass(kw_only=True, eq=False, repr=False)
class SGDClassifier(Descends, SeveralClasses):
    """A linear classifier by private stochastic gradient descent: ``loss`` is "logistic", "huber_hinge" or a Loss.

    ``epsilon`` and ``delta`` are the price of one fit, ``bounds`` the public (lo, hi) of the features, ``classes`` the
    public labels. Rows have a norm of at most 1, so with these losses a ``clip`` of 1 shortens nothing with two classes, and
    one of 1.42 with more. Those have the cross-entropy of a softmax ("logistic"), or the hinge of several classes that
    ``LinearSVC`` has ("huber_hinge"), and a line of ``coef_`` each: all in one descent, at one price. ``ridge``
    is that of the sum of losses. What the other parameters mean is said at ``Descends``: ``expected_rows``, ``lot_size``,
    ``epochs``, ``steps``, ``clip``, ``learning_rate``, ``momentum``, ``iterate``, ``checkpoint``, ``checkpoint_every``,
    ``data_version``. ``verbose`` shows a bar. ``random_state`` is for tests only: what it makes is not private.

    Proof: see ``discreet.models.gradient.engine.descend``.
    """

    loss: Literal["logistic", "huber_hinge"] | Loss = "logistic"

    @property
    def _loss(self) -> Loss:
        if isinstance(self.loss, Loss) and self.loss.classifies:
            return self.loss
        if isinstance(self.loss, str) and self.loss in LOSSES:
            return LOSSES[self.loss]
        raise InvalidRequest(f"loss must be one of {', '.join(LOSSES)}, or a Loss of two classes, got {self.loss!r}")

    @property
    def _probabilities(self) -> bool:  # type: ignore[override]
        return isinstance(self._loss, Logistic)

    def procedure(self, columns: Columns, relation: Relation) -> Procedure[Any]:
        if self._more_than_two(columns):
            check_penalty(self.penalty)
            return self._lines(lines_design(self, columns), columns, relation)
        return self._steps(self._two_classes(columns), columns, relation)

    def _steps(self, design: Design, columns: Columns, relation: Relation) -> Procedure[FittedClassifier]:
        fitted = yield from self._descend_linear(design, self._loss, columns, relation)
        return FittedClassifier(loss=self._loss, **fitted)

    def _lines(self, design: Design, columns: Columns, relation: Relation) -> Procedure[FittedLines]:
        """More than two classes. The hinge is minimised over its width (``perturbed_lines``), and put back in the end."""
        loss, ridge = self._loss, numbers.non_negative(self.ridge, "ridge")
        if not isinstance(loss, Logistic | HuberHinge):
            raise InvalidRequest(f"more than two classes take one of the losses {', '.join(LOSSES)}, got {self.loss!r}")
        width = float(loss.width) if isinstance(loss, HuberHinge) else 1.0
        margin = 1.0 / width if isinstance(loss, HuberHinge) else 0.0
        network = Network((design.width, len(design.target.classes)), None, bias=False, margin=margin)
        # As for two classes: the inverse of the curvature of the mean loss, which is at most 1/2, for the clip norm of 1.
        bend = 0.5 * float(design.most_weight) + width * float(ridge) / self._expected(columns)
        trained, bought = yield from self._descend(
            design, network, columns, relation, self._public_clip / bend, ridge=width * float(ridge)
        )
        lines = width * trained.flat.reshape(design.width, -1).T
        return FittedLines(
            design=design, theta=trained.flat, ridge=ridge, method=METHOD, rows=columns.rows, releases=bought, lines=lines,
            descent=privacy_of(trained, bought, relation, ridge),
        )  # fmt: skip

    def predict_proba(self, X: Any) -> Floats:
        """The probability of each class, for each row; with the logistic loss only."""
        if not self._probabilities:
            raise InvalidRequest("this loss gives classes and scores, no probabilities; use loss='logistic'")
        rows = self.columns_of(X)
        return self.predictor.predict_proba(rows)
