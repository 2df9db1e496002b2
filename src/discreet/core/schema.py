"""The public facts about a table: declared by a person, never read off the data.

A ``Schema`` says what each column may hold, what a missing value becomes, who is one person, how many rows a person
keeps, and which tables are neighbours. Whatever breaks a declaration is refused here, before any record is looked at.
"""

from __future__ import annotations

import difflib
import json
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from numbers import Integral
from numbers import Real as RealNumber
from pathlib import Path
from typing import Any, ClassVar, Self, TypeAlias

from discreet.core import numbers, toml
from discreet.core.derived import Derivation
from discreet.core.dialect import KEYS as DIALECT_KEYS
from discreet.core.dialect import Dialect
from discreet.core.query import Relation, check_relation
from discreet.errors import DiscreetError, InvalidRequest, UnknownName, UnsupportedFormat
from discreet.expressions import Known
from discreet.expressions import read as read_expression

Label: TypeAlias = str | int | bool

_LARGEST_WHOLE = 2**53  # whole numbers up to here are exact in doubles
PRIVATE = "private"  # the word for bounds and labels that are yet to be found
_KEYS = ("columns", "person", "max_rows", "neighbors", "expected_rows", "population", *DIALECT_KEYS)


def canonical(label: Label) -> str:
    """The text by which a category or a person id is compared: ``1``, ``"1"`` and ``1.0`` are the same."""
    return ("true" if label else "false") if isinstance(label, bool) else str(label)


def fold(text: str) -> str:
    """A text without regard to letter case and to spaces around it."""
    return text.strip().casefold()


def closest(name: str, known: Iterable[str]) -> str:
    """``; did you mean 'age'?`` when a known name is near, else the known names."""
    names = list(known)
    near = difflib.get_close_matches(name, names, n=1)
    return f"; did you mean {near[0]!r}?" if near else f"; known: {', '.join(names) or 'none'}"


# Beyond these, squares and scales of a column leave the range of doubles.
_NARROWEST, _WIDEST = 1e-100, 1e100


def check_apart(lo: float, hi: float, name: str, least: float = _NARROWEST) -> None:
    """Refuse two public numbers between which arithmetic in doubles would overflow, underflow or lose them."""
    if not hi - lo >= least or not max(abs(lo), abs(hi)) <= _WIDEST:
        raise InvalidRequest(
            f"{name} must lie within {_WIDEST:g} and at least {least:g} apart, got ({lo}, {hi}); use another unit"
        )


_CURRENCIES = ("epsilon", "delta", "rho")
OTHER = "(other)"  # the label of values that were not found, where none is declared

_Currencies: TypeAlias = tuple[tuple[str, Any], ...]


def _price(given: Any, wanted: str) -> _Currencies | None:
    """What finding a private declaration costs: epsilon, epsilon and delta, or rho."""
    if given is None:
        return None
    try:
        price = dict(given)
        unknown = next((key for key in price if key not in _CURRENCIES), None)
    except (TypeError, ValueError):
        raise InvalidRequest(f"price must be {wanted}, got {given!r}") from None
    if unknown is not None or not price:
        raise InvalidRequest(f"price must be {wanted}, got {given!r}")
    for key, value in price.items():
        (numbers.probability if key == "delta" else numbers.positive)(value, f"price: {key}")
    return tuple(sorted(price.items()))


