"""Pay, claim, mark, look, draw, store, hand out: what is answered, what is redeemed, and what is withheld."""

from __future__ import annotations

import math
import multiprocessing
import os
import signal
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

import pytest

from discreet.core.ask import Ask, Open
from discreet.core.budget import Budget
from discreet.core.mechanism import mechanisms
from discreet.core.query import queries
from discreet.core.random import Random
from discreet.core.release import Release
from discreet.core.runner import Bill, Desk
from discreet.errors import BudgetExceeded, InvalidRequest, LedgerUnavailable, Withheld
from discreet.ledger import Ledger, process_tally
from discreet.ledger.event_tables import all_pending
from discreet.ledger.outcomes import Outcome

from .laws import People, Plain, Sevens, eps

Make = Callable[..., Ledger]
ASK, OTHER = Ask(Sevens("a"), eps("0.3")), Ask(Sevens("b"), eps("0.3"))
_processes = multiprocessing.get_context("forkserver")


def bill(ask: Ask, version: str = "1") -> Bill:
    distance = ask.query.distance("add_remove")
    return Bill(ask, distance, ask.mechanism.cost(distance), People(version), repeats=True)


def answer(ledger: Ledger, *asks: Ask, version: str = "1") -> tuple[Release, ...]:
    return Desk(People(version), ledger, Random(), "add_remove").answer(asks)


def abandon(ledger: Ledger, *asks: Ask, looked: bool = False) -> None:
    """What a process that dies leaves: entries paid, perhaps marked, and no living claimant."""
    paid = ledger.buy([bill(ask) for ask in asks], "add_remove")
    if looked:
        ledger.look(paid)
    ledger.give_up(paid)


def test_what_was_paid_and_not_looked_for_is_redeemed_once(make: Make) -> None:
    ledger = make(Budget(epsilon="0.6"))
    abandon(ledger, ASK, OTHER)
    assert ledger.unanswered() == [(1, "paid"), (2, "paid")]
    first = answer(ledger, ASK, OTHER)
    assert [release.entry.number for release in first] == [1, 2]
    assert ledger.unanswered() == []
    assert [e.kind for e in ledger.events()] == ["charge", "charge", "store", "store"]
    assert [r.to_json() for r in answer(ledger, ASK, OTHER)] == [r.to_json() for r in first]
    assert str(ledger.spent()) == "ε=0.6"
    assert ledger.verify() == 4


def test_another_question_law_or_version_redeems_nothing(make: Make) -> None:
    ledger = make(Budget(epsilon="0.3"))
    abandon(ledger, ASK)
    for other, version in ((OTHER, "1"), (Ask(ASK.query, eps("0.2")), "1"), (ASK, "2")):
        with pytest.raises(BudgetExceeded):
            answer(ledger, other, version=version)
    assert ledger.unanswered() == [(1, "paid")]
    answer(ledger, ASK)


def test_what_was_looked_for_is_withheld_until_the_custodian_decides(make: Make) -> None:
    ledger = make(Budget(epsilon=1))
    abandon(ledger, ASK, looked=True)
    with pytest.raises(Withheld, match=r"entry 1 .* paid ε=0.3 .*redeem \S+ --name default 1\).*--forgo"):
        answer(ledger, ASK)
    with pytest.raises(InvalidRequest, match="entry 7"):
        ledger.redeem(7)
    assert str(ledger.redeem(1)) == "ε=0.3"
    assert answer(ledger, ASK)[0].entry.number == 1
    with pytest.raises(InvalidRequest, match="entry 1"):
        ledger.redeem(1)
    abandon(ledger, OTHER, looked=True)
    ledger.redeem(4, forgo=True)
    assert answer(ledger, OTHER)[0].entry.number == 6
    kinds = ["charge", "redeem", "store", "charge", "forgo", "charge", "store"]
    assert [e.kind for e in ledger.events()] == kinds
    assert str(ledger.spent()) == "ε=0.9"
    assert ledger.verify() == 7


