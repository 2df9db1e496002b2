"""Who calls, and how often: tokens are looked up by their hash, and everyone has a number of questions a minute."""

from __future__ import annotations

import threading
import time
from collections import deque

from discreet.service import access_tokens
from discreet.service.calls import Call, Refused
from discreet.service.outbox import Identity, Outbox

_MINUTE = 60.0
_CALLS = 10  # calls of any kind for each question that may be sent


class Visitors:
    """Looks visitors up in the outbox; an unknown, expired or revoked token is refused with the same bytes."""

    def __init__(self, outbox: Outbox, per_minute: int) -> None:
        self._outbox = outbox
        self._rate = Rate(_CALLS * per_minute)

    def of_header(self, call: Call) -> Identity:
        """Who sent a token in the header ``Authorization``."""
        scheme, _, token = call.headers.get("authorization", "").partition(" ")
        who = self.of_token(token.strip()) if scheme.lower() == "bearer" else None
        if who is None:
            raise Refused(
                401, "a token of this service is needed", remedy="send Authorization: Bearer and a token that holds"
            )
        return self.noted(call, who)

    def noted(self, call: Call, who: Identity) -> Identity:
        """Count a call of somebody who was found, for the log too; refused where it is one of too many."""
        call.found["analyst"] = who.analyst
        self._rate.take(who.analyst)
        return who

    def of_token(self, token: str) -> Identity | None:
        """Whose token it is; None for what is no token, or none that holds."""
        return self._outbox.identify(access_tokens.digest(token), time.time()) if access_tokens.is_token(token) else None


class Rate:
    """At most so many calls a minute by each of those who call."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._seen: dict[int, deque[float]] = {}
        self._turn = threading.Lock()

    def take(self, who: int, now: float | None = None) -> None:
        """Count a call, or refuse it."""
        at = time.monotonic() if now is None else now
        with self._turn:
            mine = self._seen.setdefault(who, deque(maxlen=self._most))
            if len(mine) == self._most and at - mine[0] < _MINUTE:
                raise Refused(429, f"at most {self._most} calls of this kind a minute", remedy="wait a minute")
            mine.append(at)