@dataclass(frozen=True)
class _Bounded:
    """What the two kinds of number share: public bounds, and what a missing value becomes."""

    lo: float
    hi: float
    missing: float | str | None = None
    price: _Currencies | Mapping[str, Any] | None = field(default=None, kw_only=True)
    formula: str | None = field(default=None, kw_only=True)
    type: ClassVar[str]

    def __post_init__(self) -> None:
        _check_formula(self.formula)
        object.__setattr__(self, "price", _price(self.price, "such as {'epsilon': 0.1} or {'rho': 0.01}"))
        for side in ("lo", "hi"):
            object.__setattr__(self, side, self._number(getattr(self, side), side))
        if not self.lo < self.hi:
            raise InvalidRequest(f"bounds must be finite with lo < hi, got ({self.lo}, {self.hi}); declare the public range")
        check_apart(self.lo, self.hi, "bounds")
        if self.missing is not None and self.missing != "drop":
            value = self._number(self.missing, "missing")
            if not self.lo <= value <= self.hi:
                raise InvalidRequest(
                    f"missing must lie within the bounds ({self.lo}, {self.hi}), got {value}; choose a value inside"
                )
            object.__setattr__(self, "missing", value)

    @classmethod
    def _number(cls, value: Any, name: str) -> float:
        try:
            number = float(value) if isinstance(value, RealNumber) and not isinstance(value, bool) else math.nan
        except OverflowError:
            number = math.inf
        if not math.isfinite(number):
            raise InvalidRequest(f"{name} must be a finite number, got {value!r}; declare a number")
        return number

    def fill(self, relation: Relation) -> float | None:
        """The number a missing value becomes, or None where it contributes nothing."""
        if isinstance(self.missing, float | int):
            return float(self.missing)
        return (self.lo + (self.hi - self.lo) / 2) if relation == "replace" else None

    @property
    def private(self) -> bool:
        """Whether the bounds are an outer range, within which a session finds others for the ``price``."""
        return self.price is not None

    @property
    def known(self) -> Known:
        """What an expression knows of it."""
        return Known("number")

    def found(self, lo: float, hi: float) -> Self:
        """The declaration with bounds that were found; a missing value stays within them."""
        missing = min(max(self.missing, lo), hi) if isinstance(self.missing, float | int) else self.missing
        return replace(self, lo=lo, hi=hi, missing=missing, price=None)

    def to_dict(self) -> dict[str, Any]:
        """What TOML and JSON hold."""
        rule = {} if self.missing is None else {"missing": self.missing}
        rule |= {} if self.formula is None else {"formula": self.formula}
        if self.price is not None:
            return {"type": self.type, "bounds": PRIVATE, "outer": [self.lo, self.hi], "price": _written(self.price), **rule}
        return {"type": self.type, "bounds": [self.lo, self.hi], **rule}


@dataclass(frozen=True)
class Real(_Bounded):
    """A number between public bounds; values outside are clipped to them.

    ``missing``: None (contributes nothing under add/remove and both, the middle of the bounds under replace), a
    number within the bounds, or ``"drop"`` (contributes nothing; not under replace, where the row count is public).
    ``price``, such as ``{"epsilon": 0.1}``: the bounds are a wide outer range, and a session pays that to find others in it.
    ``formula``: it is computed from other columns of the same row, see ``discreet.expressions``, and clipped like any other.
    """

    type: ClassVar[str] = "real"


@dataclass(frozen=True)
class Integer(_Bounded):
    """A whole number between public bounds; as ``Real`` otherwise."""

    type: ClassVar[str] = "integer"

    @classmethod
    def _number(cls, value: Any, name: str) -> float:
        number = super()._number(value, name)
        if number != int(number) or abs(number) > _LARGEST_WHOLE:
            raise InvalidRequest(f"{name} must be a whole number of size at most 2**53, got {value!r}; or declare Real")
        return int(number)


