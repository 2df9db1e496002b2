"""A charge and its one answer: pay, claim, mark, look, draw, store, and hand out what a read of the store returns.

*Order.* ``buy`` pays: an entry e binds the question, its law, the relation, the rows and the version of the table, and
stands in ``discreet_pending`` as *paid*, claimed by whoever paid. ``look`` marks it *looked*, durably, before the first
record is read. The runner looks and draws. ``store`` writes the release under the key of e and takes e out of the pending
ones, in one transaction, if e is still claimed by the same claimant; then it reads the row back, and that is what is handed
out.

*Theorem.* If (i) nothing leaves but stored rows, (ii) a row for e is written at most once ever, (iii) there is one living
claimant of e at a time, and (iv) deaths, and every interrupt that someone who sees elapsed time can set off, do not depend
on records or draws, then what leaves under e has exactly the law M(D) that was paid for, and an e without a row may be
answered later at no charge.

*Proof.* By (iii) and (iv) which draw is stored is independent of all draws, so the row is one fresh draw of M(D), whoever
made it. By (i) nobody saw another. Composition counts e once.

*Why the conditions hold here.* (i) ``Desk.answer`` returns what ``store`` read. Steps of a plan and lots of it are not
stored: they are never answered a second time either, and ``buy`` is not asked for them. (ii) The key is unique and e leaves
``discreet_pending`` with the row that is written; what is not pending is never redeemed: entries of before schema 2,
entries given up (``forgo``), and all entries of a ledger that was restored (``adopt``), since they may have been answered
after the copy was made. (iii) A claim changes hands in a writing transaction only, and only if the claimant before is dead:
its lock is a record lock of its process beside an SQLite file, or the advisory lock of its session on PostgreSQL, without a
time-out. A session that was cut off has lost its claim, and cannot store. (iv) An e that is *paid* was not looked for:
whoever asks the same of the same version redeems it. From *looked* on a death may depend on time, and time on the draw, so
nobody but the custodian, who may see the table anyway, can have e answered (``redeem``); and signals wait from the mark
until the row is stored (``core.interrupts``).

*The attack that this refuses.* An analyst interrupts whenever no answer has come by time c, and asks again. If the second
asking were free, noise would be conditioned on having been drawn quickly: with a sampler whose time grows with the noise, ε
= 1 gives a hockey-stick divergence of .21 at c = 1 and the exact answer at c = 0. Here the interrupt waits for the row, or,
if it kills, e is withheld.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from discreet.core.ask import Account
from discreet.core.cost import Cost
from discreet.core.query import Relation
from discreet.core.release import Entry, Release
from discreet.core.runner import Bill, Paid
from discreet.errors import InvalidRequest, LedgerError, LedgerUnavailable, Withheld
from discreet.ledger import event_tables, outcomes, process_tally
from discreet.ledger.books import Books, on_account
from discreet.ledger.events import Draft, canonical, read_cost
from discreet.ledger.journal import Journal
from discreet.ledger.outcomes import Outcome
from discreet.ledger.stored_releases import StoredRow, seal, stored
from discreet.ledger.transaction import Transaction

PAID, LOOKED = "paid", "looked"
_PAUSE = 0.005  # between two looks at an entry that somebody else is answering


class _Busy(Exception):
    """Another living process is answering the same question now."""


@dataclass(frozen=True)
class Wanted:
    """A bill, the event that would pay for it, and the key of its answer: None where the answer may not be given again."""

    bill: Bill
    draft: Draft
    key: str | None
    older: str | None  # the key that version 0.1.0 stored the same answer under
    payer: Account | None = None  # the account that pays; the ledger, if none


@dataclass(frozen=True)
class Bought(Paid):
    """A payment with the bill that it is for."""

    wanted: Wanted | None = None


@dataclass(frozen=True)
class Answers:
    """The entries of one journal on their way to an answer."""

    journal: Journal

    def buy(self, wanted: Sequence[Wanted], bind: Callable[[str | None], str | None]) -> list[Paid]:
        """Find, redeem or pay each, in one transaction; waits where somebody else is answering the same question.

        ``bind`` is told the unit the ledger has and says which one the first event binds it to, or refuses.
        """
        database = self.journal.database
        deadline = time.monotonic() + database.timeout
        while True:
            try:
                return self._buy(wanted, bind)
            except _Busy as busy:
                if time.monotonic() > deadline:
                    raise LedgerUnavailable(
                        f"the same question is being answered by another process, entry {busy}, for longer than "
                        f"{database.timeout:g} s; ask again later, it is then free. Nothing was charged"
                    ) from None
            time.sleep(_PAUSE)

    def _buy(self, wanted: Sequence[Wanted], bind: Callable[[str | None], str | None]) -> list[Paid]:
        journal, database = self.journal, self.journal.database
        paid: list[Paid | None] = [None] * len(wanted)
        taken: set[int] = set()
        # A mark follows that waits for the disk; where there is nothing to mark, this is the wait.
        durable = any(each.key is None for each in wanted)
        first: dict[str, int] = {}
        fresh: list[int] = []
        uses: list[Draft] = []
        with self._claiming(taken):
            with database.work(write=True, durable=durable) as work:
                work.undone.append(partial(self._forget, taken))
                books = journal.lock(work)
                bound = bind(books.unit)
                holder = database.claim()
                for place, each in enumerate(wanted):
                    if each.key is not None:
                        if each.key in first:
                            continue  # the same question twice in one batch is one question
                        first[each.key] = place
                        paid[place] = self._found(work, each) or self._redeemed(work, each, holder, taken)
                    if paid[place] is None:
                        fresh.append(place)
                    elif each.payer is not None and not self.own(work, each):
                        journal.load(work, books, each.payer)
                        uses.append(replace(each.draft, kind="use"))
                drafts = self._drafts(work, books, [wanted[p] for p in fresh], bound)
                entries = journal.post(work, books, [*uses, *drafts])[len(uses) :]
                self._foretell(work, entries, [wanted[p] for p in fresh])
                for place, entry in zip(fresh, entries, strict=True):
                    paid[place] = Bought(entry, wanted=wanted[place])
                rows = [
                    {"ledger": journal.id, "number": e.number, "key": wanted[p].key, "state": PAID, "holder": holder}
                    for p, e in zip(fresh, entries, strict=True)
                    if wanted[p].key is not None
                ]
                work.write_all(event_tables.insert_pending, rows)
                taken.update(e.number for p, e in zip(fresh, entries, strict=True) if wanted[p].key is not None)
                database.working.update(taken)  # before anyone else can see that they are paid
            return [bought or paid[first[each.key or ""]] for bought, each in zip(paid, wanted, strict=True)]  # type: ignore[misc]

    def _foretell(self, work: Transaction, entries: Sequence[Entry], wanted: Sequence[Wanted]) -> None:
        """Record what a failure from now on means for these payments, for error messages and the tally."""
        repeats = all(each.key is not None for each in wanted)
        work.outcome = outcomes.bought([w.bill.cost for w in wanted], [e.number for e in entries], repeats=repeats)
        for entry, each in zip(entries, wanted, strict=True):
            process_tally.paying(self.journal.place, entry.number, each.bill.cost, repeats=each.key is not None)
            work.undone.append(partial(process_tally.stored, self.journal.place, entry.number))
        work.after[:0] = [partial(process_tally.paid, self.journal.place, entry.number) for entry in entries]

    @contextmanager
    def _claiming(self, taken: set[int]) -> Iterator[None]:
        """An interrupt here, even after the commit, leaves no claim behind: asking the same question redeems the payment."""
        try:
            yield
        except BaseException:
            self._let_go(taken)
            raise

    def _forget(self, taken: set[int]) -> None:
        """Nothing was written, and the numbers of these entries may belong to other entries by now."""
        self.journal.database.working.difference_update(taken)
        taken.clear()

    def _drafts(self, work: Transaction, books: Books, wanted: list[Wanted], bound: str | None) -> list[Draft]:
        """The events of what has to be paid; of a ledger without a unit the first binds it."""
        drafts = []
        for each in wanted:
            account = each.payer
            drafts.append(each.draft if account is None else on_account(each.draft, self.journal.load(work, books, account)))
        if drafts and bound is not None:
            drafts[0] = replace(drafts[0], unit=bound)
        return drafts

    def own(self, work: Transaction, each: Wanted) -> bool:
        """Whether a reservation of the same person paid for the same question before: asking again is then free.

        That somebody else paid makes nothing cheaper: the price would tell that they asked. The release is the same one, so
        the people in the table pay nothing more; the second person's share does, in full.
        """
        place = {"of_ledger": self.journal.id, "of_key": each.key, "of_who": self.journal.who}
        return work.row(event_tables.find_own, place) is not None

    def payment(self, work: Transaction, keys: Sequence[str]) -> int | None:
        """The entry that paid for a question, by the keys it may have, whether its answer is stored or still waited for."""
        for key in keys:
            stored = self.journal.find_release(work, key)
            if stored is not None:
                return stored.number
            waits = work.row(event_tables.find_pending, {"of_ledger": self.journal.id, "of_key": key})
            if waits is not None:
                return int(waits[0])
        return None

    def _found(self, work: Transaction, each: Wanted) -> Paid | None:
        for key in (each.key, each.older):
            stored_release = None if key is None else self.journal.find_release(work, key)
            if stored_release is not None:
                release = Release.from_json(stored_release.document)
                assert release.entry is not None
                return Paid(release.entry, release)
        return None

    def _redeemed(self, work: Transaction, each: Wanted, holder: int, taken: set[int]) -> Paid | None:
        """Claim the entry that paid for the same question and has no answer yet, if no process has begun to compute it."""
        journal = self.journal
        pending = work.row(event_tables.find_pending, {"of_ledger": journal.id, "of_key": each.key})
        if pending is None:
            return None
        number, state, claimed = pending
        if journal.database.alive(claimed, number, work):
            raise _Busy(number)
        if state != PAID:
            raise Withheld(withheld(journal, number, each.bill.cost))
        values = {"of_ledger": journal.id, "of_number": number, "new_state": PAID, "new_holder": holder}
        work.write(event_tables.update_pending, values)
        sealed = work.row(event_tables.hash_of_event, values)
        if sealed is None:
            raise InvalidRequest(f"entry {number} is pending and no event paid for it; run verify() and restore a copy")
        taken.add(number)
        return Bought(Entry(journal.name, number, str(sealed[0])), wanted=each)

    def look(self, paid: Sequence[Paid]) -> None:
        """Mark entries whose answers are about to be computed; the marks and the payments are durable when it returns."""
        journal, database = self.journal, self.journal.database
        numbers = self._claimed(paid)
        if not numbers:
            return
        with database.work(write=True, outcome=outcomes.marked(list(numbers), journal.typed)) as work:
            for number, key in numbers.items():
                if not work.write(event_tables.mark_pending, self._mine(number, key, PAID) | {"new_state": LOOKED}):
                    raise LedgerUnavailable(
                        f"the claim on entry {number} was lost with the connection to the ledger. {work.outcome.before}"
                    )
        for number in numbers:
            process_tally.looked(journal.place, number, journal.typed)

    def store(self, paid: Sequence[Paid], made: Sequence[Release | None]) -> list[Release]:
        """Store each release that was made, all in one transaction, and return what a read of the store returns."""
        fresh: list[tuple[Wanted, Entry, Release]] = []
        for bought, release in zip(paid, made, strict=True):
            if bought.release is not None or release is None:
                continue
            wanted = bought.wanted if isinstance(bought, Bought) else None
            if (
                wanted is None
                or release.query is not wanted.bill.ask.query
                or release.mechanism is not wanted.bill.ask.mechanism
                or release.cost is not wanted.bill.cost
                or release.entry != bought.entry
            ):
                raise InvalidRequest(
                    f"a ledger stores only what it was paid for, and event {bought.entry.number} did not pay for this "
                    "release; store a release as the runner made it"
                )
            fresh.append((wanted, bought.entry, release))
        once = {entry.number: (self.key_of(each, entry), each, entry, release) for each, entry, release in fresh}
        if not once:
            return [p.release for p in paid if p.release is not None]
        rows = {number: StoredRow.of(key, number, release.to_json()) for number, (key, _, _, release) in once.items()}
        prices = [each.bill.cost for _, each, _, _ in once.values()]
        repeats = all(each.key is not None for _, each, _, _ in once.values())
        words = outcomes.kept(prices, list(once), self.journal.typed, repeats=repeats)
        try:
            self._write(once, rows, words)
        except LedgerUnavailable:
            # The commit may have been made although we were not told, or only the head may not have been noted, which is a
            # lower bound and misses nothing that was charged: only a read says.
            if not self._is_stored(once, rows):
                raise
        self._free(once)
        read: dict[int, Release] = {}
        with self.journal.database.work(write=False, outcome=words.whenever) as work:
            for number, (key, wanted, _, release) in once.items():
                row = self.journal.find_release(work, key, rows[number])
                if row is None:
                    raise Withheld(withheld(self.journal, number, wanted.bill.cost))
                read[number] = release if row == rows[number] else Release.from_json(row.document)
        return [read[p.entry.number] if p.release is None else p.release for p in paid]

    def _write(
        self, once: dict[int, tuple[str, Wanted, Entry, Release]], rows: dict[int, StoredRow], words: Outcome
    ) -> None:
        journal, database = self.journal, self.journal.database
        drafts = []
        with database.work(write=True, outcome=words) as work:
            books = journal.lock(work)
            for number, (key, each, _, release) in once.items():
                waits = each.key is not None
                if waits and not work.write(event_tables.answer_pending, self._mine(number, key, LOOKED)):
                    raise Withheld(withheld(journal, number, each.bill.cost))
                drafts.append(_stored(key, number, rows[number].document, release.relation or each.draft.relation))
            values = [{"ledger": journal.id, "key": once[n][0], **row._asdict()} for n, row in rows.items()]
            work.write_all(event_tables.insert_release, values)
            journal.post(work, books, drafts)

    def _is_stored(self, once: dict[int, tuple[str, Wanted, Entry, Release]], rows: dict[int, StoredRow]) -> bool:
        try:
            with self.journal.database.work(write=False) as work:
                kept = {number: self.journal.find_release(work, key) for number, (key, _, _, _) in once.items()}
        except LedgerUnavailable:
            return False
        return kept == rows

    def _free(self, numbers: Iterable[int]) -> None:
        numbers = list(numbers)
        self.journal.database.working.difference_update(numbers)
        for number in numbers:
            process_tally.stored(self.journal.place, number)

    def give_up(self, paid: Sequence[Paid]) -> str:
        """Let go of claims after an error: what was not looked for can be redeemed at once, by anyone who asks the same.

        Returns what became of them, in one line.
        """
        numbers = self._claimed(paid)
        became = partial(process_tally.of, self.journal.place, [p.entry.number for p in paid if p.release is None])
        self._let_go(numbers)
        return became()

    def _let_go(self, numbers: Collection[int]) -> None:
        """Release the claims of this process on entries that were written, so that it and others may claim them again."""
        journal, database = self.journal, self.journal.database
        if not numbers:
            return
        try:
            with database.work(write=True) as work:
                for number in numbers:
                    values = {"of_ledger": journal.id, "of_number": number}
                    pending = work.row(event_tables.read_pending, values)
                    if pending is not None and pending[2] == database.holder:
                        work.write(event_tables.update_pending, values | {"new_state": pending[1], "new_holder": 0})
        except LedgerError:
            pass  # the claim dies with this process
        finally:
            database.working.difference_update(numbers)  # not before: another thread would take it under the same number

    def _claimed(self, paid: Sequence[Paid]) -> dict[int, str | None]:
        """The entries that this process is answering, with the keys of their answers."""
        working = self.journal.database.working
        claimed = (p for p in paid if p.release is None and p.entry.number in working)
        return {p.entry.number: p.wanted.key if isinstance(p, Bought) and p.wanted else None for p in claimed}

    def _mine(self, number: int, key: str | None, state: str) -> dict[str, Any]:
        """An entry that is claimed here and in the state it was left in, as statements find it."""
        return {
            "of_ledger": self.journal.id,
            "of_number": number,
            "of_key": key,
            "old_state": state,
            "old_holder": self.journal.database.holder,
        }

    def key_of(self, each: Wanted, entry: Entry) -> str:
        """Where the answer of an entry is stored: under its question, or under its own number where it serves only once."""
        return each.key if each.key is not None else seal("", entry.number, entry.hash)

    def redeem(self, numbers: Sequence[int]) -> Cost:
        """The custodian's word that entries, whose holders died after looking, may be answered once more; what they cost.

        The conditions of the theorem are then the custodian's to judge: whoever could choose the moment of the death by the
        time that had passed must not be the one who is answered. Several are decided on one by one, in one transaction.
        """
        return self._decide("redeem", numbers, keep=True)

    def forgo(self, numbers: Sequence[int]) -> Cost:
        """The custodian's word that entries will not be answered: the same questions are paid for anew."""
        return self._decide("forgo", numbers, keep=False)

    def _decide(self, kind: str, numbers: Sequence[int], *, keep: bool) -> Cost:
        journal, database = self.journal, self.journal.database
        drafts, cost = [], Cost.nothing()
        with database.work(write=True) as work:
            books = journal.lock(work)
            for number in dict.fromkeys(numbers):
                place = {"of_ledger": journal.id, "of_number": number}
                pending = work.row(event_tables.read_pending, place)
                if pending is None:
                    raise InvalidRequest(
                        f"only an entry that is paid and not answered can be decided on, and entry {number} of "
                        f"{journal.name!r} is not one; discreet ledger show {journal.typed} lists them"
                    )
                if database.alive(pending[2], number, work):
                    raise InvalidRequest(
                        f"entry {number} is being answered by a living process now; wait for it, or end it first"
                    )
                if keep:
                    work.write(event_tables.update_pending, place | {"new_state": PAID, "new_holder": 0})
                else:
                    work.write(event_tables.delete_pending, place)
                question = canonical({"name": kind, "entry": number})
                relation = _relation(work, journal, number)
                drafts.append(Draft(kind=kind, question=question, relation=relation, cost=Cost.nothing()))
                cost = cost + _cost(work, journal, number)
            journal.post(work, books, drafts)
        return cost


def withheld(journal: Journal, number: int, cost: Cost) -> str:
    """The one line about an entry whose holder died after looking."""
    redeem = outcomes.redeeming([number], journal.typed)
    return (
        f"entry {number} of the ledger {journal.name!r} paid {cost} for this question, and whoever looked for it ended "
        "before the answer was stored: it is withheld, because an end that depended on the noise would tell of it. Nothing "
        f"more was charged; the custodian can have it answered ({redeem}) or given up and paid for anew ({redeem} --forgo); "
        "--all instead of its number is for every such entry"
    )


def _stored(key: str, number: int, document: str, relation: Relation) -> Draft:
    return Draft(kind="store", question=stored(key, number, document), relation=relation, cost=Cost.nothing())


def _relation(work: Transaction, journal: Journal, number: int) -> Relation:
    row = work.row(event_tables.relation_of_event, {"of_ledger": journal.id, "of_number": number})
    assert row is not None
    relation: Relation = row[0]
    return relation


def _cost(work: Transaction, journal: Journal, number: int) -> Cost:
    row = work.row(event_tables.cost_of_event, {"of_ledger": journal.id, "of_number": number})
    assert row is not None
    return read_cost(row[0])
