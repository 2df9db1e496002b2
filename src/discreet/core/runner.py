"""The runner: the only place where data, noise and budget meet. Pay first, then look, then store, then speak."""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable, Generator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any, NamedTuple, Protocol, TypeVar

import numpy as np

from discreet.core.ask import Account, Ask, Open, Reopen
from discreet.core.cost import Cost, Distance
from discreet.core.interrupts import deferred
from discreet.core.lot_drawer import LotDrawer, PartsInTurns
from discreet.core.query import LotQuery, Relation, evaluate_together
from discreet.core.random import Random
from discreet.core.release import Entry, Release
from discreet.core.source import Source
from discreet.core.unit import Unit
from discreet.errors import AccountClosed, InvalidRequest, LedgerError, NotPrivate

R = TypeVar("R")

Yielded = Ask | Open | Reopen | tuple[Ask, ...]
Procedure = Generator[Yielded, Any, R]  # what it yields, what it is sent, what it returns


def drive(procedure: Procedure[R], answer: Callable[[Yielded], Any]) -> R:
    """Run a procedure to its end, sending it the ``answer`` to each of its requests; what it returns."""
    sent: Any = None
    while True:
        try:
            request = procedure.send(sent)
        except StopIteration as stop:
            result: R = stop.value
            return result
        sent = answer(request)


def relayed(
    procedure: Procedure[R],
    change: Callable[[Yielded], Yielded] = lambda request: request,
    note: Callable[[Yielded, Any], None] = lambda request, answer: None,
) -> Procedure[R]:
    """The same procedure, with every request changed on its way out, and every answer noted on its way in."""
    answer: Any = None
    while True:
        try:
            request = change(procedure.send(answer))
        except StopIteration as stop:
            result: R = stop.value
            return result
        answer = yield request
        note(request, answer)


def unpaid(request: Yielded, release: Callable[[Ask], Release]) -> Any:
    """The answer to a request in a run without a ledger: new accounts, every step asked for, the ``release`` of each ask."""
    match request:
        case Open():
            accounts = [Account(0, part, request.parts) for part in range(request.parts or 1)]
            return accounts if request.parts is not None else accounts[0]
        case Reopen():
            return request.steps
        case Ask():
            return release(request)
        case _:
            return tuple(map(release, request))


class Bill(NamedTuple):
    """An ask, its cost, the rows it is about, and whether its stored answer may be given again to the same question."""

    ask: Ask
    distance: Distance
    cost: Cost
    source: Source
    repeats: bool


@dataclass(frozen=True)
class Paid:
    """The entry that pays for an ask and, where the same was answered before, the stored release."""

    entry: Entry
    release: Release | None = None


class Payer(Protocol):
    """What the runner needs of a ledger."""

    test: bool
    keeps: bool  # whether anything is stored, so that an interrupt must wait for it

    def pay(self, asks: Sequence[tuple[Ask, Distance, Cost]], relation: Relation, unit: Unit | None = None) -> list[Entry]:
        """Charge steps of a plan in one transaction, or raise and charge nothing; their answers are not stored."""

    def open(self, account: Open, relation: Relation, unit: Unit | None = None) -> list[Account]:
        """Charge a prepaid account and return its parts."""

    def reopen(self, request: Reopen, relation: Relation) -> int:
        """How many steps a prepaid account has left for a plan, at most those asked for."""

    def buy(self, bills: Sequence[Bill], relation: Relation, unit: Unit | None = None) -> list[Paid]:
        """Find each bill's stored answer, redeem its unanswered payment, or charge it, in one transaction.

        Entries that are yet to be answered are then claimed. Or raise, and charge nothing.
        """

    def look(self, paid: Sequence[Paid]) -> None:
        """Record durably, before any record is read, that the answers to these payments are being computed."""

    def store(self, paid: Sequence[Paid], made: Sequence[Release | None]) -> list[Release]:
        """Store the new releases durably, and return every release as it is read back from the store."""

    def give_up(self, paid: Sequence[Paid]) -> str:
        """After an error, give up the claims on these payments; one line that says what became of them, or an empty text."""


_numbers = itertools.count(1)  # accounts where nobody keeps a ledger


