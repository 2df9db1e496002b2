"""What all private models share: the habits of scikit-learn, the price, and the one way to spend it.

``__init__`` stores, ``fit`` spends; ``clone``, ``repr`` and ``get_params`` never do. A model is fitted to arrays by
someone who holds them (``fit``, validated as scikit-learn does), or to a table through a session (``Session.fit``),
where only declarations raise.
"""

from __future__ import annotations

import inspect
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator

from discreet.core import numbers
from discreet.core.cost import Cost
from discreet.core.query import Relation, check_relation
from discreet.core.random import chosen
from discreet.core.release import Release
from discreet.core.runner import Desk, NoLedger, Procedure
from discreet.core.schema import Column, Real, Schema, closest
from discreet.errors import InvalidRequest
from discreet.models.callers import look_at_callers
from discreet.models.perturbation import Price
from discreet.sources import open_source

RIDGE_ONLY = ("ridge", "l2")
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


@dataclass(frozen=True)
class Privacy:
    """What a fit cost, under which relation, and whether its noise was private.

    ``ridge`` is the one that was minimised with, ``asked_ridge`` the one asked for where it had to be raised; ``releases``
    are the noisy numbers that everything was read from, each with its own cost, law and ledger entry.
    """

    cost: Cost
    relation: Relation
    private: bool
    method: str
    ridge: float
    releases: tuple[Release, ...]
    asked_ridge: float | None = field(default=None, kw_only=True)

    @property
    def laws(self) -> tuple[str, ...]:
        """The law of the noise of each release: of those that a price buys the quietest was taken."""
        return tuple(getattr(r.mechanism, "noise", None) or r.mechanism.name for r in self.releases)

    def __str__(self) -> str:
        mark = "" if self.private else "; not private (seeded, or without noise)"
        laws = f" ({', '.join(dict.fromkeys(self.laws))})" if self.releases else ""
        more = f"{laws}{raised(self.ridge, self.asked_ridge)}{mark}"
        return f"{self.cost}; neighbors: {self.relation}; noise: {self.method}{more}"

    def __repr__(self) -> str:
        return f"Privacy({self})"


def raised(ridge: float | None, asked: float | None) -> str:
    """Says that a ridge had to be raised, where it had."""
    return "" if ridge is None or asked is None else f"; ridge raised from {asked:g} to {ridge:.4g}, as this price needs"


def raised_from(asked: Any, used: float) -> float | None:
    """The ridge that was asked for, where one that is larger by more than a hundredth was used."""
    try:
        given = float(asked)
    except (TypeError, ValueError):  # "1/10"
        given = float(numbers.rational(asked, "ridge"))
    return given if used > 1.01 * given else None


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

    def __new__(cls, *args: Any, **given: Any) -> Self:
        known = [name for name in inspect.signature(cls.__init__).parameters if name != "self"]
        for name in given:
            if name not in known:
                other = f"; here it is {_ELSEWHERE[name]}" if name in _ELSEWHERE else closest(name, known)
                raise InvalidRequest(f"{cls.__name__} takes no {name!r}{other}")
        made: Self = super().__new__(cls)
        return made

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
            alone = "" if self.delta is None else f", got delta={self.delta} alone; give epsilon beside it"
            raise InvalidRequest(
                f"{type(self).__name__} needs epsilon, epsilon and delta, or rho{alone or '; none has a default'}"
            )
        return Price(self.epsilon, self.delta, self.rho)

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit to arrays, for someone who holds them. Spends what the model was made with, at ``ledger`` if there is one."""
        look_at_callers(self)
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
        X = rows_of(self, X, reset=True)
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
        public = len(X) if relation == "replace" else None
        schema = Schema({**columns, target: declared}, neighbors=relation, expected_rows=public)
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
        return read_bounds(bounds, features)

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Refused: how well a model does on private rows is itself a release that has to be paid for."""
        raise InvalidRequest(
            "score on private rows is itself a release; pay for it with a private count of correct predictions "
            "(paid_score(X, y, epsilon=...)), or use public_score(X, y) on rows that are public"
        )


