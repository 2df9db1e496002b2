"""Many processes and threads on one budget, forks, and processes killed at any moment."""

from __future__ import annotations

import multiprocessing
import os
import random
import signal
import threading
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from multiprocessing.process import BaseProcess
from multiprocessing.queues import Queue
from multiprocessing.synchronize import Barrier
from pathlib import Path
from typing import Any

import pytest

from discreet.core.ask import Ask, Open
from discreet.core.budget import Budget
from discreet.core.cost import Cost
from discreet.core.random import Random
from discreet.core.runner import Desk
from discreet.errors import BudgetExceeded, LedgerUnavailable, Withheld
from discreet.ledger import Ledger

from .laws import People, Sevens, eps

Make = Callable[..., Ledger]

# Real processes that do not share this one's memory, started quickly because their parent has imported us already.
_processes = multiprocessing.get_context("forkserver")
_processes.set_forkserver_preload([__name__])


def _spend(ledger: Ledger, times: int) -> int:
    accepted = 0
    for _ in range(times):
        try:
            ledger.charge(eps("0.001"), 1, "a race")
            accepted += 1
        except BudgetExceeded:
            pass
    return accepted


def _racer(url: str, start: Barrier, accepted: Queue[int]) -> None:
    start.wait(60)
    with Ledger(url, Budget(epsilon=1)) as ledger:  # all of them also race to create it
        accepted.put(_spend(ledger, 250))


def test_eight_processes_cannot_overspend(url: str) -> None:
    """2,000 charges of 0.001 on a budget of 1: exactly 1,000 are accepted, whoever they belong to."""
    start, accepted = _processes.Barrier(8), _processes.Queue()
    racers = [_processes.Process(target=_racer, args=(url, start, accepted)) for _ in range(8)]
    for racer in racers:
        racer.start()
    counts = [accepted.get(timeout=120) for _ in racers]
    for racer in racers:
        racer.join()
    assert sum(counts) == 1000
    with Ledger(url) as ledger:
        assert ledger.spent().epsilon == 1
        assert ledger.verify() == 1000
        assert len({e.number for e in ledger.events()}) == 1000