@dataclass(frozen=True)
class Categories:
    """One of a public list of labels (text, whole numbers or true/false), compared by their canonical text.

    ``other`` is the label of every undeclared value; without it an undeclared value counts as missing. ``missing`` is
    None (belongs to no category; to ``other`` under replace where that is declared), a declared label, or ``"drop"``
    (belongs to no category; not under replace).

    ``aliases`` are other spellings of a label, ``{"north": ["North", "n"]}``; with ``fold=True`` letter case and spaces
    around a text do not matter.

    ``Categories("private")`` has labels that nobody knows: a session finds those of enough people for the ``price``
    (``{"epsilon": 0.1, "delta": 1e-6}``), and ``other``, ``"(other)"`` by default, is the label of all the rest.
    """

    values: tuple[Label, ...]
    other: Label | None = None
    missing: Label | None = None
    price: _Currencies | Mapping[str, Any] | None = field(default=None, kw_only=True)
    minimum: int | None = field(default=None, kw_only=True)
    aliases: Mapping[str, Sequence[str]] = field(default_factory=dict, kw_only=True)
    fold: bool = field(default=False, kw_only=True)
    formula: str | None = field(default=None, kw_only=True)
    type: ClassVar[str] = "category"

    def __post_init__(self) -> None:
        _check_formula(self.formula)
        if isinstance(self.values, str) and self.values == PRIVATE:
            self._declare_private()
            return
        if self.price is not None or self.minimum is not None:
            raise InvalidRequest("price and minimum are for labels to be found; leave them out, or write values='private'")
        if isinstance(self.values, str) or not isinstance(self.values, Iterable):
            raise InvalidRequest(f"categories must be a list of labels, got {self.values!r}; write ['f', 'm']")
        object.__setattr__(self, "values", tuple(self.values))
        if not self.values:
            raise InvalidRequest("categories must name at least one label, got none; list the public labels")
        self._check_labels()
        self._check_aliases()
        texts = [canonical(v) for v in self.values]
        if twice := sorted({t for t in texts if texts.count(t) > 1}):
            raise InvalidRequest(f"categories must differ as text, got {twice[0]!r} twice; remove one")
        if self.missing == "drop" and "drop" in self.lookup():
            raise InvalidRequest("missing='drop' is not clear where 'drop' is a category; rename the category")
        if self.missing is not None and self.missing != "drop" and canonical(self.missing) not in self.lookup():
            raise InvalidRequest(
                f"missing must be a declared category, got {self.missing!r}{closest(canonical(self.missing), texts)}"
            )

    def _check_aliases(self) -> None:
        """Refuse an alias of a label that is not there, and a spelling that would mean two labels."""
        if not isinstance(self.fold, bool):
            raise InvalidRequest(f"fold must be true or false, got {self.fold!r}")
        if not isinstance(self.aliases, Mapping):
            raise InvalidRequest(f"aliases must be a table such as {{north = ['North', 'n']}}, got {self.aliases!r}")
        known = {canonical(label) for label in self.labels}
        made: dict[str, tuple[str, ...]] = {}
        for label, given in self.aliases.items():
            if canonical(label) not in known:
                raise InvalidRequest(f"aliases must be of a declared label, got {label!r}{closest(canonical(label), known)}")
            words = [given] if isinstance(given, str | int) else given
            if not isinstance(words, Sequence) or not all(isinstance(word, str | int) and word != "" for word in words):
                raise InvalidRequest(f"aliases of {label!r} must be a list of spellings, got {given!r}")
            made[canonical(label)] = tuple(canonical(word) for word in words)
        object.__setattr__(self, "aliases", made)
        meaning: dict[str, str] = {}
        for label in (canonical(each) for each in self.labels):
            for spelling in (label, *made.get(label, ())):
                text = fold(spelling) if self.fold else spelling
                if not text or meaning.setdefault(text, label) != label:
                    both = f"{meaning.get(text)!r} and {label!r}"
                    raise InvalidRequest(f"aliases must mean one label each, got {spelling!r} for {both}")

    def _check_labels(self) -> None:
        for label in (*self.values, *(x for x in (self.other, self.missing) if x is not None)):
            if not isinstance(label, str | int):
                raise InvalidRequest(f"a category must be text, a whole number or true/false, got {label!r}")
            if label == "":
                raise InvalidRequest("a category must not be the empty text: empty cells are missing; use missing=")

    def _declare_private(self) -> None:
        price = _price(self.price, "an epsilon and a delta, such as {'epsilon': 0.1, 'delta': 1e-6}")
        if price is not None and [key for key, _ in price] != ["delta", "epsilon"]:
            raise InvalidRequest(f"price must be an epsilon and a delta to find labels, got {dict(price)!r}")
        if self.minimum is not None and (
            isinstance(self.minimum, bool) or not isinstance(self.minimum, Integral) or self.minimum < 1
        ):
            raise InvalidRequest(f"minimum must be a whole number of at least 1, got {self.minimum!r}")
        object.__setattr__(self, "values", ())
        object.__setattr__(self, "other", OTHER if self.other is None else self.other)
        object.__setattr__(self, "price", price)
        self._check_labels()

    @property
    def private(self) -> bool:
        """Whether its labels are yet to be found."""
        return not self.values

    def found(self, labels: Iterable[str]) -> Categories:
        """The declaration with labels that were found; never without any, there is always ``other``."""
        assert self.other is not None
        missing = None if self.missing == "drop" else self.missing
        known = dict.fromkeys(labels)
        if missing is not None and canonical(missing) not in known:
            known[canonical(missing)] = None
        return Categories(tuple(known) or (self.other,), self.other, None if missing is None else canonical(missing))

    @property
    def known(self) -> Known:
        """What an expression knows of it; refuses labels that are yet to be found."""
        if self.private:
            raise InvalidRequest("the labels of a column that an expression reads are yet to be found; use discover() first")
        return Known("label", tuple(canonical(label) for label in self.labels), self.lookup(), self.fold)

    @property
    def labels(self) -> tuple[Label, ...]:
        """Every label a code can stand for: the declared values, then ``other`` where it is not one of them."""
        known = {canonical(v): v for v in self.values}
        for extra in (self.other, self.missing if self.private and self.missing != "drop" else None):
            if extra is not None:
                known.setdefault(canonical(extra), extra)
        return tuple(known.values())

    def lookup(self) -> dict[str, int]:
        """From a spelling of a label to its code; ``True`` and ``TRUE`` are other spellings of a declared true.

        Where texts are folded, folded spellings have a code as well.
        """
        codes = {canonical(label): code for code, label in enumerate(self.labels)}
        for code, label in enumerate(self.labels):
            spellings = list(self.aliases.get(canonical(label), ()))
            if isinstance(label, bool):
                spellings += [canonical(label).capitalize(), canonical(label).upper()]
            for spelling in spellings:
                codes.setdefault(spelling, code)
        return codes | {fold(text): code for text, code in codes.items()} if self.fold else codes

    def fill(self, relation: Relation) -> int:
        """The code of a missing value; -1 where it belongs to no category."""
        if self.missing is not None and self.missing != "drop":
            return self.lookup()[canonical(self.missing)]
        return self.lookup()[canonical(self.other)] if self.other is not None and relation == "replace" else -1

    def stray(self, relation: Relation) -> int:
        """The code of an undeclared value: ``other``, or as a missing one."""
        return self.fill(relation) if self.other is None else self.lookup()[canonical(self.other)]

    def to_dict(self) -> dict[str, Any]:
        """What TOML and JSON hold."""
        rest: dict[str, Any] = {"other": self.other, "missing": self.missing, "minimum": self.minimum}
        rest |= {"aliases": {k: list(v) for k, v in self.aliases.items()} or None, "fold": self.fold or None}
        rest |= {"formula": self.formula}
        rest["price"] = None if self.price is None else _written(self.price)
        values = PRIVATE if self.private else list(self.values)
        return {"type": self.type, "values": values, **{k: v for k, v in rest.items() if v is not None}}


