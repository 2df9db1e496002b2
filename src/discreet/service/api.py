"""The routes for programs: JSON in, JSON out, a token in the header ``Authorization``."""

from __future__ import annotations

import time
from collections import Counter as TallyOf
from collections.abc import Awaitable, Callable

import anyio
from anyio import to_thread
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from discreet.service.access_log import note
from discreet.service.access_tokens import reference_of
from discreet.service.calls import Call, Refused, Reply, attempt, endpoint, json_reply, received, told_in_json
from discreet.service.counter import HELD, Counter, RequestView
from discreet.service.described import description
from discreet.service.outbox import Identity
from discreet.service.visitors import Visitors

_LONGEST_WAIT = 25.0  # seconds that a call with wait=1 is kept; proxies give up after 30 or 60
_LOOKED = 0.25  # seconds between two looks at a request that has no public moment yet


class Api:
    """The routes of one front."""

    def __init__(self, counter: Counter, visitors: Visitors) -> None:
        self._counter, self._visitors = counter, visitors
        self._most = counter.limits.body
        self._waits: TallyOf[int] = TallyOf()  # how many calls of each analyst are kept waiting

    def routes(self) -> list[Route]:
        """For the server."""
        works: dict[str, Callable[[Call], Reply]] = {
            "/v1/tables": self._tables,
            "/v1/left": self._left,
            "/v1/catalogue": self._catalogue,
            "/v1/limits": self._limits,
            "/v1/key": self._key,
            "/v1/openapi.json": self._described,
            "/health": lambda call: json_reply({"service": "discreet"}),
        }
        one, all_of = "/v1/requests/{ref}", "/v1/requests"
        return [
            Route(all_of, endpoint(all_of, self._requests, self._most), methods=["GET", "POST"]),
            Route(one, self._waiting(one), methods=["GET"]),
            *(Route(path, endpoint(path, work, self._most), methods=["GET"]) for path, work in works.items()),
        ]

    def _requests(self, call: Call) -> Reply:
        who = self._visitors.of_header(call)
        if call.method != "POST":
            return json_reply({"requests": [view.document() for view in self._counter.history(who)]})
        kind = call.headers.get("content-type", "").partition(";")[0].strip().lower()
        if kind != "application/json":
            raise Refused(415, "a question is sent as application/json", remedy="set the header Content-Type")
        if call.query.get("preview") == "1":
            return json_reply(self._counter.price(who, call.body))
        if call.query.get("rehearse") == "1":
            return json_reply(self._counter.rehearse(who, call.body))
        if call.query:
            raise Refused(422, "a question is sent plainly, or with preview=1 or rehearse=1", remedy="correct the address")
        key = call.headers.get("idempotency-key")
        named = None if key is None else reference_of(call.headers["authorization"].partition(" ")[2].strip(), key)
        ref = call.found["ref"] = self._counter.send(who, call.body, key, named)
        return json_reply({"request": ref, "state": "sent"}, 202, {"location": f"/v1/requests/{ref}"})

    def _waiting(self, route: str) -> Callable[[Request], Awaitable[Response]]:
        """One request: at once or, with ``wait=1``, when its public moment has come."""

        def look(call: Call) -> RequestView:
            who: Identity = self._visitors.of_header(call)
            view = self._counter.own(who, call.named["ref"])
            call.found["ref"] = view.sent.ref
            return view

        async def answered(request: Request) -> Response:
            call, refused = await received(request, self._most)
            until = time.monotonic() + (_LONGEST_WAIT if call.query.get("wait") == "1" else 0.0)
            found: list[RequestView] = []

            def work(call: Call) -> Reply:
                found[:] = [look(call)]
                return json_reply(found[0].document())

            while True:
                reply = await to_thread.run_sync(attempt, work, told_in_json, call, refused)
                left, who = until - time.monotonic(), call.found.get("analyst", 0)
                kept = reply.code == 200 and not found[0].is_final and self._waits[who] < self._counter.limits.queued
                if not kept or left <= 0 or await request.is_disconnected():
                    note(request.scope, route=route, **call.found)
                    return reply.response()
                due = found[0].due
                rest = _LOOKED if due is None else max(due + HELD - time.time(), 0.02)
                self._waits[who] += 1  # nobody's waiting calls take all connections
                try:
                    await anyio.sleep(min(rest, left, 1.0))
                finally:
                    self._waits[who] -= 1

        return answered

    def _tables(self, call: Call) -> Reply:
        found = self._counter.tables(self._visitors.of_header(call))
        listed = [
            {"name": t.name, "version": t.version, "rows": t.rows, "open": t.is_open, "schema": t.schema.to_dict()}
            for t, _ in found
        ]
        return json_reply({"tables": listed})

    def _left(self, call: Call) -> Reply:
        found = self._counter.tables(self._visitors.of_header(call))
        listed = [
            {"table": t.name, "cap": g.cap, "spent": g.spent, "left": g.left, "purpose": g.purpose,
             "approve_above": g.approve_above, "expires": g.expires}
            for t, g in found
        ]  # fmt: skip
        return json_reply({"grants": listed})

    def _catalogue(self, call: Call) -> Reply:
        open_to = {table.name for table, _ in self._counter.tables(self._visitors.of_header(call))}
        listed = [
            {"request": each["ref"], "table": each["table_name"], "title": each["title"], "asked": each["question"],
             "answer": each["document"], "signature": each["signature"], "at": each["at"]}
            for each in self._counter.outbox.catalogue()
            if each["table_name"] in open_to
        ]  # fmt: skip
        return json_reply({"catalogue": listed})

    def _limits(self, call: Call) -> Reply:
        return json_reply({"limits": self._counter.limits.to_dict()})

    def _key(self, call: Call) -> Reply:
        return json_reply({"key": self._counter.outbox.fact("key")})

    def _described(self, call: Call) -> Reply:
        return json_reply(description())
