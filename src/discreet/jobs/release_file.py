"""The release file: which table, who pays, and what is asked. Every refusal says the file and the line.

Paths in it are taken from where the file lies, the ledger's too: the same file must find the same ledger from
whichever folder it is run, or a budget could be spent twice.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from discreet.core import toml
from discreet.core.budget import Budget
from discreet.core.labels import closest
from discreet.core.schema import Schema
from discreet.core.toml import Place
from discreet.errors import DiscreetError, InvalidRequest, UnsupportedFormat
from discreet.report.language import LANGUAGES, say, says, spoken
from discreet.report.numerals import in_words

if TYPE_CHECKING:
    from discreet.core.budget import Budget
    from discreet.core.schema import Schema

SPENDING = ("epsilon", "delta", "rho", "mechanism", "calibration")
_SQLITE = "sqlite:///"
_KNOWN = {
    "table": (str, list),
    "version": (str,),
    "schema": (str, dict),
    "ledger": (str,),
    "name": (str,),
    "title": (str,),
    "who": (str,),
    "language": (str,),
    "budget": (dict,),
    "same_people": (bool,),
    **dict.fromkeys(("delimiter", "decimal", "thousands", "encoding", "quote"), (str,)),
    "missing": (str, list),
}
_DIALECT = ("delimiter", "decimal", "thousands", "encoding", "quote", "missing")
_BUDGET = {"epsilon": (int, float, str), "delta": (int, float, str), "rho": (int, float, str), "composition": (str,)}
_ASK = {
    "statistic": (str,),
    "columns": (str, list),
    "title": (str,),
    "by": (str, list),
    "where": (dict, str),
    "of": (str,),
    "options": (dict,),
    **_BUDGET,
    "mechanism": (str,),
    "calibration": (str,),
}
del _ASK["composition"]
_WORDS = {str: "a text", list: "a list", dict: "a table", bool: "true or false", int: "a number", float: "a number"}


@dataclass(frozen=True)
class Item:
    """One question of a release file. ``place`` is the file and line it stands at."""

    statistic: str
    columns: tuple[str, ...]
    title: str
    spend: Mapping[str, Any]
    by: str | list[str] | None
    where: Mapping[str, Any] | str
    options: Mapping[str, Any]
    place: str

    def to_dict(self) -> dict[str, Any]:
        """What was asked, in what JSON can say."""
        where = self.where if isinstance(self.where, str) else dict(self.where)
        rest = {"by": self.by, "where": where, "options": dict(self.options)}
        asked = {"title": self.title, "statistic": self.statistic, "columns": list(self.columns)}
        return asked | {k: v for k, v in rest.items() if v}


@dataclass(frozen=True)
class ReleaseFile:
    """A release file as it was read: everything checked that can be checked without a table or a ledger."""

    path: Path
    table: str | list[str]
    version: str | None
    schema: Schema
    ledger: str
    name: str | None
    title: str
    who: str | None
    budget: Budget | None
    same_people: bool
    items: tuple[Item, ...]
    language: str = "en"
    places: Mapping[str, str] = field(default_factory=dict)


def read(path: Path) -> ReleaseFile:
    """The release file at ``path``."""
    base, doc, place = read_with(path, {"ask": (list,)}, "release file")
    if not doc.get("ask"):
        raise UnsupportedFormat(f"{place()}a release file needs 'ask', got none; add it, as in `discreet demo`")
    with spoken(base.language):
        return replace(base, items=tuple(item_of(number, ask, place) for number, ask in enumerate(doc["ask"])))


def read_with(path: Path, more: Mapping[str, tuple[type, ...]], kind: str) -> tuple[ReleaseFile, dict[str, Any], Place]:
    """What files about a table share: the table, its schema, its ledger; ``more`` are the keys of this kind of file."""
    doc, place = toml.read(path, kind)
    check_keys(doc, {**_KNOWN, **more}, place)
    for key in ("table", "schema", "ledger"):
        if not doc.get(key):
            raise UnsupportedFormat(f"{place()}a {kind} needs {key!r}, got none; add it, as in `discreet demo`")
    folder = path.resolve().parent
    schema = _schema(doc["schema"], folder, place)
    for key in _DIALECT:
        try:
            schema.dialect.check({key: doc[key]} if key in doc else None)
        except DiscreetError as problem:
            raise type(problem)(f"{place(key)}{problem}") from None
    base = ReleaseFile(
        path=path,
        table=_table(doc["table"], folder, place("table")),
        version=doc.get("version"),
        schema=schema,
        ledger=ledger_at(doc["ledger"], folder, place("ledger")),
        name=_text(doc["name"], "name", place("name")) if "name" in doc else None,
        title=_text(doc.get("title", path.stem), "title", place("title")),
        who=doc.get("who"),
        budget=_budget(doc.get("budget"), place),
        same_people=doc.get("same_people", False),
        items=(),
        language=_language(doc.get("language", "en"), place("language")),
        places={key: place(key) for key in _KNOWN},
    )
    return base, doc, place


def check_keys(doc: Any, known: Mapping[str, tuple[type, ...]], place: Place, *path: str | int) -> None:
    """Refuse keys that are not known and values of another kind."""
    if not isinstance(doc, dict):
        raise UnsupportedFormat(f"{place(*path)}{path[0] if path else 'the file'} must be a table, got {doc!r}")
    for key, value in doc.items():
        if key not in known:
            option = f"; if it is an option, write options = {{ {key} = ... }}" if "options" in known else ""
            raise UnsupportedFormat(f"{place(*path, key)}unknown key {key!r}{closest(key, known)}{option}")
        if not isinstance(value, known[key]) or (isinstance(value, bool) and bool not in known[key]):
            wanted = " or ".join(dict.fromkeys(_WORDS[kind] for kind in known[key]))
            raise UnsupportedFormat(f"{place(*path, key)}{key} must be {wanted}, got {value!r}")


def _text(value: str, name: str, place: str) -> str:
    if not value.strip():
        raise InvalidRequest(f"{place}{name} must not be empty, got {value!r}; write a few words")
    return value


def _language(value: str, place: str) -> str:
    if value not in LANGUAGES:
        raise InvalidRequest(
            f"{place}language must be one of {', '.join(LANGUAGES)}, got {value!r}; leave it out for English"
        )
    return value


def _table(value: str | list[Any], folder: Path, place: str) -> str | list[str]:
    """Paths and patterns, from where the release file lies; the address of a database as it is."""
    given = [value] if isinstance(value, str) else value
    if any(not isinstance(each, str) for each in given):
        raise UnsupportedFormat(f"{place}table must be a path or a list of paths, got {value!r}")
    paths = [each if "://" in each else str(folder / each) for each in given]
    return paths[0] if isinstance(value, str) else paths


def _schema(value: str | dict[str, Any], folder: Path, place: Place) -> Schema:

    if isinstance(value, str):
        path = folder / value
        if not os.path.isfile(path):  # Path.is_file raises where a name is too long
            raise UnsupportedFormat(f"{place('schema')}the schema must be a file that exists, got {str(path)!r}")
        return Schema.from_toml(path)
    return Schema.from_dict(value, lambda *key: place("schema", *key))


def ledger_at(url: str, folder: Path, place: str, other: Path | None = None) -> str:
    """The ledger's address, its file taken from ``folder``; refused where one of that name lies in the ``other`` folder."""
    if url in ("test", "sqlite:", "sqlite:/", "sqlite://", _SQLITE, f"{_SQLITE}:memory:"):
        raise InvalidRequest(f"{place}a release is paid from a ledger that lasts, got {url!r}; write sqlite:///ledger.db")
    if url.startswith(_SQLITE) or not re.match(r"[\w+]{2,}:", url):  # without a scheme it is the path of a file
        from discreet.ledger.address import one_place

        return one_place(Path(url.removeprefix(_SQLITE)), folder, other)
    return url


