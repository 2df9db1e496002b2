"""Whether the cap of accounts on parts implies what was paid for them: decided when they are opened, and in ``verify``."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction

from discreet.accounting.conversions import epsilon
from discreet.core.cost import Cost
from discreet.errors import InvalidRequest


def implies(cap: Cost, paid: Cost) -> None:
    """Refuse accounts that are held to a ``cap`` which does not imply what is ``paid`` for them.

    Proof: draws are held to the cap by ``Cost <=``, whose doubles may exceed it in the last digits, so what was drawn is
    within ``cap.padded()``. That is held against ``paid`` without its claim of epsilon part by part: rationals as they are,
    and doubles without any allowance. The claim of ``paid`` is the cap's own, compared as the rationals they are, or follows
    from the rest of the cap by a conversion, whose double is compared as the rational it is.
    """
    drawn = cap.padded()
    rest = replace(paid, epsilon=None)
    held = drawn <= rest and all(a <= b for a, b in zip(drawn.curve, paid.curve, strict=True))
    if not held or not (drawn <= paid or _converts(drawn, paid)):
        raise InvalidRequest(f"what accounts are held to must imply what is paid for them, got {cap} for {paid}")


def _converts(cap: Cost, paid: Cost) -> bool:
    implied = epsilon(replace(cap, epsilon=None), paid.delta)
    return paid.epsilon is not None and implied < math.inf and Fraction(implied) <= paid.epsilon
