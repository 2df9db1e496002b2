"""From a statement to the questions it asks.

    SELECT sex, AVG(bmi), COUNT(*) FROM visits WHERE age >= 60 GROUP BY sex

asks two questions of the rows where ``age >= 60``, by ``sex``. There is one table, whatever FROM calls it. Groups are
declared categories, conditions and bins, never values found in the data, so that every declared group is answered. What only
orders, cuts or computes with answers is refused: that is done with what was released, and costs nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from discreet.core.schema import Integer, Real, Schema
from discreet.errors import DiscreetError, InvalidRequest, UnknownName
from discreet.expressions import read
from discreet.sql.aggregates import Aggregates, is_aggregate
from discreet.sql.asked import Asked
from discreet.sql.conditions import ConditionWriter, canonical
from discreet.sql.nearby import nearby
from discreet.sql.statements import check_read_whole, or_nearest, parse, refused

if TYPE_CHECKING:
    from sqlglot import exp


_CLAUSES = {
    "order": ("ORDER BY", "sort the answers yourself"), "limit": ("LIMIT", "take what you want of the answers"),
    "offset": ("OFFSET", "take what you want of the answers"), "fetch": ("FETCH", "take what you want of the answers"),
    "having": ("HAVING", "choose among the answers yourself"), "distinct": ("DISTINCT", "leave it out"),
    "joins": ("JOIN", "join the tables first, by ds.join"), "laterals": ("LATERAL", "leave it out"),
    "with": ("WITH", "ask the table itself"), "qualify": ("QUALIFY", "leave it out"), "windows": ("WINDOW", "leave it out"),
    "into": ("INTO", "leave it out"), "sample": ("TABLESAMPLE", "leave it out"), "hint": ("a hint", "leave it out"),
}  # fmt: skip
_KEPT = {"expressions", "from", "where", "group"}
_BINS = 5  # of a nearest question
# What sqlglot reads may still be of a shape that nobody writes.
_ODD = (RecursionError, AttributeError, TypeError, KeyError, ValueError, IndexError, ArithmeticError)


def translate(statement: str, schema: Schema) -> tuple[Asked, ...]:
    """The questions of a statement, one for each aggregate in its SELECT list; refuses what cannot be asked.

    >>> import discreet as ds
    >>> schema = ds.Schema({"bmi": ds.Real(10, 60), "sex": ds.Categories(["f", "m"])})
    >>> translate("SELECT sex, AVG(bmi) FROM visits GROUP BY sex", schema)
    (Asked(statistic='mean', columns=('bmi',), by=('sex',), where='', options={}),)

    Everything refused is refused for the text of the statement and the declarations; no record is in reach.
    """
    try:
        return _Statement(parse(statement), schema).asked()
    except (InvalidRequest, UnknownName):
        raise
    except DiscreetError as problem:
        raise refused(str(problem)) from None
    except _ODD:
        raise refused("the statement is of a form that is not understood") from None


class _Statement:
    """A SELECT under a schema. A ``trial`` of a nearest question looks for none itself."""

    def __init__(self, tree: exp.Expr, schema: Schema, trial: bool = False) -> None:
        self.tree = tree
        self.schema = schema
        self.trial = trial
        self.clauses = {key.rstrip("_"): value for key, value in tree.args.items() if value}
        self.items: list[tuple[str, exp.Expr]] = [
            (each.alias, each.this) if type(each).__name__ == "Alias" else ("", each) for each in tree.expressions
        ]
        self.writer = ConditionWriter(schema, self._table_names())
        self.aggregates = Aggregates(schema, self.writer, self.nearest)

    def asked(self) -> tuple[Asked, ...]:
        """Its questions."""
        self._check_clauses()
        groups = self._groups()
        by = tuple(self._group(each) for each in groups)
        if len(set(by)) != len(by):
            raise refused("a column can be grouped by once only", self.nearest("COUNT(*)", groups[:1]))
        where = [self._near(self._where)] if "where" in self.clauses else []
        computed = [item for _, item in self.items if is_aggregate(item)]
        self._check_plain(groups, by)
        if not computed:
            shown = [each for _, each in self.items if type(each).__name__ == "Column"]
            raise refused("a statement must ask for an aggregate: rows are never shown",
                          self._near_columns(shown) or self.nearest("COUNT(*)"))  # fmt: skip
        made = []
        for node in computed:
            found = self.aggregates.read(node)
            conditions = [*where, *found.conditions]
            condition = canonical(self.schema, " and ".join(f"({each})" for each in conditions)) if conditions else ""
            made.append(Asked(found.statistic, found.columns, by, condition, dict(found.options)))
        check_read_whole(self.tree)
        return tuple(made)

    def _where(self) -> str:
        """The condition in our words."""
        text = self.writer.write(self.clauses["where"].this)
        canonical(self.schema, text)
        return text

    def _near(self, write: Callable[[], str], groups: Sequence[str | exp.Expr] | None = None) -> str:
        """What ``write`` writes; where it refuses, with the nearest question."""
        try:
            return write()
        except (InvalidRequest, UnknownName) as problem:
            if self.trial:
                raise
            plain = [each.sql() for _, each in self.items if is_aggregate(each)]
            near = self.nearest((plain or ["COUNT(*)"])[0], groups)
            raise problem.remedied(or_nearest(problem.remedy, near)) from None

    def nearest(self, aggregate: str, groups: Sequence[str | exp.Expr] | None = None) -> str:
        """The statement with one aggregate only, as much of it as can be asked: its groups and its condition, or neither."""
        if self.trial:
            return ""
        if groups is None:
            try:
                groups = self._groups()
            except DiscreetError:
                groups = []
        shown = [each if isinstance(each, str) else each.sql() for each in groups]
        wheres = self._near_conditions()
        start, end = f"FROM {self._table() or 't'}", f" GROUP BY {', '.join(shown)}" if shown else ""
        columns = ", ".join([*shown, aggregate])
        fewer = [*(f"{columns} {start}{each}{end}" for each in wheres), f"{columns} {start}{end}"]
        fewer += [*(f"{aggregate} {start}{each}" for each in wheres), f"{aggregate} {start}", f"COUNT(*) {start}"]
        tried = [f"SELECT {each}" for each in dict.fromkeys(fewer)]
        return next((each for each in tried if _is_asked(each, self.schema)), "")

    def _near_conditions(self) -> list[str]:
        """The condition, and where it cannot be asked others near it; each with its WHERE."""
        if "where" not in self.clauses:
            return [""]
        asked = self.clauses["where"].this

        def is_asked(text: str) -> bool:
            return _is_asked(f"SELECT COUNT(*) WHERE {text}", self.schema)

        others = [] if is_asked(asked.sql()) else nearby(asked, self.schema, is_asked)
        return [f" WHERE {each}" for each in (asked.sql(), *others)]

    def _table(self) -> str | None:
        origin = self.clauses.get("from")
        if origin is None or type(origin.this).__name__ != "Table":
            return None
        return str(origin.this.name) or None

    def _table_names(self) -> frozenset[str]:
        origin = self.clauses.get("from")
        found = () if origin is None else (origin.this.name, origin.this.alias)
        return frozenset(str(name).casefold() for name in found if name)

    def _check_clauses(self) -> None:
        for key in self.clauses:
            if key in _KEPT:
                continue
            word, remedy = _CLAUSES.get(key, (key.upper().replace("_", " "), "leave it out"))
            plain = [each for _, each in self.items if is_aggregate(each)]
            raise refused(f"{word} is not understood", self.nearest(plain[0].sql() if plain else "COUNT(*)"), remedy)
        origin = self.clauses.get("from")
        if origin is not None and type(origin.this).__name__ != "Table":
            raise refused(
                "FROM names the table that the session has", self.nearest("COUNT(*)"), "ask it, and not a SELECT of it"
            )
        if origin is not None and any(v for k, v in origin.this.args.items() if k not in ("this", "alias", "db", "catalog")):
            raise refused("FROM names one table and says nothing more of it", self.nearest("COUNT(*)"))

    def _groups(self) -> list[exp.Expr]:
        """What is grouped by, with numbers and aliases of the SELECT list put in their place."""
        group = self.clauses.get("group")
        if group is None:
            return []
        if any(v for k, v in group.args.items() if k != "expressions"):
            raise refused("GROUP BY takes a list of columns, conditions and bins", self.nearest("COUNT(*)", []))
        return [self._referred(each) for each in group.expressions]

    def _referred(self, node: exp.Expr) -> exp.Expr:
        if type(node).__name__ == "Literal" and not node.is_string and node.this.isdigit():
            place = int(node.this)
            if not 1 <= place <= len(self.items) or is_aggregate(self.items[place - 1][1]):
                raise refused(f"GROUP BY {node.this[:9]} is not the place of a group in the SELECT list",
                              self.nearest("COUNT(*)", []))  # fmt: skip
            return self.items[place - 1][1]
        if type(node).__name__ == "Column" and node.name not in self.schema.columns:
            return next((item for alias, item in self.items if alias and alias.casefold() == node.name.casefold()), node)
        return node

    def _group(self, node: exp.Expr) -> str:
        """A group in our words: a column of categories, or an expression whose labels are public by themselves."""
        while type(node).__name__ == "Paren":
            node = node.this
        if type(node).__name__ == "Column":
            name = self.writer.name(node)
            if name == self.schema.person:
                near = self.nearest(f"COUNT(DISTINCT {name})", [])
                raise refused(f"{name!r} is the person column: a group of one person is nobody's to see", near)
            kind = self.schema.columns[name].known.kind
            if kind in ("label", "truth"):
                return name
            raise self._not_a_group(name, kind)
        text = self._near(lambda: self.writer.write(node), [])
        made = read(text, self.schema.derivation.known)
        if made.kind not in ("label", "truth") or made.is_constant:
            numbers = [n for n in made.columns if self.schema.columns[n].known.kind == "number"]
            if numbers:
                raise self._not_a_group(numbers[0], "number")
            rule = f"a group must be a category, a condition or bins, got {str(made)[:60]!r}"
            raise refused(rule, self.nearest("COUNT(*)", []))
        return str(made)

    def _not_a_group(self, name: str, kind: str) -> InvalidRequest:
        """The refusal of a group of numbers, with bins between the declared bounds."""
        column = self.schema.columns[name]
        if not isinstance(column, Real | Integer) or column.private or kind != "number":
            return refused(f"{name!r} holds {kind}s; a group must be a category, a condition or bins",
                           self.nearest("COUNT(*)", []))  # fmt: skip
        edges = [column.lo + place * (column.hi - column.lo) / _BINS for place in range(_BINS + 1)]
        bins = f"BINS({name}, {', '.join(f'{edge:g}' for edge in edges)})"
        rule = f"{name!r} holds numbers; a group must be a category, a condition or bins"
        return refused(rule, self.nearest("COUNT(*)", [bins]))

    def _check_plain(self, groups: list[exp.Expr], by: tuple[str, ...]) -> None:
        """Refuse what is selected beside aggregates and is no group."""
        known = {each.sql().casefold() for each in groups}
        for _, item in self.items:
            if is_aggregate(item) or item.sql().casefold() in known:
                continue
            if type(item).__name__ == "Star":
                raise refused("rows are never shown, only answers about all of them", self.nearest("COUNT(*)"))
            if type(item).__name__ == "Column":
                name = self.writer.name(item)
                if name in by:
                    continue
                computed = [each.sql() for _, each in self.items if is_aggregate(each)]
                near = self._near_columns([*groups, item], computed[:1]) or self.nearest("COUNT(*)")
                raise refused(f"{name!r} must be grouped by or be in an aggregate", near)
            raise refused(f"{item.sql()[:60]!r} is neither a group nor an aggregate", self.nearest("COUNT(*)"))

    def _near_columns(self, columns: list[exp.Expr], aggregates: list[str] | None = None) -> str:
        """The statement grouped by columns of categories; '' where one of them is none."""
        names = [self.writer.name(each) if type(each).__name__ == "Column" else "" for each in columns]
        declared = [self.schema.columns.get(name) for name in names]
        if not columns or any(each is None or each.known.kind not in ("label", "truth") for each in declared):
            return ""
        return self.nearest((aggregates or ["COUNT(*)"])[0], columns)


def _is_asked(statement: str, schema: Schema) -> bool:
    """Whether a statement can be asked as it is."""
    try:
        return bool(_Statement(parse(statement), schema, trial=True).asked())
    except (DiscreetError, *_ODD):
        return False
