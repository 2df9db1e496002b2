"""A law and a question that cost what a test says, and nothing else.

They are named but not registered: suites that run over the registries must not meet them. The fixtures of this folder
register them for the length of one test.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any, ClassVar

from discreet.core import numbers
from discreet.core.cost import Cost, Distance
from discreet.core.mechanism import Mechanism, Sensitivity
from discreet.core.query import Query, Relation
from discreet.core.random import Random
from discreet.core.source import Source


@dataclass(frozen=True)
class Plain(Mechanism):
    """Costs sensitivity / scale, pure (``kind="pure"``) or as a Gaussian would (``kind="zcdp"``)."""

    name: ClassVar[str] = "ledger test law"
    scale: Fraction
    kind: str = "pure"

    def __post_init__(self) -> None:
        object.__setattr__(self, "scale", numbers.positive(self.scale, "scale"))

    def release(self, exact: Any, *, seed: int | Random | None = None) -> Any:
        return exact

    def log_prob(self, released: Any, exact: Any) -> Any:
        return 0.0

    def cost(self, sensitivity: Sensitivity = 1) -> Cost:
        ratio = Distance.of(sensitivity).l1 / self.scale
        return {
            "pure": lambda: Cost.pure(ratio),
            "zcdp": lambda: Cost.zcdp(ratio),
            "approximate": lambda: Cost.approximate(ratio, "1/1000000"),
            "nothing": Cost.infinite,
            "nan": lambda: Cost(ratio, Fraction(0), ratio, Fraction(0), (float("nan"),) * 32),
            "refund": lambda: Cost(-ratio, Fraction(0), ratio, Fraction(0), Cost.nothing().curve),
        }[self.kind]()


def eps(value: str | int | Fraction) -> Plain:
    """The law whose pure cost at sensitivity 1 is ``value``."""
    return Plain(1 / Fraction(value))


@dataclass(frozen=True)
class Sevens(Query):
    """Answers seven. ``gate`` is a file it touches before it waits ``wait`` seconds, for a test to strike meanwhile."""

    name: ClassVar[str] = "ledger test question"
    topic: str = ""
    gate: str = ""
    wait: int = 0
    width: int = 1

    def distance(self, relation: Relation) -> Distance:
        return Distance.of(self.width * (2 if relation == "replace" else 1))

    def evaluate(self, source: Any) -> Any:
        if self.gate:
            Path(self.gate).touch()
            time.sleep(self.wait)
        return 7

    def blank(self, rows: int) -> Any:
        return 0


@dataclass(frozen=True)
class People(Source):
    """A source that has a version and nothing else."""

    version: str = "1"

    def fold(self, *_: Any) -> Any:
        raise AssertionError("nobody is looked at")

    def split(self, parts: int, seed: Any = None) -> list[People]:
        return [People(f"{self.version}/{i}") for i in range(parts)]
