"""A node, a metric and several sensitive columns of one's own choice, against testing every node by hand."""

from __future__ import annotations

from collections import Counter
from itertools import product

import numpy as np
import pytest

from discreet.errors import InvalidRequest
from discreet.protect import Hierarchy, anonymize

RNG = np.random.default_rng(5)
TABLE = {
    "age": RNG.integers(0, 16, 200).tolist(),
    "zip": [f"{z:02d}" for z in RNG.integers(0, 12, 200)],
    "ill": RNG.choice(["a", "b", "c"], 200).tolist(),
    "paid": RNG.choice(["low", "high"], 200, p=[0.7, 0.3]).tolist(),
}
HIERARCHIES = {"age": Hierarchy.intervals(0, 16, [2, 4, 8]), "zip": Hierarchy.prefixes(2)}
NAMES = ["age", "zip"]


def groups(levels: tuple[int, int]) -> dict[tuple[str, ...], list[int]]:
    made: dict[tuple[str, ...], list[int]] = {}
    coarse = [HIERARCHIES[n].generalize(TABLE[n], level) for n, level in zip(NAMES, levels, strict=True)]
    for i, key in enumerate(zip(*coarse, strict=True)):
        made.setdefault(tuple(map(str, key)), []).append(i)
    return made


def safe(levels: tuple[int, int], k: int, distinct: int) -> bool:
    return all(
        len(rows) >= k and all(len({TABLE[s][i] for i in rows}) >= distinct for s in ("ill", "paid"))
        for rows in groups(levels).values()
    )


def test_several_sensitive_columns_are_all_diverse() -> None:
    found = anonymize(TABLE, NAMES, HIERARCHIES, 5, sensitive=["ill", "paid"], l=2)
    heights = [range(HIERARCHIES[n].height + 1) for n in NAMES]
    wanted = [node for node in product(*heights) if safe(node, 5, 2)]  # type: ignore[arg-type]
    assert sorted(tuple(n.values()) for n in found.nodes) == sorted(wanted)
    for bad in ({"sensitive": ["ill", "ill"]}, {"sensitive": ["ill", "paid"], "suppression": 0.1}):
        with pytest.raises(InvalidRequest, match=r"several sensitive columns|named once"):
            anonymize(TABLE, NAMES, HIERARCHIES, 5, l=2, **bad)  # type: ignore[arg-type]


def test_any_safe_node_is_written_and_no_other() -> None:
    found = anonymize(TABLE, NAMES, HIERARCHIES, 5)
    for levels in found.nodes:
        copy = found.at(levels)
        assert copy.levels == levels
        rows = Counter(zip(*(map(str, copy.table[n]) for n in NAMES), strict=True))
        assert min(rows.values()) >= 5
        assert rows == Counter({key: len(v) for key, v in groups(tuple(levels.values())).items()})  # type: ignore[arg-type]
    for bad, words in (
        ({"age": 0, "zip": 0}, "not safe"), ({"age": 1}, "must name"), ({"age": 99, "zip": 0}, "has the levels"),
        ({"age": True, "zip": 0}, "has the levels"),
    ):  # fmt: skip
        with pytest.raises(InvalidRequest, match=words):
            found.at(bad)  # type: ignore[arg-type]


def test_an_own_metric_chooses_among_all_safe_nodes() -> None:
    def most_groups(levels: dict[str, int], sizes: np.ndarray, suppressed: int) -> float:
        return -float(len(sizes)) + 0.01 * levels["age"] + suppressed

    found = anonymize(TABLE, NAMES, HIERARCHIES, 5, metric=most_groups)
    scores = {tuple(n.values()): -len(groups(tuple(n.values()))) + 0.01 * n["age"] for n in found.nodes}  # type: ignore[arg-type]
    assert scores[found.node] == min(scores.values())
    assert found.metric == "most_groups"
    with pytest.raises(InvalidRequest, match="finite number"):
        anonymize(TABLE, NAMES, HIERARCHIES, 5, metric=lambda levels, sizes, gone: float("nan"))
    with pytest.raises(InvalidRequest, match="into your own"):
        anonymize(TABLE, NAMES, HIERARCHIES, 5, metric=most_groups, weights={"age": 2.0})