def test_eight_threads_cannot_overspend(make: Make) -> None:
    ledger, counts = make(Budget(epsilon="0.1")), []
    threads = [threading.Thread(target=lambda: counts.append(_spend(ledger, 25))) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sum(counts) == ledger.verify() == 100


def _fork(work: Callable[[], Any]) -> int:
    """Run ``work`` in a forked child and return its exit status."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # threads of numerical libraries are idle here
        warnings.simplefilter("ignore", RuntimeWarning)  # and so are those of JAX, where another test loaded it
        child = os.fork()
    if child == 0:
        status = 1
        try:
            work()
            status = 0
        finally:
            os._exit(status)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def test_a_forked_child_and_its_parent_share_one_budget(make: Make) -> None:
    ledger = make(Budget(epsilon=1))
    ledger.charge(eps("0.1"))
    assert _fork(lambda: ledger.charge(eps("0.2"))) == 0
    ledger.charge(eps("0.3"))
    assert _fork(lambda: _fork(lambda: ledger.charge(eps("0.4")))) == 0
    with pytest.raises(BudgetExceeded):
        ledger.charge(eps("0.1"))
    assert ledger.verify() == 4


def test_steps_paid_ahead_serve_the_process_that_paid(make: Make) -> None:
    """A child that took what its parent has in hand would answer one entry twice, with two noises."""

    @dataclass(frozen=True)
    class Everybody(People):
        def sample(self, rate: Fraction, seed: Any) -> People:
            return self

    ledger = make(Budget(epsilon=1))
    desk = Desk(Everybody(), ledger, Random(), "add_remove")
    plan = Ask(Sevens("steps"), eps("0.1"), rate=Fraction(1, 2))
    (account,) = ledger.open(Open(Cost.pure("0.5"), plan=plan, steps=6), "add_remove")
    step = replace(plan, account=account, ahead=3)
    numbers = [desk.step(step).entry.number]
    reader, writer = os.pipe()
    assert _fork(lambda: os.write(writer, bytes([desk.step(replace(step, ahead=1)).entry.number]))) == 0
    numbers += os.read(reader, 1)
    numbers += [desk.step(step).entry.number, desk.step(step).entry.number]
    os.close(reader)
    os.close(writer)
    assert numbers == [2, 5, 3, 4]
    assert ledger.verify() == 5


def test_what_a_child_paid_stays_when_the_parent_closes_first(make: Make) -> None:
    """A connection carried across the fork would write to a log that the parent's closing removes."""
    ledger = make(Budget(epsilon=1))
    ledger.charge(eps("0.1"))
    reader, writer = os.pipe()

    def child() -> None:
        ledger.charge(eps("0.2"))
        os.read(reader, 1)
        ledger.charge(eps("0.3"))

    done: list[int] = []
    forked = threading.Thread(target=lambda: done.append(_fork(child)))
    forked.start()
    while ledger.verify() < 2:
        time.sleep(0.01)
    ledger.close()
    os.write(writer, b"x")
    forked.join()
    os.close(reader)
    os.close(writer)
    assert done == [0]
    again = make()
    assert again.spent().epsilon * 10 == 6
    assert again.verify() == 3


def test_forking_while_threads_charge_disturbs_nobody(make: Make) -> None:
    ledger = make(Budget(epsilon=1))
    counts: list[int] = []
    threads = [threading.Thread(target=lambda: counts.append(_spend(ledger, 40))) for _ in range(2)]
    for thread in threads:
        thread.start()
    children = [_fork(lambda: ledger.charge(eps("0.001"))) for _ in range(5)]
    for thread in threads:
        thread.join()
    assert children == [0] * 5
    assert sum(counts) + 5 == ledger.verify() == 85


def test_a_ledger_in_memory_is_not_copied_by_a_fork() -> None:
    with Ledger("sqlite://", Budget(epsilon=1)) as ledger:
        ledger.charge(eps("0.1"))

        def child() -> None:
            with pytest.raises(LedgerUnavailable, match="belongs to the process that made it"):
                ledger.charge(eps("0.1"))

        assert _fork(child) == 0
        assert ledger.charge(eps("0.1")).number == ledger.verify() == 2


def _asker(url: str, gate: str) -> None:
    with Ledger(url) as ledger:
        desk = Desk(People(), ledger, Random(), "add_remove")
        desk.answer((Ask(Sevens("killed", gate, 60), eps("0.3")),))


def _kill(process: BaseProcess) -> None:
    assert process.pid is not None
    os.kill(process.pid, signal.SIGKILL)
    process.join()


def test_killed_while_looking_the_charge_stands(make: Make, url: str, tmp_path: Path) -> None:
    ledger, gate = make(Budget(epsilon=1)), tmp_path / "looking"
    asker = _processes.Process(target=_asker, args=(url, str(gate)))
    asker.start()
    deadline = time.monotonic() + 60
    while not gate.exists() and time.monotonic() < deadline:
        time.sleep(0.005)
    _kill(asker)
    assert asker.exitcode == -signal.SIGKILL
    (event,) = ledger.events()
    assert (
        event.question == '{"gate":"' + str(gate) + '","name":"ledger test question","topic":"killed","wait":60,"width":1}'
    )
    assert ledger.spent().epsilon * 10 == 3
    assert ledger.unanswered() == [(1, "looked")]
    with pytest.raises(
        Withheld, match=r"entry 1 .* paid ε=0.3 .*Nothing more was charged.*discreet ledger redeem \S+ --name default 1"
    ):
        _asker(url, str(gate))
    ledger.charge(eps("0.7"))
    with pytest.raises(BudgetExceeded):
        ledger.charge(eps("0.1"))
    assert ledger.verify() == 2


def _charger(url: str, told: str) -> None:
    with Ledger(url) as ledger, open(told, "ab", buffering=0) as out:
        while True:
            ledger.charge(eps("0.0001"))
            out.write(b".")


def test_killed_at_random_times_nothing_acknowledged_is_lost(make: Make, url: str, tmp_path: Path) -> None:
    ledger, told = make(Budget(epsilon=1)), tmp_path / "told"
    told.touch()
    chance = random.Random(5)
    for own in range(1, 11):
        before = told.stat().st_size
        victim = _processes.Process(target=_charger, args=(url, str(told)))
        victim.start()
        deadline = time.monotonic() + 60
        while told.stat().st_size == before and time.monotonic() < deadline:
            time.sleep(0.001)
        time.sleep(chance.uniform(0, 0.02))
        _kill(victim)
        ledger.charge(eps("0.0001"))
        # Each of the victims so far may have died between its last commit and telling of it.
        assert told.stat().st_size + own <= ledger.verify() <= told.stat().st_size + 2 * own
