"""Brute force over the lattice, written from the definitions with plain Python and fractions: slow and independent."""

from __future__ import annotations

import itertools
import math
from collections import Counter, defaultdict
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
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
    order: tuple[str, ...] | None = None
    beta: str | None = None
    likeness: str = "enhanced"
    disclosure: str | None = None

    def keywords(self) -> dict[str, Any]:
        return dict(vars(self))


def good(group: list[str], whole: list[str], wish: Wish) -> bool:
    """Whether the sensitive values of one group satisfy everything."""
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
        values = list(wish.order) if wish.order else sorted(set(whole))
        values = [v for v in values if v in set(whole)]
        totals = Counter(whole)
        apart = [Fraction(counts[v], len(group)) - Fraction(totals[v], len(whole)) for v in values]
        if wish.order is None:
            far = sum(map(abs, apart)) / 2
        else:
            far = sum(abs(sum(apart[: i + 1])) for i in range(len(apart) - 1)) / Fraction(max(1, len(values) - 1))
        if far > Fraction(wish.t):
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


@cache
def word(hierarchy: Hierarchy, value: str, level: int) -> str:
    return hierarchy.path(value)[level]


@cache
def penalty(hierarchy: Hierarchy, value: str, level: int) -> float:
    """The share of the range a cell stands for, from the words themselves."""
    doc = hierarchy.to_dict()
    text = word(hierarchy, value, level)
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
    found = {}
    for node in itertools.product(*(range(hierarchies[name].height + 1) for name in names)):
        groups: dict[tuple[str, ...], list[int]] = defaultdict(list)
        for place, row in enumerate(rows):
            groups[tuple(word(hierarchies[a], row[a], x) for a, x in zip(names, node, strict=True))].append(place)
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
            "ncp": sum(penalty(hierarchies[a], v, x) for a, v, x in cells) / (n * m),
            "entropy": bits(rows, hierarchies, cells)
            / (bits(rows, hierarchies, [(a, v, hierarchies[a].height) for a, v, _ in cells]) or 1),
        }
    return found


def bits(rows: Rows, hierarchies: dict[str, Hierarchy], cells: list[tuple[str, str, int]]) -> float:
    """-sum log2(#same original / #same generalised)."""
    total = 0.0
    known: dict[tuple[str, str, int], float] = {}
    for cell in cells:
        if cell not in known:
            a, value, level = cell
            alike = sum(word(hierarchies[a], row[a], level) == word(hierarchies[a], value, level) for row in rows)
            known[cell] = math.log2(alike / sum(row[a] == value for row in rows))
        total += known[cell]
    return total


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


def wishes(rng: Any) -> list[Wish]:
    """k alone and with each diversity rule."""
    k = int(rng.integers(1, 5))
    l = int(rng.integers(1, 4))  # noqa: E741
    t = str(rng.choice(["0.15", "0.3", "0.5"]))
    return [
        Wish(k),
        Wish(k, l=l),
        Wish(k, l=l, diversity="entropy"),
        Wish(k, l=l, diversity="recursive", c=str(rng.choice(["1", "1.5", "3"]))),
        Wish(k, t=t),
        Wish(k, t=t, order=("s3", "s1", "s0", "s2")),
        Wish(k, l=2, t=t),
    ]


def more_wishes(rng: Any) -> list[Wish]:
    """k with bounds on how far a value's share in a group may be from the table's."""
    k = int(rng.integers(1, 5))
    beta = str(rng.choice(["0.3", "1", "2"]))
    return [
        Wish(k, beta=beta),
        Wish(k, beta=beta, likeness="basic"),
        Wish(k, disclosure=str(rng.choice(["0.5", "1", "2"]))),
        Wish(k, l=2, beta=beta),
    ]


METRICS = ("precision", "height", "discernibility", "ncp", "entropy")
