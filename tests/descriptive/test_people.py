"""People and what each amounts to: brute force over dictionaries, row by row, against the queries."""

from __future__ import annotations

import math
from collections import defaultdict
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import discreet as ds
from discreet.errors import InvalidRequest
from discreet.sources import open_source
from discreet.statistics.distinct import Distinct

INF = math.inf
ROWS = st.lists(
    st.tuples(
        st.sampled_from(["a", "b", "c", None]),
        st.one_of(st.none(), st.floats(-20, 30)),
        st.sampled_from(["n", "s", "x"]),
        st.one_of(st.none(), st.integers(-3, 12)),
    ),
    max_size=30,
)
COLUMNS = {"cost": ds.Real(-5, 10), "town": ds.Categories(["n", "s"]), "visits": ds.Integer(0, 8)}


def session(rows: list[Any], neighbors: Any = "add_remove", max_rows: int = 40) -> ds.Session:
    table = {name: [row[i] for row in rows] for i, name in enumerate(("id", "cost", "town", "visits"))}
    return ds.Session(table, ds.Schema(COLUMNS, person="id", max_rows=max_rows, neighbors=neighbors), ledger="test")


def own_rows(rows: list[Any]) -> dict[str, list[Any]]:
    """Rows by person; a row without an id is nobody's."""
    found = defaultdict(list)
    for who, *row in rows:
        if who is not None:
            found[who].append(row)
    return found


@settings(max_examples=25, deadline=None)
@given(ROWS)
def test_against_brute_force(rows: list[Any]) -> None:
    people, asked = own_rows(rows), session(rows)
    assert float(asked.count_people(epsilon=INF)) == len(people)
    with_n = sum(any(town == "n" for _, town, _ in own) for own in people.values())
    assert float(asked.count_people(where={"town": "n"}, epsilon=INF)) == with_n
    assert asked.count_people(by="town", epsilon=INF).value[0] == with_n
    clipped = [[min(max(cost, -5), 10) for cost, _, _ in own if cost is not None] for own in people.values()]
    sums = [min(max(sum(own), -7), 15) for own in clipped if own]
    assert float(asked.people_sum("cost", clip=[-7, 15], epsilon=INF)) == pytest.approx(sum(sums), abs=1e-5)
    means = [sum(own) / len(own) for own in clipped if own]
    if means:
        told = asked.people_mean("cost", each="mean", epsilon=INF)
        assert float(told) == pytest.approx(np.mean(means), abs=1e-6)
    counts = [min(len(own), 4) for own in people.values()]
    if counts:
        assert float(asked.people_mean(each="count", clip=[0, 4], epsilon=INF)) == pytest.approx(np.mean(counts), abs=1e-6)
    numbers = {min(max(v, 0), 8) for own in people.values() for _, _, v in own if v is not None}
    assert float(asked.count_distinct("visits", epsilon=INF)) == len(numbers)
    towns = {town for own in people.values() for _, town, _ in own if town != "x"}
    assert float(asked.count_distinct("town", epsilon=INF)) == len(towns)


@settings(max_examples=20, deadline=None)
@given(ROWS, st.integers(1, 3), st.randoms(use_true_random=False))
def test_order_does_not_matter_and_few_rows_count(rows: list[Any], most: int, random: Any) -> None:
    """With a cap on rows the answers stay the same in any order, and nobody has more than the cap allows."""
    mixed = list(rows)
    random.shuffle(mixed)
    one, other = session(rows, max_rows=most), session(mixed, max_rows=most)
    for ask in (
        lambda s: s.count_people(by="town", epsilon=INF).value,
        lambda s: s.people_sum("cost", clip=[-7, 15], by="town", epsilon=INF).value,
        lambda s: s.people_mean(each="count", epsilon=INF).value,
        lambda s: s.count_distinct("visits", epsilon=INF).value,
    ):
        assert np.array_equal(ask(one), ask(other))
    assert float(one.count_distinct("visits", epsilon=INF)) <= most * len(own_rows(rows))


def test_a_value_of_zero_is_one_whatever_its_sign_and_whoever_is_beside() -> None:
    """Exhaustive: -0.3 rounds to -0, which is 0. Nobody's sign changes which values of somebody else count."""
    schema = ds.Schema({"n": ds.Integer(-2, 9)}, person="id", max_rows=2)

    def counted(rows: list[tuple[str, float]]) -> int:
        table = {"id": [who for who, _ in rows], "n": [value for _, value in rows]}
        return int(Distinct("n", "numbers", -2, 9, 2).evaluate(open_source(table, schema, batch_rows=4)).counts)

    for base in range(9):
        others = [("a", value) for value in (0.0, 0.2, base + 1.0, base + 2.0)] + [("b", 0.4), ("c", -0.0), ("d", 5.0)]
        alone = counted(others)
        for zero in (-0.4, -0.0, 0.0, 0.4):
            assert alone == counted([("z", zero), *others]) == counted([*others, ("z", zero)])


