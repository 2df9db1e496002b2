"""Shares of a ledger: caps hold in the payment's own transaction, and only one's own past makes a question free."""

from __future__ import annotations

import threading
from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest

import discreet as ds
from discreet.core.ask import Account, Ask, Open
from discreet.core.cost import Cost
from discreet.core.price import Price
from discreet.core.random import system
from discreet.core.runner import Desk
from discreet.errors import AccountClosed, BudgetExceeded, InvalidRequest
from discreet.ledger import Ledger
from discreet.mechanisms import Laplace
from discreet.sources import open_source
from discreet.statistics.joint import ask
from discreet.statistics.question import Table, build

SCHEMA = ds.Schema({"x": ds.Real(0, 1)})
TABLE = open_source({"x": np.linspace(0, 1, 50)}, SCHEMA, version="1")


def put(ledger: Ledger, lo: float = 0.0, epsilon: str = "0.1") -> ds.Release:
    """The sum of x, with noise of its own for each ``lo``."""
    question = build("histogram", Table(SCHEMA), "x", bins=[lo, 1.0])
    procedure = ask(question, Price(epsilon), "add_remove")
    return Desk(TABLE, ledger, system(), "add_remove").run(procedure).releases[0]


def kinds(ledger: Ledger) -> list[str]:
    return [event.kind for event in ledger.events() if event.kind != "store"]


def test_a_cap_is_exact_and_others_have_theirs(make: Callable[..., Ledger]) -> None:
    book = make(ds.Budget(epsilon=2))
    mine, theirs = (book.drawing(book.reserve(Cost.pure(1), name), name) for name in ("ann", "bob"))
    for number in range(10):
        put(mine, number / 100)
    with pytest.raises(BudgetExceeded, match="capped"):
        put(mine, 0.5)
    put(mine, 0.0)  # asked before: free
    assert mine.spent().epsilon == 1
    assert (theirs.remaining() or pytest.fail("a limit")).epsilon == 1
    assert not mine.preview(Cost.pure("0.01")).fits
    assert theirs.preview(Cost.pure(1)).fits
    with pytest.raises(BudgetExceeded):
        put(book, 0.7)  # all of the budget is allotted
    assert book.verify()


def test_a_share_pays_by_hand_too_and_does_nothing_of_the_custodians(make: Callable[..., Ledger]) -> None:
    """A charge by hand went past the cap, to the ledger itself."""
    book = make(ds.Budget(epsilon=1))
    account = book.reserve(Cost.pure("0.5"), "ann")
    mine = book.drawing(account, "ann")
    mine.charge(Laplace(scale=5), 1, "by hand")
    with pytest.raises(BudgetExceeded, match="capped"):
        mine.charge(Laplace(scale=2), 1, "by hand")
    for act in (lambda: mine.reserve(Cost.pure("0.1"), ""), lambda: mine.cancel(account), lambda: mine.redeem(1)):
        with pytest.raises(InvalidRequest, match="ask the custodian"):
            act()
    assert str(mine.spent()) == "ε=0.2"
    assert str(book.spent()) == "ε=0.5"
    assert book.verify() == 2


def test_what_somebody_else_asked_is_not_cheaper_and_costs_the_people_nothing(make: Callable[..., Ledger]) -> None:
    book = make(ds.Budget(epsilon=3))
    first, second = book.reserve(Cost.pure(1), "ann"), book.reserve(Cost.pure(1), "bob")
    ann, bob = book.drawing(first, "ann"), book.drawing(second, "bob")
    told, again = put(ann), put(bob)
    assert told.value == again.value
    assert kinds(book) == ["reserve", "reserve", "draw", "use"]
    assert ann.spent() == bob.spent()
    assert put(bob).value == told.value
    assert kinds(book)[-1] == "use"  # the third time is free
    put(bob, 0.5)
    book.cancel(second)
    book.cancel(first)
    assert book.spent().epsilon == Fraction(2, 10)  # two releases, whoever used them
    assert book.verify()


