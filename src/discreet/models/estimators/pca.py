"""Private principal components."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Integral
from typing import Any

import numpy as np
from sklearn.base import TransformerMixin

from discreet.core.ask import Ask
from discreet.core.query import Relation
from discreet.core.release import Release
from discreet.core.runner import Procedure
from discreet.errors import InvalidRequest
from discreet.mechanisms.priced import law_in_l2
from discreet.models.design import Floats
from discreet.models.estimators.from_sums import FittedSums, Unsupervised
from discreet.models.protocol import Columns
from discreet.models.publish.affine_predictor import AffinePredictor
from discreet.models.publish.predictor import Input, row_scores
from discreet.statistics.bounded_rows import BoundedRows
from discreet.statistics.covariance_matrix import CovarianceMatrix, Scatter


@dataclass(frozen=True, eq=False, kw_only=True)
class FittedComponents(FittedSums):
    """The mean and the covariance matrix of s in [-1, 1], and its eigenvectors, the largest eigenvalue first."""

    bounded: BoundedRows
    rows: float
    mean: Floats
    values: Floats
    vectors: Floats

    @property
    def declared(self) -> BoundedRows:
        return self.bounded


@dataclass(kw_only=True, eq=False, repr=False)
class PCA(TransformerMixin, Unsupervised):  # type: ignore[misc]
    """Principal components of a noisy covariance matrix.

    One release of all sums of squares and products, with Gaussian noise, or spherical Laplace noise for a pure price; the
    components are read off it, whatever their number. Columns are measured from the middle of their ``bounds`` in halves
    of their distance: on that scale noise is alike in all of them. ``components_``, ``explained_variance_`` and
    ``explained_variance_ratio_`` are of that scale, ``mean_`` is on the scale of the table. ``random_state`` is for tests
    only: what it makes is not private.
    """

    n_components: int | None = None

    def procedure(self, columns: Columns, relation: Relation) -> Procedure[FittedComponents]:
        kept = self.n_components
        most = len(columns.features)
        if kept is not None and (isinstance(kept, bool) or not isinstance(kept, Integral) or not 1 <= kept <= most):
            raise InvalidRequest(f"n_components must be a whole number from 1 to the {most} features, got {kept!r}")
        return self._ask(Scatter.of(BoundedRows.of(columns.schema, columns.features), columns.rows), columns.rows, relation)

    def _ask(self, query: Scatter, rows: int | None, relation: Relation) -> Procedure[FittedComponents]:
        release: Release = yield Ask(query, law_in_l2(self.price, query.distance(relation), query.shape[0]))
        bounded = query.bounded
        reading = CovarianceMatrix(bounded.columns, (1.0,) * bounded.size, query.constant, rows, number=query.number)
        number, mean, spread = reading.moments(np.asarray(release.value, np.float64))
        values, vectors = np.linalg.eigh(spread)
        # The largest entry of a component is positive: a sign of its own would be another model.
        signs = np.sign(vectors[np.abs(vectors).argmax(axis=0), np.arange(bounded.size)])
        return FittedComponents(
            releases=(release,), relation=relation, bounded=bounded, rows=float(number), mean=mean,
            values=np.maximum(values[::-1], 0.0), vectors=(vectors * signs)[:, ::-1].T,
        )  # fmt: skip

    def _set_fitted(self, fitted: FittedComponents) -> None:
        super()._set_fitted(fitted)
        bounded, kept = fitted.bounded, self.n_components
        self.feature_names_ = [f.column for f in bounded.numbers]
        self.components_ = fitted.vectors[:kept]
        self.n_components_ = len(self.components_)
        self.mean_ = bounded.middles + bounded.halves * fitted.mean
        self.scale_ = bounded.halves
        self.explained_variance_ = fitted.values[:kept]
        self.explained_variance_ratio_ = fitted.values[:kept] / max(float(fitted.values.sum()), 1e-300)

    @property
    def predictor(self) -> AffinePredictor:
        """What transforms: all of a model that is published."""
        from sklearn.utils.validation import check_is_fitted

        check_is_fitted(self)
        inputs = tuple(Input(f.column, (f.lo, f.hi)) for f in self.fitted_.bounded.numbers)
        return AffinePredictor(inputs, self.mean_, (self.components_ / self.scale_).T)

    def transform(self, X: Any) -> Floats:
        """The rows along the components. Values outside the bounds are clipped, as in ``fit``."""
        rows = self.columns_of(X)
        return self.predictor.transform(rows)

    def inverse_transform(self, X: Any) -> Floats:
        """Rows of the table from rows along the components."""
        from sklearn.utils.validation import check_array, check_is_fitted

        check_is_fitted(self)
        rows = check_array(X)
        if rows.shape[1] != self.n_components_:
            raise InvalidRequest(f"X must have a column for each of {self.n_components_} components, got {rows.shape[1]}")
        back = np.column_stack([row_scores(rows, line) for line in self.components_.T])
        return np.asarray(self.mean_ + self.scale_ * back)

    def get_feature_names_out(self, input_features: Any = None) -> Any:
        """pca0, pca1, ..."""
        return np.array([f"pca{i}" for i in range(self.n_components_)], dtype=object)