def _check_formula(formula: Any) -> None:
    if formula is not None and (not isinstance(formula, str) or not formula.strip()):
        raise InvalidRequest(f"formula must be an expression such as 'weight / height ** 2', got {formula!r}")


def _written(price: Any) -> dict[str, Any]:
    """A price as JSON and TOML hold it: what was typed, where that is text or a plain number."""
    return {k: v if isinstance(v, str | int | float) else str(v) for k, v in price}


Column: TypeAlias = Real | Integer | Categories
_TYPES = (Real.type, Integer.type, Categories.type, "boolean", "date", "datetime", "duration", "text")
_MORE = {"date": ("formats", "zone"), "datetime": ("formats", "zone"), "duration": ("unit",)}  # keys beside the bounds


@dataclass(frozen=True)
class Schema:
    """The declared columns, who is one person, and which tables are neighbours.

    ``person`` names the id column and ``max_rows`` the most rows of one person that count. ``expected_rows`` is a
    public guess of the number of rows, for planning only. ``population`` is a name for the people in the table: a ledger
    takes the first one it is told, and refuses questions about another. ``dialect`` says how cells are written; in TOML and
    JSON its keys (``delimiter``, ``decimal``, ``thousands``, ``encoding``, ``quote``, ``missing``) are keys of the schema.
    """

    columns: Mapping[str, Column]
    person: str | None = None
    max_rows: int | None = None
    neighbors: Relation = "add_remove"
    expected_rows: int | None = None
    population: str | None = None
    dialect: Dialect = field(default_factory=Dialect)
    derivation: Derivation = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if not isinstance(self.columns, Mapping):
            raise InvalidRequest(f"columns must map names to declarations, got {self.columns!r}")
        object.__setattr__(self, "columns", dict(self.columns))
        check_relation(self.neighbors)
        object.__setattr__(self, "dialect", _dialect(self.dialect))
        for name, column in self.columns.items():
            if not isinstance(name, str) or not name:
                raise InvalidRequest(f"a column name must be text, got {name!r}; rename the column")
            if not isinstance(column, Real | Integer | Categories):
                raise InvalidRequest(f"column {name!r} must be a Real, Integer, Categories or Date, got {column!r}")
            if column.missing == "drop" and self.neighbors == "replace":
                raise InvalidRequest(
                    f"column {name!r}: missing='drop' must not be used under neighbors='replace', where the number of "
                    "rows is public; declare the value that a missing one becomes"
                )
        if self.person is not None and (not isinstance(self.person, str) or not self.person):
            raise InvalidRequest(f"person must be the name of the id column, got {self.person!r}")
        if self.population is not None and (not isinstance(self.population, str) or not self.population):
            raise InvalidRequest(f"population must be a name for the people in the table, got {self.population!r}")
        if (self.person is None) != (self.max_rows is None):
            raise InvalidRequest(
                f"person and max_rows must be given together, got person={self.person!r} and "
                f"max_rows={self.max_rows!r}; declare both or neither"
            )
        for rule in ("max_rows", "expected_rows"):
            value = getattr(self, rule)
            if value is not None and (isinstance(value, bool) or not isinstance(value, Integral) or value < 1):
                raise InvalidRequest(f"{rule} must be a whole number of at least 1, got {value!r}")
            if value is not None:
                object.__setattr__(self, rule, int(value))  # a NumPy integer would not go into JSON
        derivation = Derivation(self.columns, self.person)
        object.__setattr__(self, "columns", derivation.canonical())
        object.__setattr__(self, "derivation", derivation)

    def __getitem__(self, name: str) -> Column:
        """The declaration of a column; an expression whose labels are public by themselves stands for one."""
        if isinstance(name, str) and name in self.columns:
            if self.columns[name].type == "text":
                raise InvalidRequest(
                    f"column {name!r} holds text, which can only be matched; write where=\"contains({name}, '...')\""
                )
            return self.columns[name]
        node = self.derivation.of_text(name) if isinstance(name, str) else None
        if node is None:
            raise UnknownName(f"no column is declared as {name!r}{closest(str(name), self.columns)}")
        return Categories((True, False) if node.kind == "truth" else node.labels, formula=str(node))

    def name_of(self, name: str) -> str:
        """A column's name; the canonical text of an expression that stands for one."""
        formula = None if name in self.columns else self[name].formula
        return name if formula is None else formula

    def condition(self, text: str) -> dict[str, bool]:
        """What a filter that is an expression asks for, as a filter by labels: the expression is true."""
        node = read_expression(text, self.derivation.known)
        if node.kind != "truth" or node.is_constant:
            raise InvalidRequest(f"where must be a condition such as 'age >= 60', got {text!r}, which is a {node.kind}")
        return {str(node): True}

    @property
    def stored(self) -> list[str]:
        """The declared columns that a table has to have: those without a formula."""
        return [name for name, column in self.columns.items() if column.formula is None]

    def to_dict(self) -> dict[str, Any]:
        """What JSON and TOML hold; ``from_dict`` reads it back."""
        facts = {f.name: getattr(self, f.name) for f in fields(self) if f.name not in ("columns", "dialect", "derivation")}
        columns = {name: column.to_dict() for name, column in self.columns.items()}
        return {k: v for k, v in facts.items() if v is not None} | self.dialect.to_dict() | {"columns": columns}

    @classmethod
    def from_dict(cls, doc: Any, place: toml.Place = lambda *key: "schema: ") -> Schema:
        """From what ``to_dict`` gives; refuses unknown keys and wrong types, with the ``place`` of the key before it."""
        return _read(doc, place)

    def to_toml(self) -> str:
        """The schema as a TOML document; ``from_toml`` reads it back."""
        doc = self.to_dict()
        columns = doc.pop("columns")
        lines = [f"{key} = {_toml(value)}" for key, value in doc.items()]
        if not columns:
            lines.append("[columns]")
        for name, column in columns.items():
            lines += ["", f"[columns.{_toml_key(name)}]", *(f"{key} = {_toml(value)}" for key, value in column.items())]
        return "\n".join([*lines, ""])

    @classmethod
    def from_toml(cls, source: str | Path) -> Schema:
        """From a TOML file, or from its text; every refusal says the file and the line."""
        if isinstance(source, Path) or ("\n" not in source and "=" not in source and source.strip()):
            return _read(*toml.read(source, "schema"))
        return _read(*toml.parsed(source, "schema"))


