"""Draws from a public stream of each release's own, for p-values by Monte Carlo: reading it twice reads the same.

A stream common to all releases would give all of them one critical value, as far off as its few hundred draws happen to be;
streams of their own make the level right over many releases.

Nothing here is private noise: what is drawn is a hypothesis, made of what was released already.
"""

from __future__ import annotations

from functools import lru_cache
from hashlib import sha256

import numpy as np
import numpy.typing as npt

from discreet.core.mechanism import Mechanism
from discreet.core.random import Random

Floats = npt.NDArray[np.float64]

_COMMON = 2026  # where a caller has no stream of its own
_EXACT = 25.0  # below this variance a binomial number is drawn exactly


def stream_of(cells: Floats) -> int:
    """The public seed that follows from released numbers."""
    return int.from_bytes(sha256(np.ascontiguousarray(cells, np.float64).tobytes()).digest()[:7], "little")


@lru_cache(maxsize=8)
def uniforms(runs: int, size: int, stream: int = _COMMON) -> Floats:
    """Numbers strictly between 0 and 1."""
    words = Random(stream).words(runs * size) >> np.uint64(11)
    return ((words.astype(np.float64) + 0.5) * 2.0**-53).reshape(runs, size)


@lru_cache(maxsize=8)
def normals(runs: int, size: int, stream: int = _COMMON) -> Floats:
    """Standard normal numbers."""
    from scipy.special import ndtri

    return np.asarray(ndtri(uniforms(runs, size, stream)))


@lru_cache(maxsize=8)
def noise(law: Mechanism, runs: int, size: int, stream: int = _COMMON) -> Floats:
    """Fresh noise of a law on ``size`` numbers."""
    return np.asarray(law.release(np.zeros((runs, size)), seed=Random(stream + 1)), np.float64).reshape(runs, size)


def multinomial(total: int, shares: Floats, uniform: Floats) -> Floats:
    """Counts of ``total`` people over cells with ``shares`` that sum to 1, one line for each line of uniform numbers.

    Cell by cell, each a binomial number of those that are left.
    """
    left = np.full(len(uniform), float(total))
    rest, counts = 1.0, np.zeros((len(uniform), len(shares)))
    for cell, share in enumerate(shares[:-1]):
        p = min(max(share / rest, 0.0), 1.0) if rest > 1e-12 else 0.0
        counts[:, cell] = binomial(left, p, uniform[:, cell])
        left, rest = left - counts[:, cell], rest - share
    counts[:, -1] = left
    return counts


def binomial(n: Floats, p: float, uniform: Floats) -> Floats:
    """Binomial numbers by inversion: exactly up to a variance of 25, then by a normal quantile corrected for skewness.

    The correction is the first of Cornish and Fisher's (1938); what it leaves out moves no probability by more than about
    .002 at a variance of 25, and less in proportion beyond.
    """
    from scipy.special import ndtri

    if p > 0.5:
        return n - binomial(n, 1 - p, uniform)
    spread = n * p * (1 - p)
    z = ndtri(uniform)
    found = np.clip(np.rint(n * p + np.sqrt(spread) * z + (1 - 2 * p) * (z * z - 1) / 6), 0.0, n)
    few = np.flatnonzero(spread < _EXACT)
    if not few.size:
        return np.asarray(found)
    some, u = n[few], uniform[few].copy()
    mass, k, odds = (1 - p) ** some, np.zeros(few.size), p / (1 - p)
    for step in range(int(some.max()) if some.size else 0):
        u = u - mass
        above = u > 0
        if not above.any():
            break
        k[above] = step + 1
        mass = np.where(above, mass * np.maximum(some - step, 0.0) / (step + 1) * odds, 0.0)
    found[few] = np.minimum(k, some)
    return np.asarray(found)
