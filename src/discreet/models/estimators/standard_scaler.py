"""Columns with mean 0 and variance 1: paid for, or by public numbers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from sklearn.base import TransformerMixin

from discreet.core.cost import Cost
from discreet.core.query import Relation, check_relation
from discreet.core.runner import Procedure
from discreet.errors import InvalidRequest
from discreet.models.design import Floats
from discreet.models.estimators.arrays import rows_of
from discreet.models.estimators.from_sums import FittedSums, Unsupervised
from discreet.models.estimators.privacy import Privacy
from discreet.models.protocol import Columns
from discreet.models.publish.affine_predictor import AffinePredictor
from discreet.models.publish.predictor import Input
from discreet.models.queries.class_moments import ask_moments
from discreet.statistics.bounded_rows import BoundedRows

_LEAST = 1e-4  # of the variance of s in [-1, 1]: less is noise, and would blow a column up


@dataclass(frozen=True, eq=False, kw_only=True)
class FittedScales(FittedSums):
    """The means and variances of s in [-1, 1]."""

    bounded: BoundedRows
    mean: Floats
    variance: Floats

    @property
    def declared(self) -> BoundedRows:
        return self.bounded


@dataclass(kw_only=True, eq=False, repr=False)
class StandardScaler(TransformerMixin, Unsupervised):  # type: ignore[misc]
    """Takes columns from their mean and divides them by their standard deviation.

    With a price both are read off noisy sums. Without one they are public: ``mean`` and ``scale`` where they are given,
    else the middle of the ``bounds`` and half their distance; such a fit looks at no row and costs nothing. ``bounds_``
    are the public bounds of the new columns, for the model that comes next: ``transform`` clips to them.
    """

    mean: Any = None
    scale: Any = None

    def fit(self, X: Any, y: Any = None) -> Self:
        """Fit to arrays, for someone who holds them; without a price the rows are not looked at."""
        paid = self.epsilon is not None or self.rho is not None
        if paid and (self.mean is not None or self.scale is not None):
            raise InvalidRequest("mean and scale are public or paid for, got both; leave the price or the numbers out")
        if paid:
            super().fit(X)
            return self
        rows = rows_of(self, X, reset=True)
        ends = np.array(self._bounds(rows.shape[1]))
        middle, half = ends.mean(axis=1), (ends[:, 1] - ends[:, 0]) / 2
        self.mean_ = np.broadcast_to(np.asarray(middle if self.mean is None else self.mean, np.float64), middle.shape)
        self.scale_ = np.broadcast_to(np.asarray(half if self.scale is None else self.scale, np.float64), middle.shape)
        if not (np.isfinite(self.mean_).all() and (self.scale_ > 0).all() and np.isfinite(self.scale_).all()):
            raise InvalidRequest(f"mean must be finite and scale positive, got mean={self.mean!r}, scale={self.scale!r}")
        self._finish(list(self._names(rows.shape[1])), ends)
        self.privacy_ = Privacy(Cost.nothing(), check_relation(self.neighbors), True, "public numbers", None, ())
        self.fitted_to_table_ = False
        return self

    def procedure(self, columns: Columns, relation: Relation) -> Procedure[FittedScales]:
        return self._ask(BoundedRows.of(columns.schema, columns.features), relation)

    def _ask(self, bounded: BoundedRows, relation: Relation) -> Procedure[FittedScales]:
        release, moments = yield from ask_moments(bounded, self.price, relation)
        some = max(1.0, float(moments.counts[0]))
        mean = np.clip(moments.sums[0] / some, -1.0, 1.0)
        variance = np.clip(moments.squares[0] / some - mean**2, _LEAST, 1.0)
        return FittedScales(releases=(release,), relation=relation, bounded=bounded, mean=mean, variance=variance)

    def _set_fitted(self, fitted: FittedScales) -> None:
        super()._set_fitted(fitted)
        bounded = fitted.bounded
        self.mean_ = bounded.middles + bounded.halves * fitted.mean
        self.scale_ = bounded.halves * np.sqrt(fitted.variance)
        self._finish([f.column for f in bounded.numbers], np.array([(f.lo, f.hi) for f in bounded.numbers]))

    def _finish(self, names: list[str], ends: Floats) -> None:
        self.feature_names_, self.ends_ = names, ends
        self.var_ = self.scale_**2
        self.bounds_ = [tuple(pair) for pair in ((ends - self.mean_[:, None]) / self.scale_[:, None]).tolist()]

    @property
    def predictor(self) -> AffinePredictor:
        """What transforms: all of a model that is published."""
        from sklearn.utils.validation import check_is_fitted

        check_is_fitted(self)
        inputs = tuple(
            Input(name, (lo, hi)) for name, (lo, hi) in zip(self.feature_names_, self.ends_.tolist(), strict=True)
        )
        return AffinePredictor(inputs, np.array(self.mean_), np.diag(1.0 / self.scale_))

    def transform(self, X: Any) -> Floats:
        """The scaled rows. Values outside the bounds are clipped, as in ``fit``."""
        rows = self.columns_of(X)
        return self.predictor.transform(rows)

    def inverse_transform(self, X: Any) -> Floats:
        """Rows of the table from scaled ones."""
        from sklearn.utils.validation import check_array, check_is_fitted

        check_is_fitted(self)
        back: Floats = self.mean_ + self.scale_ * check_array(X)
        return back

    def get_feature_names_out(self, input_features: Any = None) -> Any:
        """The names of the columns: scaling keeps them."""
        return np.array(self.feature_names_, dtype=object)