def _dialect(given: Any) -> Dialect:
    """A dialect from its keys; refuses keys that it does not have."""
    if isinstance(given, Dialect):
        return given
    if not isinstance(given, Mapping):
        raise InvalidRequest(f"dialect must be a Dialect or its keys, got {given!r}")
    for key in given:
        if key not in DIALECT_KEYS:
            raise InvalidRequest(f"a dialect has no {key!r}{closest(str(key), DIALECT_KEYS)}")
    return Dialect(**given)


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


def _read(doc: Any, place: Any) -> Schema:
    """A schema from plain values; ``place`` turns the path of a key into the start of the error message."""
    if not isinstance(doc, dict):
        raise UnsupportedFormat(f"{place()}a schema is a table of keys, got {doc!r}")
    for key in doc:
        if key not in _KEYS:
            raise UnsupportedFormat(f"{place(key)}unknown key {key!r}{closest(key, _KEYS)}")
    if not isinstance(doc.get("columns"), dict):
        raise UnsupportedFormat(
            f"{place('columns')}columns must be a table, got {doc.get('columns')!r}; write [columns.age]"
        )
    columns = {name: _read_column(name, value, place) for name, value in doc["columns"].items()}
    dialect = {key: doc[key] for key in DIALECT_KEYS if key in doc}
    facts = {key: value for key, value in doc.items() if key not in dialect}
    try:
        return Schema(**{**facts, "columns": columns, "dialect": _dialect(dialect)})
    except DiscreetError as problem:
        at = next((k for k in _KEYS if str(problem).startswith(k) and k in doc), "")
        named = re.match(r"column '(.*?)':", str(problem))
        key = "formula" if "formula" in str(problem) else "missing"
        path = ("columns", named[1], key) if named else (at,)
        raise problem.at(place(*path)) from None


