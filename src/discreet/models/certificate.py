"""How far a point is from the minimiser of an objective over a convex set, at most: what rounding does is counted."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from discreet.models.design import Floats
from discreet.models.objective import Objective, Totals, Want
from discreet.models.regions import Region

_FINE = float(np.finfo(np.longdouble).eps)
_UNIT = 2.0**-52 + 8.0 * _FINE  # linear term and ridge are doubles for rationals


@dataclass(frozen=True, eq=False)
class Minimum:
    """A point, and a bound on the norm of the true gradient there: ``residual`` counts the error of doubles too.

    In a set it promises the same of the distance: the point lies within residual / ridge of the minimiser.
    """

    theta: Floats
    residual: float


@dataclass(frozen=True, eq=False)
class Held:
    """F = (sum of losses) + b . theta + (ridge / 2) |theta|^2 over a convex set; ``fine``: passes in extended precision."""

    objective: Objective
    region: Region
    linear: Floats
    ridge: float
    fine: bool = False

    def at(self, theta: Floats, want: Want) -> tuple[Totals, Any]:
        """One pass, and the gradient of F in extended precision: large terms all but cancel, and nothing is lost by that."""
        totals = self.objective.at(theta, want, self.fine)
        pull = np.asarray(self.linear, np.longdouble) + np.longdouble(self.ridge) * np.asarray(theta, np.longdouble)
        return totals, totals.gradient + pull

    def steep(self, totals: Totals) -> float:
        """No less than the largest eigenvalue of the Hessian anywhere: every row has |x| <= 1."""
        return (float(self.objective.loss.curvature) * totals.weights + self.ridge) * (1 + 1e-9)

    def certify(self, theta: Floats, totals: Totals, slope: Any, pulled: tuple[Any, float]) -> Minimum:
        """A point t of the set where only projections are known has the normal ``pulled``; others know theirs.

        With it comes how much it changes at most where the point does, in proportion.

        Proof: t minimises F - e . theta over the set, e = F'(t) + n, and minimisers of a ridge-strongly convex function
        over a convex set move by at most |e| / ridge when it is tilted by e. What was found is a point of the set but for
        ``wrong``, which changes F' and n by at most (steep + stiff) times that, and what was found by that. The error of
        the pass is ``Objective.error``; the linear term and the ridge are doubles for rationals, and sums in extended
        precision are wrong by a few of its units; the rounding of a vector to doubles and of its norm is below 1e-12 of it.
        """
        normal, stiff = self.region.normal(theta, slope) or pulled
        left = float(np.linalg.norm(np.asarray(slope + normal, np.float64)))
        size = float(np.linalg.norm(self.linear)) + self.ridge * float(np.linalg.norm(theta))
        size = _UNIT * size + 8.0 * _FINE * float(np.linalg.norm(normal))
        wrong = (self.steep(totals) + self.ridge + stiff) * self.region.wrong(theta)
        return Minimum(theta, left * (1 + 1e-12) + self.objective.error(totals, theta, self.fine) + size + wrong)
