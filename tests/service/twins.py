"""Services that differ in their tables alone, and one script of calls to each of them.

Whatever a caller sees must be the same, byte for byte and header for header, but for values, references, signatures and
times: an answer's length, the presence of an error and its words included.
"""

from __future__ import annotations

import http.client
import json
import re
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from discreet.audit.statistic_claims import ASKED
from discreet.core.random import Random
from discreet.service.desk import Office
from discreet.service.front import application
from discreet.service.helper import Helper
from tests.service.conftest import Clinic, make_clinic, rows
from tests.service.stand import listener, listening

TABLES = {"base": rows(200), "one less": rows(199), "empty": rows(0), "full": rows(500)}
_HIDDEN = ("value", "theta", "ref", "request", "signature", "due", "sent", "location", "hash", "made", "predictor", "lower",
           "upper", "at", "expires", "key", "csrf", "ledger")  # fmt: skip
_IDLE = 1.0  # seconds after which a front may be about to close a connection that nobody used
# On a page: the word of its form, references and moments.
_VARIES = re.compile(rb'(?<=name="csrf" value=")[^"]*|[0-9a-f]{32}|\d\d:\d\d(?::\d\d)?')


@dataclass
class Whole:
    """A running service and the token of its analyst."""

    clinic: Clinic
    url: str
    token: str
    other: str


@contextmanager
def running(
    folder: Path,
    helpers: tuple[Helper, Helper] | None = None,
    table: str | None = None,
    slot: str = "0.05",
    hands: Any = None,
) -> Iterator[Whole]:
    """A desk and a front of one clinic, for as long as the block lasts."""
    with ExitStack() as stack:
        ear = stack.enter_context(listener())
        port = ear.getsockname()[1]
        clinic = make_clinic(folder, slot=slot, budget="{epsilon = 5000, delta = 1e-3}")
        clinic.edit("https://ask.clinic.example", f"http://127.0.0.1:{port}")
        clinic.edit("127.0.0.1:8443", f"127.0.0.1:{port}")
        # Several ledgers in one process go by their names.
        clinic.edit("[population.clinic]", f"[population.clinic{port}]")
        clinic.edit('population = "clinic"', f'population = "clinic{port}"')
        text = (folder / "serve.toml").read_text()
        (folder / "serve.toml").write_text(text + "[limits]\nper_minute = 100000\nqueued = 1000\n")
        if table is not None:
            (folder / "patients.csv").write_text(table)
        one, other = clinic.analyst("ada", 2000), clinic.analyst("bob", 1000)
        office = stack.enter_context(clinic.desk(hands))
        ended = threading.Event()
        desk = threading.Thread(target=_run, args=(office, ended), daemon=True)
        desk.start()
        stack.enter_context(listening(application(clinic.config, helpers), ear))
        try:
            yield Whole(clinic, clinic.config.url, one.secret, other.secret)
        finally:
            ended.set()
            desk.join(10)


def _run(office: Office, ended: threading.Event) -> None:
    while not ended.is_set():
        office.run(time.time() + float(office.config.slot))


@dataclass(frozen=True)
class Seen:
    """What a caller saw of a reply."""

    code: int
    headers: tuple[tuple[str, str], ...]
    body: bytes

    def plain(self) -> Any:
        """The same without what may differ."""
        headers = tuple((name, "" if name in ("location", "set-cookie") else value) for name, value in self.headers)
        try:
            return self.code, headers, _without(json.loads(self.body))
        except ValueError:
            return self.code, headers, _VARIES.sub(b"", self.body)


