"""Optimised unary encoding: one bit for every category, each flipped by itself."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from discreet.core.random import Random
from discreet.local.exact_draws import bits, fair
from discreet.local.frequency import FrequencyOracle, counted, packed, unpacked
from discreet.local.law import local_mechanisms
from discreet.local.reports import Column, Columns
from discreet.mechanisms.sampling.uniform import Floats, Integers


@local_mechanisms("optimized_unary")
@dataclass(frozen=True)
class OptimizedUnary(FrequencyOracle):
    """Your own bit is 1 with probability 1/2, every other bit with probability q = 1 / (R + 1) (Wang et al. 2017).

    n times the variance at share 0 is 4 R / (R - 1)^2, for any number of categories.

    Proof: two values change the law of two bits. Where the first is 1 and the second 0 the ratio is
    (1/2)(1 - q) / (q (1/2)) = R, and no other pair of bits gives more.
    """

    @property
    def columns(self) -> Mapping[str, Column]:
        return {"bits": Column.of_marks(self.k)}

    @property
    def width(self) -> int:
        return self.k

    @property
    def keep(self) -> Fraction:
        return Fraction(1, 2)

    @property
    def stray(self) -> Fraction:
        return 1 / (self.odds + 1)

    @property
    def report_bytes(self) -> int:
        return -(-self.k // 8)

    def draw(self, random: Random, encoded: Integers) -> Columns:
        marks = bits(random, self.stray, encoded.size * self.k).reshape(-1, self.k)
        marks[np.arange(encoded.size), encoded] = fair(random, encoded.size)
        return {"bits": packed(marks)}

    def supports(self, columns: Columns) -> Integers:
        return counted(columns["bits"], self.k)

    def _log_prob(self, columns: Columns, codes: Integers) -> Floats:
        marks, q = unpacked(columns["bits"], self.k), float(self.stray)
        codes = np.broadcast_to(codes, len(marks))
        own = marks[np.arange(len(marks)), codes]
        ones = marks.sum(axis=1, dtype=np.int64) - own
        value: Floats = np.log(0.5) + ones * np.log(q) + (self.k - 1 - ones) * np.log1p(-q)
        return value
