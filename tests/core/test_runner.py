"""The waist: pay first, then look, then speak."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from discreet.core.ask import Account, Ask, Open
from discreet.core.cost import Cost, Distance
from discreet.core.exact import Exact
from discreet.core.query import FoldQuery, Query, Relation, check_relation, queries
from discreet.core.random import Random
from discreet.core.reading import Reading, readings
from discreet.core.registry import SCHEMA_VERSION
from discreet.core.release import Entry, Release
from discreet.core.result import Result
from discreet.core.runner import Bill, Desk, NoLedger, Paid, Procedure, plan
from discreet.core.source import Source
from discreet.core.unit import Unit
from discreet.errors import AccountClosed, BudgetExceeded, InvalidRequest, NotPrivate, UnknownName, UnsupportedFormat
from discreet.mechanisms import DiscreteLaplace, Laplace


class Rows(Source):
    """A source of plain numbers in two batches, which writes down that it was looked at."""

    version = "1"

    def __init__(self, values: Sequence[float], log: list[str]) -> None:
        self.values, self.log = np.asarray(values), log

    def fold(self, map: Callable[[Any], Any], combine: Callable[[Any, Any], Any], columns: Sequence[str]) -> Any:  # noqa: A002
        self.log.append("look")
        half = self.values.size // 2
        return combine(map(self.values[:half]), map(self.values[half:]))

    def split(self, parts: int, seed: Any = None) -> list[Rows]:
        self.log.append("split")
        return [Rows(self.values[i::parts], self.log) for i in range(parts)]


@queries("test_count_above")
@dataclass(frozen=True)
class CountAbove(FoldQuery):
    threshold: int
    columns = ("x",)  # type: ignore[assignment]

    def distance(self, relation: Relation) -> Distance:
        return Distance.of(1)

    def step(self, batch: Any) -> int:
        return int((batch > self.threshold).sum())

    def combine(self, left: int, right: int) -> int:
        return left + right

    def finish(self, total: int) -> Exact:
        return Exact(np.asarray(total, np.int64))

    def blank(self, rows: int) -> Exact:
        return Exact(np.asarray(0, np.int64))


@readings("test_first")
@dataclass(frozen=True)
class First(Reading):
    def value(self, releases: Sequence[Release]) -> Any:
        return releases[0].value

    def interval(self, releases: Sequence[Release], level: float) -> tuple[Any, Any]:
        reach = releases[0].mechanism.error(level)  # type: ignore[attr-defined]
        return releases[0].value - reach, releases[0].value + reach

    def expected_error(self, releases: Sequence[Release]) -> Any:
        return releases[0].mechanism.expected_error  # type: ignore[attr-defined]


class Book(NoLedger):
    """A payer that writes down what it was asked, and refuses beyond a limit."""

    def __init__(self, log: list[str], limit: int = 100, test: bool = True) -> None:
        self.log, self.limit, self.test = log, limit, test
        self.kept: dict[str, Release] = {}

    def pay(self, asks: Sequence[tuple[Ask, Distance, Cost]], relation: Relation, unit: Unit | None = None) -> list[Entry]:
        self.limit -= len(asks)
        if self.limit < 0:
            raise BudgetExceeded("too much")
        self.log.append(f"pay {len(asks)}")
        return [Entry("book", i, "") for i, _ in enumerate(asks)]

    def buy(self, bills: Sequence[Bill], relation: Relation, unit: Unit | None = None) -> list[Paid]:
        known = [self.kept.get(json.dumps(b.ask.question)) if b.repeats else None for b in bills]
        fresh = iter(
            self.pay([(b.ask, b.distance, b.cost) for b, k in zip(bills, known, strict=True) if k is None], relation)
        )
        return [Paid(next(fresh)) if k is None else Paid(k.entry or Entry("book", 0, ""), k) for k in known]

    def store(self, paid: Sequence[Paid], made: Sequence[Release | None]) -> list[Release]:
        for release in made:
            if release is not None and release.query is not None:
                self.kept[json.dumps(Ask(release.query, release.mechanism).question)] = release
        return [p.release or m for p, m in zip(paid, made, strict=True)]  # type: ignore[misc]


def ask(threshold: int = 0, account: Account | None = None) -> Ask:
    return Ask(CountAbove(threshold), DiscreteLaplace("1e-6"), account)


def one() -> Procedure[Result]:
    release = yield ask()
    return Result(First(), (release,), release.cost)


def desk(log: list[str], book: Book | None = None, random: Random | None = None) -> Desk:
    return Desk(Rows([1, 2, 3, -1], log), book or Book(log), random or Random(1), "add_remove")


def test_pays_before_looking_and_speaks_the_truth() -> None:
    log: list[str] = []
    result = desk(log).run(one())
    assert log == ["pay 1", "look"]
    assert result.value == 3
    assert result.relation == "add_remove"
    assert result.releases[0].entry == Entry("book", 0, "")
    assert float(result) == 3.0


def test_what_cannot_be_paid_is_not_looked_at() -> None:
    log: list[str] = []
    with pytest.raises(BudgetExceeded):
        desk(log, Book(log, limit=0)).run(one())
    assert log == []


def test_a_tuple_is_one_transaction_and_one_pass() -> None:
    log: list[str] = []

    def three() -> Procedure[list[Any]]:
        releases = yield (ask(0), ask(1), ask(2))
        return [r.value for r in releases]

    assert desk(log).run(three()) == [3, 2, 1]
    assert log == ["pay 3", "look"]


def test_an_identical_question_is_answered_again_without_looking() -> None:
    log: list[str] = []
    counter = desk(log)
    first, second = counter.run(one()), counter.run(one())
    assert first.value == second.value
    assert log == ["pay 1", "look", "pay 0"]


def test_parts_are_answered_on_their_own_people() -> None:
    log: list[str] = []

    def split() -> Procedure[list[Any]]:
        accounts = yield Open(Cost.pure(1), parts=2)
        releases = yield tuple(ask(0, account) for account in accounts)
        again = yield ask(2, accounts[0])
        return [r.value for r in (*releases, again)]

    assert desk(log).run(split()) == [2, 1, 1]
    assert log.count("split") == 1  # a second cut could put a person into another part


def test_an_account_on_a_part_serves_the_run_that_opened_it() -> None:
    """Cut anew, a person could be in both parts: the second run is refused before it pays."""
    log: list[str] = []
    opened: list[Account] = []

    def first() -> Procedure[None]:
        opened.extend((yield Open(Cost.pure(1), parts=2)))

    def second() -> Procedure[Any]:
        return (yield ask(0, opened[1]))

    desk(log).run(first())
    with pytest.raises(AccountClosed, match="run that opened it"):
        desk(log).run(second())
    assert "look" not in log


def test_a_seed_needs_a_test_ledger() -> None:
    log: list[str] = []
    with pytest.raises(NotPrivate, match="test ledger"):
        desk(log, Book(log, test=False)).run(one())
    assert log == []
    assert desk(log, Book(log, test=False), Random()).run(one()).private
    assert not desk(log).run(one()).private


def test_a_plan_asks_the_same_and_sees_nothing() -> None:
    result, asked = plan(one(), "add_remove", 10)
    assert asked == [ask()]
    assert result.cost == ask().mechanism.cost(1)
    assert not result.private

    def prepaid() -> Procedure[Any]:
        account = yield Open(Cost.pure(1), plan=ask(), steps=2)
        first = yield ask(0, account)
        second = yield ask(0, account)
        return first.value, second.value

    values, asked = plan(prepaid(), "add_remove", 10)
    assert len(values) == 2
    assert len(asked) == 3


def test_results_as_documents() -> None:
    result = desk([]).run(one())
    again = Result.from_json(result.to_json())
    assert (again.value, again.cost, again.interval(0.9)) == (result.value, result.cost, result.interval(0.9))
    assert again.expected_error == result.expected_error
    assert "not private" in repr(again)
    with pytest.raises(InvalidRequest, match="level"):
        result.interval(1)
    doc = json.loads(result.to_json())
    for change, error in (
        ({"schema": SCHEMA_VERSION + 1}, UnsupportedFormat),
        ({"schema": None}, UnsupportedFormat),
        ({"kind": "release"}, UnsupportedFormat),
        ({"reading": {"name": "pickle"}}, UnknownName),
        ({"releases": [{}]}, UnsupportedFormat),
        ({"cost": None}, UnsupportedFormat),
    ):
        with pytest.raises(error):
            Result.from_json(json.dumps(doc | change))
    with pytest.raises(UnsupportedFormat, match="upgrade"):
        Release.from_json(json.dumps(doc["releases"][0] | {"schema": 99}))
    for text in ("", "{", "[]", "null"):
        with pytest.raises(UnsupportedFormat):
            Release.from_json(text)
        with pytest.raises(UnsupportedFormat):
            Result.from_json(text)


def test_data_from_elsewhere() -> None:
    release = Release.of(Laplace(2), 3.5)
    again = Release.from_json(release.to_json())
    assert again.query is None
    assert again.log_prob(3.0) == release.log_prob(3.0)


def test_bad_accounts_and_relations() -> None:
    for bad in ({}, {"plan": ask(), "parts": 2}, {"parts": 0}, {"plan": ask(), "steps": 0}):
        with pytest.raises(InvalidRequest):
            Open(Cost.pure(1), **bad)  # type: ignore[arg-type]
    with pytest.raises(InvalidRequest, match="add_remove, replace, both"):
        check_relation("next_door")


def test_queries_that_are_not_folds_stand_beside_folds() -> None:
    @dataclass(frozen=True)
    class Size(Query):
        name = "size"

        def distance(self, relation: Relation) -> Distance:
            return Distance.of(1)

        def evaluate(self, source: Any) -> Exact:
            return Exact(np.asarray(source.values.size))

        def blank(self, rows: int) -> Exact:
            return Exact(np.asarray(0))

    def both() -> Procedure[list[Any]]:
        releases = yield (Ask(Size(), DiscreteLaplace("1e-6")), ask(1))
        return [r.value for r in releases]

    assert desk([]).run(both()) == [4, 2]
