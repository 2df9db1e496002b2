"""Amounts of a budget as mailboxes and replies carry them: objects of epsilon, delta and rho, each a rational as text."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from discreet.accounting.filters import Remaining
from discreet.core import numbers

WORDS = ("epsilon", "delta", "rho")


def after(left: Mapping[str, Any], price: Mapping[str, Any]) -> dict[str, str | None] | None:
    """What is left of an amount after a price, in the amount's own currencies; None where it does not suffice."""
    made: dict[str, str | None] = {}
    for word in WORDS:
        if left.get(word) is None:
            continue
        if price.get(word) is None:
            return None
        rest = Fraction(left[word]) - Fraction(price[word])
        if rest < 0:
            return None
        made[word] = str(rest)
    return made


def remaining(given: Mapping[str, Any]) -> Remaining:
    """An amount as a session says what remains."""
    read = {word: None if given.get(word) is None else numbers.rational(given[word], word) for word in WORDS}
    return Remaining(read["epsilon"], read["delta"] or Fraction(0), read["rho"])
