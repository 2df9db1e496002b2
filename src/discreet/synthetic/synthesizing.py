"""From a declaration and a price to synthetic tables: what is checked before anything is paid, and what is asked then."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from discreet.core.price import Price
from discreet.core.runner import Procedure
from discreet.core.schema import Schema
from discreet.core.text import Text
from discreet.errors import InvalidRequest
from discreet.synthetic.decoding import RecordWriter, check_possible, modelled
from discreet.synthetic.domain import Bins, column_names, domain_of
from discreet.synthetic.measurement import total
from discreet.synthetic.measuring import Workload, measuring, paid_for, read
from discreet.synthetic.tables import MOST_ROWS, TABLES, Synthetic, check_numbers


@dataclass(frozen=True, eq=False)
class SynthesisRequest:
    """Synthetic tables as they are asked for; everything about it is checked when it is made, and nothing is looked at.

    ``columns`` (all that are declared, but for text), ``bins`` of numbers and dates, ``rows`` of a table, the number of
    ``tables``, conditions that are ``impossible``, and the ``workload``: sets of columns that are to be right together.
    """

    schema: Schema
    columns: Sequence[str] | None = None
    bins: Bins | None = None
    rows: int | None = None
    tables: int = TABLES
    impossible: Sequence[str] = ()
    workload: Sequence[Sequence[str]] = ()
    public_rows: int | None = None

    def __post_init__(self) -> None:
        check_numbers(self.rows, self.tables)
        for name, given in (("impossible", self.impossible), ("workload", self.workload)):
            if isinstance(given, str) or not isinstance(given, Sequence):
                raise InvalidRequest(f"{name} must be a list, got {given!r}", key=name)
        if any(isinstance(each, str) or not isinstance(each, Sequence) or not each for each in self.workload):
            raise InvalidRequest(f"workload must be a list of lists of columns, got {list(self.workload)!r}", key="workload")
        self.prepared()

    @property
    def names(self) -> list[str]:
        """The columns of the tables."""
        if self.columns is not None:
            return column_names(self.columns)
        return [name for name, column in self.schema.columns.items() if not isinstance(column, Text)]

    def prepared(self) -> tuple[Workload, RecordWriter]:
        """What is measured, and how it is written; refuses what is too large, has no bins or leaves no record."""
        names = self.names
        domain = domain_of(self.schema, modelled(self.schema, names), self.bins)
        design = Workload(domain, tuple(domain.places(each, self.schema) for each in self.workload))
        writer = RecordWriter(self.schema, domain, tuple(names), tuple(self.impossible))
        check_possible(writer)
        return design, writer

    def procedure(self, price: Price) -> Procedure[Synthetic]:
        """Measure, and make what the tables are made of."""
        design, writer = self.prepared()
        releases = yield from measuring(design, price, self.schema.neighbors)
        found = tuple(read(design.domain, releases))
        rows = self.rows
        if rows is None:
            rows = self.public_rows or min(MOST_ROWS, max(1, round(total(found))))
        private = all(release.private for release in releases)
        return Synthetic(writer, found, paid_for(price), rows, self.tables, self.public_rows, private)


def asked(**given: Any) -> SynthesisRequest:
    """A request from keywords; those that are None are left at their defaults."""
    return SynthesisRequest(**{name: value for name, value in given.items() if value is not None})
