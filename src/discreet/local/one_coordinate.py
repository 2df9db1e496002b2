"""One coordinate: tell one of your numbers, chosen at random, and spend everything on it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np

from discreet.core.random import Random
from discreet.local.hybrid import Hybrid
from discreet.local.law import Tally, local_mechanisms
from discreet.local.reports import Column, Columns
from discreet.local.vector import BoxLaw
from discreet.mechanisms.sampling import uniform
from discreet.mechanisms.sampling.uniform import Floats, Integers

_ENOUGH = 30


@local_mechanisms("one_coordinate")
@dataclass(frozen=True)
class OneCoordinate(BoxLaw):
    """A uniform coordinate j, and t_j by the hybrid law; z is d times it in place j and 0 elsewhere.

    Variance of a coordinate d (v + t^2) - t^2, with v the variance of the hybrid law (Wang et al. 2019). Better than the
    cube up to about epsilon 1.5.

    Proof: the coordinate is drawn without looking at the value; given it, the report is one of the hybrid law.
    """

    @cached_property
    def law(self) -> Hybrid:
        """The law of the coordinate that is told."""
        return Hybrid(self.epsilon)

    @property
    def columns(self) -> Mapping[str, Column]:
        return {"coordinate": Column(0, self.dimension - 1), **self.law.columns}

    def draw(self, random: Random, encoded: Floats) -> Columns:
        place = uniform.below(random, self.dimension, len(encoded))
        return {"coordinate": place, **self.law.draw(random, encoded[np.arange(len(encoded)), place])}

    def _log_prob(self, columns: Columns, t: Floats) -> Floats:
        place = columns["coordinate"].astype(np.int64)
        told = np.broadcast_to(t, (len(place), self.dimension))[np.arange(len(place)), place]
        value: Floats = self.law.log_chance(columns, told) - np.log(self.dimension)
        return value

    def sums(self, columns: Columns) -> Integers:
        """For each coordinate the sums of the hybrid law and how many told it."""
        order = np.argsort(columns["coordinate"], kind="stable")
        answers = columns["answer"][order]
        ends = np.searchsorted(columns["coordinate"][order], np.arange(self.dimension + 1))
        each = [np.append(self.law.sums({"answer": answers[a:b]}), b - a) for a, b in pairwise(ends)]
        return np.concatenate(each)

    def moments(self, tally: Tally) -> tuple[Floats, Floats]:
        each = tally.sums.reshape(self.dimension, -1)
        # Sums over those who told coordinate j, divided by all people, are the averages of z / d and z^2 / d^2.
        pairs = np.array([self.law.moments(Tally(tally.count, row[:-1])) for row in each])
        square = self.dimension**2 * pairs[:, 1]
        # Where too few told a coordinate to see how they vary, the worst that it can be stands in.
        told = each[:, -1]
        return self.dimension * pairs[:, 0], np.where(told >= _ENOUGH, square, self.worst_variance + 1)

    def variance(self, t: float) -> float:
        """The variance of a coordinate of z whose true value is t, in units of t."""
        return float(self.dimension * (self.law.variance(t) + t * t) - t * t)

    @property
    def worst_variance(self) -> float:
        return max(self.variance(0.0), self.variance(1.0))
