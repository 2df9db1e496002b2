"""From bounded values to whole numbers: the one place that clips and quantises.

A value x with public bounds lo < hi becomes t = (clip(x) - lo) / (hi - lo) and the whole number nearest t * 2**BITS.
Whole numbers below 2**53 are exact in doubles, so sums of a block are exact in any order and on any engine.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import numpy.typing as npt

BITS = 30
ONE = float(1 << BITS)  # the whole number that stands for t = 1
UNIT = Fraction(1, 1 << BITS)

Floats = npt.NDArray[np.float64]


def quantise(values: Floats, lo: float, hi: float, *, steps: float = ONE) -> Floats:
    """Whole numbers 0 .. steps as doubles; a missing value (NaN) stays NaN, an infinite one is clipped.

    Proof: clip, subtraction, product and rint are each monotone in doubles, and lo maps to 0 and hi to at most
    ``steps`` after the last minimum, so the result always lies within the declared range, whatever the record holds.
    """
    codes = np.clip(values, lo, hi).astype(np.float64, copy=False)
    codes -= lo
    codes *= steps / (hi - lo)
    np.rint(codes, out=codes)
    return np.minimum(codes, steps, out=codes)
