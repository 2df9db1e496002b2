"""A question that a statement asks."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from discreet.core.schema import Schema


@dataclass(frozen=True)
class Asked:
    """A statistic of some columns, by groups, of the rows that fulfil a condition ('' for all rows)."""

    statistic: str
    columns: tuple[str, ...] = ()
    by: tuple[str, ...] = ()
    where: str = ""
    options: dict[str, Any] = field(default_factory=dict)

    @property
    def keywords(self) -> dict[str, Any]:
        """What ``ask`` takes beside the statistic and its columns."""
        return self.arguments | ({"where": self.where} if self.where else {})

    @property
    def arguments(self) -> dict[str, Any]:
        """What the statistic takes beside its columns: options and groups."""
        return self.options | ({"by": list(self.by)} if self.by else {})

    def condition(self, schema: Schema) -> dict[str, bool]:
        """Its condition as a filter by labels; empty where it is about all rows."""
        return schema.condition(self.where) if self.where else {}
