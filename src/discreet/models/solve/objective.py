"""An objective that can be minimised: the sum of a loss over the rows of a source, passed over as often as a solver needs.

Rows of a source in this process are kept in memory after the first pass where they are few enough; other sources are read
again at every pass, so that neither files nor a cluster are ever gathered in one place.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from discreet.core.source import Batch, Source
from discreet.models.design import Design, DesignRows, Floats
from discreet.models.losses import Loss

# "both" are value and gradient; "rough" is "second" with a Hessian in single precision, for steps whose end is certified
# by another pass.
Want = Literal["value", "first", "both", "rough", "second"]
_KEPT_BYTES = 1 << 28  # rows in memory between passes take at most this
RUN = 2048  # rows of a product at a time, so that what is made of them stays in the cache
_RUN_BYTES = 1 << 20  # rows of a pass at a time: what is read twice stays in the cache
_CACHED_BYTES = 1 << 24  # rows that stay there anyway
_TERMS = 64  # columns of a score at a time: the error of a score grows with this and not with the number of columns
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
    """Run by run: a row is still in the cache when its score has become a slope."""
    x, y, weight = rows.x, rows.y, rows.weight
    total = float(len(x)) if weight is None else float(weight.sum())
    value, slopes, width = 0.0, 0.0, x.shape[1]
    kind = np.float32 if want == "rough" else np.float64
    bent = np.zeros((width, width)) if want in ("rough", "second") else None
    size = max(1, _RUN_BYTES // (8 * width * TWIG)) * TWIG if x.nbytes > _CACHED_BYTES else max(1, len(x))
    twigs = np.empty((len(x) // TWIG, width))
    rest = np.zeros(width)
    for start in range(0, len(x), size):
        part, goal = x[start : start + size], y[start : start + size]
        score = scores(part, theta)
        heavy = None if weight is None else weight[start : start + size]
        if want in ("value", "both"):
            each = loss.value(score, goal)
            value += float((each if heavy is None else heavy * each).sum())
        if want == "value":
            continue
        first, second = (loss.first(score, goal), None) if bent is None else loss.both(score, goal)
        if heavy is not None:
            first, second = first * heavy, None if second is None else second * heavy
        slopes += float(np.abs(first).sum())
        whole = len(part) // TWIG
        bundles = part[: whole * TWIG].reshape(whole, TWIG, width)
        np.matmul(first[: whole * TWIG].reshape(whole, 1, TWIG), bundles, out=twigs[start // TWIG :][:whole, None])
        rest += part[whole * TWIG :].T @ first[whole * TWIG :]  # of the last run alone is there any
        if bent is not None and second is not None:
            _add_hessian(bent, part, second, kind)
    if want == "value":
        return Totals(value, np.zeros(width), None, 0.0, total)
    gradient, depth = _tree(twigs)
    return Totals(value, rest + gradient, bent, slopes, total, depth)


def scores(x: Floats, theta: Floats) -> Floats:
    """x . theta as a sum of sums over ``_TERMS`` columns each. At 0, where solvers begin, there is nothing to add up."""
    if not theta.any():
        return np.zeros(len(x))
    found: Floats = x[:, :_TERMS] @ theta[:_TERMS]
    for start in range(_TERMS, len(theta), _TERMS):
        found += x[:, start : start + _TERMS] @ theta[start : start + _TERMS]
    return found


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
        if want in ("rough", "second"):
            second.append(np.asarray(loss.second(score, y) * weight, np.float64))
        total = total + Totals(0.0, first @ x, None, float(np.abs(first).sum()), float(weight.sum()), _FINE_RUN)
    if want in ("rough", "second"):
        bent = np.zeros((len(theta), len(theta)))
        for start, part in zip(range(0, len(rows.x), _FINE_RUN), second, strict=True):
            _add_hessian(bent, rows.x[start : start + _FINE_RUN], part, np.float64)
        return replace(total, hessian=bent)
    return total


def gradient_of(x: Floats, first: Floats) -> tuple[Floats, int]:
    """x' first as a tree of short sums, and how many additions a term goes through."""
    whole = len(x) // TWIG * TWIG
    rest: Floats = x[whole:].T @ first[whole:]
    if not whole:
        return rest, TWIG
    sums, depth = _tree(np.matmul(first[:whole].reshape(-1, 1, TWIG), x[:whole].reshape(-1, TWIG, x.shape[1]))[:, 0])
    return rest + sums, depth


def _tree(sums: Floats) -> tuple[Floats, int]:
    """The sum of ``sums``, each of a twig of terms, and how many additions a term went through in all."""
    depth = TWIG + 1
    while len(sums) > TWIG:
        even = len(sums) // TWIG * TWIG
        left = sums[even:].sum(axis=0)
        sums = sums[:even].reshape(-1, TWIG, sums.shape[1]).sum(axis=1)
        sums[-1] += left
        depth += 2 * TWIG
    return sums.sum(axis=0), depth + TWIG


