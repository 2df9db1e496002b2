"""A private neural network for classification."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, Literal, Self

import numpy as np

from discreet.core import numbers
from discreet.core.numbers import Number
from discreet.core.query import Relation, check_relation
from discreet.core.release import Release
from discreet.core.runner import Desk, Procedure
from discreet.core.schema import Column, Real, Schema
from discreet.errors import InvalidRequest
from discreet.models.design import Design, Floats
from discreet.models.estimators.classes import ManyClasses
from discreet.models.estimators.decision import Thresholded
from discreet.models.estimators.gradient_descent import Descends, privacy_of
from discreet.models.estimators.privacy import Privacy
from discreet.models.evaluate.network_rule import NetworkRule
from discreet.models.gradient.blocks_elsewhere import blocks
from discreet.models.gradient.clipping import to_numpy
from discreet.models.gradient.device import DeviceTable, namespace
from discreet.models.gradient.engine import Trained
from discreet.models.gradient.lot_gradient import block_of
from discreet.models.gradient.network import Activation, Network, classifier, hidden_sizes
from discreet.models.protocol import Columns
from discreet.models.publish.network_predictor import NetworkPredictor


@dataclass(frozen=True, eq=False)
class FittedNetwork:
    """What was released: the parameters of a network, and how they were made."""

    design: Design
    network: Network
    trained: Trained
    ridge: Fraction
    relation: Relation
    releases: tuple[Release, ...]

    @property
    def theta(self) -> Any:
        """All parameters, as one vector."""
        return self.trained.flat

    @property
    def rule(self) -> NetworkRule:
        """How it is judged."""
        return NetworkRule(replace(self.design, weight=None), self.network, self.trained.flat)

    @property
    def privacy(self) -> Privacy:
        """What it cost."""
        return privacy_of(self.trained, self.releases, self.relation, self.ridge)

    @property
    def layers(self) -> dict[str, Any]:
        """What a published network holds of it, whatever it predicts."""
        layers = tuple(self.network.layers(self.trained.flat))
        radius = None if self.design.radius is None else 1.0
        return {"inputs": self.design.inputs, "units": self.design.units, "layers": layers, "radius": radius}

    def set_layers(self, model: Any) -> None:
        """Set the attributes of scikit-learn's networks."""
        layers = self.network.layers(self.trained.flat)
        model.coefs_ = [layer[:-1] for layer in layers]
        model.intercepts_ = [layer[-1] for layer in layers]
        model.feature_names_ = self.design.names
        model.n_layers_ = len(layers) + 1
        model.privacy_ = self.privacy
        model.fitted_ = self


@dataclass(kw_only=True, eq=False, repr=False)
class Layered(Descends):
    """What networks of linear layers share: ``MLPClassifier`` says what the parameters mean."""

    hidden_layer_sizes: Any = (100, 100)
    activation: Activation = "relu"
    radius: Number | None = None
    iterate: Literal["last", "average"] = "last"
    start: int = 0

    def _rows(self, columns: Columns) -> Design:
        radius = None if self.radius is None else numbers.positive(self.radius, "radius")
        return Design.of(
            columns.schema, columns.features, columns.target, intercept=False, radius=radius, weight=columns.weight
        )

    def _steps(self, design: Design, network: Network, columns: Columns, relation: Relation) -> Procedure[FittedNetwork]:
        ridge = numbers.non_negative(self.ridge, "ridge")
        trained, bought = yield from self._descend(
            design, network, columns, relation, 1.0, ridge=float(ridge), start=self.start
        )
        return FittedNetwork(design, network, trained, ridge, relation, bought)


