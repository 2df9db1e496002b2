"""Codes that say less when they are cut from the right, such as postal codes."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any, ClassVar

from discreet.errors import InvalidRequest
from discreet.protect.hierarchies import TOP, Hierarchy


@dataclass(frozen=True)
class Prefixes(Hierarchy):
    """Texts of one length, of which fewer and fewer characters stay.

    Proof: a shorter prefix is a function of a longer one, so levels nest.
    """

    length: int
    keep: tuple[int, ...] | None = None
    alphabet: int = 10
    kind: ClassVar[str] = "prefixes"

    def __post_init__(self) -> None:
        for name, least in (("length", 1), ("alphabet", 2)):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int) or value < least:
                raise InvalidRequest(f"{name} must be a whole number of at least {least}, got {value!r}")
        if self.keep is None:
            object.__setattr__(self, "keep", tuple(range(self.length - 1, 0, -1)))
        kept = (self.length, *self._keep, 0)
        whole = all(isinstance(n, int) and not isinstance(n, bool) for n in kept)
        if not whole or any(a <= b for a, b in pairwise(kept)):
            raise InvalidRequest(
                f"keep must fall from below {self.length} to at least 1, got {list(self._keep)}; the value itself and the "
                "top are added anyway"
            )

    @property
    def _keep(self) -> tuple[int, ...]:
        return self.keep or ()

    @cached_property
    def levels(self) -> tuple[str, ...]:  # type: ignore[override]
        return ("value", *(f"first {n}" for n in self._keep), "top")

    def path(self, value: str) -> tuple[str, ...]:
        if len(value) != self.length:
            raise InvalidRequest(
                f"a hierarchy of prefixes needs texts of {self.length} characters, got {value!r}; pad it (a number loses "
                "its leading zeros: keep such codes as text)"
            )
        return (value, *(value[:n] + TOP * (self.length - n) for n in self._keep), TOP)

    def loss(self, value: str, level: int) -> float:
        kept = (self.length, *self._keep, 0)[level]
        return float(self.alphabet) ** -kept if level else 0.0

    def to_dict(self) -> dict[str, Any]:
        return {"kind": self.kind, "length": self.length, "keep": list(self._keep), "alphabet": self.alphabet}
