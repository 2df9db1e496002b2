"""Brute force over the lattice, written from the definitions with plain Python and fractions: slow and independent."""

from __future__ import annotations

import itertools
import math
from collections import Counter, defaultdict
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import combinations_with_replacement
from typing import Any

from discreet.protect.hierarchies import Hierarchy

Rows = list[dict[str, Any]]


@dataclass(frozen=True)
class Wish:
    """What is asked of a group."""

    k: int = 1
    l: int | None = None  # noqa: E741
    t: str | None = None
    diversity: str = "distinct"
    c: str | None = None
    order: tuple[str, ...] | Hierarchy | None = None
    beta: str | None = None
    likeness: str = "enhanced"
    disclosure: str | None = None
    insiders: int = 0

    def keywords(self) -> dict[str, Any]:
        return dict(vars(self))


def good(group: list[str], whole: list[str], wish: Wish) -> bool:
    """Whether the sensitive values of one group satisfy everything, and diversity whoever the insiders are."""
    if wish.insiders and len(group) >= wish.k:
        alone = replace(wish, k=1, insiders=0)
        everyone = combinations_with_replacement(sorted(set(group)), wish.insiders)
        rest = [Counter(group) - Counter(some) for some in everyone if not Counter(some) - Counter(group)]
        return bool(rest) and all(good(list(left.elements()), whole, alone) for left in rest)
    counts = Counter(group)
    falling = sorted(counts.values(), reverse=True)
    if len(group) < wish.k:
        return False
    if wish.l is not None:
        if wish.diversity == "distinct" and len(counts) < wish.l:
            return False
        if wish.diversity == "entropy":
            # prod (n/c)^c >= l^n, in whole numbers: no logarithm, no rounding.
            n = len(group)
            if math.prod(Fraction(n, c) ** c for c in falling) < Fraction(wish.l) ** n:
                return False
        if wish.diversity == "recursive":
            tail = sum(falling[wish.l - 1 :])
            if len(falling) < wish.l or not falling[0] < Fraction(wish.c or "0") * tail:
                return False
    if wish.t is not None:
        totals = Counter(whole)
        apart = {v: Fraction(counts[v], len(group)) - Fraction(totals[v], len(whole)) for v in totals}
        if mover(apart, wish.order) > Fraction(wish.t):
            return False
    for value, times in Counter(whole).items():
        p, q = times / len(whole), counts[value] / len(group)
        if wish.beta is not None:
            most = float(wish.beta) if wish.likeness == "basic" else min(float(wish.beta), -math.log(p))
            if q > p and (q - p) / p > most + 1e-9:
                return False
        if wish.disclosure is not None and (q == 0 or abs(math.log(q / p)) >= float(wish.disclosure) - 1e-9):
            return False
    return True


def mover(apart: dict[str, Fraction], order: tuple[str, ...] | Hierarchy | None) -> Fraction:
    """The earth mover's distance between two shares that are ``apart``, from the formulas of Li et al. (2007)."""
    if order is None:
        return Fraction(sum(map(abs, apart.values()))) / 2
    if isinstance(order, tuple):
        steps = [apart[v] for v in order if v in apart]
        return Fraction(sum(abs(sum(steps[: i + 1])) for i in range(len(steps) - 1))) / max(1, len(steps) - 1)
    total = Fraction(0)
    for level in range(1, order.height + 1):  # at every inner node, what moves from some of its children to others
        extra: dict[str, dict[str, Fraction]] = defaultdict(lambda: defaultdict(Fraction))
        for value, x in apart.items():
            path = order.path(value)
            extra[path[level]][path[level - 1]] += x
        for children in extra.values():
            more = sum(x for x in children.values() if x > 0)
            less = -sum(x for x in children.values() if x < 0)
            total += Fraction(level, order.height) * min(more, less)
    return total


def penalty(hierarchy: Hierarchy, text: str, level: int) -> float:
    """The share of the range a cell stands for, from the words themselves."""
    doc = hierarchy.to_dict()
    if level == hierarchy.height:
        return 1.0
    if level == 0:
        return 0.0
    if doc["kind"] == "intervals":
        low, high = map(float, text.strip("[)]").split(", "))
        return (high - low) / (doc["hi"] - doc["lo"])
    below = sum(path[level - 1] == text for path in doc["paths"].values())
    return 0.0 if below == 1 else below / len(doc["paths"])


