"""Synthetic tables with the law of their noise: one to look at, several to conclude from, and a document that makes both."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from discreet.core import whole_files
from discreet.core.codec import read_as, written
from discreet.core.cost import Cost
from discreet.core.documents import parsed, reading
from discreet.core.registry import SCHEMA_VERSION, check_version
from discreet.core.release import Release
from discreet.core.schema import Categories, Schema
from discreet.errors import InvalidRequest
from discreet.synthetic.combining import Combined, combined
from discreet.synthetic.decoding import RecordWriter
from discreet.synthetic.distances import Apart, distances
from discreet.synthetic.domain import Attribute, Domain
from discreet.synthetic.measurement import Measurement, measured, total
from discreet.synthetic.model import Model, fitted
from discreet.synthetic.pair_tree import Codes
from discreet.synthetic.pictures import columns
from discreet.synthetic.public_stream import Stream, seed_of

TABLES = 50  # how many tables conclusions are drawn from
MOST_ROWS, MOST_TABLES = 1 << 26, 1000
_RECORDS_AGAIN = 20_000  # of each of them
_LONGER, _MOST_LONGER = 5, 1 << 22  # rows of the tables that are analysed, times those of the one
_SECOND = 1 << 10  # streams of the several tables lie beyond those of the one
USE = (
    "This table is synthetic: no row is a person's. It was drawn from a distribution fitted to noisy counts. It may be "
    "looked at, used to write and try programs, and to see shapes. Analysed as if it were real it gives intervals that are "
    "too short and rejects true hypotheses too often: for conclusions use the several tables that its document makes, with "
    "their combining rules (analyse). Relations among columns that were not measured together are guesses of the model."
)


@dataclass(frozen=True, eq=False)
class Synthetic:
    """Synthetic tables made from released counts.

    ``table`` fits the counts as well as can be; ``tables`` are draws that vary as the noise and the sample do, and
    ``analyse`` combines what a function finds in each of them. All are made of what was released, cost nothing more, and
    are the same for the same releases. ``rows`` of each follow from the noisy counts where they are not given.
    """

    writer: RecordWriter
    measurements: tuple[Measurement, ...]
    cost: Cost
    rows: int
    count: int = TABLES
    public_rows: int | None = None
    private: bool = True

    @property
    def domain(self) -> Domain:
        """The columns and their levels."""
        return self.writer.domain

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns of the tables."""
        return self.writer.columns

    @property
    def releases(self) -> tuple[Release, ...]:
        """What the tables are made of."""
        return tuple(m.release for m in self.measurements)

    @property
    def measured_together(self) -> list[tuple[str, ...]]:
        """The sets of columns that were measured, the largest first."""
        found = dict.fromkeys(tuple(self.domain.names[i] for i in m.places) for m in self.measurements if m.places)
        return sorted(found, key=lambda names: -len(names))

    @cached_property
    def model(self) -> Model:
        """The distribution that fits the released counts."""
        return fitted(
            self.domain.sizes, self.measurements, self._total(self.measurements), Stream(self._seed), self.writer.possible
        )

    @cached_property
    def table(self) -> pa.Table:
        """One table that fits the released counts as well as can be; not for intervals or tests."""
        stream = Stream(self._seed, 1)
        return self._marked(self.writer.table(self.model.even_rows(self.rows, stream), stream))

    @cached_property
    def tables(self) -> list[pa.Table]:
        """Tables that vary as the noise and the sample do: for conclusions, by the combining rules."""
        return [self._marked(self.writer.table(*self._drawn(number, self.rows))) for number in range(self.count)]

    def analyse(self, function: Callable[[Mapping[str, npt.NDArray[Any]]], Any]) -> Combined:
        """What ``function`` finds in each of the tables, combined: estimates with intervals and p-values that hold.

        It is given a mapping from columns to NumPy arrays (labels as objects, None where missing; numbers as doubles, NaN
        where missing; dates and times in days and seconds since 1970) and returns an estimate, or better an estimate and the
        variance that it would have if the rows were real: numbers, arrays, or dicts. ``discreet.synthetic`` has ``mean``,
        ``share``, ``difference`` and ``regression``. The tables it is given have five times the rows of ``tables``: what the
        drawing of rows adds is taken off again by the combining rules, and the less it is the shorter intervals are.
        """
        answers, used, rows = [], set(), min(_MOST_LONGER, _LONGER * self.rows)
        for number in range(self.count):
            seen = TrackedColumns(self.writer.values(*self._drawn(number, rows)), self._labels)
            answers.append(function(seen))
            used |= seen.used
        return combined(answers, rows / self._total(self.measurements), self._note(used))

    def levels(self, attribute: Attribute) -> tuple[str, ...]:
        """The levels of a column in words."""
        return attribute.labels(self.writer.schema[attribute.name])

    def distances(self) -> list[Apart]:
        """How far the model is from each measured table, and at most from the real one; nothing is looked at again."""
        return distances(self.domain.names, self.domain.sizes, self.model, self.measurements)

    def frame(self, backend: str = "pandas") -> Any:
        """``table`` as a data frame of "pandas" or "polars"."""
        if backend == "pandas":
            return self.table.to_pandas()
        if backend == "polars":
            import polars

            return polars.from_arrow(self.table)
        raise InvalidRequest(f"backend must be 'pandas' or 'polars', got {backend!r}")

    def to_csv(self, path: str | Path, number: int | None = None) -> None:
        """Write ``table``, or one of ``tables`` by its number, as CSV; an empty cell is a missing value."""
        from pyarrow import csv

        with whole_files.replacing(path) as beside:
            csv.write_csv(self._picked(number), beside)

    def to_parquet(self, path: str | Path, number: int | None = None) -> None:
        """Write ``table``, or one of ``tables``, as Parquet; its metadata say how it may be used."""
        from pyarrow import parquet

        with whole_files.replacing(path) as beside:
            parquet.write_table(self._picked(number), beside)

    def plot(self, axes: Any = None) -> Any:
        """Every column's counts as they were measured, with their error, beside those of the table."""
        return columns(self, axes)

    def to_json(self) -> str:
        """Everything that the tables are made of, and how they may be used, as one JSON document."""
        return json.dumps(self.to_dict(), indent=1, allow_nan=False)

    def to_dict(self) -> dict[str, Any]:
        return {
            "kind": "synthetic",
            "schema": SCHEMA_VERSION,
            "use": USE,
            "declared": self.writer.schema.to_dict(),
            "columns": list(self.columns),
            "impossible": list(self.writer.impossible),
            "rows": self.rows,
            "public_rows": self.public_rows,
            "tables": self.count,
            "person_rows": self.domain.rows,
            "attributes": [written(a) for a in self.domain.attributes],
            "cost": self.cost.to_dict(),
            "private": self.private,
            "measurements": [
                {
                    "columns": [self.domain.names[i] for i in m.places],
                    "maps": [None if each is None else each.tolist() for each in m.maps],
                    "release": m.release.to_dict(),
                }
                for m in self.measurements
            ],
        }

    @staticmethod
    def from_json(text: str) -> Synthetic:
        """The tables that a document describes: the same as those it was written for."""
        doc = parsed(text)
        check_version(doc, "synthetic")
        with reading("synthetic tables"):
            return _read(doc)

    def __repr__(self) -> str:
        mark = "" if self.private else ", not private"
        return f"Synthetic({self.rows} rows of {', '.join(self.columns)}; {self.count} tables; cost: {self.cost}{mark})"

    @cached_property
    def _seed(self) -> int:
        return seed_of(m.value for m in self.measurements)

    @property
    def _labels(self) -> dict[str, tuple[Any, ...]]:
        found = {name: self.writer.schema[name] for name in self.columns}
        return {name: declared.labels for name, declared in found.items() if isinstance(declared, Categories)}

    def _total(self, measurements: Any) -> float:
        """How many rows the real table has: what is public, or else told by the noisy counts."""
        if self.public_rows is not None:
            return float(self.public_rows)
        known = total(measurements)
        return float(self.rows) if math.isnan(known) else known

    def _drawn(self, number: int, rows: int) -> tuple[Codes, Stream]:
        """The records of one of the tables: a population that the people may have come from, and rows drawn from it.

        Of people with several rows each person counts as one row there, which can only make intervals longer.
        """
        stream, model = Stream(self._seed, _SECOND + self.count + number), self._again[number]
        return model.sampled_rows(rows, model.rows / self.domain.rows, stream), stream

    @cached_property
    def _again(self) -> list[Model]:
        """The models of the tables: noise added once more, and fitted again.

        With y the released counts and x the true ones, y + fresh noise fitted again varies about the fit of y as the fit of
        y does about that of x; the Dirichlet shares of ``_drawn`` add who was in the table.
        """
        made = []
        for number in range(self.count):
            stream = Stream(self._seed, _SECOND + number)
            again = [m.again(stream.random) for m in self.measurements]
            rows = self._total(again)
            made.append(fitted(self.domain.sizes, again, rows, stream, self.writer.possible, _RECORDS_AGAIN))
        return made

    def _picked(self, number: int | None) -> pa.Table:
        if number is None:
            return self.table
        if not 0 <= number < self.count:
            raise InvalidRequest(f"number must be one of 0 to {self.count - 1}, got {number}")
        return self.tables[number]

    def _marked(self, table: pa.Table) -> pa.Table:
        """The table with how it may be used in its metadata."""
        return table.replace_schema_metadata({"discreet": USE, "cost": str(self.cost)})

    def _note(self, used: set[str]) -> str | None:
        """A word where a function read columns that were not all measured together."""
        inputs = {each for name in used for each in self._inputs(name)}
        if len(inputs) < 2 or any(inputs <= {*names} for names in self.measured_together):
            return None
        pairs = {frozenset(pair) for names in self.measured_together for pair in _pairs(names)}
        if all(frozenset(pair) in pairs for pair in _pairs(sorted(inputs))):
            return f"{', '.join(sorted(inputs))} were measured in pairs, not all together; intervals rest on those"
        return f"{', '.join(sorted(inputs))} were not all measured together; intervals hold only if the model is right"

    def _inputs(self, name: str) -> list[str]:
        known = self.writer.schema.name_of(name)
        return [known] if known in self.domain.names else self.writer.schema.derivation.inputs(known)