def test_what_a_living_claimant_answers_is_waited_for(make: Make) -> None:
    ledger, other = make(Budget(epsilon=1)), make(timeout=0.05)
    paid = ledger.buy([bill(ASK)], "add_remove")
    for decided in (lambda: answer(other, ASK), lambda: other.redeem(1)):
        with pytest.raises((LedgerUnavailable, InvalidRequest), match="answered by"):
            decided()
    ledger.look(paid)
    made = Release(8, ASK.mechanism, ASK.query, "add_remove", bill(ASK).distance, paid[0].wanted.bill.cost, paid[0].entry)
    ledger.store(paid, [made])
    assert answer(other, ASK)[0].value == 8
    assert [e.kind for e in ledger.events()] == ["charge", "store"]


def test_a_claim_that_was_lost_cannot_store(make: Make) -> None:
    """A session that was cut off may have been followed by another claimant: what it drew is discarded."""
    ledger = make(Budget(epsilon=1))
    paid = ledger.buy([bill(ASK)], "add_remove")
    ledger.look(paid)
    made = Release(8, ASK.mechanism, ASK.query, "add_remove", bill(ASK).distance, paid[0].wanted.bill.cost, paid[0].entry)
    ledger.give_up(paid)
    ledger.redeem(1)
    with pytest.raises(Withheld):
        ledger.store(paid, [made])
    assert answer(ledger, ASK)[0].value == 7
    assert ledger.verify() == 3