class NoLedger:
    """For runs without a ledger: costs are computed and reported, nothing is limited and nothing is stored."""

    test = True
    keeps = False

    def pay(self, asks: Sequence[tuple[Ask, Distance, Cost]], relation: Relation, unit: Unit | None = None) -> list[Entry]:
        return [Entry("none", 0, "") for _ in asks]

    def open(self, account: Open, relation: Relation, unit: Unit | None = None) -> list[Account]:
        number = next(_numbers)
        return [Account(number, part, account.parts) for part in range(account.parts or 1)]

    def reopen(self, request: Reopen, relation: Relation) -> int:
        if request.steps:  # nobody would count how often
            raise AccountClosed(
                "a run continues at the ledger that was paid for it, got none; open that ledger, or, if none paid for it, "
                "begin a new run with another file and a ledger"
            )
        return 0

    def buy(self, bills: Sequence[Bill], relation: Relation, unit: Unit | None = None) -> list[Paid]:
        return [Paid(entry) for entry in self.pay([(b.ask, b.distance, b.cost) for b in bills], relation)]

    def look(self, paid: Sequence[Paid]) -> None:
        """Nothing is recorded."""

    def store(self, paid: Sequence[Paid], made: Sequence[Release | None]) -> list[Release]:
        return [release for release in made if release is not None]

    def give_up(self, paid: Sequence[Paid]) -> str:
        """There are no claims to give up."""
        return ""


@dataclass
class _Ahead:
    """Steps of a plan that are paid for and not yet taken, and the rows of a table in memory that they are taken on."""

    ask: Ask
    distance: Distance
    cost: Cost
    entries: list[Entry]
    gathered: Any
    drawer: LotDrawer | PartsInTurns | None = None
    process: int = field(default_factory=os.getpid)

    def covers(self, ask: Ask) -> bool:
        """Whether the steps were paid for this question."""
        mine = self.ask
        return (ask.query, ask.mechanism, ask.rate, ask.turns) == (mine.query, mine.mechanism, mine.rate, mine.turns)


