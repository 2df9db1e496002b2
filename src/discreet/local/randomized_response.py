"""Randomised response: report your category, or with a known probability another one."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from discreet.core.price import Price
from discreet.core.random import Random
from discreet.local.exact_draws import below, bits
from discreet.local.frequency import FrequencyOracle
from discreet.local.law import local_mechanisms
from discreet.local.reports import Column, Columns
from discreet.mechanisms import RandomizedResponse as Law
from discreet.mechanisms.sampling.uniform import Floats, Integers


@local_mechanisms("randomized_response")
@dataclass(frozen=True)
class RandomizedResponse(FrequencyOracle):
    """The truth with probability R / (R + k - 1), every other category with 1 / (R + k - 1) (Warner 1965).

    n times the variance at share 0 is (R + k - 2) / (R - 1)^2: the best for few categories.

    Proof: a report is R times likelier under the value it names than under any other, and R <= e^epsilon.
    """

    @property
    def columns(self) -> Mapping[str, Column]:
        return {"answer": Column(0, self.k - 1)}

    @property
    def keep(self) -> Fraction:
        return self.odds / (self.odds + self.k - 1)

    @property
    def stray(self) -> Fraction:
        return 1 / (self.odds + self.k - 1)

    @property
    def report_bytes(self) -> int:
        return self.columns["answer"].dtype.itemsize

    @property
    def law(self) -> Law:
        """The same law as the package's mechanism, for a posterior or an auditor."""
        return Law(self.keep, self.labels, Price(self.epsilon))

    def draw(self, random: Random, encoded: Integers) -> Columns:
        moved = ~bits(random, self.keep, encoded.size)
        # Every report draws its replacement, used or not: the number of draws says nothing.
        steps = below(random, self.k - 1, encoded.size)
        steps += 1
        steps *= moved
        answer = encoded + steps
        answer -= self.k * (answer >= self.k)
        return {"answer": answer.astype(self.columns["answer"].dtype)}

    def supports(self, columns: Columns) -> Integers:
        return np.bincount(columns["answer"], minlength=self.k).astype(np.int64)

    def _log_prob(self, columns: Columns, codes: Integers) -> Floats:
        value: Floats = np.where(columns["answer"] == codes, math.log(self.keep), math.log(self.stray))
        return value
