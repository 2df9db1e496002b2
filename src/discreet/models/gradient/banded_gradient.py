"""The question of a step whose noise is correlated with that of earlier steps: a weighted sum over the last lots."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from discreet.accounting.banded import BITS, coefficients
from discreet.core.cost import Distance
from discreet.core.query import Query, Relation, queries
from discreet.core.source import Batch, Source
from discreet.errors import InvalidRequest
from discreet.models.gradient.trainable import StepQuery

TURNED_SLACK = Fraction(1, 1 << 10)  # what rounding may add to the distance of a whole run, relatively
_LIMB = 31


@dataclass(eq=False)
class Remembered:
    """The rows of a table, and the exact sums of the last lots: never handed out."""

    rows: Any
    people: int
    sums: deque[Any]


@queries("banded_gradient")
@dataclass(frozen=True)
class BandedGradient(StepQuery):
    """sum over j < ``band`` of c_j g_(t-j): g_t the clipped sum that ``of`` asks of the lot of step t, c as in ``Turns``.

    ``distance`` is that of one step by itself, where the lot's own people are met: that of ``of``. What a whole run moves is
    ``Turns.sensitivity`` times clip (1 + 2**-10).

    Proof: let u = 2**-28 of a power of two between clip and twice that. Each g_t is rounded to whole multiples of u: with
    ``of``'s own slack of 2**-15, a person who is met moves it by at most clip (1 + 2**-15) + sqrt(size) u, which is below
    clip (1 + 2**-13) for up to 2**26 numbers; lots where the person is not met are the same to the last bit, because they
    hold the same people in the same order (``identities``: nobody's id changes that of others). From there
    on everything is whole: a g_t below 2**62 units is cut into two limbs below 2**31, and the coefficients of up to 512
    bands, whole numbers that add up to less than 2**29, make sums below 2**61 of them. The one rounding at the end is
    2**-53 of a sum of at most 32 clip times the number of people, of whom a table in memory has fewer than 2**31: 2**-17
    clip, for each of two neighbours, in the ``band`` steps after each time that the person is met, so sqrt(512) 2**-16
    relatively to the whole. Together that is below 2**-10.
    """

    of: Query
    band: int

    @property
    def described(self) -> bool:
        return self.of.described

    def at(self, weights: Any) -> BandedGradient:
        return BandedGradient(self._inner.at(weights), self.band)

    @property
    def _inner(self) -> Any:
        return self.of

    @property
    def columns(self) -> tuple[str, ...]:
        return self._inner.columns  # type: ignore[no-any-return]

    @property
    def step_key(self) -> Any:
        return id(self)

    def distance(self, relation: Relation) -> Distance:
        return self.of.distance(relation)

    def step(self, batch: Batch) -> Any:
        raise InvalidRequest("lots in turns are for tables in memory; use lots='random'")

    def combine(self, left: Any, right: Any) -> Any:
        return self._inner.combine(left, right)

    def finish(self, total: Any) -> Any:
        return self._inner.finish(total)

    def blank(self, rows: int) -> Any:
        return self.of.blank(rows)

    def gather(self, source: Source) -> Remembered | None:
        rows = self._inner.gather(source)
        return None if rows is None else Remembered(rows, rows.people, deque(maxlen=self.band))

    def of_lot(self, gathered: Remembered, chosen: Any | None) -> Any:
        unit = float(np.ldexp(1.0, int(np.frexp(float(self._inner.clip))[1]) - 28))
        value = np.rint(np.asarray(self._inner.of_lot(gathered.rows, chosen)) / unit).astype(np.int64)
        gathered.sums.appendleft(value)
        high, low = np.zeros(len(value), np.int64), np.zeros(len(value), np.int64)
        for c, each in zip(coefficients(self.band), gathered.sums, strict=False):
            high += c * (each >> _LIMB)
            low += c * (each & ((1 << _LIMB) - 1))
        high += low >> _LIMB
        low &= (1 << _LIMB) - 1
        return (np.ldexp(high.astype(np.float64), _LIMB) + low) * (unit * 2.0**-BITS)
