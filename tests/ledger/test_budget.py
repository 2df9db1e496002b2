"""What fits a budget is accepted, what does not is refused, and a refusal leaves no trace."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.accounting.conversions import epsilon
from discreet.core.budget import Budget
from discreet.core.cost import Cost
from discreet.errors import BudgetExceeded, InvalidRequest, LedgerUnavailable, NotPrivate, RelationMismatch
from discreet.ledger import Ledger

from .laws import Plain, eps

Make = Callable[..., Ledger]


def test_a_tenth_fits_ten_times_and_not_eleven(make: Make) -> None:
    ledger = make(Budget(epsilon=1))
    numbers = [ledger.charge(Plain(10), 1.0, "how many").number for _ in range(10)]
    assert numbers == list(range(1, 11))
    assert ledger.spent().epsilon == 1
    assert ledger.remaining().epsilon == 0
    head = ledger.head
    with pytest.raises(BudgetExceeded, match=r"budget of ε=1: 'once more' asks for ε=0.1, and ε=0 is left; ask for less"):
        ledger.charge(Plain(10), 1.0, "once more")
    with pytest.raises(BudgetExceeded):
        ledger.charge(eps("1e-300"))
    assert ledger.head == head
    assert ledger.verify() == 10


def test_an_event_tells_what_was_asked(make: Make) -> None:
    with make(Budget(epsilon=1), who="ada") as ledger:
        entry = ledger.charge(Plain(10), 0.5, "mean age, in years")
        (event,) = ledger.events()
    assert (event.number, event.hash, entry.ledger) == (entry.number, entry.hash, "default")
    assert (event.who, event.kind, event.question) == ("ada", "charge", "mean age, in years")
    assert event.relation == "add_remove"
    assert event.cost == Cost.pure("1/20")
    doc = event.to_dict()
    assert doc["law"] == {"name": "ledger test law", "scale": "10", "kind": "pure"}
    assert doc["sensitivity"] == {"l1": "1/2", "l2": "1/2", "linf": "1/2"}
    assert doc["time"].endswith("+00:00")


def test_an_approximate_budget_adds_deltas_too(make: Make) -> None:
    ledger = make(Budget(epsilon=10, delta="3e-6"))
    for _ in range(3):
        ledger.charge(Plain(10, "approximate"))
    with pytest.raises(BudgetExceeded, match="δ=1e-06"):
        ledger.charge(Plain(10, "approximate"))
    ledger.charge(Plain(1))  # a pure one still fits
    with pytest.raises(BudgetExceeded, match="would not fit an unspent budget either"):
        ledger.charge(Plain(10, "zcdp"))
    assert ledger.verify() == 4


def test_a_concentrated_budget_adds_rho(make: Make) -> None:
    ledger = make(Budget(rho=1))
    for _ in range(4):
        ledger.charge(Plain(4, "zcdp"))
    with pytest.raises(BudgetExceeded):
        ledger.charge(eps("0.001"))
    assert ledger.remaining().rho == 0
    assert ledger.verify() == 4


def test_a_renyi_budget_takes_many_small_gaussian_questions_and_keeps_its_promise(make: Make) -> None:
    ledger = make(Budget(epsilon=1, delta="1e-6", composition="renyi"))
    count = 0
    while ledger.preview(Plain(2000, "zcdp")).fits:
        ledger.charge(Plain(2000, "zcdp"))
        count += 1
    with pytest.raises(BudgetExceeded):
        ledger.charge(Plain(2000, "zcdp"))
    assert 20 <= count < 1000
    assert epsilon(ledger.spent(), "1e-6") <= 1
    assert ledger.verify() == count


def test_preview_changes_nothing(make: Make) -> None:
    ledger = make(Budget(epsilon=1))
    head = ledger.head
    seen = ledger.preview(Plain(4), 2)
    assert seen.fits
    assert seen.remaining.epsilon == Fraction(1, 2)
    late = ledger.preview(Cost.pure("3/2"))
    assert not late.fits
    assert late.remaining.epsilon == 1
    assert ledger.head == head
    assert ledger.verify() == 0


@pytest.mark.parametrize("kind", ["nothing", "nan", "refund"])
def test_what_has_no_guarantee_is_refused(make: Make, kind: str) -> None:
    ledger = make(Budget(epsilon=1))
    expected = NotPrivate if kind == "nothing" else InvalidRequest
    with pytest.raises(expected):
        ledger.charge(Plain(1, kind))
    with pytest.raises(expected):
        ledger.reserve(Plain(1, kind).cost(), "aside")
    assert ledger.verify() == 0


@pytest.mark.parametrize("sensitivity", [-1, math.nan, math.inf, "x", [], True])
def test_a_bad_sensitivity_is_refused(make: Make, sensitivity: object) -> None:
    ledger = make(Budget(epsilon=1))
    with pytest.raises(InvalidRequest):
        ledger.charge(Plain(1), sensitivity)
    assert ledger.verify() == 0


@pytest.mark.parametrize("question", ["a\0b", "\ud800", 7])
def test_a_question_no_database_can_keep_is_refused(make: Make, question: object) -> None:
    ledger = make(Budget(epsilon=1))
    with pytest.raises(InvalidRequest):
        ledger.charge(Plain(10), 1, question)
    with pytest.raises(InvalidRequest, match="registered noise law"):
        ledger.charge("Laplace")
    assert ledger.charge(Plain(10), 1, "wie groß? 🙂").number == ledger.verify() == 1


@pytest.mark.parametrize("kept", ["add_remove", "replace", "both"])
def test_a_ledger_takes_its_own_relation_and_what_covers_it(make: Make, kept: str) -> None:
    ledger = make(Budget(epsilon=1), neighbors=kept)
    taken = 0
    for asked in ("add_remove", "replace", "both"):
        if asked in (kept, "both"):
            ledger.charge(Plain(10), relation=asked)
            taken += 1
        else:
            with pytest.raises(RelationMismatch, match=f"{kept}.*{asked}"):
                ledger.charge(Plain(10), relation=asked)
            with pytest.raises(RelationMismatch):
                ledger.pay([], asked)
    assert [e.relation for e in ledger.events()] == [r for r in ("add_remove", "replace", "both") if r in (kept, "both")]
    assert ledger.verify() == taken


def test_two_ledgers_in_one_database_are_independent(make: Make) -> None:
    a, b = make(Budget(epsilon=1), name="patients"), make(Budget(epsilon=2), name="staff", neighbors="replace")
    a.charge(Plain(1))
    with pytest.raises(BudgetExceeded):
        a.charge(Plain(1))
    assert [b.charge(Plain(1)).number for _ in range(2)] == [1, 2]
    assert (a.verify(), b.verify()) == (1, 2)
    assert a.head not in [e.hash for e in b.events()]


def test_a_test_ledger_allows_what_others_refuse() -> None:
    with Ledger("test") as free:
        free.charge(Plain(1, "nothing"))
        free.charge(Plain("1/1000"))
        assert free.test
        assert free.remaining() is None
        assert free.verify() == 2
    with Ledger("test", Budget(epsilon=1)) as bounded:
        bounded.charge(Plain(1))
        with pytest.raises(BudgetExceeded):
            bounded.charge(Plain(1))
        bounded.charge(Plain(1, "nothing"))
        assert bounded.verify() == 2


def test_a_closed_ledger_says_so(make: Make) -> None:
    ledger = make(Budget(epsilon=1))
    ledger.close()
    with pytest.raises(LedgerUnavailable, match="was closed; open it again"):
        ledger.charge(Plain(1))


@settings(max_examples=40, deadline=None)
@given(st.lists(st.fractions(0, 1, max_denominator=1000), max_size=12))
def test_accepted_exactly_when_the_exact_sum_fits(asked: list[Fraction]) -> None:
    total = Fraction(0)
    with Ledger("sqlite://", Budget(epsilon=1)) as ledger:
        for cost in asked:
            fits = total + cost <= 1
            assert ledger.preview(Cost.pure(cost)).fits == fits
            try:
                ledger.charge(Plain(1), cost)
            except BudgetExceeded:
                assert not fits
            else:
                assert fits
                total += cost
            assert ledger.spent().epsilon == total
        ledger.verify()
