"""A private linear regression fitted by stochastic gradient descent."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from discreet.core import numbers
from discreet.core.numbers import Number
from discreet.core.query import Relation
from discreet.core.runner import Procedure
from discreet.errors import InvalidRequest
from discreet.models.estimator import Columns, Privacy, check_penalty
from discreet.models.gradient.descent import Descends, privacy_of
from discreet.models.gradient.engine import Trained
from discreet.models.gradient.network import Network
from discreet.models.losses import Huber, Loss, Squared
from discreet.models.regressor import FittedNumber, Regressor

LOSSES: dict[str, Loss] = {"huber": Huber(), "squared": Squared()}


@dataclass(frozen=True, eq=False)
class DescendedNumber(FittedNumber):
    """A linear regression that a descent ended with."""

    trained: Trained | None = None
    relation: Relation = "add_remove"

    @property
    def privacy(self) -> Privacy:
        assert self.trained is not None
        return privacy_of(self.trained, self.releases, self.relation, self.ridge)


class SGDRegressor(Descends, Regressor):
    """A linear regression by private stochastic gradient descent: ``loss`` is "squared", "huber" or a Loss of a number.

    ``target_bounds`` are the public (lo, hi) of the target, which is divided by the larger of them: with the Huber loss
    residuals beyond that count linearly. The squared loss has no largest slope; ``clip`` is what bounds it. Everything
    else is as for ``SGDClassifier``.

    Proof: see ``discreet.models.gradient.engine.descend``.
    """

    rho = None

    def __init__(
        self,
        *,
        loss: Literal["squared", "huber"] | Loss = "squared",
        epsilon: Number | None = None,
        delta: Number | None = None,
        bounds: Any = None,
        target_bounds: Any = None,
        ridge: Number = 0.0,
        fit_intercept: bool = True,
        penalty: str = "ridge",
        weight_bound: Number = 1.0,
        expected_rows: int | None = None,
        lot_size: int | None = None,
        epochs: float = 20,
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
        self.target_bounds = target_bounds
        self.ridge = ridge
        self.fit_intercept = fit_intercept
        self.penalty = penalty
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
        if isinstance(self.loss, Loss) and not self.loss.classifies:
            return self.loss
        if isinstance(self.loss, str) and self.loss in LOSSES:
            return LOSSES[self.loss]
        raise InvalidRequest(f"loss must be one of {', '.join(LOSSES)}, or a Loss of a number, got {self.loss!r}")

    def _procedure(self, columns: Columns, relation: Relation) -> Procedure[FittedNumber]:
        check_penalty(self.penalty)
        return self._steps(columns, relation)

    def _steps(self, columns: Columns, relation: Relation) -> Procedure[FittedNumber]:
        design, loss = self._design(columns), self._loss
        ridge = numbers.non_negative(self.ridge, "ridge")
        network = Network((design.width, 1), loss, bias=False)
        scale = self._public_clip / (float(loss.curvature * design.most_weight) + float(ridge) / self._expected(columns))
        trained, bought = yield from self._descend(design, network, columns, relation, scale, ridge=float(ridge))
        method = "gradient descent"
        return DescendedNumber(design, trained.flat, ridge, method, columns.rows, bought, trained=trained, relation=relation)
