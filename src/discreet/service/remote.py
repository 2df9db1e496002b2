"""A session with a table behind a service: the questions of ``Session``, answered by somebody who may see the table.

    session = ds.connect("https://ask.clinic.example", table="patients")     # the token from DISCREET_TOKEN
    session.mean("age", by="sex", epsilon=0.1)                               # the same Result as beside the table

A question leaves as closed JSON and comes back as releases under the desk's signature. They are then sent, one by one, to
the same procedure that runs beside a table, which holds each against what was asked: results, fitted models, intervals and
posteriors are those of a ``Session``.
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NoReturn, TypeVar

from discreet.accounting.filters import Remaining
from discreet.core.cost import Cost
from discreet.core.release import Release
from discreet.core.schema import Schema
from discreet.errors import BudgetExceeded, InvalidRequest, UnsupportedFormat, Withheld
from discreet.fitting import Fitting
from discreet.ledger.ledger import Preview as Afterwards
from discreet.models.publish.predictor import read
from discreet.questions import Questions
from discreet.request import Request, Where
from discreet.service.amounts import WORDS, after, remaining
from discreet.service.remote_question import blank, parse
from discreet.service.reread_answer import replay
from discreet.service.signing import verify
from discreet.service.wire import ServiceRefused, Wire
from discreet.service.written import written_question
from discreet.statistics.question import Table
from discreet.synthesis import Synthesis

R = TypeVar("R")
_WAITING = ("sent", "queued", "approval", "scheduled")
_ENDS = {
    "refused_cap": (BudgetExceeded, "the question costs more than is left of your grant; nothing was charged"),
    "closed": (ServiceRefused, "the table is closed; nothing was looked at"),
    "denied": (ServiceRefused, "the custodian denied the question"),
    "revoked": (ServiceRefused, "the token or the grant was revoked"),
    "expired": (ServiceRefused, "nobody approved the question in time"),
    "withheld": (Withheld, "it was paid for and not answered in its time; the custodian can have it answered, for nothing"),
}


def connect(url: str, token: str | Path | None = None, key: str | None = None, *, table: str | None = None) -> Remote:
    """A session with a table behind a service.

    ``token`` is what the custodian gave you, or the path of a file that only you can read; without it the variable
    ``DISCREET_TOKEN``, or ``~/.config/discreet/token``. ``key`` is the desk's public key, in hexadecimal: with it nobody
    between the desk and you can change an answer. Without it the key is fetched once, from the service itself. ``table`` is
    needed where several are open to you.
    """
    wire = Wire(url, token)
    tables = {str(each["name"]): each for each in wire.get("/v1/tables")["tables"]}
    if not tables:
        raise ServiceRefused("no table is open to you", remedy="ask the custodian for a grant: discreet access grant")
    if table is None and len(tables) == 1:
        table = next(iter(tables))
    if table not in tables:
        known = ", ".join(sorted(tables))
        raise InvalidRequest(f"name one of the tables that are open to you with table=: {known}; got {table!r}", key="table")
    return Remote(wire, tables[table], wire.get("/v1/key")["key"] if key is None else key)


class Remote(Questions, Fitting, Synthesis):
    """Questions to a table behind a service, with the methods of ``Session``; made by ``connect``.

    What needs code beside the table (a loss or a network of one's own, a test of tests, a procedure) raises at once.
    """

    def __init__(self, wire: Wire, table: Mapping[str, Any], key: str) -> None:
        self._wire, self.key = wire, key
        self.table, self._rows = str(table["name"]), table["rows"]
        self.schema = Schema.from_dict(table["schema"])

    def __repr__(self) -> str:
        return f"Remote({self._wire.url!r}, table={self.table!r})"

    def remaining(self) -> Remaining | None:
        """What is left of your grant."""
        return remaining(self._grant()["left"])

    def spent(self) -> Remaining | None:
        """What was spent of your grant, in its currencies."""
        return remaining(self._grant()["spent"])

    def history(self) -> list[dict[str, Any]]:
        """Your requests, newest first: reference, state, when it is due, and what was asked."""
        listed: list[dict[str, Any]] = self._wire.get("/v1/requests")["requests"]
        return listed

    def rehearse(self, statistic: str, *args: Any, where: Where | None = None, **options: Any) -> list[dict[str, Any]]:
        """What an answer would look like, from rows made up from the schema; costs nothing and tells nothing."""
        asked = {"ask": [{"statistic": statistic, "columns": list(args), **options}]}
        body = written_question(self.table, asked, {} if where is None else where)
        parts: list[dict[str, Any]] = self._wire.post("/v1/requests?rehearse=1", body)["parts"]
        return parts

    def discover(self, *columns: str) -> NoReturn:
        """Not from afar: ask for ``bounds`` or ``categories``, and the custodian may declare what was found."""
        raise InvalidRequest(
            "bounds and labels that are found become part of the schema, which is the custodian's",
            remedy="ask for bounds or categories",
        )

    def of_tests(self, function: Any, columns: Sequence[str], **_: Any) -> NoReturn:
        """Not from afar: the test would be code beside the table."""
        raise _code("of_tests runs a function of yours beside the table")

    def run(self, procedure: Any) -> NoReturn:
        """Not from afar: a procedure is code."""
        raise _code("a procedure of your own runs beside the table")

    def _answer(self, request: Request[R]) -> R:
        text = written_question(self.table, request.words, request.where)
        question = parse(text)
        source = blank(self.schema)
        where = request.where
        narrowed = source.where(**(source.schema.condition(where) if isinstance(where, str) else where)) if where else source
        table = Table(self.schema, self._rows if self._rows_are_public(bool(where)) else None)
        procedure = request.make(table)
        document = self._asked(text, question.digest)
        if not question.kind.replays:
            made: R = read(document["model"])
            return made
        releases = [Release.from_dict(each) for each in document["releases"]]
        return replay(procedure, releases, self.schema.neighbors, narrowed.restriction)

    def _accepted(self, model: Any, answer: Any) -> Any:
        """A model that is fitted step by step comes as it was published, for its steps are not kept."""
        return super()._accepted(model, answer) if isinstance(answer, tuple) else answer

    def _asked(self, text: str, digest: str) -> dict[str, Any]:
        """Send a question, wait for its moment, and check what came back."""
        key = secrets.token_urlsafe(24)
        ref = self._wire.reference(key)  # new, so that no earlier answer can be played again
        if self._wire.post("/v1/requests", text, {"Idempotency-Key": key}).get("request") != ref:
            raise UnsupportedFormat("a request is named by its key, and this one has another name; tell the custodian")
        while (reply := self._wire.get(f"/v1/requests/{ref}?wait=1")).get("state") in _WAITING:
            pass
        state, answer, signature = (str(reply.get(word)) for word in ("state", "answer", "signature"))
        if state != "answered":
            made, words = _ENDS.get(state, (ServiceRefused, f"the service ended it as {state!r}"))
            raise made(words)
        verify(self.key, answer, signature)
        document: dict[str, Any] = json.loads(answer)
        if document.get("ref") != ref or document.get("question") != digest:
            raise UnsupportedFormat("an answer names the question it is to, and this one names another; tell the custodian")
        return document

    def _grant(self) -> dict[str, Any]:
        for each in self._wire.get("/v1/left")["grants"]:
            if each["table"] == self.table:
                found: dict[str, Any] = each
                return found
        raise ServiceRefused(f"the table {self.table!r} is no longer open to you", remedy="ask the custodian")

    def _afterwards(self, cost: Cost) -> Afterwards:
        left = self._grant()["left"]
        doc = cost.to_dict()
        rest = after(left, {word: doc[word] for word in WORDS})
        return Afterwards(cost, rest is not None, remaining(left if rest is None else rest))

    def _finding_cost(self, names: Sequence[str]) -> Cost:
        if names:
            raise InvalidRequest(
                f"the bounds or labels of {', '.join(names)} are private; ask for bounds or categories first"
            )
        return Cost.nothing()

    def _check_where(self, where: Where) -> None:
        if where:
            source = blank(self.schema)
            source.where(**(source.schema.condition(where) if isinstance(where, str) else where))


def _code(what: str) -> InvalidRequest:
    return InvalidRequest(f"{what}, and a service runs nobody's code", remedy="ask the custodian to run it")
