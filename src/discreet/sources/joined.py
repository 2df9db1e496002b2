"""The source of a join: batches of the first table, with columns of the others beside them.

The other tables are held as numbers while a question is answered, 8 bytes a row and column; the first one is streamed.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any

import numpy as np
import numpy.typing as npt

from discreet.core.labels import fold
from discreet.core.schema import Categories, Column, Schema
from discreet.core.text import Text
from discreet.errors import InvalidRequest
from discreet.sources.base import LocalSource
from discreet.sources.batch import Batch, Rules
from discreet.sources.choosing import DEFAULT_SALT
from discreet.sources.ids import Identities, Keys, whole_names
from discreet.sources.joining import Join, Lookup

Places = npt.NDArray[np.intp]
Arrays = dict[str, Any]


class JoinedSource(LocalSource):
    """Several tables as one; see ``joining`` for what that means and why it is private."""

    def __init__(
        self,
        join: Join,
        first: LocalSource,
        others: Sequence[LocalSource],
        lookups: Sequence[LocalSource],
        salt: int = DEFAULT_SALT,
        batch_rows: int = 1 << 16,
    ) -> None:
        super().__init__(join.schema, salt, batch_rows)
        self._first, self._others = first, list(others)
        self._lookups = [
            _read_lookup(each, source, _folded(join.first, each.key))
            for each, source in zip(join.lookups, lookups, strict=True)
        ]
        self._held = threading.local()  # what of other tables is held while a question is answered
        self.numbered = first.numbered

    @contextmanager
    def snapshot(self) -> Iterator[None]:
        """One state of every table."""
        if getattr(self._held, "tables", None) is not None:
            yield
            return
        with ExitStack() as stack:
            for each in (self._first, *self._others):
                stack.enter_context(each.snapshot())
            self._held.tables = {}
            try:
                yield
            finally:
                self._held.tables = None

    def _batches(self, columns: Sequence[str]) -> Iterator[Batch]:
        with self.snapshot():
            rules = self._selection.rules
            tables = [self._people(place, columns) for place in range(len(self._others))]
            lookups = [each for each in self._lookups if any(name in each.arrays for name in columns)]
            own = [name for name in columns if name in self._first.schema.columns or name == self.schema.person]
            read = list(dict.fromkeys([*own, *(each.key for each in lookups)]))
            for batch in self._first._batches(read):
                rows = np.arange(batch.size)
                beside: Arrays = {}
                for lookup in lookups:
                    beside |= lookup.taken(lookup.places(batch), rules, columns)
                for table in tables:
                    rows, beside = table.beside(batch, rows, beside, rules)
                yield batch.beside(rules, rows, beside)

    def _people(self, place: int, columns: Sequence[str]) -> _PersonTable:
        """The rows of another table, at most so many of a person as its schema counts."""
        source = self._others[place]
        names = tuple(name for name in columns if name in source.schema.columns)
        held: dict[Any, _PersonTable] = self._held.tables
        if (place, names) not in held:
            held[place, names] = _PersonTable.of(source, names)
        return held[place, names]

    def _content(self) -> str:
        return repr([*(each.version for each in (self._first, *self._others)), *(each.digest for each in self._lookups)])

    def _read_again(self, columns: Any) -> None:
        self._first = self._first.found({name: self.schema.columns[name] for name in columns})


@dataclass(frozen=True)
class _Lookup:
    """The rows of a public table: the place of every key, and the columns."""

    key: str
    known: dict[str, int]
    arrays: Arrays
    digest: str
    folded: bool  # whether letter case and spaces around a key matter, as the first table declares it

    def places(self, batch: Batch) -> Places:
        """For every row the row of the lookup that its key has; -1 where it has none."""
        names, index = batch.labels(self.key)
        sought = [fold(name) for name in names] if self.folded else names
        return np.array([*(self.known.get(name, -1) for name in sought), -1], np.intp)[index]

    def taken(self, places: Places, rules: Rules, columns: Sequence[str]) -> Arrays:
        return {name: _taken(array, places, rules, name) for name, array in self.arrays.items() if name in columns}


def lookup_schema(lookup: Lookup, first: Schema) -> Schema:
    """How a lookup is read: its key as the first table's, its columns as they are declared.

    A key of declared labels has the same aliases there. A key that is none of them is nobody's, and is left out.
    """
    declared = first.columns[lookup.key]
    key: Column = Text(fold=_folded(first, lookup.key))
    if isinstance(declared, Categories) and not isinstance(declared, Text):
        key = Categories(declared.labels, aliases=declared.aliases, fold=declared.fold)
    return Schema({**lookup.columns, lookup.key: key}, dialect=first.dialect)


def _folded(first: Schema, key: str) -> bool:
    declared = first.columns[key]
    return isinstance(declared, Text | Categories) and declared.fold


def _read_lookup(lookup: Lookup, source: LocalSource, folded: bool) -> _Lookup:
    """A lookup in memory. It is public: what is wrong with it is told."""

    def look(batch: Batch) -> list[tuple[list[str | None], Arrays]]:
        names, index = batch.labels(lookup.key)
        keys = [*(fold(name) if folded else name for name in names), None]
        return [
            ([keys[place] for place in index], {name: _values(batch, name, column) for name, column in declared.items()})
        ]

    declared = lookup.columns
    found = source.fold(look, lambda a, b: a + b, [*declared, f"missing({_named(lookup.key)})"])
    keys = [key for part, _ in found for key in part]
    known: dict[str, int] = {}
    for place, key in enumerate(keys):
        if key is not None and known.setdefault(key, place) != place:
            raise InvalidRequest(
                f"a lookup has one row for each key, got two for {key!r} of {lookup.key!r}; keep one of them", key=lookup.key
            )
    arrays = {name: np.concatenate([part[name] for _, part in found]) for name in declared}
    digest = blake2b(repr(list(known.items())).encode("utf-8", "surrogatepass"), digest_size=16)
    for name in sorted(arrays):
        digest.update(name.encode() + arrays[name].tobytes())
    return _Lookup(lookup.key, known, arrays, digest.hexdigest(), folded)


@dataclass(frozen=True)
class _PersonTable:
    """Rows of people as numbers, the rows of one person next to one another: where each person's begin and end."""

    keys: Keys  # small whole numbers, in order
    starts: Places
    ends: Places
    names: dict[bytes, tuple[int, int]]  # of the other ids
    arrays: Arrays

    @classmethod
    def of(cls, source: LocalSource, columns: Sequence[str]) -> _PersonTable:
        """The rows of a source that count, at most ``max_rows`` of a person."""
        stored = sorted(source.schema.stored)

        def look(batch: Batch) -> list[Any]:
            kept = batch.kept(stored)
            picked = batch if kept is None else batch.choose(kept)
            who = picked.identities()
            order = np.argsort(who.keys, kind="stable")
            arrays = {name: _values(picked, name, source.schema[name])[order] for name in columns}
            return [(who.take(order), arrays)]

        parts: list[tuple[Identities, Arrays]] = source.fold(look, lambda a, b: a + b, [*columns, *stored])
        arrays = {name: np.concatenate([part[name] for _, part in parts]) for name in columns}
        keys: list[Any] = []
        starts: list[Any] = []
        ends: list[Any] = []
        names: dict[bytes, tuple[int, int]] = {}
        offset = 0
        for who, _ in parts:
            first = np.flatnonzero(np.append(True, who.keys[1:] != who.keys[:-1])) if len(who.keys) else np.empty(0, np.intp)
            last = np.append(first[1:], len(who.keys)) if len(first) else first
            small, rows, other = _divided(who.take(first))
            keys.append(small)
            starts.append(first[rows] + offset)
            ends.append(last[rows] + offset)
            names |= {name: (int(first[row]) + offset, int(last[row]) + offset) for name, row in other}
            offset += len(who.keys)
        every, begin, stop = (np.concatenate(part) for part in (keys, starts, ends))
        order = np.argsort(every)
        return cls(every[order], begin[order], stop[order], names, arrays)

    def beside(self, batch: Batch, rows: Places, beside: Arrays, rules: Rules) -> tuple[Places, Arrays]:
        """Every row once for each row that its person has here, once where there is none; with this table's columns."""
        start, end = (each[rows] for each in self._found(batch.identities()))
        times = np.maximum(end - start, 1)
        again = np.repeat(np.arange(len(rows)), times)
        within = np.arange(len(again)) - np.repeat(np.cumsum(times) - times, times)
        places = np.where((end > start)[again], start[again] + within, -1)
        taken = {name: _taken(array, places, rules, name) for name, array in self.arrays.items()}
        return rows[again], {name: array[again] for name, array in beside.items()} | taken

    def _found(self, who: Identities) -> tuple[Places, Places]:
        """Where the rows of every row's person begin and end; the same place where there are none."""
        if who.names is None or who.places is None:
            return self._of_keys(who.keys)
        begin, stop = np.zeros((2, len(who.names)), np.intp)
        small, rows, other = whole_names(who.names)
        begin[rows], stop[rows] = self._of_keys(small)
        for name, place in other:
            begin[place], stop[place] = self.names.get(name, (0, 0))
        return begin[who.places], stop[who.places]

    def _of_keys(self, keys: Keys) -> tuple[Places, Places]:
        if not len(self.keys):
            return np.zeros(len(keys), np.intp), np.zeros(len(keys), np.intp)
        place = np.minimum(np.searchsorted(self.keys, keys), len(self.keys) - 1)
        there = self.keys[place] == keys
        return np.where(there, self.starts[place], 0), np.where(there, self.ends[place], 0)


def _divided(who: Identities) -> tuple[Keys, Places, list[tuple[bytes, int]]]:
    """Of rows of different people: those whose id is a small whole number, and the others by name."""
    if who.names is None or who.places is None:
        return who.keys, np.arange(len(who.keys)), []
    return whole_names([who.names[place] for place in who.places.tolist()])


def _values(batch: Batch, name: str, column: Column) -> Any:
    """A column as numbers: codes of categories, doubles of the rest."""
    return batch.codes(name) if isinstance(column, Categories) else batch.present(name)


def _taken(array: Any, places: Places, rules: Rules, name: str) -> Any:
    """The values at some places; what a missing cell is where there is none."""
    labels = rules.labels(name)
    missing = np.nan if labels is None else labels.missing
    if not len(array):
        return np.full(len(places), missing, array.dtype)
    return np.where(places < 0, np.asarray(missing, array.dtype), array[places])


def _named(key: str) -> str:
    return key if key.isidentifier() else f"column({key!r})"
