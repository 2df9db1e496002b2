"""One release about several groups, taken apart: the cells of each group are a release about its people alone.

A mean by sex is a table of cells, group by group, with independent noise in each. People of different groups are different
people, so given independent priors the posterior is a product over groups, and each factor is what the group's own cells
say.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from discreet.core.release import Release
from discreet.errors import InvalidRequest
from discreet.inference.models.base import DataModel
from discreet.mechanisms.additive import Additive
from discreet.statistics.cells import Cells, Factor
from discreet.statistics.question import axes


@dataclass(frozen=True, eq=False)
class Groups:
    """The columns that divide people with their labels, and the releases of every group in the order of the labels."""

    axes: tuple[tuple[str, tuple[Any, ...]], ...]
    releases: tuple[tuple[Release, ...], ...]

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(len(labels) for _, labels in self.axes)

    @property
    def labels(self) -> list[tuple[Any, ...]]:
        """The labels of every group, one for each column."""
        return [tuple(self.axes[i][1][at] for i, at in enumerate(place)) for place in np.ndindex(self.shape)]


def grouped(releases: Sequence[Release], model: DataModel) -> Groups | None:
    """The groups that releases divide people into and the model does not speak of; None where there are none."""
    found = [_dividing(release, model) for release in releases]
    if not any(found):
        return None
    if len({tuple(f.column for f in factors) for factors in found}) > 1:
        told = "; ".join(" and ".join(f.column for f in factors) or "no groups" for factors in found)
        raise InvalidRequest(f"releases must divide people by the same columns, got {told}; infer from each by itself")
    return divided(releases, [factor.column for factor in found[0]])


def divided(releases: Sequence[Release], columns: Sequence[str]) -> Groups:
    """Releases taken apart by some of their columns."""
    found = [
        tuple(f for f in release.query.factors if f.column in columns and not f.is_number)  # type: ignore[union-attr]
        for release in releases
    ]
    apart = [_apart(release, factors) for release, factors in zip(releases, found, strict=True)]
    return Groups(tuple((name, tuple(labels)) for name, labels in axes(found[0])), tuple(zip(*apart, strict=True)))


def _dividing(release: Release, model: DataModel) -> tuple[Factor, ...]:
    """Factors that pick a cell, of columns that the model does not speak of."""
    query = release.query
    if not isinstance(query, Cells) or not isinstance(release.mechanism, Additive):
        return ()
    own = set(model.columns or ())
    if model.columns is None:
        numbers = {f.column for f in query.factors if f.is_number}
        own = numbers or set(query.columns)  # counts by themselves are one table
    return tuple(f for f in query.factors if not f.is_number and f.column not in own)


def _apart(release: Release, dividing: tuple[Factor, ...]) -> list[Release]:
    """One release for each group: its cells, the law of their noise, and which rows they are about.

    Proof: noise is added to each cell by itself, so the law of some of the cells is the law at their places.
    """
    query, law = release.query, release.mechanism
    assert isinstance(query, Cells)
    assert isinstance(law, Additive)
    value = np.asarray(release.value)
    places = np.arange(value.size).reshape(query.shape)
    across = [i for i, factor in enumerate(query.factors) if factor in dividing]
    rest = replace(query, factors=tuple(f for f in query.factors if f not in dividing))
    names = axes(dividing)
    made = []
    for place in np.ndindex(*(query.factors[i].size for i in across)):
        picked: list[Any] = [slice(None)] * len(query.factors)
        for axis, at in zip(across, place, strict=True):
            picked[axis] = at
        cells = places[tuple(picked)]
        where = tuple((name, (labels[at],)) for (name, labels), at in zip(names, place, strict=True))
        made.append(
            replace(
                release,
                value=value.ravel()[cells],
                mechanism=law.at(cells.ravel().tolist()),
                query=rest,
                where=(*release.where, *where),
            )
        )
    return made
