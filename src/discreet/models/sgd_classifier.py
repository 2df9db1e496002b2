"""A private linear classifier fitted by stochastic gradient descent."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from discreet.core import numbers
from discreet.core.numbers import Number
from discreet.core.query import Relation
from discreet.core.runner import Procedure
from discreet.errors import InvalidRequest
from discreet.models.design import Floats
from discreet.models.estimator import Columns, Privacy, check_penalty
from discreet.models.gradient.descent import Descends, privacy_of
from discreet.models.gradient.engine import Trained
from discreet.models.gradient.network import Network
from discreet.models.linear_classifier import Fitted, LinearClassifier
from discreet.models.losses import HuberHinge, Logistic, Loss

LOSSES: dict[str, Loss] = {"logistic": Logistic(), "huber_hinge": HuberHinge()}


@dataclass(frozen=True, eq=False)
class Descended(Fitted):
    """A linear model that a descent ended with."""

    trained: Trained | None = None
    relation: Relation = "add_remove"

    @property
    def privacy(self) -> Privacy:
        assert self.trained is not None
        return privacy_of(self.trained, self.releases, self.relation, self.ridge)


class SGDClassifier(Descends, LinearClassifier):
    """A linear classifier by private stochastic gradient descent: ``loss`` is "logistic", "huber_hinge" or a Loss.

    ``epsilon`` and ``delta`` are the price of one fit, ``bounds`` the public (lo, hi) of the features, ``classes`` the
    two public labels. Rows have a norm of at most 1, so with these losses a ``clip`` of 1 shortens nothing. ``ridge``
    is that of the sum of losses. What the other parameters mean is said at ``Descends``: ``expected_rows``,
    ``lot_size``, ``epochs``, ``steps``, ``clip``, ``learning_rate``, ``momentum``, ``iterate``, ``checkpoint``,
    ``checkpoint_every``, ``data_version``. ``verbose`` shows a bar. ``random_state`` is for tests only: what it makes
    is not private.

    Proof: see ``discreet.models.gradient.engine.descend``.
    """

    method = "gradient descent"
    rho = None

    def __init__(
        self,
        *,
        loss: Literal["logistic", "huber_hinge"] | Loss = "logistic",
        epsilon: Number | None = None,
        delta: Number | None = None,
        bounds: Any = None,
        classes: Any = None,
        ridge: Number = 0.0,
        fit_intercept: bool = True,
        penalty: str = "ridge",
        radius: Number | None = None,
        weight_bound: Number = 1.0,
        expected_rows: int | None = None,
        lot_size: int | None = None,
        epochs: float = 10,
        steps: int | None = None,
        clip: Any = 1.0,
        learning_rate: Any = "auto",
        momentum: float = 0.0,
        iterate: Literal["last", "average"] = "average",
        checkpoint: Any = None,
        checkpoint_every: int | None = None,
        data_version: str | None = None,
        verbose: bool = False,
        neighbors: Relation = "add_remove",
        ledger: Any = None,
        random_state: Any = None,
    ) -> None:
        self.loss = loss
        self.epsilon = epsilon
        self.delta = delta
        self.bounds = bounds
        self.classes = classes
        self.ridge = ridge
        self.fit_intercept = fit_intercept
        self.penalty = penalty
        self.radius = radius
        self.weight_bound = weight_bound
        self.expected_rows = expected_rows
        self.lot_size = lot_size
        self.epochs = epochs
        self.steps = steps
        self.clip = clip
        self.learning_rate = learning_rate
        self.momentum = momentum
        self.iterate = iterate
        self.checkpoint = checkpoint
        self.checkpoint_every = checkpoint_every
        self.data_version = data_version
        self.verbose = verbose
        self.neighbors = neighbors
        self.ledger = ledger
        self.random_state = random_state

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

    def _procedure(self, columns: Columns, relation: Relation) -> Procedure[Fitted]:
        check_penalty(self.penalty)
        design = self._design(columns)
        if len(design.target.classes) != 2:
            raise InvalidRequest(
                f"the target {columns.target!r} must be declared as Categories of two labels, "
                f"got {list(design.target.classes) or 'a number'}"
            )
        return self._steps(design, columns, relation)

    def _steps(self, design: Any, columns: Columns, relation: Relation) -> Procedure[Fitted]:
        ridge = numbers.non_negative(self.ridge, "ridge")
        loss, expected = self._loss, self._expected(columns)
        network = Network((design.width, 1), loss, bias=False)
        # The inverse of the curvature of the mean loss, the largest step that cannot overshoot; for the clip norm of 1.
        scale = self._public_clip / (float(loss.curvature * design.most_weight) + float(ridge) / expected)
        trained, bought = yield from self._descend(design, network, columns, relation, scale, ridge=float(ridge))
        return Descended(
            design, loss, trained.flat, ridge, self.method, columns.rows, bought, trained=trained, relation=relation
        )

    def predict_proba(self, X: Any) -> Floats:
        """The probability of each class, for each row; with the logistic loss only."""
        if not self._probabilities:
            raise InvalidRequest("this loss gives classes and scores, no probabilities; use loss='logistic'")
        yes = 0.5 * (1.0 + np.tanh(0.5 * self.decision_function(X)))
        return np.column_stack([1.0 - yes, yes])