def check_numbers(rows: Any, tables: Any) -> None:
    """Refuse numbers of rows and of tables that cannot be made; None is the default."""
    for name, value, least, most in (("rows", rows, 1, MOST_ROWS), ("tables", tables, 2, MOST_TABLES)):
        if value is not None and (isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most):
            raise InvalidRequest(f"{name} must be a whole number from {least} to {most}, got {value!r}", key=name)


class TrackedColumns(Mapping[str, npt.NDArray[Any]]):
    """A table as NumPy arrays by column, which remembers the columns that were read; ``labels`` are the declared ones."""

    def __init__(self, values: Mapping[str, npt.NDArray[Any]], labels: Mapping[str, tuple[Any, ...]]) -> None:
        self._values, self.labels, self.used = values, labels, set[str]()

    def __getitem__(self, name: str) -> npt.NDArray[Any]:
        if name not in self._values:
            raise InvalidRequest(f"the synthetic table has no column {name!r}; it has {', '.join(self._values)}")
        self.used.add(name)
        return self._values[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)


def _pairs(names: Any) -> list[tuple[str, str]]:
    return [(a, b) for i, a in enumerate(names) for b in names[i + 1 :]]


def _read(doc: Any) -> Synthetic:
    domain = Domain(tuple(read_as(Attribute, each) for each in doc["attributes"]), int(doc["person_rows"]))
    schema = Schema.from_dict(doc["declared"])
    writer = RecordWriter(schema, domain, tuple(doc["columns"]), tuple(doc["impossible"]))
    found = []
    for each in doc["measurements"]:
        release = Release.from_dict(each["release"])
        places = tuple(domain.names.index(name) for name in each["columns"])
        maps = tuple(None if one is None else np.asarray(one, np.float64) for one in each["maps"])
        shape = [domain.sizes[i] if one is None else len(one) for i, one in zip(places, maps, strict=True)]
        found.append(measured(release, places, maps, shape))
    rows, count = int(doc["rows"]), int(doc["tables"])
    public = None if doc["public_rows"] is None else int(doc["public_rows"])
    cost = Cost.from_dict(doc["cost"])
    return Synthetic(writer, tuple(found), cost, rows, count, public, doc["private"] is True)
