"""From text to the tree of one SELECT, by sqlglot; whatever else it may be is refused in one line."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any, ClassVar

from discreet.errors import InvalidRequest

if TYPE_CHECKING:
    from sqlglot import exp


LONGEST = 4000  # characters of a statement
_SHOWN = 300  # characters of a nearest question
# What a node may say besides its parts, because it is read, or means nothing that could be answered otherwise.
_SAID = {
    "Alias": {"alias"}, "ApproxQuantile": {"quantile"}, "Array": {"bracket_notation"}, "Between": {"low", "high"},
    "Case": {"ifs", "default"}, "Cast": {"to"}, "Coalesce": {"is_null"}, "Column": {"table"}, "Count": {"big_int"},
    "Date": {"zone"}, "Greatest": {"ignore_nulls"}, "Identifier": {"quoted"}, "If": {"true", "false"},
    "Least": {"ignore_nulls"}, "Like": {"negate"}, "Is": {"negate"}, "Literal": {"is_string"}, "Ordered": {"nulls_first"},
    "Quantile": {"quantile"}, "Select": {"from_", "from", "where", "group"}, "Table": {"alias", "db", "catalog"},
    "TryCast": {"to", "safe"}, "WidthBucket": {"min_value", "max_value", "num_buckets"},
}  # fmt: skip
_PARTS = {"this", "expression", "expressions"}
EXAMPLE = "SELECT sex, AVG(bmi) FROM visits WHERE age >= 60 GROUP BY sex"


def refused(rule: str, nearest: str = "", remedy: str = "") -> InvalidRequest:
    """A statement that is not answered: why, and the nearest question that would be."""
    return InvalidRequest(f"SQL: {rule}", key="sql", remedy=or_nearest(remedy, nearest) or f"write as in: {EXAMPLE}")


def or_nearest(remedy: str, nearest: str) -> str:
    """A remedy, and the nearest question where there is one that a line can show."""
    if not nearest or len(nearest) > _SHOWN:
        return remedy
    return f"{remedy + ', or ' if remedy else ''}the nearest question is: {nearest}"


@functools.cache
def _dialect() -> Any:
    """Generic SQL in which names stand in double quotes or in backticks."""
    try:
        import sqlglot.dialects.dialect
        import sqlglot.tokens
    except ImportError:
        raise InvalidRequest("SQL needs the package sqlglot, which is not installed; pip install 'discreet[sql]'") from None

    class Spoken(sqlglot.dialects.dialect.Dialect):
        class Tokenizer(sqlglot.tokens.Tokenizer):
            IDENTIFIERS: ClassVar[list[Any]] = ['"', "`"]

    return Spoken


def parse(statement: str) -> exp.Select:
    """The tree of the one SELECT that a statement is."""
    if not isinstance(statement, str) or not statement.strip():
        raise refused(f"a statement must be some text, got {statement!r}")
    if len(statement) > LONGEST:
        raise refused(f"a statement must have at most {LONGEST} characters, got {len(statement)}")
    dialect = _dialect()
    import sqlglot
    from sqlglot import exp

    try:
        tokens = sqlglot.tokenize(statement, read=dialect)
        first = tokens[0].text.upper() if tokens else ""
        if first not in ("SELECT", "("):  # of other statements sqlglot keeps the text only, and logs that it does
            raise refused(f"only SELECT can be asked, got {first[:40] or 'nothing'!r}; CREATE, WITH and the like cannot")
        _check_dialects_of_others([token.text.upper() for token in tokens])
        found = [each for each in sqlglot.parse(statement, read=dialect) if each is not None]
    except InvalidRequest:
        raise
    except Exception as problem:  # sqlglot has several kinds of refusals, and deep nesting is one of Python's
        raise refused(f"the statement cannot be read{_where(problem)}") from None
    if len(found) != 1:
        raise refused(f"one statement is asked at a time, got {len(found)}")
    tree = found[0]
    while isinstance(tree, exp.Subquery | exp.Paren) and not any(v for k, v in tree.args.items() if k != "this"):
        tree = tree.this
    if not isinstance(tree, exp.Select):
        raise refused(f"only a plain SELECT can be asked, got {type(tree).__name__.upper()}; ask each SELECT by itself")
    return tree


def check_read_whole(tree: exp.Expr) -> None:
    """Refuse a statement in which a node says more than what is read of it: it must not be answered as if it said less.

    Versions of sqlglot move a word such as NOT from a node of its own to a mark on another.
    """
    for node in tree.walk():
        kind = type(node).__name__
        said = {key for key, value in node.args.items() if value not in (None, False, [])}
        if rest := said - _PARTS - _SAID.get(kind, set()):
            words = ", ".join(sorted(word.strip("_").replace("_", " ") for word in rest))
            raise refused(f"{kind.upper()} is understood without its {words}", remedy="leave that out")


def _check_dialects_of_others(words: list[str]) -> None:
    """Refuse the clauses of other private SQL by what they mean here, before they are refused as nonsense."""
    if {"DIFFERENTIAL_PRIVACY", "AGGREGATION_THRESHOLD", "ANONYMIZATION"} & set(words):
        raise refused(
            "a price and a privacy unit are no part of a statement",
            "",
            f"sql('{EXAMPLE}', epsilon=...) with the schema's person",
        )
    if "CLAMPED" in words or "CONTRIBUTION_BOUNDS_PER_GROUP" in words or "CONTRIBUTION_BOUNDS_PER_ROW" in words:
        raise refused("bounds are those of the schema, and not of a statement", "", "leave CLAMPED and the like out")
    for word in words:
        if word.startswith("ANON_"):
            raise refused(f"every answer is private, there is no {word[:40]}", "", f"write {word[5:45]}")


def _where(problem: Exception) -> str:
    """Line and column, as far as sqlglot knows them."""
    errors = getattr(problem, "errors", None)
    if not errors or not isinstance(errors[0].get("line"), int):
        return ""
    return f" at line {errors[0]['line']}, column {errors[0].get('col')}"