def test_what_was_paid_and_not_looked_for_is_answered_once(
    make: Callable[..., Ledger], monkeypatch: pytest.MonkeyPatch
) -> None:
    book = make(ds.Budget(epsilon=3))
    ann, bob = (book.drawing(book.reserve(Cost.pure(1), name), name) for name in ("ann", "bob"))
    monkeypatch.setattr(Ledger, "look", lambda self, paid: (_ for _ in ()).throw(RuntimeError("died")))
    with pytest.raises(RuntimeError):
        put(ann)
    monkeypatch.undo()
    told = put(bob)  # redeems what ann paid, and pays for the use of it
    assert put(ann).value == told.value
    assert ann.spent() == bob.spent() == Cost.pure("0.1")
    assert kinds(book)[-2:] == ["draw", "use"]
    assert book.verify()


def test_an_account_is_opened_by_a_share(make: Callable[..., Ledger]) -> None:
    book = make(ds.Budget(epsilon=2))
    share = book.reserve(Cost.pure(1), "ann")
    ann = book.drawing(share, "ann")
    query = build("count", Table(SCHEMA)).query
    law = Laplace(10)
    (account,) = ann.open(Open(Cost.pure("0.6"), Ask(query, law), steps=2), "add_remove")
    entries = ann.pay([(Ask(query, law, account), query.distance("add_remove"), law.cost(1))] * 2, "add_remove")
    assert len(entries) == 2
    with pytest.raises(BudgetExceeded):
        ann.open(Open(Cost.pure("0.6"), parts=3), "add_remove")
    ann.open(Open(Cost.pure("0.3"), parts=3), "add_remove")
    assert ann.spent().epsilon == Fraction(9, 10)
    assert book.spent().epsilon == 1
    book.cancel(share)
    assert book.spent().epsilon == Fraction(9, 10)
    for gone in (lambda: put(ann, 0.25), lambda: ann.open(Open(Cost.pure("0.01"), parts=2), "add_remove")):
        with pytest.raises(AccountClosed):
            gone()
    assert book.verify()


def test_a_share_may_be_a_bare_statement(make: Callable[..., Ledger]) -> None:
    """An (epsilon, delta) cap says nothing of rho: under one that did, every Gaussian draw would be refused."""
    book = make(ds.Budget(epsilon=2, delta="1e-5"))
    bare = Cost(Fraction(1), Fraction(1, 10**6), None, Fraction(1, 10**6), (float("inf"),) * len(Cost.nothing().curve))
    ann = book.drawing(book.reserve(bare, "ann"), "ann")
    question = build("sum", Table(SCHEMA, gaussian=True), "x")
    procedure = ask(question, Price("0.5", "1e-7"), "add_remove")
    Desk(TABLE, ann, system(), "add_remove").run(procedure)
    assert ann.spent().epsilon == Fraction(1, 2)
    assert book.verify()


def test_races_for_one_cap(make: Callable[..., Ledger]) -> None:
    """Eight threads of one person and four of another: exactly what the caps hold, whoever comes first."""
    book = make(ds.Budget(epsilon=3))
    caps = {"ann": (book.reserve(Cost.pure(1), "ann"), 8), "bob": (book.reserve(Cost.pure(2), "bob"), 4)}
    done: list[str] = []

    def ask_many(name: str, account: Account, thread: int) -> None:
        share = book.drawing(account, name)
        for number in range(6):
            try:
                put(share, (thread * 6 + number + (100 if name == "bob" else 0)) / 1000)
                done.append(name)
            except BudgetExceeded:
                pass

    threads = [threading.Thread(target=ask_many, args=(n, a, t)) for n, (a, k) in caps.items() for t in range(k)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (done.count("ann"), done.count("bob")) == (10, 20)
    assert book.spent().epsilon == 3
    assert book.verify()
