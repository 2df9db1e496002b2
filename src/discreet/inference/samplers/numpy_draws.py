"""NumPy's generator, for draws from a posterior: of what was released already. Nothing private is drawn with it."""

from __future__ import annotations

import numpy as np

Generator = np.random.Generator


def generator(*seed: int) -> Generator:
    """The draws that follow from whole numbers."""
    return np.random.default_rng(seed)
