"""Hadamard response: one bit about a public random column of a Hadamard matrix."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from discreet.core.random import Random
from discreet.local.exact_draws import bits
from discreet.local.frequency import FrequencyOracle
from discreet.local.law import local_mechanisms
from discreet.local.reports import Column, Columns
from discreet.mechanisms.sampling import uniform
from discreet.mechanisms.sampling.uniform import Booleans, Floats, Integers


@local_mechanisms("hadamard")
@dataclass(frozen=True)
class Hadamard(FrequencyOracle):
    """A uniform column j, and whether H[v+1, j] is +1, told truly with probability R / (R + 1) (Acharya et al. 2019).

    H is the K x K Hadamard matrix, K the least power of two above k, H[i, j] = (-1)^(number of common bits of i and j).
    Rows of H are orthogonal, so a report supports another category with probability exactly 1/2. n times the variance
    is ((R + 1) / (R - 1))^2 - f; the server needs one fast Walsh-Hadamard transform.

    Proof: the column is drawn without looking at the value; given the column one bit is told with odds R.
    """

    @property
    def columns(self) -> Mapping[str, Column]:
        return {"column": Column(0, self.order - 1), "answer": Column(0, 1)}

    @property
    def order(self) -> int:
        """K: the size of the matrix."""
        return int(1 << self.k.bit_length())

    @property
    def keep(self) -> Fraction:
        return self.odds / (self.odds + 1)

    @property
    def stray(self) -> Fraction:
        return Fraction(1, 2)

    @property
    def report_bytes(self) -> int:
        return -(-self.order.bit_length() // 8)  # log2 K bits for the column and one for the answer

    def draw(self, random: Random, encoded: Integers) -> Columns:
        column = uniform.below(random, self.order, encoded.size)
        truth = entry(encoded + 1, column)
        return {"column": column, "answer": (truth == bits(random, self.keep, encoded.size)).astype(np.int64)}

    def supports(self, columns: Columns) -> Integers:
        column = columns["column"].astype(np.int64)
        ones = np.bincount(column[columns["answer"] == 1], minlength=self.order)
        signed = 2 * ones - np.bincount(column, minlength=self.order)
        # count(+1) - count(-1) of H[v+1, j] * answer, hence the number of supports by adding n and halving.
        return (walsh(signed)[1 : self.k + 1] + len(column)) // 2

    def _log_prob(self, columns: Columns, codes: Integers) -> Floats:
        true = entry(codes + 1, columns["column"].astype(np.int64)) == (columns["answer"] == 1)
        value: Floats = np.where(true, np.log(float(self.keep)), np.log(float(1 - self.keep))) - np.log(self.order)
        return value


def entry(row: Integers, column: Integers) -> Booleans:
    """Whether H[row, column] is +1."""
    positive: Booleans = np.bitwise_count(row & column) % 2 == 0
    return positive


def walsh(values: Integers) -> Integers:
    """The Walsh-Hadamard transform H times values, in whole numbers: n log n additions."""
    out = values.astype(np.int64)
    half = 1
    while half < out.size:
        pairs = out.reshape(-1, 2, half)
        out = np.stack((pairs[:, 0] + pairs[:, 1], pairs[:, 0] - pairs[:, 1]), axis=1).reshape(-1)
        half *= 2
    return out
