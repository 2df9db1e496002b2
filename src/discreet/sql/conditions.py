"""SQL expressions as expressions of ours: what stands in WHERE, in CASE and in GROUP BY.

Both have three-valued logic, and a row counts where its condition is true. Where the two differ, ours holds: ``/`` divides
without cutting off, ``%`` has the sign of the divisor, and a column is read with what a missing value is declared to become.
"""

from __future__ import annotations

import keyword
import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from discreet.core.labels import closest
from discreet.core.schema import Schema
from discreet.errors import InvalidRequest, UnknownName
from discreet.sql.statements import refused

if TYPE_CHECKING:
    from sqlglot import exp


_INFIX = {
    "EQ": "==", "NEQ": "!=", "GT": ">", "GTE": ">=", "LT": "<", "LTE": "<=", "Add": "+", "Sub": "-", "Mul": "*", "Div": "/",
    "IntDiv": "//", "Mod": "%", "Pow": "**",
}  # fmt: skip
_FUNCTIONS = {
    "Abs": "abs", "Sqrt": "sqrt", "Exp": "exp", "Ln": "log", "Floor": "floor", "Ceil": "ceil", "Round": "round",
    "Least": "min", "Greatest": "max", "Coalesce": "coalesce", "Year": "year", "Quarter": "quarter", "Month": "month",
    "Day": "day", "DayOfMonth": "day", "Hour": "hour", "Minute": "minute", "DayOfWeekIso": "weekday", "Date": "date",
    "TsOrDsToDate": "date", "Contains": "contains", "StartsWith": "startswith", "EndsWith": "endswith",
}  # fmt: skip
_NAMED = {
    "LOG10", "ISNULL", "MATCHES", "MISSING", "WEEKDAY", "ISODOW", "STARTSWITH", "ENDSWITH", "CONTAINS", "HOUR", "MINUTE",
}  # fmt: skip
_PARTS = {"YEAR": "year", "QUARTER": "quarter", "MONTH": "month", "DAY": "day", "ISODOW": "weekday", "HOUR": "hour",
          "MINUTE": "minute"}  # fmt: skip
_MOST_BUCKETS = 1000


