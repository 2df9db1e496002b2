"""Sums of products of rows in whole numbers: the same in any order, and for any number of people.

A row of a layer is a d^T with a its input and d its shortened derivative. With 2^e the power of two above the largest |a_i|,
a 2^-e lies within [-1, 1] and d 2^e / unit within [-1, 1] too, ``unit`` being a power of two made from the clip norm. Each
is cut into three slices of 22 bits; products of slices are whole numbers below 2^44, and a BLAS adds 256 of them without
rounding, in any order. What is cut off is below 2^-63 of the unit for each row and parameter.

Totals are four rows of 64-bit digits: row k counts units of 2^(-22 (k+1)), and holds 2^39 rows of a table.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from discreet.models.gradient.network import Network

CANCELS = 64  # a person's rows may cancel so many times; beyond, the person counts as if they cancelled no more
_BITS = 22
_BASE = 2.0**_BITS
_ROWS = 256  # 2^8 products below 2^44, and three such sums, stay below 2^53
_DIGITS = 4


def unit(clip: float, most: int) -> float:
    """A power of two above twice the longest that a shortened row can be: clip, or 64 times that among rows that cancel."""
    return math.ldexp(1.0, math.frexp(clip)[1] + 2) * (CANCELS if most > 1 else 1)


def nothing(size: int) -> Any:
    """The digits of zero."""
    return np.zeros((_DIGITS, size), np.int64)


def products(network: Network, ups: list[Any], downs: list[Any], scale: float) -> Any:
    """The digits of the sum over rows of a d^T, layer after layer as parameters lie; ``scale`` is the unit."""
    total = nothing(network.size)
    for start in range(0, len(ups[0]), _ROWS):
        place = 0
        for up, down in zip(ups, downs, strict=True):
            a, d = up[start : start + _ROWS], down[start : start + _ROWS]
            power = np.frexp(np.max(np.abs(a), axis=1))[1][:, None]
            first, second, third = _slices(np.ldexp(a, -power))
            one, two, three = _slices(np.ldexp(d, power) / scale)
            sums = (
                first.T @ one,
                first.T @ two + second.T @ one,
                first.T @ three + second.T @ two + third.T @ one,
            )
            stop = place + a.shape[1] * d.shape[1]
            for level, made in enumerate(sums):
                whole = made.reshape(-1).astype(np.int64)
                total[level, place:stop] += whole >> _BITS
                total[level + 1, place:stop] += whole & ((1 << _BITS) - 1)
            place = stop
    return total


def digits(values: Any, scale: float) -> Any:
    """The digits of numbers below the unit, cut off below 2^-88 of it."""
    total = nothing(len(values))
    rest = values / scale
    for level in range(_DIGITS):
        rest = rest * _BASE
        whole = np.floor(rest)
        total[level] = whole
        rest = rest - whole
    return total


def number(total: Any, scale: float) -> Any:
    """The number that digits stand for, rounded once; digits of one number give one result however they were added up."""
    kept = [row.copy() for row in total]
    for level in range(_DIGITS - 1, 0, -1):
        kept[level - 1] += kept[level] >> _BITS
        kept[level] &= (1 << _BITS) - 1
    made = np.zeros(total.shape[1])
    for row in kept[::-1]:
        made = made / _BASE + row
    return made * (scale / _BASE)


def _slices(rows: Any) -> tuple[Any, Any, Any]:
    """Numbers within [-1, 1] as whole numbers x + y 2^-22 + z 2^-44 in units of 2^-22."""
    found, rest = [], rows
    for _ in range(3):
        rest = rest * _BASE
        whole = np.rint(rest)
        found.append(whole)
        rest = rest - whole
    return found[0], found[1], found[2]
