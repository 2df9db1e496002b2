"""Reports: what leaves a device. Whole numbers in columns, together with the law that made them.

A report is useless, and worse than useless, under another law or another epsilon. So the law travels with it, as its
name and parameters, and the server half refuses what another law made.
"""

from __future__ import annotations

import json
import operator
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from decimal import Decimal
from hashlib import blake2b
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from discreet.core.registry import SCHEMA_VERSION, check_version
from discreet.errors import InvalidRequest, UnsupportedFormat

if TYPE_CHECKING:
    from discreet.local.law import LocalMechanism

Columns = Mapping[str, npt.NDArray[Any]]
KIND = "local reports"
_SEEDED = "-seeded"  # after the fingerprint of rows that a test seed made
LAW, PERSON = "law", "person"  # the columns of a table that are not part of a report


@dataclass(frozen=True)
class Column:
    """One column of a report: a whole number between ``low`` and ``high``, or a row of ``width`` of them.

    ``marks``, where given, says that a row of bytes holds that many single bits: the bits after the last are zero.
    """

    low: int
    high: int
    width: int = 0
    marks: int = 0

    @staticmethod
    def of_marks(count: int) -> Column:
        """A row of bytes with ``count`` single bits."""
        return Column(0, 255, -(-count // 8), count)

    @property
    def dtype(self) -> np.dtype[Any]:
        return np.promote_types(np.min_scalar_type(self.low), np.min_scalar_type(self.high))

    def read(self, values: Any, name: str) -> npt.NDArray[Any]:
        """An array of this column, from numbers, from text, or from the bytes of each row; what cannot be one is refused."""
        try:
            if not isinstance(values, np.ndarray | list | tuple):
                raise TypeError(type(values))
            found = self._rows(values) if self.width else _whole(values)
            if found.dtype.kind not in "iuO" or found.ndim != 1 + bool(self.width):
                raise TypeError(found.dtype)
            if self.width and found.shape[1] != self.width:
                raise ValueError(found.shape)
            inside = not found.size or (self.low <= found.min() and found.max() <= self.high)
            if inside and self.marks % 8 and (found[:, -1] >> (self.marks % 8)).any():
                raise ValueError("a bit after the last")
        except (TypeError, ValueError, OverflowError) as problem:
            raise UnsupportedFormat(
                f"the column {name!r} of a report must hold {self._words}, got {values!r:.60}"
            ) from problem
        if not inside:
            raise UnsupportedFormat(f"the column {name!r} of a report lies between {self.low} and {self.high}; one does not")
        return found.astype(self.dtype)

    @property
    def _words(self) -> str:
        one = f"rows of {self.marks} bits" if self.marks else f"rows of {self.width} whole numbers"
        return one if self.width else "whole numbers"

    def _rows(self, values: Any) -> npt.NDArray[Any]:
        if isinstance(values, np.ndarray) and values.dtype != object:
            return values
        text, kind = set(map(type, values)) == {str}, self.dtype
        size = self.width * kind.itemsize
        # Every row by itself: one that is too long must not make up for one that is too short.
        if set(map(len, values)) - {2 * size if text else size}:
            raise ValueError("a row of another length")
        raw = bytes.fromhex("".join(values)) if text else b"".join(values)
        return np.frombuffer(raw, kind.newbyteorder("<")).reshape(len(values), self.width)

    def rows_as_bytes(self, values: npt.NDArray[Any]) -> list[bytes]:
        """Each row as its bytes, lowest first: what JSON writes in hexadecimal and Arrow as it is."""
        return [row.tobytes() for row in values.astype(self.dtype.newbyteorder("<"))]


def _whole(values: Any) -> npt.NDArray[Any]:
    """An array of whole numbers as it is; a list, or text from a file, number by number, so that none becomes a double."""
    if isinstance(values, np.ndarray) and values.dtype.kind in "iu":
        return values
    kinds = set(map(type, values))
    if kinds & {bool, np.bool_}:
        raise TypeError("a truth value")
    return np.array(values if kinds == {int} else list(map(int if kinds == {str} else _number, values)), object)


def _number(value: Any) -> int:
    """One whole number. Spark has no unsigned 64 bits and hands them over as decimals."""
    if isinstance(value, Decimal) and value != value.to_integral_value():
        raise ValueError(value)
    return int(value) if isinstance(value, str | Decimal) else operator.index(value)


def _names(people: Any) -> npt.NDArray[Any]:
    if not isinstance(people, list) or any(type(p) not in (str, int) for p in people):
        raise UnsupportedFormat(f"people must be a list of names or whole numbers, got {people!r:.60}")
    # As they are: numbers beyond 64 bits, or names beside numbers, must not become something else.
    made = np.array(people if len({type(p) for p in people}) == 1 else [])
    return made if made.dtype.kind in "iU" else np.array(people, object)


def fingerprint(mechanism: LocalMechanism) -> str:
    """A short word for a law and all its parameters, to be repeated on every row of a table."""
    text = json.dumps(mechanism.to_dict(), sort_keys=True)
    return f"{mechanism.name}-{blake2b(text.encode(), digest_size=8).hexdigest()}"


@dataclass(frozen=True, eq=False)
class Reports:
    """Reports of one law, one row for each person.

    ``people`` are names or pseudonyms by which the server sees that nobody is counted twice; they are no secret and
    may be left out. ``private`` is false where a test seed made any of them.
    """

    mechanism: LocalMechanism
    columns: Columns
    people: npt.NDArray[Any] | None = None
    private: bool = True

    def __post_init__(self) -> None:
        wanted = self.mechanism.columns
        if set(self.columns) != set(wanted):
            raise UnsupportedFormat(
                f"a report of {self.mechanism.name} has the columns {list(wanted)}, got {list(self.columns)}"
            )
        read = {name: column.read(self.columns[name], name) for name, column in wanted.items()}
        sizes = {len(values) for values in read.values()} | ({len(self.people)} if self.people is not None else set())
        if len(sizes) > 1:
            raise UnsupportedFormat(f"the columns of reports must be equally long, got lengths {sorted(sizes)}")
        object.__setattr__(self, "columns", read)
        self.mechanism.check(read)

    @staticmethod
    def fresh(mechanism: LocalMechanism, columns: Columns, private: bool) -> Reports:
        """What a client half has just drawn: the one way around the checks, which are for what comes from elsewhere."""
        made = object.__new__(Reports)
        wanted = mechanism.columns
        typed = {name: values.astype(wanted[name].dtype, copy=False) for name, values in columns.items()}
        for name, value in (("mechanism", mechanism), ("columns", typed), ("people", None), ("private", private)):
            object.__setattr__(made, name, value)
        return made

    def __len__(self) -> int:
        return len(next(iter(self.columns.values())))

    def named(self, people: Iterable[Any]) -> Reports:
        """The same reports with the people who sent them."""
        return replace(self, people=_names([p.item() if isinstance(p, np.generic) else p for p in people]))

    def first_of_each(self) -> Reports:
        """The first report of every person: the rule for those who sent several. Their further reports spent more."""
        if self.people is None:
            raise InvalidRequest("telling people apart needs their names; add them with named(people)")
        seen: dict[Any, int] = {}
        for i, person in enumerate(self.people.tolist()):
            seen.setdefault(person, i)
        first = np.array(list(seen.values()))
        return replace(self, columns={k: v[first] for k, v in self.columns.items()}, people=self.people[first])

    @staticmethod
    def join(parts: Iterable[Reports]) -> Reports:
        """Several as one; all must come from the same law."""
        found = list(parts)
        if not found:
            raise InvalidRequest("there must be at least one report, got none")
        law = found[0].mechanism
        for part in found:
            law.require(part.mechanism)
        named = {part.people is not None for part in found}
        if len(named) > 1:
            raise InvalidRequest("some reports name their person and others do not; name all or none")
        lists = [p.people for p in found if p.people is not None]
        if len({names.dtype.kind for names in lists}) > 1:
            lists = [names.astype(object) for names in lists]
        people = np.concatenate(lists) if lists else None
        columns = {name: np.concatenate([p.columns[name] for p in found]) for name in law.columns}
        return Reports(law, columns, people, all(p.private for p in found))

    def to_dict(self) -> dict[str, Any]:
        wanted = self.mechanism.columns
        columns = {
            name: [row.hex() for row in wanted[name].rows_as_bytes(values)] if wanted[name].width else values.tolist()
            for name, values in self.columns.items()
        }
        people = {} if self.people is None else {"people": self.people.tolist()}
        head = {"kind": KIND, "schema": SCHEMA_VERSION, "mechanism": self.mechanism.to_dict(), "private": self.private}
        return head | {"columns": columns} | people

    def to_json(self) -> str:
        return json.dumps(self.to_dict(), separators=(",", ":"))

    @staticmethod
    def from_json(text: str | bytes) -> Reports:
        """Reports from ``to_json``; anything else is refused."""
        from discreet.local.law import local_mechanisms

        try:
            doc = json.loads(text)
        except (ValueError, RecursionError) as problem:
            raise UnsupportedFormat(f"reports must be JSON, got {text!r:.60}") from problem
        check_version(doc, KIND)
        law = local_mechanisms.read(doc.get("mechanism"))
        if not isinstance(doc.get("columns"), dict):
            raise UnsupportedFormat("reports need an object of columns, got none")
        people = None if doc.get("people") is None else _names(doc["people"])
        return Reports(law, doc["columns"], people, doc.get("private") is True)

    def to_arrow(self, *, text: bool = False) -> Any:
        """An Arrow table: the columns, the law's fingerprint on every row, the people if named; the law in the metadata.

        With ``text``, rows of numbers are written in hexadecimal: a CSV file can hold that.
        """
        import pyarrow as pa

        wanted = self.mechanism.columns
        arrays = {}
        for name, values in self.columns.items():
            rows = wanted[name].rows_as_bytes(values) if wanted[name].width else values
            arrays[name] = pa.array([row.hex() for row in rows] if text and wanted[name].width else rows)
        word = pa.repeat(fingerprint(self.mechanism) + ("" if self.private else _SEEDED), len(self))
        people = {} if self.people is None else {PERSON: pa.array(self.people.tolist())}
        table = pa.table(arrays | {LAW: word} | people)
        facts = {"kind": KIND, "schema": SCHEMA_VERSION, "mechanism": self.mechanism.to_dict(), "private": self.private}
        return table.replace_schema_metadata({"discreet": json.dumps(facts)})

    @staticmethod
    def from_arrow(table: Any, mechanism: LocalMechanism | None = None) -> Reports:
        """From ``to_arrow``. Without its metadata (a file of another kind, a stream) the law must be given."""
        from discreet.local.law import local_mechanisms

        stored = (table.schema.metadata or {}).get(b"discreet")
        private = True
        if stored is not None:
            try:
                facts = json.loads(stored)
            except (ValueError, RecursionError) as problem:
                raise UnsupportedFormat(f"the metadata of a table of reports must be JSON, got {stored!r:.60}") from problem
            check_version(facts, KIND)
            said = local_mechanisms.read(facts.get("mechanism"))
            (mechanism or said).require(said)
            mechanism, private = said, facts.get("private") is True
        if mechanism is None:
            raise UnsupportedFormat("the table does not say which law made its reports; pass mechanism=")
        missing = {LAW, *mechanism.columns} - set(table.schema.names)
        if missing:
            raise UnsupportedFormat(
                f"a table of {mechanism.name} reports needs the columns {sorted(missing)}; they are not there"
            )
        words, own = set(table[LAW].unique().to_pylist()), fingerprint(mechanism)
        if words - {own, own + _SEEDED}:
            raise InvalidRequest(
                f"reports must come from {own}, got {sorted(map(str, words))[:3]}; estimate each law by itself"
            )
        columns = {
            name: table[name].to_pylist() if column.width else table[name].to_numpy()
            for name, column in mechanism.columns.items()
        }
        people = _names(table[PERSON].to_pylist()) if PERSON in table.schema.names else None
        return Reports(mechanism, columns, people, private and own + _SEEDED not in words)
