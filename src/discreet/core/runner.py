"""The waist: the only place where data, noise and budget meet. Pay first, then look, then speak."""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Generator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol, TypeVar

import numpy as np

from discreet.core.ask import Account, Ask, Open, Reopen
from discreet.core.cost import Cost, Distance
from discreet.core.query import LotQuery, Relation, evaluate_together
from discreet.core.random import Random
from discreet.core.release import Entry, Release
from discreet.errors import AccountClosed, LedgerUnavailable, NotPrivate

R = TypeVar("R")

# What a procedure yields, what it is sent, what it returns.
Procedure = Generator[Ask | Open | Reopen | tuple[Ask, ...], Any, R]


class Payer(Protocol):
    """What the runner needs of a ledger."""

    test: bool

    def pay(self, asks: Sequence[tuple[Ask, Distance, Cost]], relation: Relation) -> list[Entry]:
        """Charge all in one transaction, or raise and charge nothing."""

    def open(self, account: Open, relation: Relation) -> list[Account]:
        """Charge a prepaid account and return its parts."""

    def reopen(self, request: Reopen, relation: Relation) -> int:
        """How many steps a prepaid account has left for a plan, at most those asked for."""

    def recall(self, ask: Ask, source: Any, relation: Relation) -> Release | None:
        """The stored release of the identical question on the identical version of the data, if there is one."""

    def remember(self, ask: Ask, source: Any, release: Release) -> None:
        """Store a release for ``recall``."""


_numbers = itertools.count(1)  # accounts where nobody keeps a ledger


class NoLedger:
    """For someone who keeps no account: costs are computed and reported, nothing is limited."""

    test = True

    def pay(self, asks: Sequence[tuple[Ask, Distance, Cost]], relation: Relation) -> list[Entry]:
        return [Entry("none", 0, "") for _ in asks]

    def open(self, account: Open, relation: Relation) -> list[Account]:
        number = next(_numbers)
        return [Account(number, part, account.parts) for part in range(account.parts or 1)]

    def reopen(self, request: Reopen, relation: Relation) -> int:
        if request.steps:  # nobody would count how often
            raise AccountClosed(
                "a run continues at the ledger that was paid for it, got none; open that ledger, or, if none paid for it, "
                "begin a new run with another file and a ledger"
            )
        return 0

    def recall(self, ask: Ask, source: Any, relation: Relation) -> Release | None:
        return None

    def remember(self, ask: Ask, source: Any, release: Release) -> None:
        pass


@dataclass
class _Ahead:
    """Steps of a plan that are paid for and not yet taken, and the rows of a table in memory that they are taken on."""

    ask: Ask
    distance: Distance
    cost: Cost
    entries: list[Entry]
    gathered: Any

    def covers(self, ask: Ask) -> bool:
        """Whether the steps were paid for this question."""
        mine = self.ask
        return ask.query == mine.query and ask.mechanism == mine.mechanism and ask.rate == mine.rate


