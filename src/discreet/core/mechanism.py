"""A noise law with three faces that check one another: ``release``, ``log_prob`` and ``cost``."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

from discreet.core.cost import Cost, Distance
from discreet.core.numbers import Number
from discreet.core.random import Random
from discreet.core.registry import Named, Registry

Sensitivity = Distance | Number | tuple[Number, ...] | list[Number]


class Mechanism(Named, ABC):
    """A frozen noise law. Every subclass is a frozen dataclass in the registry ``mechanisms``."""

    @abstractmethod
    def release(self, exact: Any, *, seed: int | Random | None = None) -> Any:
        """One private draw around ``exact``. A seed is for tests: what it makes is not private."""

    @abstractmethod
    def log_prob(self, released: Any, exact: Any) -> Any:
        """The logarithm of the law's probability of ``released`` given ``exact``, per unit of grid width."""

    @abstractmethod
    def cost(self, sensitivity: Sensitivity = 1) -> Cost:
        """What one release costs when one person can move the exact value by ``sensitivity``."""


mechanisms: Registry[Mechanism] = Registry("mechanism")
