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


class Region(Named, ABC):
    """A closed convex set, known by its projection. Every subclass is a frozen dataclass in the registry ``regions``.

    ``accuracy``: a projected point t is wrong by at most this times (1 + |t|).
    """

    accuracy: ClassVar[float] = 2.0**-46

    @abstractmethod
    def project(self, point: Floats) -> Floats:
        """The nearest point of the set."""


regions: Registry[Region] = Registry("region")


@regions("ball")
@dataclass(frozen=True)
class Ball(Region):
    """Coefficients no longer than ``radius``."""

    radius: Fraction = Fraction(1)

    accuracy: ClassVar[float] = 2.0**-50

    def __post_init__(self) -> None:
        object.__setattr__(self, "radius", numbers.positive(self.radius, "radius"))

    def project(self, point: Floats) -> Floats:
        length, most = float(np.linalg.norm(point)), float(self.radius)
        return point if length <= most else point * (most / length)


@regions("box")
@dataclass(frozen=True)
class Box(Region):
    """Every coefficient between ``lo`` and ``hi``; None is no limit. ``Box(0)`` keeps them from being negative."""

    lo: Fraction | None = Fraction(0)
    hi: Fraction | None = None

    accuracy: ClassVar[float] = 2.0**-53

    def __post_init__(self) -> None:
        for word in ("lo", "hi"):
            given: Number | None = getattr(self, word)
            object.__setattr__(self, word, None if given is None else numbers.rational(given, word))
        if self.lo is not None and self.hi is not None and self.lo > self.hi:
            raise InvalidRequest(f"a box needs lo <= hi, got ({self.lo}, {self.hi})")

    def project(self, point: Floats) -> Floats:
        lo, hi = (-math.inf if self.lo is None else float(self.lo)), (math.inf if self.hi is None else float(self.hi))
        return np.clip(point, lo, hi)


@regions("free_last")
@dataclass(frozen=True)
class FreeLast(Region):
    """A set for all coefficients but the last, the intercept, which is free.

    Proof: a product of closed convex sets is one, and its projection is that of each part; free is the whole line.
    """

    of: Region

    def __post_init__(self) -> None:
        if isinstance(self.of, dict):
            object.__setattr__(self, "of", regions.read(self.of))

    @property
    def accuracy(self) -> float:  # type: ignore[override]
        return self.of.accuracy

    @property
    def described(self) -> bool:
        """Whether a document holds all of it."""
        return getattr(self.of, "described", True) is True

    def project(self, point: Floats) -> Floats:
        return np.append(self.of.project(point[:-1]), point[-1])

    def to_dict(self) -> dict[str, Any]:
        return {"name": "free_last", "of": self.of.to_dict()}


@dataclass(frozen=True)
class OwnRegion(Region):
    """A set of one's own, by its projection. The guarantee rests on the set being closed and convex, and on the accuracy."""

    title: str
    project_to: Callable[[Floats], Floats] = field(repr=False)

    name: ClassVar[str] = "own"
    described: ClassVar[bool] = False  # a document has its title, and not its functions

    def project(self, point: Floats) -> Floats:
        return np.asarray(self.project_to(point), np.float64)

    def to_dict(self) -> dict[str, Any]:
        return {"name": "own", "title": self.title}

    @classmethod
    def from_fields(cls, values: dict[str, Any]) -> OwnRegion:
        raise UnsupportedFormat(f"the set {values.get('title')!r} is somebody's own; no document holds its projection")


regions("own")(OwnRegion)


def region_of(given: Region | Callable[[Floats], Floats], width: int) -> Region:
    """A region, or what a projection makes one. Of one's own it is checked that it projects, as far as examples can."""
    if isinstance(given, Region):
        return given
    if not callable(given):
        raise InvalidRequest(f"region must be a Ball, a Box or a function that projects, got {given!r}")
    made = OwnRegion(getattr(given, "__name__", "projection"), given)
    first = np.linspace(-2.0, 2.0, width) if width > 1 else np.array([2.0])
    second = np.cos(3.0 * np.arange(width)) * 1.5
    for point in (first, second):
        there = made.project(point)
        if there.shape != (width,) or not np.isfinite(there).all():
            raise InvalidRequest(f"the projection {made.title!r} must return {width} finite numbers, got {there!r}")
        if np.linalg.norm(made.project(there) - there) > 1e-9:
            raise InvalidRequest(f"the projection {made.title!r} must leave a point of the set where it is")
    apart = np.linalg.norm(made.project(first) - made.project(second))
    if apart > np.linalg.norm(first - second) * (1 + 1e-9):
        raise InvalidRequest(f"the projection {made.title!r} must not move points apart: the set is not convex")
    return made
