"""What a model minimises, row by row: a convex function of a score z = theta . x at a target y.

A loss declares its ``slope`` (the most that its first derivative in z reaches) and its ``curvature`` (the most that
the second one reaches). These two numbers are all that the privacy of a fit depends on, so for a loss of one's own
they are declared too.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from types import ModuleType
from typing import Any, ClassVar

import numpy as np

from discreet.core import numbers
from discreet.core.registry import Named, Registry
from discreet.errors import InvalidRequest


class Loss(Named, ABC):
    """A convex loss of a score at a target. Every subclass is a frozen dataclass in the registry ``losses``.

    ``one_sided``: the derivative in the margin y z lies in [-slope, 0] (classification losses); the Gaussian
    objective bounds are tighter for these. Array arguments may come from any array namespace, named as ``xp``.
    """

    one_sided: ClassVar[bool] = False
    free_jacobian: ClassVar[bool] = False
    classifies: ClassVar[bool] = False
    bounded: ClassVar[bool] = True  # whether its slope holds at every score
    extended: ClassVar[bool] = True  # whether it keeps extended precision

    @property
    def least_target(self) -> float:
        """The least target at which its slope holds; the largest is 1."""
        return -1.0

    @property
    @abstractmethod
    def slope(self) -> Fraction:
        """The most that the first derivative reaches, in absolute value."""

    @property
    @abstractmethod
    def curvature(self) -> Fraction:
        """The most that the second derivative reaches."""

    @abstractmethod
    def value(self, score: Any, target: Any, xp: ModuleType = np) -> Any:
        """The loss of each row."""

    @abstractmethod
    def first(self, score: Any, target: Any, xp: ModuleType = np) -> Any:
        """Its first derivative in the score."""

    @abstractmethod
    def second(self, score: Any, target: Any, xp: ModuleType = np) -> Any:
        """Its second derivative in the score."""

    def slope_within(self, reach: Fraction) -> Fraction:
        """The most that the first derivative reaches at scores within ``reach`` of 0; the slope where no less is known."""
        return self.slope

    @property
    def height(self) -> Fraction:
        """The most by which the loss at a score of 0 passes its least value, for targets within [-1, 1]."""
        return self.slope

    def both(self, score: Any, target: Any) -> tuple[Any, Any]:
        """First and second derivative at once, for Newton's method."""
        return self.first(score, target), self.second(score, target)

    def predicted(self, score: Any) -> Any:
        """The number that a score predicts, where targets are numbers."""
        return score

    @property
    def least_predicted(self) -> float:
        """No number that it predicts is less."""
        return -math.inf

    def smoother(self) -> Loss | None:
        """A loss nearby that is easier to minimise, whose minimiser is a good place to start from; None where none is."""
        return None


_NARROWEST = Fraction(1, 100)
losses: Registry[Loss] = Registry("loss")
Loss.registry = losses


@losses("logistic")
@dataclass(frozen=True)
class Logistic(Loss):
    """log(1 + exp(-y z)), y = -1 or 1. Slope 1, curvature 1/4.

    Proof: the derivative in m = y z is -S(-m), in (-1, 0), and the second S(m) S(-m) <= 1/4.
    """

    one_sided: ClassVar[bool] = True
    free_jacobian: ClassVar[bool] = True
    classifies: ClassVar[bool] = True

    @property
    def slope(self) -> Fraction:
        return Fraction(1)

    @property
    def curvature(self) -> Fraction:
        return Fraction(1, 4)

    def slope_within(self, reach: Fraction) -> Fraction:
        # S(reach), and 1 beyond what exp can hold.
        return min(self.slope, numbers.round_up(1.0 / (1.0 + math.exp(-min(700.0, float(numbers.round_up(float(reach))))))))

    def value(self, score: Any, target: Any, xp: ModuleType = np) -> Any:
        return xp.logaddexp(xp.zeros_like(score), -target * score)

    def first(self, score: Any, target: Any, xp: ModuleType = np) -> Any:
        # S(-m) = (1 - tanh(m / 2)) / 2 never overflows, and tanh is vectorised everywhere.
        return -0.5 * target * (1.0 - xp.tanh(0.5 * target * score))

    def second(self, score: Any, target: Any, xp: ModuleType = np) -> Any:
        half = xp.tanh(0.5 * score)
        return 0.25 * (1.0 - half * half)

    def both(self, score: Any, target: Any) -> tuple[Any, Any]:
        half = np.tanh(0.5 * score)
        return 0.5 * (half - target), 0.25 * (1.0 - half * half)


