"""The value of an expression on a batch of rows: NumPy on whole columns, the same on every source.

Numbers, dates and times are doubles, NaN where missing; labels are codes, -1 where missing; of a truth two masks are asked
for, where it is true and where it is false, and it is missing where it is neither.

Proof that a row's value is its own: every operation below is elementwise, or looks a cell's own text up in a table of
constants. An integer power is a fixed sequence of products; other powers, exponentials and logarithms are computed on
contiguous arrays, where NumPy's kernels treat every place alike.
"""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Callable
from functools import reduce
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from discreet.expressions import calendar
from discreet.expressions.tree import NEGATED, NUMBERS, Node

Floats = npt.NDArray[np.float64]
Codes = npt.NDArray[np.int32]
Mask = npt.NDArray[np.bool_]
_LARGEST_POWER = 64


class BatchRows(Protocol):
    """The rows of a batch, column by column."""

    size: int

    def doubles(self, name: str) -> Floats:
        """A column of numbers, dates or times; NaN where missing."""

    def places(self, name: str) -> Codes:
        """A column of categories as places in its labels; -1 where missing. Of a truth 0 is true and 1 is false."""

    def matching(self, name: str, wanted: Callable[[str], bool]) -> tuple[Mask, Mask]:
        """Of a column of text: where it is there and wanted, and where it is there and not."""


_COMPARE: dict[str, Callable[[Any, Any], Any]] = {
    "<": np.less, "<=": np.less_equal, ">": np.greater, ">=": np.greater_equal, "==": np.equal,
    "!=": lambda a, b: np.less(a, b) | np.greater(a, b),
}  # fmt: skip
_SIMPLE: dict[str, Callable[[Any], Any]] = {
    "abs": np.abs, "sqrt": np.sqrt, "exp": np.exp, "log": np.log, "log10": np.log10, "floor": np.floor, "ceil": np.ceil,
    "round": np.rint,
}  # fmt: skip
_ARITHMETIC: dict[str, Callable[..., Any]] = {
    "+": np.add, "-": np.subtract, "*": np.multiply, "/": np.divide, "//": np.floor_divide, "%": np.mod,
}  # fmt: skip

_UNDEFINED = (*_SIMPLE, *_ARITHMETIC, "**", "days", "shift")  # what may be infinite where it is not defined


def arithmetic(op: str, left: Any, right: Any, out: Floats | None = None) -> Any:
    """An operation on doubles, not finite where it is not defined; a new array, or ``out``, one of the arguments."""
    with np.errstate(all="ignore"):
        if op in ("+", "-", "*", "/"):
            return _ARITHMETIC[op](left, right, out=out)
        if op != "**":
            return _ARITHMETIC[op](left, right)
        if isinstance(right, float) and right == int(right) and abs(right) <= _LARGEST_POWER:
            return _whole_power(left, int(right), out)
        if isinstance(right, float) and right == 0.5:
            return np.sqrt(left)
        return np.power(*(np.ascontiguousarray(each) if np.ndim(each) else each for each in (left, right)))


def _whole_power(base: Any, power: int, out: Floats | None) -> Any:
    """Squares and products in a fixed order."""
    made, square, left = None, base, abs(power)
    while left:
        if left & 1:
            made = np.positive(square) if made is None else np.multiply(made, square, out=made if np.ndim(made) else None)
        left >>= 1
        if left:
            square = np.multiply(square, square, out=out)
            out = square if np.ndim(square) else None
    if made is None:
        made = base * 0 + 1.0  # missing stays missing
    return np.divide(1.0, made) if power < 0 else made


def _defined(values: Any) -> Any:
    """Without what is infinite: the result of an overflow or of a division by zero is missing."""
    if np.isfinite(np.sum(values)) or np.isfinite(values).all():  # a finite sum has finite parts, and is found sooner
        return values
    return np.where(np.isinf(values), np.nan, values)


