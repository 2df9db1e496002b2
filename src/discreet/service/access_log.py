"""The front's log of calls: when, whose, which request, by which route, the code of the reply and its length.

No body, question or value, and no address as it was sent: a route is named as the service declares it, so that nothing a
stranger wrote comes into the file. Without a file the lines go to standard output, where systemd keeps them.
"""

from __future__ import annotations

import json
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from discreet.service.log import append

_NOTED = "noted"  # where an endpoint tells what it found out about a call


class AccessLog:
    """Writes a line for every call, also for those that no route takes."""

    def __init__(self, app: ASGIApp, path: Path | None) -> None:
        self.app, self._path = app, path

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        scope[_NOTED] = {}
        row: dict[str, Any] = {"time": 0.0, "analyst": 0, "ref": "", "route": "none", "code": 0, "bytes": 0}

        async def seen(message: Message) -> None:
            if message["type"] == "http.response.start":
                row["code"] = message["status"]
            elif message["type"] == "http.response.body":
                row["bytes"] += len(message.get("body", b""))
            await send(message)

        try:
            await self.app(scope, receive, seen)
        finally:
            self._write(row | scope[_NOTED] | {"time": round(time.time(), 3)})

    def _write(self, row: dict[str, Any]) -> None:
        if self._path is None:
            sys.stdout.write(json.dumps(row) + "\n")
            sys.stdout.flush()
            return
        with suppress(OSError):  # a full disk must not end the service
            append(self._path, row, 0o640)


def note(scope: Scope, **facts: Any) -> None:
    """Tell the log what was found out about a call."""
    scope.setdefault(_NOTED, {}).update(facts)
