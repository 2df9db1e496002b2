"""From a row of the inbox to a request of the desk: parsed, checked and priced again, or refused by one word.

The front is trusted in nothing. A row may hold anything in any column; whatever it is, the desk writes a word of a fixed
list beside its reference, or, where not even the reference is one, nothing.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from discreet.core.ask import Ask, Open
from discreet.core.cost import Cost
from discreet.core.runner import Bill
from discreet.errors import DiscreetError
from discreet.ledger import Ledger
from discreet.service import grants, weights
from discreet.service.access_tokens import is_reference
from discreet.service.config import Config
from discreet.service.inbox import Submission
from discreet.service.outbox import Grant, Outbox, Published
from discreet.service.remote_question import Priced, RemoteQuestion, parse, price
from discreet.service.schedule import MOST_SLOTS, slots
from discreet.service.weights import QuestionPart, Weights
from discreet.sources.base import BaseSource


@dataclass(frozen=True)
class Taken:
    """What became of a row: the state of the request, and what the desk needs to go on with it."""

    ref: str
    n: int
    state: str
    analyst: int = 0
    token: int = 0
    grant: Grant | None = None
    question: RemoteQuestion | None = None
    priced: Priced | None = None
    weight: float = -1.0
    unknown: list[QuestionPart] = field(default_factory=list)

    def row(self, at: float) -> dict[str, Any]:
        """As the outbox keeps it."""
        return {
            "ref": self.ref,
            "n": self.n,
            "analyst": self.analyst,
            "token": self.token,
            "grant_id": 0 if self.grant is None else self.grant.id,
            "table_name": "" if self.question is None else self.question.table[:200],
            "state": self.state,
            "due": None,
            "question_sha256": "" if self.question is None else self.question.digest,
            "question": "" if self.question is None else self.question.text,
            "at": at,
            "price": "{}" if self.priced is None else json.dumps(self.priced.to_dict()),
            "weight": self.weight,
            "began": None,
        }


@dataclass(frozen=True)
class Taker:
    """Who decides about rows; it reads declarations, grants and ledgers, and no record."""

    config: Config
    outbox: Outbox
    ledgers: Mapping[str, Ledger]
    sources: Mapping[str, BaseSource]
    weights: Weights

    def take(self, row: Submission, now: float, queued: Mapping[int, int]) -> Taken | None:
        """What becomes of a row; ``queued`` says how many requests of each analyst wait."""
        if not isinstance(row.ref, str) or not is_reference(row.ref) or not isinstance(row.n, int):
            return None
        token = row.token if isinstance(row.token, int) and abs(row.token) < 1 << 31 else 0
        try:
            identity = self.outbox.still(token, now)
            if identity is None:
                return Taken(row.ref, row.n, "revoked")
            refused = Taken(row.ref, row.n, "denied", identity.analyst, token)
            if not isinstance(row.body, str) or queued.get(identity.analyst, 0) >= self.config.limits.queued:
                return refused
            return self._decided(refused, parse(row.body, self.config.limits), now)
        except DiscreetError:
            return Taken(row.ref, row.n, "denied", 0 if identity is None else identity.analyst, token)

    def _decided(self, row: Taken, question: RemoteQuestion, now: float) -> Taken:
        """The row with the state that its question comes to."""
        asked = replace(row, question=question)
        table = self.outbox.table(question.table)
        if table is None or question.table not in self.config.tables:
            return asked
        if not table.is_open:
            return replace(asked, state="closed")
        mine = [grant for grant in self.outbox.grants(row.analyst) if grant.table == table.name]
        grant = self.outbox.grant_for(row.analyst, table.name, now)
        if grant is None:
            ended = bool(mine) and not mine[-1].revoked
            return replace(asked, state="expired" if ended else "revoked")
        priced = price(question, table.schema, table.rows, self.config.limits, told=False)
        asked = replace(asked, grant=grant, priced=priced)
        if not self._fits(question, grant, priced, table):
            return replace(asked, state="refused_cap")
        asked = self.weighed(asked, table)
        if asked.weight >= 0 and slots(asked.weight, self.config.slot) > MOST_SLOTS:
            return replace(asked, state="denied")
        waits = grants.exceeds(priced.cost, None if grant.approve_above is None else dict(grant.approve_above))
        return replace(asked, state="approval" if waits else "queued")

    def weighed(self, asked: Taken, table: Published) -> Taken:
        """With its weight, or with the parts that have to be measured first."""
        assert asked.question is not None
        served = self.config.tables[table.name]
        parts = weights.parts(asked.question, table, served.most_rows)
        if served.seconds is not None:
            return replace(asked, weight=served.seconds * len(parts), unknown=[])
        known = self.weights.of(parts)
        return replace(asked, weight=-1.0 if known is None else known, unknown=self.weights.unknown(parts))

    def _fits(self, question: RemoteQuestion, grant: Grant, priced: Priced, table: Published) -> bool:
        """Whether the whole of it fits the share: without what the same analyst has paid for before."""
        population = self.config.tables[table.name].population
        share = grants.share(self.ledgers[population], grant)
        return share.preview(self._due(question, priced, share, table)).fits

    def _due(self, question: RemoteQuestion, priced: Priced, share: Ledger, table: Published) -> Cost:
        """What is yet to be paid. Of what is asked in several steps only the first is known before it is answered.

        Where the analyst has paid for that, the rest is either paid for too, or the payment's own transaction refuses it.
        """
        source = question.narrowed(self.sources[table.name])
        request: Any = question.kind.procedure(source, table.rows, self.config.limits).send(None)
        if isinstance(request, Open):
            return priced.cost
        bills = []
        for ask in (request,) if isinstance(request, Ask) else request:
            distance = ask.query.distance(table.schema.neighbors)
            people = source.where(**dict(ask.where)) if ask.where else source
            repeats = ask.rate is None and ask.query.described
            bills.append(Bill(ask, distance, ask.mechanism.cost(distance), people, repeats))
        due = share.due(bills, table.schema.neighbors)
        at_once = sum((bill.cost for bill in bills), Cost.nothing()) == priced.cost
        return due if at_once or due == Cost.nothing() else priced.cost
