"""Anonymous copies of small random tables against brute force: every rule in every way to make a copy, presence in a
population, and what several copies show together.

A full-domain copy must find the nodes that testing every node finds, and the least loss among them under every metric; every
copy is measured from its own cells, by definitions that are written out in ``tests/protect/oracle.py`` with fractions.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import replace
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
from tests.protect.oracle import METRICS, Rows, Wish, brute_force, good, random_table, wishes

from discreet.errors import InvalidRequest
from discreet.protect import anonymize, microaggregate, mondrian
from discreet.protect.copies import described, joint
from study.harness import Row

RULES = tuple(wishes(np.random.default_rng(0)))
LOCAL = {"mondrian": mondrian, "microaggregation": microaggregate}
SETTINGS: list[dict[str, Any]] = [
    *({"copy": copy, "rule": rule} for copy in ("full domain", *LOCAL) for rule in RULES),
    {"copy": "full domain", "rule": "presence"},
    {"copy": "several", "rule": "joint classes"},
    {"copy": "several", "rule": "presence"},
]
RUNS = 500
PART = 100


def run(setting: dict[str, Any], seed: int, runs: int) -> dict[str, float]:
    """``compared`` tables and requests, and how many of them were ``wrong``."""
    found = {"compared": 0.0, "wrong": 0.0, "refused": 0.0}
    for number in range(seed, seed + runs):
        rng = np.random.default_rng(number)
        table = random_table(rng)
        if setting["copy"] == "several":
            right = [(_joint_presence if setting["rule"] == "presence" else _joint)(rng, *table)]
        elif setting["rule"] == "presence":
            right = [_presence(rng, *table)]
        elif setting["copy"] in LOCAL:
            right = [_local(LOCAL[setting["copy"]], wishes(rng)[setting["rule"]], *table)]
        else:
            wish = wishes(rng)[setting["rule"]]
            right = [_by_level(wish, share, METRICS[number % 5], *table) for share in ("0", "0.2")]
        found["compared"] += len(right)
        found["wrong"] += sum(answer is False for answer in right)
        found["refused"] += sum(answer is None for answer in right)
    return found


def rows(results: list[tuple[dict[str, Any], int, dict[str, float]]]) -> list[Row]:
    made = []
    for setting, runs, found in results:
        what = f"{setting['copy']}, {setting['rule']}"
        made.append(Row(f"{what}: tables", float(runs), ">=", RUNS))
        made.append(Row(f"{what}: wrong", found["wrong"], "<=", 0))
    return made


def columns(table: Rows) -> dict[str, list[Any]]:
    return {name: [row[name] for row in table] for name in table[0]}


def shown(copy: Any, names: list[str], secret: str = "ill") -> dict[tuple[Any, ...], list[str]]:
    """The sensitive values of every class that a copy shows, from its cells."""
    table = copy.copy(order="kept")
    groups: dict[tuple[Any, ...], list[str]] = defaultdict(list)
    for row in zip(*(table[name] for name in names), table[secret], strict=True):
        groups[row[:-1]].append(row[-1])
    return groups


def _by_level(wish: Wish, share: str, metric: str, table: Rows, names: list[str], hierarchies: Any) -> bool | None:
    """Whether the nodes, the least loss and the copy are those of brute force; None where both find none."""
    whole = [row["ill"] for row in table]
    expected = brute_force(table, names, hierarchies, "ill", wish, share)
    request = {"sensitive": "ill", "suppression": share, "metric": metric, **wish.keywords()}
    try:
        made = anonymize(columns(table), names, hierarchies, **request)
    except InvalidRequest:
        return False if expected and wish.k <= len(table) else None
    if {tuple(node.values()) for node in made.nodes} != set(expected):
        return False
    least = min(losses[metric] for losses in expected.values())
    classes = shown(made, names)
    rows_left = sum(map(len, classes.values())) == len(table) - expected[made.node]["suppressed"]
    return rows_left and abs(made.loss - least) < 1e-9 and all(good(group, whole, wish) for group in classes.values())


def _local(make: Any, wish: Wish, table: Rows, names: list[str], hierarchies: Any) -> bool | None:
    whole = [row["ill"] for row in table]
    try:
        made = make(columns(table), names, hierarchies, sensitive="ill", **wish.keywords())
    except InvalidRequest:
        return False if good(whole, whole, wish) else None
    classes = shown(made, names)
    sizes = sorted(map(len, classes.values())) == sorted(made.sizes.tolist()) and sum(made.sizes) == len(table)
    return sizes and all(good(group, whole, wish) for group in classes.values())


def _presence(rng: Any, everyone: Rows, names: list[str], hierarchies: Any) -> bool | None:
    """The table is a part of a population; every node is tested on the population's groups."""
    inside = [row for row in everyone if rng.random() < 0.5] or everyone[:1]
    low, high = str(rng.choice(["0", "0.2", "0.4"])), str(rng.choice(["0.5", "0.6", "0.75", "1"]))
    expected = set()
    for node in product(*(range(hierarchies[name].height + 1) for name in names)):
        mine, theirs = (_groups(part, names, node, hierarchies) for part in (inside, everyone))
        shares = [Fraction(mine[key], many) for key, many in theirs.items()]
        if min(mine.values()) >= 2 and all(Fraction(low) <= share <= Fraction(high) for share in shares):
            expected.add(node)
    try:
        made = anonymize(columns(inside), names, hierarchies, 2, presence=(low, high), population=columns(everyone))
    except InvalidRequest:
        return False if expected else None
    return {tuple(node.values()) for node in made.nodes} == expected


