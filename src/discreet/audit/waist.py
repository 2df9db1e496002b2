"""White-box checks where data, noise and budget meet: the same questions, draws, shapes and errors on neighbours."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from discreet.core.ask import Ask
from discreet.core.cost import Cost, Distance
from discreet.core.exact import Keyed
from discreet.core.query import Query, Relation
from discreet.core.random import Random, Words
from discreet.core.release import Entry
from discreet.core.runner import Desk, NoLedger, Procedure
from discreet.core.source import Source
from discreet.core.unit import Unit


@dataclass(frozen=True)
class Moved:
    """How far neighbours moved an exact value, over how far it was declared to move at most: above 1 is a violation."""

    l1: float
    l2: float
    linf: float

    @property
    def worst(self) -> float:
        """The largest of the three."""
        return max(self.l1, self.l2, self.linf)


def moved(query: Query, relation: Relation, one: Any, other: Any) -> Moved:
    """The measured distance of a query between two neighbouring sources, as a share of the declared one."""
    return apart(query.distance(relation), query.evaluate(one), query.evaluate(other))


def apart(declared: Distance, one: Any, other: Any) -> Moved:
    """The distance of two exact values, as a share of the declared one."""
    here, there = _side_by_side(one, other)
    gap = np.abs(here - there)
    norms = gap.sum(), np.sqrt((gap**2).sum()), gap.max(initial=0.0)
    limits = declared.l1, declared.l2, declared.linf
    return Moved(*(float(n) / float(m) if m else (np.inf if n else 0.0) for n, m in zip(norms, limits, strict=True)))


def _side_by_side(one: Any, other: Any) -> tuple[Any, Any]:
    """Two exact values as arrays; numbers by key at the keys of either, 0 where one has none."""
    if isinstance(one, Keyed) and isinstance(other, Keyed):
        keys = sorted({*one.keys, *other.keys})
        return tuple(np.array([side.value.get(key, 0) for key in keys], np.float64) for side in (one, other))  # type: ignore[return-value]
    here, there = (np.asarray(getattr(v, "value", v), np.float64) for v in (one, other))
    return here, there


class _Counting(Random):
    """A stream that counts the words it gives."""

    def __init__(self, seed: int) -> None:
        super().__init__(seed)
        self.drawn = 0

    def words(self, count: int) -> Words:
        self.drawn += count
        return super().words(count)

    def word(self) -> int:
        self.drawn += 1
        return super().word()


class _Log(NoLedger):
    """A payer that writes down every question it is asked to pay for."""

    def __init__(self) -> None:
        self.questions: list[Any] = []
        self.costs: list[Cost] = []

    def pay(self, asks: Sequence[tuple[Ask, Distance, Cost]], relation: Relation, unit: Unit | None = None) -> list[Entry]:
        self.questions += [(ask.question, distance.to_dict()) for ask, distance, _ in asks]
        self.costs += [cost for _, _, cost in asks]
        return super().pay(asks, relation)


@dataclass(frozen=True)
class Trace:
    """What a run shows besides its values: the questions, the random words drawn, shapes and types, and any error."""

    questions: list[Any]
    drawn: int
    shapes: list[Any]
    error: str | None


def trace(procedure: Callable[[], Procedure[Any]], source: Source, relation: Relation, seed: int = 0) -> Trace:
    """Run a procedure and write down everything public about the run except the values released."""
    random, log = _Counting(seed), _Log()
    shapes, error = [], None
    try:
        result = Desk(source, log, random, relation).run(procedure())
        for one in result if isinstance(result, list) else [result]:
            shapes += [(np.shape(r.value), np.asarray(r.value).dtype.kind) for r in one.releases]
    except Exception as problem:
        error = f"{type(problem).__name__}: {problem}"
    return Trace(log.questions, random.drawn, shapes, error)


def same_trace(procedure: Callable[[], Procedure[Any]], one: Any, other: Any, relation: Relation, seeds: int = 3) -> bool:
    """Whether neighbours leave the same trace: same questions, same number of draws, same shapes, same errors."""
    return all(trace(procedure, one, relation, s) == trace(procedure, other, relation, s) for s in range(seeds))
