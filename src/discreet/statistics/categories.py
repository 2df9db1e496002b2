"""The labels of a column that nobody declared: those that enough people have, with how many."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from discreet.core import grid as quantum
from discreet.core import numbers
from discreet.core.cost import Distance
from discreet.core.exact import Exact, Keyed
from discreet.core.mechanism import Mechanism
from discreet.core.price import Price
from discreet.core.query import FoldQuery, Relation, queries
from discreet.core.reading import Axes, Reading, readings
from discreet.core.release import Release
from discreet.core.source import Batch
from discreet.errors import InvalidRequest
from discreet.mechanisms import NoNoise, OptimalKeys, ThresholdedKeys, TruncatedKeys
from discreet.sources.choosing import smallest_pairs
from discreet.sources.ids import NO_ID
from discreet.statistics.question import Question, Table, statistic

_GAUSSIAN_FROM = 3  # keys a person: from here on Gaussian noise needs fewer people for a key to show
_MOST = (1 << 62) - 1


@statistic("categories")
def categories(
    table: Table, column: str, *, minimum: int | None = None, counts: bool = True, most: int | None = None
) -> Question:
    """The labels of a column declared as ``Categories("private")``, of which nothing is known before.

    Found with epsilon and delta. ``minimum`` hides what is counted, with its noise, less often; ``counts=False`` gives the
    names alone, by the law that shows most. ``most`` is how many labels of one person count, ``max_rows`` by default.
    """
    declared = table.categories(column, found=False)
    if not declared.private:
        raise InvalidRequest(f"column {column!r} has declared labels; count or tabulate it, or declare values='private'")
    for name, value in (("minimum", minimum), ("most", most)):
        if value is not None and (isinstance(value, bool) or not isinstance(value, int) or value < 1):
            raise InvalidRequest(f"{name} must be a whole number of at least 1, got {value!r}")
    if not isinstance(counts, bool):
        raise InvalidRequest(f"counts must be true or false, got {counts!r}")
    if minimum is not None and not counts:
        raise InvalidRequest("minimum is a count: ask with counts=True, or leave it out")
    keys = min(table.most_rows, most or table.most_rows)
    shared = keys >= _GAUSSIAN_FROM and minimum is None
    return Search(PeopleByKey(column, keys, shared), FoundKeys(column, counts), minimum or 0, counts)


@dataclass(frozen=True)
class Search(Question):
    """A question answered with the keys that enough people have."""

    minimum: int = 0
    counts: bool = True

    def law(self, price: Price, relation: Relation) -> Mechanism:
        """One key a person: the optimal law, or the truncated one with counts; two: Laplace; more: Gaussian."""
        query = self.query
        assert isinstance(query, PeopleByKey)
        if price.is_infinite:
            return NoNoise(query.grid)
        if price.epsilon is None or not price.delta:
            raise InvalidRequest(
                "labels that nobody declared are found with epsilon and delta: a label of one person must nearly never "
                "show; give both"
            )
        distance = query.distance(relation)
        if query.keys == 1:
            if self.counts:
                return TruncatedKeys.costing(distance, epsilon=price.epsilon, delta=price.delta, minimum=self.minimum)
            return OptimalKeys.costing(distance, epsilon=price.epsilon, delta=price.delta)
        make = ThresholdedKeys.gaussian if query.shared else ThresholdedKeys.laplace
        return make(distance, epsilon=price.epsilon, delta=price.delta, keys=query.keys, minimum=self.minimum)


@queries("people_by_key")
@dataclass(frozen=True)
class PeopleByKey(FoldQuery):
    """How many people have each key, a key being the canonical text of a cell; at most ``keys`` of a person count.

    A person counts once for a key, however many rows have it, with weight 1; where it is ``shared`` the weight of someone
    with j keys is 1/sqrt(j). Of more than ``keys`` keys those with the smallest salted hash count. A missing cell is no key.

    ``distance``: with m keys, weight 1: L1 m, L2 sqrt(m) under add/remove, 2m and sqrt(2m) under replace and both. Shared:
    L1 sqrt(m), L2 1; 2 sqrt(m) and sqrt(2). L-infinity is 1.

    Proof: a person's vector has j <= m entries that are 1, or 1/sqrt(j) rounded down to the grid, and no others. So its L1
    is at most j, or j/sqrt(j) = sqrt(j), its L2 sqrt(j), or 1; it is not negative, so two of them differ in L1 by at most
    the sum, in the square of L2 by the sum of squares, in one entry by at most 1. Which keys count is a function of the
    person's own keys and id. Without a person column every row is a person with one key.
    """

    column: str
    keys: int = 1
    shared: bool = False

    def __post_init__(self) -> None:
        if isinstance(self.keys, bool) or self.keys < 1:
            raise InvalidRequest(f"keys must be a whole number of at least 1, got {self.keys}")

    @property
    def columns(self) -> tuple[str, ...]:
        return (self.column,)

    @property
    def grid(self) -> Fraction:
        """Whole people, or fine steps where they are shared between keys."""
        return quantum.UNIT if self.shared else Fraction(1)

    def distance(self, relation: Relation) -> Distance:
        m, both = Fraction(self.keys), Fraction(1 if relation == "add_remove" else 2)
        root = numbers.square_root_up
        if self.shared:
            return Distance(both * root(m), root(both), Fraction(1))
        return Distance(both * m, root(both * m), Fraction(1))

    def step(self, batch: Batch) -> dict[str, int]:
        names, codes = batch.keys(self.column)
        valid = codes >= 0
        if batch.people is None:
            totals = np.bincount(codes[valid], minlength=len(names)) * int(1 / self.grid)
        else:
            who = batch.identities()
            valid &= who.keys != NO_ID
            person, code = smallest_pairs(batch.people[valid], who.hashes[valid], codes[valid], names, self.keys)
            totals = self._added(np.bincount(person, minlength=1)[person], code, len(names))
        return {name: int(n) for name, n in zip(names, totals.tolist(), strict=True) if n}

    def _added(self, own: Any, code: Any, size: int) -> Any:
        if not self.shared:
            return np.bincount(code, minlength=size)
        steps = np.array([0, *(_share(j) for j in range(1, self.keys + 1))], np.float64)
        return np.bincount(code, weights=steps[own], minlength=size).astype(np.int64)

    def combine(self, left: dict[str, int], right: dict[str, int]) -> dict[str, int]:
        small, large = sorted((left, right), key=len)
        return large | {key: min(n + large.get(key, 0), _MOST) for key, n in small.items()}

    def finish(self, total: dict[str, int]) -> Keyed:
        keys = tuple(sorted(total))
        return Keyed(keys, Exact(np.array([total[key] for key in keys], np.int64), self.grid))

    def blank(self, rows: int) -> Keyed:
        """As if all had the same key."""
        return Keyed(("made up",), Exact(np.array([rows * int(1 / self.grid)], np.int64), self.grid))


def _share(keys: int) -> int:
    """1/sqrt(keys) in grid steps, rounded down."""
    one = 1 / numbers.square_root_up(Fraction(keys))
    return int(one / quantum.UNIT)


@readings("found_keys")
@dataclass(frozen=True)
class FoundKeys(Reading):
    """The labels that were shown and, with ``counts``, how many people have each; 1 for each without.

    Intervals are of the noise alone, over all keys: of keys just above the threshold those with noise upwards are shown.
    """

    column: str
    counts: bool = True

    def axes(self, releases: Sequence[Release]) -> Axes:
        """The labels found, in their order."""
        return ((self.column, tuple(releases[0].value)),)

    def value(self, releases: Sequence[Release]) -> Any:
        counts = releases[0].value
        return np.array(list(counts.values()), np.float64) if self.counts else np.ones(len(counts))

    def sentence(self, releases: Sequence[Release]) -> str:
        """What was found, for a report."""
        shown = len(releases[0].value)
        return f"{shown} label{'' if shown == 1 else 's'} found; rarer ones, if there are any, are not shown."

    def interval(self, releases: Sequence[Release], level: float) -> tuple[Any, Any]:
        value, law = self.value(releases), releases[0].mechanism
        reach = law.error(level) if self.counts else 0.0  # type: ignore[attr-defined]
        return np.maximum(value - reach, np.minimum(value, 1.0)), value + reach

    def expected_error(self, releases: Sequence[Release]) -> Any:
        value, law = self.value(releases), releases[0].mechanism
        return np.full(len(value), law.expected_error if self.counts else 0.0)  # type: ignore[attr-defined]
