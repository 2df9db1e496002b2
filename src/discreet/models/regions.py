"""Convex sets that coefficients may be held to."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np

from discreet.core import numbers
from discreet.core.numbers import Number
from discreet.core.registry import Named, Registry
from discreet.errors import InvalidRequest, UnsupportedFormat
from discreet.models.design import Floats
from discreet.models.solve.quadratic import in_ball, in_box


class Region(Named, ABC):
    """A closed convex set, known by its projection. Every subclass is a frozen dataclass in the registry ``regions``.

    Points in extended precision stay so. ``wrong`` bounds the error of a projected point.
    """

    @abstractmethod
    def project(self, point: Floats) -> Floats:
        """The nearest point of the set."""

    @abstractmethod
    def unit(self, width: int, precision: Any = np.longdouble) -> float:
        """A projected point t of that precision is wrong by at most this times (1 + |t|)."""

    def wrong(self, point: Floats) -> float:
        """By how much a projected point may be wrong."""
        return self.unit(len(point), point.dtype.type) * (1.0 + float(np.linalg.norm(point)))

    def reach(self, width: int) -> Fraction | None:
        """No point of the set is longer than this; None where that is not known."""
        return None

    def least(self, width: int) -> Fraction:
        """No less than the length of its shortest point."""
        shortest = float(np.linalg.norm(self.project(np.zeros(width))))
        return numbers.round_up(shortest * (1 + 1e-9)) if shortest else Fraction(0)

    def lowest(self, theta: Floats, gradient: Floats, hessian: Floats, free: int = 0) -> Floats | None:
        """Where g . (t - theta) + (t - theta)' H (t - theta) / 2 is least in the set; None where only projections are known.

        The last ``free`` coordinates are not held.
        """
        return None

    def normal(self, point: Floats, slope: Floats, free: int = 0) -> tuple[Floats, float] | None:
        """The normal of the set at one of its points that is nearest to -slope; None where only projections are known.

        With it comes how much it changes at most where the point does, in proportion.
        """
        return None


regions: Registry[Region] = Registry("region")
Region.registry = regions


@regions("ball")
@dataclass(frozen=True)
class Ball(Region):
    """Coefficients no longer than ``radius``, as a double."""

    radius: Fraction = Fraction(1)

    def __post_init__(self) -> None:
        object.__setattr__(self, "radius", numbers.positive(self.radius, "radius"))

    def project(self, point: Floats) -> Floats:
        length, most = np.sqrt(point @ point), float(self.radius)
        return point if length <= most else point * (most / length)

    def unit(self, width: int, precision: Any = np.longdouble) -> float:
        """Proof: a length of ``width`` squares is wrong by width / 2 + 2 roundings, a product and a quotient by two more."""
        return (8.0 + width) * float(np.finfo(precision).eps)

    def reach(self, width: int) -> Fraction:
        return self.radius * Fraction(1001, 1000)

    def lowest(self, theta: Floats, gradient: Floats, hessian: Floats, free: int = 0) -> Floats:
        found: Floats = in_ball(theta, gradient, hessian, float(self.radius), len(theta) - free)
        return found

    def normal(self, point: Floats, slope: Floats, free: int = 0) -> tuple[Floats, float]:
        """On the sphere a multiple of the point, which is not negative; inside there is none."""
        held, pull = point[: len(point) - free], slope[: len(point) - free]
        made, m = np.zeros(len(point), np.longdouble), np.longdouble(0.0)
        if abs(float(np.sqrt(held @ held)) - float(self.radius)) <= self.wrong(held):
            wide = np.asarray(held, np.longdouble)
            m = np.maximum(m, -np.dot(pull, wide) / np.dot(wide, wide))
            made[: len(held)] = m * wide
        return np.asarray(made), float(m)


@regions("box")
@dataclass(frozen=True)
class Box(Region):
    """Every coefficient between ``lo`` and ``hi``, as doubles; None is no limit. ``Box(0)`` has no negative ones."""

    lo: Fraction | None = Fraction(0)
    hi: Fraction | None = None

    def __post_init__(self) -> None:
        for word in ("lo", "hi"):
            given: Number | None = getattr(self, word)
            object.__setattr__(self, word, None if given is None else numbers.rational(given, word))
        if self.lo is not None and self.hi is not None and self.lo > self.hi:
            raise InvalidRequest(f"a box needs lo <= hi, got ({self.lo}, {self.hi})")

    @property
    def _ends(self) -> tuple[float, float]:
        return -math.inf if self.lo is None else float(self.lo), math.inf if self.hi is None else float(self.hi)

    def project(self, point: Floats) -> Floats:
        return np.clip(point, *self._ends)

    def unit(self, width: int, precision: Any = np.longdouble) -> float:
        """Proof: a clip does not round."""
        return 0.0

    def reach(self, width: int) -> Fraction | None:
        if self.lo is None or self.hi is None:
            return None
        return max(abs(self.lo), abs(self.hi)) * numbers.square_root_up(Fraction(width)) * Fraction(1001, 1000)

    def _both(self, width: int, free: int) -> tuple[Floats, Floats]:
        lo, hi = (np.full(width, end) for end in self._ends)
        lo[width - free :], hi[width - free :] = -math.inf, math.inf
        return lo, hi

    def lowest(self, theta: Floats, gradient: Floats, hessian: Floats, free: int = 0) -> Floats | None:
        return in_box(theta, gradient, hessian, *self._both(len(theta), free))

    def normal(self, point: Floats, slope: Floats, free: int = 0) -> tuple[Floats, float]:
        """At an end whatever points out of the box; elsewhere there is none."""
        lo, hi = self._both(len(point), free)
        out = ((point == lo) & (slope > 0.0)) | ((point == hi) & (slope < 0.0))
        return np.where(out, -slope, 0.0), 0.0


EVERYWHERE = Box(None, None)


@regions("free_last")
@dataclass(frozen=True)
class FreeLast(Region):
    """A set for all coefficients but the last, the intercept, which is free.

    Proof: a product of closed convex sets is one, and its projection is that of each part; free is the whole line.
    """

    of: Region

    @property
    def described(self) -> bool:
        """Whether a document holds all of it."""
        return getattr(self.of, "described", True) is True

    def project(self, point: Floats) -> Floats:
        return np.append(self.of.project(point[:-1]), point[-1])

    def unit(self, width: int, precision: Any = np.longdouble) -> float:
        return self.of.unit(width - 1, precision)

    def lowest(self, theta: Floats, gradient: Floats, hessian: Floats, free: int = 0) -> Floats | None:
        return self.of.lowest(theta, gradient, hessian, free + 1)

    def normal(self, point: Floats, slope: Floats, free: int = 0) -> tuple[Floats, float] | None:
        return self.of.normal(point, slope, free + 1)


@dataclass(frozen=True)
class OwnRegion(Region):
    """A set of one's own, by its projection onto it in doubles, which may be wrong by 2^-46 (1 + |t|) at t.

    The guarantee rests on the set being closed and convex, on that accuracy, and on ``longest`` where it is declared: no
    point of the set is longer. Without it a minimiser may be far away, where projections are less accurate; more noise
    then hides that.
    """

    title: str
    project_to: Callable[[Floats], Floats] = field(repr=False)
    longest: Fraction | None = None

    name: ClassVar[str] = "own"
    described: ClassVar[bool] = False  # a document has its title, and not its functions

    def __post_init__(self) -> None:
        if self.longest is not None:
            object.__setattr__(self, "longest", numbers.positive(self.longest, "longest"))

    def project(self, point: Floats) -> Floats:
        """As the function says, in doubles."""
        return np.asarray(self.project_to(np.asarray(point, np.float64)), np.float64)

    def unit(self, width: int, precision: Any = np.longdouble) -> float:
        return 2.0**-46

    def reach(self, width: int) -> Fraction | None:
        return self.longest

    def to_dict(self) -> dict[str, Any]:
        return {"name": "own", "title": self.title}

    @classmethod
    def from_fields(cls, values: dict[str, Any]) -> OwnRegion:
        raise UnsupportedFormat(f"the set {values.get('title')!r} is somebody's own; no document holds its projection")


regions("own")(OwnRegion)


def own_region(title: str, project: Callable[[Floats], Floats], *, longest: Number | None = None) -> OwnRegion:
    """A convex set of one's own, by its projection; ``longest`` says that none of its points is longer."""
    return OwnRegion(title, project, None if longest is None else numbers.positive(longest, "longest"))


