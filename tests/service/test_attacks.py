"""Attacks on the service, in the order of the table in docs/how-to/service.md; each must fail."""

from __future__ import annotations

import ast
import contextlib
import inspect
import io
import json
import os
import shutil
import socket
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from fractions import Fraction
from importlib import import_module
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlsplit

import pytest

import discreet as ds
from discreet.core.ask import Account
from discreet.core.price import Price
from discreet.core.release import Release
from discreet.errors import BudgetExceeded, DiscreetError, UnsupportedFormat
from discreet.jobs.fit_file import KINDS, UNSUPERVISED, model_of
from discreet.ledger import keeping
from discreet.service import access_tokens, grants, run, signing, weights
from discreet.service import config as service_file
from discreet.service import hand as hand_process
from discreet.service.calls import Refused, json_reply
from discreet.service.counter import Counter
from discreet.service.desk import Office
from discreet.service.errands import Errands
from discreet.service.fair_lock import FairLock
from discreet.service.inbox import Inbox
from discreet.service.limits import Limits
from discreet.service.model_kinds import _FREE
from discreet.service.outbox import FINAL, WAITING, Identity, Outbox, Published
from discreet.service.remote_question import parse, price
from discreet.service.schedule import MARGIN, Waiting, schedule
from discreet.service.visitors import Rate
from discreet.service.wire import Wire, _refusal
from tests.patches import only_here

from . import twins
from .conftest import SCHEMA, Analyst, Clinic, Slots, body, make_clinic, mean, own_code, run_until, settle
from .hostile import ROWS
from .stand import Stand, standing


@pytest.fixture(scope="module")
def real(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Clinic, Office]]:
    """A service whose hand is a process, as it is when it runs: starting one takes seconds."""
    with pytest.MonkeyPatch.context() as patch:
        own_code(patch)
        clinic = make_clinic(tmp_path_factory.mktemp("real"), slot="0.5")
        with clinic.desk(Errands) as office:
            yield clinic, office


