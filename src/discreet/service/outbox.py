"""The outbox: what the desk writes and the front reads.

The front:

    outbox = Outbox(config.front_boxes, write=False)
    who = outbox.identify(access_tokens.digest(token), now)  # Identity, or None: unknown, expired, revoked
    outbox.still(who.token, now)                         # the same by the number that a session keeps
    outbox.tables(), outbox.table(name)                  # Published: schema, version, population, rows where public, is_open
    outbox.grants(analyst)                               # Grant: table, cap, spent and left
    outbox.states(refs), outbox.requests(analyst)        # TakenRequest: state, due, digest; one's own only
    outbox.answer(ref)                                   # SignedAnswer(text, signature) once it is due; None before
    outbox.catalogue(), outbox.fact("key"), outbox.fact("heartbeat")

States: ``queued`` (taken, waits its turn; ``due`` is when it is expected), ``approval`` (waits for the custodian),
``scheduled`` (answered at ``due``), and at last one of ``FINAL``: an answer, or a word that says nothing of the table.
A reference that the desk has not taken yet is not here: the front shows it as ``sent``.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from sqlalchemy import Connection, bindparam, select

from discreet.core.schema import Schema
from discreet.service.mailbox import Mailbox
from discreet.service.outbox_tables import SCHEMA, OutboxTables

WAITING = ("queued", "approval", "scheduled")
FINAL = ("answered", "refused_cap", "closed", "denied", "revoked", "expired", "withheld")


@dataclass(frozen=True)
class Identity:
    """Whose token it is."""

    token: int
    analyst: int
    name: str


@dataclass(frozen=True)
class Published:
    """What is public about a table. ``rows`` is there only where the relation makes the number of rows public."""

    name: str
    population: str
    schema: Schema
    version: str
    rows: int | None
    is_open: bool


@dataclass(frozen=True)
class Grant:
    """An analyst's share of a population's budget, for one table; amounts are objects of epsilon, delta and rho as text."""

    id: int
    analyst: int
    table: str
    account: int
    cap: Mapping[str, Any]
    spent: Mapping[str, Any]
    left: Mapping[str, Any]
    purpose: str
    approve_above: Mapping[str, Any] | None
    expires: float | None
    revoked: bool


@dataclass(frozen=True)
class TakenRequest:
    """A request that the desk has taken."""

    ref: str
    n: int
    analyst: int
    table: str
    state: str
    due: float | None
    digest: str
    at: float
    price: Mapping[str, Any]


@dataclass(frozen=True)
class SignedAnswer:
    """The text of an answer as it was signed."""

    text: str
    signature: str

    @property
    def document(self) -> dict[str, Any]:
        made: dict[str, Any] = json.loads(self.text)
        return made


class Outbox:
    """The rows that the desk writes. Reading is here; what the desk changes goes through ``box.writing`` and ``t``."""

    def __init__(self, address: str, *, write: bool) -> None:
        self.t = OutboxTables(address.startswith("postgresql"))
        self.box = Mailbox(address, "desk", self.t.metadata, SCHEMA, write=write)
        # Statements of every call are made once.
        k, a, g, s = self.t.tokens, self.t.analysts, self.t.grants, self.t.statements
        who = select(k.c.n, a.c.n.label("analyst"), a.c.name, k.c.expires, k.c.revoked, a.c.active)
        who = who.join(a, a.c.n == k.c.analyst)
        self._identities = {name: who.where(k.c[name] == bindparam("value")) for name in ("sha256", "n")}
        granted = select(g, s.c.spent, s.c.left_json).outerjoin(s, s.c.grant_id == g.c.n).order_by(g.c.n)
        self._grants_of = {True: granted, False: granted.where(g.c.analyst == bindparam("analyst"))}

    def close(self) -> None:
        self.box.close()

    def identify(self, sha256: str, now: float) -> Identity | None:
        """Whose token it is; None where it is unknown, expired or revoked, or the analyst is."""
        return self._identity("sha256", sha256, now)

    def still(self, token: int, now: float) -> Identity | None:
        """The same, by the number of the token."""
        return self._identity("n", token, now)

    def _identity(self, column: str, value: Any, now: float) -> Identity | None:
        found = self.box.unchanged((column, value), self._identities[column], {"value": value})
        if not found or found[0].revoked or not found[0].active or _past(found[0].expires, now):
            return None
        return Identity(found[0].n, found[0].analyst, found[0].name)

    def tokens_of(self, analyst: int) -> list[int]:
        """The numbers of an analyst's tokens, past ones too: what they submitted is the analyst's history."""
        k = self.t.tokens
        wanted = select(k.c.n).where(k.c.analyst == analyst)
        return self.box.unchanged(("tokens", analyst), wanted, made=lambda row: row.n)

    def tables(self) -> list[Published]:
        """Every table of the service."""
        wanted = self._tables().order_by(self.t.tables.c.name)
        return self.box.unchanged("tables", wanted, made=_published)

    def table(self, name: str) -> Published | None:
        """The table of that name."""
        return next((table for table in self.tables() if table.name == name), None)

    def _tables(self) -> Any:
        t, p = self.t.tables, self.t.populations
        wanted = select(t, p.c.open.label("population_open"))
        return wanted.outerjoin(p, p.c.name == t.c.population)

    def grants(self, analyst: int | None = None) -> list[Grant]:
        """The grants of an analyst, or all."""
        return self.box.unchanged(("grants", analyst), self._grants_of[analyst is None], {"analyst": analyst}, _grant)

    def grant_for(self, analyst: int, table: str, now: float) -> Grant | None:
        """The grant that pays for an analyst's questions to a table: the newest that holds."""
        mine = [g for g in self.grants(analyst) if g.table == table and not g.revoked and not _past(g.expires, now)]
        return mine[-1] if mine else None

    def states(self, refs: Sequence[str]) -> dict[str, TakenRequest]:
        """The requests of these references that the desk has taken."""
        r = self.t.requests
        found = self.box.read(select(r).where(r.c.ref.in_(list(refs))))
        return {row.ref: _asked(row) for row in found}

    def requests(self, analyst: int, most: int = 200) -> list[TakenRequest]:
        """An analyst's requests, newest first."""
        r = self.t.requests
        return [
            _asked(row) for row in self.box.read(select(r).where(r.c.analyst == analyst).order_by(r.c.n.desc()).limit(most))
        ]

    def queue(self) -> list[TakenRequest]:
        """The requests that wait, oldest first."""
        r = self.t.requests
        return [_asked(row) for row in self.box.read(select(r).where(r.c.state.in_(WAITING)).order_by(r.c.n))]

    def answer(self, ref: str) -> SignedAnswer | None:
        """The answer of a request, once it is due."""
        a = self.t.answers
        found = self.box.read(select(a.c.document, a.c.signature).where(a.c.ref == ref))
        return SignedAnswer(*found[0]) if found else None

    def catalogue(self) -> list[dict[str, Any]]:
        """The answers that the custodian published to all analysts."""
        c = self.t.catalogue
        return [dict(row._mapping) for row in self.box.read(select(c).order_by(c.c.at))]

    def fact(self, name: str) -> str | None:
        """A fact about the desk: ``key``, the public key of its signature; ``heartbeat``, when it was last seen to live."""
        found = self.box.read(select(self.t.meta.c.value).where(self.t.meta.c.name == name))
        return found[0].value if found else None

    def set_fact(self, connection: Connection, name: str, value: str) -> None:
        """Write a fact down."""
        m = self.t.meta
        if not connection.execute(m.update().where(m.c.name == name).values(value=value)).rowcount:
            connection.execute(m.insert(), {"name": name, "value": value})


def _past(expires: float | None, now: float) -> bool:
    return expires is not None and expires <= now


@lru_cache(maxsize=64)
def _schema(text: str) -> Schema:
    return Schema.from_dict(json.loads(text))


def _published(row: Any) -> Published:
    schema = _schema(row.schema_json)
    return Published(row.name, row.population, schema, row.version, row.rows, bool(row.open) and bool(row.population_open))


def _grant(row: Any) -> Grant:
    cap, spent, left = (json.loads(text) if text else {} for text in (row.cap, row.spent, row.left_json))
    above = None if row.approve_above is None else json.loads(row.approve_above)
    facts = (row.purpose, above, row.expires, bool(row.revoked))
    return Grant(row.n, row.analyst, row.table_name, row.account, cap, spent, left, *facts)


def _asked(row: Any) -> TakenRequest:
    return TakenRequest(
        row.ref, row.n, row.analyst, row.table_name, row.state, row.due, row.question_sha256, row.at, json.loads(row.price)
    )