def test_nothing_is_handed_out_that_was_not_stored(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    ledger = make(Budget(epsilon=1))
    kept = ledger._journal.database.work

    def full(*, write: bool, durable: bool = True, outcome: Outcome | None = None) -> Any:
        if outcome is not None and "was not stored" in outcome.before:
            raise LedgerUnavailable(f"database or disk is full. {outcome.before}")
        return kept(write=write, durable=durable, outcome=outcome)

    monkeypatch.setattr(ledger._database, "work", full)
    with pytest.raises(LedgerUnavailable, match=r"not stored and is withheld; entry 1 \(ε=0.3\) stays paid"):
        answer(ledger, ASK)
    monkeypatch.undo()
    assert ledger.unanswered() == [(1, "looked")]
    assert ledger.recall(ASK, People(), "add_remove") is None
    with pytest.raises(Withheld):
        answer(ledger, ASK)


def test_what_is_handed_out_is_what_a_read_of_the_store_returns(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    ledger = make(Budget(epsilon=1))
    find = type(ledger._journal).find_release

    def other(self: Any, work: Any, key: str, *known: Any) -> Any:
        found = find(self, work, key, *known)
        return None if found is None else found._replace(document=found.document.replace('"value": 7', '"value": 9'))

    monkeypatch.setattr(type(ledger._journal), "find_release", other)
    assert answer(ledger, ASK)[0].value == 9


@dataclass(frozen=True)
class Interrupted(Sevens):
    """Sends this process a signal while it looks."""

    name: ClassVar[str] = "ledger test interrupt"
    number: int = signal.SIGINT

    def evaluate(self, source: Any) -> Any:
        os.kill(os.getpid(), self.number)
        time.sleep(0.05)
        return 7


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_waits_for_the_answer_to_be_stored(
    make: Make, number: int, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(queries._known, Interrupted.name, Interrupted)
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    process_tally.clear()
    try:
        ledger, ask = make(Budget(epsilon=1)), Ask(Interrupted(number=number), eps("0.3"))
        with pytest.raises(KeyboardInterrupt):
            answer(ledger, ask)
    finally:
        signal.signal(signal.SIGTERM, before)
    assert "stopping once the answer that is paid for is stored" in capfd.readouterr().err
    assert process_tally.in_words() == "ε=0.3 was charged; every answer is stored: asking the same again is free"
    assert ledger.recall(ask, People(), "add_remove").value == 7
    assert ledger.unanswered() == []


@pytest.mark.parametrize("moment", ["discreet.ledger.process_tally.paid", "discreet.core.runner.deferred"])
def test_an_interrupt_right_after_the_charge_leaves_no_claim_behind(
    make: Make, moment: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The process lives on, as in a notebook: its own claim must not keep the question from being redeemed."""

    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    ledger = make(Budget(epsilon="0.6"), timeout=0.2)
    with monkeypatch.context() as patch:
        patch.setattr(moment, interrupted)
        with pytest.raises(KeyboardInterrupt):
            answer(ledger, ASK, OTHER)
    assert ledger.unanswered() == [(1, "paid"), (2, "paid")]
    with ledger._database.transaction(write=False) as connection:  # nor for other processes, while this one lives
        assert [row.holder for row in connection.execute(all_pending, {"of_ledger": 1})] == [0, 0]
    assert [release.entry.number for release in answer(ledger, ASK, OTHER)] == [1, 2]


class Deaf:
    """A standard error that cannot be written to: its reader is gone."""

    def write(self, text: str) -> int:
        raise BrokenPipeError("nobody reads")


@pytest.mark.parametrize("stream", [None, Deaf()])
def test_a_signal_that_cannot_be_told_of_waits_all_the_same(file: str, stream: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where standard error is gone, the note that a signal waits must not become an error between look and store."""
    monkeypatch.setitem(queries._known, Interrupted.name, Interrupted)
    with Ledger(file, Budget(epsilon=1)) as ledger:
        ask = Ask(Interrupted(), eps("0.3"))
        with monkeypatch.context() as patch:
            patch.setattr("sys.stderr", stream)
            with pytest.raises(KeyboardInterrupt):
                answer(ledger, ask)
        assert ledger.unanswered() == []
        assert ledger.recall(ask, People(), "add_remove").value == 7


def test_in_another_thread_nothing_is_held_back(make: Make) -> None:
    found: list[Release] = []
    ledger = make(Budget(epsilon=1))
    thread = threading.Thread(target=lambda: found.extend(answer(ledger, ASK)))
    thread.start()
    thread.join()
    assert found[0].value == 7


def test_an_error_while_looking_withholds_and_says_so(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    ledger = make(Budget(epsilon=1))
    process_tally.clear()
    monkeypatch.setattr(Sevens, "evaluate", lambda self, source: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        answer(ledger, ASK)
    assert process_tally.in_words().startswith("ε=0.3 was charged; entry 1 was looked for and not answered: it is withheld")
    assert ledger.unanswered() == [(1, "looked")]
    monkeypatch.undo()
    ledger.redeem(1)
    assert answer(ledger, ASK)[0].value == 7


def test_a_stopped_run_says_whether_its_account_serves_again(make: Make) -> None:
    """The steps of a plan are taken up again from a checkpoint; people cut into parts are cut anew."""
    ledger, cost = make(Budget(epsilon=1)), ASK.mechanism.cost(1)
    for opened, words in (
        (Open(cost, plan=ASK, steps=2), "a run with a checkpoint goes on with them"),
        (Open(cost, parts=2), "running it again pays again"),
    ):
        process_tally.clear()
        ledger.open(opened, "add_remove")
        assert words in process_tally.in_words()
        assert ("checkpoint" in process_tally.in_words()) == (opened.plan is not None)
    process_tally.clear()


@pytest.mark.parametrize("begun", [False, True])
def test_an_interrupt_around_the_beginning_of_a_transaction_leaves_none_open(file: str, begun: bool) -> None:
    """Between BEGIN and what follows it a transaction once stayed open, and every later question failed."""

    class Interrupted:
        def __init__(self, raw: Any) -> None:
            self.connection = self.dbapi_connection = self
            self.raw = raw

        def execute(self, text: str, *given: Any) -> Any:
            if not text.startswith("BEGIN"):
                return self.raw.execute(text, *given)
            if begun:
                self.raw.execute(text, *given)
            raise KeyboardInterrupt

        def __getattr__(self, name: str) -> Any:
            return getattr(self.raw, name)

    ask = Ask(Sevens("a"), eps("0.1"))
    with Ledger(file, Budget(epsilon=1)) as ledger:
        database = ledger._database
        real = database._connected
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(database, "_connected", lambda *outcome: Interrupted(real(*outcome).connection.dbapi_connection))
            with pytest.raises(KeyboardInterrupt):
                answer(ledger, ask)
        assert not real().connection.dbapi_connection.in_transaction
        assert answer(ledger, ask)[0].value == 7
        assert ledger.verify() == 2


class Slow(Plain):
    """Discrete Laplace noise whose drawing takes as many milliseconds as it is large: what an attacker hopes for."""

    noise: ClassVar[list[int]] = []

    def release(self, exact: Any, *, seed: Any = None) -> Any:
        drawn = self.noise.pop(0)
        time.sleep(abs(drawn) / 1000)
        return exact + drawn


def test_an_interrupt_at_a_chosen_time_gains_nothing(file: str) -> None:
    """An analyst interrupts after c = 30 ms and asks again until an answer comes: noise must not become smaller by it.

    Eleven draws, of which those above 30 would take longer than c; the attack succeeds if any of them is drawn a second
    time. Deterministic: no false alarms.
    """
    law = Slow(10, "pure")
    with Ledger(file, Budget(epsilon=100)) as ledger:
        for place, size in enumerate([0, 50, 5, 80, 45, 1, 60, 2, 90, 55, 3]):
            law.noise[:] = [size, 0, 0]  # a second draw would be the exact answer
            ask = Ask(Sevens(f"attack {place}"), law)
            timer = threading.Timer(0.03, os.kill, (os.getpid(), signal.SIGINT))
            timer.start()
            try:
                answer(ledger, ask)
                timer.join()
                time.sleep(1)  # the signal was sent, and comes now at the latest
            except KeyboardInterrupt:
                timer.join()
            assert answer(ledger, ask)[0].value == 7 + size
        assert ledger.unanswered() == []
        assert ledger.verify() == 22


def test_what_the_attack_would_gain(file: str) -> None:
    """Where a redrawn answer is free the divergence is .21 at c = 1, ε = 1 (and all of it at c = 0): enumerated."""
    p = math.exp(-1)
    law = {k: (1 - p) / (1 + p) * p ** abs(k) for k in range(-60, 61)}

    def quick(c: int) -> dict[int, float]:
        kept = {k: v for k, v in law.items() if abs(k) <= c}
        return {k: v / sum(kept.values()) for k, v in kept.items()}

    def stick(of: dict[int, float]) -> float:
        return sum(max(0.0, v - math.e * of.get(k - 1, 0.0)) for k, v in of.items())

    assert stick(law) < 1e-12
    assert round(stick(quick(1)), 2) == 0.21
    assert stick(quick(0)) == 1


def _die_paid(url: str, looked: bool) -> None:
    ledger = Ledger(url)
    paid = ledger.buy([bill(ASK)], "add_remove")
    if looked:
        ledger.look(paid)
    os.kill(os.getpid(), signal.SIGKILL)


@pytest.mark.parametrize("looked", [False, True])
def test_the_claim_of_a_killed_process_dies_with_it(make: Make, url: str, looked: bool) -> None:
    ledger = make(Budget(epsilon="0.3"), timeout=60)
    victim = _processes.Process(target=_die_paid, args=(url, looked))
    victim.start()
    victim.join()
    if looked:
        with pytest.raises(Withheld):
            answer(ledger, ASK)
        ledger.redeem(1)
    assert answer(ledger, ASK)[0].entry.number == 1
    assert ledger.verify() == 2 + looked


def _redeem(url: str, start: Any, found: Any) -> None:
    mechanisms._known[Plain.name], queries._known[Sevens.name] = Plain, Sevens
    with Ledger(url, timeout=60) as ledger:
        start.wait(60)
        found.put([release.to_json() for release in answer(ledger, ASK, OTHER)])


def test_two_processes_redeem_once(make: Make, url: str) -> None:
    """For a batch; the budget is spent, so a second payment would be refused."""
    ledger = make(Budget(epsilon="0.6"))
    abandon(ledger, ASK, OTHER)
    start, found = _processes.Barrier(2), _processes.Queue()
    racers = [_processes.Process(target=_redeem, args=(url, start, found)) for _ in range(2)]
    for racer in racers:
        racer.start()
    one, two = found.get(timeout=60), found.get(timeout=60)
    for racer in racers:
        racer.join()
    assert one == two
    assert [e.kind for e in ledger.events()] == ["charge", "charge", "store", "store"]
    assert ledger.verify() == 4


def test_a_query_that_its_document_does_not_describe_is_stored_and_never_recalled(make: Make) -> None:
    ledger = make(Budget(epsilon=1))
    desk = Desk(People(), ledger, Random(), "add_remove")
    paid = ledger.buy([bill(ASK)._replace(repeats=False)], "add_remove")
    assert ledger.unanswered() == []
    made = Release(7, ASK.mechanism, ASK.query, "add_remove", bill(ASK).distance, paid[0].wanted.bill.cost, paid[0].entry)
    assert ledger.store(paid, [made]) == [made]
    assert ledger.recall(ASK, People(), "add_remove") is None
    assert desk.answer((ASK,))[0].entry.number == 3
    assert ledger.verify() == 4


def test_the_key_in_the_ledger_tells_nothing_of_the_version(file: str, tmp_path: Path) -> None:
    from discreet.ledger.events import canonical, digest

    with Ledger(file, Budget(epsilon=1)) as ledger:
        answer(ledger, ASK, version="/home/ada/patients.csv 1234 2026-01-01")
        written = {e.key for e in ledger.events() if e.key} | {e.question for e in ledger.events()}
        plain = digest(canonical([ASK.question, "add_remove", "/home/ada/patients.csv 1234 2026-01-01"]))
    assert not any(plain in text for text in written)
    assert not any(plain.encode() in path.read_bytes() for path in tmp_path.iterdir())
    assert (tmp_path / "ledger.db.key").stat().st_mode & 0o777 == 0o600
    assert (tmp_path / "ledger.db.head").stat().st_mode & 0o777 == 0o600


def test_release_of_another_kind_is_refused_by_type(file: str) -> None:
    with Ledger(file, Budget(epsilon=1)) as ledger:
        paid = ledger.buy([bill(ASK)], "add_remove")
        with pytest.raises(InvalidRequest, match="only what it was paid for"):
            ledger.store([replace(paid[0], wanted=None)], [Release.of(ASK.mechanism, 1)])


def test_ledgers_of_one_name_in_two_databases_do_not_meet(tmp_path: Path) -> None:
    """Threads that pay at three ledgers of one name at once: each has its own books, and nothing is mixed up."""
    import threading

    import discreet as ds

    schema, table = ds.Schema({"x": ds.Real(0, 1)}), {"x": [0.5] * 10}
    problems: list[BaseException] = []

    def many(folder: str) -> None:
        (tmp_path / folder).mkdir()
        url = f"sqlite:///{tmp_path / folder}/ledger.db"
        session = ds.Session(table, schema, ds.Budget(epsilon=10), url, version="1")
        try:
            for i in range(1, 40):
                session.sum("x", epsilon=f"0.0{i:03d}")
        except BaseException as problem:
            problems.append(problem)
        session.ledger.close()

    threads = [threading.Thread(target=many, args=(name,)) for name in ("a", "b", "c")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not problems
