"""The ledger: who asked what, under which law and at which cost; the only place that refuses a charge."""

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
from discreet.core.source import Source
from discreet.core.unit import Unit
from discreet.errors import InvalidRequest, LedgerCorrupt
from discreet.ledger import beside, checks, event_tables, prepaid, process_tally
from discreet.ledger.answers import Answers, Wanted
from discreet.ledger.books import RESERVED, Standing, on_account
from discreet.ledger.creation import find_or_create
from discreet.ledger.database import Database
from discreet.ledger.drafting import Drafting
from discreet.ledger.events import Draft, Event, canonical, founding
from discreet.ledger.journal import Journal
from discreet.ledger.replay import verify
from discreet.ledger.transaction import Transaction


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
            founded = founding(row)["schema"]
            self._unit = None if row["unit"] is None else checks.read_unit(row["unit"])
            self._unit_draft(unit)
        except BaseException:
            self._database.close()
            raise
        self._journal = Journal(self._database, row["id"], self.name, self.filter, self.test, self.who)
        self._answers = Answers(self._journal)
        self._drafting = Drafting(self._database, self.test, founded, row["keyed"])

    def drawing(self, reservation: Account, who: str) -> Ledger:
        """The same ledger for somebody with a share of it: payments are drawn on the reservation, in the name of ``who``.

        A question that the same ``who`` paid for before is free; one that somebody else paid for is not (event ``use``).
        What is left, and what fits, is said of the reservation. It lives as long as the ledger it was made from.
        """
        drawing: Ledger = object.__new__(type(self))
        vars(drawing).update(vars(self))
        drawing.who = checks.text(who, "who")
        drawing._journal = replace(self._journal, who=drawing.who)
        drawing._answers = Answers(drawing._journal)
        drawing._drafting = replace(self._drafting, share=reservation)
        return drawing

    def close(self) -> None:
        """Close the connection; the ledger cannot be used afterwards."""
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
            if (share := self._share) is not None:
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
        drafted: dict[int, Draft] = {}  # steps paid ahead are one ask, many times
        for each in asks:
            if id(each) not in drafted:
                ask, distance, cost = each
                drafted[id(each)] = self._drafting.draft(ask, distance, checks.cost(cost, self.test), relation)
        drafts = [drafted[id(each)] for each in asks]
        with self._database.work(write=True) as work:
            books = self._journal.lock(work)
            for place, (ask, _, _) in enumerate(asks):
                account = self._drafting.payer(ask)
                if account is not None:
                    standing = self._journal.load(work, books, account)
                    drafts[place] = on_account(drafts[place], standing)
            drafts[0] = replace(drafts[0], unit=self._bound(books.unit, unit, binding))
            return self._journal.post(work, books, drafts)

    def buy(self, bills: Sequence[Bill], relation: Relation, unit: Unit | None = None) -> list[Paid]:
        """Find, redeem or pay each, in one transaction, and claim what is to be answered; see ``ledger.answers``."""
        self._check_relation(relation)
        binding = self._unit_draft(unit)
        wanted = [self._drafting.want(bill, relation) for bill in bills]
        return self._answers.buy(wanted, lambda known: self._bound(known, unit, binding))

    def look(self, paid: Sequence[Paid]) -> None:
        """Record durably that the answers to these payments are being computed."""
        self._answers.look(paid)

    def store(self, paid: Sequence[Paid], made: Sequence[Release | None]) -> list[Release]:
        """Store the new releases durably, and return every release as it is read back."""
        return self._answers.store(paid, made)

    def give_up(self, paid: Sequence[Paid]) -> str:
        """After an error, give up the claims on these payments; one line that says what became of them."""
        return self._answers.give_up(paid)

    def redeem(self, *numbers: int, forgo: bool = False) -> Cost:
        """Decide, as the custodian, whether entries that were looked for and not answered may be asked again; their cost.

        With ``forgo`` they are never answered. The decision is made on all of them or on none.
        """
        self._check_whole("redeem")
        if not numbers or not all(isinstance(n, int) and not isinstance(n, bool) for n in numbers):
            got = ", ".join(map(repr, numbers)) or "none"
            raise InvalidRequest(f"redeem takes the numbers of entries, got {got}; ledger.unanswered() lists them")
        return self._answers.forgo(numbers) if forgo else self._answers.redeem(numbers)

    def unanswered(self) -> list[tuple[int, str]]:
        """The entries that are paid and not answered, and whether anyone looked for them: "paid" or "looked"."""
        with self._database.transaction(write=False) as connection:
            pending = connection.execute(event_tables.all_pending, {"of_ledger": self._journal.id})
            return [(row.number, row.state) for row in pending]

    def open(self, account: Open, relation: Relation, unit: Unit | None = None) -> list[Account]:
        """Pay once for a plan of steps (``cost``) or for disjoint parts (``cost.padded()``); return the accounts.

        The price of a plan is computed by the procedure, which is trusted code: what a sequence of steps costs together
        (on random parts of the people, say) cannot be told from one step. The ledger refuses a price of nothing, holds
        the account to the plan, and records in the event the price beside the question, the law, the distance, the
        number of steps and what one step costs by itself, for a reviewer to hold against each other.
        """
        self._check_relation(relation)
        binding = self._unit_draft(unit)
        draft = prepaid.opening(self._drafting, account, relation)
        with self._database.work(write=True) as work:
            books = self._journal.lock(work)
            bound = replace(draft, unit=self._bound(books.unit, unit, binding))
            if (payer := account.account or self._share) is not None:
                self._journal.load(work, books, payer)
                bound = replace(bound, account=payer.number, part=payer.part)
            entry = self._journal.post(work, books, [bound])[0]
            if account.account is None:  # what a part pays was charged when it was opened
                parts = account.parts is not None
                work.after.insert(
                    0, lambda: process_tally.opened(self._journal.place, entry.number, bound.cost, parts=parts)
                )
        return [
            Account(entry.number, part, account.parts, entry.hash, of=account.account) for part in range(account.parts or 1)
        ]

    def reopen(self, request: Reopen, relation: Relation) -> int:
        """How many steps the account of a plan has left, at most those asked for; refuses another ledger or another plan."""
        return prepaid.steps_left(self._journal, self._drafting, request, self._check_relation(relation))

    def reserve(self, cost: Cost, question: str) -> Account:
        """Set an amount aside that nobody else can take; asks that name the account draw on it."""
        self._check_whole("reserve")
        draft = prepaid.reserving(checks.cost(cost, self.test), checks.text(question, "question", empty=True), self.relation)
        with self._database.work(write=True) as work:
            return Account(self._journal.post(work, self._journal.lock(work), [draft])[0].number)

    def cancel(self, account: Account) -> Entry:
        """Close a reservation: what was drawn stays spent, and what was never drawn is free again."""
        self._check_whole("cancel")
        return prepaid.cancel(self._journal, account, self.relation)

    def preview(self, what: Cost | Mechanism, sensitivity: Sensitivity = 1) -> Preview:
        """Whether a cost, or a law at a sensitivity, would fit now; changes nothing."""
        cost = checks.cost(what if isinstance(what, Cost) else checks.law(what).cost(Distance.of(sensitivity)), self.test)
        if self._share is not None:
            held = self.reserved(self._share)
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
        """The cost of asking these now: questions that were paid for before are free, and each question counts once."""
        total, seen = Cost.nothing(), set()
        with self._database.work(write=False) as work:
            for bill in bills:
                each = self._drafting.want(bill, relation)
                if each.key is not None and (each.key in seen or self._known(work, each)):
                    continue
                seen.add(each.key)
                total = total + bill.cost
        return total

    def _known(self, work: Transaction, each: Wanted) -> bool:
        if each.payer is not None:
            return self._answers.own(work, each)
        return self._answers.payment(work, [key for key in (each.key, each.older) if key is not None]) is not None

    def paid_for(self, ask: Ask, source: Source, relation: Relation) -> int | None:
        """The entry that paid for the identical question on the identical version of the data, answered or not.

        Whoever asks again is not charged again: the answer is there, or is redeemed, waited for or withheld.
        """
        keys = self._drafting.keys(self._drafting.draft(ask, Distance.of(1), Cost.nothing(), relation), source)
        with self._database.work(write=False) as work:
            return self._answers.payment(work, keys)

    def recall(self, ask: Ask, source: Source, relation: Relation) -> Release | None:
        """The stored release of the identical question on the identical version of the data; asking again is free."""
        keys = self._drafting.keys(self._drafting.draft(ask, Distance.of(1), Cost.nothing(), relation), source)
        with self._database.work(write=False) as work:
            for key in keys:
                row = self._journal.find_release(work, key)
                if row is not None:
                    return Release.from_json(row.document)
        return None

    def held(self, source: Source, relation: Relation) -> list[Release]:
        """Every stored release about these rows of this version of the table, in the order in which they were paid for."""
        stored = [Release.from_json(document) for document in self._journal.documents()]
        mine = [r for r in stored if r.query is not None and r.query.described]
        recalled = [self.recall(Ask(r.query, r.mechanism), source, relation) for r in mine if r.query is not None]
        known = {r.entry.number: r for r in recalled if r is not None and r.entry is not None}
        return [known[number] for number in sorted(known)]

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
    def typed(self) -> str:
        """The ledger as arguments of our commands, for advice: its address, without a password, and its name."""
        return self._journal.typed

    @property
    def head(self) -> str:
        """The hash of the last event. Keep it elsewhere: ``verify(head)`` then finds a book cut short or rewritten."""
        return self._journal.read().head

    def spent(self) -> Cost:
        """What counts against the budget: everything paid and everything set aside; of a share, what was drawn on it."""
        return self._journal.read().total if self._share is None else self.reserved(self._share).drawn

    def remaining(self) -> Remaining | None:
        """What is left; None where nothing is limited."""
        if self._share is not None:
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
        is shorter than the head file beside it says is refused too, and so is one whose head file is damaged, unless
        ``head`` is given in its place. ``doubt`` says whether it is the ledger that counts.
        """
        with self._database.transaction(write=False) as connection:
            count = verify(connection, self._journal.id, head)
        files = self._database.beside
        if files is None:
            return count
        wrong = None
        with self._database.work(write=False) as work:
            noted = files.noted(self._journal.id)
            if noted.last is not None:  # also by the head of a copy
                wrong = self._journal.lack(work, self._journal.read_books(work), *noted.last)
        if noted.state == beside.DAMAGED and head is None:
            wrong = self.doubt
        if wrong is not None:
            raise LedgerCorrupt(f"{wrong}. Nothing was charged")
        return count

    @property
    def doubt(self) -> str | None:
        """Why this file may not be the ledger that counts: it is a copy, was set back, or its head file is damaged.

        None where it counts. From a ledger in doubt one can read, and not spend.
        """
        with self._database.work(write=False) as work:
            return self._journal.doubt(work, lambda: self._journal.read_books(work))

    @property
    def _share(self) -> Account | None:
        return self._drafting.share

    def _check_whole(self, act: str) -> None:
        """Refuse to the holder of a share what only the holder of the whole ledger may do."""
        if self._share is not None:
            raise InvalidRequest(f"whoever has a share of a ledger draws on it and no more, got {act}; ask the custodian")

    def _check_relation(self, relation: Relation) -> Relation:
        return checks.relation(check_relation(relation), self.relation, self.name)


def _user() -> str:
    """The operating system's name of the user; in a container there may be a number only."""
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return f"user {os.getuid()}"