class ConditionWriter:
    """Writes the SQL expressions of one statement in our words; ``table`` are the names that its table goes by."""

    def __init__(self, schema: Schema, table: frozenset[str] = frozenset()) -> None:
        self.schema = schema
        self.table = table

    def name(self, column: exp.Expr) -> str:
        """The declared column that a name means: letter for letter, or without regard to case where it is not quoted."""
        given = column.name
        if column.args.get("table") is not None and column.text("table").casefold() not in self.table:
            raise refused(f"the table asked is the only one, got {column.sql()!r}", remedy=f"write {given} alone")
        known = [*self.schema.columns, *([] if self.schema.person is None else [self.schema.person])]
        if given in known:
            return str(given)
        near = [each for each in known if each.casefold() == given.casefold()]
        if len(near) == 1 and not column.this.args.get("quoted"):
            return near[0]
        raise UnknownName(f"SQL: no column is declared as {given!r}{closest(given, known)}", key="sql")

    def write(self, node: exp.Expr) -> str:
        """The expression as text of ours; every part in brackets, which its canonical form does without."""
        kind = type(node).__name__
        own: Callable[[exp.Expr], str] | None = getattr(self, f"_{kind.lower()}", None)
        if own is not None:
            return own(node)
        if kind in _INFIX:
            return f"({self.write(node.this)} {_INFIX[kind]} {self.write(node.expression)})"
        if kind in _FUNCTIONS:
            return f"{_FUNCTIONS[kind]}({', '.join(self.write(each) for each in self._arguments(node))})"
        raise refused(f"{_short(node)} cannot stand in a condition or a group", remedy=(
            "use columns, constants, comparisons, AND, OR, NOT, IN, BETWEEN, LIKE, IS NULL, CASE, arithmetic and "
            "functions such as YEAR(d), or declare a column with a formula"))  # fmt: skip

    def _arguments(self, node: exp.Expr) -> list[exp.Expr]:
        """The arguments of a function, in order."""
        given = {k: v for k, v in node.args.items() if v not in (None, False, [])}
        if "decimals" in given:
            raise refused(
                "ROUND takes one argument here", remedy="round to whole numbers, or declare a column with a formula"
            )
        first = [given["this"]] if "this" in given else []
        return [*first, *([given["expression"]] if "expression" in given else []), *given.get("expressions", [])]

    def _column(self, node: exp.Expr) -> str:
        return written(self.name(node))

    def _paren(self, node: exp.Expr) -> str:
        return self.write(node.this)

    def _literal(self, node: exp.Expr) -> str:
        return repr(node.this) if node.is_string else number(node)

    def _boolean(self, node: exp.Expr) -> str:
        return repr(bool(node.this))

    def _neg(self, node: exp.Expr) -> str:
        return f"(-{self.write(node.this)})"

    def _not(self, node: exp.Expr) -> str:
        return f"(not {self.write(node.this)})"

    def _and(self, node: exp.Expr) -> str:
        return self._joined("and", node)

    def _or(self, node: exp.Expr) -> str:
        return self._joined("or", node)

    def _joined(self, word: str, node: exp.Expr) -> str:
        return f"({f' {word} '.join(self.write(each) for each in node.flatten())})"

    def _between(self, node: exp.Expr) -> str:
        if node.args.get("symmetric"):
            raise refused("BETWEEN SYMMETRIC is not understood", remedy="write the smaller end first")
        return f"between({self.write(node.this)}, {self.write(node.args['low'])}, {self.write(node.args['high'])})"

    def _in(self, node: exp.Expr) -> str:
        if not node.expressions or any(node.args.get(word) for word in ("query", "unnest", "field")):
            raise refused("IN takes a list of constants", remedy="as in sex IN ('f', 'm')")
        return f"({self.write(node.this)} in [{', '.join(self.write(each) for each in node.expressions)}])"

    def _is(self, node: exp.Expr) -> str:
        kind, no = type(node.expression).__name__, "not " if node.args.get("negate") else ""
        if type(node.this).__name__ in ("Boolean", "Literal", "Null"):  # databases read `a = TRUE IS NULL` from the left
            raise refused(f"{_short(node)} says nothing of a row", remedy="put the comparison before IS in brackets")
        if kind == "Null":
            return f"({no}missing({self.write(node.this)}))"
        if kind == "Boolean":
            return f"({no}coalesce({'' if node.expression.this else 'not '}{self.write(node.this)}, False))"
        raise refused(f"{_short(node)} is not understood", remedy="write IS NULL, IS TRUE or =")

    def _like(self, node: exp.Expr) -> str:
        """LIKE and NOT LIKE, which newer versions of sqlglot say in one node."""
        return f"(not {self._pattern(node)})" if node.args.get("negate") else self._pattern(node)

    def _pattern(self, node: exp.Expr) -> str:
        """``%`` is any text and ``_`` any letter."""
        pattern = node.expression
        if type(pattern).__name__ != "Literal" or not pattern.is_string:
            raise refused("LIKE takes a text in quotes", remedy="as in name LIKE 'An%'")
        word, of = pattern.this, self.write(node.this)
        bare = word.strip("%")
        if not {"%", "_", "\\"} & set(bare) and bare:
            ends = (word.startswith("%"), word.endswith("%"))
            if ends == (False, False):
                return f"({of} == {bare!r})"
            matched = {(True, True): "contains", (True, False): "endswith", (False, True): "startswith"}[ends]
            return f"{matched}({of}, {bare!r})"
        if {"*", "?", "\\"} & set(word):
            raise refused(f"LIKE {word!r} mixes wildcards with *, ? or \\", remedy="match a part of it that has none")
        return f"matches({of}, {word.replace('%', '*').replace('_', '?')!r})"

    def _case(self, node: exp.Expr) -> str:
        """A CASE as nested choices; it needs an ELSE, because a choice always has a value.

        Where a condition is neither true nor false the next branch holds, as in a database; a choice of ours is missing.
        """
        if node.args.get("default") is None:
            raise refused("a CASE in a group or a condition needs an ELSE", remedy="write ELSE 'other'")
        made = self.write(node.args["default"])
        for branch in reversed(node.args["ifs"]):
            test = self.write(branch.this)
            if node.this is not None:
                test = f"({self.write(node.this)} == {test})"
            made = f"({self.write(branch.args['true'])} if coalesce({test}, False) else {made})"
        return made

    def _if(self, node: exp.Expr) -> str:
        if node.args.get("false") is None:
            raise refused("IF needs three arguments here", remedy="write CASE WHEN ... THEN ... ELSE ... END")
        test = f"coalesce({self.write(node.this)}, False)"
        return f"({self.write(node.args['true'])} if {test} else {self.write(node.args['false'])})"

    def _cast(self, node: exp.Expr) -> str:
        """A date or a time that is written down; any other change of type is a matter of the schema."""
        to = node.args["to"].sql().upper()
        literal = type(node.this).__name__ == "Literal" and node.this.is_string
        if literal and to in ("DATE", "TIMESTAMP", "DATETIME"):
            return f"{'date' if to == 'DATE' else 'datetime'}({node.this.this!r})"
        if to == "DATE":
            return f"date({self.write(node.this)})"
        raise refused(f"{_short(node)}: types are those of the schema", remedy="leave CAST out")

    _trycast = _cast

    def _extract(self, node: exp.Expr) -> str:
        return self._part(str(node.this.this), node.expression)

    def _part(self, part: str, of: exp.Expr) -> str:
        if part.upper() not in _PARTS:
            raise refused(f"the part {part[:20]!r} of a date is not known", remedy=f"use one of {', '.join(_PARTS)}")
        return f"{_PARTS[part.upper()]}({self.write(of)})"

    def _log(self, node: exp.Expr) -> str:
        """LOG(10, x); by itself it is the natural logarithm for some and that of base 10 for others."""
        if node.expression is None:
            of = _short(node.this)
            raise refused("LOG of one number has two meanings", remedy=f"write LN({of}) or LOG10({of})")
        if type(node.this).__name__ == "Literal" and node.this.this == "10":
            return f"log10({self.write(node.expression)})"
        return f"(log({self.write(node.expression)}) / log({self.write(node.this)}))"

    def _widthbucket(self, node: exp.Expr) -> str:
        """Equal bins between two numbers; a value outside is in none of them."""
        low, high, count = (number(node.args.get(word)) for word in ("min_value", "max_value", "num_buckets"))
        buckets = float(count)
        if not 1 <= buckets <= _MOST_BUCKETS or buckets != int(buckets):
            raise refused(f"WIDTH_BUCKET takes 1 to {_MOST_BUCKETS} buckets, got {count}")
        start, width = float(low), (float(high) - float(low)) / buckets
        edges = [repr(start + place * width) for place in range(int(buckets))]
        return f"bins({self.write(node.this)}, [{', '.join([*edges, high])}])"

    def _anonymous(self, node: exp.Expr) -> str:
        """A function that SQL does not know: one of ours, by its own name."""
        name, given = str(node.this).upper(), node.expressions
        if name == "BINS" and len(given) > 1:
            edges = given[1].expressions if len(given) == 2 and type(given[1]).__name__ in ("Array", "Tuple") else given[1:]
            return f"bins({self.write(given[0])}, [{', '.join(self.write(edge) for edge in edges)}])"
        if name == "DATE_PART" and len(given) == 2 and given[0].is_string:
            return self._part(given[0].this, given[1])
        if name in _NAMED:
            own = {"ISNULL": "missing", "ISODOW": "weekday"}.get(name, name.lower())
            return f"{own}({', '.join(self.write(each) for each in given)})"
        raise refused(
            f"there is no function {name[:40]}", remedy="see the functions of expressions, such as YEAR(d) or BINS"
        )


