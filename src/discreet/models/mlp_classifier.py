"""A private neural network for classification."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal, Self

import numpy as np
from sklearn.base import ClassifierMixin

from discreet.core import numbers
from discreet.core.numbers import Number
from discreet.core.query import Relation, check_relation
from discreet.core.release import Release
from discreet.core.runner import Desk, Procedure
from discreet.core.schema import Categories, Column, Real, Schema
from discreet.errors import InvalidRequest
from discreet.models.design import Design, Floats
from discreet.models.estimator import Columns, Privacy, PrivateModel
from discreet.models.gradient.clipping import to_numpy
from discreet.models.gradient.descent import Descends, privacy_of
from discreet.models.gradient.device import DeviceTable, namespace
from discreet.models.gradient.engine import Trained
from discreet.models.gradient.network import Activation, Network, classifier
from discreet.models.network_predictor import NetworkPredictor
from discreet.models.predictor import Input


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
    def privacy(self) -> Privacy:
        """What it cost."""
        return privacy_of(self.trained, self.releases, self.relation, self.ridge)


class MLPClassifier(Descends, ClassifierMixin, PrivateModel):  # type: ignore[misc]
    """A network of linear layers with ``activation`` between them, by private stochastic gradient descent.

    ``hidden_layer_sizes`` are the widths of its hidden layers, by default two of 100; two classes have one logistic output,
    more of them a softmax, with the cross-entropy as loss. ``epsilon`` and ``delta`` are the price of one fit, ``bounds``
    the public (lo, hi) of the features, ``classes`` the public labels. ``start`` picks the public first parameters. What
    the other parameters mean is said at ``Descends``. ``random_state`` is for tests only: what it makes is not private.

    ``fit`` also takes arrays of another library (torch, CuPy, JAX), also on a GPU: the rows stay where they are, and the
    noise is drawn here, by the same law.

    Proof: see ``discreet.models.gradient.engine.descend``.
    """

    rho = None

    def __init__(
        self,
        *,
        hidden_layer_sizes: Any = (100, 100),
        activation: Activation = "relu",
        epsilon: Number | None = None,
        delta: Number | None = None,
        bounds: Any = None,
        classes: Any = None,
        ridge: Number = 0.0,
        radius: Number | None = None,
        weight_bound: Number = 1.0,
        expected_rows: int | None = None,
        lot_size: int | None = None,
        epochs: float = 10,
        steps: int | None = None,
        clip: Any = 1.0,
        learning_rate: Any = "auto",
        momentum: float = 0.0,
        iterate: Literal["last", "average"] = "last",
        start: int = 0,
        checkpoint: Any = None,
        checkpoint_every: int | None = None,
        data_version: str | None = None,
        verbose: bool = False,
        neighbors: Relation = "add_remove",
        ledger: Any = None,
        random_state: Any = None,
    ) -> None:
        self.hidden_layer_sizes = hidden_layer_sizes
        self.activation = activation
        self.epsilon = epsilon
        self.delta = delta
        self.bounds = bounds
        self.classes = classes
        self.ridge = ridge
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
        self.start = start
        self.checkpoint = checkpoint
        self.checkpoint_every = checkpoint_every
        self.data_version = data_version
        self.verbose = verbose
        self.neighbors = neighbors
        self.ledger = ledger
        self.random_state = random_state

    def _procedure(self, columns: Columns, relation: Relation) -> Procedure[FittedNetwork]:
        if columns.propensity is not None:
            raise InvalidRequest("MLPClassifier takes no propensity; an OutcomeWeightedLearner does")
        radius = None if self.radius is None else numbers.positive(self.radius, "radius")
        design = Design.of(
            columns.schema, columns.features, columns.target, intercept=False, radius=radius, weight=columns.weight
        )
        if not design.target.classes:
            raise InvalidRequest(f"the target {columns.target!r} must be declared as Categories, got a number")
        sizes = (self.hidden_layer_sizes,) if isinstance(self.hidden_layer_sizes, int) else tuple(self.hidden_layer_sizes)
        network = classifier(design.width, sizes, len(design.target.classes), self.activation)
        return self._steps(design, network, columns, relation)

    def _steps(self, design: Design, network: Network, columns: Columns, relation: Relation) -> Procedure[FittedNetwork]:
        ridge = numbers.non_negative(self.ridge, "ridge")
        trained, bought = yield from self._descend(
            design, network, columns, relation, 1.0, ridge=float(ridge), start=self.start
        )
        return FittedNetwork(design, network, trained, ridge, relation, bought)

    def _accept(self, fitted: FittedNetwork) -> None:
        layers = fitted.network.layers(fitted.trained.flat)
        self.coefs_ = [layer[:-1] for layer in layers]
        self.intercepts_ = [layer[-1] for layer in layers]
        self.classes_ = np.array(fitted.design.target.classes)
        self.feature_names_ = fitted.design.names
        self.n_layers_ = len(layers) + 1
        self.privacy_ = fitted.privacy
        self.fitted_ = fitted

    def _classes(self) -> tuple[Any, ...]:
        """The public labels of arrays."""
        if self.classes is None:
            raise InvalidRequest("MLPClassifier needs public classes=[...]; they are never read off the data")
        labels = tuple(np.asarray(self.classes).tolist())
        if len(labels) < 2 or len(set(labels)) != len(labels):
            raise InvalidRequest(f"classes must be at least two different labels, got {list(labels)}")
        return labels

    def _target(self, y: Any) -> tuple[Any, Column]:
        from sklearn.utils.multiclass import check_classification_targets
        from sklearn.utils.validation import column_or_1d

        labels = np.array(self._classes())
        goal = column_or_1d(y, warn=True)
        check_classification_targets(goal)
        strange = ~np.isin(goal, labels)
        if strange.any():
            raise InvalidRequest(f"y must hold the declared classes {labels.tolist()} only, got {goal[strange][0]!r}")
        order = np.argsort(labels)
        return order[np.searchsorted(labels, goal, sorter=order)].astype(np.int64), Categories(tuple(range(len(labels))))

    def _fit_arrays(self, X: Any, y: Any, sample_weight: Any) -> Self:
        xp = namespace(X)
        if xp is None:
            super()._fit_arrays(X, y, sample_weight)
        elif sample_weight is None:
            self._fit_device(X, y, xp)
        else:
            raise InvalidRequest("weights are for NumPy arrays, got arrays of another library; leave them out")
        # Inside, the classes of arrays are 0, 1, ...: labels may be of kinds that no schema declares.
        self.classes_ = np.array(self._classes())
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
        plain = self._desk({n: np.empty(0) for n in (*names, "y")}, schema)
        desk = Desk(table, plain.ledger, plain.random, relation)
        rows = len(goal) if relation == "replace" else None
        self._accept(desk.run(self._procedure(Columns(schema, names, "y", rows=rows, arrays=True), relation)))
        self.fitted_to_table_ = False

    @property
    def predictor(self) -> NetworkPredictor:
        """What predicts: all of a model that is published."""
        from sklearn.utils.validation import check_is_fitted

        check_is_fitted(self)
        fitted: FittedNetwork = self.fitted_
        inputs = tuple(Input(f.column, None if f.labels else (f.lo, f.hi), f.labels) for f in fitted.design.features)
        layers = tuple(fitted.network.layers(fitted.trained.flat))
        radius = None if fitted.design.radius is None else 1.0
        return NetworkPredictor(inputs, fitted.design.units, layers, tuple(self.classes_.tolist()), self.activation, radius)

    def _rows(self, X: Any) -> Any:
        from sklearn.utils.validation import check_is_fitted, validate_data

        check_is_fitted(self)
        if getattr(self, "fitted_to_table_", False):
            return X
        return validate_data(self, X if namespace(X) is None else to_numpy(X), dtype=np.float64, reset=False)

    def decision_function(self, X: Any) -> Floats:
        """The score of each row: one number for two classes, positive for the second; one for each of more."""
        rows = self._rows(X)
        return self.predictor.decision_function(rows)

    def predict_proba(self, X: Any) -> Floats:
        """The probability of each class, for each row."""
        rows = self._rows(X)
        return self.predictor.predict_proba(rows)

    def predict(self, X: Any) -> Any:
        """The class of each row."""
        score = self.decision_function(X)
        return self.classes_[(score > 0).astype(int) if score.ndim == 1 else score.argmax(axis=1)]

    score = PrivateModel.score

    def public_score(self, X: Any, y: Any) -> float:
        """The share of right predictions on rows that are public: it is exact, and not private."""
        return float(np.mean(np.asarray(self.predict(X)) == np.asarray(y)))
