"""A call to the front and the reply to it: every reply says its rule in the open, and its length says nothing.

Bodies are padded to a multiple of 4 KiB. Of an answer the length is first made the same for all values: every number counts
as if it were written with the most digits a number can have.
"""

from __future__ import annotations

import json
import re
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from anyio import to_thread
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response

from discreet.errors import DiscreetError
from discreet.service.access_log import note
from discreet.service.mailbox import Unavailable

PAD = 4096
_NUMBER = re.compile(rb"(?<=[\[:,\s])-?[0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?(?=[\],}\s])")  # not the digits of a text
_WIDEST = 25  # characters of the longest number in JSON: a sign, 17 digits, a point and an exponent
ALWAYS = {"cache-control": "no-store", "x-content-type-options": "nosniff"}
KINDS = {401: "unauthorized", 404: "not_found", 405: "method_not_allowed", 413: "too_large", 415: "unsupported_media_type",
         422: "refused", 429: "too_many_requests", 503: "unavailable"}  # fmt: skip


@dataclass(frozen=True)
class Call:
    """What came over the wire, as plain values."""

    method: str
    path: str
    query: Mapping[str, str]
    headers: Mapping[str, str]
    cookies: Mapping[str, str]
    body: bytes
    named: Mapping[str, str] = field(default_factory=dict)  # the parts of the path that have names
    found: dict[str, Any] = field(default_factory=dict)  # whose call it is and which request it is about, for the log


@dataclass(frozen=True)
class Reply:
    """What goes back."""

    body: bytes
    code: int = 200
    kind: str = "application/json"
    headers: Mapping[str, str] = field(default_factory=dict)

    def response(self) -> Response:
        """The reply for the server, with the headers that all have."""
        return Response(self.body, self.code, dict(ALWAYS) | dict(self.headers), media_type=self.kind)


class Refused(Exception):
    """A call that is refused with a code, in words that come from declarations and the call alone."""

    def __init__(self, code: int, rule: str, *, key: str = "", remedy: str = "", kind: str = "") -> None:
        super().__init__(rule)
        self.code, self.rule, self.key, self.remedy = code, rule, key, remedy
        self.kind = kind or KINDS[code]

    @staticmethod
    def of(problem: DiscreetError) -> Refused:
        """An error of the package, with the code that it has here."""
        if isinstance(problem, Unavailable):
            return Refused(503, "the service is being looked after", remedy="try again in a while")
        said = str(problem.remedied("")) if problem.remedy else str(problem)
        return Refused(422, said, key=problem.key, remedy=problem.remedy, kind=type(problem).__name__)

    def document(self) -> dict[str, Any]:
        return {"error": {"kind": self.kind, "rule": self.rule, "key": self.key, "remedy": self.remedy}}


def padded(body: bytes, least: int = 0) -> bytes:
    """The body with spaces after it, up to a multiple of 4 KiB that is at least ``least``."""
    return body.ljust(-(-max(len(body), least) // PAD) * PAD)


def json_reply(document: Any, code: int = 200, headers: Mapping[str, str] | None = None, indent: int | None = None) -> Reply:
    """A JSON document, padded."""
    body = json.dumps(document, allow_nan=False, ensure_ascii=False, indent=indent).encode()
    return Reply(padded(body, even_length(body)), code, headers=headers or {})


def even_length(body: bytes) -> int:
    """How long a document would be, were each of its numbers of the greatest length."""
    found = _NUMBER.findall(body)
    return len(body) + len(found) * _WIDEST - sum(map(len, found))


Work = Callable[[Call], Reply]
Told = Callable[[Call, Refused], Reply]


def told_in_json(call: Call, refused: Refused) -> Reply:
    """A refusal as JSON."""
    headers = {"www-authenticate": "Bearer"} if refused.code == 401 else {}
    if refused.code == 429:
        headers["retry-after"] = "60"
    return json_reply(refused.document(), refused.code, headers)


def endpoint(route: str, work: Work, most: int, told: Told = told_in_json) -> Callable[[Request], Awaitable[Response]]:
    """What the server calls: reads the body, does the work in a thread, and tells a refusal in its way."""

    async def answered(request: Request) -> Response:
        call, refused = await received(request, most)
        reply = await to_thread.run_sync(attempt, work, told, call, refused)
        note(request.scope, route=route, **call.found)
        return reply.response()

    return answered


def attempt(work: Work, told: Told, call: Call, refused: Refused | None = None) -> Reply:
    """The reply of some work, or of its refusal."""
    try:
        if refused is not None:
            raise refused
        return work(call)
    except Refused as problem:
        return told(call, problem)
    except DiscreetError as problem:
        return told(call, Refused.of(problem))


async def received(request: Request, most: int) -> tuple[Call, Refused | None]:
    """The call, and the refusal of a body that is too long; what is too long is not kept."""
    body, refused = b"", None
    try:
        async for part in request.stream():
            if len(body) + len(part) > most:
                refused = Refused(413, f"a body has at most {most} bytes", remedy="ask for less at once")
                break
            body += part
    except ClientDisconnect:
        refused = Refused(422, "the body ended too early", remedy="send it again")
    headers = dict(request.headers.items())
    named = {key: str(value) for key, value in request.path_params.items()}
    path = str(request.scope["path"])  # of ``request.url`` a caller's Host would be a part
    call = Call(request.method, path, dict(request.query_params), headers, request.cookies, body, named)
    return call, refused
