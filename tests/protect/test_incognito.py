"""The search against brute force, and every copy measured again."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from study.anonymous_copies import columns

from discreet.errors import InvalidRequest
from discreet.protect import Hierarchy, anonymize, check
from discreet.protect.incognito import HistogramView
from discreet.protect.metrics import METRICS as KNOWN

from .oracle import METRICS, Wish, brute_force, random_table, wishes

TABLES = 2  # the study does 500, and every rule


@pytest.mark.parametrize("seed", range(TABLES))
def test_equals_brute_force(seed: int) -> None:
    """Every passing node and the best of them, for every rule; metric and limit go round. Exact, so no false alarms."""
    rng = np.random.default_rng(seed)
    rows, names, hierarchies = random_table(rng)
    for number, wish in enumerate(wishes(rng).values()):
        share = ["0", "0.15", "0.3"][(seed + number) % 3]
        if wish.k > len(rows):
            continue
        expected = brute_force(rows, names, hierarchies, "ill", wish, share)
        request = {"sensitive": "ill", "suppression": share, **wish.keywords()}
        for metric in METRICS if number == seed else METRICS[(seed + number) % 5 :][:1]:
            if not expected:
                with pytest.raises(InvalidRequest, match="'ill' blocks"):
                    anonymize(columns(rows), names, hierarchies, metric=metric, **request)
                continue
            result = anonymize(columns(rows), names, hierarchies, metric=metric, **request)
            assert {tuple(node.values()) for node in result.nodes} == set(expected)
            assert result.loss == pytest.approx(min(losses[metric] for losses in expected.values()), abs=1e-9)
            chosen = expected[result.node]
            assert result.suppressed == chosen["suppressed"]
            assert result.losses == pytest.approx({m: chosen[m] for m in METRICS}, abs=1e-9)
            recheck(result, names, wish)


def recheck(result: Any, names: list[str], wish: Wish) -> None:
    """The released table satisfies what was asked, measured from its cells."""
    if result.rows == result.suppressed:
        return
    found = check(result.table, names, "ill", l=wish.l or 1, order=wish.order, shares=result.shares)
    assert found.rows == result.rows - result.suppressed
    assert found.k == result.sizes().min() >= wish.k
    measured = {"distinct": found.l, "entropy": found.entropy_l, "recursive": found.recursive_c}[wish.diversity]
    if wish.l is not None and wish.diversity == "recursive":
        assert measured < float(wish.c or 0)
    elif wish.l is not None:
        assert measured >= wish.l - 1e-9
    if wish.t is not None:
        assert found.t <= float(wish.t) + 1e-9


def test_metrics_are_the_ones_documented() -> None:
    """By hand: four rows, one suppressed, one column of height 2 at level 1."""
    assert set(KNOWN) == set(METRICS)
    levels = {"x": Hierarchy.intervals(0, 10, [5])}
    result = anonymize({"x": [1, 2, 3, 9]}, ["x"], levels, 3, suppression=0.25, metric="ncp")
    assert (result.levels, result.suppressed) == ({"x": 1}, 1)
    entropy = (3 * np.log2(3) + np.log2(4)) / (4 * np.log2(4))
    expected = {"precision": 1 - (3 * 0.5 + 1) / 4, "height": 1, "discernibility": 9 + 4, "ncp": 2.5 / 4, "entropy": entropy}
    assert result.metrics == pytest.approx(expected)


def test_suppression_prefers_a_node_that_is_not_minimal() -> None:
    """With a limit the minimal node suppresses rows that a coarser one keeps: it must not win by being minimal."""
    hierarchy = Hierarchy.intervals(0, 1000, [2])
    table = {"x": [0, 0, 0, 2, 3, 4, 4, 4, 8, 8]}
    result = anonymize(table, ["x"], {"x": hierarchy}, 2, suppression="0.2", metric="discernibility")
    assert {"x": 0} in result.nodes
    assert (result.levels, result.suppressed) == ({"x": 1}, 0)


def test_weights_move_the_choice() -> None:
    rows = {"a": [1, 2, 3, 4], "b": [1, 2, 3, 4]}
    levels = {"a": Hierarchy.intervals(0, 8, [4]), "b": Hierarchy.intervals(0, 8, [4])}
    spare_a = anonymize(rows, ["a", "b"], levels, 3, metric="precision", weights={"a": 10}, suppression="0.25")
    spare_b = anonymize(rows, ["a", "b"], levels, 3, metric="precision", weights={"b": 10}, suppression="0.25")
    assert spare_a.levels == {"a": 1, "b": 1} == spare_b.levels
    apart = {"a": [1, 1, 5, 5], "b": [1, 5, 1, 5]}
    assert anonymize(apart, ["a", "b"], levels, 2, weights={"a": 10}).levels == {"a": 0, "b": 2}
    assert anonymize(apart, ["a", "b"], levels, 2, weights={"b": 10}).levels == {"a": 2, "b": 0}
    for beyond in (10**400, "1e-400"):
        with pytest.raises(InvalidRequest, match="within 1e-100 and 1e100"):
            anonymize(apart, ["a", "b"], levels, 2, weights={"a": beyond})


def test_pruning_saves_work(monkeypatch: pytest.MonkeyPatch) -> None:
    """No node of all columns is computed below what fails in one column or in two, and few of 625 are computed at all."""
    seen: list[tuple[int, ...]] = []
    computed = HistogramView.suppressed

    def counted(view: HistogramView, node: tuple[int, ...]) -> int:
        seen.append(node)
        return computed(view, node)

    monkeypatch.setattr(HistogramView, "suppressed", counted)
    rng = np.random.default_rng(0)
    names = ["a", "b", "c", "d"]
    table = {name: rng.integers(0, 100, 2000) for name in names}
    table["a"] = np.arange(2000) / 20  # every value once: level 0 fails in this column alone
    levels = dict.fromkeys(names, Hierarchy.intervals(0, 100, [5, 10, 50]))
    result = anonymize(table, names, levels, 5)
    whole = [node for node in seen if len(node) == 4]
    assert result.safe.mask.size == 625
    assert 0 < len(whole) < 100
    assert all(node[0] > 0 for node in whole)
    coarse = {name: [levels[name].generalize(table[name], level) for level in range(5)] for name in "cd"}
    pairs = [(low, high) for low in range(5) for high in range(5)]
    failing = [(x, y) for x, y in pairs if check({"c": coarse["c"][x], "d": coarse["d"][y]}, ["c", "d"]).k < 5]
    assert failing
    assert not [node for node in whole if node[2:] in failing]


def test_missing_cells_join_the_top_whatever_it_is_called() -> None:
    tree = Hierarchy.tree({"u": ["any"], "v": ["any"]})
    result = anonymize({"x": ["u", "v", None]}, ["x"], {"x": tree}, 3)
    assert result.table["x"].tolist() == ["any"] * 3
    assert tree.generalize([None, "u"], 1) == ["any", "any"]


def test_limit_is_read_as_a_decimal() -> None:
    """0.3 of 10 rows is 3 rows, though the double below 0.3 would make it 2."""
    table = {"x": [1, 2, 3] + [9] * 7}
    result = anonymize(table, ["x"], {"x": Hierarchy.intervals(0, 10, [5])}, 4, suppression=0.3, metric="height")
    assert (result.levels["x"], result.suppressed) == (0, 3)


@settings(max_examples=60, deadline=None)
@given(
    st.lists(
        st.tuples(st.one_of(st.none(), st.integers(0, 20), st.floats(0, 20)), st.sampled_from(["u", "v", "", None])),
        min_size=3,
        max_size=25,
    ),
    st.integers(1, 3),
    st.sampled_from(["0", "0.4"]),
)
def test_any_cells_come_out_in_groups_of_k(rows: list[tuple[Any, Any]], k: int, share: str) -> None:
    """Missing cells, empty texts, -0.0 and whole numbers written as doubles: released cells of a group look alike."""
    table = {"x": np.array([x for x, _ in rows], object), "y": np.array([y for _, y in rows], object)}
    levels = {"x": Hierarchy.intervals(0, 20, [5]), "y": Hierarchy.tree({"u": ["*"], "v": ["*"]})}
    result = anonymize(table, ["x", "y"], levels, k, suppression=share)
    cells = list(zip(*(map(repr, result.table[name].tolist()) for name in ("x", "y")), strict=True))
    assert all(cells.count(cell) >= k for cell in cells)
    assert len(cells) == len(rows) - result.suppressed
