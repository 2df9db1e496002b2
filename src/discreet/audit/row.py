"""One line of the audit: what is claimed, and what samples certify of it."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

MUSEUM = ("broken", "trap")  # kinds of entry that the auditor has to refute


@dataclass(frozen=True)
class Row:
    """One claim: what is promised, what is certified, and whether they agree. ``margin`` is certified over claimed.

    Claims are of an epsilon; that of a ``trap`` is how often it is wrong.
    """

    kind: str
    name: str
    claim: float
    delta: float
    certified: float
    holds: bool
    seconds: float
    note: str = ""

    @property
    def margin(self) -> float:
        """How much of the claim the auditor reached."""
        return self.certified / self.claim if self.claim else 0.0

    @property
    def verdict(self) -> str:
        """What came of it, in a word."""
        return verdict(self.kind, self.holds)

    def to_dict(self) -> dict[str, Any]:
        return asdict(self) | {"margin": self.margin}


def verdict(kind: str, holds: bool) -> str:
    """What came of an entry of that kind, in a word."""
    good, bad = ("refuted", "NOT REFUTED") if kind in MUSEUM else ("holds", "BROKEN")
    return good if holds else bad
