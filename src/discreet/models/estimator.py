"""What all private models share: the habits of scikit-learn, the price, and the one way to spend it.

``__init__`` stores, ``fit`` spends; ``clone``, ``repr`` and ``get_params`` never do. A model is fitted to arrays by
someone who holds them (``fit``, validated as scikit-learn does), or to a table through a session (``Session.fit``),
where only declarations raise.
"""

from __future__ import annotations

import inspect
import warnings
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator

from discreet.core.cost import Cost
from discreet.core.query import Relation, check_relation
from discreet.core.random import chosen
from discreet.core.release import Release
from discreet.core.runner import Desk, NoLedger, Procedure
from discreet.core.schema import Column, Real, Schema
from discreet.errors import InvalidRequest
from discreet.models.perturbation import Price
from discreet.sources import open_source

REPEATED = ("sklearn.model_selection._validation", "sklearn.model_selection._search")
RIDGE_ONLY = ("ridge", "l2")
_ANY = Real(-1e100, 1e100)  # the declaration of a column that is read without bounds


class RepeatedFits(UserWarning):
    """Every fit inside a cross-validation or a search spends by itself."""


@dataclass(frozen=True)
class Privacy:
    """What a fit cost, under which relation, and whether its noise was private."""

    cost: Cost
    relation: Relation
    private: bool
    method: str
    ridge: float
    releases: tuple[Release, ...]

    def __str__(self) -> str:
        mark = "" if self.private else "; not private (seeded, or without noise)"
        return f"{self.cost}; neighbors: {self.relation}; noise: {self.method}{mark}"


@dataclass(frozen=True)
class Columns:
    """Which columns of a table a model is fitted to, and what is public about the table.

    ``propensity`` is the column that weights are divided by, where a model has such; ``raw`` says that the numbers of
    the features have no bounds, ``arrays`` that the table was made of arrays handed to ``fit``.
    """

    schema: Schema
    features: tuple[str, ...]
    target: str
    weight: str | None = None
    rows: int | None = None  # where they are public
    propensity: str | None = None
    raw: bool = False
    arrays: bool = False


