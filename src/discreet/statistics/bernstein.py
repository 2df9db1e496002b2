"""Polynomials of bounded numbers as weights on released cells.

A Bernstein factor of degree d spreads a row with t in [0, 1] over d + 1 cells C(d, k) t**k (1 - t)**(d - k), which are not
negative and sum to 1. t**j is the sum over k of C(k, j) / C(d, j) times cell k, so that every polynomial of degree at
most d is a weighted sum of the cells, exactly, row by row and therefore for sums over rows (Lorentz 1953, Bernstein
Polynomials).
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]


def cell_weights(polynomial: Floats, degrees: tuple[int, ...]) -> Floats:
    """The weights on the cells of one or several Bernstein factors; axis i of ``polynomial`` holds powers of variable i."""
    value = polynomial
    for axis, degree in enumerate(degrees):
        powers = _powers(degree)[: value.shape[axis]]
        value = np.moveaxis(np.tensordot(value, powers, axes=(axis, 0)), -1, axis)
    return value


def multiply(a: Floats, b: Floats) -> Floats:
    """The product of two polynomials of the same variables."""
    product = np.zeros([m + n - 1 for m, n in zip(a.shape, b.shape, strict=True)])
    for place in np.ndindex(a.shape):
        product[tuple(slice(p, p + n) for p, n in zip(place, b.shape, strict=True))] += a[place] * b
    return product


@lru_cache(maxsize=8)
def _powers(degree: int) -> Floats:
    """Row j: the weights of t**j."""
    rows = [[math.comb(k, j) / math.comb(degree, j) for k in range(degree + 1)] for j in range(degree + 1)]
    return np.array(rows)


def cells_at(degree: int, t: Floats) -> Floats:
    """The cells of numbers in [0, 1]: a line for each cell."""
    return np.array([math.comb(degree, k) * t**k * (1 - t) ** (degree - k) for k in range(degree + 1)])