@dataclass(kw_only=True, eq=False, repr=False)
class MLPClassifier(Thresholded, ManyClasses, Layered):
    """A network of linear layers with ``activation`` between them, by private stochastic gradient descent.

    ``hidden_layer_sizes`` are the widths of its hidden layers, by default two of 100; two classes have one logistic output,
    more of them a softmax, with the cross-entropy as loss. ``epsilon`` and ``delta`` are the price of one fit, ``bounds``
    the public (lo, hi) of the features, ``classes`` the public labels. ``start`` picks the public first parameters. What
    the other parameters mean is said at ``Descends``. ``random_state`` is for tests only: what it makes is not private.

    ``fit`` also takes arrays of another library (torch, CuPy, JAX), also on a GPU: the rows stay where they are, and the
    noise is drawn here, by the same law.

    Proof: see ``discreet.models.gradient.engine.descend``.
    """

    def procedure(self, columns: Columns, relation: Relation) -> Procedure[FittedNetwork]:
        if columns.propensity is not None:
            raise InvalidRequest("MLPClassifier takes no propensity; an OutcomeWeightedLearner does")
        design = self._rows(columns)
        if not design.target.classes:
            raise InvalidRequest(f"the target {columns.target!r} must be declared as Categories, got a number")
        return self._steps(design, self._network(design.width, len(design.target.classes)), columns, relation)

    def _network(self, inputs: int, classes: int) -> Network:
        return classifier(inputs, hidden_sizes(self.hidden_layer_sizes), classes, self.activation)

    def _set_fitted(self, fitted: FittedNetwork) -> None:
        self.classes_ = np.array(fitted.design.target.classes)
        self.threshold_ = 0.0
        fitted.set_layers(self)

    def _fit_arrays(self, X: Any, y: Any, sample_weight: Any) -> Self:
        xp = namespace(X)
        if xp is None:
            super()._fit_arrays(X, y, sample_weight)
        elif sample_weight is None:
            self._fit_device(X, y, xp)
        else:
            raise InvalidRequest("weights are for NumPy arrays, got arrays of another library; leave them out")
        return self

    def _fit_device(self, X: Any, y: Any, xp: Any) -> None:
        """Arrays of another library: the same run, on rows that stay where they are."""
        goal, declared = self._target(to_numpy(y))
        if X.ndim != 2 or X.shape[0] != len(goal):
            raise InvalidRequest(f"X must have two dimensions and as many rows as y, got {tuple(X.shape)} and {len(goal)}")
        self.n_features_in_ = int(X.shape[1])
        bounds = self._bounds(self.n_features_in_)
        assert bounds is not None
        names = tuple(f"x{i}" for i in range(self.n_features_in_))
        relation = check_relation(self.neighbors)
        facts: dict[str, Column] = {n: Real(lo, hi) for n, (lo, hi) in zip(names, bounds, strict=True)}
        schema = Schema({**facts, "y": declared}, neighbors=relation)
        coded = 2.0 * goal - 1.0 if len(self._classes()) == 2 else goal.astype(np.float64)
        table = DeviceTable(X, xp.asarray(coded, dtype=xp.float64, device=X.device), xp, self.data_version)
        plain = self.desk({n: np.empty(0) for n in (*names, "y")}, schema)
        desk = Desk(table, plain.ledger, plain.random, relation)
        rows = len(goal) if relation == "replace" else None
        columns = Columns(schema, names, "y", rows=rows, arrays=True)
        network = self._network(self.n_features_in_, len(self._classes()))
        blocks(network, block_of(self.settings(columns)[1]), 0, xp, X.device)  # refused, if at all, before anything is paid
        self.accept(desk.run(self.procedure(columns, relation)), columns)

    @property
    def predictor(self) -> NetworkPredictor:
        """What predicts: all of a model that is published."""
        from sklearn.utils.validation import check_is_fitted

        check_is_fitted(self)
        fitted: FittedNetwork = self.fitted_
        labels = tuple(self.classes_.tolist())
        return NetworkPredictor(**fitted.layers, activation=self.activation, classes=labels, threshold=self.threshold_)

    @property
    def _rule(self) -> NetworkRule:
        fitted: FittedNetwork = self.fitted_
        return replace(fitted.rule, threshold=self.threshold_)

    def columns_of(self, X: Any) -> Any:
        """As for other models; arrays of another library come to NumPy."""
        return super().columns_of(X if namespace(X) is None else to_numpy(X))

    def decision_function(self, X: Any) -> Floats:
        """The score of each row: one number for two classes, positive for the second; one for each of more."""
        rows = self.columns_of(X)
        return self.predictor.decision_function(rows)
