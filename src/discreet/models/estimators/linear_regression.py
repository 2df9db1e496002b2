"""Private linear regression, with confidence intervals."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, Literal

import numpy as np

from discreet.core import numbers
from discreet.core.ask import Ask
from discreet.core.price import Price
from discreet.core.query import Relation
from discreet.core.release import Release
from discreet.core.runner import Procedure
from discreet.errors import InvalidRequest
from discreet.mechanisms.objective_perturbation import SETTLED, ObjectivePerturbation, ridge_for
from discreet.mechanisms.priced import law_in_l2
from discreet.models.design import Design
from discreet.models.estimators.arrays import check_penalty, positive_ridge
from discreet.models.estimators.regressor import FittedRegression, PerturbedRegression
from discreet.models.intervals.sandwich import CoefficientIntervals
from discreet.models.intervals.wald import CoefficientTest, linear_test
from discreet.models.perturbation import noise_variance, objective_law, ridge_of
from discreet.models.protocol import Columns
from discreet.models.queries.ball_problem import BallProblem
from discreet.models.queries.constrained_problem import ConstrainedMinimiser
from discreet.models.queries.regression_sums import RegressionSums, half_widths, read, solve

METHODS = ("statistics", "objective")


@dataclass(kw_only=True, eq=False, repr=False)
class LinearRegression(PerturbedRegression):
    """Least squares with a ridge.

    ``method="statistics"`` (the default, usually the better one) releases the sums of squares and products of all columns
    once, with Gaussian noise, or spherical Laplace noise where the price is pure, and solves the regression from them; it
    has ``confidence_intervals``. ``method="objective"`` puts the noise into the objective and holds coefficients to a
    ball (Kifer, Smith and Thakurta 2012, with a single Jacobian and the distances of ``BallProblem``).

    ``epsilon`` alone, ``epsilon`` and ``delta``, or ``rho`` is the price of one fit. ``bounds`` are the public (lo, hi)
    of the features, ``target_bounds`` those of the target; values outside are clipped. ``ridge`` is that of the sum of
    squares with every feature divided by its largest bound, and the target by its own over the number p of features (the
    constant counted). On that scale "objective" holds coefficients to a norm of sqrt(p), and raises a ridge that would
    leave too little of the price to the noise (``ridge_`` says to what). ``weight_bound`` is the public bound of
    ``sample_weight``. ``intervals`` is taken as by the other models: "statistics" has them without it. ``neighbors`` is
    "add_remove", "replace" or "both". ``random_state`` is for tests only: what it makes is not private.
    """

    method: Literal["statistics", "objective"] = "statistics"

    def procedure(self, columns: Columns, relation: Relation) -> Procedure[FittedRegression]:
        check_penalty(self.penalty)
        if self.method not in METHODS:
            raise InvalidRequest(f"method must be one of {', '.join(METHODS)}, got {self.method!r}")
        if self.intervals and self.method != "statistics":
            raise InvalidRequest(
                f"intervals are made from released sums, which method={self.method!r} does not have; use "
                "method='statistics', which has them for nothing, or leave intervals out"
            )
        design, ridge = self._design(columns), positive_ridge(self.ridge)
        if self.method == "statistics":
            return self._from_sums(design, ridge, columns, relation)
        # Rows of norm 1 and targets within [-1, 1]: the ridge of columns over their bounds is divided by the blocks.
        problem, least = BallProblem(design), ridge / design.blocks
        if self.price.is_infinite:
            outside = ConstrainedMinimiser(problem, least)
            return self._from_minimiser(
                Ask(outside, law_in_l2(self.price, outside.distance(relation), design.width)), design, columns
            )
        law = _quieter(problem, least, self.price, relation)
        law.check(design.width)
        return self._from_minimiser(Ask(problem, law), design, columns)

    def _from_sums(
        self, design: Design, ridge: Fraction, columns: Columns, relation: Relation
    ) -> Procedure[FittedRegression]:
        query = RegressionSums(replace(design, intercept=True))
        release: Release = yield Ask(query, law_in_l2(self.price, query.distance(relation), query.shape[0]))
        moments = read(release, columns.rows)
        found = solve(moments, float(ridge / design.most_weight), design.intercept)
        # From entries in [-1, 1] to rows of norm at most 1.
        theta = found * (design.units[-1] if design.intercept else design.units[0] / design.features[0].unit)
        return self._fitted(design, theta, ridge, columns, release, moments)

    def _from_minimiser(self, ask: Ask, design: Design, columns: Columns) -> Procedure[FittedRegression]:
        release: Release = yield ask
        theta = np.asarray(release.value, np.float64)
        ridge = ridge_of(ask) * design.blocks
        return self._fitted(design, theta, ridge, columns, release)

    def confidence_intervals(self, level: float = 0.95) -> CoefficientIntervals:
        """An interval for each coefficient: rows as ``coef_``, the intercept last, on the scale of the table.

        Each covers, with probability about ``level`` over the sample and the noise, the *regularised* coefficients of the
        population: those that clipped columns with this ridge have on all people. It is made for residuals whose variance
        does not depend on the features (several rows of one person count as if they were several people's), and for noise
        that is small beside the sums; where noise rules, intervals are long and may be off. Costs nothing: everything is
        in the sums that were released.
        """
        from sklearn.utils.validation import check_is_fitted

        check_is_fitted(self)
        fitted: FittedRegression = self.fitted_
        if fitted.moments is None:
            raise InvalidRequest(
                f"confidence intervals are made from released sums, which method={fitted.method!r} does not have; "
                "use method='statistics'"
            )
        design = fitted.design
        ridge = float(fitted.ridge / design.most_weight)  # the sums are of weights over their bound
        found = solve(fitted.moments, ridge, design.intercept)
        half = half_widths(fitted.moments, found, ridge, design.intercept, level)
        units = np.array([*(f.unit for f in design.features for _ in range(f.size)), *([1.0] if design.intercept else [])])
        half = half * design.target.unit / units
        names = (*design.names, *(["intercept"] if design.intercept else []))
        return CoefficientIntervals(names, fitted.table - half, fitted.table + half, level, float(fitted.ridge))

    def test(self, coefficients: Any, value: Any = 0.0) -> CoefficientTest:
        """Whether coefficients of the population, without a ridge, have given values; costs nothing.

        ``coefficients`` is a name of ``feature_names_`` (or "intercept"), a combination such as ``{"dose": 1, "age": -1}``
        (Wald's test), or a list of these (the F test of all of them). Of a category the first label is the reference.
        """
        from sklearn.utils.validation import check_is_fitted

        check_is_fitted(self)
        return linear_test(self, coefficients, value)


def _quieter(problem: BallProblem, ridge: Fraction, price: Price, relation: Relation) -> ObjectivePerturbation:
    """The law with the least noise in a coordinate, of those that a price buys, its ridge raised where it has to be."""
    bent = problem.distance(relation).problem
    assert bent is not None
    if price.rho is None:
        half = price.pure_epsilon * (1 - SETTLED) / 2
        return objective_law(problem, max(ridge, ridge_for(bent, half)), price, relation)
    least = ridge_for(bent, numbers.square_root_up(price.rho) / 4)
    laws = (
        objective_law(problem, max(ridge, least), price, relation),
        objective_law(problem, ridge, Price(price.pure_epsilon), relation),
    )
    return min(laws, key=lambda law: noise_variance(law, problem.design.width))
