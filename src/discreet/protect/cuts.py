"""Numbers between declared edges, of which fewer and fewer stay."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import pairwise
from typing import Any, ClassVar

from discreet.core.numbers import Number, rational
from discreet.errors import InvalidRequest
from discreet.protect.numbered import Numbered, exact, plain


@dataclass(frozen=True)
class Cuts(Numbered):
    """[lo, hi] cut at the edges of each level; an edge begins the cell above it, and the last cell holds ``hi``.

    ``labels`` are words for the cells of each level, from below; without them a cell is written as its interval.

    Proof: the edges of a level are among those of the level before it, so each of its cells is a union of cells of that
    level, and levels nest. Words of one level differ, so a word says its cell.
    """

    lo: Number
    hi: Number
    edges: tuple[tuple[Number, ...], ...]
    labels: tuple[tuple[str, ...], ...] | None = None
    kind: ClassVar[str] = "cuts"

    def __post_init__(self) -> None:
        lo, hi = self.bounds()
        levels = [tuple(rational(edge, "an edge") for edge in _listed(edges)) for edges in _listed(self.edges)]
        for edges in levels:
            if not edges or any(a >= b for a, b in pairwise((lo, *edges))) or edges[-1] > hi:
                raise InvalidRequest(
                    f"the edges of a level must rise from above {plain(lo)} to at most {plain(hi)}, got "
                    f"{[plain(edge) for edge in edges]}; the bounds and the top are added anyway"
                )
        for below, above in pairwise(levels):
            if strange := [edge for edge in above if edge not in set(below)]:
                raise InvalidRequest(
                    f"an edge must be one of the level before it, got {plain(strange[0])}: cells would overlap; add it there"
                )
            if len(above) == len(below):
                raise InvalidRequest(f"each level must have fewer edges than the one before it, got {len(above)} twice")
        object.__setattr__(self, "lo", lo)
        object.__setattr__(self, "hi", hi)
        object.__setattr__(self, "edges", tuple(levels))
        if self.labels is not None:
            object.__setattr__(self, "labels", tuple(tuple(_listed(words)) for words in _listed(self.labels)))
            self._check_labels()

    def _check_labels(self) -> None:
        labels = self.labels or ()
        if len(labels) != len(self.edges):
            raise InvalidRequest(f"labels must be a list for each of {len(self.edges)} levels, got {len(labels)} lists")
        for level, words in enumerate(labels, 1):
            texts = all(isinstance(word, str) and word for word in words)
            if len(words) != self.cells(level) or len(set(words)) != len(words) or not texts:
                raise InvalidRequest(
                    f"level {level} needs {self.cells(level)} different words, one for each cell, got {list(words)}"
                )

    @property
    def levels(self) -> tuple[str, ...]:  # type: ignore[override]
        return ("value", *(f"{len(edges) + 1} cells" for edges in self.edges), "top")

    @cached_property
    def _ends(self) -> tuple[tuple[Fraction, ...], ...]:
        """The ends of all cells of each level, with the bounds."""
        return tuple(tuple(Fraction(end) for end in (self.lo, *edges, self.hi)) for edges in self.edges)

    def index(self, number: Fraction, level: int) -> int:
        return bisect_right(self.edges[level - 1], number)

    def cell(self, level: int, index: int) -> tuple[Fraction, Fraction]:
        low, high = self._ends[level - 1][index : index + 2]
        return low, high

    def cells(self, level: int) -> int:
        return len(self.edges[level - 1]) + 1

    def word(self, level: int, index: int) -> str:
        return super().word(level, index) if self.labels is None else self.labels[level - 1][index]

    def to_dict(self) -> dict[str, Any]:
        said = {} if self.labels is None else {"labels": [list(words) for words in self.labels]}
        edges = [[exact(edge) for edge in level] for level in self.edges]
        return {"kind": self.kind, "lo": exact(self.lo), "hi": exact(self.hi), "edges": edges, **said}


def _listed(values: Any) -> Sequence[Any]:
    if isinstance(values, str) or not isinstance(values, Sequence):
        raise InvalidRequest(f"edges and labels must be a list for each level, got {values!r}")
    return values
