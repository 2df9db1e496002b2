"""delta-presence: what a copy tells about who is in the table at all (Nergiz, Atzori and Clifton 2007).

Whoever knows the population looks a person up in the copy: of the F people who are like a group, f are in the table, so the
person is in it with chance f/F. A table of patients with one illness gives the illness away where this is near 1, however
large the group is. The population is counted as one more table whose sensitive value is whether a person is in the first.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa

from discreet.core.numbers import Number, rational
from discreet.errors import InvalidRequest
from discreet.protect.diversity import Fails, Rule
from discreet.protect.hierarchies import Hierarchy
from discreet.protect.lattice_histogram import Histogram, Ints, encode
from discreet.protect.stored_table import StoredTable

_IN, _OUT = "in the table", "only in the population"


@dataclass(frozen=True)
class Presence(Rule):
    """Of the people like a group, a share of at least ``low`` and at most ``high`` is in the table.

    Proof that unions of good groups are good: the share in a union lies between those in its parts.
    """

    low: Fraction
    high: Fraction
    inside: int

    @staticmethod
    def of(bounds: tuple[Number, Number], population: Histogram) -> Presence:
        """The rule on a population that ``people`` counted."""
        low, high = checked(bounds)
        return Presence(low, high, population.values.index(_IN))

    def fails(self, sizes: Ints, matrix: Ints) -> Fails:
        # Whole numbers on both sides, Python's own: a share of exactly 1/3 is not a matter of rounding.
        found, everyone = matrix[:, self.inside].astype(object), sizes.astype(object)
        few = found * self.low.denominator < everyone * self.low.numerator
        many = found * self.high.denominator > everyone * self.high.numerator
        return np.asarray(few | many, bool)


def checked(bounds: Any) -> tuple[Fraction, Fraction]:
    """The least and the largest share, refused where they are none."""
    if isinstance(bounds, str) or not isinstance(bounds, Sequence) or len(bounds) != 2:
        raise InvalidRequest(f"presence is a pair of shares, the least and the largest, got {bounds!r}; write (0, 0.5)")
    low, high = (rational(bound, "presence") for bound in bounds)
    if not 0 <= low <= high <= 1:
        raise InvalidRequest(f"presence must hold 0 <= least <= largest <= 1, got {tuple(bounds)!r}")
    return low, high


def people(
    source: StoredTable, population: StoredTable, names: Sequence[str], hierarchies: Mapping[str, Hierarchy]
) -> Histogram:
    """The population by its quasi-identifiers and by who of it is in the table; refuses a population that lacks someone."""
    population.check(names)
    mine, rows = _counted(source, names)
    theirs, all_ = _counted(population, names)
    # Everyone is out but those who are in: counts of the table are taken from the one and put to the other.
    cells = [pa.concat_arrays([b, a, a]) for a, b in zip(mine, theirs, strict=True)]
    where = pa.array([_OUT] * (len(all_) + len(rows)) + [_IN] * len(rows))
    found = Histogram.of(names, cells, hierarchies, np.concatenate([all_, -rows, rows]), where)
    if (found.counts < 0).any():
        raise InvalidRequest(
            "the population must hold everyone in the table, and has fewer people of some kind than the table; give all "
            "people that the table was drawn from, with the same quasi-identifiers"
        )
    return found


def _counted(table: StoredTable, names: Sequence[str]) -> tuple[list[Any], Ints]:
    columns, counts = table.counted(names)
    coded = [encode(column) for column in columns]
    cells = [pa.array(texts, pa.string()).take(pa.array(codes)) for texts, codes in coded]
    return cells, np.ones(len(cells[0]), np.int64) if counts is None else counts
