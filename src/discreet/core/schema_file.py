"""A schema as TOML and JSON hold it: written, and read with the place of every mistake."""

from __future__ import annotations

import difflib
import json
import re
from collections.abc import Callable
from typing import Any, TypeVar

from discreet.core.boolean import Boolean
from discreet.core.bounded import Integer, Real
from discreet.core.categories import Categories
from discreet.core.dates_and_times import Date, Datetime, Duration
from discreet.core.declaring import PRIVATE
from discreet.core.dialect import KEYS as DIALECT_KEYS
from discreet.core.dialect import Dialect
from discreet.core.labels import closest
from discreet.core.text import Text
from discreet.core.toml import Place
from discreet.errors import DiscreetError, InvalidRequest, UnsupportedFormat

S = TypeVar("S")
KEYS = ("columns", "person", "max_rows", "neighbors", "expected_rows", "population", *DIALECT_KEYS)
_NUMBERS: dict[str, type[Real] | type[Integer]] = {each.type: each for each in (Real, Integer, Date, Datetime, Duration)}
_TYPES = (Real.type, Integer.type, Categories.type, "boolean", "date", "datetime", "duration", "text")
_MORE = {"date": ("formats", "zone"), "datetime": ("formats", "zone"), "duration": ("unit",)}  # keys beside the bounds


def written(doc: dict[str, Any]) -> str:
    """The TOML of what ``Schema.to_dict`` gives."""
    columns = doc.pop("columns")
    lines = [f"{key} = {_toml(value)}" for key, value in doc.items()]
    if not columns:
        lines.append("[columns]")
    for name, column in columns.items():
        lines += ["", f"[columns.{_toml_key(name)}]", *(f"{key} = {_toml(value)}" for key, value in column.items())]
    return "\n".join([*lines, ""])


def _toml_text(text: str) -> str:
    """JSON's escapes are TOML's too, except that TOML wants DEL escaped and no surrogate pairs."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def _toml_key(name: str) -> str:
    return name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else _toml_text(name)


def _toml(value: Any) -> str:
    if isinstance(value, dict):
        return f"{{{', '.join(f'{_toml_key(key)} = {_toml(each)}' for key, each in value.items())}}}"
    if isinstance(value, list):
        return f"[{', '.join(map(_toml, value))}]"
    return _toml_text(value) if isinstance(value, str) else json.dumps(value)


def read(make: Callable[..., S], doc: Any, place: Place) -> S:
    """What ``make``, a Schema, is from plain values; ``place`` turns the path of a key into the start of an error's text."""
    if not isinstance(doc, dict):
        raise UnsupportedFormat(f"{place()}a schema is a table of keys, got {doc!r}")
    for key in doc:
        if key not in KEYS:
            raise UnsupportedFormat(f"{place(key)}unknown key {key!r}{closest(key, KEYS)}")
    if not isinstance(doc.get("columns"), dict):
        raise UnsupportedFormat(
            f"{place('columns')}columns must be a table, got {doc.get('columns')!r}; write [columns.age]"
        )
    columns = {name: _read_column(name, value, place) for name, value in doc["columns"].items()}
    dialect = {key: doc[key] for key in DIALECT_KEYS if key in doc}
    facts = {key: value for key, value in doc.items() if key not in dialect}
    try:
        return make(**{**facts, "columns": columns, "dialect": Dialect.of(dialect)})
    except DiscreetError as problem:
        path = ("columns", problem.column, problem.key) if problem.column else (problem.key,)
        raise problem.at(place(*path)) from None


_WANTED = {
    "values": ('a list of labels, or "private"', 'list the public labels, as in values = ["a", "b"]'),
    "bounds": ("two numbers [lo, hi]", "declare the public range, as in {} = [0, 100]"),
}


def _read_column(name: str, doc: Any, place: Place) -> Real | Integer | Categories:
    def refuse(key: str, text: str, remedy: str = "") -> UnsupportedFormat:
        return UnsupportedFormat(f"column {name!r}: {text}", key=key, remedy=remedy).at(place("columns", name, key))

    if not isinstance(doc, dict):
        raise refuse("", f"a column is a table, got {doc!r}; write [columns.{name}]")
    kind = doc.get("type")
    if not isinstance(kind, str) or kind not in _TYPES:
        near = difflib.get_close_matches(str(kind), _TYPES, n=1)
        remedy = f"did you mean {near[0]!r}?" if near else 'write type = "real"'
        raise refuse("type", f"type must be one of {', '.join(_TYPES)}, got {kind!r}", remedy)
    main = "values" if kind == "category" else "bounds"
    private = doc.get(main) == PRIVATE
    if kind in ("boolean", "text"):
        return _read_unbounded(name, kind, doc, place)
    known: tuple[str, ...] = ("type", "bounds", "missing", *_MORE.get(kind, ()))
    if kind == "category":
        known = ("type", "values", "other", "missing", *(() if private else ("aliases", "fold")))
    known = (*known, "formula")
    if private:
        known = (*known, "price", *(("minimum",) if kind == "category" else ("outer",)))
    for key in doc:
        if key not in known:
            raise refuse(key, f"unknown key {key!r}{closest(key, known)}")
    given = doc.get(main)
    if private and kind == "category":
        given = PRIVATE
    elif private:
        main, given = "outer", doc.get("outer")
        if "price" not in doc:
            raise refuse("bounds", "private bounds need a price; write price = {epsilon = 0.1}")
    if given != PRIVATE and (not isinstance(given, list) or (main != "values" and len(given) != 2)):
        wanted, remedy = _WANTED["values" if main == "values" else "bounds"]
        raise refuse(main, f"{main} must be {wanted}, got {given!r}", remedy.format(main))
    rest = {key: value for key, value in doc.items() if key not in ("type", "bounds", main)}
    try:
        if given == PRIVATE:
            return Categories(PRIVATE, **rest)  # type: ignore[arg-type]
        if kind == "category":
            return Categories(tuple(given), **rest)
        return _NUMBERS[kind](*given, **rest)
    except DiscreetError as problem:
        at = problem.key if problem.key in doc else main
        raise InvalidRequest(f"{place('columns', name, at)}column {name!r}: {problem}") from None


def _read_unbounded(name: str, kind: str, doc: dict[str, Any], place: Place) -> Real | Integer | Categories:
    """A column of yes and no, or of text."""
    known = ("true", "false", "missing", "formula") if kind == "boolean" else ("fold",)
    rest = {key: value for key, value in doc.items() if key != "type"}
    for key in rest:
        if key not in known:
            where = place("columns", name, key)
            raise UnsupportedFormat(f"{where}column {name!r}: unknown key {key!r}{closest(key, known)}")
    try:
        return Boolean(**rest) if kind == "boolean" else Text(**rest)
    except DiscreetError as problem:
        at = problem.key if problem.key in doc else "type"
        raise InvalidRequest(f"{place('columns', name, at)}column {name!r}: {problem}") from None
