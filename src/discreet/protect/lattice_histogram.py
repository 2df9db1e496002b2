"""The one histogram that every node of a lattice is computed from: quasi-identifier leaves by sensitive value, counted.

A table is grouped once, wherever it lies. After that a row is an entry with a count, a value is a small whole number,
and making a column coarser is one look-up in an array.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from discreet.errors import InvalidRequest
from discreet.protect.hierarchies import Hierarchy, covering
from discreet.sources import cell_meaning

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
_DENSE = 64  # groups are counted in one array up to this many possible ones for each entry, and sorted beyond
_FEW = 8  # different combinations are read off such an array up to this many for each entry, and hashed beyond
_LARGEST = 1 << 62


def texts_of(column: Any) -> tuple[list[str | None], Ints]:
    """The canonical texts of the different cells of a column, and for every row the place of its own."""
    column = cell_meaning.arrow(column)
    try:
        encoded = column if pa.types.is_dictionary(column.type) else column.dictionary_encode()
        values = encoded.dictionary.to_pylist()
        index = encoded.indices.cast(pa.int64()).fill_null(len(values)).to_numpy()
    except (AttributeError, pa.ArrowException):  # objects, and nested cells: every row is its own
        values = list(column) if isinstance(column, np.ndarray) else column.to_pylist()
        index = np.arange(len(values))
    return [*map(_text, values), None], index


def _text(value: Any) -> str | None:
    """The canonical text of a cell; plain text and numbers that are not whole, the most frequent ones, are told at once."""
    if type(value) is str and value and value.isascii():
        return value
    return repr(value) if type(value) is float and value % 1 > 0 else cell_meaning.label(value)


def encode(column: Any) -> tuple[list[str | None], Ints]:
    """The distinct canonical texts of a column (missing first, then sorted) and for every row the place of its own."""
    texts, index = texts_of(column)
    used = np.zeros(len(texts), bool)
    used[index] = True
    here = {text for text, is_used in zip(texts, used.tolist(), strict=True) if is_used}
    distinct: list[str | None] = [*([None] if None in here else []), *sorted(text for text in here if text is not None)]
    place = {text: code for code, text in enumerate(distinct)}
    table = np.array([place.get(text, -1) for text in texts], np.int64)
    return distinct, table[index]


@dataclass(frozen=True, eq=False)
class CountedColumn:
    """A quasi-identifier: at every level the code of each leaf and the text of each code."""

    name: str
    levels: tuple[str, ...]
    maps: tuple[Ints, ...]
    labels: tuple[tuple[str | None, ...], ...]
    losses: tuple[Floats, ...]

    @staticmethod
    def of(name: str, leaves: Sequence[str | None], hierarchy: Hierarchy) -> CountedColumn:
        """The leaves of a table in a hierarchy; refuses, with the column's name, a value it does not cover."""
        with covering(name):
            paths = [hierarchy.missing if leaf is None else hierarchy.path(leaf) for leaf in leaves]
        maps, labels, losses = [], [], []
        top = hierarchy.height
        for level in range(top + 1):
            words = [path[level] for path in paths]
            known: dict[str | None, int] = {}
            maps.append(np.array([known.setdefault(word, len(known)) for word in words], np.int64))
            labels.append(tuple(known))
            losses.append(
                np.array([float(level == top) if leaf is None else hierarchy.loss(leaf, level) for leaf in leaves], float)
            )
        return CountedColumn(name, hierarchy.levels, tuple(maps), tuple(labels), tuple(losses))

    @property
    def height(self) -> int:
        """The number of the top level."""
        return len(self.levels) - 1

    def size(self, level: int) -> int:
        """How many different values there are at a level."""
        return len(self.labels[level])

    def step(self, low: int, high: int) -> Ints:
        """From the codes of one level to those of a higher one."""
        out = np.zeros(self.size(low), np.int64)
        out[self.maps[low]] = self.maps[high]
        return out


