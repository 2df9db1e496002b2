"""The desk: from the inbox to the outbox. It listens to nobody, has what is asked paid and answered, and signs.

    with Office.open(config) as office:      # refuses a ledger that was set back
        office.run(until)                    # or office.tick(time.time()) at the beginning of every slot

A tick delivers what is due, takes new rows, and gives the hand its next turn. An answer stays in the desk's memory until it
is due: neither the front nor a thief of the outbox sees it, or that it is there, before its public moment. Rows in the
outbox are all that is kept: a desk that was killed goes on from them. What was paid and not looked for is then answered in a
new slot; what was looked for is withheld (``ledger.answers`` says why), and the words tell so.
"""

from __future__ import annotations

import fcntl
import math
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from sqlalchemy import select

from discreet.errors import InvalidRequest
from discreet.ledger import Ledger
from discreet.service.config import Config
from discreet.service.delivery import Delivery
from discreet.service.errands import Errands
from discreet.service.hand import opened
from discreet.service.heads import Heads, is_behind
from discreet.service.inbox import Inbox
from discreet.service.log import Log
from discreet.service.mailbox import Unavailable
from discreet.service.outbox import Outbox
from discreet.service.register import ledger_of, register
from discreet.service.remote_question import parse
from discreet.service.schedule import MOST_SLOTS, Turn, Waiting, longest, next_turn, schedule, slots
from discreet.service.signing import Signer
from discreet.service.taking import Taken, Taker
from discreet.service.weights import NEVER, Weights

_APPROVAL = 14 * 24 * 3600.0  # seconds that a request waits for the custodian
_AT_ONCE = 500  # rows looked at in one tick
_TAKING = 0.4  # of a slot
_LATE_START = 0.2  # of a slot
_LATE = 1000  # numbers of rows that may become visible after later ones, on PostgreSQL
_HEARTBEAT = 60.0


