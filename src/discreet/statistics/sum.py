"""How much in all."""

from __future__ import annotations

from collections.abc import Sequence

from discreet.statistics.question import Question, Table, axes, statistic
from discreet.statistics.reading import Scaled


@statistic("sum")
def sum(table: Table, column: str, *, by: str | Sequence[str] | None = None) -> Question:  # noqa: A001
    """The sum of the clipped values.

    Where the number of rows is public, n lo + R S with S the noisy sum of t = (x - lo)/R; else each value is added as a
    share of the largest size the bounds allow.
    """
    if table.rows is not None and by is None:
        level = table.factor("level", column)
        return Question(table.cells(level), Scaled(table.rows * level.lo, level.hi - level.lo))
    groups, number = table.groups(by), table.factor("signed", column)
    query = table.cells(*groups, number)
    largest = max(abs(number.lo), abs(number.hi))
    return Question(query, Scaled(factor=largest, shape=query.shape[:-1], labels=axes(groups)))
