"""How a noisy gradient becomes a direction: plain descent with momentum, or Adam. All of it is public arithmetic."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from discreet.core.registry import Named, Registry
from discreet.errors import InvalidRequest


class Optimizer(Named, ABC):
    """What becomes of the noisy gradients of steps 0, 1, 2, ...; its memory is two arrays that a run keeps for it."""

    name: ClassVar[str]

    @abstractmethod
    def direction(self, gradient: Any, velocity: Any, square: Any, step: int, deviation: float) -> Any:
        """The direction of one step; ``deviation`` is that of the noise in each number of ``gradient``, which is public.

        ``velocity`` and ``square`` are written to.
        """


optimizers: Registry[Optimizer] = Registry("optimizer")
Optimizer.registry = optimizers


def _share(value: Any, name: str) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < 1:
        raise InvalidRequest(f"{name} must lie in [0, 1), got {value}")
    return float(value)


@optimizers("momentum")
@dataclass(frozen=True)
class Momentum(Optimizer):
    """velocity = ``decay`` velocity + gradient; with a decay of 0 the gradient itself."""

    decay: float = 0.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "decay", _share(self.decay, "momentum"))

    def direction(self, gradient: Any, velocity: Any, square: Any, step: int, deviation: float) -> Any:
        if not self.decay:
            return gradient
        velocity *= self.decay
        velocity += gradient
        return velocity


@optimizers("adam")
@dataclass(frozen=True)
class Adam(Optimizer):
    """m / sqrt(v), m and v averages of gradients and of their squares over about 1 / (1 - decay) steps (Kingma and Ba 2015).

    The noise adds its variance to every square, which would make all steps alike; the variance is public, so it is taken
    off again, and what is left counts as no less than ``floor`` times it (Tang, Shpilevskiy and Lecuyer 2024).
    """

    decay: float = 0.9
    square_decay: float = 0.999
    floor: float = 0.01

    def __post_init__(self) -> None:
        for word in ("decay", "square_decay"):
            object.__setattr__(self, word, _share(getattr(self, word), word))
        if isinstance(self.floor, bool) or not isinstance(self.floor, int | float) or not 0 < self.floor < math.inf:
            raise InvalidRequest(f"floor must be positive, got {self.floor}")

    def direction(self, gradient: Any, velocity: Any, square: Any, step: int, deviation: float) -> Any:
        velocity *= self.decay
        velocity += (1 - self.decay) * gradient
        square *= self.square_decay
        square += (1 - self.square_decay) * gradient * gradient
        mean = velocity / (1 - self.decay ** (step + 1))
        spread = square / (1 - self.square_decay ** (step + 1))
        least = max(self.floor * deviation * deviation, 1e-16)
        return mean / np.sqrt(np.maximum(spread - deviation * deviation, least))