def numbers(node: Node, rows: BatchRows) -> Floats:
    """The value of a number, a date or a time."""
    with np.errstate(all="ignore"):
        return np.broadcast_to(np.asarray(_number(node, rows), np.float64), (rows.size,))


def _number(node: Node, rows: BatchRows) -> Any:
    """The value as an array, or as one number where it is the same in every row; missing where it is not defined."""
    value = _bare(node, rows)
    return _defined(value) if node.op in _UNDEFINED else value


def _bare(node: Node, rows: BatchRows) -> Any:
    """The value, infinite where the last operation is not defined. Of anything but a column it is an array of its own."""
    if node.is_constant:
        return node.value
    if node.op == "column":
        return rows.doubles(node.value)
    if node.op == "if":
        test, yes, no = node.args
        other = np.where(false(test, rows), _number(no, rows), np.nan)
        return np.where(true(test, rows), _number(yes, rows), other)
    args = [(_bare if _stays_infinite(node, place) else _number)(each, rows) for place, each in enumerate(node.args)]
    match node.op:
        case "coalesce":
            return reduce(lambda a, b: np.where(np.isnan(a), b, a), args)
        case "min" | "max":
            return reduce(np.minimum if node.op == "min" else np.maximum, args)
        case "negative":
            return np.negative(args[0])
        case "days":
            return (args[0] - args[1]) / (1.0 if node.args[0].kind == "date" else calendar.DAY)
        case "shift":
            return args[0] + args[1] * (1.0 if node.kind == "date" else calendar.DAY)
        case "date":
            return np.floor(args[0] / calendar.DAY)
        case "datetime":
            return args[0] * calendar.DAY
        case "year" | "quarter" | "month" | "day" | "weekday":
            return calendar.part(node.op, args[0] / (1.0 if node.args[0].kind == "date" else calendar.DAY))
        case "hour" | "minute":
            return calendar.clock(node.op, args[0])
    if node.op in _SIMPLE:
        return _SIMPLE[node.op](np.ascontiguousarray(args[0]))
    left, right = args
    return arithmetic(node.op, left, right, out=_spare(node, args))


def _stays_infinite(node: Node, place: int) -> bool:
    """Whether an argument that is infinite, in whatever company, makes the value infinite or missing.

    Then it need not be made missing before: the value will be. An infinite divisor would give 0 instead.
    """
    if node.op in ("+", "-", "*", "days", "shift"):
        return True
    power = node.args[-1].value
    return place == 0 and (node.op == "/" or (node.op == "**" and node.args[-1].is_constant and power > 0))


def _spare(node: Node, args: list[Any]) -> Floats | None:
    """Of the arguments one that was made for this operation, so that the value may be written over it."""
    made = (value for each, value in zip(node.args, args, strict=True) if each.op not in ("column", "constant"))
    return next((value for value in made if np.ndim(value) and value.dtype == np.float64 and value.flags.writeable), None)


def codes(node: Node, rows: BatchRows) -> Codes:
    """The value of labels, as places in ``node.labels``."""
    with np.errstate(all="ignore"):
        return _codes(node, rows)


def _codes(node: Node, rows: BatchRows) -> Codes:
    if node.is_constant:
        return np.zeros(rows.size, np.int32)
    if node.op == "column":
        return rows.places(node.value)
    if node.op == "bins":
        edges = np.array(node.value[0])
        values = numbers(node.args[0], rows)
        place = np.searchsorted(edges, values, side="right") - 1
        place = np.where(values == edges[-1], len(edges) - 2, place)
        return np.where((values >= edges[0]) & (values <= edges[-1]), place, -1).astype(np.int32)
    made = [_relabelled(each, node, rows) for each in node.args[node.op == "if" :]]
    if node.op == "if":
        other = np.where(false(node.args[0], rows), made[1], np.int32(-1))
        return np.where(true(node.args[0], rows), made[0], other)
    return reduce(lambda a, b: np.where(a < 0, b, a), made)


def _relabelled(node: Node, within: Node, rows: BatchRows) -> Codes:
    """Codes as places in the labels of a larger expression."""
    table = np.array([*(within.labels.index(label) for label in node.labels), -1], np.int32)
    return table[_codes(node, rows)]


