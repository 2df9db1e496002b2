"""A public stream of random numbers that follows from what was released: the same releases give the same tables.

Nothing here is private noise: whatever is drawn is made of numbers that were released already.
"""

from __future__ import annotations

from collections.abc import Iterable
from hashlib import sha256

import numpy as np
import numpy.typing as npt

from discreet.core.random import Random

Floats = npt.NDArray[np.float64]


class Stream:
    """Uniform, exponential and gamma numbers from the seed of some releases and a number."""

    def __init__(self, seed: int, number: int = 0) -> None:
        self.random = Random((seed << 20) + number)

    def uniforms(self, size: int) -> Floats:
        """Numbers strictly between 0 and 1."""
        words = self.random.words(size) >> np.uint64(11)
        return np.asarray((words.astype(np.float64) + 0.5) * 2.0**-53)

    def normals(self, size: int) -> Floats:
        """Standard normal numbers."""
        from scipy.special import ndtri

        return np.asarray(ndtri(self.uniforms(size)))

    def gammas(self, shapes: Floats) -> Floats:
        """Gamma numbers of scale 1 (Marsaglia and Tsang 2000): a shape below 1 is raised by 1, then thinned."""
        raised = np.where(shapes < 1, shapes + 1, shapes)
        d = raised - 1 / 3
        c = 1 / np.sqrt(9 * d)
        made = np.zeros(shapes.shape)
        left = np.arange(shapes.size)
        while left.size:
            x, u = self.normals(left.size), self.uniforms(left.size)
            v = (1 + c[left] * x) ** 3
            with np.errstate(invalid="ignore", divide="ignore"):
                taken = (v > 0) & (np.log(u) < x * x / 2 + d[left] * (1 - v + np.log(v)))
            made[left[taken]] = d[left[taken]] * v[taken]
            left = left[~taken]
        small = shapes < 1
        thinned = np.exp(np.log(self.uniforms(int(small.sum()))) / np.maximum(shapes[small], 1e-300))
        made[small] *= thinned
        return made


def seed_of(values: Iterable[npt.ArrayLike]) -> int:
    """The public seed that follows from released numbers."""
    made = sha256()
    for value in values:
        made.update(np.ascontiguousarray(value, np.float64).tobytes())
    return int.from_bytes(made.digest()[:7], "little")