def _add_hessian(total: Floats, x: Floats, second: Floats, kind: Any) -> None:
    """Add x' diag(second) x. A product of a matrix with its own transpose is half the work."""
    part = np.multiply(x, np.sqrt(second)[:, None], dtype=kind, casting="same_kind")
    total += part.T @ part


@dataclass(frozen=True, eq=False)
class _Pass:
    """One pass over a source. A plain object, so that a cluster can send it to its workers."""

    design: Design
    loss: Loss
    theta: Floats
    want: Want
    fine: bool
    over: Callable[..., Totals]

    def step(self, batch: Batch) -> Totals:
        return self.over(self.design.block(batch), self.loss, self.theta, self.want, self.fine)

    @staticmethod
    def combine(left: Totals, right: Totals) -> Totals:
        return left + right


class _Keeper:
    """Collects rows as long as they fit into memory; None once they do not."""

    def __init__(self, design: Design, most: int) -> None:
        self._design, self._most, self._full = design, most, False

    def step(self, batch: Batch) -> list[DesignRows] | None:
        return None if self._full else self._fitting([self._design.block(batch)])

    def combine(self, left: list[DesignRows] | None, right: list[DesignRows] | None) -> list[DesignRows] | None:
        return None if left is None or right is None else self._fitting([*left, *right])

    def _fitting(self, rows: list[DesignRows]) -> list[DesignRows] | None:
        self._full = self._full or sum(each.x.nbytes for each in rows) > self._most
        return None if self._full else rows


class Objective:
    """The sum over rows of the loss at theta; ``rows`` in memory, or a ``source`` that is passed over."""

    over: Callable[..., Totals] = staticmethod(pass_over)  # what a pass does with some rows

    def __init__(
        self, design: Design, loss: Any, source: Source | None = None, rows: Sequence[DesignRows] | None = None
    ) -> None:
        self.design, self.loss, self.width = design, loss, design.width
        self._source = source
        self._rows = rows
        self._tried = rows is not None

    def at(self, theta: Floats, want: Want, fine: bool = False) -> Totals:
        """One pass at ``theta``; ``fine``: in extended precision."""
        rows = self.kept
        if rows is None:
            assert self._source is not None
            one = _Pass(self.design, self.loss, theta, want, fine, self.over)
            found: Totals = self._source.fold(one.step, one.combine, list(self.design.columns))
            return found.whole
        bent = np.zeros((self.width, self.width)) if want in ("rough", "second") else None
        empty = Totals(0.0, np.zeros(self.width), bent, 0.0, 0.0)
        total = empty
        for block in rows:
            total = total + self.over(block, self.loss, theta, want, fine)
        return total.whole

    @property
    def kept(self) -> Sequence[DesignRows] | None:
        """The rows in memory, if they fit there."""
        if not self._tried:
            self._tried = True
            if self._source is not None and self._source.in_process:
                keeper = _Keeper(self.design, _KEPT_BYTES)
                self._rows = self._source.fold(keeper.step, keeper.combine, list(self.design.columns))
        return self._rows

    def thinned(self, most: int) -> tuple[Objective, float] | None:
        """An objective over about ``most`` of the rows in memory and by what factor they are fewer; None if not worth it."""
        rows = self.kept
        size = self.size
        step = size // most
        if rows is None or step < 4:
            return None
        few = [DesignRows(r.x[::step], r.y[::step], None if r.weight is None else r.weight[::step], None) for r in rows]
        return self.like(few), size / sum(len(r.x) for r in few)

    @property
    def size(self) -> int:
        """The number of rows in memory."""
        return sum(len(r.x) for r in self.kept or ())

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
        more where what was lost is put back. A coordinate of the gradient is such a tree; the vector of absolute sums has
        a norm of at most the sum of |slope| |x| <= ``slopes``. A score is such a tree too, of depth ``_terms``: wrong by at
        most that times u |x| |theta|, which changes its slope by at most curvature times that. Given the score, tanh, clip
        and the products around it are wrong by less than 16 u, and a hinge by less than 4 u times its curvature, as 1 + h is
        rounded and the difference divided by 2 h.
        """
        unit, depth = (FINE_UNIT if fine and self.loss.extended else UNIT), totals.depth + 16
        bend = float(self.loss.curvature) * ((self._terms(fine) + 2) * float(np.linalg.norm(theta)) + 4.0)
        return unit * (depth * totals.slopes + (bend + 16.0 * float(self.loss.slope)) * totals.weights)

    def _terms(self, fine: bool) -> int:
        """How many additions a term of a score goes through at most."""
        return self.width if fine else min(self.width, _TERMS + -(-self.width // _TERMS))

    def derivatives(self, theta: Floats) -> tuple[Floats, Floats]:
        """Gradient and Hessian of the sum at ``theta``."""
        totals = self.at(theta, "second")
        assert totals.hessian is not None
        return totals.gradient, totals.hessian

    def minimise(self, linear: Floats, ridge: float, tolerance: float) -> Floats:
        """The minimiser with a linear term and a ridge, to within tolerance / ridge and the rounding to doubles."""
        from discreet.models.solve.newton import minimise

        return np.asarray(minimise(self, linear, ridge, tolerance).theta, np.float64)
