"""The test of tests: worked out by hand, its parts, its sensitivity, and an inner test that misbehaves."""

from __future__ import annotations

import contextlib
import math
import random
import signal
import sqlite3
import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats

import discreet as ds
from discreet.core.query import RELATIONS, Relation
from discreet.core.random import Random
from discreet.core.release import Release
from discreet.core.result import Result
from discreet.errors import DiscreetError, InvalidRequest, UnsupportedFormat
from discreet.hypotheses.of_tests import Arrays, OfTests, _order, inner_p, question_of
from discreet.mechanisms import Tulap

X = np.random.default_rng(2).normal(0.5, 1, 1000)


def signed_rank(part: Any) -> float:
    return float(stats.wilcoxon(part).pvalue)


def test_by_hand() -> None:
    """Ten parts at .2, a noisy count of 6, epsilon 1: .0231025."""
    release = Release.of(Tulap(1), np.array([6.0]))
    assert OfTests(10, 0.2, "greater").pvalue([release]) == pytest.approx(0.0231025, abs=5e-8)


@pytest.mark.parametrize("relation", RELATIONS)
def test_a_plain_effect_is_found(relation: Relation) -> None:
    """Some 18 of 20 parts reject where 2 would: noise of scale 1/2 at most takes off 10 once in 10**8."""
    found = ds.hypotheses.of_tests(signed_rank, X, parts=20, epsilon=4, neighbors=relation, seed=3)
    assert found.pvalue < 0.05
    assert found.cost.epsilon == 4
    law: Any = found.releases[0].mechanism
    assert float(law.scales[0]) == (0.5 if relation == "both" else 0.25)
    again = Result.from_json(found.to_json())
    assert (again.pvalue, again.value) == (found.pvalue, found.value)
    query: Any = again.releases[0].query
    with pytest.raises(UnsupportedFormat, match="somebody's own"):
        query.evaluate(Arrays(X, relation, Random(1)))


def test_parts_hold_everybody_once() -> None:
    for relation in RELATIONS:
        parts = list(Arrays({"x": X, "i": np.arange(1000)}, relation, Random(1)).data_of(7))
        assert sorted(np.concatenate([p["i"] for p, _ in parts]).tolist()) == list(range(1000))
        assert all((p["x"] == X[p["i"]]).all() for p, _ in parts)
    alone = list(Arrays(X[:, None], "replace", Random(1)).data_of(2000))
    assert [size for _, size in alone] == [1] * 1000 + [0] * 1000


@pytest.mark.parametrize("filtered", [False, True])
@pytest.mark.parametrize("person", [None, "id"])
@pytest.mark.parametrize("relation", RELATIONS)
def test_a_person_moves_the_count_by_the_distance_at_most(relation: Relation, person: str | None, filtered: bool) -> None:
    """An inner test that any one row decides, on people by position and by hashed ids; of all rows, or of those that pass
    a filter, which the person enters or leaves: by position the rows behind it stay in their parts.
    """
    rng = np.random.default_rng(1)
    rule: Any = {} if person is None else {"person": person, "max_rows": 2}
    schema = ds.Schema({"x": ds.Real(0, 1), "sex": ds.Categories(["f", "m"])}, neighbors=relation, **rule)
    question = question_of(lambda part: float(part["x"].max() < 0.9), ["x"], 5, "0.1", relation == "replace" and not person)
    limit = float(question.query.distance(relation).l1)
    assert limit == (1 if relation == "add_remove" or (relation == "replace" and person is None) else 2)
    worst = 0.0
    for _ in range(60):
        table: dict[str, Any] = {"x": rng.choice([0.0, 1.0], 12, p=[0.9, 0.1]), "id": np.arange(12)}
        table["sex"] = rng.choice(["f", "m"], 12)
        other = {name: values.copy() for name, values in table.items()}
        other["x"][0], other["id"][0] = 1 - table["x"][0], 99
        other["sex"][0] = "m" if table["sex"][0] == "f" else "f"
        if relation == "add_remove":
            other = {name: values[1:] for name, values in table.items()}
        if person is None and relation != "replace":
            continue  # labels are drawn anew for every table: neighbours are compared in law, not number by number
        sources = [_opened(t, schema) for t in (table, other)]
        counts = [question.query.evaluate(s.where(sex="f") if filtered else s).value[0] for s in sources]
        worst = max(worst, abs(float(counts[0] - counts[1])))
    assert worst <= limit


