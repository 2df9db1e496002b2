"""HTTP to a service, with the standard library alone: https except on this machine, no redirects, nothing kept."""

from __future__ import annotations

import json
import os
import stat
import time
import urllib.error
import urllib.request
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from discreet.core.documents import parsed
from discreet.errors import DiscreetError, InvalidRequest, UnsupportedFormat, named
from discreet.service.access_tokens import is_token, reference_of

TOKEN = "DISCREET_TOKEN"  # noqa: S105  the name of the variable, not a token
TOKEN_FILE = Path("~/.config/discreet/token")
_LONGEST = 64 << 20  # bytes of a reply
_PATIENCE = 60.0  # seconds for one call
_TRIES = 4
_LOCAL = ("localhost", "127.0.0.1", "::1")


class ServiceRefused(DiscreetError):
    """The service did not take a call: the token does not hold, too many calls, or it is being looked after."""


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_: Any, **__: Any) -> None:
        """A service that sends its callers elsewhere would have them send their token there."""
        return


class Wire:
    """Calls to one service with one token."""

    def __init__(self, url: str, token: str | Path | None) -> None:
        parts = urlsplit(url)
        if parts.scheme != "https" and not (parts.scheme == "http" and parts.hostname in _LOCAL):
            raise InvalidRequest(
                f"a service is asked over https, and over http on this machine only, got {url!r}", key="url"
            )
        if parts.path.strip("/") or parts.query or parts.username is not None or not parts.hostname:
            raise InvalidRequest(f"url is where the service is, such as https://ask.example, got {url!r}", key="url")
        self.url = f"{parts.scheme}://{parts.netloc}"
        self._token = _token(token)
        if not is_token(self._token):
            raise InvalidRequest("a token is discreet_ and 43 letters, digits, - and _; copy all of it", key="token")
        # A proxy of the environment is for other machines; on this one it would see the token in the open.
        proxies: dict[str, str] | None = None if parts.scheme == "https" else {}
        self._opener = urllib.request.build_opener(_NoRedirects, urllib.request.ProxyHandler(proxies))

    def __repr__(self) -> str:
        return f"Wire({self.url!r})"

    def reference(self, key: str) -> str:
        """The name that a request of this token's has under a key."""
        return reference_of(self._token, key)

    def get(self, path: str) -> dict[str, Any]:
        """The document at an address."""
        return self._call(path, None, {})

    def post(self, path: str, body: str, headers: Mapping[str, str] | None = None) -> dict[str, Any]:
        """The reply to a document."""
        return self._call(path, body.encode(), {"Content-Type": "application/json", **(headers or {})})

    def _call(self, path: str, body: bytes | None, headers: Mapping[str, str]) -> dict[str, Any]:
        """One call; what failed on the way is tried again, which is safe: a question sent twice has one key."""
        request = urllib.request.Request(  # noqa: S310  the scheme was checked
            self.url + path, body, {"Authorization": f"Bearer {self._token}", "Accept": "application/json", **headers}
        )
        for last in (False,) * (_TRIES - 1) + (True,):
            try:
                with self._opener.open(request, timeout=_PATIENCE) as reply:
                    return _document(reply.read(_LONGEST + 1))
            except urllib.error.HTTPError as problem:
                with problem:
                    if problem.code in (429, 503) and not last and "retry-after" not in problem.headers:
                        time.sleep(0.5)
                        continue
                    raise _refusal(problem.code, problem.read(_LONGEST)) from None
            except (OSError, urllib.error.URLError) as problem:
                if last:
                    why = getattr(problem, "reason", problem)
                    raise ServiceRefused(
                        f"no service answers at {self.url} ({why})", remedy="try again in a while"
                    ) from None
                time.sleep(0.5)
        raise AssertionError("unreachable")


def _token(given: str | Path | None) -> str:
    """The token that was given, or of the environment, or of a file that nobody else can read."""
    if isinstance(given, str):
        return given.strip()
    if given is None and os.environ.get(TOKEN):
        return os.environ[TOKEN].strip()
    path = (TOKEN_FILE if given is None else given).expanduser()
    if not path.is_file():
        raise InvalidRequest(
            f"a token is needed: the one the custodian gave you, as token=, in {TOKEN}, or in the file {path}", key="token"
        )
    if path.stat().st_mode & (stat.S_IRWXG | stat.S_IRWXO):
        raise InvalidRequest(f"a token's file must be readable by you alone, got {path}; run chmod 600 {path}", key="token")
    return path.read_text(encoding="utf-8").strip()


def _document(raw: bytes) -> dict[str, Any]:
    if len(raw) > _LONGEST:
        raise UnsupportedFormat(f"a reply has at most {_LONGEST} bytes")
    made = parsed(raw.decode("utf-8", "replace"))
    if not isinstance(made, dict):
        raise UnsupportedFormat(f"a reply is an object, got {type(made).__name__}")
    return made


def _refusal(code: int, raw: bytes) -> DiscreetError:
    """The refusal that a reply words; what is no such reply is said by its code alone."""
    if code == 401:
        return ServiceRefused(
            "the service does not know this token, or it no longer holds", remedy="ask the custodian for a new one"
        )
    try:
        told = json.loads(raw)["error"]
        kind, rule, key, remedy = (_plain(str(told[word])[:2000]) for word in ("kind", "rule", "key", "remedy"))
    except (ValueError, LookupError, TypeError):
        return ServiceRefused(f"the service replied with code {code} and without words", remedy="ask the custodian")
    made = named(kind) if code == 422 else ServiceRefused
    return made(rule, key=key, remedy=remedy)


def _plain(words: str) -> str:
    """Without what would command a terminal: a service that was broken into words refusals too."""
    return "".join(mark for mark in words if mark.isprintable())
