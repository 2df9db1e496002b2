"""An objective that can be minimised: the sum of a loss over the rows of a source, passed over as often as a solver needs.

Rows of a source in this process are kept in memory after the first pass where they are few enough; other sources are read
again at every pass, so that neither files nor a cluster are ever gathered in one place.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from discreet.models.design import Design, DesignRows, Floats
from discreet.models.losses import Loss

Want = Literal["value", "first", "second"]
_KEPT_BYTES = 1 << 28  # rows in memory between passes take at most this
RUN = 2048  # rows of a product at a time, so that what is made of them stays in the cache
TWIG = 16  # terms added up at a time: the error of a sum grows with this and not with the number of rows
_FINE_RUN = 256  # rows at a time in extended precision
UNIT = 2.0**-53 * 1.001  # the rounding of one operation, with what a million of them multiply it by
FINE_UNIT = float(np.finfo(np.longdouble).eps)


@dataclass(frozen=True, eq=False)
class Totals:
    """What one pass adds up: the loss, its gradient and Hessian, and what the error of the gradient is bounded by."""

    value: float
    gradient: Floats
    hessian: Floats | None
    slopes: float  # sum of |weight * first derivative|
    weights: float  # sum of the weights
    depth: int = 0  # the most additions that any term went through
    lost: Any = 0.0  # what sums of gradients in extended precision lost by rounding

    def __add__(self, other: Totals) -> Totals:
        both = None
        if self.hessian is not None and other.hessian is not None:
            both = self.hessian + other.hessian
        gradient, lost, deeper = self.gradient + other.gradient, 0.0, 1
        if gradient.dtype == np.longdouble:
            # The rounding of a sum is itself a number that can be added up (Knuth 1969): so any number of batches, of
            # any size, adds next to nothing to the error (Ogita, Rump and Oishi 2005).
            part = gradient - self.gradient
            lost = self.lost + other.lost + ((self.gradient - (gradient - part)) + (other.gradient - part))
            deeper = 0
        return Totals(
            self.value + other.value,
            gradient,
            both,
            self.slopes + other.slopes,
            self.weights + other.weights,
            max(self.depth, other.depth) + deeper,
            lost,
        )

    @property
    def whole(self) -> Totals:
        """With what was lost put back."""
        return replace(self, gradient=self.gradient + self.lost, lost=0.0) if self.gradient.dtype == np.longdouble else self


def pass_over(rows: DesignRows, loss: Loss, theta: Floats, want: Want, fine: bool = False) -> Totals:
    """The totals of some rows at ``theta``; ``fine``: scores, slopes and gradient in extended precision. It never warns."""
    with np.errstate(all="ignore"):
        return _fine(rows, loss, theta, want) if fine and want != "value" else _plain(rows, loss, theta, want)


def _plain(rows: DesignRows, loss: Loss, theta: Floats, want: Want) -> Totals:
    x, y, weight = rows.x, rows.y, rows.weight
    total = float(len(x)) if weight is None else float(weight.sum())
    score = x @ theta
    if want == "value":
        each = loss.value(score, y)
        return Totals(float((each if weight is None else weight * each).sum()), np.zeros(len(theta)), None, 0.0, total)
    second = None
    if want == "first":
        first = loss.first(score, y)
    else:
        first, second = loss.both(score, y)
    if weight is not None:
        first = first * weight
        second = None if second is None else second * weight
    gradient, depth = gradient_of(x, first)
    bent = None if second is None else _hessian(x, second)
    return Totals(0.0, gradient, bent, float(np.abs(first).sum()), total, depth)


def _fine(rows: DesignRows, loss: Loss, theta: Floats, want: Want) -> Totals:
    """What ``pass_over`` returns, run by run in extended precision. It is many times slower."""
    total = Totals(0.0, np.zeros(len(theta), np.longdouble), None, 0.0, 0.0)
    point, second = np.asarray(theta, np.longdouble), []
    for start in range(0, len(rows.x), _FINE_RUN):
        run = slice(start, start + _FINE_RUN)
        x, y = rows.x[run].astype(np.longdouble), rows.y[run].astype(np.longdouble)
        score = x @ point
        weight = np.ones(len(x)) if rows.weight is None else rows.weight[run]
        first = loss.first(score, y) * weight
        if want == "second":
            second.append(np.asarray(loss.second(score, y) * weight, np.float64))
        total = total + Totals(0.0, first @ x, None, float(np.abs(first).sum()), float(weight.sum()), _FINE_RUN)
    if want == "second":
        bent = _hessian(rows.x, np.concatenate([np.zeros(0), *second]))
        return replace(total, hessian=bent)
    return total


def gradient_of(x: Floats, first: Floats) -> tuple[Floats, int]:
    """x' first as a tree of short sums, and how many additions a term goes through."""
    whole = len(x) // TWIG * TWIG
    rest: Floats = x[whole:].T @ first[whole:]
    if not whole:
        return rest, TWIG
    sums = np.matmul(first[:whole].reshape(-1, 1, TWIG), x[:whole].reshape(-1, TWIG, x.shape[1]))[:, 0]
    depth = TWIG + 1
    while len(sums) > TWIG:
        even = len(sums) // TWIG * TWIG
        left = sums[even:].sum(axis=0)
        sums = sums[:even].reshape(-1, TWIG, x.shape[1]).sum(axis=1)
        sums[-1] += left
        depth += 2 * TWIG
    return rest + sums.sum(axis=0), depth + TWIG


