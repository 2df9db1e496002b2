"""Private linear regression, with confidence intervals."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any, Literal

import numpy as np

from discreet.core import numbers
from discreet.core.ask import Ask
from discreet.core.numbers import Number
from discreet.core.query import Relation
from discreet.core.release import Release
from discreet.core.runner import Procedure
from discreet.errors import InvalidRequest
from discreet.mechanisms.objective_perturbation import SETTLED, ObjectivePerturbation, ridge_for
from discreet.models.ball import BallProblem
from discreet.models.constrained import ConstrainedMinimiser
from discreet.models.design import Design
from discreet.models.estimator import Columns, check_penalty, positive_ridge
from discreet.models.intervals import Intervals
from discreet.models.perturbation import Price, inside, noise_in, ridge_of
from discreet.models.regressor import FittedNumber, Regressor
from discreet.models.sufficient import RegressionSums, half_widths, read, solve
from discreet.models.wald import CoefficientTest, linear_test

METHODS = ("statistics", "objective")


class LinearRegression(Regressor):
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

    def __init__(
        self,
        *,
        epsilon: Number | None = None,
        delta: Number | None = None,
        rho: Number | None = None,
        bounds: Any = None,
        target_bounds: Any = None,
        method: Literal["statistics", "objective"] = "statistics",
        ridge: Number = 1.0,
        fit_intercept: bool = True,
        penalty: str = "ridge",
        weight_bound: Number = 1.0,
        intervals: bool = False,
        neighbors: Relation = "add_remove",
        ledger: Any = None,
        random_state: Any = None,
    ) -> None:
        self.epsilon = epsilon
        self.delta = delta
        self.rho = rho
        self.bounds = bounds
        self.target_bounds = target_bounds
        self.method = method
        self.ridge = ridge
        self.fit_intercept = fit_intercept
        self.penalty = penalty
        self.weight_bound = weight_bound
        self.intervals = intervals
        self.neighbors = neighbors
        self.ledger = ledger
        self.random_state = random_state

    def _procedure(self, columns: Columns, relation: Relation) -> Procedure[FittedNumber]:
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
            return self._from_minimiser(Ask(outside, self.price.law(outside, relation, design.width)), design, columns)
        law = _quieter(problem, least, self.price, relation)
        law.check(design.width)
        return self._from_minimiser(Ask(problem, law), design, columns)

    def _from_sums(self, design: Design, ridge: Fraction, columns: Columns, relation: Relation) -> Procedure[FittedNumber]:
        query = RegressionSums(replace(design, intercept=True))
        release: Release = yield Ask(query, self.price.law(query, relation, query.shape[0]))
        moments = read(release, columns.rows)
        found = solve(moments, float(ridge / design.most_weight), design.intercept)
        # From entries in [-1, 1] to rows of norm at most 1.
        theta = found * (design.units[-1] if design.intercept else design.units[0] / design.features[0].unit)
        return FittedNumber(design, theta, ridge, "statistics", columns.rows, (release,), moments)

    def _from_minimiser(self, ask: Ask, design: Design, columns: Columns) -> Procedure[FittedNumber]:
        release: Release = yield ask
        theta = np.asarray(release.value, np.float64)
        ridge = ridge_of(ask) * design.blocks
        return FittedNumber(design, theta, ridge, self.method, columns.rows, (release,))

    def confidence_intervals(self, level: float = 0.95) -> Intervals:
        """An interval for each coefficient: rows as ``coef_``, the intercept last, on the scale of the table.

        Each covers, with probability about ``level`` over the sample and the noise, the *regularised* coefficients of the
        population: those that clipped columns with this ridge have on all people. It is made for residuals whose variance
        does not depend on the features (several rows of one person count as if they were several people's), and for noise
        that is small beside the sums; where noise rules, intervals are long and may be off. Costs nothing: everything is
        in the sums that were released.
        """
        from sklearn.utils.validation import check_is_fitted

        check_is_fitted(self)
        fitted: FittedNumber = self.fitted_
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
        return Intervals(names, fitted.table - half, fitted.table + half, level, float(fitted.ridge))

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
        return inside(problem, max(ridge, ridge_for(bent, half)), price, relation)
    least = ridge_for(bent, numbers.square_root_up(numbers.positive(price.rho, "rho")) / 4)
    laws = inside(problem, max(ridge, least), price, relation), inside(problem, ridge, Price(price.pure_epsilon), relation)
    return min(laws, key=lambda law: noise_in(law, problem.design.width))
