"""The public facts about a table: declared by a person, never read off the data.

A ``Schema`` says what each column may hold, what a missing value becomes, who is one person, how many rows a person
keeps, and which tables are neighbours. Whatever breaks a declaration is refused here, before any record is looked at.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from functools import cached_property
from numbers import Integral
from pathlib import Path
from typing import Any, TypeAlias

from discreet.core import schema_file, toml
from discreet.core.bounded import Integer, Real
from discreet.core.categories import Categories
from discreet.core.derived import Derivation
from discreet.core.dialect import Dialect
from discreet.core.labels import closest
from discreet.core.query import Relation, check_relation
from discreet.errors import InvalidRequest, UnknownName
from discreet.expressions import read as read_expression

__all__ = ["Categories", "Column", "Integer", "Real", "Schema"]

Column: TypeAlias = Real | Integer | Categories


_DECLARATIONS = (Real, Integer, Categories)
_ROWS = 1 << 50  # more than any table has, and few enough for doubles


@dataclass(frozen=True)
class Schema:
    """The declared columns, who is one person, and which tables are neighbours.

    ``person`` names the id column and ``max_rows`` the most rows of one person that count. ``expected_rows`` is a
    public guess of the number of rows, for planning only. ``population`` is a name for the people in the table: a ledger
    takes the first one it is told, and refuses questions about another. ``dialect`` says how cells are written; in TOML and
    JSON its keys (``delimiter``, ``decimal``, ``thousands``, ``encoding``, ``quote``, ``missing``) are keys of the schema.
    """

    columns: Mapping[str, Column]
    person: str | None = None
    max_rows: int | None = None
    neighbors: Relation = "add_remove"
    expected_rows: int | None = None
    population: str | None = None
    dialect: Dialect = field(default_factory=Dialect)
    derivation: Derivation = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if not isinstance(self.columns, Mapping):
            raise InvalidRequest(f"columns must map names to declarations, got {self.columns!r}", key="columns")
        object.__setattr__(self, "columns", dict(self.columns))
        check_relation(self.neighbors)
        object.__setattr__(self, "dialect", Dialect.of(self.dialect))
        for name, column in self.columns.items():
            if not isinstance(name, str) or not name:
                raise InvalidRequest(f"a column name must be text, got {name!r}; rename the column", key="columns")
            if not isinstance(column, _DECLARATIONS):
                raise InvalidRequest(
                    f"column {name!r} must be a Real, Integer, Categories or Date, got {column!r}", column=name
                )
            if column.missing == "drop" and self.neighbors == "replace":
                raise InvalidRequest(
                    f"column {name!r}: missing='drop' must not be used under neighbors='replace', where the number of "
                    "rows is public; declare the value that a missing one becomes",
                    key="missing",
                    column=name,
                )
            if isinstance(column, Categories) and column.formula is None:
                self._check_words(name, column)
        if self.person is not None and (not isinstance(self.person, str) or not self.person):
            raise InvalidRequest(f"person must be the name of the id column, got {self.person!r}", key="person")
        if self.population is not None and (not isinstance(self.population, str) or not self.population):
            raise InvalidRequest(
                f"population must be a name for the people in the table, got {self.population!r}", key="population"
            )
        if (self.person is None) != (self.max_rows is None):
            raise InvalidRequest(
                f"person and max_rows must be given together, got person={self.person!r} and "
                f"max_rows={self.max_rows!r}; declare both or neither",
                key="person",
            )
        for rule in ("max_rows", "expected_rows"):
            value = getattr(self, rule)
            if value is not None and (
                isinstance(value, bool) or not isinstance(value, Integral) or not 1 <= int(value) <= _ROWS
            ):
                raise InvalidRequest(
                    f"{rule} must be a whole number of at least 1 and at most 2^50, got {value!r:.40}", key=rule
                )
            if value is not None:
                object.__setattr__(self, rule, int(value))  # a NumPy integer would not go into JSON
        derivation = Derivation(self.columns, self.person)
        object.__setattr__(self, "columns", derivation.canonical())
        object.__setattr__(self, "derivation", derivation)

    def _check_words(self, name: str, column: Categories) -> None:
        """Refuse a label that the dialect reads as a missing value: nobody would ever have it."""
        spelt = {text.strip() for text in (*column.lookup(), *(a for each in column.aliases.values() for a in each))}
        if both := sorted(spelt.intersection(self.dialect.missing)):
            raise InvalidRequest(
                f"column {name!r}: {both[0]!r} must not be a label and a word for a missing value; remove one of them",
                key="missing",
                column=name,
            )

    def __getitem__(self, name: str) -> Column:
        """The declaration of a column; an expression whose labels are public by themselves stands for one."""
        if isinstance(name, str) and name in self.columns:
            if self.columns[name].type == "text":
                raise InvalidRequest(
                    f"column {name!r} holds text, which can only be matched; write where=\"contains({name}, '...')\""
                )
            return self.columns[name]
        node = self.derivation.of_text(name) if isinstance(name, str) else None
        if node is None:
            raise UnknownName(f"no column is declared as {name!r}{closest(str(name), self.columns)}")
        return Categories((True, False) if node.kind == "truth" else node.labels, formula=str(node))

    def name_of(self, name: str) -> str:
        """A column's name; the canonical text of an expression that stands for one."""
        formula = None if name in self.columns else self[name].formula
        return name if formula is None else formula

    def condition(self, text: str) -> dict[str, bool]:
        """What a filter that is an expression asks for, as a filter by labels: the expression is true."""
        node = read_expression(text, self.derivation.known)
        if node.kind != "truth" or node.is_constant:
            raise InvalidRequest(f"where must be a condition such as 'age >= 60', got {text!r}, which is a {node.kind}")
        return {str(node): True}

    @cached_property
    def as_json(self) -> str:
        """All of it as one line of JSON, the same for equal schemas; written once, as every version of a table needs it."""
        return json.dumps(self.to_dict(), sort_keys=True)

    @property
    def stored(self) -> list[str]:
        """The declared columns that a table has to have: those without a formula."""
        return [name for name, column in self.columns.items() if column.formula is None]

    def to_dict(self) -> dict[str, Any]:
        """What JSON and TOML hold; ``from_dict`` reads it back."""
        facts = {f.name: getattr(self, f.name) for f in fields(self) if f.name not in ("columns", "dialect", "derivation")}
        columns = {name: column.to_dict() for name, column in self.columns.items()}
        return {k: v for k, v in facts.items() if v is not None} | self.dialect.to_dict() | {"columns": columns}

    @classmethod
    def from_dict(cls, doc: Any, place: toml.Place = lambda *key: "schema: ") -> Schema:
        """From what ``to_dict`` gives; refuses unknown keys and wrong types, with the ``place`` of the key before it."""
        return schema_file.read(cls, doc, place)

    def to_toml(self) -> str:
        """The schema as a TOML document; ``from_toml`` reads it back."""
        return schema_file.written(self.to_dict())

    @classmethod
    def from_toml(cls, source: str | Path) -> Schema:
        """From a TOML file, or from its text; every refusal says the file and the line."""
        if isinstance(source, Path) or ("\n" not in source and "=" not in source and source.strip()):
            return schema_file.read(cls, *toml.read(source, "schema"))
        return schema_file.read(cls, *toml.parsed(source, "schema"))
