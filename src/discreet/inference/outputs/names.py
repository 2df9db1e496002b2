"""What each number of a posterior is called: the labels that the model or the release declares, else its place."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from discreet.core.release import Release
from discreet.statistics.cells import Cells
from discreet.statistics.question import axes

Axes = tuple[tuple[str, tuple[str, ...]], ...]


def axes_of(name: str, shape: Sequence[int], model: Mapping[str, Any], releases: Sequence[Release]) -> Axes:
    """The axes of a quantity behind its chains and draws: their names and labels.

    A model may name them itself, under ``axes``. The shares of a released table have the table's own labels, and the
    coefficients of a regression the names of their columns, the constant first.
    """
    declared = model.get("axes", {}).get(name)
    if declared is None and name == "theta" and len(releases) == 1:
        declared = _of_table(releases[0], len(shape))
    if declared is None and name == "beta" and str(model.get("model")).endswith("_regression"):
        used = dict.fromkeys(c for r in releases for c in r.columns)
        declared = [("coefficient", ["constant", *list(model.get("columns") or used)[:-1]])]
    axes = tuple((str(axis), tuple(map(str, labels))) for axis, labels in declared or ())
    if tuple(len(labels) for _, labels in axes) == tuple(shape):
        return axes
    return tuple((f"{name}_{i}", tuple(map(str, range(size)))) for i, size in enumerate(shape))


def _of_table(release: Release, count: int) -> Sequence[tuple[str, Sequence[Any]]] | None:
    """The labels of released counts; of reports of single people, the categories of each of their ``count`` answers."""
    if isinstance(release.query, Cells) and not any(f.is_number for f in release.query.factors):
        return axes(release.query.factors)
    categories = getattr(release.mechanism, "categories", None)
    if release.query is not None or categories is None:
        return None
    return [(f"answer_{i}" if count > 1 else "answer", categories) for i in range(count)]


def places(name: str, axes: Axes) -> list[str]:
    """A name for every number of a quantity, in the order of its array: ``theta[f, yes]``."""
    shape = tuple(len(labels) for _, labels in axes)
    if not shape:
        return [name]
    return [f"{name}[{', '.join(axes[i][1][at] for i, at in enumerate(place))}]" for place in np.ndindex(shape)]
