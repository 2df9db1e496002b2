"""What a frame of Spark Connect may be made of: less than a classic one, because its plan is not resolved on this side.

Types come from the server, relation by relation; whatever text the server would still have to parse is refused. A name is
that of a stored table, never of a view, and is looked up again before every question. See ``spark_plans`` for why.

Proof: as there. Columns, aliases, constants and the comparisons of two values of one type are total, and no cast is hidden
in them: Spark inserts one only where types differ.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from discreet.sources.spark_plans import PROVIDERS, REBASED, check_option, unfit

_THROUGH = {  # relations that compute nothing themselves
    "deduplicate", "drop", "filter", "hint", "join", "project", "repartition", "repartition_by_expression", "set_op", "sort",
    "subquery_alias", "to_df", "with_columns", "with_columns_renamed",
}  # fmt: skip
_LEAVES = {"cached_local_relation", "chunked_cached_local_relation", "local_relation", "range"}
_COMPARED = {"==", "!=", "<", "<=", ">", ">=", "<=>", "in"}
_LOGIC = {"and", "or", "not"}
_OF_ANY = {"isnull", "isnotnull"}
_LITERALS = {
    "boolean": "boolean", "byte": "tinyint", "short": "smallint", "integer": "int", "long": "bigint", "float": "float",
    "double": "double", "string": "string", "date": "date",
}  # fmt: skip
_WIDENED = {"tinyint", "smallint", "int", "bigint", "float", "double"}  # compared as the wider of the two, which is total


def check_relation(frame: Any) -> None:
    """Refuse a frame by Connect that a record could make fail. Looks at no record."""
    session = frame.sparkSession
    try:
        plan = frame._plan.to_proto(session.client).root
    except Exception as problem:
        raise unfit(f"a plan that cannot be read ({type(problem).__name__})") from None
    _Reader(session).check(plan)


class _Reader:
    def __init__(self, session: Any) -> None:
        self.session = session

    def check(self, relation: Any) -> None:
        """Refuse a relation, or one below it."""
        kind = relation.WhichOneof("rel_type")
        if kind in _LEAVES:
            return
        own: Any = getattr(relation, kind or "read")
        if kind == "read":
            self._check_read(own)
            return
        if kind not in _THROUGH:
            raise unfit(f"a relation of the kind {kind}")
        inputs = (
            [own.left, own.right]
            if kind == "join"
            else [own.left_input, own.right_input]
            if kind == "set_op"
            else [own.input]
        )
        for each in inputs:
            self.check(each)
        if kind == "join":
            self._check_join(own)
        elif kind == "set_op":
            self._check_union(own)
        else:
            self._check_parts(kind, own)

    def _check_read(self, read: Any) -> None:
        if read.is_streaming:
            raise unfit("a stream")
        if read.WhichOneof("read_type") == "data_source":
            form = read.data_source.format.lower()
            if form not in PROVIDERS:
                raise unfit(f"files of {form[:40] or 'no format'}")
            for word, mode in read.data_source.options.items():
                if word.casefold() in map(str.casefold, REBASED):
                    check_option(word, mode)
            return
        name = read.named_table.unparsed_identifier
        try:
            known = self.session.sql(f"DESCRIBE TABLE EXTENDED {name}").collect()
        except Exception:
            raise unfit(f"the table {name!r}, which the catalog does not describe") from None
        start = max((place for place, row in enumerate(known) if str(row[0]).startswith("# Detailed")), default=len(known))
        facts = {str(row[0]): str(row[1]) for row in known[start:]}
        if facts.get("Type", "").upper() not in ("MANAGED", "EXTERNAL"):
            raise unfit(f"{name!r}, which is no stored table")
        if facts.get("Provider", "").lower() not in PROVIDERS:
            raise unfit(f"{name!r}, a table of {facts.get('Provider', 'an unknown kind')[:40]}")

    def _check_join(self, join: Any) -> None:
        if join.HasField("join_condition"):
            raise unfit("a join by a condition (join by columns of one name and type)")
        left, right = self._types(join.left), self._types(join.right)
        for name in join.using_columns:
            if left.get(name.casefold(), "?") != right.get(name.casefold(), "!"):
                raise unfit(f"a join by {name!r}, which is of two types")

    def _check_union(self, union: Any) -> None:
        left, right = (list(self._types(each).items()) for each in (union.left_input, union.right_input))
        if union.by_name:
            left, right = sorted(left), sorted(right)
        if [kind for _, kind in left] != [kind for _, kind in right]:
            raise unfit("a union of columns of two types")

    def _check_parts(self, kind: str, own: Any) -> None:
        """The expressions of a relation with one input."""
        found: dict[str, Callable[[], Any]] = {
            "project": lambda: own.expressions,
            "filter": lambda: [own.condition],
            "sort": lambda: [each.child for each in own.order],
            "with_columns": lambda: [each.expr for each in own.aliases],
            "repartition_by_expression": lambda: own.partition_exprs,
            "drop": lambda: own.columns,
            "hint": lambda: own.parameters,
        }
        parts = found[kind]() if kind in found else ()
        if parts:
            types = self._types(own.input)
            for each in parts:
                self._type(each, types)

    def _types(self, relation: Any) -> dict[str, str]:
        """The columns of a relation with their types; as names are compared without regard to case."""
        from pyspark.sql.connect import proto

        messages: Any = proto
        found = self.session.client.schema(messages.Plan(root=relation))
        return {field.name.casefold(): field.dataType.simpleString() for field in found.fields}

    def _type(self, part: Any, types: dict[str, str]) -> str:
        """The type of an expression that is total, '' of all columns."""
        kind = part.WhichOneof("expr_type")
        if kind == "unresolved_attribute":
            return self._column(part.unresolved_attribute.unparsed_identifier, types)
        if kind == "unresolved_star":
            return ""
        if kind == "sort_order":
            return self._type(part.sort_order.child, types)
        if kind == "alias":
            return self._type(part.alias.expr, types)
        if kind == "literal":
            word = part.literal.WhichOneof("literal_type")
            if word not in _LITERALS:
                raise unfit(f"a constant of the kind {word}")
            return _LITERALS[word]
        if kind != "unresolved_function":
            text = " (build it of columns, as in functions.col('x') > 3)" if kind == "expression_string" else ""
            raise unfit(f"an expression of the kind {kind}{text}")
        return self._result(part.unresolved_function, types)

    def _column(self, given: str, types: dict[str, str]) -> str:
        name = given[1:-1].replace("``", "`") if given[:1] == given[-1:] == "`" else given
        if name.casefold() not in types:
            raise unfit(f"{given!r}, which is no column of what it is selected from")
        return types[name.casefold()]

    def _result(self, call: Any, types: dict[str, str]) -> str:
        name = call.function_name.lower()
        kinds = [self._type(each, types) for each in call.arguments]
        if call.is_user_defined_function or call.is_distinct or name not in _COMPARED | _LOGIC | _OF_ANY:
            raise unfit(f"the function {name[:40]}")
        one = len(set(kinds)) == 1 or set(kinds) <= _WIDENED
        if (name in _LOGIC and set(kinds) != {"boolean"}) or (name in _COMPARED and not one):
            raise unfit(f"{name} between {' and '.join(sorted(set(kinds)))}, for which a cast would be inserted")
        return "boolean"
