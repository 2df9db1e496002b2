"""How many."""

from __future__ import annotations

from collections.abc import Sequence

from discreet.statistics.question import Question, Table, axes, statistic
from discreet.statistics.reading import Scaled


@statistic("count")
def count(table: Table, *, by: str | Sequence[str] | None = None) -> Question:
    """The number of rows, in all or by group: one cell for each group, exact integers, noise of a discrete law."""
    groups = table.groups(by)
    query = table.cells(*groups)
    return Question(query, Scaled(least=0.0, shape=query.shape, labels=axes(groups)))
