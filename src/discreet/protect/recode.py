"""The change that turns a table into its anonymous copy: coarser cells, and groups that fail left out."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from discreet.errors import InvalidRequest
from discreet.protect.incognito import HistogramView, Node
from discreet.protect.lattice_histogram import Ints, encode, mixed
from discreet.protect.stored_table import Changed
from discreet.sources import cell_meaning

_LARGEST = 1 << 62


@dataclass(frozen=True, eq=False)
class Coarser:
    """A column at its level: from the text of a cell to a code, and from a code to the new text (None at level 0)."""

    codes: dict[str | None, int]
    labels: tuple[str | None, ...] | None


@dataclass(frozen=True, eq=False)
class Recode:
    """New cells for each quasi-identifier; rows whose codes are among ``bad`` go.

    ``bad`` holds combinations of codes, so it works on any part of the table, in any order.
    """

    columns: dict[str, Coarser]
    bad: frozenset[tuple[int, ...]]

    @property
    def needs(self) -> tuple[str, ...]:
        return tuple(self.columns)

    @staticmethod
    def at(view: HistogramView, node: Node) -> tuple[Recode, int]:
        """The change to a node, and how many rows it leaves out."""
        h = view.histogram
        ids, fails, sizes = view.entries(node)
        made, matrix = {}, []
        for place, level in enumerate(node):
            column = h.columns[place]
            leaves = column.labels[0]
            codes = {leaf: int(column.maps[level][column.maps[0][i]]) for i, leaf in enumerate(leaves)}
            made[column.name] = Coarser(codes, None if level == 0 else column.labels[level])
            matrix.append(column.maps[level][h.codes[place]])
        gone = np.stack(matrix, axis=1)[fails[ids]]
        return Recode(made, frozenset(map(tuple, gone.tolist()))), int(sizes[fails].sum())

    def __call__(self, columns: Mapping[str, Any]) -> Changed:
        new: dict[str, Any] = {}
        coded = self._coded(columns)
        for codes, (name, coarser) in zip(coded, self.columns.items(), strict=True):
            if coarser.labels is None:
                new[name] = plain(columns[name])
            else:
                words = pa.array(coarser.labels, pa.string())
                new[name] = pc.take(words, pa.array(codes))
        if not self.bad:
            return Changed(new)
        return Changed(new, self._stays(coded))

    def classes(self, columns: Mapping[str, Any]) -> Ints:
        """A number for each row, equal exactly where the copy shows two rows alike; -1 for a row that it leaves out."""
        coded = self._coded(columns)
        numbers, _ = mixed(coded, self._sizes)
        return np.where(self._stays(coded), numbers, -1) if self.bad else numbers

    def _coded(self, columns: Mapping[str, Any]) -> list[Ints]:
        out = []
        for name, coarser in self.columns.items():
            texts, index = encode(columns[name])
            out.append(np.array([_code(coarser, text, name) for text in texts], np.int64)[index])
        return out

    @property
    def _sizes(self) -> list[int]:
        return [max(coarser.codes.values(), default=0) + 1 for coarser in self.columns.values()]

    def _stays(self, coded: Sequence[Ints]) -> npt.NDArray[np.bool_]:
        sizes = self._sizes
        if math.prod(sizes) >= _LARGEST:  # too many combinations for one number each: one row at a time
            rows = zip(*(codes.tolist() for codes in coded), strict=True)
            return np.fromiter((row not in self.bad for row in rows), bool, len(coded[0]))
        bad, _ = mixed(list(np.array(sorted(self.bad), np.int64).T), sizes)
        keys, _ = mixed(coded, sizes)
        return ~np.isin(keys, bad)


def _code(coarser: Coarser, text: str | None, name: str) -> int:
    try:
        return coarser.codes[text]
    except KeyError:
        raise InvalidRequest(
            f"column {name!r} changed since it was counted: start again from the table as it is now"
        ) from None


def plain(column: Any) -> Any:
    """A column at level 0 such that cells of one group look alike: no empty text beside missing, no -0.0 beside 0.0."""
    column = cell_meaning.arrow(column)
    if isinstance(column, np.ndarray):
        return pa.array([cell_meaning.label(cell) for cell in column], pa.string())
    kind = column.type
    if pa.types.is_floating(kind):
        values = column.to_numpy(zero_copy_only=False)
        negative_zero = (values == 0) & np.signbit(values)
        if not negative_zero.any() and not pc.any(pc.is_nan(column)).as_py():
            return column
        return pa.array(values + values.dtype.type(0), kind, from_pandas=True)
    exact = (pa.types.is_integer, pa.types.is_boolean, pa.types.is_date, pa.types.is_timestamp)
    if any(test(kind) for test in exact):
        return column
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        empty = pc.equal(column, "")
        return pc.if_else(empty, pa.scalar(None, kind), column) if pc.any(empty).as_py() else column
    texts, index = encode(column)
    return pc.take(pa.array(texts, pa.string()), pa.array(index))