def true(node: Node, rows: BatchRows) -> Mask:
    """Where a truth is true."""
    with np.errstate(all="ignore"):
        return _where(node, rows, True)


def false(node: Node, rows: BatchRows) -> Mask:
    """Where a truth is false."""
    with np.errstate(all="ignore"):
        return _where(node, rows, False)


def _where(node: Node, rows: BatchRows, wanted: bool) -> Mask:
    if node.is_constant:
        return np.full(rows.size, node.value is wanted)
    if node.op == "not":
        return _where(node.args[0], rows, not wanted)
    if node.op in ("and", "or"):
        join = np.logical_and if (node.op == "and") is wanted else np.logical_or
        joined: Mask = reduce(join, (_where(each, rows, wanted) for each in node.args))
        return joined
    if node.op in _COMPARE:
        op = node.op if wanted else NEGATED[node.op]
        found = _COMPARE[op](_number(node.args[0], rows), _number(node.args[1], rows))
        return found if np.shape(found) == (rows.size,) else np.broadcast_to(found, (rows.size,))
    if node.op in ("in", "not in"):
        return _within(node, rows, (node.op == "in") is wanted)
    if node.op == "column":
        return np.equal(rows.places(node.value), 0 if wanted else 1)
    if node.op == "missing":
        gone = _missing(node.args[0], rows)
        return gone if wanted else ~gone
    if node.op == "if":
        test, yes, no = node.args
        return (_where(test, rows, True) & _where(yes, rows, wanted)) | (
            _where(test, rows, False) & _where(no, rows, wanted)
        )
    if node.op == "coalesce":
        return _first(node, rows, wanted)
    return _matched(node, rows, wanted)


def _first(node: Node, rows: BatchRows, wanted: bool) -> Mask:
    """Where the first truth of several that is not missing is as wanted."""
    found, left = np.zeros(rows.size, bool), np.ones(rows.size, bool)
    for each in node.args:
        yes, no = _where(each, rows, wanted), _where(each, rows, not wanted)
        found |= left & yes
        left &= ~(yes | no)
    return found


def _missing(node: Node, rows: BatchRows) -> Mask:
    if node.kind in NUMBERS:
        return np.isnan(numbers(node, rows))
    if node.kind == "label":
        return _codes(node, rows) < 0
    if node.kind == "text":
        return ~rows.matching(node.value, lambda text: True)[0]
    return ~(_where(node, rows, True) | _where(node, rows, False))


def _within(node: Node, rows: BatchRows, inside: bool) -> Mask:
    """Where a value is there and in the list, or there and not in it."""
    of = node.args[0]
    if of.kind == "text":
        return rows.matching(of.value, frozenset(node.value).__contains__)[0 if inside else 1]
    if of.kind == "label":
        chosen = [(label in node.value) is inside for label in of.labels]
        return np.array([*chosen, False])[_codes(of, rows)]
    values = numbers(of, rows)
    found = np.isin(values, node.value)
    return found if inside else ~(found | np.isnan(values))


def _matched(node: Node, rows: BatchRows, wanted: bool) -> Mask:
    """A text, or a label, that a pattern fits."""
    of, word, pattern = node.args[0], node.value, re.compile(_glob(node.value))
    fits: Callable[[str], bool] = {
        "contains": lambda text: word in text,
        "startswith": lambda text: text.startswith(word),
        "endswith": lambda text: text.endswith(word),
        "matches": lambda text: pattern.match(text) is not None,
    }[node.op]
    if of.kind == "text":
        return rows.matching(of.value, fits)[0 if wanted else 1]
    return np.array([*(fits(label) is wanted for label in of.labels), False])[_codes(of, rows)]


def _glob(word: str) -> str:
    """A pattern in which ``*`` is any text and ``?`` any letter; square brackets are letters."""
    return fnmatch.translate(word.replace("[", "[[]"))