def _budget(value: dict[str, Any] | None, place: Place) -> Budget | None:
    if value is None:
        return None
    check_keys(value, _BUDGET, place, "budget")
    try:
        return Budget(**value)
    except DiscreetError as problem:
        raise problem.at(place("budget")) from None


def item_of(number: int, doc: Any, place: Place) -> Item:
    """One question, from the keys that a release file has for it."""
    check_keys(doc, _ASK, place, "ask", number)
    at = place("ask", number)
    if "statistic" not in doc:
        raise UnsupportedFormat(f'{at}an ask needs a statistic, got none; write statistic = "mean"')
    columns = doc.get("columns", [])
    for key in ("columns", "by"):
        given = doc.get(key, [])
        if not isinstance(given, str) and any(not isinstance(name, str) for name in given):
            raise UnsupportedFormat(f"{place('ask', number, key)}{key} must be names of columns, got {given!r}")
    names = [columns] if isinstance(columns, str) else columns
    if len(set(names)) < len(names):
        raise UnsupportedFormat(f"{place('ask', number, 'columns')}columns must differ, got {columns!r}; name each once")
    spend = {key: doc[key] for key in SPENDING if key in doc}
    if not spend:
        raise UnsupportedFormat(f"{at}an ask needs epsilon, epsilon and delta, or rho, got none; write epsilon = 0.1")
    return Item(
        statistic=doc["statistic"],
        columns=tuple(names),
        title=doc.get("title") or plain_title(doc["statistic"], names, doc.get("by"), doc.get("where", {})),
        spend=spend,
        by=doc.get("by"),
        where=doc.get("where", {}),
        options=({"of": doc["of"]} if "of" in doc else {}) | doc.get("options", {}),
        place=at,
    )


def plain_title(statistic: str, columns: list[str], by: str | list[str] | None, where: Mapping[str, Any] | str) -> str:
    """What is asked, in plain words of the language that is spoken, where the file gives no title."""

    key, joint = f"statistic.{statistic}", say("and")
    words = [say(key) if says(key) else statistic.replace("_", " ").capitalize()]
    if columns:
        words.append(say("title_of", columns=joint.join(columns)))
    if by:
        words.append(say("title_by", groups=by if isinstance(by, str) else joint.join(by)))
    if where:
        parts = [] if isinstance(where, str) else [say("title_is", column=c, label=in_words(v)) for c, v in where.items()]
        words.append(say("title_where", condition=where if isinstance(where, str) else ", ".join(parts)))
    return " ".join(words)
