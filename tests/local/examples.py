"""Small instances of every registered law, with every report they can make: what the conformance suite runs over."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations, product
from typing import Any

import numpy as np

from discreet.local import (
    Cube,
    Duchi,
    DyadicTree,
    Hadamard,
    Hybrid,
    LocalHash,
    LocalMechanism,
    OneCoordinate,
    OptimizedUnary,
    Piecewise,
    PrivUnit,
    RandomizedResponse,
    Reports,
    SubsetSelection,
    TruncatedLaplace,
)


@dataclass(frozen=True)
class Example:
    """A law, the values to look at, what the mean of the estimate must be for each, and all reports."""

    law: LocalMechanism
    values: list[Any]
    targets: list[Any]
    outputs: Reports

    def masses(self, value: Any) -> np.ndarray:
        return np.exp(self.law.log_prob(self.outputs, value))

    def __str__(self) -> str:
        return f"{self.law.name}-{str(self.law.to_dict())[:70]}"


def bytes_of(rows: list[list[int]]) -> np.ndarray:
    return np.packbits(np.array(rows, np.uint8), axis=1, bitorder="little")


def shares(law: Any, columns: dict[str, Any]) -> Example:
    """A frequency oracle: the estimate from one report is, on average, one at the truth and zero elsewhere."""
    return Example(law, list(law.labels), list(np.eye(law.k)), Reports(law, columns))


def numbers(law: Any) -> Example:
    """A scalar law: its answers are all whole numbers of its column."""
    lo, hi = map(float, law.bounds)
    values = [lo, hi, (lo + hi) / 2, lo + 0.123 * (hi - lo), lo + 0.77 * (hi - lo)]
    column = law.columns["answer"]
    return Example(law, values, values, Reports(law, {"answer": np.arange(column.low, column.high + 1)}))


def every_bits(width: int) -> list[list[int]]:
    return [list(bits) for bits in product((0, 1), repeat=width)]


def unary(epsilon: str, k: int) -> Example:
    return shares(OptimizedUnary(epsilon, k), {"bits": bytes_of(every_bits(k))})


def hadamard(epsilon: str, k: Any) -> Example:
    law = Hadamard(epsilon, k)
    column, answer = np.array(list(product(range(law.order), (0, 1)))).T
    return shares(law, {"column": column, "answer": answer})


def subset(epsilon: str, k: int) -> Example:
    law = SubsetSelection(epsilon, k)
    rows = [[int(i in chosen) for i in range(k)] for chosen in combinations(range(k), law.size)]
    return shares(law, {"subset": bytes_of(rows)})


def response(epsilon: str, k: Any) -> Example:
    law = RandomizedResponse(epsilon, k)
    return shares(law, {"answer": np.arange(law.k)})


def cube(epsilon: str, d: int) -> Example:
    rows = np.random.default_rng(d).uniform(-3, 1, (4, d))
    corners = [list(c) for c in product((-3.0, 1.0), repeat=d)][: 1 << min(d, 3)]
    values = [*corners, *rows, np.full(d, -1.0), np.where(np.arange(d) % 2, -3.0, 1.0)]
    law = Cube(epsilon, d, (-3, 1))
    return Example(law, values, values, Reports(law, {"corner": bytes_of(every_bits(d))}))


def one_coordinate(epsilon: str, d: int) -> Example:
    law = OneCoordinate(epsilon, d, (0, 10))
    column = law.columns["answer"]
    coordinate, answer = np.array(list(product(range(d), range(column.low, column.high + 1)))).T
    values = [np.zeros(d), np.full(d, 10.0), np.linspace(0, 7, d)]
    return Example(law, values, values, Reports(law, {"coordinate": coordinate, "answer": answer}))


def tree(epsilon: str, depth: int) -> Example:
    """The estimate from one report is, on average, one at every edge above the value and zero below."""
    law = DyadicTree(epsilon, (0, 8), depth)
    places = [(level, j, bit) for level in range(1, depth + 1) for j in range(2**level) for bit in (0, 1)]
    level, column, answer = np.array(places).T
    values = [0.0, 3.1, 7.9]
    targets = [(law.edges[1:-1] > value).astype(float) for value in values]
    return Example(law, values, targets, Reports(law, {"level": level, "column": column, "answer": answer}))


EXAMPLES = [
    response("1", 2),
    response("0.3", ["red", "green", "blue"]),
    response("5", 8),
    unary("1", 4),
    unary("3", 6),
    hadamard("1", 8),
    hadamard("0.5", ["a", "b", "c"]),
    subset("1", 8),
    subset("0.4", 5),
    subset("3", 6),
    subset("0.4", 13),  # too many subsets for a list
    numbers(Duchi("1")),
    numbers(Duchi("3", (0, 10))),
    numbers(Piecewise("1", cells=24)),
    numbers(Piecewise("4", (-5, 2), cells=301)),
    numbers(Hybrid("1", (0, 1), cells=24)),
    numbers(Hybrid("2.5", cells=100)),
    numbers(Hybrid("0.5", cells=3)),
    numbers(TruncatedLaplace("1")),
    numbers(TruncatedLaplace("3", (10, 12))),
    *(cube(epsilon, d) for d in range(1, 7) for epsilon in ("1", "4")),
    one_coordinate("0.5", 4),
    tree("1", 4),
    tree("2", 1),
]
# Their reports cannot all be written down: 2^64 seeds, a sphere. They have tests of their own.
ELSEWHERE = {LocalHash.name, PrivUnit.name}