def _hessian(x: Floats, second: Floats) -> Floats:
    """x' diag(second) x. A product of a matrix with its own transpose is half the work."""
    root = np.sqrt(second)
    total = np.zeros((x.shape[1], x.shape[1]))
    for start in range(0, len(x), RUN):
        part = x[start : start + RUN] * root[start : start + RUN, None]
        total += part.T @ part
    return total


@dataclass(frozen=True, eq=False)
class _Pass:
    """One pass over a source. A plain object, so that a cluster can send it to its workers."""

    design: Design
    loss: Loss
    theta: Floats
    want: Want
    fine: bool
    over: Callable[..., Totals]

    def step(self, batch: Any) -> Totals:
        return self.over(self.design.block(batch), self.loss, self.theta, self.want, self.fine)

    @staticmethod
    def combine(left: Totals, right: Totals) -> Totals:
        return left + right


class _Keeper:
    """Collects rows as long as they fit into memory; None once they do not."""

    def __init__(self, design: Design, most: int) -> None:
        self._design, self._most, self._full = design, most, False

    def step(self, batch: Any) -> list[DesignRows] | None:
        return None if self._full else self._fitting([self._design.block(batch)])

    def combine(self, left: list[DesignRows] | None, right: list[DesignRows] | None) -> list[DesignRows] | None:
        return None if left is None or right is None else self._fitting([*left, *right])

    def _fitting(self, rows: list[DesignRows]) -> list[DesignRows] | None:
        self._full = self._full or sum(each.x.nbytes for each in rows) > self._most
        return None if self._full else rows


class Objective:
    """The sum over rows of the loss at theta; ``rows`` in memory, or a ``source`` that is passed over."""

    over: Callable[..., Totals] = staticmethod(pass_over)  # what a pass does with some rows

    def __init__(self, design: Design, loss: Any, source: Any = None, rows: Sequence[DesignRows] | None = None) -> None:
        self.design, self.loss, self.width = design, loss, design.width
        self._source = source
        self._rows = rows
        self._tried = rows is not None

    def at(self, theta: Floats, want: Want, fine: bool = False) -> Totals:
        """One pass at ``theta``; ``fine``: in extended precision."""
        rows = self.kept
        if rows is None:
            one = _Pass(self.design, self.loss, theta, want, fine, self.over)
            found: Totals = self._source.fold(one.step, one.combine, list(self.design.columns))
            return found.whole
        empty = Totals(0.0, np.zeros(self.width), np.zeros((self.width, self.width)) if want == "second" else None, 0.0, 0.0)
        total = empty
        for block in rows:
            total = total + self.over(block, self.loss, theta, want, fine)
        return total.whole

    @property
    def kept(self) -> Sequence[DesignRows] | None:
        """The rows in memory, if they fit there."""
        if not self._tried:
            self._tried = True
            if getattr(self._source, "in_process", False):
                keeper = _Keeper(self.design, _KEPT_BYTES)
                self._rows = self._source.fold(keeper.step, keeper.combine, list(self.design.columns))
        return self._rows

    def thinned(self, most: int) -> tuple[Objective, float] | None:
        """An objective over about ``most`` of the rows in memory and by what factor they are fewer; None if not worth it."""
        rows = self.kept
        size = sum(len(r.x) for r in rows or ())
        step = size // most
        if rows is None or step < 4:
            return None
        few = [DesignRows(r.x[::step], r.y[::step], None if r.weight is None else r.weight[::step], None) for r in rows]
        return self.like(few), size / sum(len(r.x) for r in few)

    def like(self, rows: Sequence[DesignRows]) -> Objective:
        """The same of other rows, in memory."""
        return Objective(self.design, self.loss, rows=rows)

    def with_loss(self, loss: Loss) -> Objective:
        """The same rows under another loss."""
        other = Objective(self.design, loss, self._source, self.kept)
        other._tried = True
        return other

    def error(self, totals: Totals, theta: Floats, fine: bool = False) -> float:
        """The most by which a pass got its gradient wrong, in L2.

        Proof: with u the rounding of one operation, a sum of m terms is wrong by at most m u times the sum of their
        absolute values, in any order (Higham 2002, section 4.2), and a tree of sums by its depth instead of m; two units
        more where what was lost is put back. A
        coordinate of the gradient is such a tree; the vector of absolute sums has a norm of at most the sum of
        |slope| |x| <= ``slopes``. A score is wrong by at most width u |x| |theta|, which changes its slope by at most
        curvature times that. Given the score, tanh, clip and the products around it are wrong by less than 16 u, and
        a hinge by less than 4 u times its curvature, as 1 + h is rounded and the difference divided by 2 h.
        """
        unit, depth = (FINE_UNIT if fine and self.loss.extended else UNIT), totals.depth + 16
        bend = float(self.loss.curvature) * ((self.width + 2) * float(np.linalg.norm(theta)) + 4.0)
        return unit * (depth * totals.slopes + (bend + 16.0 * float(self.loss.slope)) * totals.weights)

    def derivatives(self, theta: Floats) -> tuple[Floats, Floats]:
        """Gradient and Hessian of the sum at ``theta``."""
        totals = self.at(theta, "second")
        assert totals.hessian is not None
        return totals.gradient, totals.hessian

    def minimise(self, linear: Floats, ridge: float, tolerance: float) -> Floats:
        """The minimiser with a linear term and a ridge, to within tolerance / ridge and the rounding to doubles."""
        from discreet.models.solve.newton import minimise

        return np.asarray(minimise(self, linear, ridge, tolerance).theta, np.float64)
