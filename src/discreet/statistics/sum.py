"""How much in all."""

from __future__ import annotations

from collections.abc import Sequence

from discreet.statistics.question import Question, Table, axes, statistic
from discreet.statistics.reading import Scaled


@statistic("sum")
def sum(table: Table, column: str, *, by: str | Sequence[str] | None = None) -> Question:  # noqa: A001
    """The sum of the clipped values: each as a share of the largest size the bounds allow."""
    groups, number = table.groups(by), table.factor("signed", column)
    query = table.cells(*groups, number)
    largest = max(abs(number.lo), abs(number.hi))
    return Question(query, Scaled(factor=largest, shape=query.shape[:-1], labels=axes(groups)))
