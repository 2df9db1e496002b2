"""What a ledger may spend in all: pure, approximate or concentrated."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal

from discreet.core import numbers
from discreet.core.codec import fields_written
from discreet.core.documents import brief
from discreet.core.numbers import Number
from discreet.errors import InvalidRequest, UnsupportedFormat

Composition = Literal["basic", "renyi"]


@dataclass(frozen=True, init=False)
class Budget:
    """The most that may be learnt about one person.

    ``Budget(epsilon=1)`` is pure, ``Budget(epsilon=1, delta=1e-6)`` approximate, ``Budget(rho=0.5)`` concentrated
    (with ``delta`` for parts that are only so outside an event of that probability). ``composition="renyi"`` makes
    an approximate budget add Rényi curves instead of epsilons: many small Gaussian questions then cost far less,
    and one question for the whole budget no longer fits.
    """

    epsilon: Fraction | None
    delta: Fraction
    rho: Fraction | None
    composition: Composition

    def __init__(
        self,
        epsilon: Number | None = None,
        delta: Number = 0,
        rho: Number | None = None,
        composition: Composition = "basic",
    ) -> None:
        if (epsilon is None) == (rho is None):
            raise InvalidRequest(f"a budget takes either epsilon or rho, got epsilon={epsilon}, rho={rho}")
        exact_delta = numbers.rational(delta, "delta")
        if exact_delta:
            numbers.probability(exact_delta, "delta")
        if composition not in ("basic", "renyi"):
            raise InvalidRequest(f"composition must be 'basic' or 'renyi', got {composition!r}")
        if composition == "renyi" and (epsilon is None or not exact_delta):
            raise InvalidRequest("composition='renyi' needs an epsilon and a delta; give both, or use 'basic'")
        set_ = object.__setattr__
        set_(self, "epsilon", None if epsilon is None else numbers.positive(epsilon, "epsilon"))
        set_(self, "delta", exact_delta)
        set_(self, "rho", None if rho is None else numbers.positive(rho, "rho"))
        set_(self, "composition", composition)

    def __str__(self) -> str:
        main = f"ρ={float(self.rho):.6g}" if self.epsilon is None and self.rho else f"ε={float(self.epsilon or 0):.6g}"
        return main + (f", δ={float(self.delta):.3g}" if self.delta else "")

    def to_dict(self) -> dict[str, Any]:
        return fields_written(self)

    @staticmethod
    def from_dict(doc: dict[str, Any]) -> Budget:
        try:
            return Budget(doc["epsilon"], doc["delta"], doc["rho"], doc["composition"])
        except (KeyError, TypeError) as problem:
            raise UnsupportedFormat(f"a budget needs epsilon, delta, rho and composition, got {brief(doc)}") from problem