def _opened(table: Any, schema: ds.Schema) -> Any:
    from discreet.sources import open_source

    return open_source(table, schema)


def test_a_part_does_not_show_how_the_table_is_stored() -> None:
    """Its rows come in one order, however they lie in the table; like rows do not lie together."""
    rng = np.random.default_rng(4)
    x, label = rng.choice([0.0, 0.5, 1.0], 600), rng.choice(["a", "b"], 600)
    schema = ds.Schema({"x": ds.Real(0, 1), "g": ds.Categories(["a", "b"])}, neighbors="replace")

    def parts(places: Any) -> list[Any]:
        seen: list[Any] = []
        question = question_of(lambda part: seen.append(part) or 1.0, ["x", "g"], 3, "0.1", True)
        question.query.evaluate(_opened({"x": x[places], "g": label[places]}, schema))
        return seen

    moved = np.arange(600).reshape(200, 3)  # a column is a part: its rows change places among themselves
    other = np.stack([rng.permutation(column) for column in moved.T], 1).ravel()
    for one, again in zip(parts(moved.ravel()), parts(other), strict=True):
        assert len(one["x"]) == 200
        assert all(np.array_equal(one[name], again[name]) for name in one)
        assert np.count_nonzero(np.diff(one["x"])) > 90  # of 200 rows: two of three neighbours differ, 6 deviations
    assert not np.array_equal(x[moved.ravel()], x[other])


def test_rows_without_a_lasting_number_are_dealt_by_person_or_not_at_all(tmp_path: Path) -> None:
    """Dealt by what they hold, equal rows would all be in one part, and no inner test holds there. Nothing is charged."""
    with contextlib.closing(sqlite3.connect(tmp_path / "t.db")) as database:
        database.execute("create table t (id integer, x real)")
        database.executemany("insert into t values (?, ?)", [(i, i % 2) for i in range(40)])
        database.commit()
    for relation in ("add_remove", "replace"):
        for person in ({}, {"person": "id", "max_rows": 1}):
            schema = ds.Schema({"x": ds.Real(0, 1)}, neighbors=relation, **person)
            session = ds.Session(f"sqlite:///{tmp_path}/t.db?table=t", schema, ds.Budget(epsilon=1), version="1")
            if person:
                assert session.of_tests(lambda part: 0.5, ["x"], epsilon=1).statistic < 40
            else:
                with pytest.raises(InvalidRequest, match="no lasting number"):
                    session.of_tests(lambda part: 0.5, ["x"], epsilon=1)
            assert session.spent().epsilon == (1 if person else 0)


@pytest.mark.parametrize("part", [np.arange(50.0), np.repeat([0.0, 1.0], 25)], ids=["apart", "alike"])
def test_the_order_of_a_part_is_as_good_as_drawn_at_random(part: Any) -> None:
    """An inner test that splits its rows holds: in 500 parts with as many rows, all with the same ranks, it rejects by
    chance alone. 6 deviations of a binomial count of .1, which a rank sum of so few rows stays below.
    """

    def split(x: Any) -> float:
        return float(stats.mannwhitneyu(x[:25], x[25:], method="asymptotic").pvalue)

    rng = np.random.default_rng(8)
    for number in (None, 3):  # of many parts of a table, and of one part of many tables
        if number is not None and part[1] == 0:
            continue  # values that are the same in every table come in one order in the part of one number
        tables = [part if number is None else np.sort(rng.normal(size=50)) for _ in range(500)]
        orders = [_order([x], i if number is None else number) for i, x in enumerate(tables)]
        assert all((np.sort(order) == np.arange(50)).all() for order in orders)
        rejected = sum(split(x[order]) <= 0.1 for x, order in zip(tables, orders, strict=True))
        assert 10 < rejected < 50 + 6 * np.sqrt(45)


