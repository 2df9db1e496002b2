"""Hierarchies of what can be measured, numbers and days: a value has a place on a range, a coarse one is a stretch of it."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import ClassVar

from discreet.protect.hierarchies import Floats, Hierarchy


class Measured(Hierarchy):
    """A range from 0 to 1 on which every value has a position, and every level cuts stretches."""

    measured: ClassVar[bool] = True

    @abstractmethod
    def stretch(self, value: str, level: int) -> tuple[float, float]:
        """The stretch of the range that a value stands for at a level between its own and the top."""

    @abstractmethod
    def plain(self, value: str) -> str:
        """A value as it stands at the end of a stretch."""

    def cover(self, values: Sequence[str], low: int, high: int, positions: Floats) -> tuple[str, float]:
        return f"[{self.plain(values[low])}, {self.plain(values[high])}]", float(positions[high] - positions[low])

    def ends(self, value: str, level: int) -> tuple[float, float]:
        if level == self.height:
            return 0.0, 1.0
        if level > 0:
            return self.stretch(value, level)
        here = self.positions([value])[0]
        return here, here

    def loss(self, value: str, level: int) -> float:
        low, high = self.ends(value, level)
        return high - low

    def apart(self, value: str, values: Sequence[str], positions: Floats) -> Floats:
        return (positions - self.positions([value])[0]) ** 2
