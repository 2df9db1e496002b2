"""An exact value: whole numbers on a public grid, by place or by key. What a query computes and a law adds noise to."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from discreet.core import numbers
from discreet.errors import InvalidRequest


@dataclass(frozen=True, eq=False)
class Exact:
    """``counts`` times ``grid``, a power of two. The counts stay whole numbers of 64 bits until noise has been added."""

    counts: npt.NDArray[np.int64]
    grid: Fraction = Fraction(1)

    def __post_init__(self) -> None:
        if not numbers.is_power_of_two(self.grid):
            raise InvalidRequest(f"grid must be a power of two, got {self.grid}")

    @property
    def value(self) -> npt.NDArray[np.int64] | npt.NDArray[np.float64]:
        """The numbers themselves: whole numbers on the unit grid, on any other the doubles next to them."""
        return self.counts if self.grid == 1 else self.counts.astype(np.float64) * float(self.grid)


def add(left: npt.NDArray[np.int64], right: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """The sum, held at 2**62: past four thousand million rows it stands still instead of turning over."""
    return _held(_held(left) + _held(right))


def _held(values: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    # For a few numbers the two of them are ten times as quick as one clip.
    return np.minimum(np.maximum(values, -_MOST), _MOST)


_MOST = (1 << 62) - 1


@dataclass(frozen=True, eq=False)
class Keyed:
    """Numbers by undeclared keys: the keys that occur in the data, in order, and an ``exact`` number for each."""

    keys: tuple[str, ...]
    exact: Exact

    @staticmethod
    def of(value: Any) -> Keyed:
        """From a ``Keyed``, which is returned as it is, or from a dict of keys and whole numbers."""
        if isinstance(value, Keyed):
            return value
        try:
            counts = {str(key): int(value[key]) for key in value}
        except (TypeError, ValueError, OverflowError, LookupError):
            raise InvalidRequest(f"exact must be a dict of keys and whole numbers, got {value!r}") from None
        keys = tuple(sorted(counts))
        return Keyed(keys, Exact(np.array([counts[key] for key in keys], np.int64)))

    @property
    def value(self) -> dict[str, Any]:
        """The numbers by key."""
        return dict(zip(self.keys, self.exact.value.tolist(), strict=True))
