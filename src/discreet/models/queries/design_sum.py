"""Sums over the rows of a design: what the questions that models ask of people have in common."""

from __future__ import annotations

from discreet.core.query import SumQuery
from discreet.models.design import Design


class DesignSum(SumQuery):
    """A sum over rows as a ``design`` makes them. Every subclass is a dataclass with that field."""

    design: Design

    @property
    def columns(self) -> tuple[str, ...]:
        return self.design.columns
