"""Rows of several columns of numbers at once: whole numbers between two public ends, whatever a record holds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from discreet.core.grid import quantise
from discreet.core.query import check_rows
from discreet.core.schema import Categories, Schema
from discreet.core.source import Batch
from discreet.errors import InvalidRequest
from discreet.statistics.cells import Factor, Floats, Integers


@dataclass(frozen=True)
class BoundedRows:
    """Columns of numbers with public bounds, each counted from the middle of them in halves of their distance.

    A number becomes s = 2t - 1 in [-1, 1], t its place between the bounds; a row in which one is missing does not count.
    ``target`` is a category beside them, where there is one. ``rows`` of a person count at most.
    """

    numbers: tuple[Factor, ...]
    target: Factor | None = None
    rows: int = 1

    def __post_init__(self) -> None:
        if not self.numbers or any(f.kind != "level" for f in self.numbers):
            raise InvalidRequest("rows are made of at least one column of numbers, got none; name columns of numbers")
        names = [*self.columns]
        if len(set(names)) != len(names):
            raise InvalidRequest(f"columns must differ, got {names}; name each once")
        check_rows(self.rows)

    @staticmethod
    def of(schema: Schema, columns: Sequence[str], target: str = "") -> BoundedRows:
        """The rows that a schema's declarations make of named columns."""
        made = []
        for name in columns:
            declared = schema[name]
            if isinstance(declared, Categories):
                raise InvalidRequest(
                    f"column {name!r} holds categories; these sums are of numbers, declared as Real or Integer: leave it "
                    "out, or use a model that reads categories"
                )
            made.append(Factor("level", name, float(declared.lo), float(declared.hi)))
        goal = schema[target] if target else None
        if goal is not None and not isinstance(goal, Categories):
            raise InvalidRequest(f"the target {target!r} must be declared as Categories, got a number")
        aim = None if goal is None else Factor("category", target, labels=goal.labels)
        return BoundedRows(tuple(made), aim, schema.max_rows or 1)

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns of the table that are read."""
        return (*(f.column for f in self.numbers), *(() if self.target is None else (self.target.column,)))

    @property
    def size(self) -> int:
        """The number of columns of numbers."""
        return len(self.numbers)

    @property
    def middles(self) -> Floats:
        """What s = 0 stands for in each column."""
        return np.array([f.lo / 2 + f.hi / 2 for f in self.numbers])

    @property
    def halves(self) -> Floats:
        """What s = 1 is above the middle by."""
        return np.array([f.hi / 2 - f.lo / 2 for f in self.numbers])

    def read(self, batch: Batch, steps: float) -> tuple[Floats, Integers]:
        """s of every row that counts, in steps: whole numbers from -steps to steps; and the numbers of their classes.

        Proof: ``quantise`` keeps t within 0 .. steps whatever the record holds, so 2t - steps lies between -steps and
        steps. What a row becomes is a function of that row alone.
        """
        kept: npt.NDArray[np.bool_] | None = batch.kept(self.columns)
        codes = np.empty((batch.size, self.size))
        for place, number in enumerate(self.numbers):
            quantise(batch.numeric(number.column), number.lo, number.hi, steps=steps, out=codes[:, place])
        there = ~np.isnan(codes).any(axis=1)
        labels = np.zeros(batch.size, np.int64)
        if self.target is not None:
            labels = batch.codes(self.target.column).astype(np.int64)
            there &= labels >= 0
        if kept is not None:
            there &= kept
        codes *= 2.0
        codes -= steps
        return (codes, labels) if there.all() else (codes[there], labels[there])
