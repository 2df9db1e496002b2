"""The least value of a quadratic in a ball or in a box, and the factors of its Hessian. No rows are looked at here."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.linalg import cho_solve

from discreet.models.design import Floats

_ROOT_STEPS = 200
_SETS = 50  # sets of coordinates that are tried


def factors(hessian: Floats) -> Floats:
    """Its Cholesky factors. Where rounding left it indefinite the diagonal is raised, which still leads downhill.

    Proof: the matrix is finite and, before rounding, positive definite. A diagonal raised to more than the sum of all
    entries makes it diagonally dominant, so the loop ends after at most some fifty turns.
    """
    raised = 0.0
    while True:
        try:
            return np.asarray(np.linalg.cholesky(hessian), np.float64)
        except np.linalg.LinAlgError:
            raised = max(4.0 * raised, 2.0**-50 * float(np.trace(hessian)))
            hessian[np.diag_indices_from(hessian)] += raised


def solve(lower: Floats, gradient: Floats) -> Floats:
    """The inverse of a matrix with these factors, times a vector."""
    found: Floats = cho_solve((lower, True), np.asarray(gradient, np.float64), check_finite=False)
    return found


def in_ball(theta: Any, gradient: Any, hessian: Floats, radius: float, held: int) -> Any:
    """The least of g . (t - theta) + (t - theta)' H (t - theta) / 2 with the first ``held`` coordinates in a ball.

    They solve (H + m D) t = H theta - g with the least m >= 0 that leaves them no longer than the radius, D being 1 there
    and 0 elsewhere. 1 / length is concave and grows in m, so Newton's method from the left stays on the left (More and
    Sorensen 1983). The step, and not the point, is solved for: from a theta in extended precision it keeps its digits.
    """
    mask = (np.arange(len(theta)) < held).astype(np.float64)
    m, t = 0.0, theta
    for _ in range(_ROOT_STEPS):
        lower = factors(hessian + np.diag(m * mask))
        t = theta - solve(lower, gradient + m * mask * theta)
        length = float(np.linalg.norm(t[:held]))
        if length <= radius:
            break
        front = np.asarray(mask * t, np.float64)
        step = (length / radius - 1.0) * length**2 / float(front @ solve(lower, front))
        if m + step == m:
            break
        m += step
    if m:
        # Both ends of the search leave it next to the sphere: it belongs on it.
        t = t.copy()
        t[:held] *= radius / np.sqrt(t[:held] @ t[:held])
    return t


def in_box(theta: Any, gradient: Any, hessian: Floats, lo: Floats, hi: Floats) -> Any | None:
    """The same with coordinates between ``lo`` and ``hi``; None where too many sets of held coordinates were tried.

    Which coordinates are held is guessed from the slope and corrected until it stays (Hintermueller, Ito and Kunisch 2002).
    """
    stiff = np.diag(hessian)
    t = np.clip(theta, lo, hi)
    known: Any = None
    for _ in range(_SETS):
        slope = np.asarray(gradient + hessian @ (t - theta), np.float64)
        aim = t - slope / stiff
        low, high = aim < lo, aim > hi
        if known is not None and np.array_equal(known, (low, high)):
            return t
        known = np.array((low, high))
        free = ~(low | high)
        t = np.where(low, lo, np.where(high, hi, theta))
        if free.any():
            away = np.asarray(t - theta, np.float64)
            pull = gradient[free] + hessian[np.ix_(free, ~free)] @ away[~free]
            t[free] = theta[free] - solve(factors(hessian[np.ix_(free, free)].copy()), pull)
    return None
