"""Least squares in a ball: the problem of private linear regression."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from discreet.core import numbers
from discreet.core.cost import Distance
from discreet.core.query import Query, Relation, queries
from discreet.core.smoothness import Smoothness
from discreet.core.source import Source
from discreet.models.design import Design
from discreet.models.losses import Loss, Squared
from discreet.models.solve.least_squares import LeastSquares


@queries("ball_problem")
@dataclass(frozen=True)
class BallProblem(Query):
    """The sum over rows of weight * (theta . x - y)^2 / 2 with |theta| <= 1, |x| <= 1 and |y| <= 1.

    ``distance``: with k rows a person and weights up to w, the gradient moves by 2 k w under add/remove. Under replace and
    both it moves by 9/4 k w in one dimension and by (3 sqrt(3) / 2) k w in more. A row bends it by w.

    Proof: a row's gradient g = (theta . x - y) x is at most 2 long. Under replace |g - g'| is convex in theta, so theta
    is a unit vector. (x, y) and (-x, -y) have the same g, so g = s x with 0 <= s <= 1 + theta . x: in one dimension a
    number in [-1/4, 2]; in more, a point of the cardioid r <= 1 + cos(angle to theta), turned about theta. Two points are
    farthest apart in one plane with theta, on opposite sides. There the cardioid is the union of the circles through 0
    around c = cos(b) (cos b, sin b), so that it reaches max_b cos b + (cos(2b - a) + cos a) / 2 in the direction a. Its
    width in that direction is max over b, b' of cos b + cos b' - sin(b + b' - a) sin(b - b') <= 2 cos h + sin 2h with h =
    |b - b'| / 2, which is at most 3 sqrt(3) / 2, at h = 30 degrees. A lighter or missing row has a shorter g in the same
    set, which holds 0 and every multiple below 1 of its members. ``pull``: row by row they move by 2 + 2, not by 3
    sqrt(3) / 2.
    """

    design: Design

    @property
    def loss(self) -> Loss:
        """The squared error; a residual is at most 2."""
        return Squared(Fraction(2))

    @property
    def width(self) -> int:
        """The number of coefficients."""
        return self.design.width

    def distance(self, relation: Relation) -> Distance:
        whole = self.design.most_weight * self.design.rows
        line, added = self.design.width == 1, relation == "add_remove"
        one = Fraction(2) if added else Fraction(9, 4) if line else numbers.square_root_up(Fraction(27, 4))
        pull = Fraction(1) if added or line else 4 / one
        bent = Smoothness(
            self.design.most_weight,
            self.design.rows,
            not added,
            False,
            False,
            pull,
            self.design.width,
            self.design.most_rows,
            reach=Fraction(1),
        )
        return Distance(whole * one * self.design.width, whole * one, whole * one, None, bent)

    def evaluate(self, source: Source) -> LeastSquares:
        return LeastSquares(self.design, self.loss, source)

    def blank(self, rows: int) -> LeastSquares:
        return LeastSquares(self.design, self.loss, rows=[])