@pytest.mark.parametrize("problem", [type("Panic", (BaseException,), {}), KeyboardInterrupt, SystemExit, GeneratorExit])
def test_whatever_the_inner_test_raises_by_itself_is_a_p_value_of_one(problem: type[BaseException]) -> None:
    """An interrupt too: it could be raised because of what a record holds."""

    def inner(part: Any) -> float:
        raise problem

    assert ds.hypotheses.of_tests(inner, X, parts=4, epsilon=math.inf).statistic == 0
    session = ds.Session({"x": X}, ds.Schema({"x": ds.Real(-3, 4)}), ds.Budget(epsilon=1))
    assert session.of_tests(inner, ["x"], parts=4, epsilon=1).cost.epsilon == 1


def test_random_numbers_of_one_part_do_not_depend_on_another() -> None:
    """The shared generators give a part the same numbers however many another took, and go on afterwards as before."""

    def seen(sizes: list[int]) -> list[tuple[float, float]]:
        drawn: list[tuple[float, float]] = []

        def inner(part: Any) -> float:
            np.random.permutation(len(part))
            random.shuffle(list(part))
            drawn.append((np.random.random(), random.random()))
            return 0.5

        for number, size in enumerate(sizes):
            assert inner_p(inner, np.arange(size), size, number) == 0.5
        return drawn

    np.random.seed(5)
    random.seed(5)
    following = np.random.RandomState(5).random(), random.Random(5).random()
    first, second = seen([20, 20]), seen([30, 20])
    assert first[1] == second[1]
    assert first[0] != first[1]
    assert (np.random.random(), random.random()) == following


def test_who_presses_a_key_ends_it() -> None:
    before = signal.getsignal(signal.SIGINT)
    with pytest.raises(KeyboardInterrupt):
        ds.hypotheses.of_tests(lambda part: signal.raise_signal(signal.SIGINT) or 0.5, X, parts=4, epsilon=math.inf)
    assert signal.getsignal(signal.SIGINT) is before


def test_whatever_the_inner_test_does_stays_inside(capsys: pytest.CaptureFixture[str]) -> None:
    def loud(part: Any) -> Any:
        sys.stdout.write(str(part[0]))
        sys.stderr.write(str(part[0]))
        warnings.warn(str(part[0]), stacklevel=1)
        kind = int(part[0] * 1000) % 5
        if kind == 0:
            raise ValueError(part[0])
        if kind == 1:
            sys.exit(3)
        return [math.nan, "no number", 7.0][kind - 2]

    found = ds.hypotheses.of_tests(loud, np.abs(X), parts=30, epsilon=math.inf)
    assert found.statistic == 0
    assert found.pvalue == pytest.approx(1)
    assert capsys.readouterr() == ("", "")


def test_through_a_session_and_its_ledger() -> None:
    table = {"x": X, "arm": np.where(np.arange(1000) % 2, "a", "b")}
    schema = ds.Schema({"x": ds.Real(-3, 4), "arm": ds.Categories(["a", "b"])})
    session = ds.Session(table, schema, ds.Budget(epsilon=3))

    def inner(part: Any) -> float:
        assert set(part) == {"x", "arm"}
        return float(stats.mannwhitneyu(part["x"][part["arm"] == "a"], part["x"][part["arm"] == "b"]).pvalue)

    found = session.of_tests(inner, ["x", "arm"], parts=10, alpha0="0.2", epsilon=1)
    assert 0 <= found.pvalue <= 1
    assert session.spent().epsilon == 1
    session.of_tests(inner, ["x", "arm"], parts=10, alpha0="0.2", epsilon=1)
    assert session.spent().epsilon == 2  # a function is not known by its name: asked again, it is paid again
    for options in ({"parts": 1}, {"alpha0": 1}, {"columns": "x"}, {"columns": ["nobody"]}, {"function": 3}):
        asked: dict[str, Any] = {"function": inner, "columns": ["x"], "parts": 10, "alpha0": "0.1", **options}
        with pytest.raises(DiscreetError):
            session.of_tests(asked.pop("function"), asked.pop("columns"), epsilon="0.5", **asked)
    assert session.spent().epsilon == 2
    with pytest.raises(InvalidRequest, match="one length"):
        ds.hypotheses.of_tests(inner, {"x": X, "y": X[:3]}, epsilon=1)
