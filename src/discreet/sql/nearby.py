"""Conditions near one that cannot be asked, nearest first: said plainer, or without the part that cannot be asked."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING

from discreet.core.labels import canonical
from discreet.core.schema import Categories, Schema

if TYPE_CHECKING:
    from sqlglot import exp


_LIKE = {"ILike", "SimilarTo"}
_MATCHED = {"RegexpLike", "RegexpILike", "Glob"}
_COMPARED = {"EQ", "NEQ", "GT", "GTE", "LT", "LTE"}


def nearby(condition: exp.Expr, schema: Schema, is_asked: Callable[[str], bool]) -> list[str]:
    """Conditions in SQL that say nearly the same. ``is_asked`` tells of one whether it can be asked."""
    from sqlglot import exp

    plainer = condition.copy().transform(lambda node: _plainer(node, schema))
    parts = list(plainer.flatten()) if isinstance(plainer, exp.And) else [plainer]
    kept = [each.sql() for each in parts if is_asked(each.sql())]
    return [each for each in (plainer.sql(), " AND ".join(kept)) if each]


def _plainer(node: exp.Expr, schema: Schema) -> exp.Expr:
    """A part of a condition in words that are understood."""
    from sqlglot import exp

    kind = type(node).__name__
    if kind in _LIKE:
        return exp.Like(**node.args)
    if kind in _MATCHED and getattr(node.expression, "is_string", False):
        word = re.sub(r"[^\w ]", "", node.expression.this)
        return exp.Like(this=node.this, expression=exp.Literal.string(f"%{word}%"))
    if kind == "NullSafeEQ":
        return exp.EQ(**node.args)
    if kind == "NullSafeNEQ":
        return exp.NEQ(**node.args)
    if kind in _COMPARED:
        return _compared(node, kind, schema)
    if node.expressions and kind in ("In", "Coalesce", "Greatest", "Least"):
        kept = [each for each in node.expressions if not isinstance(each, exp.Null)]
        node.set("expressions", [_declared(each, node.this, schema) for each in kept] if kind == "In" else kept)
        return node.this if not kept else node
    if kind == "Case" and node.args.get("default") is None and node.args["ifs"]:
        text = node.args["ifs"][0].args["true"].is_string
        node.set("default", exp.Literal.string("other") if text else exp.Literal.number(0))
        return node
    if isinstance(node, exp.Lower | exp.Upper | exp.Trim | exp.Cast) and isinstance(node.this, exp.Column):
        return node.this
    return node


def _compared(node: exp.Expr, kind: str, schema: Schema) -> exp.Expr:
    """A comparison: with NULL it asks for what is missing, and a label is written as it is declared."""
    from sqlglot import exp

    for one, other in ((node.this, node.expression), (node.expression, node.this)):
        if isinstance(one, exp.Null):
            asked = exp.Is(this=other, expression=exp.Null())
            return asked if kind == "EQ" else exp.Not(this=asked)
    node.set("expression", _declared(node.expression, node.this, schema))
    return node


def _declared(word: exp.Expr, of: exp.Expr, schema: Schema) -> exp.Expr:
    """A label in the letters of its declaration, where only case tells it from one."""
    from sqlglot import exp

    inner = of.this if isinstance(of, exp.Lower | exp.Upper | exp.Trim) else of
    declared = schema.columns.get(inner.name) if isinstance(inner, exp.Column) else None
    if not isinstance(declared, Categories) or declared.private or not getattr(word, "is_string", False):
        return word
    known = [canonical(label) for label in declared.labels]
    near = [each for each in known if each.casefold() == word.this.strip().casefold()]
    return exp.Literal.string(near[0]) if near and word.this not in known else word
