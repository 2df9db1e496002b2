"""One line of the audit: what is claimed, and what samples certify of it."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any


@dataclass(frozen=True)
class Row:
    """One claim: what is promised, what is certified, and whether they agree. ``margin`` is certified over claimed."""

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

    def to_dict(self) -> dict[str, Any]:
        return asdict(self) | {"margin": self.margin}