def test_01_colluders_pool_their_budgets(tmp_path: Path) -> None:
    """Ten analysts with eight threads each never pass the population's budget, whatever they were promised."""
    clinic = make_clinic(tmp_path, budget="{epsilon = 2}")
    people = [clinic.analyst(f"a{i}", "0.2") for i in range(10)]
    with clinic.custodian() as custodian, pytest.raises(BudgetExceeded):
        custodian.grant("a0", "patients", Price("0.1"))  # no overbooking: all is allotted
    with clinic.desk() as office:
        hand: Any = office.errands
        book = hand.hand.ledgers["clinic"]
        done: list[int] = []

        def ask(analyst: int, thread: int) -> None:
            order = {"account": shares[analyst].account, "analyst": shares[analyst].analyst, "rows": None}
            for number in range(2):
                text = body(mean("0.04", title=f"{thread} {number}", where={"sex": "f"} if number else {}, options={}))
                text = text.replace('"mean"', ['"mean"', '"sum"', '"variance"', '"std"'][thread % 4])
                done.append(hand.hand.answer({**order, "text": text})["state"] == "answered")

        shares = [office.outbox.grants(i + 1)[0] for i in range(10)]
        threads = [threading.Thread(target=ask, args=(a, t)) for a in range(10) for t in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert book.spent().epsilon == 2
        assert all(book.reserved(Account(s.account)).drawn.epsilon <= Fraction(1, 5) for s in shares)
        assert 0 < sum(done) < len(done)
        assert book.verify()
    assert len(people) == 10


def test_02_an_analyst_races_his_own_cap(clinic: Clinic) -> None:
    """64 at once: the drawn sum is exactly the cap."""
    clinic.analyst("ann", "0.5")
    with clinic.desk() as office:
        hand: Any = office.errands
        (share,) = office.outbox.grants()
        words: list[str] = []

        def ask(number: int) -> None:
            asked = mean("0.05", statistic="histogram", options={"bins": 2 + number})
            order = {"account": share.account, "analyst": share.analyst, "rows": None, "text": body(asked)}
            words.append(hand.hand.answer(order)["state"])

        threads = [threading.Thread(target=ask, args=(n,)) for n in range(64)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert sorted(words) == ["answered"] * 10 + ["refused_cap"] * 54
        held = hand.hand.ledgers["clinic"].reserved(Account(share.account))
        assert held.drawn.epsilon == Fraction(1, 2)


def test_03_a_failing_job_is_not_free(tmp_path: Path) -> None:
    """A desk and its hand are killed after a payment and after a look: both are paid, and what was looked for is withheld.

    ``study.service_kills`` does it at every point of a request's life.
    """
    from study.service_kills import POINTS, killed

    chosen = [point for point in POINTS if (point.call, point.when) in {("Ledger.buy", "after"), ("Desk._look", "after")}]
    found = killed(tmp_path, chosen, seed=3, requests=2)
    assert found == {"reached": 2, "asked": 4, "answered": 3, "withheld": 1} | dict.fromkeys(
        ("unpaid", "looked_twice", "lost", "not_withheld"), 0
    )


def test_04_a_new_version_view_or_filter_resets_nothing(clinic: Clinic) -> None:
    ann = clinic.analyst("ann", "0.3")
    with clinic.desk() as office:
        assert settle(office, ann.submit(mean("0.2"))) == ["answered"]
    clinic.edit('version = "1"', 'version = "2"')
    view = (clinic.folder / "serve.toml").read_text().partition("[table.patients]")[2]
    (clinic.folder / "serve.toml").write_text((clinic.folder / "serve.toml").read_text() + "[table.view]" + view)
    with clinic.desk() as office:
        refs = [ann.submit(mean("0.2")), ann.submit(mean("0.2", where={"sex": "f"}))]
        assert settle(office, *refs) == ["refused_cap"] * 2  # the same question of a new version is a new question
        with pytest.raises(BudgetExceeded), clinic.custodian() as custodian:
            custodian.grant("ann", "view", Price("9.8"))  # and another view has no budget of its own
        assert office.ledgers["clinic"].spent().epsilon == Fraction(3, 10)


def test_05_and_11_no_count_and_no_error_tells_of_the_table(tmp_path: Path, helpers: Any) -> None:
    """The twin test: neighbouring, full and empty tables, one script; ``study.service_twins`` makes 500 calls."""
    made, found = twins.differences(tmp_path, helpers, 24)
    assert made == 24
    assert not found, found[0]


def test_06_the_difference_of_two_filters_is_paid_twice_and_noisy(clinic: Clinic) -> None:
    """All but one, subtracted from all, ten times: both are paid, and their noises are apart.

    Two noises of scale 20 are the same with a probability of about 1/80, so all ten pairs once in 10^19 runs.
    """
    ann = clinic.analyst("ann", 2)
    count = {"statistic": "count", "epsilon": "0.05"}
    others = "age != 37 or bmi != 23"
    pairs = [[f"age >= {n}", f"age >= {n} and ({others})"] for n in range(10)]
    with clinic.desk() as office:
        ref = ann.submit(*[{**count, "where": where} for pair in pairs for where in pair])
        assert settle(office, ref) == ["answered"]
        answer = ann.answer(ref)
        assert answer is not None
        releases = [Release.from_dict(doc) for doc in answer.document["releases"]]
        assert office.outbox.grants()[0].spent["epsilon"] == "1"
    assert {r.mechanism.to_dict()["scale"] for r in releases} == {"20"}
    assert len({str(r.where) for r in releases}) == 20
    left = [int(all_of.value) - int(but_one.value) for all_of, but_one in zip(releases[::2], releases[1::2], strict=True)]
    assert set(left) != {1}  # the record itself


def test_07_repeats_are_one_draw(clinic: Clinic) -> None:
    """100 repeats in two requests and more are one value, paid once."""
    ann = clinic.analyst("ann", "0.1")
    clinic.edit("one_user = true", "one_user = true\n[limits]\nasks = 50")
    with clinic.desk() as office:
        refs = [ann.submit(*[mean("0.1")] * 50) for _ in range(2)]
        assert settle(office, *refs) == ["answered"] * 2
        values = {
            json.dumps(r["value"]) for ref in refs for r in (ann.answer(ref) or pytest.fail("none")).document["releases"]
        }
    assert len(values) == 1
    assert clinic.spent()["kinds"] == ["reserve", "draw"]


def test_08_replies_come_at_a_public_moment(stand: Stand, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not before ``due`` and a tenth of a second, which hides how long publishing took: an answer that is there is not seen.

    ``study.service_timing`` has the classifier.
    """
    caller = twins.Caller(stand.url, stand.token)
    sent = json.loads(caller.call("POST", "/v1/requests", body(mean()).encode()).body)
    got = caller.waited(sent["request"])
    assert time.time() >= got["due"] + 0.1
    caller.close()
    none: Any = None
    counter = Counter(Inbox(stand.boxes, write=False), Outbox(stand.boxes, write=False), Limits(), none, none)
    seen = []
    for after in (-0.001, 0.001, 0.099, 0.101):
        only_here(monkeypatch, time, "time", lambda moment=got["due"] + after: moment)
        view = counter.own(Identity(1, 1, "analyst 1"), sent["request"])
        (listed,) = [each.state for each in counter.history(Identity(1, 1, "analyst 1")) if each.sent.ref == sent["request"]]
        seen.append((view.state, listed, view.answer is None))
    assert seen == [("scheduled", "scheduled", True)] * 3 + [("answered", "answered", False)]
    counter.inbox.close()
    counter.outbox.close()


def test_08_what_is_seen_at_every_moment_is_the_same_for_every_table(tmp_path: Path) -> None:
    """Full, empty, and a hand that takes no time or all of it: after every slot the same requests are in the same state."""
    told = []
    for name, count in (("full", 500), ("empty", 0)):
        (tmp_path / name).mkdir()
        clinic = make_clinic(tmp_path / name, count=count)
        ann, bob = clinic.analyst("ann", 2), clinic.analyst("bob", 2)
        with clinic.desk() as office:
            office.clock = clock = Slots(float(office.config.slot))
            first, seen = clock(), []
            refs = [who.submit(mean("0.1", where=f"age > {n}"), *[mean()] * n) for n in range(4) for who in (ann, bob)]
            while len(office.outbox.states(refs)) < len(refs):
                office._take(clock())
            while not seen or {state for state, _ in seen[-1]} != {"answered"}:
                office.tick(clock.next())
                asked = office.outbox.states(refs)
                seen.append([(asked[r].state, round((asked[r].due or 0) - first, 6)) for r in refs])
            told.append(seen)
    assert told[0] == told[1]


def test_09_the_front_shares_no_work_with_the_hand(stand: Stand, monkeypatch: pytest.MonkeyPatch) -> None:
    """Cores apart, and a hand that is as busy with nothing to do; ``study.service_timing`` listens to the machine."""
    caller = twins.Caller(stand.url)
    assert len({caller.call("GET", "/health").body for _ in range(20)}) == 1
    caller.close()
    on: dict[str, list[int]] = {}

    class Ended:
        returncode = 0

        def poll(self) -> int:
            return 0

        def wait(self, _: float) -> int:
            return 0

        def send_signal(self, _: int) -> None:
            """It has ended."""

    def started(_: Path, part: str, cores: list[int]) -> Ended:
        on[part] = cores
        return Ended()

    monkeypatch.setattr(run, "_start", started)
    only_here(monkeypatch, os, "sched_getaffinity", lambda _: {0, 1, 2, 3})
    assert run.both(service_file.read(Path(stand.boxes).parent / "serve.toml")) == 0
    assert on == {"front": [0, 1], "desk": [2, 3]}


def test_09_a_hand_with_nothing_to_do_is_busy_until_its_turn_ends(clinic: Clinic, monkeypatch: pytest.MonkeyPatch) -> None:
    """It says that it is free after the end of its turn and not before, and sleeps at no time."""
    clinic.analyst("ann")
    only_here(monkeypatch, time, "sleep", lambda _: pytest.fail("it slept"))
    ends: list[float] = []

    def orders() -> Iterator[str]:
        ends.append(time.time() + 0.3)  # once the hand is ready, which takes longer than that
        yield json.dumps({"do": "answer", "requests": [], "end": ends[0]}) + "\n"

    given: Any = orders()
    out = io.StringIO()
    hand_process.serve(given, out, clinic.config)
    assert time.time() >= ends[0]
    assert [json.loads(line) for line in out.getvalue().splitlines()] == [{"ready": True}, {"free": True}]


def test_10_ones_own_load_provokes_no_overrun(clinic: Clinic) -> None:
    """A flood by one analyst waits in the public queue: turns go round, and none of another's is longer for it."""
    slot = Fraction(1, 4)
    flood = [Waiting(f"f{i:03}", 1, 0, 0.08) for i in range(100)]
    other = Waiting("o", 2, 3, 0.08)
    turns = {ref: turn for turn in schedule([*flood, other], slot) for ref in turn.refs}
    assert turns["o"].due - other.arrived <= 2
    assert all(turn.due - turn.start == 1 for turn in turns.values())
    flood_of, other_one = clinic.analyst("flood", 1), clinic.analyst("other", 1)
    with clinic.desk() as office:
        refs = [flood_of.submit(mean("0.01", where={"sex": "fm"[i % 2]})) for i in range(30)]
        while len(office.outbox.states(refs)) < len(refs):
            office._take(time.time())  # all of them, before the first has its turn
        states = [office.outbox.states(refs)[ref].state for ref in refs]
        assert states.count("denied") == 30 - office.config.limits.queued
        ref = other_one.submit(mean("0.02"))
        while not office.outbox.states([ref]):
            office._take(time.time())
        assert settle(office, ref) == ["answered"]
        assert [office.outbox.states(refs)[each].state for each in refs].count("answered") <= 3
    assert "overran" not in (clinic.folder / "private" / "desk.log").read_text()


def test_10_what_was_never_measured_delays_nobody_for_long(tmp_path: Path) -> None:
    """Measuring is a turn: one analyst's new classes come between the questions of others, and a vain one comes once."""
    clinic = make_clinic(tmp_path)
    clinic.edit("seconds = 0.01\n", "")
    ann, bob = clinic.analyst("ann", 5), clinic.analyst("bob", 5)
    with clinic.desk() as office:
        hand: Any = office.errands
        measured: list[str] = []
        real = hand.measure

        def measure(name: str, text: str, *rest: Any) -> None:
            measured.append(name)
            hand.times = (name, None if "median" in text else 0.001)

        hand.measure = measure
        settle(office, bob.submit(mean("0.01")))
        assert len(measured) == 1
        new = [ann.submit(mean("0.1", statistic="histogram", options={"bins": 4**n})) for n in range(1, 5)]
        while len(office.outbox.states(new)) < len(new):
            office._take(time.time())
        known = bob.submit(mean("0.02"))
        assert settle(office, known) == ["answered"]
        assert len(measured) <= 2  # what was begun before bob came, and none of the others
        assert settle(office, *new) == ["answered"] * 4
        assert len(measured) == 5
        for _ in range(2):
            assert settle(office, ann.submit(mean("0.1", statistic="median"))) == ["denied"]
        assert len(measured) == 6
        hand.measure = real
    assert "cannot be measured" in (clinic.folder / "private" / "desk.log").read_text()


def _bins(count: int) -> str:
    return f"bins(age, {[*range(count + 1)]})"


def _fit(**parameters: Any) -> dict[str, Any]:
    named = {"kind": "network", "features": ["age"], "target": "stroke", "epsilon": 1, "delta": "1e-6"}
    return {"fit": named | parameters}


def _together(**options: Any) -> dict[str, Any]:
    return {"together": {"questions": [["count", options]], "epsilon": 1}}


HEAVIER = [
    [{"ask": [mean(statistic="histogram", options={"bins": n})]} for n in (300, 1000)],
    [{"ask": [mean(statistic="crosstab", columns=["sex", _bins(n)])]} for n in (9, 90)],
    [{"ask": [mean(statistic="count", columns=[], by=by)]} for by in ("sex", _bins(20))],
    [{"ask": [mean(where=" and ".join(["age > 3"] * n))]} for n in (1, 20)],
    [{"ask": [mean(where={"sex": "f", _bins(n): "[0, 1)"})]} for n in (1, 50)],
    [_together(by=[by]) for by in ("sex", _bins(20))],
    [_fit(hidden_layer_sizes=[n, n]) for n in (2, 900)],
    [_fit(steps=n) for n in (300, 1000)],
    [_fit(features=each) for each in (["age", "sex"], ["age", _bins(90)])],
    [{"ask": [mean(statistic="crosstab", columns=["sex", each])]} for each in ("ward", "town")],
    [{"together": {"questions": [["crosstab", "sex", each]], "epsilon": 1}} for each in ("ward", "town")],
    [_fit(features=["age", each]) for each in ("ward", "town")],
]
_TOWNS = {"ward": ds.Categories(["a", "b"]), "town": ds.Categories([str(n) for n in range(100)])}


@pytest.mark.parametrize("number", range(len(HEAVIER)))
def test_10_what_is_heavier_is_measured_by_itself(number: int) -> None:
    """Nobody has a class measured by a light question and then asks one of the class that takes longer than its turn."""
    table = Published("patients", "clinic", ds.Schema({**SCHEMA.columns, **_TOWNS}), "1", None, True)
    light, heavy = (
        {part.name for part in weights.parts(parse(json.dumps({"table": "patients", **doc})), table, 500)}
        for doc in HEAVIER[number]
    )
    assert not light & heavy


def test_10_sizes_of_one_class_are_alike() -> None:
    """By less than the root of two, so that three numbers at once stay within the margin of three."""
    sizes = [weights._size(n) for n in range(1, 2000)]
    assert sizes == sorted(sizes)
    assert all(n <= size < 1.5 * n + 1 for n, size in enumerate(sizes, 1))
    assert all((sizes.index(size) + sizes.count(size)) / (sizes.index(size) + 1) < 2**0.5 for size in set(sizes))
    assert MARGIN > 2**1.5


def test_12_a_price_is_no_oracle(stand: Stand) -> None:
    """Prices and rehearsals are made where there is no table at all, and are what the schema alone says."""
    assert service_file.read(Path(stand.boxes).parent / "serve.toml").tables == {}
    caller = twins.Caller(stand.url, stand.token)
    for how in ("preview", "rehearse"):
        replies = {caller.call("POST", f"/v1/requests?{how}=1", body(mean("0.2")).encode()).body for _ in range(3)}
        assert len(replies) == 1
    told = json.loads(caller.call("POST", "/v1/requests?preview=1", body(mean("0.2")).encode()).body)
    assert told["parts"] == [dict(part) for part in price(parse(body(mean("0.2"))), SCHEMA).parts]
    caller.close()


def test_13_nobody_burns_anothers_share_or_learns_of_it(tmp_path: Path) -> None:
    """Two runs that differ in another analyst's questions alone: every word and statement is the same."""
    told = []
    for name, busy in (("quiet", False), ("busy", True)):
        (tmp_path / name).mkdir()
        clinic = make_clinic(tmp_path / name, budget="{epsilon = 1}")
        ann, bob = clinic.analyst("ann", "0.5"), clinic.analyst("bob", "0.5")
        with clinic.desk() as office:
            if busy:
                settle(office, *[bob.submit(mean("0.1", where={"sex": s})) for s in "fm"], bob.submit(mean("0.2")))
            refs = [ann.submit(mean("0.4")), ann.submit(mean("0.2")), ann.submit(mean("0.4"))]
            told.append((settle(office, *refs), office.outbox.grants(1)[0].spent, office.outbox.grants(1)[0].left))
    assert told[0] == told[1]


def test_14_an_answer_does_not_tell_who_asked_before(tmp_path: Path) -> None:
    """With and without a prior ask by another: the same bytes but for value, reference, receipt and signature.

    The price and the number of slots are the same too.
    """
    told = []
    for name in ("first", "second"):
        (tmp_path / name).mkdir()
        clinic = make_clinic(tmp_path / name)
        ann, bob = clinic.analyst("ann"), clinic.analyst("bob")
        with clinic.desk() as office:
            if name == "second":
                assert settle(office, bob.submit(mean())) == ["answered"]
            ref = ann.submit(mean())
            assert settle(office, ref) == ["answered"]
            document = (ann.answer(ref) or pytest.fail("none")).document
            document["ref"] = document["releases"][0]["value"] = document["releases"][0]["entry"]["hash"] = None
            asked = office.outbox.states([ref])[ref]
            assert asked.due is not None
            waited = round((asked.due - asked.at) / float(office.config.slot))  # the clock of a test has slots and no load
            told.append((json.dumps(document), asked.price, office.outbox.grants(1)[0].spent, waited))
        assert clinic.spent()["kinds"][-1] == ("use" if name == "second" else "draw")
    assert told[0] == told[1]


def test_15_no_entry_numbers_count_what_others_ask(tmp_path: Path) -> None:
    """Neither in an answer's releases nor in a model that is published."""
    clinic = make_clinic(tmp_path, budget="{epsilon = 10, delta = 1e-4}")
    ann = clinic.analyst("ann", None)
    with clinic.custodian() as custodian:
        custodian.grant("ann", "patients", Price(5, "1e-5"))
    fit = {"kind": "sgd", "features": ["age"], "target": "stroke", "epsilon": 1, "delta": "1e-6", "steps": 5}
    with clinic.desk() as office:
        refs = [ann.submit(mean()), ann.submit(text=json.dumps({"table": "patients", "fit": fit}))]
        assert settle(office, *refs) == ["answered"] * 2
        hashes = [event.hash for event in office.ledgers["clinic"].events()]
        for ref in refs:
            answer = ann.answer(ref) or pytest.fail("none")
            assert not [each for each in hashes if each in answer.text]
            assert _numbers(answer.document) == [0]


def _numbers(document: Any) -> list[int]:
    """The numbers of all entries in a document."""
    if isinstance(document, dict):
        own = [document["number"]] if document.keys() == {"ledger", "number", "hash"} else []
        return own + [n for inner in document.values() for n in _numbers(inner)]
    return [n for inner in document for n in _numbers(inner)] if isinstance(document, list) else []


BOMBS = [
    b'{"table": "patients", "ask": [{"statistic": "count", "epsilon": 1e-300}]}',
    b'{"table": "patients", "ask": [{"statistic": "count", "epsilon": "1e-999999999"}]}',
    b'{"table": "patients", "ask": [{"statistic": "count", "epsilon": "' + b"9" * 60_000 + b'"}]}',
    b'{"table": "patients", "ask": ' + b"[" * 60_000,
    b'{"table": "patients", "ask": [' + b"{}," * 20_000 + b"{}]}",
    b'{"table": "patients", "ask": [{"statistic": "histogram", "columns": ["age"], "options": {"bins": 99999999}}]}',
    b'{"table": "patients", "ask": [{"statistic": "distribution", "columns": ["age"], "options": {"bins": 1e18}}]}',
    b'{"table": "patients", "ask": [{"statistic": "count", "by": ["sex", "sex", "sex"], "epsilon": 1}]}',
    b'{"table": "patients", "ask": [{"statistic": "count", "where": "' + b"(" * 400 + b'", "epsilon": 1}]}',
    b'{"table": "patients", "ask": [{"statistic": "mean", "columns": ["' + b"age*" * 100 + b'age"], "epsilon": 1}]}',
    b'{"table": "patients", "fit": {"kind": "kernel", "components": 999999999, "features": ["age"], "target": "stroke"}}',
    b'{"table": "patients", "synthesize": {"bins": {"age": 999999999}, "rows": 999999999, "tables": 99999, "epsilon": 1}}',
]  # fmt: skip


_NO_SIZE = {
    "epsilon", "delta", "rho", "bounds", "neighbors", "ledger", "random_state", "classes", "target_bounds", "verbose",
}  # fmt: skip


@pytest.mark.parametrize("kind", KINDS)
def test_16_no_parameter_of_a_model_sizes_a_bomb(kind: str) -> None:
    """Every parameter of every kind, of those to come too: what is refused is refused before anything is built of it."""
    goal = {} if kind in UNSUPERVISED else {"target": "bmi" if "number" in kind or kind == "linear" else "stroke"}
    for name in inspect.signature(type(model_of(kind, {}))).parameters:
        if name in (*_FREE, *_NO_SIZE):
            continue
        asked = {"kind": kind, "features": ["age"], "epsilon": 1, **goal}
        for value in (10**9, [1] * 2000, {"x": {}}):
            with pytest.raises(DiscreetError):
                price(parse(json.dumps({"table": "patients", "fit": asked | {name: value}})), SCHEMA)


def test_16_bombs_are_refused_in_no_time_and_memory(stand: Stand, helpers: Any) -> None:
    caller, pid = twins.Caller(stand.url, stand.token), helpers[0]._process.pid
    before = _most_memory(pid)
    for bomb in BOMBS:
        began = time.perf_counter()
        seen = caller.call("POST", "/v1/requests?preview=1", bomb)
        assert seen.code in (200, 413, 422), (bomb[:80], seen.code)
        assert time.perf_counter() - began < 5, bomb[:80]  # 1 s on a machine with nothing else to do
    assert helpers[0]._process.pid == pid
    assert _most_memory(pid) - before < 200 << 10
    caller.close()


def _most_memory(pid: int) -> int:
    """The most memory that a process ever had, in KiB."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return int(next(line for line in lines if line.startswith("VmHWM")).split()[1])


def test_17_a_flood_is_dammed_for_the_one_who_floods(tmp_path: Path, helpers: Any) -> None:
    rate = Rate(60)
    for number in range(60):
        rate.take(1, number / 100)
    for moment in (1.0, 30.0, 59.9):
        with pytest.raises(Refused) as caught:
            rate.take(1, moment)
        assert caught.value.code == 429
    rate.take(2, 1.0)
    rate.take(1, 60.01)
    codes: list[int] = []
    with standing(tmp_path, more="[limits]\nper_minute = 10\n", helpers=helpers) as small:

        def flood() -> None:
            caller = twins.Caller(small.url, small.token)
            codes.extend(caller.call("POST", "/v1/requests", body(mean()).encode()).code for _ in range(10))
            caller.close()

        threads = [threading.Thread(target=flood) for _ in range(4)]
        for thread in threads:
            thread.start()
        other = twins.Caller(small.url, small.other)
        others = [other.call("POST", "/v1/requests", body(mean()).encode()).code for _ in range(10)]
        other.close()
        for thread in threads:
            thread.join()
    assert sorted(codes) == [202] * 10 + [429] * 30
    assert others == [202] * 10


def test_17_turns_at_what_is_slow_go_round() -> None:
    """However many calls of one analyst wait for the process that prices, another's first is the next but one."""
    turns, order = FairLock(most=5), list[int]()
    waiting = [1, 1, 1, 1, 1, 2, 1, 3, 2]

    def take(who: int) -> None:
        with contextlib.suppress(Refused), turns.of(who):
            order.append(who)

    with turns.of(1):
        threads = [threading.Thread(target=take, args=(who,)) for who in waiting]
        for thread in threads:
            before = len(turns._waiting)
            thread.start()
            while thread.is_alive() and len(turns._waiting) == before:
                time.sleep(0.001)
    for thread in threads:
        thread.join()
    assert order == [2, 3, 1, 2, 1, 1, 1, 1]  # the sixth of the first was refused


def test_17_calls_that_ask_nothing_are_counted_too(tmp_path: Path, helpers: Any) -> None:
    """Ten calls of any kind for each question of the limit, by token and by page."""
    with standing(tmp_path, more="[limits]\nper_minute = 1\n", helpers=helpers) as small:
        caller = twins.Caller(small.url, small.token)
        cookie = {"Cookie": twins.sign_in(caller, small.token)}
        codes = [caller.call("GET", "/v1/requests").code for _ in range(6)]
        codes += [caller.call("GET", "/answers", headers=cookie).code for _ in range(6)]
        caller.close()
    assert codes == [200] * 10 + [429] * 2


def test_17_waiting_calls_of_one_analyst_take_few_connections(tmp_path: Path, helpers: Any) -> None:
    """As many calls are kept waiting as questions may be queued; one more has its reply at once."""
    with standing(tmp_path, slot=3, more="[limits]\nqueued = 2\n", helpers=helpers) as small:
        callers = [twins.Caller(small.url, small.token) for _ in range(4)]
        ref = json.loads(callers[0].call("POST", "/v1/requests", body(mean()).encode()).body)["request"]
        states: list[str] = []

        def wait(caller: twins.Caller) -> None:
            states.append(json.loads(caller.call("GET", f"/v1/requests/{ref}?wait=1").body)["state"])

        threads = [threading.Thread(target=wait, args=(caller,)) for caller in callers]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert states.count("answered") == 2
        for caller in callers:
            caller.close()


def test_18_anothers_request_is_not_there(stand: Stand) -> None:
    mine, other = twins.Caller(stand.url, stand.token), twins.Caller(stand.url, stand.other)
    ref = json.loads(mine.call("POST", "/v1/requests", body(mean()).encode()).body)["request"]
    assert mine.call("GET", f"/v1/requests/{ref}").code == 200
    seen = [other.call("GET", f"/v1/requests/{each}") for each in (ref, "0" * 32, "x", ref.upper(), ref + "0")]
    assert {each.code for each in seen} == {404}
    assert len({(each.headers, each.body) for each in seen}) == 1
    assert ref not in other.call("GET", "/v1/requests").body.decode()
    mine.close()
    other.close()


NAMES = ["\x1b[2J", "a\u202eb", "\u0000", "x\r\nSet-Cookie: a=b", "\ud800", "a\u200bb", "\x9b31m"]


def test_19_hostile_names_reach_no_terminal_and_no_page(stand: Stand) -> None:
    caller = twins.Caller(stand.url, stand.token)
    for name in NAMES:
        for ask in (mean(title=name), mean(where={"sex": name}), {"statistic": name, "epsilon": 1}):
            seen = caller.call("POST", "/v1/requests", body(ask).encode())
            assert seen.code == 422
            assert name not in seen.body.decode("utf-8", "replace")
    script = "<script>alert(1)</script><img src=x onerror=y>"
    ref = json.loads(caller.call("POST", "/v1/requests", body(mean(title=script)).encode()).body)["request"]
    caller.waited(ref)
    cookie = twins.sign_in(caller, stand.token)
    for path in ("/answers", f"/answers/{ref}"):
        page = caller.call("GET", path, headers={"Cookie": cookie}).body.decode()
        assert "&lt;script&gt;" in page
        assert "<script" not in page
        assert "<img" not in page
    caller.close()


def test_19_names_that_look_alike_are_one(clinic: Clinic) -> None:
    """A custodian who reads a list tells analysts by their names."""
    clinic.analyst("Ann Lee", None)
    with clinic.custodian() as custodian:
        for name in ("ann lee", " Ann  Lee", "\uff21nn Lee", "Ann\u00a0Lee", "", "  "):
            with pytest.raises(DiscreetError):
                custodian.add(name)


def test_19_a_service_that_was_broken_into_commands_no_terminal() -> None:
    """What it says of a refusal is told without what a terminal would obey or a reader be misled by."""
    hostile = "\x1b[2J\u202ehidden\x07"
    said = _refusal(422, json.dumps({"error": dict.fromkeys(("kind", "rule", "key", "remedy"), hostile)}).encode())
    assert str(said).isprintable()
    assert said.key.isprintable()


def test_20_a_hostile_model_to_score_is_refused(stand: Stand) -> None:
    caller = twins.Caller(stand.url, stand.token)
    design: list[Any] = [{}, None, [], 1, "os.system", {"features": {}, "target": {}}, {"features": [None] * 300}]
    design += [{"features": [{"column": "__class__"}]}, {"__reduce__": ["os.system", "true"]}]
    for one in design:
        for theta in ([], [1.0], ["x"], None, [True], [1e308] * 3):
            text = json.dumps({"table": "patients", "score": {"design": one, "theta": theta, "epsilon": 1}})
            assert caller.call("POST", "/v1/requests?preview=1", text.encode()).code == 422
    caller.close()


@pytest.mark.parametrize("moment", ["before taking", "approval", "queued", "scheduled"])
@pytest.mark.parametrize("what", ["token", "grant", "analyst"])
def test_21_nothing_is_had_after_a_revocation(clinic: Clinic, moment: str, what: str) -> None:
    """Whether it is taken, waits for approval (which then comes too late), has a turn, or is about to be delivered."""
    ann = clinic.analyst("ann", approve_above=Price("0.01") if moment == "approval" else None)
    with clinic.desk() as office:
        ref = ann.submit(mean())
        if moment != "before taking":
            office._take(time.time())
        if moment == "scheduled":
            run_until(office, lambda: office.turn is not None)
        with clinic.custodian() as custodian:
            custodian.revoke("ann", grant=1 if what == "grant" else None, tokens_only=what == "token")
            if moment == "approval":
                custodian.decide(ref, "queued")
        assert settle(office, ref) == ["revoked"]
        assert ann.answer(ref) is None
        paid = [event.kind for event in office.ledgers["clinic"].events() if event.kind == "draw"]
        assert len(paid) == (moment == "scheduled")  # paid, and not refunded


@pytest.mark.parametrize("what", ["token", "analyst"])
def test_21_a_revoked_token_opens_no_page(tmp_path: Path, helpers: Any, what: str) -> None:
    """Neither by itself nor by a browser that signed in before; both are told what a stranger is told."""
    with twins.running(tmp_path, helpers) as whole:
        caller, stranger = twins.Caller(whole.url, whole.token), twins.Caller(whole.url, "discreet_" + "x" * 43)
        cookie = {"Cookie": twins.sign_in(caller, whole.token)}
        paths = (("/v1/tables", {}), ("/v1/requests", {}), ("/tables", cookie))
        assert [caller.call("GET", path, headers=given).code for path, given in paths] == [200] * 3
        with whole.clinic.custodian() as custodian:
            custodian.revoke("ada", tokens_only=what == "token")
        for path, given in paths:
            mine, none = caller.call("GET", path, headers=given), stranger.call("GET", path)
            assert (mine.code, mine.body) == (none.code, none.body)
            assert mine.code in (401, 303)
        caller.close()
        stranger.close()


_AS_FRONT = """
import os, sys, sqlite3
folder = sys.argv[1]
os.setgroups([]); os.setgid(54322); os.setuid(54321)
def tried(what):
    try: what()
    except (PermissionError, sqlite3.OperationalError, FileNotFoundError) as problem: return "refused"
    return "done"
boxes = folder + "/boxes"
read = sqlite3.connect(f"file:{boxes}/desk/outbox.db?mode=ro", uri=True)
def write(path): return lambda: sqlite3.connect(path).execute("CREATE TABLE forged (x)")
print([
    tried(lambda: read.execute("SELECT * FROM answers").fetchall()),
    tried(write(f"{boxes}/front/inbox.db")),
    tried(write(f"{boxes}/desk/outbox.db")),
    tried(lambda: open(f"{folder}/ledger/clinic.db").read(1)),
    tried(lambda: os.listdir(f"{folder}/ledger")),
    tried(lambda: open(f"{folder}/patients.csv").read(1)),
    tried(lambda: open(f"{folder}/private/signing.key").read(1)),
    tried(lambda: open(f"{folder}/private/desk.log").read(1)),
    tried(lambda: os.listdir(f"{folder}/private")),
    tried(lambda: open(f"{boxes}/desk/outbox.db-forged", "w")),
    tried(lambda: os.replace(f"{boxes}/desk/outbox.db", f"{boxes}/front/taken.db")),
])
"""


def test_22_a_guessed_token_is_told_nothing(stand: Stand) -> None:
    seen = []
    for token in (
        "",
        "x",
        "discreet_" + "A" * 43,
        stand.token[:-1],
        stand.token + "A",
        stand.token.lower(),
        "Bearer",
        "\u00ff",
    ):
        caller = twins.Caller(stand.url)
        for path in ("/v1/tables", "/v1/left", "/v1/requests", f"/v1/requests/{'0' * 32}"):
            seen.append(caller.call("GET", path, headers={"Authorization": f"Bearer {token}"}))
        caller.close()
    assert {each.code for each in seen} == {401}
    assert len({(each.headers, each.body) for each in seen}) == 1


def test_23_forms_of_another_site_are_refused(stand: Stand) -> None:
    """``test_browser`` does the same in Chromium, from a second origin."""
    caller = twins.Caller(stand.url, stand.token)
    cookie = twins.sign_in(caller, stand.token)
    page = caller.call("GET", "/tables", headers={"Cookie": cookie})
    headers = dict(page.headers)
    assert "frame-ancestors 'none'" in headers["content-security-policy"]
    assert "default-src 'none'" in headers["content-security-policy"]
    assert headers["referrer-policy"] == "same-origin"
    csrf = page.body.decode().split('name="csrf" value="')[1].split('"')[0]
    form = f"csrf={csrf}&question=" + quote(body(mean()))
    before = len(json.loads(caller.call("GET", "/v1/requests").body)["requests"])
    for origin, text in (
        (None, form),
        ("https://evil.example", form),
        ("null", form),
        (stand.url, form.replace(csrf, "x" * 43)),
    ):
        given = {"Cookie": cookie, "Content-Type": "application/x-www-form-urlencoded"} | (
            {} if origin is None else {"Origin": origin}
        )
        assert caller.call("POST", "/send", text.encode(), given).code == 422
    assert len(json.loads(caller.call("GET", "/v1/requests").body)["requests"]) == before
    given = {"Cookie": cookie, "Content-Type": "application/x-www-form-urlencoded", "Origin": stand.url}
    assert caller.call("POST", "/send", form.encode(), given).code == 303
    caller.close()


POSTED = b"POST /v1/requests HTTP/1.1\r\nHost: x\r\n"
HEALTH = b"GET /health HTTP/1.1\r\nHost: x\r\n\r\n"
SMUGGLED = [
    POSTED + b"Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n" + HEALTH,
    HEALTH[:-2] + b"Transfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n0\r\n\r\n" + HEALTH,
    POSTED + b"Content-Length: 4\r\nContent-Length: 40\r\n\r\nabcd" + HEALTH,
    POSTED + b"Transfer-Encoding: xchunked\r\n\r\n" + HEALTH,
    b"GET /health HTTP/1.1\r\nHost: x\r\nBad Header: x\r\n\r\n" + HEALTH,
    b"GET /health HTTP/1.1\nHost x\n\n" + HEALTH,
    # Longer than what a socket is read for at once: a head that arrives whole is complete before it is too long.
    b"GET /health HTTP/1.1\r\nHost: x\r\nX: " + b"y" * 600_000 + b"\r\n\r\n",
    POSTED + b"Transfer-Encoding : chunked\r\n\r\n0\r\n\r\n" + HEALTH,
    POSTED + b"Transfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\n" + HEALTH,
    POSTED + b"Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n\r\n0\r\n\r\n" + HEALTH,
    POSTED + b"Transfer-Encoding:\x0bchunked\r\n\r\n0\r\n\r\n" + HEALTH,
    POSTED + b"Content-Length: +4\r\n\r\nabcd" + HEALTH,
    POSTED + b"Content-Length: -4\r\n\r\nabcd" + HEALTH,
    POSTED + b"Content-Length: 0x4\r\n\r\nabcd" + HEALTH,
    POSTED + b"Content-Length: 4, 40\r\n\r\nabcd" + HEALTH,
    POSTED + b"Transfer-Encoding: chunked\r\n\r\n-1\r\n\r\n" + HEALTH,
    POSTED + b"Transfer-Encoding: chunked\r\n\r\n0x1\r\na\r\n0\r\n\r\n" + HEALTH,
    POSTED + b"Transfer-Encoding: chunked\r\n\r\n" + b"f" * 30 + b"\r\n" + HEALTH,
    b"GET /health HTTP/1.1\r\nHost: x\r\nX: a\x00b\r\n\r\n" + HEALTH,
    b"GET /health HTTP/1.1\r\nHost: x\r\nHost: y\r\n\r\n" + HEALTH,
    b"GET /health\tHTTP/1.1\r\nHost: x\r\n\r\n" + HEALTH,
    b"GET /health HTTP/2.0\r\nHost: x\r\n\r\n" + HEALTH,
    b"GET /health HTTP/1.1\r\n\r\n" + HEALTH,
]


@pytest.mark.parametrize("number", range(len(SMUGGLED)))
def test_24_a_smuggled_request_is_not_taken(stand: Stand, number: int) -> None:
    """At most one reply comes back, none to what was hidden behind it, and with it the connection ends.

    This side stays open: a server that is told that nothing more comes drops what it has not answered yet.
    """
    parts = urlsplit(stand.url)
    with socket.create_connection((parts.hostname or "", parts.port or 0), timeout=60) as wire:
        got = b""
        with contextlib.suppress(ConnectionError):
            wire.sendall(SMUGGLED[number])
            while part := wire.recv(1 << 16):
                got += part
    assert got.count(b"HTTP/1.1 ") <= 1
    assert b'"service"' not in got


@pytest.mark.skipif(os.geteuid() != 0, reason="changing users needs root")
def test_25_and_26_the_front_reads_no_table_no_ledger_and_writes_no_answer() -> None:
    """As two made-up users: the front reads the outbox, writes the inbox, and gets at nothing else."""
    import tempfile

    from discreet.service.mailbox import prepare_folders

    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o755)
        clinic = make_clinic(folder)
        prepare_folders(folder / "boxes", folder / "private", front=54321, desk=54323, group=54322)
        clinic.analyst("ann")
        for path in (folder / "boxes" / "desk").iterdir():
            os.chown(path, 54323, 54322)
        Inbox(str(folder / "boxes"), write=True).close()
        os.chown(folder / "boxes" / "front" / "inbox.db", 54321, 54322)
        (folder / "patients.csv").chmod(0o600)
        with clinic.desk():
            said = subprocess.run([sys.executable, "-c", _AS_FRONT, name], capture_output=True, text=True, check=True).stdout
        assert said.strip() == str(["done", "done", *["refused"] * 9])


def test_26_a_forged_answer_is_seen(clinic: Clinic) -> None:
    """Whoever carries an answer cannot change it, nor put it to another request."""
    ann = clinic.analyst("ann")
    with clinic.desk() as office:
        ref = ann.submit(mean())
        settle(office, ref)
        answer, key = ann.answer(ref), office.outbox.fact("key")
    assert answer is not None
    assert key is not None
    signing.verify(key, answer.text, answer.signature)
    forged = answer.document
    forged["releases"][0]["value"] = [0.0]
    for text in (json.dumps(forged), answer.text.replace(ref, access_tokens.reference()), answer.text + " "):
        with pytest.raises(DiscreetError, match="signature"):
            signing.verify(key, text, answer.signature)


def test_27_a_swapped_question_is_seen(clinic: Clinic) -> None:
    """Swapped before the desk takes it, the signed digest is not that of what was asked; swapped later, nothing changes."""
    ann = clinic.analyst("ann")
    asked, swapped = parse(body(mean("0.1"))), body(mean("0.9"))
    with clinic.desk() as office:
        early, late = ann.submit(text=asked.text), ann.submit(text=asked.text)
        inbox = sqlite3.connect(clinic.folder / "boxes" / "front" / "inbox.db")
        inbox.execute("UPDATE requests SET body = ? WHERE ref = ?", [swapped, early])
        inbox.commit()
        while len(office.outbox.states([early, late])) < 2:
            office._take(time.time())
        inbox.execute("UPDATE requests SET body = ?", [swapped])
        inbox.commit()
        inbox.close()
        settle(office, early, late)
        signed = [(ann.answer(ref) or pytest.fail("none")).document["question"] for ref in (early, late)]
    assert signed[0] != asked.digest
    assert signed[1] == asked.digest


def test_27_an_earlier_answer_is_not_played_again(tmp_path: Path, helpers: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """A front that answers a question with the signed answer to the same question of another day."""
    with standing(tmp_path, slot=0.02, helpers=helpers) as stand:
        session = ds.connect(stand.url, stand.token)
        session.mean("age", epsilon=0.1)
        (old,) = session.history()
        real = Wire.post

        def post(wire: Wire, path: str, text: str, headers: Any = None) -> dict[str, Any]:
            return real(wire, path, text, headers) | {"request": old["request"]}

        monkeypatch.setattr(Wire, "post", post)
        with pytest.raises(UnsupportedFormat, match="named by its key"):
            session.mean("age", epsilon=0.1)
        get = Wire.get
        monkeypatch.setattr(Wire, "post", real)
        monkeypatch.setattr(Wire, "get", lambda wire, path: get(wire, f"/v1/requests/{old['request']}"))
        with pytest.raises(UnsupportedFormat, match="names another"):
            session.mean("age", epsilon=0.1)


def test_28_a_poisoned_inbox_is_answered_by_words(clinic: Clinic) -> None:
    """Rows of every kind straight into the inbox, most under a token that is good: the desk pays for the good one alone."""
    ann = clinic.analyst("ann")
    clinic.analyst("mallory", "0.001")
    with clinic.desk() as office:
        Inbox(str(clinic.folder / "boxes"), write=True).close()
        inbox = sqlite3.connect(clinic.folder / "boxes" / "front" / "inbox.db")
        for place, (token, text) in enumerate(ROWS):
            ref = f"{place:032x}" if place % 7 else f"no reference {place}"
            inbox.execute(
                "INSERT INTO requests (ref, token, body, at) VALUES (?, ?, ?, ?)", [ref, token, text, float(place)]
            )
        inbox.commit()
        inbox.close()
        good = ann.submit(mean())
        assert settle(office, good) == ["answered"]
        states = [row.state for row in office.outbox.box.read(office.outbox.t.requests.select())]
        assert set(states) <= {*FINAL, *WAITING}
        assert states.count("answered") == 1
        assert len(states) == 1 + sum(bool(place % 7) for place in range(len(ROWS)))
        assert {"revoked", "denied", "refused_cap"} <= set(states)
    assert clinic.spent()["kinds"] == ["reserve", "reserve", "draw"]


def test_29_a_thief_of_the_mailboxes_finds_no_token(clinic: Clinic) -> None:
    ann = clinic.analyst("ann")
    inbox = Inbox(str(clinic.folder / "boxes"), write=True)
    secret, _ = inbox.sign_in(1, time.time())
    ann.submit(mean())
    inbox.close()
    dump = b"".join(path.read_bytes() for path in (clinic.folder / "boxes").rglob("*") if path.is_file())
    assert access_tokens.digest(ann.secret).encode() in dump
    for word in (ann.secret, ann.secret.removeprefix("discreet_"), secret):
        assert word.encode() not in dump


def test_30_a_ledger_set_back_pays_for_nothing(clinic: Clinic) -> None:
    """An old copy of everything: the desk is closed until what it may lack is written off, and nothing is refunded."""
    ann = clinic.analyst("ann", 1)
    with clinic.desk() as office:
        assert settle(office, ann.submit(mean("0.1"))) == ["answered"]
    shutil.copytree(clinic.folder / "ledger", clinic.folder / "old")
    bob = clinic.analyst("bob", 2)
    with clinic.desk() as office:
        assert settle(office, ann.submit(mean("0.2")), bob.submit(mean("0.5"))) == ["answered"] * 2
    before = clinic.spent()["spent"]
    shutil.rmtree(clinic.folder / "ledger")
    shutil.copytree(clinic.folder / "old", clinic.folder / "ledger")
    with clinic.desk() as office:
        assert settle(office, ann.submit(mean("0.1"))) == ["closed"]
        with clinic.custodian() as custodian, pytest.raises(DiscreetError, match="write-off"):
            custodian.reopen("clinic")
    keeping.adopt(clinic.config.populations["clinic"].ledger)
    with clinic.custodian() as custodian:
        assert custodian.write_off("clinic").epsilon == 2
    assert clinic.spent()["spent"] >= before
    with clinic.desk() as office:
        assert settle(office, ann.submit(mean("0.1"))) == ["revoked"]  # shares of before are gone, and stay counted
        with clinic.custodian() as custodian:
            custodian.grant("ann", "patients", Price("0.5"))
        assert settle(office, ann.submit(mean("0.3"))) == ["answered"]


def test_31_answers_are_not_there_before_they_are_due(real: tuple[Clinic, Office]) -> None:
    """The outbox, looked at every few milliseconds: no row of an answer before its moment, by a real hand."""
    clinic, office = real
    ann = clinic.analyst("ann")
    early: list[float] = []
    stop = threading.Event()

    def watch() -> None:
        thief = sqlite3.connect(f"file:{clinic.folder}/boxes/desk/outbox.db?mode=ro", uri=True)
        wanted = "SELECT due FROM requests JOIN answers USING (ref)"
        while not stop.is_set():
            early.extend(due - time.time() for (due,) in thief.execute(wanted) if due > time.time())
            time.sleep(0.005)
        thief.close()

    watcher = threading.Thread(target=watch)
    watcher.start()
    ref = ann.submit(mean())
    assert settle(office, ref)[0] in ("answered", "withheld")  # withheld by a machine that is slower than its slots
    stop.set()
    watcher.join()
    asked = office.outbox.states([ref])[ref]
    assert early == []
    assert asked.due is not None
    assert asked.due == pytest.approx(round(asked.due / 0.5) * 0.5)  # a public moment: the beginning of a slot


def test_32_lengths_tell_no_values(stand: Stand) -> None:
    """Whatever is released, the same question has one length; all are multiples of 4 KiB."""
    lengths = set()
    for scale in (0, 1, 7.123456789012345, -1.2345678901234567e-300, 1e307, 12345678):
        doc = {"answer": json.dumps({"value": [scale * each for each in (1, 2, 3)] * 60, "hash": "0a1b2"})}
        lengths.add((len(json_reply(doc).body), len(json_reply(doc, indent=1).body)))
    assert len(lengths) == 1
    caller = twins.Caller(stand.url, stand.token)
    asked = [mean(f"0.{number}", where=f"age > {10 * number}") for number in range(1, 6)]
    refs = [json.loads(caller.call("POST", "/v1/requests", body(ask).encode()).body)["request"] for ask in asked]
    cookie = {"Cookie": twins.sign_in(caller, stand.token)}
    for path in ("/v1/requests/{}", "/answers/{}", "/answers/{}/answer.json"):
        for ref in refs:
            caller.waited(ref)
        assert len({len(caller.call("GET", path.format(ref), headers=cookie).body) for ref in refs}) == 1
    for path in ("/health", "/v1/tables", "/v1/none", "/", "/style.css"):
        assert len(caller.call("GET", path).body) % 4096 == 0
    caller.close()


def test_33_a_service_sends_its_clients_no_code() -> None:
    """Nothing that a client reads is run: no module of it can unpickle, evaluate or import what a document names."""
    for name in ("remote", "wire", "reread_answer", "written", "signing", "remote_question", "kinds", "closed"):
        tree = ast.parse(Path(import_module(f"discreet.service.{name}").__file__ or "").read_text())
        used = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
        loaded = {alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}
        assert not used & {"eval", "exec", "compile", "__import__", "import_module"}, name
        assert not loaded & {"pickle", "marshal", "shelve", "importlib"}, name
    for hostile in (
        {"kind": "release", "schema": 1, "value": 1, "mechanism": {"name": "os.system"}},
        {"kind": "model"},
        [],
        None,
    ):
        with pytest.raises(DiscreetError):
            Release.from_dict(hostile)


def test_an_overrun_is_withheld_and_the_third_closes(tmp_path: Path) -> None:
    """A question that takes longer than its turn: killed, withheld, paid; after three the population is closed."""
    clinic = make_clinic(tmp_path, slot="0.5")
    clinic.edit("seconds = 0.01", "seconds = 0.001")
    ann = clinic.analyst("ann", 5)
    with clinic.desk() as office:
        hand: Any = office.errands
        refs = []
        for number in range(4):
            refs.append(ann.submit(mean(where={"sex": "f"}, options={}, epsilon=f"0.{number + 1}")))
            real = hand.answer

            def slow(orders: list[dict[str, Any]], end: float, real: Any = real) -> None:
                real(orders, end)
                hand.made.began = {order["ref"] for order in orders}
                hand.made.answers.clear()  # paid and looked for, and killed before it spoke

            hand.answer = slow
            settle(office, refs[-1])
            hand.answer = real
        states = [office.outbox.states(refs)[ref].state for ref in refs]
        assert states == ["withheld"] * 3 + ["closed"]
        with clinic.custodian() as custodian:
            custodian.reopen("clinic")
        again = ann.submit(mean(where={"sex": "m"}))
        assert settle(office, again) == ["answered"]


def test_what_waits_for_approval(clinic: Clinic) -> None:
    """Above a price the custodian decides, on this host; the decision binds the question."""
    ann = clinic.analyst("ann", 3, approve_above=Price("0.5"), purpose="stroke and age")
    assert isinstance(ann, Analyst)
    with clinic.desk() as office:
        small, large, never = ann.submit(mean("0.4")), ann.submit(mean("0.6")), ann.submit(mean("0.7"))
        settle(office, small)
        run_until(office, lambda: len(office.outbox.states([large, never])) == 2)
        with clinic.custodian() as custodian:
            waiting = custodian.pending()
            assert [(p.ref, p.analyst, p.purpose) for p in waiting] == [(r, "ann", "stroke and age") for r in (large, never)]
            assert custodian.expected(waiting[0])[0].startswith("Mean of age")
            custodian.decide(large, "queued")
            custodian.decide(never, "denied")
            with pytest.raises(DiscreetError):
                custodian.decide(small, "queued")
        assert settle(office, large, never) == ["answered", "denied"]
    assert grants.who(1) == "analyst 1"
