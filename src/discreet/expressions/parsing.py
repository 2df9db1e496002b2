"""From text to a tree: Python's parser, a closed list of what may stand in an expression, and a check of every kind."""

from __future__ import annotations

import ast
import difflib
import math
import warnings
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

from discreet.errors import InvalidRequest, UnknownName
from discreet.expressions import calendar
from discreet.expressions.tree import COMPARED, NEGATED, NUMBERS, Kind, KnownColumn, Node, number, text, truth

_LONGEST, _DEEPEST, _MOST_EDGES = 4000, 60, 1001
_ARITHMETIC: dict[type[ast.operator], str] = {
    ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/", ast.FloorDiv: "//", ast.Mod: "%", ast.Pow: "**",
}  # fmt: skip
_COMPARISONS: dict[type[ast.cmpop], str] = {
    ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=", ast.Eq: "==", ast.NotEq: "!=", ast.In: "in", ast.NotIn: "not in",
}  # fmt: skip
OF_NUMBERS = ("abs", "sqrt", "exp", "log", "log10", "floor", "ceil", "round")
DATE_PARTS = ("year", "quarter", "month", "day", "weekday")
CLOCK_PARTS = ("hour", "minute")
MATCHES = ("contains", "startswith", "endswith", "matches")
FUNCTIONS = (
    *OF_NUMBERS, "min", "max", "coalesce", "missing", "between", "bins", *DATE_PARTS, *CLOCK_PARTS, "date", "datetime",
    *MATCHES, "column",
)  # fmt: skip

Columns = Callable[[str], KnownColumn]


def read(source: str, columns: Columns) -> Node:
    """The tree of an expression. ``columns`` says what is known of a column, and refuses a name that is none.

    Every refusal is about the text and the declarations: no record is in reach.
    """
    if not isinstance(source, str) or not source.strip():
        raise InvalidRequest(f"an expression must be some text, got {source!r}")
    if len(source) > _LONGEST:
        raise InvalidRequest(
            f"an expression must have at most {_LONGEST} characters, got {len(source)}; declare parts of it"
        )
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # what Python finds odd is refused below, or is none of its business
            parsed = ast.parse(source.strip(), mode="eval").body
        return _Reader(source, columns).read(parsed, 0)
    except (SyntaxError, ValueError, RecursionError, MemoryError, OverflowError) as problem:
        if isinstance(problem, InvalidRequest | UnknownName):
            raise
        raise InvalidRequest(
            f"expression {_short(source)} cannot be read; write as in \"age >= 60 and sex == 'f'\""
        ) from None


def _short(source: str) -> str:
    plain = " ".join(source.split())
    return repr(plain if len(plain) <= 60 else plain[:57] + "...")


