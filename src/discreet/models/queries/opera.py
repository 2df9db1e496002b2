"""OPERA: gradient descent for a public number of steps from a public start, then noise on the last point, once.

Unlike a minimiser, the last point of a descent needs no certificate: how far one person moves it follows from the
steps themselves. It may be stopped early, and it needs no ridge at all.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from discreet.core import numbers
from discreet.core.cost import Distance
from discreet.core.numbers import Number
from discreet.core.price import Price
from discreet.core.query import Query, Relation, queries
from discreet.core.source import Source
from discreet.errors import InvalidRequest
from discreet.models.design import Design, Floats
from discreet.models.losses import Loss
from discreet.models.queries.empirical_risk import Problem, check_loss
from discreet.models.solve.objective import RUN, UNIT, Objective

_LAYERS = 10_000  # parts of a table that hold no row of it


@dataclass(frozen=True)
class Opera:
    """A ``method`` for linear classifiers: ``steps`` of gradient descent at a ``rate`` (the largest allowed by default)."""

    steps: int = 100
    rate: Number | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "steps", check_whole(self.steps, "steps"))
        if self.rate is not None:
            numbers.positive(self.rate, "rate")

    def __str__(self) -> str:
        return "opera"

    def query(
        self, design: Design, loss: Loss, ridge: Fraction, relation: Relation, rows: int | None, price: Price
    ) -> Descent:
        """The descent on a table whose number of rows is public."""
        known = public_rows("opera", relation, rows)
        top = largest_rate(design, loss, ridge, known)
        rate = top if self.rate is None else numbers.positive(self.rate, "rate")
        return Descent(design, loss, ridge, known, self.steps, rate)


def public_rows(method: str, relation: Relation, rows: int | None) -> int:
    """The number of rows, refused where it is private."""
    if relation != "replace" or rows is None:
        raise InvalidRequest(
            f"method {method!r} averages over a public number of rows, got neighbors={relation!r}"
            f"{'' if relation != 'replace' else ' on rows whose number is not public'}; use neighbors='replace' on a "
            "whole table with one row for each person, or method='output'"
        )
    return rows


def largest_rate(design: Design, loss: Loss, ridge: Fraction, rows: int) -> Fraction:
    """2 / (curvature + 2 m), m = ridge / rows: up to here a step brings no two points further apart."""
    return 2 / (design.most_weight * loss.curvature + 2 * ridge / rows)


@queries("descent")
@dataclass(frozen=True)
class Descent(Query):
    """The point after ``steps`` gradient steps from 0 on F = (1/n) sum of weight * loss + (m/2) |theta|^2, n = ``rows``.

    ``ridge`` is that of the sum form, m = ridge / rows; it may be 0. ``distance``: (2 L / (n m)) (1 - (1 - rate m)^steps),
    or 2 L steps rate / n without a ridge, in L2, L the most that a person's rows move the gradient; and what rounding adds.

    Proof: (the relation is replace and n is public.) F is m-strongly convex and has a Hessian of at most b = curvature *
    weight + m, the ridge included, so for rate <= 2 / (b + m) a step on one table brings two points closer by the factor
    1 - rate m (Nesterov 2004, theorem 2.1.15), and on another table the gradient at one point differs by at most 2 L / n.
    So D' <= (1 - rate m) D + 2 L rate / n, from D = 0. In doubles each step is wrong by at most ``rounding`` on either
    table, which adds 2 ``rounding`` to each step of the recursion.
    """

    design: Design
    loss: Loss
    ridge: Fraction
    rows: int
    steps: int
    rate: Fraction

    def __post_init__(self) -> None:
        check_loss(self.design, self.loss)
        object.__setattr__(self, "ridge", numbers.non_negative(self.ridge, "ridge"))
        object.__setattr__(self, "rate", numbers.positive(self.rate, "rate"))
        object.__setattr__(self, "rows", check_whole(self.rows, "rows"))
        object.__setattr__(self, "steps", check_whole(self.steps, "steps"))
        top = largest_rate(self.design, self.loss, self.ridge, self.rows)
        if self.rate > top:
            raise InvalidRequest(
                f"rate must be at most 2 / (curvature + 2 ridge / rows) = {float(top):.6g}, got {float(self.rate):.6g}; "
                "beyond it steps drive neighbours apart"
            )

    @property
    def shrinking(self) -> Fraction:
        """m, the strong convexity of F."""
        return self.ridge / self.rows

    @property
    def ideal(self) -> Fraction:
        """The distance of exact steps, rounded up."""
        return self._sum_of_steps * 2 * self._pull * self.rate / self.rows

    @property
    def rounding(self) -> Fraction:
        """The most by which doubles get one step wrong, in L2.

        Proof: no point is further from 0 than r = min(steps rate, 1 / m) times the largest pull w of a row, and the sum over
        rows of their slopes is at most n w. ``Objective.error`` with these numbers, in at most n + 10,000 parts, is the
        error of the gradient; another 8 roundings of vectors no longer than r + rate (w + m r) make the step.
        """
        w, c = (float(self.design.most_weight * v) for v in (self.loss.slope, self.loss.curvature))
        n, rate, m = float(self.rows), float(self.rate), float(self.shrinking)
        far = w * (min(self.steps * rate, 1 / m) if m else self.steps * rate)
        depth = RUN + 2 * n + _LAYERS
        passed = depth * w + c * ((self.design.width + 2) * far + 4.0) + 16.0 * w
        return numbers.round_up(UNIT * (rate * passed + 8.0 * (far + rate * (w + m * far))) * (1 + 1e-9))

    @property
    def _pull(self) -> Fraction:
        """The most that one person's rows move the sum of gradients."""
        return self.design.most_weight * self.loss.slope * self.design.rows

    @property
    def _sum_of_steps(self) -> Fraction:
        """1 + s + ... + s^(steps - 1), s = 1 - rate m, rounded up."""
        gone = float(self.rate * self.shrinking)
        if gone * self.steps < 1e-12:
            return Fraction(self.steps)
        return min(Fraction(self.steps), numbers.round_up(-math.expm1(self.steps * math.log1p(-gone)) / gone * (1 + 1e-13)))

    def distance(self, relation: Relation) -> Distance:
        if relation != "replace":
            raise InvalidRequest(
                f"a descent averages over a public number of rows and holds under replace only, got {relation!r}; "
                "use neighbors='replace', or method='output'"
            )
        far = self.ideal + 2 * self.rounding * self._sum_of_steps
        return Distance(far * numbers.square_root_up(Fraction(self.design.width)), far, far)

    def evaluate(self, source: Source) -> Floats:
        return self.descended(Problem(self.design, self.loss).evaluate(source))

    def blank(self, rows: int) -> Floats:
        return self.descended(Problem(self.design, self.loss).blank(rows))

    def descended(self, objective: Objective) -> Floats:
        """What the query answers of an objective."""
        theta = np.zeros(self.design.width)
        n, rate, m = float(self.rows), float(self.rate), float(self.shrinking)
        for _ in range(self.steps):
            theta = theta - rate * (objective.at(theta, "first").gradient / n + m * theta)
        return theta


def check_whole(value: Any, name: str) -> int:
    """A whole number of at least 1."""
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < 1:
        raise InvalidRequest(f"{name} must be a whole number of at least 1, got {value!r}")
    return int(value)
