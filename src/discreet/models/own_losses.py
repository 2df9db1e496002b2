"""Losses with derivatives that are declared: a loss of one's own, and a loss on a set of coefficients."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from types import ModuleType
from typing import Any, ClassVar

import numpy as np

from discreet.core import numbers
from discreet.core.numbers import Number
from discreet.errors import InvalidRequest, UnsupportedFormat
from discreet.models.losses import Loss, losses

Function = Callable[[Any, Any], Any]


class _DeclaredDerivatives(Loss):
    """A loss that declares the bounds of its derivatives."""

    most_slope: Fraction
    most_curvature: Fraction

    def _check_bounds(self) -> None:
        for word in ("most_slope", "most_curvature"):
            object.__setattr__(self, word, numbers.positive(getattr(self, word), word))

    def _bounds(self) -> dict[str, Any]:
        return {"most_slope": numbers.write(self.most_slope), "most_curvature": numbers.write(self.most_curvature)}

    @property
    def slope(self) -> Fraction:
        return self.most_slope

    @property
    def curvature(self) -> Fraction:
        return self.most_curvature


def _kept(function: Function, score: Any, target: Any, low: float, high: float, xp: ModuleType) -> Any:
    """What a function of someone's own returns, within its declared bounds; what is not a number is 0, and silent."""
    with np.errstate(all="ignore"):
        found = function(score, target)
        return xp.clip(xp.where(xp.isnan(found), xp.zeros_like(found), found), low, high)


@losses("own")
@dataclass(frozen=True)
class Own(_DeclaredDerivatives):
    """A loss of one's own: three vectorised functions of (score, target), with its slope and curvature declared.

    The guarantee rests on the declaration. Derivatives beyond it are clipped to it row by row, so that a wrong
    declaration spoils the fit and not the guarantee of what is released from a gradient; the theorems of objective
    perturbation need it to be true.
    """

    title: str
    value_of: Function = field(repr=False)
    first_of: Function = field(repr=False)
    second_of: Function = field(repr=False)
    most_slope: Fraction = Fraction(1)
    most_curvature: Fraction = Fraction(1)

    name: ClassVar[str] = "own"
    described: ClassVar[bool] = False  # a document has its title, and not its functions
    extended: ClassVar[bool] = False

    def __post_init__(self) -> None:
        self._check_bounds()
        grid = np.linspace(-3.0, 3.0, 61)
        for target in (-1.0, 1.0):
            first, second = self.first_of(grid, np.full(61, target)), self.second_of(grid, np.full(61, target))
            if np.shape(first) != (61,) or np.shape(second) != (61,):
                raise InvalidRequest(f"the loss {self.title!r} must return one number for each row; vectorise its functions")
            if np.min(second) < -1e-12:
                raise InvalidRequest(
                    f"the loss {self.title!r} must be convex, its second derivative was {np.min(second):.3g}"
                )
            for word, found, most in (("slope", np.abs(first), self.most_slope), ("curvature", second, self.most_curvature)):
                worst = int(np.argmax(found))
                if found[worst] > float(most):
                    raise InvalidRequest(
                        f"the loss {self.title!r} must keep to its declared {word} of {float(most):g}, got "
                        f"{found[worst]:.6g} at a score of {grid[worst]:g} and a target of {target:g}; "
                        f"declare {word}={found[worst]:.6g} or more"
                    )

    @property
    def height(self) -> Fraction:
        # From scores and targets that are looked at; between them it may be more, for which there is as much again.
        far = np.concatenate(([0.0], 10.0 ** np.arange(-2, 10), -(10.0 ** np.arange(-2, 10))))
        targets = np.linspace(-1.0, 1.0, 41)
        with np.errstate(all="ignore"):
            found = [np.nan_to_num(np.asarray(self.value_of(far, np.full(len(far), t)), np.float64)) for t in targets]
        return max(self.most_slope, 2 * numbers.round_up(max(float(v[0] - np.min(v)) for v in found)))

    def value(self, score: Any, target: Any, xp: ModuleType = np) -> Any:
        with np.errstate(all="ignore"):
            return self.value_of(score, target)

    def first(self, score: Any, target: Any, xp: ModuleType = np) -> Any:
        return _kept(self.first_of, score, target, -float(self.most_slope), float(self.most_slope), xp)

    def second(self, score: Any, target: Any, xp: ModuleType = np) -> Any:
        return _kept(self.second_of, score, target, 0.0, float(self.most_curvature), xp)

    def to_dict(self) -> dict[str, Any]:
        return {"name": "own", "title": self.title} | self._bounds()

    @classmethod
    def from_fields(cls, values: dict[str, Any]) -> Own:
        raise UnsupportedFormat(
            f"the loss {values.get('title')!r} is somebody's own; a document does not hold its functions"
        )


def own_loss(title: str, value: Function, first: Function, second: Function, *, slope: Number, curvature: Number) -> Own:
    """A convex loss of one's own, with the bounds on its first and second derivative in the score."""
    return Own(title, value, first, second, numbers.positive(slope, "slope"), numbers.positive(curvature, "curvature"))


@losses("declared")
@dataclass(frozen=True)
class Declared(_DeclaredDerivatives):
    """A loss whose derivatives are declared to be smaller on the set that coefficients are held to than anywhere.

    Proof: a score theta . x with theta in the set is where the declaration holds; beyond it the first derivative is cut
    to it, which leaves the loss convex.
    """

    of: Loss
    most_slope: Fraction
    most_curvature: Fraction

    def __post_init__(self) -> None:
        self._check_bounds()

    @property
    def described(self) -> bool:
        """Whether a document holds all of it."""
        return getattr(self.of, "described", True) is True

    @property
    def one_sided(self) -> bool:  # type: ignore[override]
        return self.of.one_sided

    @property
    def classifies(self) -> bool:  # type: ignore[override]
        return self.of.classifies

    @property
    def extended(self) -> bool:  # type: ignore[override]
        return self.of.extended

    @property
    def least_target(self) -> float:
        return self.of.least_target

    @property
    def height(self) -> Fraction:
        return self.of.height

    def smoother(self) -> Loss | None:
        easier = self.of.smoother()
        return None if easier is None else Declared(easier, self.most_slope, self.most_curvature)

    def value(self, score: Any, target: Any, xp: ModuleType = np) -> Any:
        return self.of.value(score, target, xp)

    def first(self, score: Any, target: Any, xp: ModuleType = np) -> Any:
        return xp.clip(self.of.first(score, target, xp), -float(self.most_slope), float(self.most_slope))

    def second(self, score: Any, target: Any, xp: ModuleType = np) -> Any:
        return xp.clip(self.of.second(score, target, xp), 0.0, float(self.most_curvature))


def declared(loss: Loss, zeta: Number | None, curvature: Number | None) -> Loss:
    """The loss with what is declared of it on a set, where anything is."""
    if zeta is None and curvature is None:
        return loss
    slope = loss.slope if zeta is None else numbers.positive(zeta, "zeta")
    return Declared(loss, slope, loss.curvature if curvature is None else numbers.positive(curvature, "curvature"))