class _Reader:
    def __init__(self, source: str, columns: Columns) -> None:
        self.source = source
        self.columns = columns

    def refused(self, rule: str) -> InvalidRequest:
        return InvalidRequest(f"expression {_short(self.source)}: {rule}")

    def read(self, node: ast.expr, depth: int) -> Node:
        if depth > _DEEPEST:
            raise self.refused(f"must be nested at most {_DEEPEST} deep; declare parts of it as columns")
        deeper = depth + 1
        match node:
            case ast.Constant():
                return self.constant(node.value)
            case ast.Name():
                return self.column(node.id)
            case ast.UnaryOp(op=ast.Not()):
                return self.negate(self.read(node.operand, deeper))
            case ast.UnaryOp(op=ast.USub() | ast.UAdd()):
                inner = self.of_kind(self.read(node.operand, deeper), ("number",), "a sign")
                return self.negative(inner) if isinstance(node.op, ast.USub) else inner
            case ast.BoolOp():
                word = "and" if isinstance(node.op, ast.And) else "or"
                return self.joined(word, [self.read(each, deeper) for each in node.values])
            case ast.BinOp() if type(node.op) in _ARITHMETIC:
                return self.arithmetic(
                    _ARITHMETIC[type(node.op)], self.read(node.left, deeper), self.read(node.right, deeper)
                )
            case ast.Compare():
                return self.comparisons(node, deeper)
            case ast.IfExp():
                return self.choice(*(self.read(each, deeper) for each in (node.test, node.body, node.orelse)))
            case ast.Call(func=ast.Name(id=name)) if not node.keywords:
                return self.call(name, node.args, deeper)
        raise self.refused(
            "only columns, constants, arithmetic, comparisons, and, or, not, if, in and functions may stand in it"
        )

    def constant(self, value: Any) -> Node:
        if isinstance(value, bool):
            return truth(value)
        if isinstance(value, int | float):
            made = float(value)
            if not math.isfinite(made):
                raise self.refused(f"a number must be finite, got {value!r}")
            return number(made)
        if isinstance(value, str):
            return Node("constant", "word", value=value)
        raise self.refused(f"a constant must be a number, a text, True or False, got {value!r}")

    def column(self, name: str) -> Node:
        known = self.columns(name)
        return Node("column", known.kind, value=name, labels=known.labels)

    def of_kind(self, node: Node, kinds: Sequence[Kind], what: str) -> Node:
        """The node as one of the kinds; a word becomes a date where a date is wanted."""
        if node.kind == "word" and "word" not in kinds:
            for kind in kinds:
                if kind in ("date", "datetime"):
                    return self.moment(kind, node.value)
        if node.kind not in kinds:
            raise self.refused(f"{what} needs {' or '.join(kinds)}, got {text(node)!r}, which is a {node.kind}")
        return node

    def moment(self, kind: Kind, word: str) -> Node:
        try:
            value = calendar.day_of(word) if kind == "date" else calendar.second_of(word)
        except ValueError:
            example = "2020-12-31" if kind == "date" else "2020-12-31 23:59"
            raise self.refused(f"a {kind} must be written as in {example!r}, got {word!r}") from None
        return Node("constant", kind, value=value)

    def negative(self, node: Node) -> Node:
        return number(-node.value) if node.is_constant else Node("negative", "number", (node,))

    def negate(self, node: Node) -> Node:
        """``not``, moved down to the leaves."""
        self.of_kind(node, ("truth",), "not")
        if node.op in ("and", "or"):
            return self.joined("or" if node.op == "and" else "and", [self.negate(each) for each in node.args])
        if node.op == "not":
            return node.args[0]
        if node.is_constant:
            return truth(not node.value)
        if node.op in COMPARED:
            return self.compared(NEGATED[node.op], *node.args)
        if node.op in NEGATED:
            return Node(NEGATED[node.op], "truth", node.args, node.value)
        return Node("not", "truth", (node,))

    def joined(self, word: str, members: Sequence[Node]) -> Node:
        """``and`` or ``or`` of several, in order and each once."""
        flat: dict[str, Node] = {}
        for member in members:
            self.of_kind(member, ("truth",), word)
            for each in member.args if member.op == word else (member,):
                flat[text(each)] = each
        ordered = tuple(flat[key] for key in sorted(flat))
        return ordered[0] if len(ordered) == 1 else Node(word, "truth", ordered)

    def arithmetic(self, op: str, left: Node, right: Node) -> Node:
        days = self.days(op, left, right)
        if days is not None:
            return days
        for each in (left, right):
            self.of_kind(each, ("number",), repr(op))
        if left.is_constant and right.is_constant:
            from discreet.expressions.evaluating import arithmetic

            found = float(arithmetic(op, left.value, right.value))
            if not math.isfinite(found):
                raise self.refused(f"{text(left)} {op} {text(right)} is not defined")
            return number(found)
        pair = tuple(sorted((left, right), key=text)) if op in ("+", "*") else (left, right)
        return Node(op, "number", pair)

    def days(self, op: str, left: Node, right: Node) -> Node | None:
        """A difference of dates or times, in days, and a date or time some days away; None where neither is one."""
        for kind in ("date", "datetime"):
            if kind not in (left.kind, right.kind) or op not in ("+", "-"):
                continue
            if op == "-" and {left.kind, right.kind} <= {kind, "word"}:
                return Node("days", "number", (self.of_kind(left, (kind,), "-"), self.of_kind(right, (kind,), "-")))
            if left.kind == kind and right.kind == "number":
                return Node("shift", left.kind, (left, right if op == "+" else self.negative(right)))
        return None

    def comparisons(self, node: ast.Compare, depth: int) -> Node:
        made, left = [], node.left
        for op, right in zip(node.ops, node.comparators, strict=True):
            word = _COMPARISONS.get(type(op))
            if word is None:
                raise self.refused("things are compared by <, <=, >, >=, ==, != and in")
            if word in ("in", "not in"):
                if not isinstance(right, ast.List | ast.Tuple | ast.Set):
                    raise self.refused("in needs a list of constants, as in sex in ['f', 'm']")
                members = [self.read(each, depth) for each in right.elts]
                made.append(self.within(word, self.read(left, depth), members))
            else:
                made.append(self.compared(word, self.read(left, depth), self.read(right, depth)))
            left = right
        return self.joined("and", made)

    def compared(self, op: str, left: Node, right: Node) -> Node:
        if left.is_constant and not right.is_constant:
            op, left, right = COMPARED[op], right, left
        if left.kind in ("label", "text", "truth"):
            if op not in ("==", "!="):
                raise self.refused(f"{text(left)} can be compared by == and != only")
            return self.within("in" if op == "==" else "not in", left, [right])
        kinds: tuple[Kind, ...] = (left.kind,) if left.kind in NUMBERS else ("number", "date", "datetime")
        left, right = self.of_kind(left, kinds, repr(op)), self.of_kind(right, kinds, repr(op))
        if left.is_constant and right.is_constant:
            raise self.refused("two constants need no comparison; leave it out")
        if left.is_constant or (
            not right.is_constant and (op[0] == ">" or (op in ("==", "!=") and text(right) < text(left)))
        ):
            op, left, right = COMPARED[op], right, left
        return Node(op, "truth", (left, right))

    def within(self, op: str, left: Node, members: Sequence[Node]) -> Node:
        """Membership of a list of constants: a label by what it means, the rest by value."""
        if not members or not all(each.is_constant for each in members):
            raise self.refused(f"{text(left)} must be compared with constants, as in sex in ['f', 'm']")
        if left.kind == "truth":
            wanted = {self.of_kind(each, ("truth",), "in").value for each in members}
            same = truth(True) if len(wanted) == 2 else left if True in wanted else self.negate(left)
            if len(wanted) == 2:
                raise self.refused(f"{text(left)} is always True or False; leave the comparison out")
            return same if op == "in" else self.negate(same)
        if left.kind == "label":
            values: tuple[Any, ...] = tuple(sorted({self.label(left, each) for each in members}, key=left.labels.index))
        elif left.kind == "text":
            words = {self.of_kind(each, ("word",), "in").value for each in members}
            values = tuple(sorted({word.strip().casefold() if self.folded(left) else word for word in words}))
        else:
            kinds: tuple[Kind, ...] = (left.kind,)
            found = sorted({float(self.of_kind(each, kinds, "in").value) for each in members})
            self.of_kind(left, NUMBERS, "in")
            if len(found) == 1:
                return self.compared("==" if op == "in" else "!=", left, Node("constant", left.kind, value=found[0]))
            values = tuple(found)
        return Node(op, "truth", (left,), values)

    def label(self, left: Node, given: Node) -> str:
        """The declared label that a constant means."""
        word = given.value if given.kind == "word" else text(given)
        word = shown = word.lower() if given.kind == "truth" else word
        lookup = {label: place for place, label in enumerate(left.labels)}
        if left.op == "column":
            known = self.columns(left.value)
            lookup = dict(known.lookup)
            word = word.strip().casefold() if known.folded and word not in lookup else word
        if word not in lookup:
            near = difflib.get_close_matches(str(word), list(lookup), n=1)
            remedy = f"did you mean {near[0]!r}?" if near else f"known: {', '.join(left.labels)}"
            raise UnknownName(f"expression {_short(self.source)}: {text(left)} has no label {shown!r}; {remedy}")
        return left.labels[lookup[word]]

    def folded(self, of: Node) -> bool:
        """Whether letter case does not matter in a column."""
        return of.op == "column" and self.columns(of.value).folded

    def choice(self, test: Node, yes: Node, no: Node) -> Node:
        self.of_kind(test, ("truth",), "if")
        kind, (yes, no), labels = self.alike([yes, no])
        return Node("if", kind, (test, yes, no), labels=labels)

    def alike(self, members: Sequence[Node]) -> tuple[Kind, list[Node], tuple[str, ...]]:
        """Nodes as one kind: words become labels, or dates beside a date."""
        kinds = {each.kind for each in members if each.kind != "word"} or {"label"}
        if len(kinds) > 1 or kinds == {"text"}:
            said = " and ".join(sorted({each.kind for each in members}))
            raise self.refused(f"both sides must be of one kind, and no text, got {said}")
        kind = kinds.pop()
        words = kind == "label"
        made = [
            Node("constant", "label", value=each.value, labels=(each.value,))
            if words and each.kind == "word"
            else self.of_kind(each, (kind,), "each side")
            for each in members
        ]
        return kind, made, tuple(dict.fromkeys(label for each in made for label in each.labels))

    def call(self, name: str, given: Sequence[ast.expr], depth: int) -> Node:
        if name not in FUNCTIONS:
            near = difflib.get_close_matches(name, FUNCTIONS, n=1)
            remedy = f"did you mean {near[0]!r}?" if near else f"known: {', '.join(FUNCTIONS)}"
            raise UnknownName(f"expression {_short(self.source)}: there is no function {name!r}; {remedy}")
        if name == "bins":
            return self.bins(given, depth)
        args = [self.read(each, depth) for each in given if not isinstance(each, ast.Starred)]
        wanted = {"between": 3, **dict.fromkeys(MATCHES, 2)}.get(name, 1)
        if len(args) != len(given) or (len(args) < 2 if name in ("min", "max", "coalesce") else len(args) != wanted):
            many = (
                "two arguments or more" if name in ("min", "max", "coalesce") else f"{wanted} argument{'s' * (wanted > 1)}"
            )
            raise self.refused(f"{name} takes {many}, got {len(given)}")
        return self.applied(name, args)

    def applied(self, name: str, args: list[Node]) -> Node:
        first = args[0]
        match name:
            case "column" | "date" | "datetime" if first.is_constant and first.kind == "word":
                return self.column(first.value) if name == "column" else self.moment(name, first.value)
            case "column":
                raise self.refused("column takes a name in quotes")
            case "date":
                return Node("date", "date", (self.of_kind(first, ("datetime",), "date"),))
            case "datetime":
                return Node("datetime", "datetime", (self.of_kind(first, ("date",), "datetime"),))
            case "between":
                low, high = (self.compared(op, first, end) for op, end in zip((">=", "<="), args[1:], strict=True))
                return self.joined("and", [low, high])
            case "missing":
                self.of_kind(first, ("number", "truth", "label", "text", "date", "datetime"), "missing")
                return truth(False) if first.is_constant else Node("missing", "truth", (first,))
            case "coalesce":
                kind, made, labels = self.alike(args)
                return Node("coalesce", kind, tuple(made), labels=labels)
            case "min" | "max":
                kind, made, _ = self.alike(args)
                if kind not in NUMBERS:
                    raise self.refused(f"{name} needs numbers or dates, got a {kind}")
                unique = {text(each): each for each in made}
                ordered = tuple(unique[key] for key in sorted(unique))
                return ordered[0] if len(ordered) == 1 else Node(name, kind, ordered)
        if name in MATCHES:
            if not args[1].is_constant:
                raise self.refused(f"{name} takes a text in quotes as its second argument")
            word = self.of_kind(args[1], ("word",), name).value
            of = self.of_kind(first, ("text", "label"), name)
            return Node(name, "truth", (of,), word.casefold() if of.kind == "text" and self.folded(of) else word)
        if name in DATE_PARTS:
            return Node(name, "number", (self.of_kind(first, ("date", "datetime"), name),))
        if name in CLOCK_PARTS:
            return Node(name, "number", (self.of_kind(first, ("datetime",), name),))
        return Node(name, "number", (self.of_kind(first, ("number",), name),))

    def bins(self, given: Sequence[ast.expr], depth: int) -> Node:
        if len(given) not in (2, 3) or not all(isinstance(each, ast.List | ast.Tuple) for each in given[1:]):
            raise self.refused(
                "bins takes a number and a list of edges, as in bins(age, [0, 18, 65, 110]), and labels if wanted"
            )
        of = self.of_kind(self.read(given[0], depth), NUMBERS, "bins")
        lists = [[self.read(e, depth) for e in each.elts] for each in given[1:] if isinstance(each, ast.List | ast.Tuple)]
        ends = [self.of_kind(each, (of.kind,), "an edge of bins") for each in lists[0]]
        if not all(each.is_constant for each in ends):
            raise self.refused("the edges of bins must be constants")
        edges = tuple(float(each.value) for each in ends)
        if not 2 <= len(edges) <= _MOST_EDGES or any(a >= b for a, b in pairwise(edges)):
            raise self.refused(f"the edges of bins must increase, 2 to {_MOST_EDGES} of them")
        names = tuple(self.of_kind(each, ("word",), "a label of bins").value for each in lists[1]) if lists[1:] else ()
        if names and (len(names) != len(edges) - 1 or len(set(names)) != len(names) or "" in names):
            raise self.refused(f"bins with {len(edges) - 1} intervals takes as many different labels, got {len(names)}")
        return Node("bins", "label", (of,), (edges, names), names or _intervals(of.kind, edges))


def _intervals(kind: Kind, edges: Sequence[float]) -> tuple[str, ...]:
    """Labels for bins, as a histogram has them; with all digits where fewer do not tell them apart."""
    say: Callable[[float], str] = {"date": calendar.written, "datetime": calendar.written_time}.get(kind, "{:g}".format)
    shown = [say(edge) for edge in edges]
    shown = shown if len(set(shown)) == len(shown) else [repr(edge) for edge in edges]
    last = len(edges) - 2
    return tuple(f"[{a}, {b}{']' if i == last else ')'}" for i, (a, b) in enumerate(pairwise(shown)))