def _groups(table: Rows, names: list[str], node: tuple[int, ...], hierarchies: Any) -> Counter[tuple[str, ...]]:
    return Counter(tuple(hierarchies[a].path(row[a])[x] for a, x in zip(names, node, strict=True)) for row in table)


def _joint(rng: Any, table: Rows, names: list[str], hierarchies: Any) -> bool:
    """Two or three copies with columns, methods and rules of their own: their joint classes, from the cells they show."""
    cells = columns([row | {"row": str(number)} for number, row in enumerate(table)])
    whole = [row["ill"] for row in table]
    copies: list[tuple[Any, list[str], list[str], Wish | None]] = []
    while len(copies) < int(rng.integers(2, 4)):
        mine = [name for name in names if rng.random() < 0.7] or names[:1]
        rest = [name for name in names if name not in mine and rng.random() < 0.5]
        wish = wishes(rng)[RULES[int(rng.integers(0, len(RULES)))]] if rng.random() < 0.5 else None
        make = (anonymize, mondrian, microaggregate)[int(rng.integers(0, 3))]
        options: dict[str, Any] = {"suppression": "0.2"} if make is anonymize else {}
        options |= {"k": 2} if wish is None else wish.keywords() | {"sensitive": "ill"}
        hidden = ["ill"] if wish is None and rng.random() < 0.3 else []
        try:
            made = make(cells, mine, hierarchies, drop=rest + hidden, **options)
        except InvalidRequest:  # not even the whole table satisfies the rule
            continue
        copies.append((made, mine, rest + hidden, wish))
    looked_up = {name for _, mine, _, _ in copies for name in mine}  # others know what no copy makes coarser just as little
    views = []
    for made, _, rest, _ in copies:
        shows = made.copy(order="kept")
        known = [name for name in names if name not in rest and name in looked_up]
        views.append({row: tuple(str(shows[name][i]) for name in known) for i, row in enumerate(shows["row"])})
    classes: dict[tuple[Any, ...], list[int]] = defaultdict(list)
    for number, row in enumerate(cells["row"]):
        if any(row in view for view in views):
            classes[tuple(view.get(row) for view in views)].append(number)
    broken = 0
    for seen, numbers in classes.items():
        told = any("ill" not in rest and part is not None for part, (_, _, rest, _) in zip(seen, copies, strict=True))
        asked = [replace(wish, k=1) for _, _, _, wish in copies if wish is not None]
        broken += told and not all(good([whole[number] for number in numbers], whole, wish) for wish in asked)
    sizes = [len(numbers) for numbers in classes.values()]
    *earlier, (last, _, _, _) = copies
    found = joint(last.source, last, [described(made) for made, _, _, _ in earlier])
    expected = (len(sizes), min(sizes, default=0), sizes.count(1), broken)
    return (found.classes, found.smallest, found.single, found.broken) == expected


def _joint_presence(rng: Any, everyone: Rows, names: list[str], hierarchies: Any) -> bool | None:
    """A copy that bounds presence beside another: where both may leave, the bound holds for whoever holds both."""
    inside = [row for row in everyone if rng.random() < 0.5] or everyone[:1]
    low, high = str(rng.choice(["0", "0.2"])), str(rng.choice(["0.6", "0.75"]))
    mine = [name for name in names if rng.random() < 0.7] or names[:1]
    rest = [name for name in names if name not in mine and rng.random() < 0.7]
    as_it_is = [name for name in names if name not in (*mine, *rest)]
    try:
        bounded = anonymize(columns(inside), names, hierarchies, 1, presence=(low, high), population=columns(everyone))
        other = anonymize(columns(inside), mine, hierarchies, 1, suppression="0.2", drop=rest)
        other = other.at(other.nodes[int(rng.integers(0, len(other.nodes)))])
        pair = [bounded, other][:: int(rng.choice([1, -1]))]
        joint(other.source, pair[0], [described(pair[1])])
    except InvalidRequest:
        return None
    views = [(names, bounded.node), (mine, other.node), (as_it_is, (0,) * len(as_it_is))]
    mine_in, theirs = (
        Counter(
            tuple(hierarchies[a].path(row[a])[x] for of, node in views for a, x in zip(of, node, strict=True))
            for row in part
        )
        for part in (inside, everyone)
    )
    return all(Fraction(low) <= Fraction(mine_in[key], many) <= Fraction(high) for key, many in theirs.items())
