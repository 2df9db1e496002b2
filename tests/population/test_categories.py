"""Labels that nobody declared: people and not rows, canonical text, every engine alike, nothing that one person has."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from study import private_categories

import discreet as ds
from discreet.audit import waist
from discreet.core.price import Price
from discreet.core.query import RELATIONS
from discreet.errors import DiscreetError, InvalidRequest
from discreet.mechanisms import OptimalKeys, ThresholdedKeys, TruncatedKeys
from discreet.sources import open_source
from discreet.statistics.categories import PeopleByKey
from discreet.statistics.question import Table, build

PRICE: dict[str, Any] = {"epsilon": 1, "delta": "1e-5"}
cells = st.one_of(
    st.sampled_from(["a", "b", "c", " a", "A", "", None, 1, 1.0, "1", True, "true", math.nan, b"a", b"\xff"]), st.text()
)
people = st.lists(st.tuples(st.integers(0, 4), cells), max_size=25)


def schema(rows: int | None = None, relation: Any = "add_remove", **facts: Any) -> ds.Schema:
    person: dict[str, Any] = {} if rows is None else {"person": "id", "max_rows": rows}
    return ds.Schema({"c": ds.Categories("private", **facts)}, neighbors=relation, **person)  # type: ignore[arg-type]


def counted(rows: list[tuple[int, Any]], facts: ds.Schema, **options: Any) -> dict[str, Any]:
    query = build("categories", Table(facts), "c", **options).query
    table = {"c": [cell for _, cell in rows], "id": [who for who, _ in rows]}
    found: dict[str, Any] = query.evaluate(open_source(table, facts, batch_rows=4)).value
    return found


def test_people_are_counted_and_not_rows() -> None:
    rows = [(1, "a"), (1, "a"), (1, "b"), (2, "a"), (2, None), (3, ""), (4, "zürich"), (None, "a")]
    assert counted(rows, schema(2)) == {"a": 2, "b": 1, "zürich": 1}  # type: ignore[arg-type]
    assert counted(rows, schema()) == {"a": 4, "b": 1, "zürich": 1}  # type: ignore[arg-type]
    assert counted([(1, 1), (2, 1.0), (3, "1"), (4, True), (5, "true")], schema()) == {"1": 3, "true": 2}
    assert list(counted([(i, c) for i, c in enumerate("zebra")], schema())) == sorted("zebra")


@settings(max_examples=60, deadline=None)
@given(people, st.sampled_from(RELATIONS), st.sampled_from([1, 2, 4]), st.randoms(use_true_random=False))
def test_one_person_moves_it_as_declared_and_order_plays_no_part(rows: Any, relation: Any, most: int, shuffle: Any) -> None:
    facts = schema(most, relation)
    for options in ({}, {"most": 1}, {"minimum": 3}):
        query = build("categories", Table(facts), "c", **options).query
        assert isinstance(query, PeopleByKey)
        mixed = list(rows)
        shuffle.shuffle(mixed)
        assert counted(rows, facts, **options) == counted(mixed, facts, **options)
        others = [row for row in rows if row[0] != 0]
        pairs = [(rows, others)] if relation != "replace" else []
        if relation != "add_remove":
            pairs.append(([*others, *((0, c) for c in "xyzuv")], rows))
        for here, there in pairs:
            tables = [{"c": [c for _, c in side], "id": [w for w, _ in side]} for side in (here, there)]
            assert waist.moved(query, relation, *(open_source(t, facts) for t in tables)).worst <= 1 + 1e-12


def test_more_keys_than_count_are_chosen_by_hash_and_evenly() -> None:
    """1000 people with 10 keys each of which 3 count: every key within 5 deviations of 300 (one salt, so fixed)."""
    rows = [(who, key) for who in range(1000) for key in "abcdefghij"]
    found = counted(rows, schema(3), minimum=1)
    assert sum(found.values()) == 3000
    assert all(abs(n - 300) < 5 * math.sqrt(210) for n in found.values())


def test_every_source_finds_the_same(tmp_path: Path) -> None:
    import pandas as pd

    rng = np.random.default_rng(2)
    frame = pd.DataFrame({"c": rng.choice(["x", "yy", "", "7", "é"], 500), "id": rng.integers(0, 90, 500)})
    frame.to_csv(tmp_path / "t.csv", index=False)
    frame.to_parquet(tmp_path / "t.parquet")
    for facts in (schema(), schema(2), schema(6)):
        query = build("categories", Table(facts), "c").query
        tables: list[Any] = [frame, {k: frame[k].tolist() for k in frame}, tmp_path / "t.csv", tmp_path / "t.parquet"]
        found = [query.evaluate(open_source(table, facts)).value for table in tables]
        assert all(each == found[0] for each in found)
        assert set(found[0]) == {"x", "yy", "7", "é"}


def test_the_law_follows_from_the_keys_of_a_person() -> None:
    def law(rows: int | None, relation: Any = "add_remove", **options: Any) -> Any:
        facts = schema(rows, relation)
        question = build("categories", Table(facts), "c", **options)
        made = question.law(Price(**PRICE), relation)
        cost = made.cost(question.query.distance(relation))
        assert (cost.epsilon, cost.delta) == (1, ds.Cost.approximate(1, "1e-5").delta)
        return made

    for relation in RELATIONS:
        assert isinstance(law(None, relation), TruncatedKeys)
        assert isinstance(law(None, relation, counts=False), OptimalKeys)
        assert law(2, relation).law.name == "discrete_laplace"
        assert law(3, relation).law.name == "gaussian"
        assert law(9, relation, minimum=40).law.name == "discrete_laplace"
        assert isinstance(law(9, relation, most=1), TruncatedKeys)
    assert law(9, minimum=40).least_shown >= 40
    assert isinstance(law(1), TruncatedKeys)
    assert ThresholdedKeys.name == law(3).name


def test_a_session_pays_and_says_what_it_found() -> None:
    rng = np.random.default_rng(3)
    names = [*rng.choice(["north", "south"], 900).tolist(), *(f"person {i}" for i in range(100))]
    session = ds.Session({"c": names}, schema(), ds.Budget(epsilon=3, delta=1e-4), version="v", ledger="sqlite://")
    answer = session.categories("c", **PRICE)
    assert answer.labels == (("c", ("north", "south")),)
    assert answer.value.sum() == pytest.approx(900, abs=50)
    assert session.categories("c", **PRICE).value.tolist() == answer.value.tolist()
    assert float(session.spent().epsilon or 0) == 1
    again = ds.Result.from_json(answer.to_json())
    assert (again.labels, again.value.tolist()) == (answer.labels, answer.value.tolist())
    assert answer.to_frame()["c"].tolist() == ["north", "south"]
    assert session.categories("c", minimum=800, **PRICE).labels[0][1] == ()
    named = session.categories("c", counts=False, **PRICE)
    assert (named.labels[0][1], named.value.tolist()) == (("north", "south"), [1, 1])
    assert session.preview("categories", "c", **PRICE).cost.delta == ds.Cost.approximate(1, "1e-5").delta
    assert ds.categories(names, seed=1, **PRICE).labels[0][1] == ("north", "south")
    assert ds.categories(names, epsilon=math.inf).value.sum() == 1000


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"delta": None}, "with epsilon and delta"),
        ({"epsilon": None, "delta": None, "rho": 1}, "with epsilon and delta"),
        ({"delta": 2}, "delta must lie"),
        ({"minimum": 0}, "minimum must be"),
        ({"minimum": 3, "counts": False}, "minimum is a count"),
        ({"counts": "no"}, "counts must be"),
        ({"most": -1}, "most must be"),
        ({"epsilon": "1e-12"}, "1.3 times delta"),
    ],
)
def test_bad_requests_cost_nothing(options: dict[str, Any], words: str) -> None:
    session = ds.Session({"c": ["a"]}, schema(), ds.Budget(epsilon=1, delta=1e-3))
    with pytest.raises(DiscreetError, match=words) as caught:
        session.categories("c", **(PRICE | options))
    assert "\n" not in str(caught.value)
    with pytest.raises(InvalidRequest, match="private and have no price"):
        session.count(by="c", epsilon=1)
    declared = ds.Session({"c": ["a"]}, ds.Schema({"c": ds.Categories(["a"])}), ds.Budget(1))
    with pytest.raises(InvalidRequest, match="has declared labels"):
        declared.categories("c", **PRICE)
    assert not session.ledger.spent().epsilon


def test_the_study_runs() -> None:
    """1,000 runs a setting, within 5 deviations each: false alarm below 1e-5 for normal tails, and the seeds are fixed."""
    results = [(s, 1000, private_categories.run(s, 11 + i, 1000)) for i, s in enumerate(private_categories.SETTINGS)]
    assert [row.what for row in private_categories.rows(results) if not row.holds] == []
