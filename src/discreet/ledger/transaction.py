"""One transaction on the database driver, and the callbacks around its commit."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from discreet.ledger.outcomes import Outcome


class Transaction:
    """A transaction on the database driver, without SQLAlchemy's cost for each ask: statements are compiled once."""

    def __init__(self, raw: Any, compiled: Callable[[Any], str], outcome: Outcome) -> None:
        self._raw = raw
        self._compiled = compiled
        self.outcome = outcome
        self.durable: list[Callable[[], None]] = []  # what is done once the disk has it, in a writer's turn
        self.committed: bool | None = False  # None: not known
        self.after: list[Callable[[], None]] = []  # what is done once it has committed, before another writer's turn
        self.undone: list[Callable[[], None]] = []  # what is done where nothing of it was written

    def rows(self, statement: Any, values: Mapping[str, Any]) -> list[tuple[Any, ...]]:
        """All rows that a statement finds."""
        found: list[tuple[Any, ...]] = self._raw.execute(self._compiled(statement), values).fetchall()
        return found

    def row(self, statement: Any, values: Mapping[str, Any]) -> tuple[Any, ...] | None:
        """The row that a statement finds, if there is one."""
        found: tuple[Any, ...] | None = self._raw.execute(self._compiled(statement), values).fetchone()
        return found

    def write(self, statement: Any, values: Mapping[str, Any]) -> int:
        """Run a statement that changes rows; how many it changed."""
        count: int = self._raw.execute(self._compiled(statement), values).rowcount
        return count

    def write_all(self, statement: Any, values: Sequence[Mapping[str, Any]]) -> None:
        """Run a statement once for each of several rows."""
        if len(values) == 1:
            self._raw.execute(self._compiled(statement), values[0])
        elif values:
            self._raw.cursor().executemany(self._compiled(statement), values)