def rows_of(model: Any, X: Any, *, reset: bool = False) -> Any:
    """A matrix of finite numbers, checked as scikit-learn does; ``reset`` where the model is fitted to it."""
    from sklearn.utils.validation import validate_data

    if isinstance(X, Mapping | str | bytes | Path) and not hasattr(X, "shape"):  # a sparse matrix may be a dict
        kind = "a dict" if isinstance(X, Mapping) else repr(X)
        raise InvalidRequest(
            f"X must be an array or a data frame with a column for each feature, got {kind}; make one of it first "
            "(pandas.DataFrame, pandas.read_csv), or fit to named columns with Session.fit"
        )
    rows = validate_data(model, X, dtype=np.float64, reset=reset, ensure_min_samples=1, ensure_all_finite=False)
    if not np.isfinite(rows).all():
        row, column = np.argwhere(~np.isfinite(rows))[0].tolist()
        found = "NaN" if np.isnan(rows[row, column]) else "infinity (inf)"
        raise InvalidRequest(
            f"X must hold finite numbers, got {found} in row {row}, column {column}; leave out or fill such rows by a "
            "public rule, or use a Session, where the schema says what a missing value becomes"
        )
    return rows


def read_bounds(bounds: Any, features: int) -> list[tuple[float, float]]:
    """One public pair (lo, hi) for each feature, from one pair for all or from a list of pairs."""
    wanted = f"bounds must be one pair (lo, hi), or a list with a pair for each of {features} features"
    try:
        array = np.asarray(bounds, np.float64)
    except (TypeError, ValueError):
        raise InvalidRequest(f"{wanted}, got {bounds!r}; as in bounds=[(0, 110), (0, 1)]") from None
    if array.shape == (2,):
        array = np.tile(array, (features, 1))
    if array.shape != (features, 2):
        got = f"{bounds!r}" if array.ndim == 0 else f"shape {array.shape}"
        if array.shape == (2, features):
            got = f"a list of {features} lows and one of highs; write list(zip(lows, highs))"
        elif array.ndim == 2 and array.shape[1] == 2:
            got = f"{len(array)} pairs"
        raise InvalidRequest(f"{wanted}, got {got}")
    for lo, hi in array.tolist():
        if not lo < hi or not np.isfinite([lo, hi]).all():
            raise InvalidRequest(
                f"bounds must have finite lo < hi, got ({lo:g}, {hi:g}); bounds are pairs for each feature. Leave out a "
                "column that never varies"
            )
    return [(float(lo), float(hi)) for lo, hi in array]


def checked_weights(given: Any, rows: int, most: float) -> Any:
    """One weight in [0, most] for each row, or an error that says the bound."""
    from sklearn.utils.validation import check_array

    given = np.full(rows, given) if np.isscalar(given) else given
    weights = check_array(given, ensure_2d=False, dtype=np.float64, input_name="weights")
    if weights.shape != (rows,):
        raise InvalidRequest(f"weights must be one number for each of {rows} rows, got shape {weights.shape}")
    if weights.min() < 0 or weights.max() > most:
        raise InvalidRequest(
            f"weights must be within [0, {most:g}], got {weights.min():g} to {weights.max():g}; give a public "
            f"weight_bound= of at least the largest, or divide them by a public number"
        )
    return weights


def positive_ridge(ridge: Any) -> Fraction:
    """A ridge above 0."""
    exact = numbers.rational(ridge, "ridge")
    if exact <= 0:
        raise InvalidRequest(
            f"ridge must be positive, got {ridge}; give one such as 1 (of the sum of losses): without it one person could "
            "move the minimiser by any amount"
        )
    return exact


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


def declared_classes(classes: Sequence[Any] | None, name: str) -> tuple[Any, Any]:
    """Two public class labels."""
    if classes is None:
        raise InvalidRequest(f"{name} needs public classes=[no, yes]; they are never read off the data")
    pair = tuple(np.asarray(classes).tolist())
    if len(pair) != 2 or pair[0] == pair[1]:
        raise InvalidRequest(f"classes must be two different labels, got {list(pair)}")
    return pair
