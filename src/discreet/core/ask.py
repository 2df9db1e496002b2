"""What a procedure may yield: a question with the law of its answer, or the opening of a prepaid account."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from discreet.core.cost import Cost
from discreet.core.mechanism import Mechanism
from discreet.core.query import Query
from discreet.errors import InvalidRequest


@dataclass(frozen=True)
class Ask:
    """One question: what to compute, the law of the answer, and the account that pays (the ledger if none)."""

    query: Query
    mechanism: Mechanism
    account: Account | None = None

    @property
    def question(self) -> dict[str, Any]:
        """The question as it is written into the ledger: the same for the same question."""
        return {"query": self.query.to_dict(), "mechanism": self.mechanism.to_dict()}


@dataclass(frozen=True)
class Account:
    """A prepaid account at a ledger: its number there and, where it is for part ``part`` of ``parts`` people, which."""

    number: int
    part: int = 0
    parts: int | None = None


@dataclass(frozen=True)
class Open:
    """Pay once for much: ``steps`` asks of one ``plan``, or ``parts`` accounts on disjoint people capped at ``cost``.

    Proof: with ``plan`` the account accepts only asks whose law and query are the plan's, ``steps`` of them, and the
    cost was computed for exactly that sequence before any of it ran. With ``parts`` one person is in one part only;
    each part is a filter at ``cost``, so the whole costs what the dearest part may.
    """

    cost: Cost
    plan: Ask | None = None
    steps: int = 1
    parts: int | None = None

    def __post_init__(self) -> None:
        if (self.plan is None) == (self.parts is None):
            raise InvalidRequest("an account is opened either for a plan of steps or for disjoint parts; give one of them")
        if self.steps < 1 or (self.parts is not None and self.parts < 1):
            raise InvalidRequest(f"steps and parts must be at least 1, got steps={self.steps}, parts={self.parts}")
