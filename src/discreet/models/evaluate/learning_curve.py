"""Learning curves: accuracy against the number of rows, for data that is public, simulated or one's own."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.core import drawing

if TYPE_CHECKING:
    import matplotlib.axes


def accuracy_by_size(
    make: Any, X: Any, y: Any, test: tuple[Any, Any], sizes: Sequence[int], *, repeats: int = 1
) -> list[tuple[int, float]]:
    """(size, mean accuracy) of models that ``make(size)`` makes, fitted to the first rows and judged on public test rows.

    For data that is public, simulated or one's own: each fit spends by itself.
    """
    points = []
    for size in sizes:
        scores = [make(size).fit(X[:size], y[:size]).public_score(*test) for _ in range(repeats)]
        points.append((size, float(np.mean(scores))))
    return points


def plot_accuracy(
    curves: dict[str, list[tuple[int, float]]], axes: matplotlib.axes.Axes | None = None
) -> matplotlib.axes.Axes:
    """Accuracy against the number of rows, one line for each name; returns the axes."""
    axes = drawing.new_axes(axes, (5.5, 4.5))
    for name, points in curves.items():
        axes.plot(*zip(*points, strict=True), "o-", ms=4, label=name)
    axes.set_xscale("log")
    axes.set_xlabel("rows")
    axes.set_ylabel("accuracy")
    axes.legend(frameon=False)
    return axes
