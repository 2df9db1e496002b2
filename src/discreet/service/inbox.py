"""The inbox: what the front writes and the desk reads. The desk trusts nothing in it.

The front:

    inbox = Inbox(config.front_boxes, write=True)
    ref = inbox.submit(token=identity.token, body=question.text, at=time.time(), key=idempotency_key)
    secret, csrf = inbox.sign_in(identity.token, at); inbox.session(secret, at) -> SignedIn | None; inbox.sign_out(secret)
    inbox.mine(tokens) -> the submissions of these tokens, newest first; inbox.one(ref) -> one of them

A submission is durable when ``submit`` returns. The same ``key`` from the same token is the same request. What the front
keeps of a browser's session is the SHA-256 of its cookie.
"""

from __future__ import annotations

import secrets
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import (
    Column,
    Float,
    Index,
    Integer,
    MetaData,
    String,
    Table,
    Text,
    UniqueConstraint,
    bindparam,
    case,
    func,
    select,
)

from discreet.service import access_tokens
from discreet.service.mailbox import Mailbox, meta_table, numbered

SCHEMA = 1
_IDLE = 30 * 60  # seconds after which a browser has to sign in again


@dataclass(frozen=True)
class Submission:
    """A row as the front wrote it."""

    n: int
    ref: str
    token: int
    body: str
    at: float


@dataclass(frozen=True)
class SignedIn:
    """A browser that signed in: its token's number and the word that its forms must send."""

    token: int
    csrf: str


class _Tables:
    """The tables, in the schema ``front`` of a PostgreSQL database or in a file of their own."""

    def __init__(self, postgres: bool) -> None:
        self.metadata = MetaData(schema="front" if postgres else None)
        self.meta = meta_table(self.metadata)
        self.requests = Table(
            "requests", self.metadata, numbered(),
            Column("ref", String(32), nullable=False, unique=True), Column("token", Integer, nullable=False),
            Column("body", Text, nullable=False), Column("at", Float(53), nullable=False), Column("key", String(200)),
            UniqueConstraint("token", "key"), Index("requests_of_token", "token", "n"),
        )  # fmt: skip
        self.sessions = Table(
            "sessions", self.metadata, Column("sha256", String(64), primary_key=True),
            Column("token", Integer, nullable=False), Column("csrf", String(64), nullable=False),
            Column("seen", Float(53), nullable=False),
        )  # fmt: skip


class Inbox:
    """The rows that the front writes."""

    def __init__(self, address: str, *, write: bool) -> None:
        self._tables = _Tables(address.startswith("postgresql"))
        self.box = Mailbox(address, "front", self._tables.metadata, SCHEMA, write=write)
        self._waiting: list[_Waiting] = []
        self._turn = threading.Lock()

    def close(self) -> None:
        self.box.close()

    def submit(self, token: int, body: str, at: float, key: str | None = None, ref: str | None = None) -> str:
        """Put a request in, durably, and return its reference; with a ``key`` used before, the reference of then.

        Whoever waits for the disk carries the others along: all that came meanwhile are written in one transaction.
        """
        mine = _Waiting({"ref": ref or access_tokens.reference(), "token": token, "body": body, "at": at, "key": key})
        self._waiting.append(mine)
        with self._turn:
            if mine.done is None:
                batch, self._waiting = self._waiting, []
                try:
                    self._write(batch)
                except BaseException as problem:
                    for each in batch:
                        each.done = problem
        if isinstance(mine.done, BaseException):
            raise mine.done
        assert mine.done is not None
        return mine.done

    def _write(self, batch: list[_Waiting]) -> None:
        table = self._tables.requests
        same = select(table.c.ref).where(table.c.token == bindparam("t"), table.c.key == bindparam("k"))
        refs, fresh = [], []
        keyed: dict[tuple[int, str], str] = {}
        with self.box.writing() as connection:
            for each in batch:
                row, found = each.row, None
                if row["key"] is not None:
                    place = (row["token"], row["key"])
                    found = keyed.get(place) or connection.execute(same, {"t": row["token"], "k": row["key"]}).scalar()
                    keyed[place] = found or row["ref"]
                if found is None:
                    fresh.append(row)
                refs.append(found or row["ref"])
            if fresh:
                connection.execute(table.insert(), fresh)
        for each, ref in zip(batch, refs, strict=True):
            each.done = ref

    def after(self, n: int, most: int, longest: int = 1 << 20) -> list[Submission]:
        """The rows after number ``n``, in order; of a body beyond ``longest`` nothing is read."""
        t = self._tables.requests
        short = case((func.length(t.c.body) <= longest, t.c.body), else_="")
        wanted = select(t.c.n, t.c.ref, t.c.token, short, t.c.at).where(t.c.n > n).order_by(t.c.n).limit(most)
        return [Submission(*row) for row in self.box.read(wanted)]

    def mine(self, of: Sequence[int], most: int = 200) -> list[Submission]:
        """What these tokens submitted, newest first."""
        t = self._tables.requests
        wanted = select(t.c.n, t.c.ref, t.c.token, t.c.body, t.c.at).where(t.c.token.in_(list(of)))
        return [Submission(*row) for row in self.box.read(wanted.order_by(t.c.n.desc()).limit(most))]

    def one(self, ref: str) -> Submission | None:
        """The submission of a reference."""
        t = self._tables.requests
        found = self.box.read(select(t.c.n, t.c.ref, t.c.token, t.c.body, t.c.at).where(t.c.ref == ref))
        return Submission(*found[0]) if found else None

    def sign_in(self, token: int, at: float) -> tuple[str, str]:
        """A new session of a browser: the secret of its cookie, and the word its forms send."""
        secret, csrf = secrets.token_urlsafe(32), secrets.token_urlsafe(32)
        t = self._tables.sessions
        with self.box.writing() as connection:
            connection.execute(t.delete().where(t.c.seen < at - _IDLE))
            connection.execute(
                t.insert(), {"sha256": access_tokens.digest(secret), "token": token, "csrf": csrf, "seen": at}
            )
        return secret, csrf

    def session(self, secret: str, at: float) -> SignedIn | None:
        """The session of a cookie, if it was used within the last half hour; used now."""
        t = self._tables.sessions
        mine = t.c.sha256 == access_tokens.digest(secret)
        with self.box.writing() as connection:
            found: Any = connection.execute(select(t.c.token, t.c.csrf, t.c.seen).where(mine)).one_or_none()
            if found is None or found.seen < at - _IDLE:
                return None
            if found.seen < at - 60:
                connection.execute(t.update().where(mine).values(seen=at))
        return SignedIn(found.token, found.csrf)

    def sign_out(self, secret: str) -> None:
        """End a session."""
        t = self._tables.sessions
        with self.box.writing() as connection:
            connection.execute(t.delete().where(t.c.sha256 == access_tokens.digest(secret)))


@dataclass(eq=False)
class _Waiting:
    """A row on its way, and what became of it: its reference, or what went wrong."""

    row: dict[str, Any]
    done: str | BaseException | None = None
