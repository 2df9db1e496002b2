"""The labels that most people have, in order, without their counts."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from discreet.core.mechanism import Mechanism
from discreet.core.price import Price
from discreet.core.query import Relation, queries
from discreet.core.reading import Axes, Reading, readings
from discreet.core.release import Release
from discreet.errors import InvalidRequest
from discreet.mechanisms.top import Top
from discreet.statistics.people import People
from discreet.statistics.question import Question, Table, statistic


@statistic("top")
def top(table: Table, column: str, *, k: int = 3) -> Question:
    """The ``k`` labels of a column that most people have, the most frequent first: a choice, without counts.

    It costs no more than ``k`` private choices, however many labels are declared. Ask for a crosstab to have counts of all.
    """
    labels = table.factor("category", column)
    if isinstance(k, bool) or not isinstance(k, int) or not 1 <= k < labels.size:
        raise InvalidRequest(f"k must be a whole number from 1 to {labels.size - 1}, fewer than the labels, got {k!r}")
    return TopQuestion(Popularity((labels,), table.most_rows), Ranking(column, labels.labels, k))


@queries("popularity")
@dataclass(frozen=True)
class Popularity(People):
    """How many people have each label, as utilities for a choice among labels; ``People`` otherwise.

    ``distance``: that of ``People``: L-infinity is 1 under every relation.

    Proof: that of ``People``; under add/remove a person's ones all move the counts the same way, so the choice is one-sided.
    """

    def totals(self, rows: int) -> None:
        """What is released are places, and no counts."""

    def finish(self, total: Any) -> Any:
        return total

    def blank(self, rows: int) -> Any:
        """As if every label were as frequent as any other."""
        return super().blank(rows).counts


@dataclass(frozen=True)
class TopQuestion(Question):
    """A question answered by choosing some of the public labels, in order."""

    reading: Ranking

    def law(self, price: Price, relation: Relation) -> Mechanism:
        one = price.share(Fraction(1, self.reading.k)).choice_epsilon
        sided = relation == "add_remove"
        return Top.costing(self.query.distance(relation), epsilon=one, choices=self.reading.k, one_sided=sided)


@readings("ranking")
@dataclass(frozen=True)
class Ranking(Reading):
    """The labels chosen, with their ranks as values. How far off a rank is depends on the table and is not public, so its
    interval is all ranks; ``gap`` says how many people the choice may be off by.
    """

    column: str
    known: tuple[Any, ...]
    k: int

    def axes(self, releases: Sequence[Release]) -> Axes:
        """The labels chosen, in order."""
        return ((self.column, tuple(self.known[int(place)] for place in np.ravel(releases[0].value))),)

    def value(self, releases: Sequence[Release]) -> Any:
        return np.arange(1.0, np.size(releases[0].value) + 1)

    def interval(self, releases: Sequence[Release], level: float) -> tuple[Any, Any]:
        shape = np.shape(self.value(releases))
        return np.ones(shape), np.full(shape, float(len(self.known)))

    def expected_error(self, releases: Sequence[Release]) -> None:
        return None

    def gap(self, releases: Sequence[Release], level: float = 0.95) -> float:
        """With probability ``level`` nobody's label with this many people more than one that is shown stands after it.

        P(a choice falls short by t people) <= labels exp(-rate t), and there are k choices.
        """
        rate = float(releases[0].mechanism.rate)  # type: ignore[attr-defined]
        return math.log(self.k * len(self.known) / (1 - level)) / rate

    def sentence(self, releases: Sequence[Release]) -> str:
        """What was chosen, for a report."""
        names = ", ".join(str(label) for label in self.axes(releases)[0][1])
        return (
            f"Most frequent, in this order: {names}. With 95 % probability no label that stands later, or not here, has "
            f"{math.ceil(self.gap(releases)):,} people more than one before it."
        )
