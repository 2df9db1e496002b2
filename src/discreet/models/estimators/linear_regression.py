"""Private linear regression, with confidence intervals."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, Literal

import numpy as np

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
from discreet.models.estimators.coefficients import Coefficients, Known
from discreet.models.estimators.regressor import FittedRegression, PerturbedRegression
from discreet.models.intervals.coefficient_intervals import CoefficientIntervals
from discreet.models.intervals.wald import CoefficientTest, linear_test
from discreet.models.perturbation import noise_variance, objective_law, ridge_of
from discreet.models.protocol import Columns
from discreet.models.queries.ball_problem import BallProblem
from discreet.models.queries.constrained_problem import ConstrainedMinimiser
from discreet.models.queries.regression_sums import RegressionSums, error_law_of, read, solve

METHODS = ("statistics", "objective")
_TARGET_FACTOR = Fraction(3, 2)
_SHARES = tuple(Fraction(1, parts) for parts in (2, 3, 4, 6, 8, 12, 16, 24))  # of epsilon, that the Jacobian may take


@dataclass(kw_only=True, eq=False, repr=False)
class LinearRegression(Coefficients, PerturbedRegression):
    """Least squares with a ridge.

    ``method="statistics"`` (the default) releases the sums of squares and products of all columns once, with Gaussian
    noise, or spherical Laplace noise where the price is pure, and solves the regression from them; it has
    ``confidence_intervals``. ``method="objective"`` puts the noise into the objective and holds coefficients to a ball
    (Kifer, Smith and Thakurta 2012, with a single Jacobian and the distances of ``BallProblem``); at a pure price it is
    the better one from three features on.

    ``epsilon`` alone, ``epsilon`` and ``delta``, or ``rho`` is the price of one fit. ``bounds`` are the public (lo, hi)
    of the features, ``target_bounds`` those of the target; values outside are clipped. With an intercept, features and
    target are counted from the middle of their bounds, which are public: where the target lies away from zero, no noise
    is spent on how far. ``ridge`` is that of the sum of squares with every column divided by half the distance of its
    bounds (without an intercept by its largest bound), and the target by that over the number p of features (the
    constant counted). On that scale "objective" holds coefficients to a norm of sqrt(p), and raises the ridge to where
    noise and ridge together do the least harm (``ridge_`` says to what). ``weight_bound`` is the public bound of
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
        design, ridge = self._design(columns, centred=True), positive_ridge(self.ridge)
        if self.method == "statistics":
            return self._from_sums(design, ridge, columns, relation)
        # Rows of norm 1 and targets within [-1, 1]: the ridge of columns over their bounds is divided by the blocks.
        problem, least = BallProblem(design), ridge / design.blocks
        if self.price.is_infinite:
            outside = ConstrainedMinimiser(problem, least)
            return self._from_minimiser(
                Ask(outside, law_in_l2(self.price, outside.distance(relation), design.width)), design, columns
            )
        law = _least_error(problem, least, self.price, relation)
        law.check(design.width)
        return self._from_minimiser(Ask(problem, law), design, columns)

    def _from_sums(
        self, design: Design, ridge: Fraction, columns: Columns, relation: Relation
    ) -> Procedure[FittedRegression]:
        query = RegressionSums(replace(design, intercept=True), _TARGET_FACTOR)
        release: Release = yield Ask(query, law_in_l2(self.price, query.distance(relation), query.shape[0]))
        moments = read(release, columns.rows)
        theta = solve(moments, float(ridge / design.most_weight), design.intercept)
        return self._fitted(design, theta * design.stretch, ridge, columns, release, moments)

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
        return super().confidence_intervals(level)

    def _known(self) -> Known:
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
        theta = solve(fitted.moments, ridge, design.intercept)
        names = (*design.names, *(["intercept"] if design.intercept else []))
        error_law = error_law_of(fitted.moments, theta, ridge, design.intercept).along(fitted.entry_lines)
        return Known(names, fitted.table, error_law, float(fitted.ridge))

    def test(self, coefficients: Any, value: Any = 0.0) -> CoefficientTest:
        """Whether coefficients of the population, without a ridge, have given values; costs nothing.

        ``coefficients`` is a name of ``feature_names_`` (or "intercept"), a combination such as ``{"dose": 1, "age": -1}``
        (Wald's test), or a list of these (the F test of all of them). Of a category the first label is the reference.
        """
        from sklearn.utils.validation import check_is_fitted

        check_is_fitted(self)
        return linear_test(self, coefficients, value)


def _least_error(problem: BallProblem, ridge: Fraction, price: Price, relation: Relation) -> ObjectivePerturbation:
    """The law, of those that a price buys at this ridge or a larger one, with the least error at the edge of the ball.

    A larger ridge leaves more of the price to the noise (the Jacobian takes less) and pulls coefficients further to 0.
    To first order the coefficients are wrong by the inverse Hessian times (noise - ridge theta), so what counts is
    (number of coefficients) (variance of a coordinate of the noise) + ridge^2 |theta|^2, at |theta| = 1, the most in the
    ball. The ridges that are tried leave the Jacobian shares of epsilon from a half down; a delta or a rho may buy
    normal noise at the best of them. Only public numbers decide.
    """

    def error(law: ObjectivePerturbation) -> Fraction:
        return width * noise_variance(law, width) + law.ridge**2

    bent, width = problem.distance(relation).problem, problem.design.width
    assert bent is not None
    whole = price.pure_epsilon * (1 - SETTLED)
    tried = dict.fromkeys(max(ridge, ridge_for(bent, whole * share)) for share in _SHARES)
    alone = Price(price.pure_epsilon)
    best = min((objective_law(problem, each, alone, relation) for each in tried), key=error)
    return best if price.is_pure else min(best, objective_law(problem, best.ridge, price, relation), key=error)