@dataclass(frozen=True)
class Desk:
    """Where a procedure is run: the records, who pays, the randomness and the relation."""

    source: Any
    ledger: Payer
    random: Random
    relation: Relation
    _splits: dict[int, list[Any]] = field(default_factory=dict, init=False, repr=False, compare=False)
    _ahead: dict[int, _Ahead] = field(default_factory=dict, init=False, repr=False, compare=False)

    def run(self, procedure: Procedure[R]) -> R:
        """Drive a procedure to its end."""
        answer: Any = None
        while True:
            try:
                request = procedure.send(answer)
            except StopIteration as stop:
                result: R = stop.value
                return result
            match request:
                case Open():
                    accounts = self.ledger.open(request, self.relation)
                    if request.parts is not None:
                        self._splits[accounts[0].number] = self.source.split(request.parts)
                        answer = accounts
                    else:
                        answer = replace(accounts[0], version=self.source.version)
                case Reopen():
                    if request.account.version != self.source.version:
                        raise AccountClosed(
                            "a run continues on the version of the data it began with, and this table is another one or has "
                            "changed; for a table in memory give the same version= both times"
                        )
                    answer = self.ledger.reopen(request, self.relation)
                case Ask() if request.account is not None and request.account.parts is None and request.rate is not None:
                    answer = self.step(request)
                case Ask():
                    answer = self.answer((request,))[0]
                case _:
                    answer = self.answer(request)

    @np.errstate(all="ignore")  # whether a record overflows, underflows or is no number is nobody's to know
    def answer(self, asks: tuple[Ask, ...]) -> tuple[Release, ...]:
        """Answer several asks: one transaction, one pass over the data."""
        self._check_seed()
        self._check_accounts(asks)
        known = [self.ledger.recall(a, self.source, self.relation) if _repeats(a) else None for a in asks]
        fresh = [a for a, k in zip(asks, known, strict=True) if k is None]
        distances = [a.query.distance(self.relation) for a in fresh]
        costs = [a.mechanism.cost(d) for a, d in zip(fresh, distances, strict=True)]
        entries = self.ledger.pay(list(zip(fresh, distances, costs, strict=True)), self.relation)
        values = self._look(fresh)
        made = iter(
            [
                Release(a.mechanism.release(v, seed=self.random), a.mechanism, a.query, self.relation, d, c, e,
                        self.random.private and c.is_finite, self._where)
                for a, v, d, c, e in zip(fresh, values, distances, costs, entries, strict=True)
            ]
        )  # fmt: skip
        answers = []
        for ask, old in zip(asks, known, strict=True):
            release = old if old is not None else next(made)
            if old is None and _repeats(ask):
                # It is paid for: if it cannot be stored now it is still handed out, and asked again it costs again.
                with contextlib.suppress(LedgerUnavailable):
                    self.ledger.remember(ask, self.source, release)
            answers.append(release)
        return tuple(answers)

    @np.errstate(all="ignore")
    def step(self, ask: Ask) -> Release:
        """Answer a step of a plan on a lot of its own; ``ahead`` steps are paid at once and then taken one by one.

        Proof: a step is taken only from entries the ledger wrote for this very plan, and each entry serves one step.
        """
        assert ask.account is not None
        assert ask.rate is not None
        known = self._ahead.get(ask.account.number)
        if known is None or not known.entries or not known.covers(ask):
            self._check_seed()
            distance = ask.query.distance(self.relation)
            cost = ask.mechanism.cost(distance)
            entries = self.ledger.pay([(ask, distance, cost)] * ask.ahead, self.relation)
            if known is None or not known.covers(ask):
                gathered = ask.query.gather(self.source) if isinstance(ask.query, LotQuery) else None
                known = _Ahead(ask, distance, cost, [], gathered)
                self._ahead[ask.account.number] = known
            known.entries = entries[::-1]
        entry = known.entries.pop()
        if known.gathered is None:
            value = ask.query.evaluate(self.source.sample(ask.rate, seed=self.random))
        else:
            assert isinstance(ask.query, LotQuery)
            chosen = None if ask.rate == 1 else self.random.places(ask.rate, known.gathered.people)
            value = ask.query.of_lot(known.gathered, chosen)
        made = ask.mechanism.release(value, seed=self.random)
        private = self.random.private and known.cost.is_finite
        return Release(
            made, ask.mechanism, ask.query, self.relation, known.distance, known.cost, entry, private, self._where
        )

    @property
    def _where(self) -> tuple[tuple[str, tuple[Any, ...]], ...]:
        """What the rows were restricted to, as a release says it."""
        return tuple(getattr(self.source, "restriction", ()))

    def _check_seed(self) -> None:
        if not self.random.private and not self.ledger.test:
            raise NotPrivate("a seed makes noise that is not private; use a test ledger (ledger='test') or no seed")

    def _look(self, asks: list[Ask]) -> list[Any]:
        """The exact values: one pass over all people, one over each part that an account is for, one over each lot."""
        places: dict[tuple[int, int] | None, list[int]] = {}
        lots = [i for i, ask in enumerate(asks) if ask.rate is not None]
        for i, ask in enumerate(asks):
            if ask.rate is not None:
                continue
            account = ask.account
            on_part = account is not None and account.parts is not None
            places.setdefault((account.number, account.part) if account and on_part else None, []).append(i)
        values: dict[int, Any] = {}
        for place, members in places.items():
            source = self.source if place is None else self._splits[place[0]][place[1]]
            values.update(zip(members, evaluate_together([asks[i].query for i in members], source), strict=True))
        for i in lots:
            values[i] = asks[i].query.evaluate(self._people(asks[i]).sample(asks[i].rate, seed=self.random))
        return [values[i] for i in range(len(asks))]

    def _people(self, ask: Ask) -> Any:
        account = ask.account
        return self.source if account is None or account.parts is None else self._splits[account.number][account.part]

    def _check_accounts(self, asks: tuple[Ask, ...]) -> None:
        """An account on a part of the people is good only where they were cut.

        Cut anew, a person could be in one part for one question and in another for the next, and be paid for in neither.
        """
        for ask in asks:
            if ask.account is not None and ask.account.parts is not None and ask.account.number not in self._splits:
                raise AccountClosed(
                    f"an account on a part of the people serves the run that opened it, got number {ask.account.number}; "
                    "open accounts in the procedure that uses them"
                )


def _repeats(ask: Ask) -> bool:
    """Whether the answer may serve again where the same is asked: of all people, and of what its document says in full."""
    return ask.account is None and ask.rate is None and ask.query.described


def plan(procedure: Procedure[R], relation: Relation, rows: int) -> tuple[R, list[Ask | Open | Reopen]]:
    """A dry run on releases made up for ``rows`` rows: what would be asked, and a result as uncertain as the real one.

    Proof: what an ask costs never depends on an answer, so the asks of a dry run are those of the real one; no data
    is in reach here.
    """
    noise = Random(seed=0)
    seen: list[Ask | Open | Reopen] = []
    answer: Any = None
    while True:
        try:
            request = procedure.send(answer)
        except StopIteration as stop:
            result: R = stop.value
            return result, seen
        match request:
            case Open():
                seen.append(request)
                accounts = [Account(0, part, request.parts) for part in range(request.parts or 1)]
                answer = accounts if request.parts is not None else accounts[0]
            case Reopen():
                seen.append(request)
                answer = request.steps
            case Ask():
                seen.append(request)
                answer = _made_up(request, relation, rows, noise)
            case _:
                seen.extend(request)
                answer = tuple(_made_up(a, relation, rows, noise) for a in request)


def _made_up(ask: Ask, relation: Relation, rows: int, noise: Random) -> Release:
    distance = ask.query.distance(relation)
    value = ask.mechanism.release(ask.query.blank(rows), seed=noise)
    return Release(value, ask.mechanism, ask.query, relation, distance, ask.mechanism.cost(distance), private=False)
