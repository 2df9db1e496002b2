"""What the front does for those who ask, whether they come by page or by program: price, rehearse, send, show.

It reads the outbox, writes the inbox, and has helpers for all that needs a question to be understood. It can open no table
and no ledger, so everything it says, errors included, comes from declarations, requests and releases.
"""

from __future__ import annotations

import json
import threading
import time
from collections import OrderedDict
from dataclasses import dataclass
from typing import Any

from discreet.service.access_tokens import digest, is_reference
from discreet.service.amounts import after
from discreet.service.calls import Refused
from discreet.service.helper import Helper
from discreet.service.inbox import Inbox, Submission
from discreet.service.limits import Limits
from discreet.service.outbox import FINAL, WAITING, Grant, Identity, Outbox, Published, TakenRequest
from discreet.service.visitors import Rate

HELD = 0.1  # seconds that a reply is held beyond its public moment: they hide how long publishing took
_REMEMBERED = 64  # prices of an analyst's own questions
_FRESH = 1.0  # seconds that declarations of tables are taken for unchanged
_LONGEST_KEY = 100


@dataclass(frozen=True)
class RequestView:
    """A request as its owner sees it: what was sent and, at its public moment, what came of it."""

    sent: Submission
    state: str
    due: float | None
    answer: tuple[str, str] | None  # the text that was signed, and the signature

    @property
    def is_final(self) -> bool:
        return self.state in FINAL

    def document(self) -> dict[str, Any]:
        """For a program."""
        made = {
            "request": self.sent.ref,
            "state": self.state,
            "due": self.due,
            "sent": self.sent.at,
            "asked": self.sent.body,
        }
        return made if self.answer is None else made | {"answer": self.answer[0], "signature": self.answer[1]}


