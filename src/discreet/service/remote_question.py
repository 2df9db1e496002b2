"""A question from afar: closed JSON, checked against a schema, priced from the schema alone, known by its digest.

    question = parse(body, limits)               # UnsupportedFormat, InvalidRequest, UnknownName: all explain themselves
    priced = price(question, schema, rows)       # what it costs and how wrong it is expected to be; no table in reach
    question.digest                              # what the desk signs beside the answer; question.text is what it is of

A body is ``{"table": NAME, KIND: ...}`` with one kind of ``service.kinds``:

- ``"ask"``: a list of objects with the keys of a release file's ``[[ask]]``: statistic (any of the registry: tests, compare,
  survival, distribution, bounds and categories too), columns, by, where, of, options, title, and a price: epsilon, delta,
  rho, mechanism, calibration;
- ``"together"``: ``{"questions": [["mean", "age"], ["count"]], "shares": [...], "where": ..., price}``;
- ``"fit"``: the keys of a fit file's ``[model]``: kind, features, target, weight, propensity, where, and parameters;
- ``"tune"``: ``{"kind", "candidates": [parameters, ...], "features", "target", ..., "selection_epsilon", price}``;
- ``"score"``: ``{"design", "theta", "where", price}``: ``written(model.fitted_.design)`` of a classifier, and its theta.
- ``"synthesize"``: the options of ``Session.synthesize``: columns, bins, rows, tables, impossible, workload, where, price.

Numbers may be written as text, prices as fractions too: ``"epsilon": "1/3"``. ``where`` is ``{column: label or labels}`` or
a condition such as ``"age >= 60"``; both, and columns that are expressions, are read by the closed grammar of
``discreet.expressions``, which evaluates no code. The digest is SHA-256 over ``text``: sorted keys, no spaces, prices as the
rationals they are.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from discreet.core import numbers
from discreet.core.ask import Account, Ask, Open
from discreet.core.cost import Cost
from discreet.core.documents import reading
from discreet.core.random import Random
from discreet.core.release import Release
from discreet.core.result import Result
from discreet.core.schema import Schema
from discreet.errors import InvalidRequest, UnsupportedFormat
from discreet.jobs.plan import errors
from discreet.jobs.plan import price as priced_in
from discreet.ledger.events import canonical, digest
from discreet.service import closed
from discreet.service.kind import Kind, check_names, check_price
from discreet.service.kinds import KINDS
from discreet.service.limits import Limits
from discreet.sources import open_source
from discreet.sources.base import BaseSource

ROWS_WITHOUT_A_GUESS = 1000
_PRICES = ("epsilon", "delta", "rho", "selection_epsilon")
_LONGEST_PRICE = 200


@dataclass(frozen=True)
class RemoteQuestion:
    """A question that was read: the table it is about, its kind, and its canonical text with the digest of it."""

    table: str
    kind: Kind
    document: Mapping[str, Any]
    text: str
    digest: str

    def narrowed(self, source: BaseSource) -> BaseSource:
        """The rows that the question as a whole is about."""
        where = self.kind.where
        if not where:
            return source
        return source.where(**(source.schema.condition(where) if isinstance(where, str) else where))


@dataclass(frozen=True)
class Priced:
    """What a question costs, in all and each of its parts, and how many numbers it releases; from declarations alone.

    ``parts`` have a title, and those of statistics the expected error as ``jobs.plan`` words it; ``opens`` says whether
    it is paid in advance for several steps.
    """

    cost: Cost
    parts: tuple[Mapping[str, Any], ...]
    numbers: int
    opens: bool

    def to_dict(self) -> dict[str, Any]:
        """For a page or a client."""
        return {"cost": str(self.cost), "price": priced_in(self.cost), "parts": [dict(p) for p in self.parts]}


def parse(body: bytes | str, limits: Limits | None = None) -> RemoteQuestion:
    """The question that a body holds, or a refusal that says why."""
    limits = limits or Limits()
    doc = closed.read(body, limits)
    if not isinstance(doc, dict) or not isinstance(doc.get("table"), str):
        raise UnsupportedFormat('a question is an object with a table, such as {"table": "patients", "ask": [...]}')
    words = [word for word in doc if word in KINDS]
    unknown = [word for word in doc if word not in KINDS and word != "table"]
    if unknown or len(words) != 1:
        raise UnsupportedFormat(
            f"a question has a table and one of {', '.join(KINDS)}, got {', '.join(map(repr, doc))[:200]}",
            key=unknown[0] if unknown else "",
        )
    with reading("a question"):
        exact = _with_exact_prices(doc, limits)
        kind = KINDS[words[0]].read(exact[words[0]], limits)
    text = canonical(exact)
    return RemoteQuestion(doc["table"], kind, exact, text, digest(text))


def _with_exact_prices(value: Any, limits: Limits) -> Any:
    """The same with every price written as the rational it is."""
    if isinstance(value, list):
        return [_with_exact_prices(each, limits) for each in value]
    if not isinstance(value, dict):
        return value
    made = {}
    for key, inner in value.items():
        if key in _PRICES and inner is not None:
            if isinstance(inner, str) and len(inner) > _LONGEST_PRICE:
                raise UnsupportedFormat(f"{key} has at most {_LONGEST_PRICE} characters, got {len(inner)}", key=key)
            made[key] = numbers.write(numbers.rational(inner, key))
        else:
            made[key] = _with_exact_prices(inner, limits)
    check_price({key: made[key] for key in made if key in _PRICES and made[key] is not None}, limits)
    return made


def blank(schema: Schema) -> BaseSource:
    """A table of no rows under a schema: what questions are checked and priced on."""
    fresh = replace(schema)  # expressions that were read are kept with a schema; these are anyone's
    names = [*fresh.stored, *([] if fresh.person is None or fresh.person in fresh.stored else [fresh.person])]
    return open_source({name: np.empty(0) for name in names}, fresh, version="no rows")


def price(
    question: RemoteQuestion, schema: Schema, rows: int | None = None, limits: Limits | None = None, *, told: bool = True
) -> Priced:
    """What the question costs a table with this schema; ``rows`` is the number of rows where the relation makes it public.

    With ``told`` also how wrong each part is expected to be, which takes as long again.

    Proof that it is what will be charged: what an ask costs never depends on an answer (``core.runner.plan``), and the
    procedure is the one that the hand runs. A procedure that opens a prepaid plan of steps is followed up to there: its
    price covers all that comes after.
    """
    limits = limits or Limits()
    source = blank(schema)
    check_names(question.kind, source.schema)
    with reading("a question"):
        narrowed = question.narrowed(source)
        procedure = question.kind.procedure(narrowed, rows, limits)
        return _followed(question.kind, procedure, source.schema, rows, limits, told)


def _followed(kind: Kind, procedure: Any, schema: Schema, rows: int | None, limits: Limits, told: bool) -> Priced:
    relation, noise = schema.neighbors, Random(seed=0)
    guess = rows or schema.expected_rows or ROWS_WITHOUT_A_GUESS
    total, released, opens = Cost.nothing(), 0, False
    answer: Any = None

    def made_up(ask: Ask) -> Release:
        nonlocal total, released
        distance = ask.query.distance(relation)
        cost = ask.mechanism.cost(distance)
        if ask.account is None:
            total = total + cost
        released += ask.query.size
        if released > limits.numbers:
            raise InvalidRequest(f"a question releases at most {limits.numbers} numbers", remedy="ask for less at once")
        value = ask.mechanism.release(ask.query.blank(guess), seed=noise)
        return Release(value, ask.mechanism, ask.query, relation, distance, cost, private=False)

    while True:
        try:
            request = procedure.send(answer)
        except StopIteration as stop:
            results = kind.results(stop.value) if told else []
            return Priced(total, tuple(_parts(kind, results)), released, opens)
        if isinstance(request, Open) and request.account is not None:  # a part that was paid for pays
            answer = Account(0, of=request.account)
        elif isinstance(request, Open):
            total, opens = total + request.cost, True
            if request.plan is not None:
                procedure.close()
                return Priced(total, tuple({"title": title} for title in kind.titles()), released, opens)
            answer = [Account(0, part, request.parts) for part in range(request.parts or 1)]
        elif isinstance(request, Ask):
            answer = made_up(request)
        else:
            answer = tuple(made_up(each) for each in request)


def _parts(kind: Kind, results: list[Result]) -> Any:
    titles = kind.titles()
    if not results:
        yield from ({"title": title} for title in titles)
        return
    for title, result in zip(titles, results, strict=True):
        yield {"title": title, "cost": str(result.cost), "price": priced_in(result.cost), **errors(result)}