@dataclass(frozen=True)
class Desk:
    """Where a procedure is run: the records, who pays, the randomness and the relation."""

    source: Source
    ledger: Payer
    random: Random
    relation: Relation
    _splits: dict[int, list[Source]] = field(default_factory=dict, init=False, repr=False, compare=False)
    _ahead: dict[int, _Ahead] = field(default_factory=dict, init=False, repr=False, compare=False)
    _plans: dict[int, Source] = field(default_factory=dict, init=False, repr=False, compare=False)
    _turning: dict[int, int] = field(default_factory=dict, init=False, repr=False, compare=False)
    _narrowed: dict[str, Source] = field(default_factory=dict, init=False, repr=False, compare=False)

    def run(self, procedure: Procedure[R]) -> R:
        """Drive a procedure to its end, on one state of the table."""
        with self.source.snapshot():
            return drive(procedure, self._reply)

    def _reply(self, request: Yielded) -> Any:
        match request:
            case Open():
                people = self._people_of(request.account)
                turns = request.turns or (request.plan is not None and request.plan.turns)
                if turns and not people.resident:
                    raise InvalidRequest("people take turns in tables in memory only; use lots='random' for others")
                accounts = self.ledger.open(request, self.relation, self._unit)
                if request.parts is not None:
                    self._splits[accounts[0].number] = self.source.split(request.parts)
                    return accounts
                account = replace(accounts[0], version=self.source.version, of=request.account)
                if request.account is not None:
                    self._plans[account.number] = people
                if request.plan is not None and request.plan.turns:
                    self._turning[account.number] = os.getpid()
                return account
            case Reopen():
                if request.account.of is not None:
                    number = request.account.number
                    raise AccountClosed(f"a plan on a part of the people serves the run that opened it, got {number}")
                if request.account.version != self.source.version:
                    raise AccountClosed(
                        "a run continues on the version of the data it began with, and this table is another one or has "
                        "changed; for a table in memory give the same version= both times"
                    )
                return self.ledger.reopen(request, self.relation)
            case Ask() if request.account is not None and request.account.parts is None and request.rate is not None:
                return self.step(request)
            case Ask():
                return self.answer((request,))[0]
            case _:
                return self.answer(request)

    @np.errstate(all="ignore")  # whether a record overflows, underflows or is no number must not be told
    def answer(self, asks: tuple[Ask, ...]) -> tuple[Release, ...]:
        """Answer several asks: one payment, and one pass over the data for all that are about the same rows.

        The order is pay, mark, look, draw, store, and what is returned is what was read from the store; signals wait from
        the mark until the row is stored. ``ledger.answers`` proves what this order guarantees.
        """
        with self.source.snapshot():
            return self._answer(asks)

    def _answer(self, asks: tuple[Ask, ...]) -> tuple[Release, ...]:
        self._check_seed()
        bills = []
        for ask in asks:
            people = self._people(ask)  # a filter that names nothing is refused here, before anything is paid
            distance = ask.query.distance(self.relation)
            bills.append(Bill(ask, distance, ask.mechanism.cost(distance), people, _repeats(ask)))
        paid: list[Paid] = []
        try:
            paid = self.ledger.buy(bills, self.relation, self._unit)
            with deferred() if self.ledger.keeps else nullcontext():
                self.ledger.look(paid)
                return tuple(self.ledger.store(paid, self._draw(bills, paid)))
        except BaseException as problem:
            became = self.ledger.give_up(paid)
            if became and not isinstance(problem, LedgerError):  # those say it themselves
                problem.add_note(became)
            raise

    def _draw(self, bills: Sequence[Bill], paid: Sequence[Paid]) -> list[Release | None]:
        """A new release for every entry without an answer; an entry that pays for two equal asks is drawn for once."""
        first_place: dict[int, int] = {}
        for place, bought in enumerate(paid):
            if bought.release is None:
                first_place.setdefault(id(bought.entry), place)
        unanswered = [bills[place] for place in first_place.values()]
        values = self._look([b.ask for b in unanswered], [b.source for b in unanswered])
        drawn: dict[int, Release] = {}
        for (entry, place), bill, value in zip(first_place.items(), unanswered, values, strict=True):
            ask = bill.ask
            drawn[entry] = Release(
                ask.mechanism.release(value, seed=self.random), ask.mechanism, ask.query, self.relation, bill.distance,
                bill.cost, paid[place].entry, self.random.private and bill.cost.is_finite, bill.source.restriction,
            )  # fmt: skip
        return [None if bought.release is not None else drawn[id(bought.entry)] for bought in paid]

    @np.errstate(all="ignore")
    def step(self, ask: Ask) -> Release:
        """Answer a step of a plan on a lot of its own; ``ahead`` steps are paid at once and then taken one by one.

        Proof: a step is taken only from entries the ledger wrote for this very plan, and each entry serves one step. Steps
        are not stored (a gradient is as long as a model, and there are thousands): one that was paid and lost stays lost,
        so no entry is ever answered twice. What was paid ahead is the process's that paid: a forked child pays for itself.
        """
        assert ask.account is not None
        assert ask.rate is not None
        people = self._people_of(ask.account)
        ahead = self._paid_ahead(ask, ask.account, people)
        entry = ahead.entries.pop()
        noisy = ask.mechanism.release(self._of_lot(ask, ask.rate, ahead, people), seed=self.random)
        private = self.random.private and ahead.cost.is_finite
        where = self.source.restriction
        return Release(noisy, ask.mechanism, ask.query, self.relation, ahead.distance, ahead.cost, entry, private, where)

    def _paid_ahead(self, ask: Ask, account: Account, people: Source) -> _Ahead:
        """The steps of an account that are paid for and not yet taken; pays for the next ``ahead`` where there is none."""
        ahead = self._ahead.get(account.number)
        if ahead is not None and ahead.process != os.getpid():
            ahead = None
        self._check_turns(ask, account, ahead)
        if ahead is not None and ahead.entries and ahead.covers(ask):
            return ahead
        self._check_seed()
        distance = ask.query.distance(self.relation)
        cost = ask.mechanism.cost(distance)
        entries = self.ledger.pay([(ask, distance, cost)] * ask.ahead, self.relation, self._unit)
        if ahead is None or not ahead.covers(ask):
            gathered = ask.query.gather(people) if isinstance(ask.query, LotQuery) else None
            ahead = self._ahead[account.number] = _Ahead(ask, distance, cost, [], gathered)
        ahead.entries = entries[::-1]
        return ahead

    def _of_lot(self, ask: Ask, rate: Fraction, ahead: _Ahead, people: Source) -> Any:
        """The exact value over the people of the next lot."""
        if ahead.gathered is None:
            return ask.query.evaluate(people.sample(rate, seed=self.random))
        assert isinstance(ask.query, LotQuery)
        if ahead.drawer is None:
            count = ahead.gathered.people
            if ask.turns:
                ahead.drawer = PartsInTurns(self.random, rate.denominator, count)
            else:
                ahead.drawer = LotDrawer(self.random, rate, count)
        return ask.query.of_lot(ahead.gathered, None if rate == 1 else ahead.drawer.next())

    def _check_turns(self, ask: Ask, account: Account, ahead: _Ahead | None) -> None:
        """People are divided into parts once for an account, by the run that opened it, and its steps follow one another.

        Divided anew, when a run is continued or in a forked child, a person could be met more often than was paid for.
        """
        if ask.turns and (self._turning.get(account.number) != os.getpid() or (ahead is not None and not ahead.covers(ask))):
            raise AccountClosed(
                f"an account whose people take turns serves the run that opened it, got number {account.number}; open "
                "one in the procedure that uses it, or use lots='random'"
            )

    @property
    def _unit(self) -> Unit | None:
        """Whose privacy is at stake; None where the source has no schema."""
        return None if self.source.schema is None else Unit.of(self.source.schema)

    def _check_seed(self) -> None:
        if not self.random.private and not self.ledger.test:
            raise NotPrivate("a seed makes noise that is not private; use a test ledger (ledger='test') or no seed")

    def _look(self, asks: list[Ask], people: list[Source]) -> list[Any]:
        """The exact values: one pass for each source among ``people``, and one over each lot."""
        passes: dict[int, list[int]] = {}
        values: dict[int, Any] = {}
        for i, (ask, source) in enumerate(zip(asks, people, strict=True)):
            if ask.rate is None:
                passes.setdefault(id(source), []).append(i)
        for members in passes.values():
            exact = evaluate_together([asks[i].query for i in members], people[members[0]])
            values.update(zip(members, exact, strict=True))
        for i, ask in enumerate(asks):
            if ask.rate is not None:
                values[i] = ask.query.evaluate(people[i].sample(ask.rate, seed=self.random))
        return [values[i] for i in range(len(asks))]

    def _people(self, ask: Ask) -> Source:
        """Whom an ask is about: a part with an account of its own, the rows that its ``where`` leaves, or all.

        Asks about the same rows are given the same source, which is then read once for all of them.
        """
        if ask.account is not None:
            return self._people_of(ask.account)
        if not ask.where:
            return self.source
        restricted = self.source.where(**dict(ask.where))
        # As text: to a dict 1 and true are one label, and of one column they may be two.
        return self._narrowed.setdefault(repr(restricted.restriction), restricted)

    def _people_of(self, account: Account | None) -> Source:
        """Whom an account is about: everybody, or a part of the people, in the run that divided them.

        Divided anew, a person could be in one part for one question and in another for the next, and be paid for in neither.
        The part that a plan is about was noted when the plan was opened here; the ledger refuses a plan of no such part.
        """
        if account is not None and account.number in self._plans:
            return self._plans[account.number]
        part = account if account is None or account.parts is not None else account.of
        if part is None:
            return self.source
        if part is not account or part.number not in self._splits:
            raise AccountClosed(
                f"an account on a part of the people serves the run that opened it, got number {part.number}; "
                "open accounts in the procedure that uses them"
            )
        return self._splits[part.number][part.part]


def _repeats(ask: Ask) -> bool:
    """Whether the stored answer may be given again to the same question: it is about all people, and its document says all
    that it computes."""
    return ask.account is None and ask.rate is None and ask.query.described


def plan(procedure: Procedure[R], relation: Relation, rows: int) -> tuple[R, list[Ask | Open | Reopen]]:
    """A dry run on releases made up for ``rows`` rows: what would be asked, and a result as uncertain as the real one.

    Proof: what an ask costs never depends on an answer, so the asks of a dry run are those of the real one; no data
    is in reach here.
    """
    noise = Random(seed=0)
    seen: list[Ask | Open | Reopen] = []

    def answer(request: Yielded) -> Any:
        seen.extend(request if isinstance(request, tuple) else (request,))
        return unpaid(request, lambda ask: _made_up(ask, relation, rows, noise))

    return drive(procedure, answer), seen


def _made_up(ask: Ask, relation: Relation, rows: int, noise: Random) -> Release:
    distance = ask.query.distance(relation)
    value = ask.mechanism.release(ask.query.blank(rows), seed=noise)
    return Release(value, ask.mechanism, ask.query, relation, distance, ask.mechanism.cost(distance), private=False)
