"""The cross-entropy of a softmax: what multinomial logistic regression minimises, row by row.

With K classes a row x has K scores z = theta x and the loss ln(sum of e^z) - z_y. Adding the same to all scores changes
nothing, so theta is kept across the equal scores: theta = B phi with B a K x (K - 1) matrix of orthonormal columns that sum
to 0, and phi has the same length. All coefficients are one vector, phi line by line.

A margin a is taken off the score of the true class first. With a = 1 / h and scores over h this is the hinge of Crammer and
Singer (2001), max over j of z_j + [j is not y] - z_y, with its maximum rounded: h ln(sum of e^((z_j + [j is not y]) / h)) -
z_y passes it by at most h ln K. So a support vector machine of several classes is a softmax with a margin.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np

from discreet.core import numbers
from discreet.errors import InvalidRequest
from discreet.models.design import DesignRows, Floats
from discreet.models.solve.objective import RUN, Totals, Want, gradient_of

MOST_CLASSES = 150  # for more, sums over classes would not be certified
_FINE_RUN = 256
MOST_MARGIN = 50  # what a sum of scores is wrong by grows with it


@dataclass(frozen=True)
class Softmax:
    """ln(sum of e^z) - z_y of K scores z, of which z_y has the ``margin`` taken off first.

    Its gradient in z is at most sqrt(2) long, its Hessian diag p - p p' at most 1/2.

    Proof: it is ln(sum of e^z) - z_y at scores that were moved by a constant, so its gradient is p - e_y and its Hessian
    diag p - p p', p the shares of the moved scores: whatever they are, |p - e_y|^2 = (1 - p_y)^2 + sum of the other p_j^2 <=
    2 (1 - p_y)^2. The largest eigenvalue of a covariance of one of K unit vectors is at most 1/2, reached where two have
    probability 1/2. It is never below 0, and ln(1 + (K - 1) e^margin) at scores of 0.
    """

    classes: int
    margin: Fraction = Fraction(0)
    extended = True

    def __post_init__(self) -> None:
        if not 2 <= self.classes <= MOST_CLASSES:
            raise InvalidRequest(f"a softmax is of 2 to {MOST_CLASSES} classes, got {self.classes}")
        object.__setattr__(self, "margin", numbers.non_negative(self.margin, "margin"))
        if self.margin > MOST_MARGIN:
            raise InvalidRequest(
                f"a margin must be at most {MOST_MARGIN} times the width of a corner, got {float(self.margin):g}; take "
                "a wider one"
            )

    @property
    def slope(self) -> Fraction:
        return numbers.square_root_up(Fraction(2))

    @property
    def curvature(self) -> Fraction:
        return Fraction(1, 2)

    @property
    def height(self) -> Fraction:
        """What a row loses at equal scores beyond the least it can."""
        margin = float(self.margin)
        return numbers.round_up(margin + math.log(math.exp(-margin) + self.classes - 1))

    def smoother(self) -> None:
        return None

    @cached_property
    def basis(self) -> Floats:
        """B: Helmert's contrasts, each class against the mean of those before."""
        made = np.zeros((self.classes, self.classes - 1))
        for column in range(self.classes - 1):
            made[: column + 1, column] = 1.0
            made[column + 1, column] = -(column + 1.0)
            made[:, column] /= math.sqrt((column + 1.0) * (column + 2.0))
        return made

    def coefficients(self, phi: Floats) -> Floats:
        """theta, a line for each class, from the vector that is minimised over."""
        made: Floats = self.basis @ phi.reshape(self.classes - 1, -1)
        return made


def pass_over(rows: DesignRows, loss: Softmax, phi: Any, want: Want, fine: bool = False) -> Totals:
    """The totals of some rows; ``fine``: scores, slopes and gradient in extended precision. It never warns."""
    kind = np.longdouble if fine and want != "value" else np.float64
    width = len(phi)
    total = Totals(0.0, np.zeros(width, kind), np.zeros((width, width)) if want in ("rough", "second") else None, 0.0, 0.0)
    with np.errstate(all="ignore"):
        for start in range(0, len(rows.x), _FINE_RUN if kind is np.longdouble else max(RUN, 1)):
            run = slice(start, start + (_FINE_RUN if kind is np.longdouble else RUN))
            part = DesignRows(rows.x[run], rows.y[run], None if rows.weight is None else rows.weight[run], None)
            total = total + _run(part, loss, phi, want, kind)
    return total


def _run(rows: DesignRows, loss: Softmax, phi: Any, want: Want, kind: Any) -> Totals:
    x, truth = rows.x.astype(kind, copy=False), rows.y.astype(np.intp)
    basis, lines = loss.basis.astype(kind, copy=False), np.asarray(phi, kind).reshape(loss.classes - 1, -1)
    weight = np.ones(len(x)) if rows.weight is None else rows.weight
    whole, every = float(weight.sum()), np.arange(len(x))
    score = (x @ lines.T) @ basis.T
    score[every, truth] -= kind(loss.margin.numerator) / kind(loss.margin.denominator)
    score -= score.max(axis=1, keepdims=True)
    share = np.exp(score)
    sums = share.sum(axis=1)
    value = float(weight @ (np.log(sums) - score[every, truth])) if want in ("value", "both") else 0.0
    if want == "value":
        return Totals(value, np.zeros(len(phi)), None, 0.0, whole)
    share /= sums[:, None]
    hessian = _hessian(rows.x, np.asarray(share, np.float64), weight, loss) if want in ("rough", "second") else None
    share[every, truth] -= 1.0
    first = (share @ basis) * weight[:, None]
    if kind is np.longdouble:
        gradient, depth = (first.T @ x).ravel(), len(x)
    else:
        made = [gradient_of(x, np.ascontiguousarray(column)) for column in first.T]
        gradient, depth = np.concatenate([g for g, _ in made]), made[0][1]
    slopes = float(np.sqrt(np.asarray((first * first).sum(axis=1), np.float64)).sum())
    return Totals(value, gradient, hessian, slopes * (1 + 1e-9), whole, depth)


def _hessian(x: Floats, share: Floats, weight: Floats, loss: Softmax) -> Floats:
    """The sum over rows of weight B' (diag p - p p') B times x x', block by block."""
    width = x.shape[1]
    inside = np.einsum("ik,ka,kb->iab", share, loss.basis, loss.basis)
    turned = share @ loss.basis
    inside -= turned[:, :, None] * turned[:, None, :]
    inside *= weight[:, None, None]
    size = loss.classes - 1
    hessian = np.empty((size, width, size, width))
    for a in range(size):
        for b in range(a, size):
            block = x.T @ (x * inside[:, a, b, None])
            hessian[a, :, b, :] = block
            hessian[b, :, a, :] = block.T
    return hessian.reshape(size * width, size * width)
