"""An anonymous copy, however it was made: the table it is of, the change that makes it, and how it is written."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from discreet.protect.diversity import Demand
from discreet.protect.hierarchies import Hierarchy
from discreet.protect.shuffle import Order, Shuffle
from discreet.protect.stored_table import Change, Changed, Progress, StoredTable


@dataclass(frozen=True, eq=False)
class Without:
    """A change after which some columns are gone."""

    change: Change
    drop: tuple[str, ...]

    @staticmethod
    def of(change: Change, drop: tuple[str, ...]) -> Change:
        """The change alone where no column goes."""
        return Without(change, drop) if drop else change

    @property
    def needs(self) -> tuple[str, ...]:
        return self.change.needs

    def __call__(self, columns: Mapping[str, Any]) -> Changed:
        done = self.change(columns)
        return Changed(done.columns, done.keep, self.drop)


@dataclass(frozen=True, eq=False, kw_only=True)
class AnonymousCopy(ABC):
    """What every anonymous copy has.

    ``rows`` are those of the table, ``sensitive`` the columns that the rules were asked of, and ``copied`` those that are
    neither quasi-identifiers nor sensitive and stand in the copy as they were.
    """

    rows: int
    demand: Demand
    source: StoredTable = field(repr=False)
    change: Change = field(repr=False)
    hierarchies: Mapping[str, Hierarchy] = field(repr=False)
    sensitive: tuple[str, ...] = ()
    copied: tuple[str, ...] = ()

    @property
    @abstractmethod
    def kept(self) -> int:
        """How many rows the copy has."""

    @property
    def columns(self) -> tuple[str, ...]:
        """The quasi-identifiers."""
        return tuple(self.hierarchies)

    @property
    def dropped(self) -> tuple[str, ...]:
        """The columns that the copy does not have."""
        return self.change.drop if isinstance(self.change, Without) else ()

    @property
    def shown(self) -> tuple[str, ...]:
        """The columns that stand in the copy as they are, sensitive ones among them."""
        return tuple(name for name in self.source.columns if name not in (*self.columns, *self.dropped))

    @cached_property
    def table(self) -> Any:
        """The anonymous copy, of the kind that was given; an Arrow table for files, a new DataFrame for Spark.

        Its rows are in a new random order: two copies of one table cannot be joined by position. Suppressed rows are left
        out. A column that was made coarser holds text. What could carry a suppressed value does not come along: a pandas
        index (rows are counted from 0), categories that no row has, and notes in a schema.
        """
        return self.copy()

    def copy(self, order: Order = "shuffled", seed: int | None = None) -> Any:
        """``table``, with ``order="kept"`` in the order of the original; ``seed`` fixes the random order, for tests."""
        return self.source.rewrite(self.change, Shuffle(order, seed))

    def write(
        self, path: str | Path, progress: Progress | None = None, *, order: Order = "shuffled", seed: int | None = None
    ) -> Path:
        """The anonymous copy as a CSV or Parquet file, streamed; it appears whole or not at all, in a new random order."""
        self.source.write(self.change, path, Shuffle(order, seed), progress, expected=self.kept)
        return Path(path)
