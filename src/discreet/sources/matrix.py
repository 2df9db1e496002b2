"""Columns that lie side by side in one matrix of doubles: a wide table is handed on in one piece."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from typing import Self

import numpy as np

from discreet.sources.cell_meaning import Column, Floats


class MatrixColumns(Mapping[str, Column]):
    """The columns of a matrix of doubles by their names, and others ``beside`` them; a view is made when it is asked for."""

    def __init__(self, matrix: Floats, places: Mapping[str, int], beside: Mapping[str, Column]) -> None:
        self.matrix, self.places, self.beside = matrix, places, beside

    @classmethod
    def named(cls, matrix: Floats, names: Sequence[str], beside: Mapping[str, Column]) -> Self:
        """The columns of a matrix in their order; nobody writes into them."""
        view = matrix.view()
        view.flags.writeable = False
        return cls(view, {name: place for place, name in enumerate(names)}, beside)

    def __getitem__(self, name: str) -> Column:
        place = self.places.get(name)
        return self.beside[name] if place is None else self.matrix[:, place]

    def __iter__(self) -> Iterator[str]:
        return chain(self.places, self.beside)

    def __len__(self) -> int:
        return len(self.places) + len(self.beside)

    @property
    def lengths(self) -> set[int]:
        """The numbers of rows of its columns: one, of a table."""
        return {len(self.matrix), *map(len, self.beside.values())}

    def restricted(self, names: Sequence[str], beside: Mapping[str, Column]) -> MatrixColumns:
        """The named columns of the matrix, with others beside them."""
        return MatrixColumns(self.matrix, {name: self.places[name] for name in names if name in self.places}, beside)

    def cut(self, rows: slice) -> MatrixColumns:
        """Some rows, without a copy."""
        return MatrixColumns(self.matrix[rows], self.places, {name: column[rows] for name, column in self.beside.items()})

    def together(self, names: Sequence[str]) -> Floats | None:
        """The named columns in one piece, row by row; None where they do not lie so."""
        first = self.places.get(names[0], 0)
        side = range(first, first + len(names))
        if self.matrix.strides[1] != self.matrix.itemsize or [self.places.get(name) for name in names] != list(side):
            return None
        return self.matrix[:, side.start : side.stop]


def one_matrix(columns: Sequence[Floats]) -> Floats | None:
    """The matrix whose columns these are, in the memory that it has; None where they are no columns of one matrix."""
    first = columns[0]
    start = first.__array_interface__["data"][0]
    for place, column in enumerate(columns):
        there = column.__array_interface__
        if column.dtype != np.float64 or column.strides != first.strides or there["data"][0] != start + 8 * place:
            return None
    return np.lib.stride_tricks.as_strided(first, (len(first), len(columns)), (*first.strides, 8), writeable=False)
