"""Prepaid plans, disjoint parts, reservations, and releases that are paid for once."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from discreet.accounting.conversions import epsilon, zcdp_within
from discreet.core.ask import Account, Ask, Open, Reopen
from discreet.core.budget import Budget
from discreet.core.cost import Cost
from discreet.core.query import Relation
from discreet.core.random import Random
from discreet.core.release import Entry
from discreet.core.runner import Desk, Procedure
from discreet.errors import AccountClosed, BudgetExceeded, InvalidRequest, LedgerCorrupt, NotPrivate
from discreet.ledger import Ledger
from discreet.ledger.caps import implies
from discreet.ledger.events import Terms, hash_of

from .laws import People, Plain, Sevens, eps

Make = Callable[..., Ledger]


def pay(ledger: Ledger, *asks: Ask, relation: Relation = "add_remove") -> list[Entry]:
    """What the runner does: compute distance and cost, and pay for all at once."""
    distances = [a.query.distance(relation) for a in asks]
    return ledger.pay([(a, d, a.mechanism.cost(d)) for a, d in zip(asks, distances, strict=True)], relation)


def test_several_asks_are_paid_together_or_not_at_all(make: Make) -> None:
    ledger = make(Budget(epsilon=1))
    a, b = Ask(Sevens("a"), eps("0.6")), Ask(Sevens("b"), eps("0.6"))
    with pytest.raises(BudgetExceeded):
        pay(ledger, a, b)
    assert ledger.verify() == 0
    assert [e.number for e in pay(ledger, a, Ask(Sevens("c"), eps("0.4")))] == [1, 2]
    assert pay(ledger) == []
    assert ledger.spent().epsilon == 1
    assert ledger.verify() == 2


def test_a_plan_takes_exactly_its_steps(make: Make) -> None:
    ledger = make(Budget(epsilon=1))
    (account,) = ledger.open(Open(Cost.pure("0.5"), plan=Ask(Sevens("gradient"), eps("0.4")), steps=3), "add_remove")
    step = Ask(Sevens("gradient"), eps("0.4"), account)
    others = [
        Ask(Sevens("gradient"), eps("0.3"), account),
        Ask(Sevens("another"), eps("0.4"), account),
        Ask(Sevens("gradient", width=2), eps("0.4"), account),
    ]
    for other in others:
        with pytest.raises(AccountClosed):
            pay(ledger, other)
    with pytest.raises(AccountClosed):
        pay(ledger, step, relation="both")
    pay(ledger, step)
    with pytest.raises(AccountClosed, match="opened for 3 steps and all were taken"):
        pay(ledger, step, step, step)
    pay(ledger, step, step)
    with pytest.raises(AccountClosed):
        pay(ledger, step)
    assert ledger.spent().epsilon == Fraction(1, 2)
    assert [(e.kind, e.account) for e in ledger.events()] == [("open", None)] + [("step", account.number)] * 3
    assert all(e.cost == Cost.nothing() for e in ledger.events() if e.kind == "step")
    assert ledger.verify() == 4


def test_a_step_whose_own_cost_differs_is_refused(make: Make) -> None:
    ledger = make(Budget(epsilon=1))
    ask = Ask(Sevens(), eps("0.4"))
    (account,) = ledger.open(Open(Cost.pure("0.5"), plan=ask), "add_remove")
    with pytest.raises(AccountClosed, match=r"each cost ε=0.4 by themselves, got ε=0.5"):
        ledger.pay(
            [(Ask(ask.query, ask.mechanism, account), ask.query.distance("add_remove"), Cost.pure("0.5"))], "add_remove"
        )
    assert ledger.verify() == 1


def test_opening_is_paid_and_can_be_refused(make: Make) -> None:
    ledger = make(Budget(epsilon=1))
    plan = Ask(Sevens(), eps("0.1"))
    with pytest.raises(BudgetExceeded):
        ledger.open(Open(Cost.pure(2), plan=plan), "add_remove")
    with pytest.raises(BudgetExceeded):
        ledger.open(Open(Cost.pure("1.01"), parts=3), "add_remove")
    with pytest.raises(NotPrivate):
        ledger.open(Open(Cost.infinite(), plan=plan), "add_remove")
    assert ledger.verify() == 0


NO_SLACK, NO_CURVE = Fraction(0), Cost.infinite().curve
FREE = {
    "nothing": Cost.nothing(),
    "a zero times": Cost.pure(1) * 0,
    "a claim alone": Cost(Fraction(0), Fraction(0), None, NO_SLACK, NO_CURVE),
    "rho alone": Cost(None, Fraction(0), Fraction(0), NO_SLACK, NO_CURVE),
    "a curve alone": Cost(None, Fraction(0), None, NO_SLACK, Cost.nothing().curve),
    "zero beside a price": Cost(Fraction(1), Fraction(0), Fraction(0), NO_SLACK, NO_CURVE),
}


@pytest.mark.parametrize("free", FREE)
def test_a_plan_for_nothing_is_refused(file: str, free: str) -> None:
    for address in (file, "test"):
        with Ledger(address, Budget(epsilon=1)) as ledger:
            with pytest.raises(InvalidRequest, match=r"must cost more than nothing, got .* for 5 steps; give the cost of"):
                ledger.open(Open(FREE[free], plan=Ask(Sevens(), eps("0.4")), steps=5), "add_remove")
            assert ledger.verify() == 0


def test_a_plan_that_costs_only_a_chance_or_very_little_is_taken(file: str) -> None:
    with Ledger(file, Budget(epsilon=1, delta="1e-3")) as ledger:
        for price in (Cost.approximate(0, "1e-6"), Cost.pure("1e-300")):
            ledger.open(Open(price, plan=Ask(Sevens(), eps("0.4"))), "add_remove")
        assert [e.cost for e in ledger.events()] == [Cost.approximate(0, "1e-6"), Cost.pure("1e-300")]
        assert ledger.verify() == 2


def test_the_price_of_a_plan_stands_in_the_event_beside_what_it_buys(file: str) -> None:
    with Ledger(file, Budget(epsilon=1)) as ledger:
        ledger.open(Open(Cost.pure("0.5"), plan=Ask(Sevens(), eps("0.4")), steps=3), "add_remove")
        (event,) = ledger.events()
    assert event.cost == Cost.pure("0.5")
    assert (event.terms.steps, event.terms.cap) == (3, Cost.pure("0.4"))
    assert event.to_dict()["law"]["scale"] == "5/2"


def test_each_part_is_capped_and_all_cost_what_one_may(make: Make) -> None:
    ledger = make(Budget(epsilon=1))
    accounts = ledger.open(Open(Cost.pure("0.5"), parts=3), "add_remove")
    assert [(a.part, a.parts) for a in accounts] == [(0, 3), (1, 3), (2, 3)]
    for account in accounts:
        for _ in range(5):
            pay(ledger, Ask(Sevens(), eps("0.1"), account))
        with pytest.raises(BudgetExceeded, match=r"capped at ε=0.5: ε=0.5 is drawn"):
            pay(ledger, Ask(Sevens(), eps("0.001"), account))
    assert ledger.spent() == Cost.pure("0.5").padded()
    assert ledger.verify() == 16


def test_an_account_that_was_not_opened_pays_for_nothing(make: Make) -> None:
    """Naming part 0 with other parts would ask all the people at the price of some."""
    ledger = make(Budget(epsilon=1))
    number = ledger.open(Open(Cost.pure("0.5"), parts=3), "add_remove")[0].number
    for forged in (Account(number), Account(number, 0, 2), Account(number, 3, 3), Account(number + 1), Account(0)):
        with pytest.raises(AccountClosed):
            pay(ledger, Ask(Sevens(), eps("0.1"), forged))
    with pytest.raises(AccountClosed, match="only an open reservation"):
        ledger.cancel(Account(number, 0, 3))
    assert ledger.verify() == 1


def test_a_reservation_is_out_of_others_reach(make: Make) -> None:
    ledger = make(Budget(epsilon=1))
    account = ledger.reserve(Cost.pure("0.8"), "for the model")
    assert ledger.spent() == Cost.pure("0.8").padded()
    with pytest.raises(BudgetExceeded, match=r"ε=0.2 is left"):
        ledger.charge(eps("0.3"))
    pay(ledger, Ask(Sevens(), eps("0.3"), account), Ask(Sevens("own"), eps("0.1")))
    with pytest.raises(BudgetExceeded, match=r"capped at ε=0.8: ε=0.3 is drawn"):
        pay(ledger, Ask(Sevens(), eps("0.6"), account))
    assert ledger.spent().epsilon == Fraction(9, 10)
    ledger.cancel(account)
    assert ledger.spent() == Cost.pure("0.1") + Cost.pure("0.3")
    for late in (lambda: ledger.cancel(account), lambda: pay(ledger, Ask(Sevens(), eps("0.1"), account))):
        with pytest.raises(AccountClosed):
            late()
    ledger.charge(eps("0.6"))
    assert [e.kind for e in ledger.events()] == ["reserve", "draw", "charge", "cancel", "charge"]
    assert ledger.verify() == 5


def test_cancelling_one_reservation_leaves_the_others_whole(make: Make) -> None:
    ledger = make(Budget(epsilon=1))
    first, second, third = (ledger.reserve(Cost.pure(c), "aside") for c in ("0.1", "0.2", "0.3"))
    pay(ledger, Ask(Sevens(), eps("0.1"), third))
    ledger.cancel(second)
    assert ledger.spent().epsilon == Fraction(4, 10)
    ledger.cancel(third)
    ledger.cancel(first)
    assert ledger.spent() == Cost.pure("0.1")
    assert ledger.verify() == 7


def test_the_runner_asks_again_for_free(make: Make) -> None:
    ledger = make(Budget(epsilon=1))
    ask = Ask(Sevens("again"), eps("0.6"))
    desk = Desk(People("1"), ledger, Random(), "add_remove")
    first, second = desk.answer((ask,))[0], desk.answer((ask,))[0]
    assert first.to_json() == second.to_json()
    assert second.entry == Entry("default", 1, next(ledger.events()).hash)
    with pytest.raises(BudgetExceeded):  # other data is another question
        Desk(People("2"), ledger, Random(), "add_remove").answer((ask,))
    with pytest.raises(NotPrivate):
        Desk(People("1"), ledger, Random(seed=1), "add_remove").answer((ask,))
    assert [e.kind for e in ledger.events()] == ["charge", "store"]
    assert ledger.verify() == 2


def test_a_part_pays_for_a_plan_on_itself(make: Make) -> None:
    """It is drawn on the part, within its cap; a part opens no parts, and nobody goes on with such a plan later."""
    ledger = make(Budget(epsilon=1))
    parts = ledger.open(Open(Cost.pure("0.4"), parts=2), "add_remove")
    other = ledger.open(Open(Cost.pure("0.1"), parts=2), "add_remove")
    ask = Ask(Sevens("gradient"), eps("0.2"))
    (account,) = ledger.open(Open(Cost.pure("0.2"), plan=ask, steps=3, account=parts[1]), "add_remove")
    pay(ledger, *[replace(ask, account=account)] * 3)
    with pytest.raises(AccountClosed, match="all were taken"):
        pay(ledger, replace(ask, account=account))
    with pytest.raises(BudgetExceeded, match="is capped at"):
        ledger.open(Open(Cost.pure("0.3"), plan=ask, account=parts[1]), "add_remove")
    pay(ledger, replace(ask, account=parts[1]))  # 0.4 of 0.4
    ledger.open(Open(Cost.pure("0.4"), plan=ask, steps=9, account=parts[0]), "add_remove")
    assert ledger.spent().epsilon == Fraction(1, 2)
    with pytest.raises(AccountClosed, match="serves the run that opened it"):
        ledger.reopen(Reopen(account, ask, 1), "add_remove")
    with pytest.raises(AccountClosed, match="must be one that this ledger opened"):
        ledger.open(Open(Cost.pure("0.1"), plan=ask, account=replace(account, parts=1)), "add_remove")
    (fresh,) = ledger.open(Open(Cost.pure("0.1"), plan=ask, account=other[0]), "add_remove")
    for forged in (None, other[1], parts[0]):
        with pytest.raises(AccountClosed, match="asked of that part"):
            pay(ledger, replace(ask, account=replace(fresh, of=forged)))
    with pytest.raises(InvalidRequest, match="plan on a part"):
        Open(Cost.pure("0.1"), parts=2, account=parts[0])
    assert ledger.verify() == 9


def test_steps_of_a_plan_on_a_part_are_taken_there(make: Make) -> None:
    @dataclass(frozen=True)
    class Who(Sevens):
        def evaluate(self, source: Any) -> Any:
            return source.version

    @dataclass(frozen=True)
    class Sampled(People):
        def sample(self, rate: Fraction, seed: Any) -> People:
            return self

        def split(self, parts: int) -> list[People]:
            return [Sampled(f"{self.version}/{i}") for i in range(parts)]

    ledger = make(Budget(epsilon=1))
    ask = Ask(Who("steps"), eps("0.1"), rate=Fraction(1, 2))
    whole = replace(ask, rate=None)

    def procedure() -> Procedure[Any]:
        accounts = yield Open(Cost.pure("0.5"), parts=3)
        account = yield Open(Cost.pure("0.2"), plan=ask, steps=4, account=accounts[2])
        at_once = yield Open(Cost.pure("0.2"), plan=whole, steps=3, account=accounts[2])
        step, one = replace(ask, account=account), replace(whole, account=at_once)
        first = yield step
        several = yield (step, one)
        last = yield one
        return [first, *several, last], account

    desk = Desk(Sampled(), ledger, Random(), "add_remove")
    made, account = desk.run(procedure())
    assert [release.value for release in made] == ["1/2"] * 4
    with pytest.raises(AccountClosed, match="asked of that part"):
        desk.step(replace(ask, account=replace(account, of=None)))
    elsewhere = Desk(Sampled(), ledger, Random(), "add_remove")
    with pytest.raises(AccountClosed, match="serves the run that opened it"):
        elsewhere.step(replace(ask, account=account))
    with pytest.raises(AccountClosed, match="serves the run that opened it"):
        desk.run(iter_of(Reopen(account, ask, 1)))
    assert desk.step(replace(ask, account=account)).value == "1/2"


def iter_of(request: Any) -> Procedure[Any]:
    answer = yield request
    return answer


def test_the_runner_drives_a_plan_and_parts(make: Make) -> None:
    ledger = make(Budget(epsilon=1))

    def procedure():
        account = yield Open(Cost.pure("0.5"), plan=Ask(Sevens(), eps("0.4")), steps=2)
        yield Ask(Sevens(), eps("0.4"), account), Ask(Sevens(), eps("0.4"), account)
        left, right = yield Open(Cost.pure("0.4"), parts=2)
        a, b = yield Ask(Sevens(), eps("0.4"), left), Ask(Sevens(), eps("0.4"), right)
        return a.value + b.value

    assert Desk(People(), ledger, Random(), "add_remove").run(procedure()) == 14
    assert ledger.remaining().epsilon == Fraction(1, 10)
    kinds = ["open", "step", "step", "store", "store", "open", "draw", "draw", "store", "store"]
    assert [e.kind for e in ledger.events()] == kinds
    assert ledger.verify() == 10


def test_a_test_ledger_keeps_what_a_seed_made() -> None:
    with Ledger("test") as ledger:
        desk = Desk(People(), ledger, Random(seed=1), "add_remove")
        ask = Ask(Sevens(), Plain(1, "nothing"))
        desk.answer((ask, ask))
        assert not ledger.recall(ask, People(), ledger.relation).private
        assert [e.kind for e in ledger.events()] == ["charge", "store"], "the same twice in one batch is one question"
        assert ledger.verify() == 2


def test_a_cap_is_held_against_the_price_in_rationals() -> None:
    """A cap beyond what is paid by less than a double can tell is refused; one that implies it, by any route, is taken."""
    paid = replace(Cost.pure(2), epsilon=Fraction(1))
    inside = Cost.pure(1)
    hair = Fraction(1, 10**30)
    implies(inside, paid)
    for cap in (replace(inside, epsilon=1 + hair), replace(inside, epsilon=None)):
        with pytest.raises(InvalidRequest, match="imply"):
            implies(cap, paid)
    rho = zcdp_within(1, "1e-6")
    cap = Cost.zcdp(rho)
    spent = replace(cap.padded(), epsilon=Fraction(1), delta=Fraction(1, 10**6))
    implies(cap, spent)
    least = Fraction(epsilon(cap.padded(), Fraction(1, 10**6)))
    implies(cap, replace(spent, epsilon=least))
    lower = replace(spent, curve=(*cap.curve[:-1], cap.curve[-1]))  # without what ``<=`` will allow draws beyond the cap
    less = (replace(spent, epsilon=least - hair), replace(spent, delta=Fraction(0)), replace(spent, rho=rho - hair), lower)
    for price in less:
        with pytest.raises(InvalidRequest, match="imply"):
            implies(cap, price)


def test_verify_decides_again_whether_a_cap_implies_its_price(file: str, tmp_path: Path) -> None:
    """Someone who may write to the database raises the cap of an opening and writes every hash and total anew."""
    with Ledger(file, Budget(epsilon=1)) as ledger:
        ledger.open(Open(Cost.pure("0.1"), parts=2), "add_remove")
        assert ledger.verify() == 1
    with closing(sqlite3.connect(tmp_path / "ledger.db")) as forger, forger:
        forger.row_factory = sqlite3.Row
        row = dict(forger.execute("SELECT * FROM discreet_events").fetchone())
        row["terms"] = Terms(Cost.pure("0.9"), 2).to_json()
        forger.execute("UPDATE discreet_events SET terms = ?, hash = ?", (row["terms"], hash_of(row)))
        forger.execute("UPDATE discreet_ledgers SET head = ?", (hash_of(row),))
    (tmp_path / "ledger.db.head").unlink()  # and leaves no other trace
    with Ledger(file) as ledger, pytest.raises(LedgerCorrupt, match=r"event 1 should never have been written: .*imply"):
        ledger.verify()
