"""What an expression is once it was read: a tree of operations in one canonical form, and the text of it.

Two spellings of one expression have one tree: spaces, brackets and quotes are gone, a constant stands on the right of a
comparison, ``not`` stands before leaves only, the members of ``and``, ``or``, ``+``, ``*`` and of a list are in order.
"""

from __future__ import annotations

import keyword
import unicodedata
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from discreet.expressions.calendar import written, written_time

Kind = Literal["number", "truth", "label", "text", "date", "datetime", "word"]
NUMBERS: tuple[Kind, ...] = ("number", "date", "datetime")  # kinds that are held as doubles
COMPARED = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "==": "==", "!=": "!="}  # as seen from the other side
NEGATED = {"<": ">=", "<=": ">", ">": "<=", ">=": "<", "==": "!=", "!=": "==", "in": "not in", "not in": "in"}
INFIX = (*COMPARED, "+", "-", "*", "/", "//", "%", "**")
_OF_DATES = {"days": "-", "shift": "+"}  # how differences and sums of dates are written


@dataclass(frozen=True)
class KnownColumn:
    """What an expression may know of a column: its kind; of categories their labels and the code of every spelling.

    With ``folded`` letter case and spaces around a spelling do not matter.
    """

    kind: Kind
    labels: tuple[str, ...] = ()
    lookup: Mapping[str, int] = field(default_factory=dict, hash=False)
    folded: bool = False


@dataclass(frozen=True)
class Node:
    """An operation on others. ``value`` is what it holds besides: a constant, a name, the members of a list."""

    op: str
    kind: Kind
    args: tuple[Node, ...] = ()
    value: Any = None
    labels: tuple[str, ...] = ()

    @property
    def is_constant(self) -> bool:
        """Whether it is a number, a word, a date or a truth that is written down."""
        return self.op == "constant"

    def __iter__(self) -> Iterator[Node]:
        """The node itself and everything below it."""
        yield self
        for each in self.args:
            yield from each

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns it reads, each once, in order."""
        return tuple(sorted({node.value for node in self if node.op == "column"}))

    def __str__(self) -> str:
        return text(self)


def number(value: float) -> Node:
    """A number that is written down."""
    return Node("constant", "number", value=float(value) + 0.0)


def truth(value: bool) -> Node:
    """True or false."""
    return Node("constant", "truth", value=value)


def text(node: Node) -> str:
    """The canonical text of an expression; reading it gives the same tree."""
    if node.is_constant:
        return _constant(node)
    if node.op == "column":
        return _name(node.value)
    inner = [_bracketed(each) for each in node.args]
    if node.op in ("in", "not in"):
        return _within(node, inner[0])
    if node.op in ("and", "or"):
        return f" {node.op} ".join(inner)
    if node.op == "not":
        return f"not {inner[0]}"
    if node.op == "if":
        return f"{inner[1]} if {inner[0]} else {inner[2]}"
    if node.op == "negative":
        return f"-{inner[0]}"
    if node.op in (*INFIX, *_OF_DATES):
        return f"{inner[0]} {_OF_DATES.get(node.op, node.op)} {inner[1]}"
    words = [text(each) for each in node.args]
    if node.op == "bins":
        edges = [_constant(Node("constant", node.args[0].kind, value=edge)) for edge in node.value[0]]
        words.append(f"[{', '.join(edges)}]")
        words += [repr(list(node.value[1]))] if node.value[1] else []
    elif node.value is not None:
        words.append(repr(node.value))
    return f"{node.op}({', '.join(words)})"


def _bracketed(node: Node) -> str:
    bare = (*INFIX, *_OF_DATES, "in", "not in", "and", "or", "not", "if", "negative")
    return f"({text(node)})" if node.op in bare else text(node)


def _within(node: Node, inner: str) -> str:
    members = [text(Node("constant", node.args[0].kind, value=v)) if node.args[0].kind in NUMBERS else repr(v)
               for v in node.value]  # fmt: skip
    if len(members) == 1:
        return f"{inner} {'==' if node.op == 'in' else '!='} {members[0]}"
    return f"{inner} {node.op} [{', '.join(members)}]"


def _constant(node: Node) -> str:
    if node.kind == "number":
        return _digits(node.value)
    if node.kind == "date":
        return f"date('{written(node.value)}')"
    if node.kind == "datetime":
        return f"datetime('{written_time(node.value)}')"
    return repr(node.value)


def _digits(value: float) -> str:
    return str(int(value)) if value == int(value) and abs(value) < 2**53 else repr(value)


def _name(name: str) -> str:
    plain = name.isidentifier() and not keyword.iskeyword(name) and unicodedata.normalize("NFKC", name) == name
    return name if plain else f"column({name!r})"
