"""A private additive model: a classifier whose score is a sum of one readable function of each column."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from numbers import Integral
from typing import Any, ClassVar

import numpy as np

from discreet.errors import InvalidRequest
from discreet.models.design import Design
from discreet.models.estimators.logistic_regression import LogisticRegression
from discreet.models.feature import Feature
from discreet.models.intervals.shapes import Shapes, shapes_of
from discreet.models.protocol import Columns

_BINS = 16
_MOST_BINS = 1024


@dataclass(kw_only=True, eq=False, repr=False)
class AdditiveClassifier(LogisticRegression):
    """An additive model of two classes: log odds are a sum of shape functions, one of each column, that one can read.

    A shape is constant in each bin of a column of numbers, and has a value for each label of a category. ``bins`` says how
    many bins of equal width lie between the public bounds, 16 by default; a dict says it column by column, as a number or
    as the inner edges of its bins (``bins={"age": 10, "gain": [1, 5000, 10_000]}``; columns of arrays without names are
    x0, x1, ...). Edges are public: never read them off the data. ``shapes()`` are the functions, ``shapes().plot()`` their
    pictures; with ``intervals=True`` each has a band that covers sampling and noise, paid out of the same price. The
    other parameters are those of ``LogisticRegression``; every bin has a coefficient and a column's bins hold a constant,
    so none is added. ``ridge="auto"`` is 2 / epsilon (4 / epsilon under replace; times the most that a person weighs), at
    which noise of a pure price has the Jacobian free of charge: many bins that hold few people need it.

    Proof: bins and labels are public, and a row has one 1 among those of each column (``Feature``), so it is a row of
    ``Design`` of norm at most 1. What remains is logistic regression.
    """

    fit_intercept: bool = False
    ridge: Any = "auto"
    bins: Any = _BINS
    _free: ClassVar[int] = 2  # twice what it takes

    def _design(self, columns: Columns) -> Design:
        design = super()._design(columns)
        if isinstance(self.bins, Mapping):
            cut = [f.column for f in design.features if not f.labels]
            for name in self.bins:
                if name not in cut:
                    raise InvalidRequest(f"bins are for features that are numbers, got {name!r}; these are {cut}")
        return replace(design, features=tuple(f if f.labels else replace(f, cuts=self._cuts(f)) for f in design.features))

    def _cuts(self, feature: Feature) -> tuple[float, ...]:
        """The inner edges of the bins of a column: declared, or of equal width between its bounds."""
        given = self.bins.get(feature.column, _BINS) if isinstance(self.bins, Mapping) else self.bins
        if isinstance(given, Sequence | np.ndarray) and not isinstance(given, str | bytes):
            edges = tuple(float(edge) if isinstance(edge, int | float | np.number) else edge for edge in given)
            if not edges or not all(isinstance(edge, float) for edge in edges):
                raise InvalidRequest(f"the edges of the bins of {feature.column!r} must be numbers, got {list(edges)}")
            return edges
        if isinstance(given, bool) or not isinstance(given, Integral) or not 2 <= int(given) <= _MOST_BINS:
            raise InvalidRequest(
                f"bins must be a whole number from 2 to {_MOST_BINS}, or the inner edges of a column's bins, got {given!r}"
            )
        return tuple(np.linspace(feature.lo, feature.hi, int(given) + 1)[1:-1].tolist())

    def shapes(self, level: float = 0.95) -> Shapes:
        """What each column adds to the log odds of the second class, with a band where ``intervals=True`` paid for one.

        Costs nothing. A shape says how a column goes together with the target beside the other columns, under the ridge
        (which draws bins that hold few people towards the middle of the shape), not what would happen if it were changed.
        """
        from sklearn.utils.validation import check_is_fitted

        check_is_fitted(self)
        fitted = self.fitted_
        return shapes_of(fitted.design, fitted.theta, fitted.error_law, level)