def written(name: str) -> str:
    """A column's name as an expression reads it."""
    return name if name.isidentifier() and not keyword.iskeyword(name) else f"column({name!r})"


def number(node: Any) -> str:
    """A number that is written down, with its sign, as Python reads it."""
    if type(node).__name__ == "Neg":
        return f"-{number(node.this)}"
    if type(node).__name__ == "Paren":
        return number(node.this)
    try:
        if type(node).__name__ != "Literal" or node.is_string:
            raise ValueError
        if math.isinf(float(node.this)):
            raise OverflowError
        return repr(float(node.this)) if not node.this.isdigit() else str(int(node.this))
    except (ValueError, OverflowError):
        got = "nothing" if node is None else _short(node)
        raise refused(f"a number must be written down here, got {got}", remedy="write digits") from None


def _short(node: exp.Expr) -> str:
    """A piece of SQL, not longer than a line shows."""
    try:
        text = " ".join(node.sql().split())
    except Exception:  # what sqlglot reads it may still not be able to write
        text = type(node).__name__
    return text if len(text) <= 60 else text[:57] + "..."


def canonical(schema: Schema, text: str) -> str:
    """The canonical form of a condition; refuses one that is none."""
    try:
        return next(iter(schema.condition(text)))
    except (InvalidRequest, UnknownName) as problem:
        raise type(problem)(f"SQL: {problem}", key="sql") from None
