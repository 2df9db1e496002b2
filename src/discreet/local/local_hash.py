"""Local hashing: hash your category to a few values under a public seed of your own, and randomise the hash."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from discreet.core.random import Random
from discreet.errors import InvalidRequest
from discreet.local.exact_draws import below, bits
from discreet.local.frequency import FrequencyOracle
from discreet.local.law import blocks, local_mechanisms
from discreet.local.reports import Column, Columns
from discreet.mechanisms.sampling.uniform import Floats, Integers

_KEY_BITS, _HASH_BITS, _WORD = 16, 17, 32  # a word holds key bits + hash bits - 1
_MOST_VALUES = 1 << 12


def multiply_shift(seeds: npt.NDArray[np.uint64], key: Any) -> npt.NDArray[np.uint32]:
    """The upper 17 bits of (a key + b) mod 2^32; a and b are the halves of a seed.

    Proof: for keys of u bits, results of l bits and words of at least u + l - 1 bits, uniform a and b make the results
    of two different keys independent and uniform (Dietzfelbinger 1996). Here 16 + 17 - 1 = 32.
    """
    a, b = seeds.astype(np.uint32), (seeds >> np.uint64(32)).astype(np.uint32)
    result: npt.NDArray[np.uint32] = (a * np.asarray(key).astype(np.uint32) + b) >> np.uint32(_WORD - _HASH_BITS)
    return result


@local_mechanisms("local_hash")
@dataclass(frozen=True)
class LocalHash(FrequencyOracle):
    """Randomised response on a universal hash to g = round(R) + 1 values (Wang et al. 2017, OLH).

    p = R / (R + g - 1); q is the probability that another category has the reported hash, very nearly 1/g: the 2^17
    hashes are dealt to g values as evenly as they can be, and q is computed from that deal exactly. n times the
    variance at share 0 is (R + g - 1)^2 / ((R - 1)^2 (g - 1)).

    Proof: the seed is drawn without looking at the value. Given the seed a report is randomised response on the hash,
    whose largest ratio is R.
    """

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.k > 1 << _KEY_BITS:
            raise InvalidRequest(f"local hashing takes at most {1 << _KEY_BITS} categories, got {self.k}; use Hadamard")

    @property
    def columns(self) -> Mapping[str, Column]:
        return {"seed": Column(0, 2**64 - 1), "answer": Column(0, self.values - 1)}

    @property
    def values(self) -> int:
        """g: how many values a hash can take."""
        return max(2, min(round(self.odds) + 1, _MOST_VALUES))

    @property
    def keep(self) -> Fraction:
        return self.odds / (self.odds + self.values - 1)

    @property
    def stray(self) -> Fraction:
        every, g = 1 << _HASH_BITS, self.values
        # Value y gets the hashes h with floor(h g / 2^17) = y: some y get one more than others.
        ends = [-(-y * every // g) for y in range(g + 1)]
        same = sum(Fraction((b - a) ** 2, every**2) for a, b in pairwise(ends))
        return self.keep * same + (1 - self.keep) / (g - 1) * (1 - same)

    @property
    def report_bytes(self) -> int:
        return 8 + self.columns["answer"].dtype.itemsize

    def hashed(self, seeds: npt.NDArray[np.uint64], codes: Any) -> npt.NDArray[np.uint32]:
        """The value of each code under each seed."""
        return (multiply_shift(seeds, codes) * np.uint32(self.values)) >> np.uint32(_HASH_BITS)

    def draw(self, random: Random, encoded: Integers) -> Columns:
        seeds, g = random.words(encoded.size), self.values
        truth = self.hashed(seeds, encoded)
        moved = ~bits(random, self.keep, encoded.size)
        steps = 1 + below(random, g - 1, encoded.size)
        return {"seed": seeds, "answer": np.where(moved, (truth + steps) % g, truth).astype(np.int64)}

    def supports(self, columns: Columns) -> Integers:
        total = np.zeros(self.k, np.int64)
        for run in blocks(len(columns["seed"]), 4):
            seeds, answers = columns["seed"][run], columns["answer"][run]
            for code in range(self.k):
                total[code] += np.count_nonzero(self.hashed(seeds, code) == answers)
        return total

    def _log_prob(self, columns: Columns, codes: Integers) -> Floats:
        """Includes the seed, one of 2^64 equally likely ones."""
        swap = (1 - self.keep) / (self.values - 1)
        same = self.hashed(columns["seed"], codes) == columns["answer"]
        value: Floats = np.where(same, math.log(self.keep), math.log(swap)) - 64 * math.log(2)
        return value