_WANTED = {
    "values": ('a list of labels, or "private"', 'list the public labels, as in values = ["a", "b"]'),
    "bounds": ("two numbers [lo, hi]", "declare the public range, as in {} = [0, 100]"),
}


def _read_column(name: str, doc: Any, place: Any) -> Column:
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
        return _numbers()[kind](*given, **rest)
    except DiscreetError as problem:
        at = next((k for k in known if str(problem).startswith(k) and k in doc), main)
        raise InvalidRequest(f"{place('columns', name, at)}column {name!r}: {problem}") from None


def _numbers() -> dict[str, type[Real] | type[Integer]]:
    """The types of column that have bounds."""
    from discreet.core.moments import Date, Datetime, Duration

    return {each.type: each for each in (Real, Integer, Date, Datetime, Duration)}


def _read_unbounded(name: str, kind: str, doc: dict[str, Any], place: Any) -> Column:
    """A column of yes and no, or of text."""
    from discreet.core.boolean import Boolean
    from discreet.core.text import Text

    known = ("true", "false", "missing", "formula") if kind == "boolean" else ("fold",)
    rest = {key: value for key, value in doc.items() if key != "type"}
    for key in rest:
        if key not in known:
            where = place("columns", name, key)
            raise UnsupportedFormat(f"{where}column {name!r}: unknown key {key!r}{closest(key, known)}")
    try:
        return Boolean(**rest) if kind == "boolean" else Text(**rest)
    except DiscreetError as problem:
        at = next((key for key in known if str(problem).startswith(key)), "type")
        raise InvalidRequest(f"{place('columns', name, at)}column {name!r}: {problem}") from None
