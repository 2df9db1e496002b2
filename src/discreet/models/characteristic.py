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
    coordinate of spherical Laplace noise of scale a in d dimensions. Rows of two axes are equally likely: the quantiles are
    those of the mixture of each column.

    Proof: with m = (d + 1) / 2, (1 + a^2 t^2)^(-m) is the mean of exp(-a^2 G t^2) over G ~ Gamma(m), so the whole is the
    characteristic function of a normal variable of variance v + 2 a^2 G, which inverts to P(X > x) = mean of Phi(-x / sqrt(v
    + 2 a^2 G)). The mean is taken by the trapezoidal rule over ln G, whose error falls faster than any power of the step for
    a density that vanishes at both ends. Phi(-x u) is convex in u > 0, so the tail is at least Phi(-x times the mean of 1 /
    deviation): its quantile lies below the root, and because the tail is convex and falling for x >= 0, Newton's method
    climbs from there to the root without passing it.
    """
    from scipy.special import ndtr, ndtri

    v, a = np.broadcast_arrays(np.atleast_2d(variance), np.atleast_2d(laplace))
    v, a = v.T.astype(np.float64), a.T.astype(np.float64)
    gamma, weight = _mixing(dimension, _nodes(v.shape[1], dimension)) if a.any() else (np.zeros(1), np.ones(1))
    deviation = np.sqrt(v[:, :, None] + 2.0 * (a * a)[:, :, None] * gamma).reshape(len(v), -1)
    weight = np.tile(weight, v.shape[1]) / v.shape[1]
    tail = 1.0 - p
    over = 1.0 / np.maximum(deviation, 1e-150)
    x: Floats = float(ndtri(p)) / (over @ weight)
    spread = np.sqrt((v + (dimension + 1) * a * a).mean(1))
    for _ in range(_ROUNDS):
        z = x[:, None] * over
        excess = ndtr(-z) @ weight - tail
        slope = (np.exp(-0.5 * z * z) * over) @ weight / math.sqrt(2.0 * math.pi)
        step = np.maximum(excess, 0.0) / np.maximum(slope, 1e-300)
        x = x + step
        if (step <= 1e-13 * spread).all():
            break
    return x


def upper_tail(x: float, variance: Floats, laplace: Floats, dimension: int) -> float:
    """P(X > x) of a variable as in ``quantiles``; rows of ``variance`` and ``laplace`` (one column) are equally likely."""
    from scipy.special import ndtr

    v, a = (np.ravel(np.asarray(part, np.float64)) for part in np.broadcast_arrays(variance, laplace))
    gamma, weight = _mixing(dimension, _nodes(v.size, dimension)) if a.any() else (np.zeros(1), np.ones(1))
    deviation = np.sqrt(v[:, None] + 2.0 * (a * a)[:, None] * gamma)
    return float((ndtr(-x / np.maximum(deviation, 1e-150)) @ weight).mean())


def _nodes(rows: int, dimension: int) -> int:
    """Fewer for mixtures, whose rows are many; the narrower the law of ln G, the fewer are needed for the same error."""
    return _NODES if rows == 1 else 101 if dimension < 5 else 41


@lru_cache(maxsize=64)
def _mixing(dimension: int, nodes: int) -> tuple[Floats, Floats]:
    """Nodes and weights of a Gamma((d + 1) / 2) variable."""
    shape = (dimension + 1) / 2
    log_g = np.linspace(math.log(shape) - 45.0 / shape - 9.0 / math.sqrt(shape),
                        math.log(shape + 12.0 * math.sqrt(shape) + 60.0), nodes)  # fmt: skip
    density = np.exp(shape * log_g - np.exp(log_g) - math.lgamma(shape))
    weight = density * (log_g[1] - log_g[0])
    return np.exp(log_g), weight / weight.sum()