class PrivateModel(BaseEstimator):  # type: ignore[misc]
    """A model that is paid for. Subclasses store their parameters and give ``_procedure`` and ``_accept``."""

    epsilon: Any
    delta: Any
    rho: Any
    neighbors: Relation
    ledger: Any
    random_state: Any

    @abstractmethod
    def _procedure(self, columns: Columns, relation: Relation) -> Procedure[Any]:
        """The asks that fit the model; returns what ``_accept`` takes."""

    @abstractmethod
    def _accept(self, fitted: Any) -> None:
        """Set the attributes that end in an underscore."""

    @abstractmethod
    def _target(self, y: Any) -> tuple[Any, Column]:
        """The validated targets of arrays and their declaration."""

    @property
    def price(self) -> Price:
        """What a fit may cost."""
        if self.epsilon is None and self.rho is None:
            raise InvalidRequest(f"{type(self).__name__} needs epsilon, epsilon and delta, or rho; none has a default")
        return Price(self.epsilon, self.delta, self.rho)

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit to arrays, for someone who holds them. Spends what the model was made with, at ``ledger`` if there is one."""
        _say_if_repeated()
        return self._fit_arrays(X, y, sample_weight)

    def publish(self, path: str | Path) -> Path:
        """Write the fitted model, its guarantee and its data card as a JSON file that ``discreet.models.load`` reads."""
        from discreet.models.publish import publish

        return publish(self, path)

    def _fit_arrays(self, X: Any, y: Any, sample_weight: Any) -> Self:
        table, columns = self._read_arrays(X, y, sample_weight)
        relation = columns.schema.neighbors
        self._accept_arrays(self._desk(table, columns.schema).run(self._procedure(columns, relation)))
        return self

    def _read_arrays(self, X: Any, y: Any, sample_weight: Any) -> tuple[dict[str, Any], Columns]:
        """Validated arrays as a table, and which columns of it the model is fitted to."""
        from sklearn.utils.validation import validate_data

        X = validate_data(self, X, dtype=np.float64, ensure_min_samples=1)
        goal, declared = self._target(y)
        if len(goal) != len(X):
            raise InvalidRequest(f"X and y must have as many rows, got {len(X)} and {len(goal)}")
        bounds = self._bounds(X.shape[1])
        names = self._names(X.shape[1])
        target, weight = _other("y", names), _other("weight", names)
        columns: dict[str, Column] = dict.fromkeys(names, _ANY)
        if bounds is not None:
            columns = {n: Real(lo, hi) for n, (lo, hi) in zip(names, bounds, strict=True)}
        table = {n: X[:, i] for i, n in enumerate(names)} | {target: goal}
        if sample_weight is not None:
            most = self._most_weight()
            columns[weight], table[weight] = Real(0, most), checked_weights(sample_weight, len(X), most)
            if not table[weight].any():
                raise InvalidRequest("weights must not all be zero: no row would count")
        relation = check_relation(self.neighbors)
        schema = Schema({**columns, target: declared}, neighbors=relation)
        where = Columns(
            schema,
            names,
            target,
            None if sample_weight is None else weight,
            len(X) if relation == "replace" else None,
            raw=bounds is None,
            arrays=True,
        )
        return table, where

    def _accept_arrays(self, fitted: Any) -> None:
        """What ``fit`` does with a result."""
        self._accept(fitted)
        self.fitted_to_table_ = False

    def _accept_table(self, fitted: Any, columns: Columns) -> None:
        """What ``Session.fit`` does with a result: a model fitted to a table predicts from columns by their names."""
        self._accept(fitted)
        self.fitted_to_table_ = True
        self.n_features_in_ = len(columns.features)
        self.__dict__.pop("feature_names_in_", None)

    def _desk(self, table: dict[str, Any], schema: Schema) -> Desk:
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
        given = getattr(self, "weight_bound", None)
        return 1.0 if given is None else float(Real(0, given).hi)

    def _bounds(self, features: int) -> list[tuple[float, float]] | None:
        """The public bounds of each feature; None for a model that needs none."""
        bounds = getattr(self, "bounds", None)
        if bounds is None:
            raise InvalidRequest(
                f"{type(self).__name__} needs public bounds=(lo, hi), or one pair for each feature; "
                "they are never read off the data"
            )
        array = np.asarray(bounds, np.float64)
        if array.shape == (2,):
            array = np.tile(array, (features, 1))
        if array.shape != (features, 2):
            raise InvalidRequest(f"bounds must be one pair for each of {features} features, got shape {array.shape}")
        for lo, hi in array.tolist():
            if not lo < hi:
                raise InvalidRequest(f"bounds must have lo < hi, got ({lo:g}, {hi:g}); leave out a column that never varies")
        return [(float(lo), float(hi)) for lo, hi in array]

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Refused: how well a model does on private rows is itself a release that has to be paid for."""
        raise InvalidRequest(
            "score on private rows is itself a release; pay for it with a private count of correct predictions "
            "(paid_score(X, y, epsilon=...)), or use public_score(X, y) on rows that are public"
        )


def checked_weights(given: Any, rows: int, most: float) -> Any:
    """One weight in [0, most] for each row, or an error that says the bound."""
    from sklearn.utils.validation import check_array

    given = np.full(rows, given) if np.isscalar(given) else given
    weights = check_array(given, ensure_2d=False, dtype=np.float64, input_name="weights")
    if weights.shape != (rows,) or weights.min() < 0 or weights.max() > most:
        raise InvalidRequest(
            f"weights must be one number in [0, {most:g}] for each row, got shape {weights.shape} "
            f"from {weights.min():g} to {weights.max():g}; the public bound is weight_bound="
        )
    return weights


def check_penalty(penalty: Any) -> None:
    """Only a ridge is private here; anything else is refused with the reason."""
    if penalty not in RIDGE_ONLY:
        raise InvalidRequest(
            f"penalty must be 'ridge', got {penalty!r}; the guarantees need an objective that is strongly convex and has a "
            "second derivative, which an absolute value has not: one person could move the minimiser by any amount"
        )


def _other(name: str, taken: Sequence[str]) -> str:
    while name in taken:
        name += "_"
    return name


def _say_if_repeated() -> None:
    """Warn where a search or a cross-validation fits again and again: found by who calls, as clones carry no memory."""
    frame = inspect.currentframe()
    while frame is not None:
        if frame.f_globals.get("__name__") in REPEATED:
            warnings.warn(
                "each fit inside a cross-validation or a search spends its whole price again; use discreet.models.tune",
                RepeatedFits,
                stacklevel=3,
            )
            return
        frame = frame.f_back


def declared_classes(classes: Sequence[Any] | None, name: str) -> tuple[Any, Any]:
    """Two public class labels."""
    if classes is None:
        raise InvalidRequest(f"{name} needs public classes=[no, yes]; they are never read off the data")
    pair = tuple(np.asarray(classes).tolist())
    if len(pair) != 2 or pair[0] == pair[1]:
        raise InvalidRequest(f"classes must be two different labels, got {list(pair)}")
    return pair
