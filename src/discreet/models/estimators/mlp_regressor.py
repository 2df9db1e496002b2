"""A private neural network for a number."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Literal

from discreet.core.query import Relation
from discreet.core.runner import Procedure
from discreet.errors import InvalidRequest
from discreet.models.design import Floats
from discreet.models.estimators.mlp_classifier import FittedNetwork, Layered
from discreet.models.estimators.regressor import NumberModel
from discreet.models.estimators.sgd_regressor import LOSSES
from discreet.models.gradient.network import Network, hidden_sizes, row_by_row
from discreet.models.protocol import Columns
from discreet.models.publish.network_predictor import NumberNetworkPredictor


@dataclass(kw_only=True, eq=False, repr=False)
class MLPRegressor(Layered, NumberModel):
    """A network of linear layers with ``activation`` between them and one output, by private stochastic gradient descent.

    The target counts from the middle of its public ``target_bounds``, in halves of their distance; ``loss`` is "squared" or
    "huber". What the other parameters mean is said at ``MLPClassifier`` and ``Descends``.

    Proof: see ``discreet.models.gradient.engine.descend``.
    """

    loss: Literal["squared", "huber"] = "squared"
    epochs: float = 20

    def procedure(self, columns: Columns, relation: Relation) -> Procedure[FittedNetwork]:
        self._check_target(columns)
        if self.loss not in LOSSES:
            raise InvalidRequest(f"loss must be one of {', '.join(LOSSES)}, got {self.loss!r}")
        design = self._rows(columns)
        design = replace(design, target=replace(design.target, centred=True))  # which the bias of the output can answer
        sizes = hidden_sizes(self.hidden_layer_sizes)
        network = Network((design.width, *sizes, 1), LOSSES[self.loss], True, self.activation)
        return self._steps(design, network, columns, relation)

    def _set_fitted(self, fitted: FittedNetwork) -> None:
        fitted.set_layers(self)

    def _guesses(self, X: Any) -> Floats:
        return self.predictor.predict(self.columns_of(X), row_by_row)

    @property
    def predictor(self) -> NumberNetworkPredictor:
        """What predicts: all of a model that is published."""
        from sklearn.utils.validation import check_is_fitted

        check_is_fitted(self)
        fitted: FittedNetwork = self.fitted_
        target = fitted.design.target
        return NumberNetworkPredictor(**fitted.layers, activation=self.activation, bounds=(target.lo, target.hi))
