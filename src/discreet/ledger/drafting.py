"""From an ask to the event that would pay for it, and to the key under which its answer is stored."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from discreet.core.ask import Account, Ask
from discreet.core.cost import Cost, Distance
from discreet.core.query import Relation
from discreet.core.runner import Bill
from discreet.core.source import Source
from discreet.ledger import checks, digest_key
from discreet.ledger.answers import Wanted
from discreet.ledger.database import Database
from discreet.ledger.events import Draft, canonical, digest


@dataclass
class Drafting:
    """What events of one ledger look like.

    ``founded`` is the schema it was founded with and ``keyed`` the fingerprint of its key. Payments that name no account are
    drawn on ``share``, a reservation, where there is one.
    """

    database: Database
    test: bool
    founded: int
    keyed: str | None
    share: Account | None = None
    _key: bytes | None = field(default=None, repr=False)

    def draft(self, ask: Ask, distance: Distance, cost: Cost, relation: Relation) -> Draft:
        """The event that pays for an ask."""
        payer = self.payer(ask)
        return Draft(
            kind="charge",
            question=canonical(ask.subject),
            relation=relation,
            cost=cost,
            law=canonical(checks.law(ask.mechanism).to_dict()),
            sensitivity=canonical(distance.to_dict()),
            account=None if payer is None else payer.number,
            part=None if payer is None else payer.part,
        )

    def payer(self, ask: Ask) -> Account | None:
        """The account that pays for an ask: its own, or the reservation of whoever asks."""
        return ask.account or self.share

    def keys(self, draft: Draft, source: Source) -> list[str]:
        """The keyed digest of question and version; and for a ledger that 0.1.0 made, the one of then.

        The digest is of ``canonical([ask.question, relation, source.version])``, put together from what is written already.
        """
        if self._key is None:
            self._key = digest_key.find(self.database, self.keyed)
        end = canonical([draft.relation, source.version])
        text = f'[{{"mechanism":{draft.law},"query":{draft.question}}},{end[1:]}'
        keyed = digest_key.digest_with(self._key, text)
        return [keyed, digest(text)] if self.founded == 1 else [keyed]

    def want(self, bill: Bill, relation: Relation) -> Wanted:
        """A bill with the event that would pay for it and the keys of its answer."""
        draft = self.draft(bill.ask, bill.distance, checks.cost(bill.cost, self.test), relation)
        keys = [*self.keys(draft, bill.source), None] if bill.repeats else [None, None]
        restricted = bill.source.restriction
        rows = canonical({column: list(labels) for column, labels in restricted}) if restricted else None
        return Wanted(bill, replace(draft, rows=rows, key=keys[0]), keys[0], keys[1], self.payer(bill.ask))