def brute_force(
    rows: Rows, names: list[str], hierarchies: dict[str, Hierarchy], secret: str, wish: Wish, share: str
) -> dict[tuple[int, ...], dict[str, float]]:
    """Every passing node, with its loss under every metric and how many rows it suppresses."""
    n, m = len(rows), len(names)
    limit = math.floor(Fraction(share) * n)
    whole = [row[secret] for row in rows]
    ways = {(a, row[a]): hierarchies[a].path(row[a]) for a in names for row in rows}
    cost = {(*key, x): penalty(hierarchies[key[0]], way[x], x) for key, way in ways.items() for x in range(len(way))}
    alike = Counter((a, x, ways[a, row[a]][x]) for a in names for row in rows for x in range(len(ways[a, row[a]])))

    def bits(cells: list[tuple[str, str, int]]) -> float:
        """-sum log2(#same original / #same generalised)."""
        return sum(math.log2(alike[a, x, ways[a, v][x]] / alike[a, 0, v]) for a, v, x in cells)

    found = {}
    for node in itertools.product(*(range(hierarchies[name].height + 1) for name in names)):
        groups: dict[tuple[str, ...], list[int]] = defaultdict(list)
        for place, row in enumerate(rows):
            groups[tuple(ways[a, row[a]][x] for a, x in zip(names, node, strict=True))].append(place)
        kept = [g for g in groups.values() if good([whole[i] for i in g], whole, wish)]
        s = n - sum(map(len, kept))
        if s > limit:
            continue
        staying = {i for g in kept for i in g}
        tops = tuple(hierarchies[a].height for a in names)
        cells = [
            (a, row[a], x if i in staying else top)
            for i, row in enumerate(rows)
            for a, x, top in zip(names, node, tops, strict=True)
        ]
        found[node] = {
            "suppressed": s,
            "height": sum(node) / sum(tops),
            "precision": ((n - s) * sum(x / h for x, h in zip(node, tops, strict=True)) + s * m) / (n * m),
            "discernibility": (sum(len(g) ** 2 for g in kept) + s * n) / n**2,
            "ncp": sum(cost[cell] for cell in cells) / (n * m),
            "entropy": bits(cells) / (bits([(a, v, hierarchies[a].height) for a, v, _ in cells]) or 1),
        }
    return found


def random_table(rng: Any) -> tuple[Rows, list[str], dict[str, Hierarchy]]:
    """A small table with two or three quasi-identifiers and an illness."""
    letters = {"a": ["ab", "*"], "b": ["ab", "*"], "c": ["cd", "*"], "d": ["cd", "*"], "e": ["e", "*"]}
    known = {
        "age": Hierarchy.intervals(0, 40, [5, 10] if rng.random() < 0.5 else [10]),
        "place": Hierarchy.tree(letters),
        "sex": Hierarchy.tree({"f": ["*"], "m": ["*"]}),
    }
    names = list(known)[: int(rng.integers(2, 4))]
    ill = [f"s{i}" for i in range(int(rng.integers(2, 5)))]
    rows = [
        {
            "age": str(rng.integers(0, 41) if rng.random() < 0.5 else rng.integers(0, 3) * 7),
            "place": str(rng.choice(list("abcde"), p=[0.4, 0.2, 0.2, 0.1, 0.1])),
            "sex": str(rng.choice(["f", "m"])),
            "ill": str(rng.choice(ill)),
        }
        for _ in range(int(rng.integers(5, 40)))
    ]
    return rows, names, known


def wishes(rng: Any) -> dict[str, Wish]:
    """k alone and with every other rule, by the name of the rule."""
    k = int(rng.integers(1, 5))
    l = int(rng.integers(1, 4))  # noqa: E741
    t = str(rng.choice(["0.15", "0.3", "0.5"]))
    c = str(rng.choice(["1", "1.5", "3"]))
    beta = str(rng.choice(["0.3", "1", "2"]))
    return {
        "k": Wish(k),
        "distinct l": Wish(k, l=l),
        "entropy l": Wish(k, l=l, diversity="entropy"),
        "recursive l": Wish(k, l=l, diversity="recursive", c=c),
        "distinct l, insiders": Wish(k, l=2, insiders=int(rng.integers(1, 4))),
        "recursive l, insiders": Wish(k, l=2, diversity="recursive", c=c, insiders=int(rng.integers(1, 3))),
        "t": Wish(k, t=t),
        "ordered t": Wish(k, t=t, order=("s3", "s1", "s0", "s2")),
        "hierarchical t": Wish(k, t=t, order=ILLS),
        "distinct l and t": Wish(k, l=2, t=t),
        "beta": Wish(k, beta=beta),
        "basic beta": Wish(k, beta=beta, likeness="basic"),
        "disclosure": Wish(k, disclosure=str(rng.choice(["0.5", "1", "2"]))),
        "distinct l and beta": Wish(k, l=2, beta=beta),
    }


ILLS = Hierarchy.tree({"s0": ["u", "*"], "s1": ["v", "*"], "s2": ["u", "*"], "s3": ["w", "*"]})
METRICS = ("precision", "height", "discernibility", "ncp", "entropy")
