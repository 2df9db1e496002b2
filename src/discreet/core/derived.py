"""Columns that are computed from others: what each is, checked when a schema is declared, and what it reads.

A derived column has a ``formula`` (see ``discreet.expressions``) and, like any other, public bounds or labels. Where labels
are public by themselves, as those of ``bins(age, [0, 18, 65])`` or of ``age >= 65``, an expression may stand for a column.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Mapping
from typing import Any

from discreet.core.labels import closest
from discreet.errors import InvalidRequest, UnknownName
from discreet.expressions import KnownColumn, Node, read

_MOST_TEXTS = 1024  # that are kept: a service reads whatever anyone sends
_KINDS = {"real": ("number",), "integer": ("number",), "category": ("label", "truth"), "boolean": ("truth",),
          "date": ("date",), "datetime": ("datetime",), "duration": ("number",)}  # fmt: skip


class Derivation:
    """The expressions of a schema: of its columns with a formula, and of texts that stand for a column."""

    def __init__(self, columns: Mapping[str, Any], person: str | None) -> None:
        self._columns = columns
        self._person = person
        self._stored = {name for name, column in columns.items() if column.formula is None}
        self._nodes: dict[str, Node] = {}
        self._reading: list[str] = []
        self._texts: dict[str, Node | None] = {}
        self._refused: tuple[str, ...] = ()
        for name, column in columns.items():
            if column.formula is not None:
                self.node(name)

    def refuse(self, *operations: str) -> None:
        """Take no text that uses one of these operations from now on; the formulas of columns may."""
        self._refused, self._texts = operations, {}

    def node(self, name: str) -> Node | None:
        """The expression of a column; None where its cells are stored."""
        if name not in self._columns:
            return self.of_text(name)
        column = self._columns[name]
        if column.formula is None:
            return None
        if name not in self._nodes:
            if name in self._reading:
                raise self._refusal(name, f"formula must not lead back to itself, got {column.formula!r}")
            self._reading.append(name)
            try:
                made = read(column.formula, self.known)
                self._check(name, column, made)
            except (InvalidRequest, UnknownName) as problem:
                if problem.column:
                    raise
                raise type(problem)(f"column {name!r}: formula: {problem}", key="formula", column=name) from None
            finally:
                self._reading.pop()
            self._nodes[name] = made
        return self._nodes[name]

    def of_text(self, text: str) -> Node | None:
        """An expression whose labels are public by themselves; None where the text is a name and no expression."""
        kept = self._texts  # as it is now: another thread may begin a new one
        if text in kept:
            return kept[text]
        node = read(text, self.known) if _is_expression(text) else None
        if node is not None and node.kind not in ("label", "truth"):
            raise InvalidRequest(
                f"expression {text!r} is a {node.kind}; declare a column with that formula and bounds, or use bins()"
            )
        if node is not None and any(each.op in self._refused for each in node):
            raise InvalidRequest(
                f"an expression from afar matches no patterns, got {text!r:.100}",
                remedy="name labels, or declare a column",
            )
        self._texts = {**kept, text: node} if len(kept) < _MOST_TEXTS else {text: node}
        return node

    def known(self, name: str) -> KnownColumn:
        """What an expression may know of a column."""
        if name == self._person:
            raise InvalidRequest(f"an expression must not read the person column {name!r}; name other columns")
        if name not in self._columns:
            meant = f"; did you mean {name.title()}?" if name in ("true", "false") else closest(name, self._columns)
            raise UnknownName(f"an expression names no column {name!r}{meant}")
        self.node(name)
        facts: KnownColumn = self._columns[name].known
        return facts

    def inputs(self, name: str) -> list[str]:
        """The stored columns that a column is computed from, itself where it is stored."""
        node = None if name in self._stored else self.node(name)
        return [name] if node is None else list(dict.fromkeys(each for used in node.columns for each in self.inputs(used)))

    def made_of(self, stored: set[str]) -> list[str]:
        """The columns that can be computed from some stored ones, themselves among them."""
        return [n for n in self._columns if (n in stored if n in self._stored else stored.issuperset(self.inputs(n)))]

    def canonical(self) -> dict[str, Any]:
        """The columns with their formulas in canonical form."""
        made = dict(self._columns)
        for name in made.keys() - self._stored:
            made[name] = copy.copy(made[name])
            object.__setattr__(made[name], "formula", str(self._nodes[name]))
        return made

    def _check(self, name: str, column: Any, node: Node) -> None:
        wanted = _KINDS[column.type]
        if node.kind == "word":
            raise self._refusal(name, f"formula must read a column, got {column.formula!r}")
        if node.kind not in wanted:
            raise self._refusal(name, f"formula must be a {' or '.join(wanted)}, got {str(node)!r}, a {node.kind}")
        if node.kind == "label" and column.other is None:
            lookup = column.lookup()
            strange = next((label for label in node.labels if label not in lookup), None)
            if strange is not None:
                raise self._refusal(name, f"formula may be {strange!r}, which is not declared; add it, or other=")

    @staticmethod
    def _refusal(name: str, rule: str) -> InvalidRequest:
        return InvalidRequest(f"column {name!r}: {rule}", key="formula", column=name)


def _is_expression(text: Any) -> bool:
    """Whether a text that is no column's name is meant as an expression: it has an operator or a call in it."""
    if not isinstance(text, str) or (not any(mark in text for mark in "()<>=!") and " " not in text):
        return False
    try:
        parsed = ast.parse(text.strip(), mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return any(mark in text for mark in "(<>=")
    return not isinstance(parsed, ast.Name | ast.Constant | ast.Attribute)
