"""From bounded values to whole numbers: the one place that clips and quantises.

A value x with public bounds lo < hi becomes t = (clip(x) - lo) / (hi - lo) and the whole number nearest t * 2**BITS.
Whole numbers below 2**53 are exact in doubles, so sums of a block are exact in any order and on any engine.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

BITS = 30
ONE = float(1 << BITS)  # the whole number that stands for t = 1
UNIT = Fraction(1, 1 << BITS)

Floats = npt.NDArray[np.float64]


# Values at a time: their whole numbers add up to less than 2**53, and what is made of them on the way stays small.
STEP = 1 << 18


def quantise(values: Any, lo: float, hi: float, *, steps: float = ONE, out: Floats | None = None, xp: Any = np) -> Any:
    """Whole numbers 0 .. steps as doubles; a missing value (NaN) stays NaN, an infinite one is clipped.

    ``xp`` is the library of the arrays, NumPy or one like it; NumPy's are computed in place.

    Proof: subtraction, product, clip and rint are each monotone in doubles, lo maps to 0, and the clip keeps everything
    within 0 .. steps, so the result always lies within the declared range, whatever the record holds.
    """
    if xp is not np:
        return xp.rint(xp.clip((values - lo) * (steps / (hi - lo)), 0.0, steps))
    with np.errstate(over="ignore"):  # a number beyond the doubles is clipped like any other
        codes = np.subtract(values, lo, out=out, dtype=np.float64)
        codes *= steps / (hi - lo)
    np.clip(codes, 0.0, steps, out=codes)
    return np.rint(codes, out=codes)
