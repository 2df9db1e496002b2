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
    """Which columns of a table a model is fitted to, and what is public about the table."""

    schema: Schema
    features: tuple[str, ...]
    target: str
    weight: str | None = None
    rows: int | None = None  # where they are public


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

    def _fit_arrays(self, X: Any, y: Any, sample_weight: Any) -> Self:
        from sklearn.utils.validation import check_array, validate_data

        X = validate_data(self, X, dtype=np.float64, ensure_min_samples=1)
        goal, declared = self._target(y)
        if len(goal) != len(X):
            raise InvalidRequest(f"X and y must have as many rows, got {len(X)} and {len(goal)}")
        bounds = self._bounds(X.shape[1])
        names = tuple(f"x{i}" for i in range(X.shape[1]))
        columns: dict[str, Column] = {n: Real(lo, hi) for n, (lo, hi) in zip(names, bounds, strict=True)}
        table = {n: X[:, i] for i, n in enumerate(names)} | {"y": goal}
        weight = None
        if sample_weight is not None:
            weight, most = "weight", float(getattr(self, "weight_bound", None) or 1.0)
            given = check_array(sample_weight, ensure_2d=False, dtype=np.float64)
            if given.shape != (len(X),) or given.min() < 0 or given.max() > most:
                raise InvalidRequest(
                    f"weights must be one number in [0, {most:g}] for each row, got shape {given.shape} "
                    f"from {given.min():g} to {given.max():g}; the public bound is weight_bound="
                )
            columns["weight"], table["weight"] = Real(0, most), given
        relation = check_relation(self.neighbors)
        schema = Schema({**columns, "y": declared}, neighbors=relation)
        where = Columns(schema, names, "y", weight, len(X) if relation == "replace" else None)
        seed = chosen(self.random_state)
        desk = Desk(open_source(table, schema), NoLedger() if self.ledger is None else self.ledger, seed, relation)
        self._accept(desk.run(self._procedure(where, relation)))
        return self

    def _bounds(self, features: int) -> list[tuple[float, float]]:
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
