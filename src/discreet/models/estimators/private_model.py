"""What all private models share: the habits of scikit-learn, the price, and the one way to spend it.

``__init__`` stores, ``fit`` spends; ``clone``, ``repr`` and ``get_params`` never do. A model is fitted to arrays by
someone who holds them (``fit``, validated as scikit-learn does), or to a table through a session (``Session.fit``, see
``discreet.models.protocol``), where only declarations raise.
"""

from __future__ import annotations

import inspect
from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator

from discreet.core.labels import closest
from discreet.core.numbers import Number
from discreet.core.price import Price
from discreet.core.query import Relation, check_relation
from discreet.core.random import chosen
from discreet.core.runner import Desk, NoLedger, Procedure
from discreet.core.schema import Column, Real, Schema
from discreet.errors import InvalidRequest
from discreet.models.design import MOST_ROWS
from discreet.models.estimators.arrays import checked_weights, read_bounds, rows_of
from discreet.models.protocol import Columns
from discreet.models.publish.document import publish
from discreet.sources import open_source
from discreet.sources.matrix import MatrixColumns

_ANY = Real(-1e100, 1e100)  # the declaration of a column that is read without bounds


# What other libraries call things, and what they are called here.
_ELSEWHERE = {
    "C": "ridge=, of the sum of losses: a large C is a small ridge",
    "alpha": "ridge=, of the sum of losses",
    "gamma": "beta= of a KernelSVC",
    "data_norm": "bounds=, public for each feature",
    "class_weight": "sample_weight in fit, with its public weight_bound=",
    "solver": "nothing: minimisers are certified",
    "max_iter": "nothing: minimisers are certified",
    "tol": "nothing: minimisers are certified",
    "n_jobs": "nothing: one fit is one pass of exact sums",
    "intervals": "nothing: this model has no confidence intervals; linear models have",
    "shares": "nothing: this model has no confidence intervals; linear models have",
}


