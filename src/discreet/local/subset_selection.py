"""Subset selection: report a small set of categories, which holds yours more often than chance would have it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import combinations

import numpy as np
import numpy.typing as npt

from discreet.core.random import Random
from discreet.errors import UnsupportedFormat
from discreet.local.exact_draws import below, bits, subsets_around
from discreet.local.frequency import FrequencyOracle, counted, packed, unpacked
from discreet.local.law import local_mechanisms
from discreet.local.reports import Column, Columns
from discreet.mechanisms.sampling.uniform import Floats, Integers

_FEW = 1 << 10


@local_mechanisms("subset_selection")
@dataclass(frozen=True)
class SubsetSelection(FrequencyOracle):
    """A set of w categories, with probability proportional to R if it holds the truth and to 1 if not (Ye and Barg 2018).

    p = w R / (w R + k - w), q = (w - p) / (k - 1), and w is the better of the whole numbers around k / (R + 1). Never
    worse than randomised response (w = 1) or unary encoding.

    Proof: every value has the same normaliser, C(k-1, w-1) R + C(k-1, w), so the ratio is R, 1 or 1/R.
    """

    @property
    def columns(self) -> Mapping[str, Column]:
        return {"subset": Column.of_marks(self.k)}

    @cached_property
    def size(self) -> int:
        """w: how many categories are reported."""
        near = math.floor(self.k / (self.odds + 1))
        sizes = {min(max(w, 1), self.k - 1) for w in (near, near + 1)}
        return min(sorted(sizes), key=self._variance_of)

    def _variance_of(self, size: int) -> Fraction:
        p, q = self._chances(size)
        return q * (1 - q) / (p - q) ** 2

    def _chances(self, size: int) -> tuple[Fraction, Fraction]:
        p = size * self.odds / (size * self.odds + self.k - size)
        return p, (size - p) / (self.k - 1)

    @property
    def width(self) -> int:
        return self.k

    @property
    def keep(self) -> Fraction:
        return self._chances(self.size)[0]

    @property
    def stray(self) -> Fraction:
        return self._chances(self.size)[1]

    @property
    def report_bytes(self) -> int:
        return -(-self.k // 8)

    def check(self, columns: Columns) -> None:
        if (np.bitwise_count(columns["subset"]).sum(axis=1) != self.size).any():
            raise UnsupportedFormat(f"a subset must hold exactly {self.size} categories; one does not")

    def draw(self, random: Random, encoded: Integers) -> Columns:
        held = bits(random, self.keep, encoded.size)
        if self._short is not None:
            with_, without = self._short
            inside, outside = (below(random, table.shape[1], encoded.size) for table in self._short)
            return {"subset": np.where(held[:, None], with_[encoded, inside], without[encoded, outside])}
        return {"subset": packed(subsets_around(random, self.size, self.k, encoded, held))}

    @cached_property
    def _short(self) -> tuple[npt.NDArray[np.uint8], npt.NDArray[np.uint8]] | None:
        """For few categories, all subsets that hold each one, and all that do not: a draw is one look into a list."""
        # There are at least k of them, and of a million categories the number of subsets takes seconds to count.
        if self.k > _FEW or math.comb(self.k, self.size) > _FEW:
            return None
        places = np.arange(self.k)
        marks = np.array([np.isin(places, chosen) for chosen in combinations(range(self.k), self.size)])
        rows = packed(marks)
        return np.array([rows[marks[:, v]] for v in places]), np.array([rows[~marks[:, v]] for v in places])

    def supports(self, columns: Columns) -> Integers:
        return counted(columns["subset"], self.k)

    def _log_prob(self, columns: Columns, codes: Integers) -> Floats:
        marks = unpacked(columns["subset"], self.k)
        held = marks[np.arange(len(marks)), np.broadcast_to(codes, len(marks))] == 1
        whole = math.comb(self.k - 1, self.size - 1) * self.odds + math.comb(self.k - 1, self.size)
        # Whole numbers of any size have logarithms; quotients of them may be no doubles.
        least = math.log(whole.denominator) - math.log(whole.numerator)
        return np.where(held, math.log(self.odds) + least, least)