@losses("huber_hinge")
@dataclass(frozen=True)
class HuberHinge(Loss):
    """The hinge of a support vector machine with its corner rounded over ``width`` h on either side of 1.

    With m = y z: 0 above 1 + h, 1 - m below 1 - h, (1 + h - m)^2 / (4 h) between (Chapelle 2007). Slope 1, curvature 1/(2h).

    Proof: between, the derivative -(1 + h - m) / (2 h) runs from -1 to 0 and the second is 1 / (2 h).
    """

    width: Fraction = Fraction(1, 2)

    one_sided: ClassVar[bool] = True
    classifies: ClassVar[bool] = True

    def __post_init__(self) -> None:
        object.__setattr__(self, "width", numbers.positive(self.width, "width"))
        if self.width < _NARROWEST:
            raise InvalidRequest(
                f"width must be at least {_NARROWEST}, got {float(self.width):g}; a sharper corner cannot be minimised "
                "to the tolerance that the guarantee needs"
            )

    @property
    def slope(self) -> Fraction:
        return Fraction(1)

    @property
    def curvature(self) -> Fraction:
        return 1 / (2 * self.width)

    @property
    def height(self) -> Fraction:
        # Short of 1 + h by 1 + h: on the line where that is more than 2 h, else on the curve.
        return Fraction(1) if self.width <= 1 else (1 + self.width) ** 2 / (4 * self.width)

    def smoother(self) -> Loss | None:
        return HuberHinge(2 * self.width) if self.width < Fraction(1, 8) else None

    def value(self, score: Any, target: Any, xp: ModuleType = np) -> Any:
        h = float(self.width)
        short = 1.0 + h - target * score  # how far the margin falls short of 1 + h
        curved = xp.clip(short, 0.0, 2.0 * h)
        return curved * curved / (4.0 * h) + xp.clip(short - 2.0 * h, 0.0, None)

    def first(self, score: Any, target: Any, xp: ModuleType = np) -> Any:
        h = float(self.width)
        return -target * xp.clip((1.0 + h - target * score) / (2.0 * h), 0.0, 1.0)

    def second(self, score: Any, target: Any, xp: ModuleType = np) -> Any:
        h = float(self.width)
        inside = xp.abs(1.0 - target * score) <= h
        return xp.where(inside, xp.full_like(score, 0.5 / h), xp.zeros_like(score))


@dataclass(frozen=True)
class _OfResidual(Loss):
    """A loss of the residual z - y with slope ``reach`` and curvature 1."""

    reach: Fraction = Fraction(1)

    def __post_init__(self) -> None:
        object.__setattr__(self, "reach", numbers.positive(self.reach, "reach"))

    @property
    def slope(self) -> Fraction:
        return self.reach

    @property
    def curvature(self) -> Fraction:
        return Fraction(1)


@losses("squared")
@dataclass(frozen=True)
class Squared(_OfResidual):
    """(z - y)^2 / 2 with |z - y| <= ``reach``, which bounds on theta, x and y have to provide. Curvature 1.

    Proof: the derivative is z - y.
    """

    bounded: ClassVar[bool] = False

    @property
    def height(self) -> Fraction:
        return max(self.reach, Fraction(1, 2))

    def value(self, score: Any, target: Any, xp: ModuleType = np) -> Any:
        return 0.5 * (score - target) ** 2

    def first(self, score: Any, target: Any, xp: ModuleType = np) -> Any:
        return score - target

    def second(self, score: Any, target: Any, xp: ModuleType = np) -> Any:
        return xp.ones_like(score)


@losses("huber")
@dataclass(frozen=True)
class Huber(_OfResidual):
    """(z - y)^2 / 2 near, slope ``reach`` beyond: a regression loss that needs no bound on the residual. Curvature 1.

    Proof: the derivative is z - y clipped to [-reach, reach].
    """

    def value(self, score: Any, target: Any, xp: ModuleType = np) -> Any:
        r = float(self.reach)
        far = xp.abs(score - target)
        near = xp.clip(far, 0.0, r)
        return 0.5 * near * near + r * (far - near)

    def first(self, score: Any, target: Any, xp: ModuleType = np) -> Any:
        r = float(self.reach)
        return xp.clip(score - target, -r, r)

    def second(self, score: Any, target: Any, xp: ModuleType = np) -> Any:
        return xp.where(xp.abs(score - target) <= float(self.reach), xp.ones_like(score), xp.zeros_like(score))


