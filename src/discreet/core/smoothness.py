"""The smoothness of an objective: how far one person bends it."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from discreet.core import numbers

_EXACT = ("curvature", "pull", "reach", "height", "least", "off")


@dataclass(frozen=True)
class Smoothness:
    """How far one person can bend an objective that is minimised, beyond moving its gradient.

    ``curvature`` is the most that one row adds to the second derivative, ``rows`` the most rows of a person, ``replaced``
    whether they may be taken away and put in at once. ``one_sided``: a row pulls the minimiser along a direction of its own,
    never back. ``logistic``: the slope s of a row in [0, 1] and its curvature are tied by s (1 - s). ``pull`` is by how much
    the moves of single rows, added up, exceed the distance of all of them together. ``width`` is the number of
    coefficients, ``most_rows`` that of rows up to which the minimiser has to be certified, ``extended`` says whether the
    loss can be computed in extended precision, and ``reach`` bounds the coefficients where they are held to a set, whose
    shortest point is no longer than ``least`` and whose projections t are wrong by at most ``off`` times (1 + |t|).
    ``height`` is by how much the loss of a row may pass its least value at coefficients of 0, if by more than its slope.
    ``classes`` is the number of scores of a row where a softmax is minimised, else 1: ``curvature`` is then the largest
    eigenvalue of what a row of length 1 adds, whose trace is at most 2 curvature (1 - 1 / classes).
    """

    curvature: Fraction
    rows: int
    replaced: bool
    one_sided: bool
    logistic: bool
    pull: Fraction = Fraction(1)
    width: int = 1
    most_rows: int = 1 << 20
    extended: bool = True
    reach: Fraction | None = None
    height: Fraction = Fraction(0)
    least: Fraction = Fraction(0)
    off: Fraction = Fraction(0)
    classes: int = 1

    def to_dict(self) -> dict[str, Any]:
        known = {k: getattr(self, k) for k in _EXACT}
        return vars(self) | {k: None if v is None else numbers.write(v) for k, v in known.items()}

    @staticmethod
    def from_dict(doc: dict[str, Any]) -> Smoothness:
        given = {k: doc[k] for k in _EXACT if doc.get(k) is not None}
        exact = {k: numbers.non_negative(numbers.read(v, "distance"), "distance") for k, v in given.items()}
        return Smoothness(**(dict(doc) | exact))
