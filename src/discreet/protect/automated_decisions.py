"""Automated decisions about a person, their contest and its review by a human (GDPR, article 22)."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from discreet.errors import InvalidRequest, UnknownName
from discreet.ledger.journal import now
from discreet.protect.access_request import entry
from discreet.protect.facts import text
from discreet.protect.pseudonyms import Pseudonymizer
from discreet.protect.receipts import Receipt
from discreet.protect.tokens import Cipher
from discreet.protect.vault_log import LogRow, VaultLog

KINDS = ("decision", "contest", "review")
OUTCOMES = ("upheld", "changed", "withdrawn")
_MONTH = timedelta(days=28)  # article 12(3) gives one month, and the shortest has 28 days


@dataclass(frozen=True)
class AutomatedDecisions:
    """What was decided about people by a machine, what they say to it, and what a human makes of that.

    Each is a row of the vault's log; people are in it as tokens. A contest and a review are answered with a signed receipt.
    The words are kept for good: write no names into them.
    """

    log: VaultLog
    pseudonyms: Pseudonymizer
    cipher: Cipher
    seed: bytes

    def __repr__(self) -> str:
        return f"Decisions({self.log.name!r})"

    def record(self, identity: Any, decision: str, made_by: str) -> int:
        """Record a decision that a machine made, such as a model by its file; its number, to contest it by."""
        facts = {"decision": text(decision, "decision"), "made_by": text(made_by, "made_by")}
        return self.log.write("decision", facts, self._subject(identity)).number

    def contest(self, identity: Any, number: int, reason: str) -> Receipt:
        """Record that a person contests a decision about them, with their point of view."""
        subject, words = self._subject(identity), text(reason, "reason")
        with self.log.database.transaction(write=True) as connection:
            self.log.lock(connection)
            rows = self.log.read(connection, KINDS, subject)
            # One answer for a number that is none and one of somebody else's: whose it is, is not told.
            if not any(row.kind == "decision" and row.number == number for row in rows):
                raise UnknownName(f"no decision about this person has the number {number!r}; `access` lists them")
            if number in {row.document["receipt"]["decision"] for row in _open(rows)}:
                raise InvalidRequest(f"decision {number} is contested already, and its review is open; review it first")
            facts = {"about": "contest", "vault": self.log.name, "subject": subject, "decision": number, "time": now()}
            receipt = Receipt.sign(facts | {"reason": words}, self.seed)
            self.log.append(connection, "contest", receipt.facts(), subject)
        return receipt

    def review(self, number: int, reviewer: str, outcome: str, reason: str) -> Receipt:
        """Record what a human made of a contested decision: it is upheld, changed or withdrawn, and why."""
        if outcome not in OUTCOMES:
            raise InvalidRequest(f"outcome must be one of {', '.join(OUTCOMES)}, got {outcome!r}")
        words = {"outcome": outcome, "reviewer": text(reviewer, "reviewer"), "reason": text(reason, "reason")}
        with self.log.database.transaction(write=True) as connection:
            self.log.lock(connection)
            waiting = {row.document["receipt"]["decision"]: row for row in _open(self.log.read(connection, KINDS))}
            if number not in waiting:
                known = ", ".join(map(str, waiting)) or "none"
                raise InvalidRequest(f"a decision must be contested to be reviewed, got {number!r}; contested now: {known}")
            subject = waiting[number].subject
            facts = {"about": "review", "vault": self.log.name, "subject": subject, "decision": number, "time": now()}
            receipt = Receipt.sign(facts | words, self.seed)
            self.log.append(connection, "review", receipt.facts(), subject)
        return receipt

    def waiting(self) -> list[dict[str, Any]]:
        """The contests that nobody has reviewed, the oldest first, each with the day by which it must be answered."""
        return [
            {**row.document["receipt"], "answer_by": (datetime.fromisoformat(row.time) + _MONTH).date().isoformat()}
            for row in _open(self.log.rows(KINDS))
        ]

    def about(self, identity: Any) -> list[dict[str, Any]]:
        """The decisions about a person, with what was said to them."""
        return [entry(row) for row in self.log.rows(KINDS, self._subject(identity))]

    def _subject(self, identity: Any) -> str:
        return self.cipher.tokens([self.pseudonyms.digest(identity)])[0]


def _open(rows: list[LogRow]) -> list[LogRow]:
    """The contests without a review after them."""
    waiting: dict[int, LogRow] = {}
    for row in rows:
        if row.kind == "contest":
            waiting[row.document["receipt"]["decision"]] = row
        elif row.kind == "review":
            waiting.pop(row.document["receipt"]["decision"], None)
    return list(waiting.values())
