"""The ledger: who asked what, under which law, at which cost; and the one place that says no."""

from __future__ import annotations

import getpass
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from discreet.accounting.filters import Remaining
from discreet.core.ask import Account, Ask, Open, Reopen
from discreet.core.budget import Budget
from discreet.core.cost import Cost, Distance
from discreet.core.mechanism import Mechanism, Sensitivity
from discreet.core.query import Relation, check_relation
from discreet.core.release import Entry, Release
from discreet.core.runner import Bill, Paid
from discreet.core.unit import Unit
from discreet.errors import AccountClosed, InvalidRequest
from discreet.ledger import checks, keys, tables, tally
from discreet.ledger.answers import Answers, Wanted
from discreet.ledger.books import RESERVED, Standing, on_account
from discreet.ledger.creation import find_or_create
from discreet.ledger.database import Database, Work
from discreet.ledger.events import Draft, Event, Terms, canonical, digest, founding, read_cost
from discreet.ledger.journal import Journal
from discreet.ledger.replay import verify


@dataclass(frozen=True)
class Preview:
    """What a charge would do: whether it fits, and what would be left after it (what is left now, if it does not fit).

    ``remaining`` is None where nothing is limited.
    """

    cost: Cost
    fits: bool
    remaining: Remaining | None


class Ledger:
    """Append-only events in a database, and a filter that refuses before anything is looked at.

    ``url`` is ``"sqlite:///file.db"``, ``"sqlite://"`` (in memory), ``"postgresql://..."`` or ``"test"``: in memory,
    with seeds and infinite costs allowed and, without a budget, no limit. A new ledger needs a ``budget``; an old one
    is opened as it is, and a ``budget`` or ``neighbors`` given again must be the one it was made with. ``name`` is
    the table of people it pays for. One database may hold many, but a second is made only by its name: without one it is
    the only ledger there is, and in a new database ``"default"``. ``timeout`` is how many seconds a charge waits for
    others. ``unit`` is whose privacy it counts; without it, the first question binds the ledger to its own.

    Proof that neither a race nor a crash can overspend. Every payment is one transaction that locks the ledger's
    row, reads the total, asks the filter whether the total with the payment in it fits, and writes the event and the
    new total; ``Database`` proves that such transactions happen one after another, so each sees all before it, and
    ``Books`` that a sequence of accepted events stays within the budget. The runner looks at data only after the
    transaction has committed to the disk. So at any instant, whatever was looked at is in the total. What was paid and not
    looked for is redeemed, once, by the same question; nothing is paid back or drawn again once it may have been looked at.
    """

    test: bool
    keeps = True

    def __init__(
        self,
        url: str,
        budget: Budget | None = None,
        *,
        name: str | None = None,
        neighbors: Relation | None = None,
        who: str | None = None,
        timeout: float = 30.0,
        unit: Unit | None = None,
    ) -> None:
        wanted_name = None if name is None else checks.text(name, "the name of a ledger", longest=200)
        self.who = checks.text(_user() if who is None else who, "who")
        if budget is not None and not isinstance(budget, Budget):
            raise InvalidRequest(f"budget must be a Budget, such as Budget(epsilon=1), got {budget!r}")
        if not 0 <= timeout < 1e6:
            raise InvalidRequest(f"timeout must be a number of seconds that is not negative, got {timeout}")
        wanted = None if neighbors is None else check_relation(neighbors)
        self.test = url == "test"
        self._database = Database("sqlite://" if self.test else url, timeout)
        try:
            row = find_or_create(self._database, wanted_name, budget, wanted or "add_remove", unit, test=self.test)
            self.name: str = row["name"]
            self.relation, self.filter = checks.same(row, budget, wanted)
            self._founded = founding(row)["schema"]
            self._unit = None if row["unit"] is None else checks.read_unit(row["unit"])
            self._unit_draft(unit)
        except BaseException:
            self._database.close()
            raise
        self._keyed: str | None = row["keyed"]
        self._key_bytes: bytes | None = None
        self._journal = Journal(self._database, row["id"], self.name, self.filter, self.test, self.who)
        self._answers = Answers(self._journal)
        self._reservation: Account | None = None

    def drawing(self, reservation: Account, who: str) -> Ledger:
        """The same ledger for somebody with a share of it: payments are drawn on the reservation, in the name of ``who``.

        A question that the same ``who`` paid for before is free; one that somebody else paid for is not (event ``use``).
        What is left, and what fits, is said of the reservation. It lives as long as the ledger it was made from.
        """
        made: Ledger = object.__new__(type(self))
        vars(made).update(vars(self))
        made.who = checks.text(who, "who")
        made._journal = replace(self._journal, who=made.who)
        made._answers = Answers(made._journal)
        made._reservation = reservation
        return made

    def close(self) -> None:
        """Close the connection; the ledger object is of no use afterwards."""
        self._database.close()

    def __enter__(self) -> Ledger:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __deepcopy__(self, memo: object) -> Ledger:
        """Itself: a copy that could be charged apart from it would be a second budget for the same people."""
        return self

    def __reduce__(self) -> Any:
        raise InvalidRequest(
            "a ledger is open at its database and is not pickled; set ledger=None on a model first, and open it again"
        )

    def __repr__(self) -> str:
        limit = "no limit" if self.budget is None else f"budget {self.budget}"
        return f"Ledger({str(self._database)!r}, name={self.name!r}, {limit}, neighbors={self.relation!r})"

    def charge(
        self,
        mechanism: Mechanism,
        sensitivity: Sensitivity = 1.0,
        question: str = "",
        *,
        relation: Relation | None = None,
    ) -> Entry:
        """Pay for one release of ``mechanism``, or raise ``BudgetExceeded`` and charge nothing."""
        distance = Distance.of(sensitivity)
        draft = Draft(
            kind="charge",
            question=checks.text(question, "question", empty=True),
            relation=self._check_relation(relation or self.relation),
            cost=checks.cost(checks.law(mechanism).cost(distance), self.test),
            law=canonical(mechanism.to_dict()),
            sensitivity=canonical(distance.to_dict()),
        )
        with self._database.work(write=True) as work:
            books = self._journal.lock(work)
            if (share := self._reservation) is not None:
                standing = self._journal.load(work, books, share)
                draft = on_account(replace(draft, account=share.number, part=share.part), standing)
            return self._journal.post(work, books, [draft])[0]

    def pay(self, asks: Sequence[tuple[Ask, Distance, Cost]], relation: Relation, unit: Unit | None = None) -> list[Entry]:
        """Pay for several asks in one transaction, each by the account it names or else by the ledger.

        Nothing binds such a payment to a version of the table, so it is never redeemed: it is for steps of a plan.
        """
        self._check_relation(relation)
        if not asks:
            return []
        binding = self._unit_draft(unit)
        made: dict[int, Draft] = {}  # steps paid ahead are one ask, many times
        for each in asks:
            if id(each) not in made:
                ask, distance, cost = each
                made[id(each)] = self._draft(ask, distance, checks.cost(cost, self.test), relation)
        drafts = [made[id(each)] for each in asks]
        with self._database.work(write=True) as work:
            books = self._journal.lock(work)
            for place, (ask, _, _) in enumerate(asks):
                account = self._payer(ask)
                if account is not None:
                    standing = self._journal.load(work, books, account)
                    drafts[place] = on_account(drafts[place], standing)
            drafts[0] = replace(drafts[0], unit=self._bound(books.unit, unit, binding))
            return self._journal.post(work, books, drafts)

    def buy(self, bills: Sequence[Bill], relation: Relation, unit: Unit | None = None) -> list[Paid]:
        """Find, redeem or pay each, in one transaction, and claim what is to be answered; see ``ledger.answers``."""
        self._check_relation(relation)
        binding = self._unit_draft(unit)
        wanted = [self._want(bill, relation) for bill in bills]
        return self._answers.buy(wanted, lambda known: self._bound(known, unit, binding))

    def look(self, paid: Sequence[Paid]) -> None:
        """Note durably that what was bought is looked for from now on."""
        self._answers.look(paid)

    def store(self, paid: Sequence[Paid], made: Sequence[Release | None]) -> list[Release]:
        """Store what was made, durably, and return what a read of the store returns."""
        return self._answers.store(paid, made)

    def give_up(self, paid: Sequence[Paid]) -> str:
        """Let go of what was bought, after an error; what became of it, in one line."""
        return self._answers.give_up(paid)

    def redeem(self, number: int, *, forgo: bool = False) -> Cost:
        """The custodian's decision on an entry that was looked for and not answered: once more, or never; what it cost."""
        self._check_whole("redeem")
        return self._answers.forgo(number) if forgo else self._answers.redeem(number)

    def unanswered(self) -> list[tuple[int, str]]:
        """The entries that are paid and not answered, and whether anyone looked for them: "paid" or "looked"."""
        with self._database.transaction(write=False) as connection:
            found = connection.execute(tables.all_pending, {"of_ledger": self._journal.id})
            return [(row.number, row.state) for row in found]

    def open(self, account: Open, relation: Relation, unit: Unit | None = None) -> list[Account]:
        """Pay once for a plan of steps (``cost``) or for disjoint parts (``cost.padded()``); return the accounts.

        The price of a plan is computed by the procedure, which is trusted code: what a sequence of steps costs together
        (on random parts of the people, say) cannot be told from one step. The ledger refuses a price of nothing, holds
        the account to the plan, and records in the event the price beside the question, the law, the distance, the
        number of steps and what one step costs by itself, for a reviewer to hold against each other.
        """
        self._check_relation(relation)
        binding = self._unit_draft(unit)
        cost = checks.cost(account.cost, self.test)
        if account.plan is not None:
            checks.plan(cost, account.steps)
            distance = account.plan.query.distance(relation)
            step = checks.cost(account.plan.mechanism.cost(distance), self.test)
            plan = self._draft(replace(account.plan, account=None, ahead=1), distance, cost, relation)
            terms = Terms(step, plan=plan.plan, steps=account.steps)
            draft = replace(plan, kind="open", terms=terms)
        else:
            cap = cost if account.cap is None else checks.cost(account.cap, self.test)
            question = f"{account.parts} accounts on disjoint people, each up to {cap}"
            draft = Draft(
                kind="open", question=question, relation=relation, cost=cost.padded(), terms=Terms(cap, account.parts)
            )
        with self._database.work(write=True) as work:
            books = self._journal.lock(work)
            bound = replace(draft, unit=self._bound(books.unit, unit, binding))
            if self._reservation is not None:
                self._journal.load(work, books, self._reservation)
                bound = replace(bound, account=self._reservation.number, part=self._reservation.part)
            entry = self._journal.post(work, books, [bound])[0]
            work.after.insert(0, lambda: tally.opened(self._journal.place, entry.number, bound.cost))
        return [Account(entry.number, part, account.parts, entry.hash) for part in range(account.parts or 1)]

    def reopen(self, request: Reopen, relation: Relation) -> int:
        """How many steps the account of a plan has left, at most those asked for; refuses another ledger or another plan."""
        account, plan = request.account, replace(request.plan, account=None, ahead=1)
        wanted = self._draft(plan, plan.query.distance(self._check_relation(relation)), Cost.nothing(), relation).plan
        with self._database.work(write=False) as work:
            opened = self._journal.opening(work, account)
            if opened != account.seal:
                raise AccountClosed(
                    f"a run continues at the ledger that was paid for it, and {self.name!r} has no account {account.number} "
                    "with that seal; open the ledger the run began with"
                )
            standing = self._journal.load(work, self._journal.read_books(work), account)
        if standing.terms.plan != wanted:
            raise AccountClosed(
                f"account {account.number} was opened for another plan: the columns, the model, the clip norm, the noise "
                "or the rate differ; continue with the settings the run began with"
            )
        return min(standing.left, request.steps)

    def reserve(self, cost: Cost, question: str) -> Account:
        """Set an amount aside that nobody else can take; asks that name the account draw on it."""
        self._check_whole("reserve")
        draft = Draft(
            kind="reserve",
            question=checks.text(question, "question", empty=True),
            relation=self.relation,
            cost=checks.cost(cost, self.test).padded(),
            terms=Terms(cost),
        )
        with self._database.work(write=True) as work:
            return Account(self._journal.post(work, self._journal.lock(work), [draft])[0].number)

    def cancel(self, account: Account) -> Entry:
        """Close a reservation: what was drawn stays spent, and what was never drawn is free again."""
        self._check_whole("cancel")
        draft = Draft(
            kind="cancel",
            question="",
            relation=self.relation,
            cost=Cost.nothing(),
            account=account.number,
            part=account.part,
        )
        with self._database.work(write=True) as work:
            books = self._journal.lock(work)
            self._journal.load_reservations(work, books)
            standing = self._journal.load(work, books, account)
            place = {"of_ledger": self._journal.id, "of_account": account.number}
            costs = [read_cost(row[0]) for row in work.rows(tables.paid_of_account, place)]
            standing.paid = sum(costs, Cost.nothing())
            return self._journal.post(work, books, [draft])[0]

    def preview(self, what: Cost | Mechanism, sensitivity: Sensitivity = 1) -> Preview:
        """Whether a cost, or a law at a sensitivity, would fit now; changes nothing."""
        cost = checks.cost(what if isinstance(what, Cost) else checks.law(what).cost(Distance.of(sensitivity)), self.test)
        if self._reservation is not None:
            held = self.reserved(self._reservation)
            fits = held.status == RESERVED and held.drawn + cost <= held.terms.cap
            return Preview(cost, fits, Remaining.of(held.terms.cap, held.drawn + cost if fits else held.drawn))
        books = self._journal.read()
        fits = books.fits(books.total + cost)
        left = books.total + cost if fits else books.total
        return Preview(cost, fits, None if self.filter is None else self.filter.remaining(left))

    def reserved(self, account: Account) -> Standing:
        """Where a reservation stands: its cap, what was drawn on it, and whether it is open."""
        with self._database.work(write=False) as work:
            return self._journal.load(work, self._journal.read_books(work), account)

    def due(self, bills: Sequence[Bill], relation: Relation) -> Cost:
        """What would be charged for these now: without those that are answered for nothing, each question once."""
        total, seen = Cost.nothing(), set()
        with self._database.work(write=False) as work:
            for bill in bills:
                each = self._want(bill, relation)
                if each.key is not None and (each.key in seen or self._known(work, each)):
                    continue
                seen.add(each.key)
                total = total + bill.cost
        return total

    def _known(self, work: Work, each: Wanted) -> bool:
        if each.payer is not None:
            return self._answers.own(work, each)
        return any(key is not None and self._journal.find_release(work, key) for key in (each.key, each.older))

    def recall(self, ask: Ask, source: Any, relation: Relation) -> Release | None:
        """The stored release of the identical question on the identical version of the data; asking again is free."""
        wanted = self._keys(self._draft(ask, Distance.of(1), Cost.nothing(), relation), source)
        with self._database.work(write=False) as work:
            for key in wanted:
                found = self._journal.find_release(work, key)
                if found is not None:
                    return Release.from_json(found.document)
        return None

    def held(self, source: Any, relation: Relation) -> list[Release]:
        """Every stored release about these rows of this version of the table, in the order in which they were paid for."""
        stored = [Release.from_json(document) for document in self._journal.documents()]
        mine = [r for r in stored if r.query is not None and r.query.described]
        found = [self.recall(Ask(r.query, r.mechanism), source, relation) for r in mine if r.query is not None]
        known = {r.entry.number: r for r in found if r is not None and r.entry is not None}
        return [known[number] for number in sorted(known)]

    def _keys(self, draft: Draft, source: Any) -> list[str]:
        """The keyed digest of question and version; and for a ledger that 0.1.0 made, the one of then.

        The digest is of ``canonical([ask.question, relation, source.version])``, put together from what is written already.
        """
        if self._key_bytes is None:
            self._key_bytes = keys.find(self._database, self._keyed)
        end = canonical([draft.relation, source.version])
        text = f'[{{"mechanism":{draft.law},"query":{draft.question}}},{end[1:]}'
        keyed = keys.digest_with(self._key_bytes, text)
        return [keyed, digest(text)] if self._founded == 1 else [keyed]

    def _want(self, bill: Bill, relation: Relation) -> Wanted:
        draft = self._draft(bill.ask, bill.distance, checks.cost(bill.cost, self.test), relation)
        found = [*self._keys(draft, bill.source), None] if bill.repeats else [None, None]
        restricted = getattr(bill.source, "restriction", ())
        rows = canonical({column: list(labels) for column, labels in restricted}) if restricted else None
        return Wanted(bill, replace(draft, rows=rows, key=found[0]), found[0], found[1], self._payer(bill.ask))

    def _payer(self, ask: Ask) -> Account | None:
        """The account that pays for an ask: its own, or the reservation of whoever asks."""
        return ask.account or self._reservation

    def _unit_draft(self, unit: Unit | None) -> str | None:
        """The unit as it is written down; refuses another than the ledger's, where it has one."""
        if unit is None:
            return None
        if self._unit is not None:
            checks.unit(unit, self._unit, self.name)
        return checks.write_unit(unit)

    def _bound(self, known: str | None, unit: Unit | None, binding: str | None) -> str | None:
        """What the first event of a transaction binds: the unit asked about, where the ledger has none yet."""
        if known is not None:
            self._unit = checks.read_unit(known)
            if unit is not None:
                checks.unit(unit, self._unit, self.name)
            return None
        return binding

    @property
    def budget(self) -> Budget | None:
        """What may be spent in all; None in a test ledger without a limit."""
        return None if self.filter is None else self.filter.budget

    @property
    def head(self) -> str:
        """The hash of the last event. Keep it elsewhere: ``verify(head)`` then finds a book cut short or rewritten."""
        return self._journal.read().head

    def spent(self) -> Cost:
        """What counts against the budget: everything paid and everything set aside; of a share, what was drawn on it."""
        return self._journal.read().total if self._reservation is None else self.reserved(self._reservation).drawn

    def remaining(self) -> Remaining | None:
        """What is left; None where nothing is limited."""
        if self._reservation is not None:
            return self.preview(Cost.nothing()).remaining
        return None if self.filter is None else self.filter.remaining(self.spent())

    @property
    def unit(self) -> Unit | None:
        """Whose privacy it counts; None until a question binds it."""
        kept = self._journal.read().unit
        return None if kept is None else checks.read_unit(kept)

    @property
    def count(self) -> int:
        """How many events there are."""
        return self._journal.read().number

    def events(self, *, after: int = 0, last: int | None = None, without: str = "") -> Iterator[Event]:
        """Every event after number ``after``, in order; or the ``last`` few, without those of one kind."""
        return map(Event.of, self._journal.rows(after) if last is None else self._journal.last_rows(last, without))

    def verify(self, head: str | None = None) -> int:
        """The number of events, after checking every one of them; ``LedgerCorrupt`` says what does not hold.

        With ``head``, a hash noted down earlier, also that the book still contains the event it was the hash of. A book that
        is shorter than the head file beside it says is refused too.
        """
        with self._database.transaction(write=False) as connection:
            count = verify(connection, self._journal.id, head)
        beside = self._database.beside
        if beside is not None and beside.head.exists() and beside.seen(self._journal.id) is not None:
            with self._database.work(write=False) as work:
                self._journal.check_head(work, self._journal.read_books(work))
        return count

    def _draft(self, ask: Ask, distance: Distance, cost: Cost, relation: Relation) -> Draft:
        return Draft(
            kind="charge",
            question=canonical(ask.subject),
            relation=relation,
            cost=cost,
            law=canonical(checks.law(ask.mechanism).to_dict()),
            sensitivity=canonical(distance.to_dict()),
            account=None if (payer := self._payer(ask)) is None else payer.number,
            part=None if payer is None else payer.part,
        )

    def _check_whole(self, act: str) -> None:
        """Refuse to whoever has a share what only the holder of the whole may do."""
        if self._reservation is not None:
            raise InvalidRequest(f"whoever has a share of a ledger draws on it and no more, got {act}; ask the custodian")

    def _check_relation(self, relation: Relation) -> Relation:
        return checks.relation(check_relation(relation), self.relation, self.name)


def _user() -> str:
    """The name the operating system knows us by; a container may run a number without one."""
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return f"user {os.getuid()}"