@losses("poisson")
@dataclass(frozen=True)
class PoissonLoss(Loss):
    """e^(z - B) - y z for a count y over its bound, in [0, 1], and a line of slope 1 - y above z = B, the ``reach``.

    z = B stands for the largest count there may be, z = 0 for e^-B of it. Slope 1, curvature 1.

    Proof: the derivative e^min(z - B, 0) - y lies in [-1, 1], and the second, e^(z - B) below B and 0 above, in [0, 1]. At
    z = 0 the loss e^-B passes its least value, y - y (B + ln y), by at most max(e^-B, B - 1 + e^-B): convex in y, it is
    largest at y = 0 or 1.
    """

    reach: Fraction = Fraction(2)

    def __post_init__(self) -> None:
        object.__setattr__(self, "reach", numbers.positive(self.reach, "reach"))
        if self.reach > 50:
            raise InvalidRequest(f"reach must be at most 50, got {float(self.reach):g}: e^-50 of a count is none")

    @property
    def least_target(self) -> float:
        return 0.0

    @property
    def slope(self) -> Fraction:
        return Fraction(1)

    @property
    def curvature(self) -> Fraction:
        return Fraction(1)

    @property
    def height(self) -> Fraction:
        low = numbers.round_up(math.exp(-float(self.reach)) * (1 + 1e-12))
        return max(low, self.reach - 1 + low)

    def value(self, score: Any, target: Any, xp: ModuleType = np) -> Any:
        over = score - float(self.reach)
        return xp.exp(xp.clip(over, None, 0.0)) + xp.clip(over, 0.0, None) - target * score

    def first(self, score: Any, target: Any, xp: ModuleType = np) -> Any:
        return xp.exp(xp.clip(score - float(self.reach), None, 0.0)) - target

    def second(self, score: Any, target: Any, xp: ModuleType = np) -> Any:
        over = score - float(self.reach)
        return xp.where(over <= 0.0, xp.exp(xp.clip(over, None, 0.0)), xp.zeros_like(score))

    def predicted(self, score: Any) -> Any:
        return np.exp(np.minimum(score - float(self.reach), 0.0))

    @property
    def least_predicted(self) -> float:
        return 0.0


@losses("gamma")
@dataclass(frozen=True)
class GammaLoss(Loss):
    """y e^-w + r w, w = z + R / 2, for an amount y over its bound, in [r, 1], and a line of slope r - y below w = 0.

    r is the ``least`` amount and R = -ln r: w = 0 stands for r, w = R for 1, z = 0 for their geometric mean. It
    is r times the loss of a gamma law of mean r e^w, up to a constant. Slope max(r, 1 - r), curvature 1.

    Proof: the derivative r - y e^-max(w, 0) grows with w, from r - y >= r - 1 to at most r, and the second, y e^-w above 0
    and 0 below, lies in [0, 1]. The least value, r + r ln(y / r), is taken at w = ln(y / r) >= 0. At z = 0 the loss
    y sqrt(r) + r R / 2 passes it by a function of y that is convex, and so largest at y = r or 1.
    """

    least: Fraction

    def __post_init__(self) -> None:
        object.__setattr__(self, "least", numbers.positive(self.least, "least"))
        if not Fraction(1, 1 << 20) <= self.least < 1:
            raise InvalidRequest(
                f"bounds of amounts must be at most 2**20 times apart, got {float(1 / self.least):g} times; all but the "
                "largest would drown in noise"
            )

    @property
    def least_target(self) -> float:
        return float(self.least)

    @property
    def _middle(self) -> float:
        return -0.5 * math.log(self.least)

    @property
    def slope(self) -> Fraction:
        return max(self.least, 1 - self.least)

    @property
    def curvature(self) -> Fraction:
        return Fraction(1)

    @property
    def height(self) -> Fraction:
        r, middle = float(self.least), self._middle
        low, high = r * (math.exp(-middle) + middle - 1.0), math.exp(-middle) - r - r * middle
        return numbers.round_up(max(low, high) * (1 + 1e-9) + 1e-12)

    def slope_within(self, reach: Fraction) -> Fraction:
        # At scores of at least -reach, w is at least R / 2 - reach.
        steep = math.exp(min(0.0, float(numbers.round_up(float(reach))) - self._middle)) - float(self.least)
        return min(self.slope, max(self.least, numbers.round_up(steep + 1e-12)))

    def value(self, score: Any, target: Any, xp: ModuleType = np) -> Any:
        over = score + self._middle
        below = xp.clip(over, None, 0.0)
        return target * (xp.exp(-xp.clip(over, 0.0, None)) - below) + float(self.least) * over

    def first(self, score: Any, target: Any, xp: ModuleType = np) -> Any:
        return float(self.least) - target * xp.exp(-xp.clip(score + self._middle, 0.0, None))

    def second(self, score: Any, target: Any, xp: ModuleType = np) -> Any:
        over = score + self._middle
        return xp.where(over >= 0.0, target * xp.exp(-xp.clip(over, 0.0, None)), xp.zeros_like(score))

    def predicted(self, score: Any) -> Any:
        return np.exp(np.clip(score - self._middle, -2.0 * self._middle, 0.0))

    @property
    def least_predicted(self) -> float:
        return float(self.least)