def region_of(given: Region | Callable[[Floats], Floats], width: int) -> Region:
    """A region, or what a projection makes one. Of one's own it is checked that it projects, as far as examples can."""
    if isinstance(given, Region) and not isinstance(given, OwnRegion):
        return given
    if not isinstance(given, OwnRegion) and not callable(given):
        raise InvalidRequest(f"region must be a Ball, a Box or a function that projects, got {given!r}")
    region = given if isinstance(given, OwnRegion) else own_region(getattr(given, "__name__", "projection"), given)
    first = np.linspace(-2.0, 2.0, width) if width > 1 else np.array([2.0])
    second = np.cos(3.0 * np.arange(width)) * 1.5
    for point in (first, second):
        there = region.project(point)
        if there.shape != (width,) or not np.isfinite(there).all():
            raise InvalidRequest(f"the projection {region.title!r} must return {width} finite numbers, got {there!r}")
        if np.linalg.norm(region.project(there) - there) > 1e-9:
            raise InvalidRequest(f"the projection {region.title!r} must leave a point of the set where it is")
    apart = np.linalg.norm(region.project(first) - region.project(second))
    if apart > np.linalg.norm(first - second) * (1 + 1e-9):
        raise InvalidRequest(f"the projection {region.title!r} must not move points apart: the set is not convex")
    return region
