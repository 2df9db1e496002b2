"""What a question may weigh. All of it is public, and can be set in ``serve.toml``."""

from __future__ import annotations

from dataclasses import dataclass, fields
from fractions import Fraction
from typing import Any

from discreet.core import numbers
from discreet.core.codec import fields_written
from discreet.errors import InvalidRequest, UnknownName


@dataclass(frozen=True)
class Limits:
    """The most that a question may weigh, and how many may be sent; ``epsilon`` is the least price."""

    body: int = 64 * 1024  # bytes
    brackets: int = 2000
    depth: int = 24
    number: int = 32  # characters
    text: int = 500  # characters
    asks: int = 20  # in one question
    numbers: int = 10_000  # released by one question
    bins: int = 1000
    features: int = 200
    steps: int = 10_000
    epsilon: Fraction = Fraction(1, 10_000)
    per_minute: int = 60  # requests of one analyst
    queued: int = 20  # requests of one analyst
    connections: int = 200

    def __post_init__(self) -> None:
        for each in fields(self):
            value = getattr(self, each.name)
            if each.name == "epsilon":
                object.__setattr__(self, each.name, numbers.positive(value, "epsilon"))
            elif isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= 1 << 31:
                raise InvalidRequest(f"the limit {each.name} must be a whole number of at least 1, got {value!r}")

    @staticmethod
    def of(given: dict[str, Any]) -> Limits:
        """From a table of a file; a limit that is not given is the default."""
        known = [each.name for each in fields(Limits)]
        for name in given:
            if name not in known:
                raise UnknownName(f"no limit is called {name!r}; known: {', '.join(known)}")
        return Limits(**given)

    def to_dict(self) -> dict[str, Any]:
        return fields_written(self)