@dataclass(frozen=True, eq=False)
class Histogram:
    """Entries of codes at some level of each column, with a sensitive code and how many rows each stands for.

    ``which`` are the places of the columns among all quasi-identifiers and ``levels`` the level of each of them.
    ``sensitive`` is None where no rule looks at a sensitive value; ``values`` are its texts.
    """

    columns: tuple[CountedColumn, ...]
    which: tuple[int, ...]
    levels: tuple[int, ...]
    codes: tuple[Ints, ...]
    counts: Ints
    sensitive: Ints | None
    values: tuple[str | None, ...]
    rows: int

    @staticmethod
    def of(
        names: Sequence[str],
        cells_of: Sequence[Any],
        hierarchies: Mapping[str, Hierarchy],
        counts: Ints | None,
        sensitive: Any = None,
    ) -> Histogram:
        """Group the cells of a table once; ``counts`` says how many rows each entry stands for, None for one."""
        encoded = [encode(column) for column in cells_of]
        columns = tuple(CountedColumn.of(n, leaves, hierarchies[n]) for n, (leaves, _) in zip(names, encoded, strict=True))
        values, secret = ((), None) if sensitive is None else encode(sensitive)
        size = len(encoded[0][1]) if encoded else 0
        ones = np.ones(size, np.int64) if counts is None else counts
        whole = Histogram(
            columns,
            tuple(range(len(names))),
            (0,) * len(names),
            tuple(codes for _, codes in encoded),
            ones,
            secret,
            tuple(values),
            int(ones.sum()),
        )
        return whole._at(whole.levels, whole.which)

    def rolled(self, levels: Sequence[int], keep: Sequence[int] | None = None) -> Histogram:
        """This histogram at coarser levels, on the columns at the places ``keep`` of its own (None: all of them)."""
        places = range(len(self.which)) if keep is None else keep
        if tuple(places) == tuple(range(len(self.which))) and tuple(levels) == self.levels:
            return self
        return self._at(levels, places)

    def _at(self, levels: Sequence[int], places: Sequence[int]) -> Histogram:
        columns = [self.columns[self.which[p]] for p in places]
        moved = []
        for p, column, level in zip(places, columns, levels, strict=True):
            same = level == self.levels[p]
            moved.append(self.codes[p] if same else column.step(self.levels[p], level)[self.codes[p]])
        sizes = [column.size(level) for column, level in zip(columns, levels, strict=True)]
        if self.sensitive is not None:
            moved.append(self.sensitive)
            sizes.append(len(self.values))
        codes, counts = distinct(moved, sizes, self.counts)
        secret = None if self.sensitive is None else codes.pop()
        which = tuple(self.which[p] for p in places)
        return Histogram(self.columns, which, tuple(levels), tuple(codes), counts, secret, self.values, self.rows)

    def blind(self) -> Histogram:
        """The same rows without their sensitive values."""
        if self.sensitive is None:
            return self
        seeing = (self.columns, self.which, self.levels, self.codes, self.counts)
        return Histogram(*seeing, None, (), self.rows)._at(self.levels, range(len(self.which)))

    @cached_property
    def weights(self) -> Floats:
        """The counts as doubles, in which whole numbers below 2**53 are exact: sums over groups are made of them."""
        return self.counts.astype(np.float64)

    def spread(self, place: int) -> float:
        """The inverse of the chance that two rows agree on a column: its number of values, were they equally frequent."""
        rows = np.bincount(self.codes[place], self.weights)
        return float(rows.sum() ** 2 / max(1.0, rows @ rows))

    def shares(self) -> Floats:
        """The share of each sensitive value in the whole table."""
        assert self.sensitive is not None
        return np.bincount(self.sensitive, self.counts, len(self.values)) / max(1, self.rows)


def mixed(codes: Sequence[Ints], sizes: Sequence[int]) -> tuple[Ints, int]:
    """One number for each entry, equal exactly where all codes are, and a bound above all of them (mixed radix)."""
    if not codes:
        raise InvalidRequest("at least one column must be given, got none")
    keys, space = codes[0], max(1, sizes[0])
    for column, size in zip(codes[1:], sizes[1:], strict=True):
        if size <= 1:
            continue
        if space * size > _LARGEST:
            found, keys = np.unique(keys, return_inverse=True)
            space = max(1, len(found))
        keys = keys * size
        keys += column
        space *= size
    return keys, space


def keys_of(codes: Sequence[Ints], sizes: Sequence[int]) -> Ints:
    """One number for each combination of codes, the same for the same combination in every part of the table."""
    keys = np.zeros(len(codes[0]), np.uint64)
    space = 1
    for column, size in zip(codes, sizes, strict=True):
        space *= max(1, size)
        keys = keys * np.uint64(max(1, size)) + column.astype(np.uint64)
    if space >= 1 << 63:
        raise InvalidRequest(
            "the quasi-identifiers have more combinations than can be numbered; leave one out, or round long numbers"
        )
    return keys.astype(np.int64)


def _dense(space: int, entries: Ints) -> bool:
    return space <= 4096 + _DENSE * len(entries)


def totals(keys: Ints, space: int, weights: Floats) -> npt.NDArray[Any]:
    """The rows of each group as doubles, in no promised order; possible groups without rows may be among them as zeros."""
    if _dense(space, keys):
        return np.asarray(np.bincount(keys, weights, space))
    order = np.argsort(keys)
    ordered = keys[order]
    starts = np.flatnonzero(np.append(True, ordered[1:] != ordered[:-1]))
    return np.asarray(np.add.reduceat(weights[order], starts))


def numbered(keys: Ints, space: int) -> tuple[Ints, int]:
    """The keys as 0, 1, 2, ... without gaps, in the order of the keys."""
    if _dense(space, keys):
        here = np.zeros(space, np.int64)
        here[keys] = 1
        ends = np.cumsum(here)
        return ends[keys] - 1, int(ends[-1])
    found, ids = np.unique(keys, return_inverse=True)
    return ids.astype(np.int64), len(found)


def distinct(codes: Sequence[Ints], sizes: Sequence[int], counts: Ints) -> tuple[list[Ints], Ints]:
    """The different combinations of codes, each once and in no promised order, and their counts."""
    keys, space = mixed(codes, sizes)
    if space > 4096 + _FEW * len(keys):
        hashed = pa.array(keys).dictionary_encode()
        keys, space = hashed.indices.to_numpy(), len(hashed.dictionary)
    sums = np.bincount(keys, counts, space)
    place = np.zeros(space, np.int64)
    place[keys] = np.arange(len(keys))
    found = np.flatnonzero(sums)
    first = place[found]
    return [column[first] for column in codes], sums[found].astype(np.int64)
