"""Columns of numbers between public bounds."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from numbers import Real as RealNumber
from typing import Any, ClassVar, Self

from discreet.core.declaring import PRIVATE, Currencies, check_formula, read_price, written
from discreet.core.query import Relation
from discreet.errors import InvalidRequest
from discreet.expressions import KnownColumn

_LARGEST_WHOLE = 2**53  # whole numbers up to here are exact in doubles

# Beyond these, squares and scales of a column leave the range of doubles.
_NARROWEST, _WIDEST = 1e-100, 1e100


def check_apart(lo: float, hi: float, name: str, least: float = _NARROWEST) -> None:
    """Refuse two public numbers between which arithmetic in doubles would overflow, underflow or lose them."""
    if not hi - lo >= least or not max(abs(lo), abs(hi)) <= _WIDEST:
        raise InvalidRequest(
            f"{name} must lie within {_WIDEST:g} and at least {least:g} apart, got ({lo}, {hi}); use another unit",
            key=name,
        )


@dataclass(frozen=True)
class Bounded:
    """What the two kinds of number share: public bounds, and what a missing value becomes."""

    lo: float
    hi: float
    missing: float | str | None = None
    price: Currencies | Mapping[str, Any] | None = field(default=None, kw_only=True)
    formula: str | None = field(default=None, kw_only=True)
    type: ClassVar[str]

    def __post_init__(self) -> None:
        check_formula(self.formula)
        object.__setattr__(self, "price", read_price(self.price, "such as {'epsilon': 0.1} or {'rho': 0.01}"))
        given = f"({self.lo}, {self.hi})"  # as it was written: of dates not as numbers
        for side in ("lo", "hi"):
            object.__setattr__(self, side, self._number(getattr(self, side), side))
        if not self.lo < self.hi:
            raise InvalidRequest(f"bounds must be finite with lo < hi, got {given}; declare the public range", key="bounds")
        check_apart(self.lo, self.hi, "bounds")
        if self.missing is not None and self.missing != "drop":
            value = self._number(self.missing, "missing")
            if not self.lo <= value <= self.hi:
                raise InvalidRequest(
                    f"missing must lie within the bounds ({self.lo}, {self.hi}), got {value}; choose a value inside",
                    key="missing",
                )
            object.__setattr__(self, "missing", value)

    @classmethod
    def _number(cls, value: Any, name: str) -> float:
        try:
            number = float(value) if isinstance(value, RealNumber) and not isinstance(value, bool) else math.nan
        except OverflowError:
            number = math.inf
        if not math.isfinite(number):
            raise InvalidRequest(
                f"{name} must be a finite number, got {value!r}; declare a number",
                key=name,
            )
        return number

    def fill(self, relation: Relation) -> float | None:
        """The number a missing value becomes, or None where it contributes nothing."""
        if isinstance(self.missing, float | int):
            return float(self.missing)
        return (self.lo + (self.hi - self.lo) / 2) if relation == "replace" else None

    @property
    def private(self) -> bool:
        """Whether the bounds are an outer range, within which a session finds others for the ``price``."""
        return self.price is not None

    @property
    def known(self) -> KnownColumn:
        """What an expression knows of it."""
        return KnownColumn("number")

    def found(self, lo: float, hi: float) -> Self:
        """The declaration with bounds that were found; a missing value stays within them."""
        missing = min(max(self.missing, lo), hi) if isinstance(self.missing, float | int) else self.missing
        return replace(self, lo=lo, hi=hi, missing=missing, price=None)

    def to_dict(self) -> dict[str, Any]:
        """What TOML and JSON hold."""
        rule = {} if self.missing is None else {"missing": self.missing}
        rule |= {} if self.formula is None else {"formula": self.formula}
        if self.price is not None:
            return {"type": self.type, "bounds": PRIVATE, "outer": [self.lo, self.hi], "price": written(self.price), **rule}
        return {"type": self.type, "bounds": [self.lo, self.hi], **rule}


@dataclass(frozen=True)
class Real(Bounded):
    """A number between public bounds; values outside are clipped to them.

    ``missing``: None (contributes nothing under add/remove and both, the middle of the bounds under replace), a
    number within the bounds, or ``"drop"`` (contributes nothing; not under replace, where the row count is public).
    ``price``, such as ``{"epsilon": 0.1}``: the bounds are a wide outer range, and a session pays that to find others in it.
    ``formula``: it is computed from other columns of the same row, see ``discreet.expressions``, and clipped like any other.
    """

    type: ClassVar[str] = "real"


@dataclass(frozen=True)
class Integer(Bounded):
    """A whole number between public bounds; as ``Real`` otherwise."""

    type: ClassVar[str] = "integer"

    @classmethod
    def _number(cls, value: Any, name: str) -> float:
        number = super()._number(value, name)
        if number != int(number) or abs(number) > _LARGEST_WHOLE:
            raise InvalidRequest(f"{name} must be a whole number of size at most 2**53, got {value!r}; or declare Real")
        return int(number)
