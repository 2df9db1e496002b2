"""Floating-point attacks: what the last bits of an output give away about the input."""

from __future__ import annotations

from typing import Any

import numpy as np

from discreet.audit.lower_bound import CONFIDENCE, LowerBound, lower_bound
from discreet.audit.views import Integers, lowest_and_size


def bit_bound(
    f: Any, a: Any, b: Any, trials: int = 20_000, *, batched: bool = False, confidence: float = CONFIDENCE
) -> LowerBound:
    """The epsilon certified by looking at nothing but where the lowest bit of an output stands, and its rough size.

    Mironov (2012): noise added in doubles is rounded to the spacing of the sum, which depends on the exact value.
    """

    def look(outputs: Any) -> Integers:
        return lowest_and_size(np.asarray(outputs, np.float64))

    return lower_bound(f, a, b, trials, batched=batched, confidence=confidence, features=look)