def _without(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: "" if key in _HIDDEN else _without(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [_without(each) for each in value]
    if isinstance(value, str) and value.startswith("{"):
        try:
            return _without(json.loads(value))
        except ValueError:
            return value
    return value


class Caller:
    """Calls one service, on one connection, as whoever holds a token."""

    def __init__(self, url: str, token: str = "") -> None:
        parts = urlsplit(url)
        self.url, self.token = url, token
        self._connection = http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=300)
        self._used = time.monotonic()

    def close(self) -> None:
        self._connection.close()

    def call(self, method: str, path: str, body: bytes | None = None, headers: Any = None) -> Seen:
        given = {"Authorization": f"Bearer {self.token}"} if self.token else {}
        if body is not None:
            given["Content-Type"] = "application/json"
        if time.monotonic() - self._used > _IDLE:
            self.close()
        self._connection.request(method, path, body, given | (headers or {}))
        reply = self._connection.getresponse()
        found = tuple((name.lower(), value) for name, value in reply.getheaders())
        seen = Seen(reply.status, found, reply.read())
        self._used = time.monotonic()
        return seen

    def asked(self, question: dict[str, Any] | str) -> dict[str, Any]:
        """Send a question and wait for what comes of it."""
        text = question if isinstance(question, str) else json.dumps(question)
        ref = json.loads(self.call("POST", "/v1/requests", text.encode()).body)["request"]
        return self.waited(ref)

    def waited(self, ref: str) -> dict[str, Any]:
        for _ in range(3):
            made: dict[str, Any] = json.loads(self.call("GET", f"/v1/requests/{ref}?wait=1").body)
            if made["state"] not in ("sent", "queued", "scheduled"):
                return made
        raise AssertionError(f"no answer: {made}")


def sign_in(caller: Caller, token: str) -> str:
    """The cookie of a browser that signed in."""
    form = {"Content-Type": "application/x-www-form-urlencoded", "Origin": caller.url, "Authorization": ""}
    seen = caller.call("POST", "/sign-in", f"token={token}".encode(), form)
    assert seen.code == 303, seen
    return dict(seen.headers)["set-cookie"].split(";")[0]


GOOD: list[dict[str, Any]] = [
    {"ask": [{"statistic": "count", "epsilon": "0.1"}]},
    {"ask": [{"statistic": "count", "by": ["sex", "stroke"], "epsilon": "0.1"}]},
    {"ask": [{"statistic": "mean", "columns": ["age"], "by": "sex", "epsilon": "0.1"}]},
    {"ask": [{"statistic": "mean", "columns": ["age"], "where": "bmi > 55 and age > 90", "epsilon": "0.1"}]},
    {"ask": [{"statistic": "variance", "columns": ["bmi"], "where": {"sex": "f", "stroke": "yes"}, "epsilon": "0.1"}]},
    {"ask": [{"statistic": "histogram", "columns": ["bmi"], "options": {"bins": 40}, "epsilon": "0.1"}]},
    {"ask": [{"statistic": "quantile", "columns": ["age"], "options": {"q": 0.9}, "epsilon": "0.1"}]},
    {"ask": [{"statistic": "ttest_ind", "columns": ["age"], "by": "sex", "epsilon": "0.1"}]},
    {"ask": [{"statistic": "correlation", "columns": ["age", "bmi"], "epsilon": "0.1"}]},
    {"together": {"questions": [["mean", "age"], ["count"]], "epsilon": "0.1"}},
    {"fit": {"kind": "logistic", "features": ["age", "bmi"], "target": "stroke", "epsilon": "0.5"}},
    {"fit": {"kind": "linear", "features": ["age"], "target": "bmi", "epsilon": "0.5"}},
    {"fit": {"kind": "sgd", "features": ["age"], "target": "stroke", "epsilon": 1, "delta": "1e-6", "epochs": 1}},
    {"tune": {"kind": "svm", "candidates": [{"ridge": 1}, {"ridge": 9}], "features": ["age", "bmi"], "target": "stroke",
              "epsilon": 1}},
    {"synthesize": {"columns": ["sex", "stroke"], "epsilon": 1, "tables": 2}},
]  # fmt: skip
_OF_THREE = {"by": "bins(age, [0, 30, 60, 101])"}
_LIVES: dict[str, Any] = {"columns": ["age", "stroke"], "options": {"bins": 3, "happened": "yes"}, "by": "sex"}
_OWN = {
    "f_oneway": _OF_THREE,
    "kruskal": _OF_THREE,
    "logrank": _LIVES,
    "survival": _LIVES,
    "ttest_1samp": {"options": {"popmean": 30}},
}  # what the clinic's columns need it to be
_PLACES = {"x": "bmi", "y": "age", "n": "age", "g": "sex", "arm": "stroke"}


def _registered(name: str) -> dict[str, Any]:
    """A question for a statistic of the registry, about the clinic."""
    columns, given = ASKED[name]
    options = {word: value for word, value in given.items() if word != "by"} | ({"k": 1} if name == "top" else {})
    asked = {"statistic": name, "columns": [_PLACES[each] for each in columns], "options": options, "epsilon": "0.1"}
    return {"ask": [asked | ({"by": _PLACES[given["by"]]} if "by" in given else {}) | _OWN.get(name, {})]}


GOOD += [_registered(name) for name in ASKED]
PAGES = ["/tables", "/tables/patients", "/tables/patients/ask/mean", "/tables/patients/fit/logistic", "/answers", "/models",
         "/catalogue", "/tables/nobody", "/queue"]  # fmt: skip
HOSTILE: list[bytes] = [
    b"", b"{", b"[]", b"null", b'"x"', b"\xff\xfe", b'{"table": "patients"}', b'{"table": "nobody", "ask": []}',
    b'{"table": "patients", "ask": [{"statistic": "mean", "columns": ["age"]}]}',
    b'{"table": "patients", "ask": [{"statistic": "mean", "columns": ["age"], "epsilon": 1e999}]}',
    b'{"table": "patients", "ask": [{"statistic": "mean", "columns": ["age"], "epsilon": NaN}]}',
    b'{"table": "patients", "ask": [{"statistic": "mean", "columns": ["age"], "epsilon": "inf"}]}',
    b'{"table": "patients", "ask": [{"statistic": "mean", "columns": ["ages"], "epsilon": 1}]}',
    b'{"table": "patients", "ask": [{"statistic": "mean", "columns": ["sex"], "epsilon": 1}]}',
    b'{"table": "patients", "table": "patients", "ask": [{"statistic": "count", "epsilon": 1}]}',
    b'{"table": "patients", "ask": [{"statistic": "count", "epsilon": 1, "seed": 1}]}',
    b'{"table": "patients", "ask": [{"statistic": "count", "epsilon": 1, "where": {"sex": "x"}}]}',
    b'{"table": "patients", "ask": [{"statistic": "count", "epsilon": 1, "where": "sex =="}]}',
    b'{"table": "patients", "ask": [{"statistic": "__import__", "epsilon": 1}]}',
    b'{"table": "patients", "ask": [{"statistic": "histogram", "columns": ["age"], "options": {"bins": 9e9}}]}',
    b'{"table": "patients", "fit": {"kind": "os.system", "features": ["age"], "target": "stroke", "epsilon": 1}}',
    b'{"table": "patients", "score": {"design": {}, "theta": [1], "epsilon": 1}}',
    b'{"table": "../../etc/passwd", "ask": [{"statistic": "count", "epsilon": 1}]}',
    b'{"table": "patients", "ask": "' + b"[" * 3000 + b'"}', b"[" * 5000, b"9" * 70_000,
]  # fmt: skip


def script(calls: int, seed: int) -> Iterator[tuple[str, str, bytes | None, dict[str, str], bool]]:
    """So many calls, good and hostile: method, path, body, headers, and whether an answer is to be waited for."""
    noise = Random(seed=seed)
    plain = ["/v1/tables", "/v1/left", "/v1/limits", "/v1/catalogue", "/health", "/v1/openapi.json", "/v1/none", "/",
             "/tables", "/answers", f"/v1/requests/{'0' * 32}", "/v1/requests/../../x", "/style.css"]  # fmt: skip
    for number in range(calls):
        choice = noise.below(100)
        if number % 2 == 0 and number // 2 < len(GOOD):
            yield "POST", "/v1/requests", json.dumps({"table": "patients", **GOOD[number // 2]}).encode(), {}, True
        elif choice < 10:  # asked again: free, and the same
            again = GOOD[noise.below(len(GOOD))]
            yield "POST", "/v1/requests", json.dumps({"table": "patients", **again}).encode(), {}, True
        elif choice < 20:  # as a browser that signed in
            yield "GET", PAGES[noise.below(len(PAGES))], None, {"Cookie": ""}, False
        elif choice < 30:
            good = GOOD[noise.below(len(GOOD))]
            yield "POST", "/v1/requests?preview=1", json.dumps({"table": "patients", **good}).encode(), {}, False
        elif choice < 70:
            yield (
                "POST",
                ("/v1/requests", "/v1/requests?preview=1")[noise.below(2)],
                HOSTILE[noise.below(len(HOSTILE))],
                {},
                False,
            )
        elif choice < 90:
            yield ("GET", "GET", "DELETE", "PUT")[noise.below(4)], plain[noise.below(len(plain))], None, {}, False
        elif choice < 95:
            yield "GET", "/v1/tables", None, {"Authorization": "Bearer discreet_" + "x" * 43}, False
        else:
            yield "POST", "/v1/requests", b"{}", {"Content-Type": "text/plain"}, False


def differences(folders: Path, helpers: tuple[Helper, Helper] | None, calls: int, seed: int = 7) -> tuple[int, list[str]]:
    """How many calls were made to each twin, and a line for every reply in which two of them differ."""
    found: list[str] = []
    with ExitStack() as stack:
        twins = []
        for name, table in TABLES.items():
            folder = folders / name
            folder.mkdir()
            whole = stack.enter_context(running(folder, helpers, table))
            twins.append(Caller(whole.url, whole.token))
            stack.callback(twins[-1].close)
        cookies = [sign_in(twin, twin.token) for twin in twins]
        made, sent = 0, []
        for method, path, body, headers, waits in script(calls, seed):
            if not waits:  # what is left of a grant is shown: all that was asked has to be paid
                found += _outcomes(twins, cookies, sent)
            own = [headers | ({"Cookie": cookie} if "Cookie" in headers else {}) for cookie in cookies]
            replies = [twin.call(method, path, body, given) for twin, given in zip(twins, own, strict=True)]
            made += 1
            what = f"{method} {path} {(body or b'')[:80]!r}"
            found += _compared(what, replies)
            sent += [(what, replies)] if waits else []
        found += _outcomes(twins, cookies, sent)
    return made, found


def _outcomes(twins: Sequence[Caller], cookies: Sequence[str], sent: list[tuple[str, list[Seen]]]) -> list[str]:
    """What came of the questions that were sent, as JSON and as a page, compared."""
    found = []
    while sent:
        what, replies = sent.pop(0)
        found += _compared(what, [_outcome(twin, reply) for twin, reply in zip(twins, replies, strict=True)])
        found += _compared(f"page of {what}", [_page(*each) for each in zip(twins, cookies, replies, strict=True)])
    return found


def _outcome(twin: Caller, sent: Seen) -> Seen:
    assert sent.code == 202, sent
    ref = json.loads(sent.body)["request"]
    twin.waited(ref)
    return twin.call("GET", f"/v1/requests/{ref}")


def _page(twin: Caller, cookie: str, sent: Seen) -> Seen:
    """The page of an answer without its words, which are made of the value: its length is in the headers."""
    seen = twin.call("GET", f"/answers/{json.loads(sent.body)['request']}", headers={"Cookie": cookie})
    return Seen(seen.code, seen.headers, b"")


def _compared(what: str, replies: Sequence[Seen]) -> list[str]:
    first = replies[0].plain()
    return [f"{what}: {first!r:.300} and {other!r:.300}" for each in replies[1:] if (other := each.plain()) != first]
