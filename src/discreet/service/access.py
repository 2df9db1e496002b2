"""What the custodian does, on the desk's host only: analysts, tokens, grants, approvals. The front has no part in it.

Every method is one transaction of the outbox with a row of the custodian's trail in it. A grant is first a reservation in
the ledger and then a row: killed in between, an amount is set aside for nobody, and ``list_`` shows it.
"""

from __future__ import annotations

import json
import time
import unicodedata
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from sqlalchemy import select

from discreet.core.ask import Account
from discreet.core.cost import Cost
from discreet.core.price import Price
from discreet.errors import InvalidRequest
from discreet.ledger import Ledger
from discreet.service import access_tokens, grants, trail
from discreet.service.closed import plain_text
from discreet.service.config import Config
from discreet.service.heads import Heads, is_behind, missing
from discreet.service.outbox import Outbox
from discreet.service.register import ledger_of
from discreet.service.remote_question import parse, price
from discreet.service.signing import Signer

_LONGEST = 200
_DAY = 24 * 3600.0


@dataclass(frozen=True)
class Pending:
    """A request that waits for the custodian: who asks, what for, what exactly, and for how much."""

    ref: str
    analyst: str
    purpose: str
    table: str
    question: str
    price: dict[str, Any]
    at: float


@dataclass
class Custodian:
    """The custodian's desk drawer: the outbox, and the ledgers as they are needed."""

    config: Config
    outbox: Outbox

    @staticmethod
    @contextmanager
    def at(config: Config) -> Iterator[Custodian]:
        outbox = Outbox(config.desk_boxes, write=True)
        try:
            yield Custodian(config, outbox)
        finally:
            outbox.close()

    def add(self, name: str, contact: str = "") -> int:
        """A new analyst."""
        for text, what in ((name, "a name"), (contact, "a contact")):
            plain_text(text, what, _LONGEST)
        taken = {_seen(row.name) for row in self.outbox.box.read(select(self.outbox.t.analysts))}
        if not _seen(name) or _seen(name) in taken:
            raise InvalidRequest(f"an analyst has a name of his own, got {name!r}, which is empty or looks like another's")
        a = self.outbox.t.analysts
        with self.outbox.box.writing() as connection:
            made = connection.execute(a.insert(), {"name": name, "contact": contact, "active": True}).inserted_primary_key
            assert made is not None
            trail.add(connection, self.outbox, "add", {"analyst": made[0], "name": name})
        return int(made[0])

    def token(self, name: str, days: float = 90) -> str:
        """A new token for an analyst. It is shown once: only its SHA-256 is kept."""
        analyst, made = self._analyst(name), access_tokens.make()
        row = {
            "sha256": access_tokens.digest(made),
            "analyst": analyst,
            "expires": time.time() + days * _DAY,
            "revoked": False,
        }
        with self.outbox.box.writing() as connection:
            key = connection.execute(self.outbox.t.tokens.insert(), row).inserted_primary_key
            assert key is not None
            trail.add(connection, self.outbox, "token", {"analyst": analyst, "token": key[0], "days": days})
        return made

    def grant(
        self,
        name: str,
        table: str,
        amount: Price,
        *,
        purpose: str = "",
        days: float | None = None,
        approve_above: Price | None = None,
    ) -> int:
        """A share of the budget for one analyst's questions to one table; refused where the budget has no room for it."""
        analyst = self._analyst(name)
        plain_text(purpose, "a purpose", _LONGEST)
        if table not in self.config.tables:
            raise InvalidRequest(f"no table of the service is called {table!r}; known: {', '.join(self.config.tables)}")
        population = self.config.populations[self.config.tables[table].population]
        above = approve_above or population.approve_above
        most = grants.cap(amount, population.budget)
        with self._ledger(population.name) as ledger:
            account = grants.reserve(ledger, most, analyst, table)
            row = {
                "analyst": analyst,
                "table_name": table,
                "account": account.number,
                "cap": json.dumps(grants.amounts(most, population.budget)),
                "purpose": purpose,
                "approve_above": None if above is None else json.dumps(above.to_dict()),
                "expires": None if days is None else time.time() + days * _DAY,
                "revoked": False,
            }
            with self.outbox.box.writing() as connection:
                key = connection.execute(self.outbox.t.grants.insert(), row).inserted_primary_key
                assert key is not None
                grants.write_statement(connection, self.outbox, ledger, key[0], account.number)
                trail.add(connection, self.outbox, "grant", {"grant": key[0], "analyst": analyst, "cap": row["cap"]})
        return int(key[0])

    def revoke(self, name: str, *, grant: int | None = None, tokens_only: bool = False) -> list[str]:
        """Take a grant, the tokens, or all of an analyst away. What was not drawn returns to the budget."""
        analyst, done = self._analyst(name), []
        mine = [] if tokens_only else [g for g in self.outbox.grants(analyst) if not g.revoked and grant in (None, g.id)]
        if grant is not None and not mine:
            raise InvalidRequest(f"{name!r} has no open grant {grant}; discreet access list shows them")
        t = self.outbox.t
        with self.outbox.box.writing() as connection:
            for each in mine:
                connection.execute(t.grants.update().where(t.grants.c.n == each.id).values(revoked=True))
                done.append(f"grant {each.id}")
            if grant is None:
                connection.execute(t.tokens.update().where(t.tokens.c.analyst == analyst).values(revoked=True))
                done.append("all tokens")
                if not tokens_only:
                    connection.execute(t.analysts.update().where(t.analysts.c.n == analyst).values(active=False))
                    done.append("the analyst")
            trail.add(connection, self.outbox, "revoke", {"analyst": analyst, "what": done})
        for each in mine:  # after the row: a payment that comes in between finds the reservation gone, or is stopped
            with self._ledger(self.config.tables[each.table].population) as ledger:
                ledger.cancel(Account(each.account))
        return done

    def pending(self) -> list[Pending]:
        """The requests that wait for approval."""
        r, a, g = self.outbox.t.requests, self.outbox.t.analysts, self.outbox.t.grants
        wanted = select(r, a.c.name, g.c.purpose).join(a, a.c.n == r.c.analyst).join(g, g.c.n == r.c.grant_id)
        rows = self.outbox.box.read(wanted.where(r.c.state == "approval").order_by(r.c.n))
        return [
            Pending(row.ref, row.name, row.purpose, row.table_name, row.question, json.loads(row.price), row.at)
            for row in rows
        ]

    def decide(self, ref: str, word: str) -> None:
        """Approve (``queued``) or deny (``denied``) a request; the decision binds the digest of the question."""
        r = self.outbox.t.requests
        found = self.outbox.box.read(select(r).where(r.c.ref == ref, r.c.state == "approval"))
        if not found:
            raise InvalidRequest(f"no request {ref[:40]!r} waits for approval; discreet access pending lists those that do")
        if parse(found[0].question, self.config.limits).digest != found[0].question_sha256:
            raise InvalidRequest(
                f"the question of request {ref} is not the one that was taken; deny it, and look who wrote here"
            )
        with self.outbox.box.writing() as connection:
            mine = r.update().where(r.c.ref == ref, r.c.state == "approval").values(state=word)
            connection.execute(mine)
            trail.add(connection, self.outbox, word, {"ref": ref, "question": found[0].question_sha256})

    def publish(self, ref: str) -> None:
        """Show an answer to all analysts in the catalogue: reading it there is free."""
        r, a, c = self.outbox.t.requests, self.outbox.t.answers, self.outbox.t.catalogue
        found = self.outbox.box.read(
            select(r, a.c.document, a.c.signature).join(a, a.c.ref == r.c.ref).where(r.c.ref == ref)
        )
        if not found:
            raise InvalidRequest(f"no request {ref[:40]!r} has an answer; discreet access list shows requests")
        row = found[0]
        title = "; ".join(parse(row.question, self.config.limits).kind.titles())
        entry = {
            "ref": ref, "table_name": row.table_name, "title": title, "question": row.question, "document": row.document,
            "signature": row.signature, "at": time.time(),
        }  # fmt: skip
        with self.outbox.box.writing() as connection:
            connection.execute(c.delete().where(c.c.ref == ref))
            connection.execute(c.insert(), entry)
            trail.add(connection, self.outbox, "publish", {"ref": ref})

    def reopen(self, population: str) -> None:
        """Open a population that overruns closed. One whose ledger was set back is opened by ``write_off`` alone."""
        p = self.outbox.t.populations
        found = self.outbox.box.read(select(p).where(p.c.name == population))
        if not found:
            raise InvalidRequest(f"no population is called {population!r}; known: {', '.join(self.config.populations)}")
        if self._is_behind(population):
            raise InvalidRequest(f"the ledger of {population!r} was set back; discreet access write-off comes first")
        with self.outbox.box.writing() as connection:
            connection.execute(p.update().where(p.c.name == population).values(open=True, overruns=0, why=""))
            trail.add(connection, self.outbox, "reopen", {"population": population})

    def write_off(self, population: str) -> Cost:
        """After a restore: charge what the copy may lack, keep every share set aside in full, and go on from here.

        Proof that nothing is refunded: the newest head says what counted against the budget, shares in full. What is charged
        makes the total no less than that in every currency. Shares of the copy are closed without being cancelled, so they
        stay counted in full, and what was drawn on them since cannot be drawn again.
        """
        if population not in self.config.populations:
            raise InvalidRequest(f"no population is called {population!r}; known: {', '.join(self.config.populations)}")
        heads = Heads(self.config.heads_file, Signer(self.config.private / "signing.key"))
        seen = heads.newest().get(population)
        t = self.outbox.t
        names = [name for name, table in self.config.tables.items() if table.population == population]
        with self._ledger(population) as ledger:
            lost = Cost.nothing() if seen is None else missing(ledger.spent(), Cost.from_dict(seen["total"]))
            if lost != Cost.nothing():
                ledger.reserve(lost, "written off after a restore")
            with self.outbox.box.writing() as connection:
                connection.execute(t.grants.update().where(t.grants.c.table_name.in_(names)).values(revoked=True))
                connection.execute(
                    t.populations.update().where(t.populations.c.name == population).values(open=True, why="")
                )
                trail.add(connection, self.outbox, "write-off", {"population": population, "cost": lost.to_dict()})
            heads.note(population, ledger)
        return lost

    def analysts(self) -> list[dict[str, Any]]:
        """Every analyst with tokens and grants."""
        a, k = self.outbox.t.analysts, self.outbox.t.tokens
        found = []
        for row in self.outbox.box.read(select(a).order_by(a.c.n)):
            held = self.outbox.box.read(select(k).where(k.c.analyst == row.n))
            good = sum(not t.revoked and (t.expires is None or t.expires > time.time()) for t in held)
            shares = [dict(vars(grant)) for grant in self.outbox.grants(row.n)]
            found.append(
                {"name": row.name, "contact": row.contact, "active": bool(row.active), "tokens": good, "grants": shares}
            )
        return found

    def expected(self, pending: Pending) -> list[str]:
        """What a pending question is of and how wrong its answer is expected to be, a line for each part."""
        table = self.outbox.table(pending.table)
        if table is None:
            return []
        priced = price(parse(pending.question, self.config.limits), table.schema, table.rows, self.config.limits)
        return [f"{part['title']}: {part.get('expected_error', 'a model')}" for part in priced.parts]

    def _is_behind(self, population: str) -> bool:
        heads = Heads(self.config.heads_file, Signer(self.config.private / "signing.key"))
        with self._ledger(population) as ledger:
            return is_behind(ledger, heads.newest().get(population))

    @contextmanager
    def _ledger(self, population: str) -> Iterator[Ledger]:
        with ledger_of(self.config.populations[population], self.config) as ledger:
            yield ledger

    def _analyst_row(self, name: str) -> Any:
        a = self.outbox.t.analysts
        found = self.outbox.box.read(select(a).where(a.c.name == name))
        return found[0] if found else None

    def _analyst(self, name: str) -> int:
        row = self._analyst_row(name)
        if row is None:
            raise InvalidRequest(f"no analyst is called {name!r:.80}; discreet access add NAME makes one")
        return int(row.n)


def _seen(name: str) -> str:
    """A name as an eye reads it: two that look alike to a custodian would be mistaken for one another."""
    return " ".join(unicodedata.normalize("NFKC", name).casefold().split())
