"""Records as NumPy arrays: what a fold hands to its map.

A batch holds whole people: all rows of a person that the source holds are in the same batch.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from hashlib import blake2b
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from discreet.core import source
from discreet.core.dates_and_times import Date, Duration
from discreet.core.grid import quantise
from discreet.core.labels import canonical, fold
from discreet.core.schema import Categories, Integer, Real, Schema
from discreet.core.text import Text
from discreet.errors import InvalidRequest, UnknownName
from discreet.expressions import Node, evaluating
from discreet.sources import cell_meaning, dates_and_times
from discreet.sources.cell_meaning import Codes, Column, Floats, Labels
from discreet.sources.choosing import Mask, Values, row_hashes, smallest_rows
from discreet.sources.ids import NO_ID, Identities, Keys, Words, identities
from discreet.sources.matrix import MatrixColumns, one_matrix

Rows = slice | npt.NDArray[np.intp]
_MISSING = np.int64(2**62)  # the code of a missing number: no quantised value reaches it
_NONE: Mapping[str, Any] = {}
_MOMENTS = (Date, Duration)


class Rules:
    """A schema worked out for reading: the bounds, fills and lookups of every column."""

    def __init__(self, schema: Schema, salt: int) -> None:
        self.schema = schema
        self.salt = salt
        self.numeric: dict[str, float | None] = {}
        self.category: dict[str, Labels] = {}
        self.private: set[str] = set()  # columns whose labels are yet to be found
        self.texts: set[str] = set()  # columns that are only matched
        self.moments: set[str] = set()  # dates, times and lengths of time
        for name, column in schema.columns.items():
            if isinstance(column, Text):
                self.texts.add(name)
            elif isinstance(column, Categories):
                relation = schema.neighbors
                if column.private:
                    self.private.add(name)
                self.category[name] = Labels(column.lookup(), column.stray(relation), column.fill(relation), column.fold)
            else:
                self.numeric[name] = column.fill(schema.neighbors)
                if isinstance(column, _MOMENTS) and column.formula is None:
                    self.moments.add(name)

    def read(self, name: str, column: Column) -> Floats:
        """The cells of a column of numbers, dates or lengths of time as doubles."""
        declared, dialect = self.schema.columns[name], self.schema.dialect
        if isinstance(declared, Date):
            return dates_and_times.moments(column, declared, dialect)
        return (
            dates_and_times.durations(column, declared, dialect)
            if isinstance(declared, Duration)
            else cell_meaning.numbers(column, dialect)
        )

    def labels(self, name: str) -> Labels | None:
        """How cells become codes of a column of categories; None of another kind of column."""
        if name not in self.category and name not in self.schema.columns and self.schema.derivation.node(name) is not None:
            made = self.schema[name]  # an expression that stands for a column
            assert isinstance(made, Categories)
            self.category[name] = Labels(made.lookup(), -1, -1)
        return self.category.get(name)


class Batch(source.Batch):
    """Some records of a source, whole people only.

    Arrays are made when they are asked for. They may be the memory of the table itself: do not write into them.
    ``start`` is the number of the first record in its table and ``stream`` tells tables' parts apart that are counted
    separately; both serve the choice of rows by number. ``ready`` holds codes, dates and lengths of time of whole columns.
    """

    __slots__ = ("_arrays", "_columns", "_identities", "_ready", "_rows", "_rules", "size", "start", "stream")

    def __init__(
        self,
        rules: Rules,
        columns: Mapping[str, Column],
        size: int,
        rows: cell_meaning.Places | None = None,
        start: int = 0,
        stream: int = 0,
        identities: Identities | None = None,
        ready: Mapping[str, Any] = _NONE,
    ) -> None:
        self.size = size
        self.start = start
        self.stream = stream
        self._rules = rules
        self._columns = columns
        self._rows = rows
        self._identities = identities
        self._ready = ready
        self._arrays: dict[Any, Any] | None = None

    def numeric(self, name: str) -> Floats:
        """The column as doubles after the missing rule: NaN where a row contributes nothing. Not clipped yet."""
        if self._arrays is not None and name in self._arrays:
            known: Floats = self._arrays[name]
            return known
        values = self.present(name)
        fill = self._rules.numeric[name]
        if fill is not None:
            gone = np.isnan(values)
            if gone.any():
                values = np.where(gone, fill, values)
        self._keep(name, values)
        return values

    def matrix(self, names: Sequence[str]) -> Floats | None:
        """Columns as ``numeric`` hands out each, in one piece and without a copy; None where they do not lie so."""
        columns, rules = self._columns, self._rules
        plain = isinstance(columns, MatrixColumns) and self._rows is None and not rules.schema.dialect.missing_numbers
        found = columns.together(names) if plain and isinstance(columns, MatrixColumns) else None
        if found is not None and (all(rules.numeric[name] is None for name in names) or not np.isnan(found).any()):
            return found
        return one_matrix([self.numeric(name) for name in names])

    def present(self, name: str) -> Floats:
        """The column as doubles as they are stored: NaN where a cell is missing, whatever a missing value becomes."""
        node = self._rules.schema.derivation.node(name)
        if name not in self._rules.numeric or (node is None and name not in self._columns and name not in self._ready):
            raise self._refusal(name, "categories; ask for its codes")
        if node is not None:
            return evaluating.numbers(node, self)
        if name in self._ready:
            made: Floats = self._pick(self._ready[name])
            return made
        return self._rules.read(name, self._pick(self._columns[name]))

    def codes(self, name: str) -> Codes:
        """The column as places in the declared labels; -1 where a row belongs to none of them."""
        if self._arrays is not None and name in self._arrays:
            known: Codes = self._arrays[name]
            return known
        labels, node = self._rules.labels(name), self._rules.schema.derivation.node(name)
        if labels is None or (node is None and name not in self._columns and name not in self._ready):
            raise self._refusal(name, "a number; ask for its numeric values")
        values: Codes
        if node is not None:
            values = self._derived(node, labels)
        elif name in self._ready:
            values = self._pick(self._ready[name])
        else:
            values = cell_meaning.codes(self._pick(self._columns[name]), *labels, self._rules.schema.dialect)
        self._keep(name, values)
        return values

    def _derived(self, node: Node, labels: Labels) -> Codes:
        """The codes of an expression's labels, or of true and false, as places in the declared labels."""
        if node.kind == "truth":
            yes, no = (labels.lookup.get(word, labels.stray) for word in ("true", "false"))
            other = np.where(evaluating.false(node, self), np.int32(no), np.int32(labels.missing))
            return np.where(evaluating.true(node, self), np.int32(yes), other)
        lookup = [labels.lookup.get(fold(word) if labels.folded else word, labels.stray) for word in node.labels]
        return np.array([*lookup, labels.missing], np.int32)[evaluating.codes(node, self)]

    def within(self, name: str, wanted: Sequence[int]) -> Mask:
        """Which rows have one of the codes in a column of categories."""
        node, labels = self._rules.schema.derivation.node(name), self._rules.labels(name)
        simple = node is not None and node.kind == "truth" and labels is not None and labels.missing < 0
        if simple and node is not None and labels is not None and list(wanted) == [labels.lookup.get("true")]:
            return evaluating.true(node, self)
        found: Mask = np.isin(self.codes(name), wanted)
        return found

    def doubles(self, name: str) -> Floats:
        """For expressions: a number with what a missing one is declared to become; NaN where nothing is declared."""
        values, fill = self.present(name), self._rules.schema.columns[name].missing
        if isinstance(fill, int | float) and not isinstance(fill, bool):
            values = np.where(np.isnan(values), float(fill), values)
        return values

    def places(self, name: str) -> Codes:
        """For expressions: the codes of a column of categories."""
        return self.codes(name)

    def matching(self, name: str, wanted: Callable[[str], bool]) -> tuple[Mask, Mask]:
        """For expressions: of a column of text, where it is there and wanted, and where it is there and not."""
        declared, dialect = self._rules.schema.columns[name], self._rules.schema.dialect
        if not isinstance(declared, Text) or name not in self._columns:
            raise self._refusal(name, "something else than text")
        values, index = cell_meaning.distinct(self._pick(self._columns[name]))
        fits = np.zeros((2, len(values) + 1), bool)
        for place, value in enumerate(values):
            text = cell_meaning.said(value, dialect)
            if text is not None:
                fits[0 if wanted(fold(text) if declared.fold else text) else 1, place] = True
        return fits[0][index], fits[1][index]

    def keys(self, name: str) -> tuple[list[str], cell_meaning.Places]:
        """Of a column whose labels are private: the different ones here, and for every row the place of its own or -1."""
        if name not in self._rules.private or name not in self._columns:
            raise self._refusal(name, "labels or numbers that are known; ask for its codes or values")
        return cell_meaning.keys(self._pick(self._columns[name]), self._rules.schema.dialect)

    def labels(self, name: str) -> tuple[list[str], cell_meaning.Places]:
        """Of a column of text or categories: the different labels, and for every row the place of its own or -1."""
        declared, dialect = self._rules.schema.columns[name], self._rules.schema.dialect
        if not isinstance(declared, Text):
            assert isinstance(declared, Categories)
            return [canonical(label) for label in declared.labels], self.codes(name).astype(np.intp)
        names, index = cell_meaning.keys(self._pick(self._columns[name]), dialect)
        return [fold(each) for each in names] if declared.fold else names, index

    def beside(self, rules: Rules, rows: cell_meaning.Places, ready: Mapping[str, Any]) -> Batch:
        """These ``rows``, some of them perhaps several times, with columns of other tables beside them."""
        columns = {name: cell_meaning.arrow(self._pick(column)) for name, column in self._columns.items()}
        taken = {n: c[rows] if isinstance(c, np.ndarray) else c.take(pa.array(rows)) for n, c in columns.items()}
        own = {name: self._pick(array)[rows] for name, array in self._ready.items()}
        who = None if rules.schema.person is None else self.identities().take(rows)
        return Batch(rules, taken, len(rows), None, self.start, self.stream, who, {**own, **ready})

    @property
    def people(self) -> Keys | None:
        """For every row the number of its person, 0 .. people in this batch - 1; None without a person column."""
        if self._rules.schema.person is None:
            return None
        if self._arrays is not None and "" in self._arrays:
            known: Keys = self._arrays[""]
            return known
        numbers = np.unique(self.identities()[0], return_inverse=True)[1].astype(np.int64, copy=False)
        self._keep("", numbers)
        return numbers

    def kept(self, columns: Sequence[str]) -> Mask | None:
        """Which rows count when these columns are used: at most ``max_rows`` of a person; None without people.

        A row without an id is nobody's and is not kept: kept, all of them would have to share one person's allowance,
        and one more of them would push another out. The rows with the smallest hash of their quantised codes are kept;
        see ``people.smallest_rows`` for why that depends neither on the order of rows nor on the engine.
        """
        most = self._rules.schema.max_rows
        if most is None:
            return None
        wanted = tuple(sorted(set(columns)))
        if self._arrays is not None and wanted in self._arrays:
            known: Mask = self._arrays[wanted]
            return known
        for name in wanted:
            self._rules.schema[name]  # an unknown name is refused whether or not any person has too many rows
        keys, hashes = self.identities()[:2]
        numbers = [name for name in wanted if name in self._rules.numeric]
        codes: Values = lambda rows: [self.grid(name, rows) for name in wanted]  # noqa: E731
        mask = smallest_rows(keys, hashes, most, codes, lambda rows: [self._bits(name)[rows] for name in numbers])
        mask &= keys != NO_ID
        self._keep(wanted, mask)
        return mask

    def grid(self, name: str, rows: Rows = slice(None)) -> Keys:
        """The column as whole numbers: the quantised value of a number, the code of a category, a hash of a text."""
        column = self._rules.schema.columns.get(name) or self._rules.schema[name]
        if isinstance(column, Text):
            names, index = cell_meaning.keys(self._pick(self._columns[name]), self._rules.schema.dialect)
            words = [int.from_bytes(blake2b(text.encode(), digest_size=8).digest(), "little", signed=True) for text in names]
            return np.array([*words, _MISSING], np.int64)[index][rows]
        if not isinstance(column, Real | Integer):
            return self.codes(name)[rows].astype(np.int64)
        values = quantise(self.numeric(name)[rows], column.lo, column.hi)
        gone = np.isnan(values)
        return np.where(gone, _MISSING, np.where(gone, 0.0, values).astype(np.int64))

    def _bits(self, name: str) -> Keys:
        """The doubles of a column as they are stored, as whole numbers that are equal where the doubles are."""
        filled = self._rules.numeric[name] is not None
        values = (self.present(name) if filled else self.numeric(name)) + 0.0  # one zero
        values[np.isnan(values)] = np.nan  # and one that is missing
        found: Keys = values.view(np.int64)
        return found

    def identities(self) -> Identities:
        """The key and the salted hash of every row's person."""
        if self._identities is None:
            person = self._rules.schema.person
            if person is None:
                raise InvalidRequest("this needs a person column, and the schema has none; declare person= and max_rows=")
            missing = self._rules.schema.dialect.missing
            self._identities = identities(self._pick(self._columns[person]), self._rules.salt, missing)
        return self._identities

    def row_numbers(self) -> Words:
        """The number of every row in its table. Only for batches not chosen from yet."""
        return np.arange(self.start, self.start + self.size, dtype=np.uint64)

    def value_hashes(self) -> Words:
        """A salted hash of the codes of all declared columns."""
        start = np.full(self.size, self._rules.salt & (2**64 - 1), np.uint64)
        return row_hashes([self.grid(name) for name in sorted(self._rules.schema.stored)], start)

    def choose(self, mask: Mask) -> Batch:
        """The batch of the chosen rows."""
        (rows,) = np.nonzero(mask)
        if len(rows) == self.size:
            return self
        inside = rows if self._rows is None else self._rows[rows]
        picked = None if self._identities is None else self._identities.take(rows)
        return Batch(self._rules, self._columns, len(rows), inside, self.start, self.stream, picked, self._ready)

    def _pick(self, column: Column) -> Column:
        if self._rows is None:
            return column
        if isinstance(column, np.ndarray):
            return column.take(self._rows)
        return cell_meaning.arrow(column).take(pa.array(self._rows))

    def _keep(self, name: Any, values: Any) -> None:
        if self._arrays is None:
            self._arrays = {}
        self._arrays[name] = values

    def _refusal(self, name: str, hint: str) -> UnknownName | InvalidRequest:
        self._rules.schema[name]  # refuses a name that is not declared
        if name not in self._columns and name not in self._ready:
            return UnknownName(f"column {name!r} is declared but was not asked for; name it in the columns of the fold")
        return InvalidRequest(f"column {name!r} is declared as {hint}")