def test_distances_are_of_people_and_never_of_rows() -> None:
    """The sheet of distances: 1 for people, the clip for sums, k for different values."""
    rows = [("a", 1.0, "n", 3)]

    def moved(relation: Any, name: str, *args: Any, **options: Any) -> tuple[float, float]:
        result = session(rows, relation, max_rows=7).ask(name, *args, epsilon=1, **options)
        distance = result.releases[0].distance
        assert distance is not None
        return float(distance.l1), float(distance.l2)

    assert moved("add_remove", "count_people") == moved("replace", "count_people") == (1, 1)
    assert moved("add_remove", "count_people", by="town") == pytest.approx((2, math.sqrt(2)))
    assert moved("replace", "count_people", by="town") == pytest.approx((2, math.sqrt(2)))
    assert moved("add_remove", "people_sum", "cost", clip=[-50, 100]) == (1, 1)  # in units of 100
    assert moved("replace", "people_sum", "cost", clip=[-50, 100]) == pytest.approx((1.5, 1.5))
    assert moved("replace", "count_distinct", "visits") == moved("add_remove", "count_distinct", "visits") == (7, 7)


def test_private_labels_are_counted_by_their_text() -> None:
    table = {"id": [1, 1, 1, 2, 3], "drug": ["A", "B", "B ", "a", None]}
    schema = ds.Schema({"drug": ds.Categories("private")}, person="id", max_rows=5)
    assert float(ds.Session(table, schema, ledger="test").count_distinct("drug", epsilon=INF)) == 4


def test_the_most_frequent_in_order() -> None:
    towns = ["n"] * 900 + ["s"] * 500 + ["w"] * 100
    schema = ds.Schema({"town": ds.Categories(["w", "s", "n", "e"])})
    result = ds.Session({"town": towns}, schema, ledger="test", seed=4).top("town", k=2, epsilon=1)
    assert result.labels == (("town", ("n", "s")),)
    assert result.cost.epsilon == 1
    assert "in this order: n, s." in str(result.reading.sentence(result.releases))
    assert result.reading.gap(result.releases) == pytest.approx(math.log(2 * 4 / 0.05) / 0.5)  # type: ignore[attr-defined]


def test_intervals_of_people_hold() -> None:
    """300 tables of 400 people with 1 to 6 visits: 95 % intervals of the population's mean; false alarm 1e-6."""
    rng, inside = np.random.default_rng(5), 0
    schema = ds.Schema(COLUMNS, person="id", max_rows=6)
    for seed in range(300):
        visits = rng.integers(1, 7, 400)
        who = np.repeat(np.arange(400), visits)
        table = {"id": who, "cost": np.zeros(len(who)), "town": ["n"] * len(who), "visits": np.zeros(len(who))}
        asked = ds.Session(table, schema, ledger="test", seed=seed)
        low, high = asked.people_mean(each="count", of="population", epsilon=1).interval(of="population")
        inside += low <= 3.5 <= high
    assert inside >= 264  # binomial(300, 0.95) falls below with probability 7e-7


@pytest.mark.parametrize(
    ("ask", "said"),
    [
        (lambda s: s.people_sum("cost", epsilon=1), "clip must be"),
        (lambda s: s.people_sum("cost", clip=[3, 1], epsilon=1), "clip must be"),
        (lambda s: s.people_sum("cost", clip=5, epsilon=1), "clip must be"),
        (lambda s: s.people_mean(epsilon=1), "needs a column"),
        (lambda s: s.people_mean("cost", each="most", clip=[0, 1], epsilon=1), "each must be"),
        (lambda s: s.people_mean("town", clip=[0, 1], epsilon=1), "holds categories"),
        (lambda s: s.count_distinct("cost", epsilon=1), "measurements"),
        (lambda s: s.top("town", k=2, epsilon=1), "k must be"),
        (lambda s: s.top("cost", epsilon=1), "holds numbers"),
    ],
)
def test_refusals_cost_nothing(ask: Any, said: str) -> None:
    asked = session([("a", 1.0, "n", 3)])
    with pytest.raises(InvalidRequest, match=said):
        ask(asked)
    assert asked.spent().epsilon == 0


def test_questions_together_by_group_and_quantiles_off_one_distribution() -> None:
    rng = np.random.default_rng(1)
    table = {"x": rng.uniform(0, 1, 4000), "g": ["a", "b"] * 2000}
    schema = ds.Schema({"x": ds.Real(0, 1), "g": ds.Categories(["a", "b"])})
    asked = ds.Session(table, schema, ledger="test", seed=1)
    count, mean, bins = asked.together([("count",), ("mean", "x"), ("histogram", "x", {"bins": 2})], by="g", epsilon=3)
    assert np.shape(count.value) == np.shape(mean.value) == (2,)
    assert np.shape(bins.value) == (2, 2)
    assert mean.value == pytest.approx([0.5, 0.5], abs=0.05)
    assert asked.spent().epsilon == 3
    low, high = asked.quantiles("x", ["0.25", "0.75"], by="g", epsilon=1)
    assert low.value == pytest.approx([0.25, 0.25], abs=0.05)
    assert high.value == pytest.approx([0.75, 0.75], abs=0.05)
    assert asked.spent().epsilon == 4