@dataclass
class Office:
    """A running desk."""

    config: Config
    inbox: Inbox
    outbox: Outbox
    ledgers: dict[str, Ledger]
    log: Log
    taker: Taker
    errands: Errands
    delivery: Delivery
    served: dict[int, int] = field(default_factory=dict)
    turn: Turn | None = None
    clock: Callable[[], float] = time.time
    _measuring: str | None = None
    _beat: float = 0.0

    @staticmethod
    @contextmanager
    def open(config: Config, hands: Callable[[Path, Log], Errands] = Errands) -> Iterator[Office]:
        """A desk that holds its lock, its mailboxes and its ledgers until it is left; ``hands`` makes its hand."""
        with _alone(config.private):
            log = Log(config.private / "desk.log")
            outbox, signer = Outbox(config.desk_boxes, write=True), Signer(config.private / "signing.key")
            ledgers = {name: ledger_of(each, config) for name, each in config.populations.items()}
            with outbox.box.writing() as connection:
                register(connection, outbox, config)
                outbox.set_fact(connection, "key", signer.public)
            heads = Heads(config.heads_file, signer)
            seen = heads.newest()
            behind = {name for name, ledger in ledgers.items() if is_behind(ledger, seen.get(name))}
            sources = {name: opened(each) for name, each in config.tables.items()}
            weights = Weights(config.private / "weights.json")
            taker = Taker(config, outbox, ledgers, sources, weights)
            inbox = Inbox(config.desk_boxes, write=False)
            errands = hands(config.path, log)
            delivery = Delivery(config, outbox, ledgers, signer, heads, log)
            made = Office(config, inbox, outbox, ledgers, log, taker, errands, delivery)
            try:
                for name in behind:
                    delivery.close(name, "its ledger was set back: discreet access write-off")
                delivery.recover()
                yield made
            finally:
                errands.stop()
                inbox.close()
                outbox.close()
                for ledger in ledgers.values():
                    ledger.close()

    def run(self, until: float | None = None) -> None:
        """Tick at the beginning of every slot."""
        slot = float(self.config.slot)
        while until is None or self.clock() < until:
            self.tick(self.clock())
            time.sleep(max(0.0, (int(self.clock() / slot) + 1) * slot - self.clock()))

    def tick(self, now: float) -> None:
        """Deliver what is due, give the next turn, and take what came; who finds an empty queue has a turn at once."""
        here = int(now / float(self.config.slot))
        if self.turn is not None and here >= self.turn.due:
            self.delivery.deliver(self.turn, self.errands.collect(), now)
            self.turn = None
        self._expire(now)
        self._measured()
        self._next(now)  # first, for the hand works while rows are taken; a turn that begins late loses a slot
        try:
            self._take(now)
        except Unavailable:  # what the front does to its own file stops nobody's answer
            self.log.alarm("the inbox cannot be read")
        self._next(now)
        if now - self._beat >= _HEARTBEAT:
            self._beat = now
            with self.outbox.box.writing() as connection:
                self.outbox.set_fact(connection, "heartbeat", f"{now:.0f}")

    # Taking

    def _take(self, now: float) -> None:
        cursor = int(self.outbox.fact("taken") or 0)
        low = max(0, cursor - _LATE) if self.outbox.box.postgres else cursor
        try:
            rows = self.inbox.after(low, _AT_ONCE, self.config.limits.body)
        except Unavailable:  # the front was not started yet, or is being looked after: the next tick looks again
            return
        known = self.outbox.states([row.ref for row in rows if isinstance(row.ref, str)]) if rows else {}
        queued: dict[int, int] = {}
        for each in self.outbox.queue() if rows else []:
            queued[each.analyst] = queued.get(each.analyst, 0) + 1
        made: dict[str, Taken] = {}
        end = time.monotonic() + _TAKING * float(self.config.slot)
        for row in rows:
            if time.monotonic() > end:
                break  # the rest at the next tick: what is due comes first
            if isinstance(row.n, int) and row.n > cursor:
                cursor = row.n
            if not isinstance(row.ref, str) or row.ref in known or row.ref in made:
                continue
            taken = self.taker.take(row, now, queued)
            if taken is not None:
                made[row.ref] = taken
                if taken.state in ("queued", "approval"):
                    queued[taken.analyst] = queued.get(taken.analyst, 0) + 1
        if rows:
            with self.outbox.box.writing() as connection:
                if made:
                    connection.execute(self.outbox.t.requests.insert(), [each.row(now) for each in made.values()])
                self.outbox.set_fact(connection, "taken", str(cursor))
            for taken in made.values():
                self.log.write(taken.ref, taken.analyst, "taken", taken.state)

    def _expire(self, now: float) -> None:
        """Requests that the custodian left waiting too long, and those of populations that were closed."""
        waiting = [each for each in self.outbox.queue() if each.state != "scheduled"]
        is_open = {table.name: table.is_open for table in self.outbox.tables()} if waiting else {}
        words = {each.ref: "closed" for each in waiting if not is_open.get(each.table)}
        words |= {each.ref: "expired" for each in waiting if each.state == "approval" and each.at < now - _APPROVAL}
        self.delivery.finish(words)

    # Turns

    def _next(self, now: float) -> None:
        if self.turn is None and self._measuring is None and self.errands.ready():
            self._begin(now)

    def _begin(self, now: float) -> None:
        """Give the hand its next turn, or something to measure first, for which turns go round in the same way.

        What it does before may have taken a part of this slot: slots are counted from the next one then, so that a turn is
        never shorter than its weight was given.
        """
        rows = self._waiting()
        slot = self.config.slot
        here = math.ceil(self.clock() / float(slot) - _LATE_START)
        waiting = [Waiting(r.ref, r.analyst, int(r.at / float(slot)), max(r.weight, 0.0)) for r in rows]
        turn = next_turn(waiting, self.served, here, slot)
        if turn is None:
            return
        chosen = {row.ref: row for row in rows if row.ref in turn.refs}
        if chosen[turn.refs[0]].weight < 0:
            self._weigh(chosen[turn.refs[0]], here)
            return
        chosen = {ref: row for ref, row in chosen.items() if row.weight >= 0}
        orders, refused = [], {}
        for ref, row in chosen.items():
            word = self.delivery.stopped(row, now)
            if word is not None:
                refused[ref] = word
            else:
                orders.append(self._order(row))
            self.served[row.analyst] = here
        if refused:
            self.delivery.finish(refused)
        if not orders:
            return
        due = turn.due * float(slot)
        r = self.outbox.t.requests
        began = {order["ref"]: self.ledgers[order["population"]].count for order in orders}
        with self.outbox.box.writing() as connection:
            for order in orders:
                ref = order["ref"]
                first = began[ref] if chosen[ref].began is None else chosen[ref].began
                connection.execute(r.update().where(r.c.ref == ref).values(state="scheduled", due=due, began=first))
            for later in schedule([w for w in waiting if w.ref not in chosen], slot, turn.due, self.served):
                for ref in later.refs:
                    connection.execute(r.update().where(r.c.ref == ref).values(due=later.due * float(slot)))
        self.turn = Turn(tuple(order["ref"] for order in orders), turn.start, turn.due)
        self.errands.answer(orders, due)

    def _waiting(self) -> list[Any]:
        r = self.outbox.t.requests
        return self.outbox.box.read(select(r).where(r.c.state == "queued").order_by(r.c.n))

    def _order(self, row: Any) -> dict[str, Any]:
        table = self.config.tables[row.table_name]
        published = self.outbox.table(row.table_name)
        grant = next(g for g in self.outbox.grants(row.analyst) if g.id == row.grant_id)
        return {
            "ref": row.ref,
            "text": row.question,
            "analyst": row.analyst,
            "account": grant.account,
            "population": table.population,
            "rows": None if published is None else published.rows,
        }

    # Measuring

    def _weigh(self, row: Any, here: int) -> None:
        """Give a request its weight, or have a part that was never measured measured first: a turn of its analyst."""
        table = self.outbox.table(row.table_name)
        if table is None or row.table_name not in self.config.tables:
            self.delivery.finish({row.ref: "closed"})
            return
        question = parse(row.question, self.config.limits)
        weighed = self.taker.weighed(Taken(row.ref, row.n, "queued", question=question), table)
        if weighed.unknown:
            part = weighed.unknown[0]
            self._measuring, self.served[row.analyst] = row.ref, here
            self.errands.measure(part.name, part.question.text, table.rows, longest(self.config.slot))
            return
        if slots(weighed.weight, self.config.slot) > MOST_SLOTS:
            self.delivery.finish({row.ref: "denied"})
            return
        r = self.outbox.t.requests
        with self.outbox.box.writing() as connection:
            connection.execute(r.update().where(r.c.ref == row.ref).values(weight=weighed.weight))

    def _measured(self) -> None:
        if self._measuring is None:
            return
        found = self.errands.measured()
        if found is None:
            return
        name, seconds = found
        if seconds is None:  # it cannot even be asked of a made-up table, or takes longer than any turn
            self.log.alarm(f"this class of questions cannot be measured and is refused from now on: {name}")
        self.taker.weights.note(name, NEVER if seconds is None else seconds)
        self._measuring = None


@contextmanager
def _alone(private: Path) -> Iterator[None]:
    """Hold the lock of the one desk that a service has."""
    private.mkdir(parents=True, exist_ok=True, mode=0o700)
    with (private / "desk.lock").open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise InvalidRequest(
                f"a service has one desk, and another one holds {private / 'desk.lock'}; end it first"
            ) from None
        yield
