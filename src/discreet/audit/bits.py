"""Floating-point attacks: what the last bits of an output give away about the input."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from discreet.audit.lower_bound import CONFIDENCE, LowerBound, lower_bound

_NONE = 4096  # the place of the lowest bit of zero, and of what is no number


def lowest_bit(values: Any) -> npt.NDArray[np.int64]:
    """The exponent of the lowest bit set in each double: coarse where a value was rounded, fine where it was not."""
    flat = np.asarray(values, np.float64)
    mantissa, exponent = np.frexp(np.where(np.isfinite(flat), flat, 0.0))
    whole = np.abs(mantissa * 2.0**53).astype(np.int64)
    lowest = whole & -whole
    place = np.where(whole > 0, np.log2(np.maximum(lowest, 1)), 0).astype(np.int64) + exponent - 53
    return np.where(whole > 0, place, _NONE).astype(np.int64)


def bit_bound(
    f: Any, a: Any, b: Any, trials: int = 20_000, *, batched: bool = False, confidence: float = CONFIDENCE
) -> LowerBound:
    """The epsilon certified by looking at nothing but where the lowest bit of an output stands, and its rough size.

    Mironov (2012): noise added in doubles is rounded to the spacing of the sum, which depends on the exact value.
    """

    def look(outputs: Any) -> Any:
        values = np.asarray(outputs, np.float64)
        size = np.clip(np.frexp(np.where(np.isfinite(values), values, 0.0))[1], -60, 60)
        return lowest_bit(values) * 128 + size

    return lower_bound(f, a, b, trials, batched=batched, confidence=confidence, features=look)
