"""Quantiles of a normal variable plus a coordinate of spherical Laplace noise: what a private coefficient is wrong by."""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]

_NODES = 801
_ROUNDS = 200


def quantiles(p: float, variance: Floats, laplace: Floats, dimension: int) -> Floats:
    """The p-quantiles, p >= 1/2, of variables with characteristic function exp(-v t^2 / 2) (1 + a^2 t^2)^(-(d + 1) / 2).

    ``variance`` holds v and ``laplace`` a, one for each variable; d is ``dimension``. The second factor is that of one
    coordinate of spherical Laplace noise of scale a in d dimensions.

    Proof: with m = (d + 1) / 2, (1 + a^2 t^2)^(-m) is the mean of exp(-a^2 G t^2) over G ~ Gamma(m), so the whole is the
    characteristic function of a normal variable of variance v + 2 a^2 G, which inverts to P(X > x) = mean of Phi(-x / sqrt(v
    + 2 a^2 G)). The mean is taken by the trapezoidal rule over ln G, whose error falls faster than any power of the step for
    a density that vanishes at both ends. The tail is convex and falling for x >= 0, and that of N(0, v) lies below it, so
    Newton's method from the quantile of N(0, v) climbs to the root without passing it.
    """
    from scipy.special import ndtr, ndtri

    v, a = np.broadcast_arrays(np.asarray(variance, np.float64), np.asarray(laplace, np.float64))
    gamma, weight = _mixing(dimension)
    deviation = np.sqrt(v[:, None] + 2.0 * (a * a)[:, None] * gamma)
    tail = 1.0 - p
    x: Floats = np.sqrt(v) * float(ndtri(p))
    spread = np.sqrt(v + (dimension + 1) * a * a)
    wide = a > 0.0  # the others are normal already
    deviation = np.where(deviation > 0.0, deviation, 1.0)
    for _ in range(_ROUNDS):
        z = x[:, None] / deviation
        excess = ndtr(-z) @ weight - tail
        slope = (np.exp(-0.5 * z * z) / deviation) @ weight / math.sqrt(2.0 * math.pi)
        step = np.where(wide, np.maximum(excess, 0.0) / np.maximum(slope, 1e-300), 0.0)
        x = x + step
        if (step <= 1e-13 * spread).all():
            break
    return x


@lru_cache(maxsize=64)
def _mixing(dimension: int) -> tuple[Floats, Floats]:
    """Nodes and weights of a Gamma((d + 1) / 2) variable."""
    shape = (dimension + 1) / 2
    log_g = np.linspace(math.log(shape) - 45.0 / shape - 9.0 / math.sqrt(shape),
                        math.log(shape + 12.0 * math.sqrt(shape) + 60.0), _NODES)  # fmt: skip
    density = np.exp(shape * log_g - np.exp(log_g) - math.lgamma(shape))
    weight = density * (log_g[1] - log_g[0])
    return np.exp(log_g), weight / weight.sum()
