"""What a ledger writes down, and the chain of hashes that makes an altered book show.

The hash of an event is SHA-256 over the canonical JSON of its row as it is stored (sorted keys, no spaces, ASCII),
with the hash of the event before it among the fields. The first event's ``previous`` is the hash of the facts the
ledger was created with, so a budget raised afterwards breaks the chain at its root. Anyone can recompute it from the
rows with nothing but a JSON writer and SHA-256. Fields that came with schema 2 (``_LATER``) are among the hashed ones where
they hold something, so that what 0.1.0 wrote keeps its hash.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from discreet.core.cost import Cost
from discreet.core.documents import brief
from discreet.core.query import Relation
from discreet.errors import InvalidRequest, UnsupportedFormat

_encode = json.JSONEncoder(sort_keys=True, separators=(",", ":"), allow_nan=False, check_circular=False).encode


def canonical(doc: Any) -> str:
    """The one way to write a document: sorted keys, no spaces, ASCII, nothing that is not finite."""
    try:
        return _encode(doc)
    except (TypeError, ValueError, RecursionError) as problem:
        raise InvalidRequest(f"a ledger keeps only what JSON can say, and {problem}; use plain finite values") from problem


def digest(text: str) -> str:
    """SHA-256 of a text, in hexadecimal."""
    return hashlib.sha256(text.encode()).hexdigest()


_read: dict[str, Cost] = {}  # by the text: a ledger's own total is usually the one that this process just wrote
_MOST_KEPT = 512


def write_cost(cost: Cost) -> str:
    """A cost as canonical JSON; ``read_cost`` gives back the same numbers exactly."""
    _keep(cost.text, cost)
    return cost.text


def _keep(text: str, cost: Cost) -> None:
    if len(_read) >= _MOST_KEPT:
        _read.clear()
    _read[text] = cost


def read_cost(text: str) -> Cost:
    """The cost a text holds."""
    known = _read.get(text)
    if known is not None:
        return known
    try:
        doc = json.loads(text)
    except json.JSONDecodeError as problem:
        raise UnsupportedFormat(f"a cost in the ledger is not JSON: {problem}") from problem
    cost = Cost.nothing() if text == Cost.nothing().text else Cost.from_dict(doc)
    _keep(text, cost)
    return cost


@dataclass(frozen=True)
class Terms:
    """What an account was opened for: ``steps`` questions of one ``plan``, or any questions up to ``cap``.

    For a plan, ``cap`` is the cost one step has by itself and ``plan`` the digest of its question, law, distance and
    relation. ``parts`` is in how many disjoint parts the people were split; None means all of them.
    """

    cap: Cost
    parts: int | None = None
    plan: str | None = None
    steps: int = 0

    def to_json(self) -> str:
        return canonical(
            {"cap": self.cap.to_dict(), "parts": self.parts, "plan": self.plan, "steps": self.steps},
        )

    @staticmethod
    def from_json(text: str) -> Terms:
        try:
            doc = json.loads(text)
            return Terms(Cost.from_dict(doc["cap"]), doc["parts"], doc["plan"], doc["steps"])
        except (KeyError, TypeError, json.JSONDecodeError) as problem:
            raise UnsupportedFormat(
                f"the terms of an account need cap, parts, plan and steps, got {brief(text)}"
            ) from problem


@dataclass(frozen=True, kw_only=True)
class Draft:
    """An event before it has a place in the book. ``law`` and ``sensitivity`` are canonical JSON.

    ``cost`` is what is taken from whoever pays: the ledger, or for a ``draw``, and an ``open`` that names one, the account;
    for a ``use`` of a release that was paid for before, the account alone. A ``step`` of a plan was
    paid for when the account was opened and costs nothing, and so does a ``store``, which puts a stored release, paid
    for by an event before it, under the chain of hashes. ``rows`` says what the rows were restricted to, ``key`` is the
    keyed digest of the question and the version of the table, and ``unit`` stands in the event that bound the ledger to one;
    all of them are canonical JSON or None.
    """

    kind: str
    question: str
    relation: Relation
    cost: Cost
    law: str | None = None
    sensitivity: str | None = None
    account: int | None = None
    part: int | None = None
    terms: Terms | None = None
    rows: str | None = None
    key: str | None = None
    unit: str | None = None

    @property
    def plan(self) -> str:
        """The digest a step must share with the plan it belongs to."""
        return digest(canonical([self.question, self.law, self.sensitivity, self.relation]))


@dataclass(frozen=True, kw_only=True)
class Event(Draft):
    """An event of the book: charge, open, step, draw, use, reserve, cancel, store, redeem, forgo or adopt."""

    number: int
    time: str
    who: str
    previous: str
    hash: str

    @staticmethod
    def of(row: Mapping[Any, Any]) -> Event:
        """The event a row holds."""
        terms = None if row["terms"] is None else Terms.from_json(row["terms"])
        plain = {k: row[k] for k in _PLAIN}
        return Event(cost=read_cost(row["cost"]), terms=terms, **plain)

    def to_dict(self) -> dict[str, Any]:
        """The event in what JSON can say."""
        return {k: getattr(self, k) for k in _PLAIN} | {
            "law": None if self.law is None else json.loads(self.law),
            "sensitivity": None if self.sensitivity is None else json.loads(self.sensitivity),
            "cost": self.cost.to_dict(),
            "terms": None if self.terms is None else json.loads(self.terms.to_json()),
            "rows": None if self.rows is None else json.loads(self.rows),
            "unit": None if self.unit is None else json.loads(self.unit),
        }


_LATER = ("rows", "key", "unit")
_PLAIN = (
    "number", "time", "who", "kind", "question", "law", "sensitivity", "relation", "account", "part", "previous",
    "hash", *_LATER,
)  # fmt: skip
_HASHED = tuple(sorted((set(_PLAIN) | {"cost", "terms"}) - {"hash", *_LATER}))


def write_row(draft: Draft, number: int, time: str, who: str, previous: str) -> dict[str, Any]:
    """The row of an event, sealed with its hash."""
    row: dict[str, Any] = {
        "number": number,
        "time": time,
        "who": who,
        "kind": draft.kind,
        "question": draft.question,
        "law": draft.law,
        "sensitivity": draft.sensitivity,
        "relation": draft.relation,
        "cost": write_cost(draft.cost),
        "account": draft.account,
        "part": draft.part,
        "terms": None if draft.terms is None else draft.terms.to_json(),
        "previous": previous,
    }
    later = {"rows": draft.rows, "key": draft.key, "unit": draft.unit}
    row["hash"] = digest(canonical(row | {k: v for k, v in later.items() if v is not None}))
    return row | later


def hash_of(row: Mapping[Any, Any]) -> str:
    """The hash the row of an event should have."""
    hashed = {k: row[k] for k in _HASHED}
    for name in _LATER:
        if row[name] is not None:
            hashed[name] = row[name]
    return digest(canonical(hashed))


def founded(schema: int, unit: str | None) -> str:
    """What a ledger was founded with besides the columns of its row; schema 1 knew no unit."""
    return canonical({"schema": schema} if schema == 1 else {"schema": schema, "unit": unit})


def founding(row: Mapping[Any, Any]) -> dict[str, Any]:
    """What ``founded`` wrote."""
    try:
        doc = json.loads(row["founded"])
        unit = doc.get("unit")
        if type(doc["schema"]) is not int or not (unit is None or isinstance(unit, str)):
            raise TypeError("a schema is a number")
    except (AttributeError, KeyError, TypeError, json.JSONDecodeError) as problem:
        raise UnsupportedFormat(f"what a ledger was founded with cannot be read, got {brief(row['founded'])}") from problem
    return {"schema": doc["schema"]} if doc["schema"] == 1 else {"schema": doc["schema"], "unit": unit}


def origin(row: Mapping[Any, Any]) -> str:
    """The hash every chain starts from: the facts a ledger was created with, in its own row."""
    facts = {k: row[k] for k in ("name", "relation", "filter", "created")} | founding(row)
    return digest(canonical(facts | {"kind": "ledger", "test": bool(row["test"])}))
