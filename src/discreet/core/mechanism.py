"""A noise law with three faces that check one another: ``release``, ``log_prob`` and ``cost``."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from fractions import Fraction
from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np

from discreet.core.cost import Cost, Distance
from discreet.core.numbers import Number
from discreet.core.random import Random
from discreet.core.registry import Named, Registry
from discreet.errors import InvalidRequest

Sensitivity = Distance | Number | tuple[Number, ...] | list[Number]


class VectorNoise(NamedTuple):
    """Noise on a vector with one law in every direction: normal, or spherical Laplace, of a ``scale``; 0 is none."""

    scale: float
    spherical: bool = False


class Mechanism(Named, ABC):
    """A frozen noise law. Every subclass is a frozen dataclass in the registry ``mechanisms``.

    ``words``: what it does and why it protects, for a reader of a report; its first words, up to a colon, are its title.
    ``tails``: those of its noise, where a sampler may rely on them. ``independent``: whether ``log_prob`` has a number for
    each coordinate. ``no_posterior``: why none can be had from it, where that is so.
    """

    words: ClassVar[str] = ""
    tails: ClassVar[Literal["laplace", "gaussian", "other"]] = "other"
    independent: ClassVar[bool] = False
    no_posterior: ClassVar[str] = "describe it by LogDensity(function)"

    @classmethod
    def title(cls) -> str:
        """Its name as a report says it."""
        return cls.words.partition(":")[0] or cls.name.replace("_", " ").capitalize()

    @abstractmethod
    def release(self, exact: Any, *, seed: int | Random | None = None) -> Any:
        """One private draw around ``exact``. A seed is for tests: what it makes is not private."""

    @abstractmethod
    def log_prob(self, released: Any, exact: Any) -> Any:
        """The logarithm of the law's probability of ``released`` given ``exact``, per unit of grid width.

        Of arrays of NumPy or of JAX, by one formula.
        """

    @abstractmethod
    def cost(self, sensitivity: Sensitivity = 1) -> Cost:
        """What one release costs when one person can move the exact value by ``sensitivity``."""

    def deviation(self, size: int) -> Any:
        """The standard deviation of each of ``size`` numbers of its noise."""
        raise InvalidRequest(f"the law {self.name!r} adds no noise to numbers, so that it has no deviation")

    def margin(self, level: float, size: int) -> float:
        """The margin of error: within it, on either side, any one of ``size`` numbers of its noise stays at ``level``."""
        raise InvalidRequest(f"the law {self.name!r} adds no noise to numbers, so that it has no margin of error")

    @property
    def vector_noise(self) -> VectorNoise:
        """Its noise on a vector, of a law that treats every direction alike."""
        raise InvalidRequest(f"the law {self.name!r} adds neither normal nor spherical Laplace noise to a vector")


class NoiseLaw(Mechanism):
    """A law that adds noise to numbers: to each by itself, and symmetric around 0.

    ``scales``: of each number, or the one for all. ``grid``: the step that released numbers are multiples of.
    """

    grid: Fraction

    @property
    @abstractmethod
    def scales(self) -> tuple[Fraction, ...]:
        """The scale of each number, or the one for all."""

    @property
    @abstractmethod
    def expected_error(self) -> Any:
        """The root mean square of the noise, one per scale."""

    @abstractmethod
    def quantile(self, p: float) -> Any:
        """The p-quantile of the noise: the least grid value that it stays at or below with probability ``p``."""

    @abstractmethod
    def error(self, level: float = 0.95) -> Any:
        """The noise stays within this, on either side, with probability at least ``level``: one per scale."""

    def margin(self, level: float, size: int) -> float:
        return float(np.max(self.error(level)))

    @abstractmethod
    def at_least(self, t: Any) -> Any:
        """P(noise >= t) of a law of one number, rounded to its grid as it is released."""

    @abstractmethod
    def log_characteristic(self, t: Any) -> Any:
        """log of E exp(i t noise) of each number: ``t`` has the numbers in its last axis."""

    @abstractmethod
    def at(self, places: slice | Sequence[int]) -> NoiseLaw:
        """The law of some of the numbers."""


mechanisms: Registry[Mechanism] = Registry("mechanism")
Mechanism.registry = mechanisms
