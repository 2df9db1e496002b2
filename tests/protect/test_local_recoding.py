"""Copies with words of their own for every class, against brute force: k, the rules, nesting, order and leaving."""

from __future__ import annotations

from collections import defaultdict
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from study.anonymous_copies import columns, shown

from discreet.errors import InvalidRequest
from discreet.protect import FileKeys, Hierarchy, Pseudonymizer, Vault, anonymize, microaggregate, mondrian
from tests.protect.oracle import random_table

MAKERS = (mondrian, microaggregate)


def inside(value: str, cell: str, hierarchy: Hierarchy) -> bool:
    """Whether a cell that is shown stands for a value."""
    if cell.startswith("["):
        low, high = map(Fraction, cell.strip("[]").split(", "))
        return low <= Fraction(value) <= high
    return value in cell.strip("{}").split(", ") or cell in hierarchy.path(value)


@pytest.mark.parametrize("seed", range(10))
def test_a_cell_of_mondrian_stands_for_its_value_and_boxes_are_minimal(seed: int) -> None:
    rng = np.random.default_rng(seed)
    rows, names, hierarchies = random_table(rng)
    k = int(rng.integers(1, 4))
    copy = mondrian(columns(rows), names, hierarchies, k)
    table = copy.copy(order="kept")
    boxes = defaultdict(list)
    for place, row in enumerate(rows):
        assert all(inside(row[name], table[name][place], hierarchies[name]) for name in names)
        boxes[tuple(table[name][place] for name in names)].append(row)
    if len(boxes) < copy.groups:
        return
    for box in boxes.values():  # no cut of a class between two values leaves k rows on both sides
        for name in names:
            ranked = sorted(hierarchies[name].place(row[name]) for row in box)
            for at in range(k, len(ranked) - k + 1):
                assert at in (0, len(ranked)) or ranked[at - 1] == ranked[at]


def test_less_is_lost_than_by_full_domain_recoding() -> None:
    rng = np.random.default_rng(3)
    table = {
        "age": rng.integers(0, 100, 3000),
        "zip": [f"{code:05}" for code in rng.integers(10000, 10400, 3000)],
        "seen": np.datetime64("2020-01-01") + rng.integers(0, 900, 3000),
    }
    hierarchies = {
        "age": Hierarchy.intervals(0, 100, [5, 10, 50]),
        "zip": Hierarchy.prefixes(5),
        "seen": Hierarchy.dates("2020-01-01", "2023-01-01"),
    }
    names = list(table)
    by_level = anonymize(table, names, hierarchies, 5, metric="ncp").metrics["ncp"]
    for make in MAKERS:
        copy = make(table, names, hierarchies, 5)
        assert copy.metrics["ncp"] < by_level
        assert copy.sizes.min() >= 5


def test_microaggregation_keeps_means_and_missing_cells() -> None:
    table = {"age": [10, 11, 12, 50, 51, 52, None, None, None]}
    copy = microaggregate(table, ["age"], {"age": Hierarchy.intervals(0, 100, [10])}, 3)
    assert sorted(map(str, copy.copy(order="kept")["age"])) == ["11"] * 3 + ["51"] * 3 + ["None"] * 3
    copy = mondrian(table, ["age"], {"age": Hierarchy.intervals(0, 100, [10])}, 3)
    assert set(map(str, copy.copy(order="kept")["age"])) == {"[10, 12]", "[50, 52]", "None"}


def test_rows_come_in_a_new_order_and_several_columns_are_sensitive() -> None:
    rng = np.random.default_rng(0)
    table = {"age": rng.integers(0, 90, 400), "ill": rng.choice(list("abc"), 400), "job": rng.choice(list("xy"), 400)}
    table["row"] = np.arange(400)
    copy = mondrian(table, ["age"], {"age": Hierarchy.intervals(0, 90, [10])}, 3, ["ill", "job"], l=2)
    assert copy.table["row"].tolist() != list(range(400))
    assert copy.copied == ("row",)
    for secret in ("ill", "job"):
        assert all(len(set(group)) >= 2 for group in shown(copy, ["age"], secret).values())


def test_no_error_holds_a_value_of_the_table() -> None:
    ages = {"age": Hierarchy.intervals(0, 100, [10])}
    for bad in ({"age": ["12", "secret"]}, {"age": [12, 777]}):
        for make in MAKERS:
            with pytest.raises(InvalidRequest) as refused:
                make(bad, ["age"], ages, 1)
            assert "secret" not in str(refused.value)
            assert "777" not in str(refused.value)
    with pytest.raises(InvalidRequest, match="k must not be larger"):
        mondrian({"age": [1, 2]}, ["age"], ages, 3)


def test_copies_leave_through_the_vault_with_their_joint_classes(tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    lines = [f"p{i},{rng.integers(20, 60)},{rng.integers(0, 50)}" for i in range(60)]
    (tmp_path / "people.csv").write_text("\n".join(["name,age,visits", *lines]) + "\n")
    people = Pseudonymizer(["name"], FileKeys.create(tmp_path / "keys.json"))
    hierarchies = {"age": Hierarchy.intervals(0, 100, [10, 50]), "visits": Hierarchy.intervals(0, 100, [10, 50])}
    with Vault(f"sqlite:///{tmp_path}/vault.db", people) as vault:
        vault.register("people", tmp_path / "people.csv", purpose="care", categories=["health"], retention="1 year")

        def send(to: str, names: list[str], method: str) -> Any:
            rest = {"drop": ["name", *({"age", "visits"} - set(names))], "method": method}
            return vault.anonymize("people", tmp_path / f"{to}.csv", names, hierarchies, 5, recipient=to, **rest)

        send("lab", ["age"], "mondrian")
        send("again", ["age"], "mondrian")
        with pytest.raises(InvalidRequest, match="joint classes are smaller"):
            send("firm", ["visits"], "microaggregation")
        with pytest.raises(InvalidRequest, match="no option of the method"):
            vault.anonymize(
                "people", tmp_path / "x.csv", ["age"], hierarchies, 5, recipient="x", method="mondrian", suppression=0.1
            )
        assert not any("people," in str(entry) or "[2" in str(entry) for entry in vault.log())
        with (tmp_path / "people.csv").open("a") as more:
            more.writelines(f"q{i},{20 + i},{i}\n" for i in range(30))
        with pytest.raises(InvalidRequest, match="the table has changed since it left"):
            send("late", ["age"], "mondrian")
