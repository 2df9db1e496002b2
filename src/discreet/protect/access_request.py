"""The answer to a person who asks what is kept about them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from discreet.protect.vault_log import LogRow


@dataclass(frozen=True)
class Access:
    """What a vault holds about one person: rows by table, the facts of those tables, and the log of uses and requests.

    ``unreadable`` counts rows, by table, whose identity is missing or cannot be read: they belong to nobody. ``looked_at``
    lists the files and tables that were gone through and when, ``missed`` those that could not be, and why.
    """

    subject: str
    rows: dict[str, Any]
    facts: list[dict[str, Any]]
    uses: list[dict[str, Any]]
    requests: list[dict[str, Any]]
    unreadable: dict[str, int]
    looked_at: dict[str, list[dict[str, Any]]]
    missed: dict[str, list[dict[str, Any]]]

    def to_dict(self) -> dict[str, Any]:
        """Everything in what JSON can say."""
        rows = {name: [{k: _plain(v) for k, v in row.items()} for row in t.to_pylist()] for name, t in self.rows.items()}
        return {
            "subject": self.subject,
            "rows": rows,
            "tables": self.facts,
            "uses": self.uses,
            "requests": self.requests,
            "rows_without_identity": self.unreadable,
            "looked_at": self.looked_at,
            "missed": self.missed,
        }


def entry(row: LogRow) -> dict[str, Any]:
    """A row of the log as it is shown."""
    return {"number": row.number, "time": row.time, "who": row.who, "kind": row.kind, **row.document}


def _plain(value: Any) -> Any:
    return value if value is None or isinstance(value, str | int | float) else str(value)
