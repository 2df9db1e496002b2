"""Whose privacy a ledger counts: one person with so many rows, in a population with a name."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from discreet.core.codec import fields_written, read_as
from discreet.core.documents import reading
from discreet.core.schema import Schema
from discreet.errors import UnsupportedFormat


@dataclass(frozen=True)
class Unit:
    """The person column (None: every row is a person of its own), the most rows of one person, and the population.

    Proof that costs of one unit add up and costs of two do not. A cost bounds what changes with one unit of the table. Sums
    of costs bound it only if every summand speaks of the same change: a question about rows says nothing of a person with
    five of them, whom it may betray five times. So a ledger keeps to one unit.
    """

    person: str | None = None
    max_rows: int = 1
    population: str | None = None

    @staticmethod
    def of(schema: Schema) -> Unit:
        """The unit that a schema declares."""
        return Unit(schema.person, schema.max_rows or 1, schema.population)

    def __str__(self) -> str:
        who = "one row" if self.person is None else f"one {self.person!r} with at most {self.max_rows} rows"
        return who if self.population is None else f"{who} of the population {self.population!r}"

    def to_dict(self) -> dict[str, Any]:
        return fields_written(self)

    @staticmethod
    def from_dict(doc: Any) -> Unit:
        with reading("a unit"):
            unit = read_as(Unit, {name: doc[name] for name in ("person", "max_rows", "population")})
        if unit.max_rows < 1:
            raise UnsupportedFormat(f"a unit has at least 1 row a person, got {unit.max_rows}")
        return unit
