"""Every rule in every way to make a copy, on a few tables of the study; insiders, hierarchies and presence by hand."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.optimize import linprog
from study import anonymous_copies as study

from discreet.errors import InvalidRequest
from discreet.protect import Hierarchy, anonymize, check, mondrian
from discreet.protect.ground import arranged, ground
from tests.protect.oracle import ILLS

AGES = {"age": Hierarchy.intervals(0, 100, [10, 50])}


@pytest.mark.parametrize("setting", study.SETTINGS, ids=lambda setting: f"{setting['copy']}, {setting['rule']}")
def test_some_tables_of_the_study(setting: dict[str, Any]) -> None:
    """Exact, so no false alarms; the study does 500 tables for each setting."""
    found = study.run(setting, 10**6, 2 if setting["copy"] == "full domain" else 6)
    assert found["compared"] > found["refused"]
    assert found["wrong"] == 0


@pytest.mark.parametrize("order", [None, ("s3", "s1", "s0", "s2"), ILLS])
def test_the_earth_movers_distance_is_the_cheapest_transport(order: Any) -> None:
    """Against a linear programme that moves one share into the other at the cost of the distance between two values."""
    texts = ["s0", "s1", "s2", "s3"]
    values = [texts[place] for place in arranged(texts, order)]
    if isinstance(order, Hierarchy):
        ways = [order.path(value) for value in values]
        cost = [[sum(a != b for a, b in zip(x, y, strict=True)) / order.height for y in ways] for x in ways]
    else:
        cost = [[float(i != j) if order is None else abs(i - j) / 3 for j in range(4)] for i in range(4)]
    rng = np.random.default_rng(2)
    for _ in range(20):
        group, shares = rng.integers(0, 6, 4) + np.eye(4, dtype=int)[0], rng.dirichlet(np.ones(4))
        rows = np.kron(np.eye(4), np.ones(4))
        columns = np.kron(np.ones(4), np.eye(4))
        sides = np.concatenate([group / group.sum(), shares])
        best = linprog(np.ravel(cost), A_eq=np.vstack([rows, columns]), b_eq=sides).fun
        found = ground(values, order).distance(np.array([group.sum()]), group[None], shares)
        assert found[0] == pytest.approx(best, abs=1e-9)


def test_closeness_by_a_hierarchy_is_measured_on_the_copy() -> None:
    rng = np.random.default_rng(0)
    table = {"age": rng.integers(0, 100, 600), "ill": rng.choice(["s0", "s1", "s2", "s3", None], 600)}
    copy = anonymize(table, ["age"], AGES, 5, "ill", t=0.2, order=ILLS)
    assert check(copy.table, ["age"], "ill", order=ILLS, shares=copy.shares).t <= 0.2
    with pytest.raises(InvalidRequest, match="order must cover every sensitive value") as refused:
        anonymize(table | {"ill": ["secret"] * 600}, ["age"], AGES, 5, "ill", t=0.2, order=ILLS)
    assert "secret" not in str(refused.value)


def test_insiders_tell_of_themselves_and_the_others_stay_diverse() -> None:
    table = {"age": [1] * 4 + [99] * 6, "ill": ["flu", "flu", "cold", "gout"] + ["flu", "cold"] * 3}
    assert anonymize(table, ["age"], AGES, 3, "ill", l=2).levels == {"age": 0}
    # Two insiders of the young, with cold and gout, leave flu alone; three of the old leave at least one of each.
    assert anonymize(table, ["age"], AGES, 3, "ill", l=2, insiders=2).levels == {"age": 3}
    assert mondrian(table, ["age"], AGES, 3, "ill", l=2, insiders=1).groups == 2
    assert mondrian(table, ["age"], AGES, 3, "ill", l=2, insiders=2).groups == 1
    for wrong in ({"l": 2, "diversity": "entropy", "insiders": 1}, {"insiders": 1}, {"l": 2, "insiders": -1}):
        with pytest.raises(InvalidRequest, match="insiders"):
            anonymize(table, ["age"], AGES, 3, "ill", **wrong)  # type: ignore[arg-type]


def test_presence_is_asked_with_a_population_and_without_suppression() -> None:
    everyone = {"age": [1, 2, 3, 4, 91, 92, 93, 94]}
    some = {"age": [1, 2, 3, 91]}
    assert anonymize(some, ["age"], AGES, 1).levels == {"age": 0}
    assert anonymize(some, ["age"], AGES, 1, presence=(0, 0.8), population=everyone).levels == {"age": 1}
    assert anonymize(some, ["age"], AGES, 1, presence=(0.3, 0.7), population=everyone).levels == {"age": 3}
    for wrong, says in (
        ({"presence": (0, 1)}, "given together"),
        ({"presence": (0, 1), "population": everyone, "suppression": 0.1}, "without suppression"),
        ({"presence": (0.9, 0.5), "population": everyone}, "least <= largest"),
        ({"presence": 0.5, "population": everyone}, "pair of shares"),
        ({"presence": (0, 1), "population": {"age": [1, 2, 3]}}, "everyone in the table"),
        ({"presence": (0, 0.1), "population": everyone}, "satisfy presence"),
    ):
        with pytest.raises(InvalidRequest, match=says):
            anonymize(some, ["age"], AGES, 1, **wrong)  # type: ignore[arg-type]


def test_no_refusal_shows_a_cell() -> None:
    for bad in ({"age": ["12", "secret"]}, {"age": [12, 777]}):
        with pytest.raises(InvalidRequest, match="'age': every value must be covered") as refused:
            anonymize(bad, ["age"], AGES, 1)
        assert "secret" not in str(refused.value)
        assert "777" not in str(refused.value)
    ill = {"age": [1, 2], "ill": ["secret", "cold"]}
    for ask in (
        lambda: anonymize(ill, ["age"], AGES, 1, "ill", t=0.5, order=["cold"]),
        lambda: check(ill, ["age"], "ill", order=["cold"]),
        lambda: check(ill, ["age"], "ill", shares={"cold": 1.0}),
    ):
        with pytest.raises(InvalidRequest, match="every sensitive value") as refused:
            ask()
        assert "secret" not in str(refused.value)
