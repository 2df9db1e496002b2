"""What leaves the desk: signed answers at their public moment, and words that say nothing of the table."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import Connection, select

from discreet.ledger import Ledger
from discreet.ledger.events import canonical
from discreet.service import grants
from discreet.service.config import Config
from discreet.service.errands import Made
from discreet.service.heads import Heads
from discreet.service.log import Log
from discreet.service.outbox import Outbox
from discreet.service.schedule import Turn
from discreet.service.signing import Signer

MOST_OVERRUNS = 3
_DAY = 24 * 3600.0


@dataclass
class Delivery:
    """Writes states and answers."""

    config: Config
    outbox: Outbox
    ledgers: Mapping[str, Ledger]
    signer: Signer
    heads: Heads
    log: Log
    _published: float = field(default=0.0)

    def deliver(self, turn: Turn, made: Made, now: float) -> None:
        """Publish what the hand made of a turn that is over.

        A request that the hand began and did not end is withheld. One that it never came to waits for another turn; so does
        one whose hand died of itself, because the ledger knows what was looked for and withholds it then.
        """
        rows = self._rows(turn.refs)
        words, answers = {}, []
        for ref, row in rows.items():
            found, stopped = made.answers.get(ref), self.stopped(row, now)
            words[ref] = self._word(row, found, made) if stopped is None else stopped
            if words[ref] == "answered" and found is not None:
                text = self._text(row, found)
                answers.append({"ref": ref, "document": text, "signature": self.signer.sign(text)})
        populations = {self._population(row) for row in rows.values()}
        lines = [self.heads.note(name, self.ledgers[name]) for name in sorted(populations)]
        shares = [(row, grant) for row in rows.values() if (grant := self._grant(row)) is not None]
        with self.outbox.box.writing() as connection:
            if answers:
                connection.execute(self.outbox.t.answers.insert(), answers)
            self._write(connection, words)
            if now - self._published >= _DAY:
                connection.execute(self.outbox.t.heads.insert(), [{"line": line} for line in lines])
                self._published = now
            for row, grant in shares:
                ledger = self.ledgers[self._population(row)]
                grants.write_statement(connection, self.outbox, ledger, grant.id, grant.account)
        for ref, word in words.items():
            self.log.write(ref, rows[ref].analyst, "delivered", word, made.seconds.get(ref))

    def _word(self, row: Any, found: dict[str, Any] | None, made: Made) -> str:
        if found is not None:
            return str(found["state"])
        if made.died:
            return "withheld" if self._opened_since(row) else "queued"
        if row.ref not in made.began:
            return "queued"
        self._overran(self._population(row))
        return "withheld"

    def stopped(self, row: Any, now: float) -> str | None:
        """The word that ends a request where the token, the analyst, the grant or the table no longer stands."""
        if self.outbox.still(row.token, now) is None:
            return "revoked"
        grant = self._grant(row)
        if grant is None or grant.revoked:
            return "revoked"
        if grant.expires is not None and grant.expires <= now:
            return "expired"
        table = self.outbox.table(row.table_name)
        return None if table is not None and table.is_open and row.table_name in self.config.tables else "closed"

    def recover(self) -> None:
        """Requests that a desk before this one was killed over: again in a new turn.

        An entry that was paid and not looked for is then redeemed, one that is stored is handed out, and one that was looked
        for raises ``Withheld``: all by the ledger. Steps and parts of a plan are never redeemed, so a request that opened
        one is withheld here.
        """
        r = self.outbox.t.requests
        rows = self.outbox.box.read(select(r).where(r.c.state == "scheduled"))
        self.finish({row.ref: "withheld" if self._opened_since(row) else "queued" for row in rows})

    def finish(self, words: Mapping[str, str]) -> None:
        """Write states that need no answer."""
        if not words:
            return
        with self.outbox.box.writing() as connection:
            self._write(connection, words)
        for ref, word in words.items():
            self.log.write(ref, 0, "finished", word)

    def close(self, population: str, why: str) -> None:
        """Take no more questions about a population until the custodian opens it again."""
        p = self.outbox.t.populations
        with self.outbox.box.writing() as connection:
            connection.execute(p.update().where(p.c.name == population).values(open=False, why=why))
        self.log.alarm(f"the population {population} is closed: {why}")

    def _overran(self, population: str) -> None:
        p = self.outbox.t.populations
        with self.outbox.box.writing() as connection:
            connection.execute(p.update().where(p.c.name == population).values(overruns=p.c.overruns + 1))
            count = connection.execute(select(p.c.overruns).where(p.c.name == population)).scalar_one()
        if count >= MOST_OVERRUNS:
            self.close(population, f"{count} answers took longer than their turns: discreet serve calibrate, then reopen")

    def _write(self, connection: Connection, words: Mapping[str, str]) -> None:
        r = self.outbox.t.requests
        for ref, word in words.items():
            connection.execute(r.update().where(r.c.ref == ref).values(state=word))

    def _rows(self, refs: tuple[str, ...]) -> dict[str, Any]:
        r = self.outbox.t.requests
        found = {row.ref: row for row in self.outbox.box.read(select(r).where(r.c.ref.in_(refs)))}
        return {ref: found[ref] for ref in refs}

    def _grant(self, row: Any) -> Any:
        return next((grant for grant in self.outbox.grants(row.analyst) if grant.id == row.grant_id), None)

    def _population(self, row: Any) -> str:
        return self.config.tables[row.table_name].population

    def _opened_since(self, row: Any) -> bool:
        """Whether the analyst opened an account since a request was first run."""
        events = self.ledgers[self._population(row)].events(after=row.began or 0)
        return any(event.kind == "open" and event.who == grants.who(row.analyst) for event in events)

    def _text(self, row: Any, found: dict[str, Any]) -> str:
        """The answer as it is signed. A receipt stands for the ledger's entry, whose number would count what others ask."""
        model = found["model"]
        if model is not None:
            model = model | {"ledger": [self._receipt(row, entry) for entry in model["ledger"]]}
            model["releases"] = [self._with_receipt(row, release) for release in model["releases"]]
        return canonical(
            {
                "kind": "answer",
                "schema": 1,
                "ref": row.ref,
                "question": row.question_sha256,
                "table": row.table_name,
                "releases": [self._with_receipt(row, release) for release in found["releases"]],
                "model": model,
            }
        )

    def _with_receipt(self, row: Any, release: dict[str, Any]) -> dict[str, Any]:
        return release | {"entry": self._receipt(row, release["entry"])}

    def _receipt(self, row: Any, entry: dict[str, Any]) -> dict[str, Any]:
        made = self.signer.receipt(f"{row.analyst} {entry['hash']}")
        return {"ledger": self._population(row), "number": 0, "hash": made}
