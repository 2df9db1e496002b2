"""The front: it listens, and can open neither a table nor a ledger."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from glob import glob
from pathlib import Path
from typing import Any

from anyio import to_thread
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from discreet.errors import InvalidRequest
from discreet.service.access_log import AccessLog
from discreet.service.api import Api
from discreet.service.calls import KINDS, Call, Refused, told_in_json
from discreet.service.config import Config
from discreet.service.counter import Counter
from discreet.service.helper import Helper
from discreet.service.inbox import Inbox
from discreet.service.outbox import Outbox
from discreet.service.pages.routes import Pages
from discreet.service.visitors import Visitors

_NOWHERE = Call("GET", "/", {}, {}, {}, b"")


def check_blind(config: Config) -> None:
    """Refuse to start where a table or a ledger can be opened.

    A front is read by strangers, so whatever it could read would be one mistake away from them. Not asked for where one
    user runs all, which the file has to say.
    """
    if config.one_user:
        return
    for path in _secret(config):
        try:
            with path.open("rb"):
                pass
        except (PermissionError, FileNotFoundError, IsADirectoryError):
            continue
        raise InvalidRequest(
            f"the front must not be able to open a table or a ledger, and it can open {str(path)!r}",
            remedy="run it as a user of its own (see users in the service file), or write one_user = true",
        )


def _secret(config: Config) -> Iterator[Path]:
    """The files of tables and ledgers, and what the desk keeps for itself."""
    for table in config.tables.values():
        for name in [table.files] if isinstance(table.files, str) else table.files:
            yield from _files(Path(name))
    for population in config.populations.values():
        yield Path(population.ledger.removeprefix("sqlite:///"))
    yield from _files(config.private)


def _files(path: Path) -> Iterator[Path]:
    """A file, or all in a folder, or all that a pattern matches, as far as they can be seen: what is closed is well."""
    if os.path.isdir(path):
        yield from (Path(folder, name) for folder, _, names in os.walk(path) for name in names)
    elif "*" in path.name:
        yield from map(Path, glob(str(path)))
    else:
        yield path


class OneReading:
    """A request that two programs in a row may read differently is refused, and the connection ends with the reply.

    One that tells its length in two ways hides another request from whoever believes the other way (RFC 9112, section 6.3),
    and what a version means that is not HTTP/1 is not known here.
    """

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        refused = self._refused(scope) if scope["type"] == "http" else None
        if refused is None:
            await self.app(scope, receive, send)
        else:
            reply = told_in_json(_NOWHERE, refused).response()
            reply.headers["connection"] = "close"
            await reply(scope, receive, send)

    @staticmethod
    def _refused(scope: Scope) -> Refused | None:
        if scope["http_version"] not in ("1.0", "1.1"):
            return Refused(422, "a request is in HTTP/1.1", remedy="let the proxy in front of the service translate")
        if {b"content-length", b"transfer-encoding"} <= {name for name, _ in scope["headers"]}:
            return Refused(422, "a request tells its length once", remedy="send Content-Length or Transfer-Encoding")
        return None


def application(config: Config, helpers: tuple[Helper, Helper] | None = None) -> Starlette:
    """The front as an ASGI application; ``helpers`` of another front, one for prices and one for the rest, can be shared."""
    inbox, outbox = Inbox(config.front_boxes, write=True), Outbox(config.front_boxes, write=False)
    pricing, rehearsing = helpers or (Helper(), Helper())
    counter = Counter(inbox, outbox, config.limits, pricing, rehearsing)
    visitors = Visitors(outbox, config.limits.per_minute)

    @asynccontextmanager
    async def alive(_: Starlette) -> AsyncIterator[None]:
        to_thread.current_default_thread_limiter().total_tokens = config.limits.connections  # no call waits for another's
        await asyncio.gather(*(asyncio.to_thread(helper.start) for helper in (pricing, rehearsing)))
        try:
            yield
        finally:
            inbox.close()
            outbox.close()
            for helper in () if helpers else (pricing, rehearsing):
                helper.close()

    routes = [*Api(counter, visitors).routes(), *Pages(config, counter, visitors).routes()]
    made = Starlette(
        routes=routes, lifespan=alive, middleware=[Middleware(AccessLog, path=config.access_log), Middleware(OneReading)],
        exception_handlers={HTTPException: _refused, Exception: _failed},
    )  # fmt: skip
    made.router.redirect_slashes = False
    return made


async def _refused(_: Request, problem: Exception) -> Response:
    """What no route takes: a page or method that is not there."""
    code = problem.status_code if isinstance(problem, HTTPException) and problem.status_code in KINDS else 404
    words = "this method is not for this address" if code == 405 else "there is nothing at this address"
    return told_in_json(_NOWHERE, Refused(code, words, remedy="see /v1/openapi.json")).response()


async def _failed(_: Request, problem: Exception) -> Response:
    """What nobody foresaw: one reply for all of it. The server's log has the error."""
    return told_in_json(
        _NOWHERE, Refused(503, "the service is being looked after", remedy="try again in a while")
    ).response()


def serve(config: Config) -> None:
    """Listen until the process is ended; says so once it does."""
    import uvicorn

    check_blind(config)

    class Server(uvicorn.Server):
        async def startup(self, sockets: Any = None) -> None:
            await super().startup(sockets)
            if self.started:
                sys.stderr.write(f"The front listens on {config.host}:{config.port}; open {config.url}\n")

    settings: dict[str, Any] = {
        "host": config.host, "port": config.port, "http": "h11", "ws": "none", "lifespan": "on", "loop": "asyncio",
        "limit_concurrency": config.limits.connections, "server_header": False, "date_header": False,
        "proxy_headers": False, "access_log": False, "log_level": "warning", "timeout_keep_alive": 15,
        "h11_max_incomplete_event_size": 16 * 1024,
    }  # fmt: skip
    Server(uvicorn.Config(application(config), **settings)).run()