class Counter:
    """One front's view of its mailboxes."""

    def __init__(self, inbox: Inbox, outbox: Outbox, limits: Limits, pricing: Helper, rehearsing: Helper) -> None:
        self.inbox, self.outbox, self.limits = inbox, outbox, limits
        self._pricing, self._rehearsing = pricing, rehearsing
        self._limits = limits.to_dict()
        self._rate = Rate(limits.per_minute)
        self._prices: dict[int, OrderedDict[str, dict[str, Any]]] = {}
        self._waiting: dict[int, list[str]] = {}
        self._turn = threading.Lock()
        self._known: tuple[float, list[Published], str] = (0.0, [], "{}")

    def tables(self, who: Identity) -> list[tuple[Published, Grant]]:
        """The tables that somebody may ask about, each with the grant that pays."""
        newest = {grant.table: grant for grant in self._grants(who)}
        return [(table, newest[table.name]) for table in self._declared()[0] if table.name in newest]

    def table(self, who: Identity, name: str) -> tuple[Published, Grant]:
        """One of them; any other name is refused with the same words."""
        for table, grant in self.tables(who):
            if table.name == name:
                return table, grant
        raise Refused(404, "there is no such table, or it is not open to you", remedy="see the list of tables")

    def price(self, who: Identity, body: bytes) -> dict[str, Any]:
        """What a question costs, how wrong it is expected to be, and what would be left of the grant."""
        self._rate.take(who.analyst)
        made = self._priced(who, body)
        _, grant = self.table(who, made["table"])
        left = after(grant.left, made["price"])
        above = grant.approve_above is not None and after(grant.approve_above, made["price"]) is None
        told = {key: value for key, value in made.items() if key != "text"}
        return told | {"fits": left is not None, "left": dict(grant.left), "left_after": left, "needs_approval": above}

    def rehearse(self, who: Identity, body: bytes) -> dict[str, Any]:
        """An answer from a table made up from the schema: for nothing, and worth as much."""
        self._rate.take(who.analyst)
        return self._rehearsing.do(self._job("rehearse", who, body), self._declared()[1], who.analyst)

    def send(self, who: Identity, body: bytes, key: str | None, ref: str | None = None) -> str:
        """Put a question into the inbox, durably; the reference that it is asked for by: ``ref``, or a new one."""
        if key is not None and not (0 < len(key) <= _LONGEST_KEY and key.isascii() and key.isprintable()):
            raise Refused(422, f"an idempotency key has 1 to {_LONGEST_KEY} plain characters", key="idempotency-key")
        self._rate.take(who.analyst)
        made = self._priced(who, body, told=False)
        table, _ = self.table(who, made["table"])
        if not table.is_open:
            raise Refused(422, f"the table {table.name!r} is closed", remedy="ask the custodian to open it again")
        self._check_queue(who)
        ref = self.inbox.submit(who.token, made["text"], time.time(), key, ref)
        with self._turn:
            mine = self._waiting.setdefault(who.analyst, [])
            if ref not in mine:
                mine.append(ref)
        return ref

    def own(self, who: Identity, ref: str) -> RequestView:
        """A request of one's own; all others, and those that do not exist, are refused with the same bytes."""
        sent = self.inbox.one(ref) if is_reference(ref) else None
        if sent is None or (sent.token != who.token and sent.token not in self.outbox.tokens_of(who.analyst)):
            raise Refused(404, "there is no such request, or it is not yours", remedy="see the list of your requests")
        return self._view(sent, self.outbox.states([ref]).get(ref))

    def history(self, who: Identity) -> list[RequestView]:
        """All of somebody's requests, newest first, without their answers."""
        sent = self.inbox.mine(self.outbox.tokens_of(who.analyst))
        states = self.outbox.states([each.ref for each in sent])
        return [self._view(each, states.get(each.ref), bare=True) for each in sent]

    def shown(self, who: Identity, view: RequestView) -> list[dict[str, Any]]:
        """The parts of an answer, for a page."""
        assert view.answer is not None
        job = {"do": "show", "text": view.sent.body, "document": view.answer[0], "limits": self._limits}
        parts: list[dict[str, Any]] = self._rehearsing.do(job, self._declared()[1], who.analyst)["parts"]
        return parts

    def scored(self, who: Identity, view: RequestView) -> dict[str, Any]:
        """What the question for the score of a fitted model is about."""
        assert view.answer is not None
        job = {"do": "scored", "text": view.sent.body, "document": view.answer[0], "limits": self._limits}
        return self._rehearsing.do(job, self._declared()[1], who.analyst)

    def statistics(self) -> dict[str, Any]:
        """The statistics and models of the registry, with the fields of their forms."""
        return self._rehearsing.do({"do": "statistics"})

    def _view(self, sent: Submission, asked: TakenRequest | None, *, bare: bool = False) -> RequestView:
        if asked is None:
            return RequestView(sent, "sent", None, None)
        early = asked.due is not None and time.time() < asked.due + HELD
        if asked.state in FINAL and early:
            return RequestView(sent, "scheduled", asked.due, None)
        found = self.outbox.answer(sent.ref) if asked.state == "answered" and not bare else None
        return RequestView(sent, asked.state, asked.due, None if found is None else (found.text, found.signature))

    def _grants(self, who: Identity) -> list[Grant]:
        now = time.time()
        mine = self.outbox.grants(who.analyst)
        return [g for g in mine if not g.revoked and not (g.expires is not None and g.expires <= now)]

    def _declared(self) -> tuple[list[Published], str]:
        with self._turn:
            at, tables, text = self._known
            if time.monotonic() - at > _FRESH or not at:
                tables = self.outbox.tables()
                text = json.dumps({t.name: {"schema": t.schema.to_dict(), "rows": t.rows} for t in tables})
                self._known = (time.monotonic(), tables, text)
            return tables, text

    def _job(self, do: str, who: Identity, body: bytes) -> dict[str, Any]:
        try:
            text = body.decode()
        except UnicodeDecodeError:
            raise Refused(422, "a question is text in UTF-8", remedy="write it so") from None
        granted = [grant.table for grant in self._grants(who)]
        return {"do": do, "body": text, "granted": granted, "limits": self._limits}

    def _priced(self, who: Identity, body: bytes, *, told: bool = True) -> dict[str, Any]:
        """The price of a question, remembered for the one who asked: what others asked must not be told by the time.

        With ``told`` also the expected errors, which take as long again.
        """
        job = self._job("price", who, body) | {"told": told}
        tables = self._declared()[1]
        name = digest(json.dumps([job, digest(tables)]))
        with self._turn:
            mine = self._prices.setdefault(who.analyst, OrderedDict())
            if name in mine:
                mine.move_to_end(name)
                return mine[name]
        made = self._pricing.do(job, tables, who.analyst)
        with self._turn:
            mine[name] = made
            if len(mine) > _REMEMBERED:
                mine.popitem(last=False)
        return made

    def _check_queue(self, who: Identity) -> None:
        with self._turn:
            mine = list(self._waiting.get(who.analyst, ()))
        if len(mine) < self.limits.queued:
            return
        states = self.outbox.states(mine)
        left = [ref for ref in mine if ref not in states or states[ref].state in WAITING]
        with self._turn:
            self._waiting[who.analyst] = left
        if len(left) >= self.limits.queued:
            raise Refused(429, f"at most {self.limits.queued} questions wait at a time", remedy="wait for an answer")
