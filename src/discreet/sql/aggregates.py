"""The aggregates of SQL as statistics: which each is, of which columns, and on which rows of its own."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, cast

from discreet.core.schema import Schema
from discreet.sql.conditions import ConditionWriter, number, written
from discreet.sql.statements import refused

if TYPE_CHECKING:
    from sqlglot import exp


_OF_ONE = {
    "Avg": "mean", "Sum": "sum", "Stddev": "std", "StddevSamp": "std", "Variance": "variance", "Median": "median",
}  # fmt: skip
_OF_TWO = {"Corr": "correlation", "CovarSamp": "covariance"}
_NAMED = {"MEAN": "mean", "STD": "std", "VAR": "variance", "MEDIAN": "median"}
_QUANTILES = {
    "QUANTILE", "QUANTILE_CONT", "QUANTILE_DISC", "APPROX_PERCENTILE", "APPROX_QUANTILE", "PERCENTILE", "PERCENTILE_APPROX",
    "PERCENTILE_CONT", "PERCENTILE_DISC",
}  # fmt: skip
_QUANTILE_NODES = {"Quantile", "ApproxQuantile", "PercentileCont", "PercentileDisc"}
_WORDS = {"mean": "AVG", "sum": "SUM", "std": "STDDEV", "variance": "VARIANCE", "median": "MEDIAN", "quantile": "QUANTILE"}
# What is not answered, and what is asked instead; {x} is the argument.
_INSTEAD = {
    "Min": "QUANTILE({x}, 0.01)", "Max": "QUANTILE({x}, 0.99)", "StddevPop": "STDDEV({x})", "VariancePop": "VARIANCE({x})",
    "CovarPop": "COVAR_SAMP({x})", "ApproxQuantiles": "QUANTILE({x}, 0.5)", "Mode": "COUNT(*)", "AnyValue": "MEDIAN({x})",
    "ApproxDistinct": "COUNT(DISTINCT {x})", "GroupConcat": "COUNT(*)", "ArrayAgg": "COUNT(*)", "First": "MEDIAN({x})",
    "Last": "MEDIAN({x})", "LogicalOr": "COUNT(*)", "LogicalAnd": "COUNT(*)", "ApproxTopK": "COUNT(*)",
}  # fmt: skip


@dataclass(frozen=True)
class Aggregate:
    """A statistic with its columns and options; ``conditions`` in our words, which its rows have to fulfil."""

    statistic: str
    columns: tuple[str, ...] = ()
    options: dict[str, Any] = field(default_factory=dict)
    conditions: tuple[str, ...] = ()


def is_aggregate(node: exp.Expr) -> bool:
    """Whether an item of a SELECT list computes something over rows."""
    from sqlglot import exp

    kinds = (exp.AggFunc, exp.Window, exp.WithinGroup, exp.Filter)
    named = {*_NAMED, *_QUANTILES}
    anonymous = (str(each.this).upper() for each in node.find_all(exp.Anonymous))
    return node.find(*kinds) is not None or any(name in named for name in anonymous)


class Aggregates:
    """Reads the aggregates of one statement under a schema. ``nearest`` writes the statement with another aggregate."""

    def __init__(self, schema: Schema, writer: ConditionWriter, nearest: Any) -> None:
        self.schema = schema
        self.writer = writer
        self.nearest = nearest

    def read(self, node: exp.Expr) -> Aggregate:
        """The statistic that an aggregate is."""
        kind = type(node).__name__
        match kind:
            case "Paren":
                return self.read(node.this)
            case "Filter":
                inner = self.read(node.this)
                return _narrowed(inner, self.writer.write(node.expression.this))
            case "Count":
                return self._count(node)
            case "CountIf":
                return Aggregate("count", conditions=(self.writer.write(node.this),))
            case "WithinGroup":
                return self._within_group(node)
            case "Window":
                raise refused("OVER is not understood: an answer is about all rows or about groups", self._plain(node.this))
            case "Anonymous":
                return self._named(str(node.this).upper(), node.expressions, node)
        if kind in _QUANTILE_NODES:
            share = node.args.get("quantile") or node.args.get("expression")
            return self._quantile(node.this, share, node)
        if kind in _OF_ONE:
            return self._of_number(_OF_ONE[kind], node.this)
        if kind in _OF_TWO:
            names = tuple(self._number(_OF_TWO[kind], each) for each in (node.this, node.expression))
            return Aggregate(_OF_TWO[kind], names)
        if kind in _INSTEAD:
            of = "*" if node.this is None else node.this.sql()
            asked = _INSTEAD[kind].format(x=of if node.args.get("expression") is None or kind != "CovarPop" else
                                          f"{of}, {node.expression.sql()}")  # fmt: skip
            raise refused(f"{cast('exp.Func', node).sql_name()} cannot be asked", self.nearest(asked))
        part = next((each for each in node.walk() if each is not node and is_aggregate(each) and _plain_kind(each)), None)
        asked = self._instead_of_arithmetic(node) or ("COUNT(*)" if part is None else part.sql())
        raise refused("arithmetic on answers is done on what was released", self.nearest(asked))

    def _count(self, node: exp.Expr) -> Aggregate:
        of = node.this
        if of is None or type(of).__name__ == "Star" or (type(of).__name__ == "Literal" and not node.expressions):
            return Aggregate("count")
        if type(of).__name__ == "Distinct":
            return self._distinct(of.expressions)
        if type(of).__name__ == "Case":
            return self._case("count", of)
        if type(of).__name__ != "Column" or node.expressions:
            raise refused("COUNT takes *, a column or DISTINCT and the person column", self.nearest("COUNT(*)"))
        name = self.writer.name(of)
        if name == self.schema.person:
            return Aggregate("count")  # a row without an id is nobody's, and counts for nothing
        return Aggregate("count", conditions=(f"not missing({written(name)})",))

    def _distinct(self, given: list[exp.Expr]) -> Aggregate:
        names = [self.writer.name(each) if type(each).__name__ == "Column" else None for each in given]
        if names != [self.schema.person] or self.schema.person is None:
            label = len(names) == 1 and names[0] in self.schema.columns
            near = "COUNT(*)" if self.schema.person is None else f"COUNT(DISTINCT {self.schema.person})"
            by = self.nearest("COUNT(*)", [names[0]]) if label else self.nearest(near)
            raise refused("DISTINCT counts people only, by the person column of the schema", by)
        return Aggregate("count_people")

    def _of_number(self, statistic: str, of: exp.Expr) -> Aggregate:
        if type(of).__name__ == "Distinct":
            raise refused("DISTINCT values cannot be added up", self.nearest(f"{_WORDS[statistic]}({_first(of)})"))
        if type(of).__name__ == "Case":
            return self._case(statistic, of)
        return Aggregate(statistic, (self._number(statistic, of),))

    def _case(self, statistic: str, case: exp.Expr) -> Aggregate:
        """``SUM(CASE WHEN c THEN x END)``: the rows where c is true, and a count where what is added is 1."""
        branches, other = case.args.get("ifs") or [], case.args.get("default")
        nothing = other is None or type(other).__name__ == "Null"
        zero = other is not None and type(other).__name__ == "Literal" and other.this == "0"
        if len(branches) == 1 and case.this is None:
            condition, value = self.writer.write(branches[0].this), branches[0].args["true"]
            one = type(value).__name__ == "Literal" and value.this == "1"
            if (statistic == "count" and nothing and type(value).__name__ == "Literal") or (
                statistic == "sum" and one and (nothing or zero)
            ):
                return Aggregate("count", conditions=(condition,))
            if statistic != "count" and type(value).__name__ == "Column" and (nothing or (statistic == "sum" and zero)):
                return _narrowed(self._of_number(statistic, value), condition)
        raise refused(
            "of CASE within an aggregate, WHEN ... THEN a column (or 1) END is understood",
            self.nearest("COUNT(*) FILTER (WHERE ...)") if statistic == "count" else self.nearest(self._guess(statistic)),
        )

    def _guess(self, statistic: str) -> str:
        """An aggregate of this kind that can be asked, of the first column of numbers that is declared."""
        names = [n for n, c in self.schema.columns.items() if c.known.kind == "number"]
        if not names or statistic not in _WORDS:
            return "COUNT(*)"
        return f"{_WORDS[statistic]}({names[0]}{', 0.5' if statistic == 'quantile' else ''})"

    def _number(self, statistic: str, of: exp.Expr) -> str:
        """The column of numbers that an aggregate is of."""
        while type(of).__name__ == "Paren":
            of = of.this
        if type(of).__name__ != "Column":
            kinds = [self.writer.name(c) for c in ([] if of is None else of.find_all(_column()))]
            near = f"{_WORDS.get(statistic, 'AVG')}({kinds[0]}{', 0.5' if statistic == 'quantile' else ''})" if kinds else ""
            raise refused(
                "an aggregate takes a column with declared bounds",
                self.nearest(near or self._guess(statistic)),
                "declare a column with that formula and bounds",
            )
        name = self.writer.name(of)
        if name == self.schema.person:
            raise refused(f"{name!r} is the person column, which is only counted", self.nearest(f"COUNT(DISTINCT {name})"))
        if self.schema.columns[name].known.kind not in ("number", "date", "datetime"):
            raise refused(f"{name!r} holds no numbers", self.nearest("COUNT(*)", [name]))
        return name

    def _quantile(self, of: exp.Expr, share: exp.Expr | None, node: exp.Expr) -> Aggregate:
        if share is None:
            raise refused("a quantile takes a column and a share", self.nearest(f"QUANTILE({_first(node)}, 0.5)"))
        if type(of).__name__ == "Literal":  # PERCENTILE_CONT(0.5, x), or PERCENTILE_CONT(0.5) alone
            of, share = share, of
        q = number(share)
        if not 0 <= float(q) <= 1:
            raise refused(f"a quantile's share lies between 0 and 1, got {q}", self.nearest(f"QUANTILE({of.sql()}, 0.5)"))
        return Aggregate("quantile", (self._number("quantile", of),), {"q": float(q)})

    def _within_group(self, node: exp.Expr) -> Aggregate:
        ordered = node.expression.expressions if type(node.expression).__name__ == "Order" else []
        if type(node.this).__name__ not in _QUANTILE_NODES or len(ordered) != 1 or ordered[0].args.get("desc"):
            raise refused("WITHIN GROUP belongs to PERCENTILE_CONT, ordered by one column and not DESC",
                          self.nearest(self._guess("quantile")))  # fmt: skip
        return self._quantile(ordered[0].this, node.this.this, node)

    def _named(self, name: str, given: list[exp.Expr], node: exp.Expr) -> Aggregate:
        if name in _NAMED and len(given) == 1:
            return self._of_number(_NAMED[name], given[0])
        if name in _QUANTILES and len(given) == 2:
            return self._quantile(given[0], given[1], node)
        raise refused(f"there is no aggregate {name[:40]}", self.nearest("COUNT(*)"))

    def _plain(self, node: exp.Expr) -> str:
        """The statement with an aggregate that stood in something else."""
        return str(self.nearest(node.sql() if _plain_kind(node) else "COUNT(*)"))

    def _instead_of_arithmetic(self, node: exp.Expr) -> str:
        """``SUM(x) / COUNT(*)`` is a mean."""
        if type(node).__name__ == "Div" and type(node.this).__name__ == "Sum" and type(node.expression).__name__ == "Count":
            return f"AVG({node.this.this.sql()})"
        return ""


def _narrowed(aggregate: Aggregate, condition: str) -> Aggregate:
    return Aggregate(aggregate.statistic, aggregate.columns, aggregate.options, (*aggregate.conditions, condition))


def _plain_kind(node: exp.Expr) -> bool:
    kind = type(node).__name__
    return kind in (*_OF_ONE, *_OF_TWO, *_QUANTILE_NODES, "Count", "CountIf")


def _first(node: exp.Expr) -> str:
    column = node.find(_column())
    return "x" if column is None else str(column.sql())


def _column() -> Any:
    from sqlglot import exp

    return exp.Column
