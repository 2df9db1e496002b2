"""How far each step goes: what the papers use, as functions of the number of the step. All of it is public."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar

from discreet.core.registry import Named, Registry
from discreet.errors import InvalidRequest


class StepSize(Named, ABC):
    """The size of step t = 0, 1, 2, ..."""

    name: ClassVar[str]

    @abstractmethod
    def at(self, step: int) -> float:
        """The size of one step."""

    def even(self, strength: float) -> float | None:
        """How many first steps are of one size, where all later ones are 1 / (strength (t + 1)); None of other schedules."""
        return None


step_sizes: Registry[StepSize] = Registry("step size")
StepSize.registry = step_sizes


def _positive(value: float, name: str) -> float:
    if isinstance(value, bool) or not (isinstance(value, int | float) and math.isfinite(value) and value > 0):
        raise InvalidRequest(f"{name} must be positive and finite, got {value!r}")
    return float(value)


@step_sizes("constant")
@dataclass(frozen=True)
class Constant(StepSize):
    """Always ``size``."""

    size: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "size", _positive(self.size, "learning rate"))

    def at(self, step: int) -> float:
        return self.size

    def even(self, strength: float) -> float:
        return math.inf


@step_sizes("inverse_root")
@dataclass(frozen=True)
class InverseRoot(StepSize):
    """``size`` / sqrt(t + 1): for convex losses, with size = reach / sqrt(E |noisy gradient|^2) (Bassily et al. 2014)."""

    size: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "size", _positive(self.size, "learning rate"))

    def at(self, step: int) -> float:
        return self.size / math.sqrt(step + 1)

    @staticmethod
    def of_noise(reach: float, slope: float, dimension: int, deviation: float) -> InverseRoot:
        """``reach`` bounds the parameters, ``slope`` a gradient, ``deviation`` is that of the noise in one coordinate."""
        return InverseRoot(reach / math.sqrt(slope * slope + dimension * deviation * deviation))


@step_sizes("strongly_convex")
@dataclass(frozen=True)
class StronglyConvex(StepSize):
    """1 / (strength (t + 1)), never above ``most``: for objectives with a ridge (Bassily et al. 2014)."""

    strength: float
    most: float = math.inf

    def __post_init__(self) -> None:
        object.__setattr__(self, "strength", _positive(self.strength, "strength"))
        if not self.most > 0:
            raise InvalidRequest(f"the largest step must be positive, got {self.most}")

    def at(self, step: int) -> float:
        return min(self.most, 1.0 / (self.strength * (step + 1)))

    def even(self, strength: float) -> float | None:
        return math.floor(1 / (strength * self.most)) if math.isclose(self.strength, strength) else None

    def to_dict(self) -> dict[str, Any]:
        return {"name": self.name, "strength": self.strength, "most": self.most if math.isfinite(self.most) else None}

    @classmethod
    def from_fields(cls, values: dict[str, Any]) -> StronglyConvex:
        return cls(values["strength"], math.inf if values["most"] is None else values["most"])


@step_sizes("cosine")
@dataclass(frozen=True)
class Cosine(StepSize):
    """Up to ``size`` in ``warmup`` even steps, then to 0 at step ``steps`` by half a cosine (Loshchilov and Hutter 2017)."""

    size: float
    steps: int
    warmup: int = 0

    def __post_init__(self) -> None:
        object.__setattr__(self, "size", _positive(self.size, "learning rate"))
        if not 0 <= self.warmup < self.steps:
            raise InvalidRequest(f"a schedule needs 0 <= warmup < steps, got warmup={self.warmup} and steps={self.steps}")

    def at(self, step: int) -> float:
        if step < self.warmup:
            return self.size * (step + 1) / self.warmup
        passed = min(1.0, (step - self.warmup) / (self.steps - self.warmup))
        return self.size * 0.5 * (1 + math.cos(math.pi * passed))


def step_size(given: StepSize | float | str, *, scale: float) -> StepSize:
    """What a user gave as learning rate: a schedule, a number, or "auto", which is ``scale`` throughout."""
    if isinstance(given, StepSize):
        return given
    if given == "auto":
        return Constant(scale)
    if isinstance(given, str):
        raise InvalidRequest(f"learning_rate must be a number, 'auto' or a step size such as InverseRoot(1), got {given!r}")
    return Constant(given)