@dataclass(kw_only=True, eq=False, repr=False)
class PrivateModel(BaseEstimator):  # type: ignore[misc]
    """A model that is paid for: a dataclass of its parameters, which are stored as they are given.

    Everything that is private about it is computed by ``fit``: with a ``ledger`` every fit pays there, also the fits of a
    cross-validation or of a search.
    """

    epsilon: Number | None = None
    delta: Number | None = None
    bounds: Any = None
    neighbors: Relation = "add_remove"
    ledger: Any = None
    random_state: Any = None
    supervised: ClassVar[bool] = True  # whether it learns to predict a target

    def __new__(cls, *args: Any, **given: Any) -> Self:
        known = [name for name in inspect.signature(cls.__init__).parameters if name != "self"]
        for name in given:
            if name not in known:
                other = f"; here it is {_ELSEWHERE[name]}" if name in _ELSEWHERE else closest(name, known)
                raise InvalidRequest(f"{cls.__name__} takes no {name!r}{other}")
        made: Self = super().__new__(cls)
        return made

    @abstractmethod
    def procedure(self, columns: Columns, relation: Relation) -> Procedure[Any]:
        """The asks that fit the model; returns what ``accept`` takes."""

    def settled(self) -> Self:
        """The model as it is asked for: what it draws in public is drawn, so that who asks and who answers mean the same."""
        return self

    @abstractmethod
    def _set_fitted(self, fitted: Any) -> None:
        """Set the attributes that end in an underscore."""

    @abstractmethod
    def _target(self, y: Any) -> tuple[Any, Column] | None:
        """The validated targets of arrays and their declaration; None of a model that has no target."""

    @property
    def rho(self) -> Number | None:
        """The price in zero-concentrated privacy, for a model that takes it."""
        return None

    @property
    def price(self) -> Price:
        """What a fit may cost."""
        if self.epsilon is None and self.rho is None:
            alone = "" if self.delta is None else f", got delta={self.delta} alone; give epsilon beside it"
            raise InvalidRequest(
                f"{type(self).__name__} needs epsilon, epsilon and delta, or rho{alone or '; none has a default'}"
            )
        return Price(self.epsilon, self.delta, self.rho)

    def fit(self, X: Any, y: Any) -> Self:
        """Fit to arrays, for someone who holds them. Spends what the model was made with, at ``ledger`` if there is one."""
        return self._fit_arrays(X, y, None)

    def publish(self, path: str | Path) -> Path:
        """Write the fitted model, its guarantee and its data card as a JSON file that ``discreet.models.load`` reads."""
        return publish(self, path)

    def _fit_arrays(self, X: Any, y: Any, sample_weight: Any) -> Self:
        table, columns = self.read_arrays(X, y, sample_weight)
        relation = columns.schema.neighbors
        self.accept(self.desk(table, columns.schema).run(self.procedure(columns, relation)), columns)
        return self

    def read_arrays(self, X: Any, y: Any, sample_weight: Any) -> tuple[Mapping[str, Any], Columns]:
        """Validated arrays as a table, and which columns of it the model is fitted to."""
        X = rows_of(self, X, reset=True)
        self._check_declarations(X.shape[1])
        goal = self._target(y)
        if goal is not None and len(goal[0]) != len(X):
            raise InvalidRequest(f"X and y must have as many rows, got {len(X)} and {len(goal[0])}")
        bounds = self._bounds(X.shape[1])
        names = self._names(X.shape[1])
        target, weight = _free_name("y", names), _free_name("weight", names)
        columns: dict[str, Column] = dict.fromkeys(names, _ANY)
        if bounds is not None:
            declared = {ends: Real(*ends) for ends in set(bounds)}
            columns = {name: declared[ends] for name, ends in zip(names, bounds, strict=True)}
        beside: dict[str, Any] = {}
        if goal is not None:
            beside[target], columns[target] = goal
        if sample_weight is not None:
            most = self._most_weight()
            columns[weight], beside[weight] = Real(0, most), checked_weights(sample_weight, len(X), most)
            if not beside[weight].any():
                raise InvalidRequest("weights must not all be zero: no row would count")
        relation = check_relation(self.neighbors)
        public = len(X) if relation == "replace" else None
        if public is None and len(X) > MOST_ROWS and getattr(self, "method", None) in ("objective", "output"):
            raise InvalidRequest(
                f"the minimiser of arrays is certified for up to {MOST_ROWS} rows, got {len(X)}; fit a table through a "
                "Session whose schema has expected_rows, a public guess, or use neighbors='replace'"
            )
        schema = Schema(columns, neighbors=relation, expected_rows=public)
        where = Columns(
            schema,
            names,
            "" if goal is None else target,
            None if sample_weight is None else weight,
            len(X) if relation == "replace" else None,
            raw=bounds is None,
            arrays=True,
        )
        return MatrixColumns.named(X, names, beside), where

    def _declarations(self) -> list[Callable[[], Any]]:
        """What has to be declared beside price and bounds: each raises where it is not."""
        return []

    def _check_declarations(self, features: int, *more: Callable[[], Any]) -> None:
        """Say all that is missing or wrong at once, where it is more than one thing; ``more`` looks at other arrays."""
        found = []
        for look in (lambda: self.price, lambda: self._bounds(features), *self._declarations(), *more):
            try:
                look()
            except InvalidRequest as problem:
                found.append(str(problem))
        if len(found) > 1:
            raise InvalidRequest(at_once(found))

    def accept(self, fitted: Any, columns: Columns) -> None:
        """Take what the procedure returned. A model fitted to a table predicts from columns by their names."""
        self._set_fitted(fitted)
        self.fitted_to_table_ = not columns.arrays
        if self.fitted_to_table_:
            self.n_features_in_ = len(columns.features)
            self.__dict__.pop("feature_names_in_", None)

    def columns_of(self, X: Any) -> Any:
        """Columns to predict from: arrays validated as scikit-learn does, tables of a session by their names."""
        from sklearn.utils.validation import check_is_fitted

        check_is_fitted(self)
        return X if self.fitted_to_table_ else rows_of(self, X)

    def desk(self, table: Mapping[str, Any], schema: Schema) -> Desk:
        """Where a procedure on arrays is run."""
        if self.ledger is not None and not hasattr(self.ledger, "pay"):
            raise InvalidRequest(f"ledger must be a discreet.Ledger, got {self.ledger!r}; open it first, or use a Session")
        if self.random_state is not None and not isinstance(self.random_state, int | np.integer):
            raise InvalidRequest(f"random_state must be None or a whole number, got {self.random_state!r}")
        seed = chosen(None if self.random_state is None else int(self.random_state))
        payer = NoLedger() if self.ledger is None else self.ledger
        return Desk(open_source(table, schema), payer, seed, schema.neighbors)

    def _names(self, features: int) -> tuple[str, ...]:
        """What the columns of X are called: as in its data frame, or by their place."""
        names = getattr(self, "feature_names_in_", None)
        if names is not None and all(names):
            return tuple(map(str, names))
        return tuple(f"x{i}" for i in range(features))

    def _most_weight(self) -> float:
        """The public bound of the weights of rows, for a model that takes weights."""
        raise InvalidRequest(f"{type(self).__name__} takes no weights of rows; leave sample_weight out")

    def _bounds(self, features: int) -> list[tuple[float, float]] | None:
        """The public bounds of each feature; None for a model that needs none."""
        if self.bounds is None:
            raise InvalidRequest(
                f"{type(self).__name__} needs public bounds=(lo, hi), or one pair for each feature; "
                "they are never read off the data"
            )
        return read_bounds(self.bounds, features)

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Refused: how well a model does on private rows is itself a release that has to be paid for."""
        raise InvalidRequest(
            "score on private rows is itself a release; pay for it with a private count of correct predictions "
            "(paid_score(X, y, epsilon=...)), or use public_score(X, y) on rows that are public"
        )


@dataclass(kw_only=True, eq=False, repr=False)
class LossModel(PrivateModel):
    """A model that minimises a sum of losses, in which rows may have weights, and a ridge."""

    ridge: Number = 1.0
    weight_bound: Number | None = 1.0

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit to arrays, for someone who holds them. Spends what the model was made with, at ``ledger`` if there is one."""
        return self._fit_arrays(X, y, sample_weight)

    def _most_weight(self) -> float:
        return 1.0 if self.weight_bound is None else float(Real(0, self.weight_bound).hi)  # type: ignore[arg-type]


@dataclass(kw_only=True, eq=False, repr=False)
class Perturbed(PrivateModel):
    """A model that is private by noise in its objective, on its minimiser or in its sums, as ``method`` says."""

    rho: Number | None = None
    method: Any = "objective"
    intervals: bool = False


def at_once(found: Sequence[str]) -> str:
    """All that is wrong as one sentence, numbered where it is more than one thing."""
    return found[0] if len(found) == 1 else "; ".join(f"({place}) {words}" for place, words in enumerate(found, 1))


def _free_name(name: str, taken: Sequence[str]) -> str:
    while name in taken:
        name += "_"
    return name
