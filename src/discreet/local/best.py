"""Which law is best for a question: by the worst variance, which is public, and never by the data."""

from __future__ import annotations

from collections.abc import Sequence

from discreet.core.numbers import Number
from discreet.errors import InvalidRequest
from discreet.local.cube import Cube
from discreet.local.frequency import FrequencyOracle, Label
from discreet.local.hadamard import Hadamard
from discreet.local.local_hash import LocalHash
from discreet.local.one_coordinate import OneCoordinate
from discreet.local.optimized_unary import OptimizedUnary
from discreet.local.priv_unit import PrivUnit
from discreet.local.randomized_response import RandomizedResponse
from discreet.local.scalar import Bounds
from discreet.local.subset_selection import SubsetSelection
from discreet.local.vector import BoxLaw

_ORACLES: tuple[type[FrequencyOracle], ...] = (RandomizedResponse, OptimizedUnary, LocalHash, Hadamard, SubsetSelection)


def best_oracle(
    k: int | Sequence[Label], epsilon: Number, *, other: Label | None = None, most_bytes: int | None = None
) -> FrequencyOracle:
    """The frequency oracle with the least variance at share 0, then the least bytes.

    ``k`` is the number of categories or their list. ``most_bytes`` keeps only the laws whose reports are no larger.
    """
    fits = []
    for law in _ORACLES:
        try:
            made = law(epsilon, k, other)  # type: ignore[arg-type]
        except InvalidRequest:
            # A law with a limit of its own drops out; what all of them refuse is refused by the first.
            if law is RandomizedResponse:
                raise
            continue
        if most_bytes is None or made.report_bytes <= most_bytes:
            fits.append(made)
    if not fits:
        raise InvalidRequest(f"no law reports within {most_bytes} bytes; allow at least 4")
    return min(fits, key=lambda law: (law.variance(), law.report_bytes))


def best_mean(
    dimension: int, epsilon: Number, *, bounds: Bounds = (-1, 1), radius: Number | None = None
) -> BoxLaw | PrivUnit:
    """The law for a mean in ``dimension`` dimensions with the least worst variance.

    In a box (each coordinate within ``bounds``): one coordinate, or the cube. In a ball (``radius``): PrivUnit.
    """
    if radius is not None:
        return PrivUnit(epsilon, dimension, radius)  # type: ignore[arg-type]
    both: tuple[BoxLaw, ...] = (OneCoordinate(epsilon, dimension, bounds), Cube(epsilon, dimension, bounds))  # type: ignore[arg-type]
    return min(both, key=lambda law: law.worst_variance)
