"""Truncated Laplace: a number whose probability falls off geometrically from yours, within a public range."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Context, localcontext
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import Any

import numpy as np

from discreet.core.random import Random
from discreet.local.exact_draws import WeightedLaw, tilted
from discreet.local.law import Tally, local_mechanisms
from discreet.local.reports import Column, Columns
from discreet.local.scalar import ScalarLaw
from discreet.mechanisms.sampling import digits
from discreet.mechanisms.sampling.uniform import Floats, Integers

_CENTRES = 32  # centres on either side of the middle
_REACHES = (32, 40, 48, 64, 80, 96, 128, 160, 192, 256, 320, 384)  # how far the answers go: the best one is taken
_BITS = 768
_MARGIN = 1 - Fraction(1, 2**60)


@dataclass(frozen=True, eq=False)
class _QuantileTable:
    """The law of each centre, worked out once for an epsilon."""

    reach: int
    masses: Floats  # centre by answer
    draws: tuple[WeightedLaw, ...]
    means: Floats  # of the answer, centre by centre
    squares: Floats


@local_mechanisms("truncated_laplace")
@dataclass(frozen=True)
class TruncatedLaplace(ScalarLaw):
    """Given a centre i in -I .. I, the answer j in -J .. J has probability e^(-|j - i| epsilon / 2I) / Z_i.

    Truncation bends the mean, m_i, which is no longer i. So the value t is placed between the two centres with
    m_i <= t m_I <= m_(i+1), and goes to one of them at random so that the mean is t m_I exactly: z = j / m_I is
    unbiased. J is the one with the least worst variance. Better than plain Laplace reports (8 / epsilon^2), which it
    keeps bounded; Duchi, piecewise and hybrid are better still.

    Proof: let L = epsilon / 2I. For i > i' the log-ratio at j is at most L (i - i') + ln Z_i' - ln Z_i. Moving the
    centre by one changes every term of Z by a factor within e^(+-L), so the bound grows in i and falls in i', and is
    largest at i = I, i' = -I, where Z_i = Z_i' and it is 2 I L = epsilon. A random choice of centre is a mixture, which
    keeps the bound. The weights are whole numbers, multiples of 2^-768. The smallest is at least
    e^-(64 (384 + 32) / 64) > 2^-601, so each is right to 2^-160 of itself, and so is Z_i. They are made for an epsilon
    that is 2^-60 of itself smaller, which takes at least 2^-90 off the log-ratio, so that the largest ratio of what is
    drawn is below e^epsilon.
    """

    @property
    def columns(self) -> Mapping[str, Column]:
        return {"answer": Column(-self._table.reach, self._table.reach)}

    @cached_property
    def _table(self) -> _QuantileTable:
        return _table(self.epsilon)

    def _centre(self, t: Any, xp: Any = np) -> tuple[Any, Any]:
        """The centre below (counted from 0) and the chance of the one above."""
        means = xp.asarray(self._table.means / self._table.means[-1])
        below = xp.clip(xp.searchsorted(means, t, side="right") - 1, 0, 2 * _CENTRES - 1)
        return below, xp.clip((t - means[below]) / (means[below + 1] - means[below]), 0.0, 1.0)

    def draw(self, random: Random, encoded: Floats) -> Columns:
        centre, share = self._centre(encoded)
        centre = centre + tilted(random, 2 * share - 1)
        answer = np.empty(centre.size, np.int64)
        for i in np.unique(centre):
            mine = np.flatnonzero(centre == i)
            answer[mine] = self._table.draws[i].draw(random, mine.size)
        return {"answer": answer - self._table.reach}

    def log_chance(self, columns: Columns, t: Any, xp: Any = np) -> Any:
        place = columns["answer"].astype(np.int64) + self._table.reach
        below, share = self._centre(t, xp)
        masses = xp.asarray(self._table.masses)
        return xp.log((1 - share) * masses[below, place] + share * masses[below + 1, place])

    def sums(self, columns: Columns) -> Integers:
        answer = columns["answer"].astype(np.int64)
        return np.array([answer.sum(), (answer * answer).sum()], np.int64)

    def moments(self, tally: Tally) -> tuple[float, float]:
        first, second = (int(v) / tally.count for v in tally.sums)
        unit = 1 / float(self._table.means[-1])
        return unit * first, unit**2 * second

    def variance(self, t: Any) -> Any:
        return _variance(self._table.means, self._table.squares, np.asarray(t, np.float64))

    @property
    def worst_variance(self) -> float:
        return _worst(self._table.means, self._table.squares)


def _variance(means: Floats, squares: Floats, t: Floats) -> Any:
    return np.interp(t, means / means[-1], squares) / means[-1] ** 2 - np.square(t)


def _worst(means: Floats, squares: Floats) -> float:
    return float(np.max(_variance(means, squares, np.linspace(-1, 1, 4001))))


def _masses(weights: Floats, reach: int) -> Floats:
    apart = np.abs(np.arange(-reach, reach + 1) - np.arange(-_CENTRES, _CENTRES + 1)[:, None])
    masses = weights[apart]
    result: Floats = masses / masses.sum(axis=1, keepdims=True)
    return result


def exact_weights(epsilon: Fraction) -> list[int]:
    """2^768 e^(-k epsilon / 2I), for k up to the farthest answer from a centre."""
    slope = epsilon * _MARGIN / (2 * _CENTRES)
    with localcontext(Context(prec=120)):
        every = [digits.exactly(-k * slope)[0].exp() for k in range(_REACHES[-1] + _CENTRES + 1)]
    return [int(Fraction(w) * (1 << _BITS)) for w in every]


@lru_cache(maxsize=32)
def _table(epsilon: Fraction) -> _QuantileTable:
    exact = exact_weights(epsilon)
    near = np.array([float(Fraction(w, 1 << _BITS)) for w in exact])
    found = []
    for reach in _REACHES:
        masses, answers = _masses(near, reach), np.arange(-reach, reach + 1)
        means, squares = masses @ answers, masses @ np.square(answers)
        found.append((_worst(means, squares), reach, masses, means, squares))
    _, reach, masses, means, squares = min(found, key=lambda entry: entry[0])
    rows = tuple(WeightedLaw([exact[abs(j - i)] for j in range(-reach, reach + 1)]) for i in range(-_CENTRES, _CENTRES + 1))
    return _QuantileTable(reach, masses, rows, means, squares)
