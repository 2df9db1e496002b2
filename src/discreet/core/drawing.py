"""Plain pictures of answers with their intervals, by Matplotlib: dots, bars, heat maps and curves with a band."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.errors import InvalidRequest

if TYPE_CHECKING:
    from matplotlib.axes import Axes


_INK, _BAR, _BAND = "#1b2430", "#2b6cb0", "#9fc1e3"
_MOST, _MOST_COUNTS = 60, 11  # labels, and numbers at risk, that fit under one picture
_UNDER_TIME, _LINE = 34, 13  # points below an axis: the first line under its name, and from line to line


def new_axes(axes: Any, size: tuple[float, float] = (6.4, 4.0)) -> Axes:
    """The axes given, or those of a new figure of a size in inches."""
    if axes is not None:
        if not hasattr(axes, "errorbar"):
            raise InvalidRequest(f"axes must be those of a Matplotlib figure, got {axes!r}; leave them out for new ones")
        given: Axes = axes
        return given
    from matplotlib.figure import Figure

    return Figure(figsize=size, layout="constrained").subplots()


def plain_ticks(axis: Any) -> None:
    """Numbers such as 0.2 and 5,000 beside a logarithmic axis, at 1, 2 and 5 times powers of ten, and no powers."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    axis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.10g}"))
    axis.set_minor_formatter(NullFormatter())


def dots(axes: Axes, words: Sequence[str], value: Any, low: Any, high: Any, title: str, across: str = "") -> Axes:
    """A dot with its interval on a line for each number; ``across`` says what the numbers are."""
    v, a, b = (np.ravel(np.asarray(x, np.float64)) for x in (value, low, high))
    places = np.arange(len(v))[::-1]
    axes.errorbar(v, places, xerr=[np.maximum(v - a, 0), np.maximum(b - v, 0)], fmt="o", color=_BAR, ecolor=_INK, capsize=3)
    axes.set_yticks(*((places, words) if any(words) else ([],)))
    axes.set_ylim(-0.7, len(v) - 0.3)
    axes.set_xlabel(across)
    axes.set_title(title)
    return axes


def bars(axes: Axes, words: Sequence[str], value: Any, low: Any, high: Any, title: str, names: tuple[str, str]) -> Axes:
    """A bar with its interval for each number; ``names`` are those of the axes."""
    v, a, b = (np.ravel(np.asarray(x, np.float64)) for x in (value, low, high))
    places = np.arange(len(v))
    axes.bar(places, v, color=_BAND, edgecolor=_BAR)
    axes.errorbar(places, v, yerr=[np.maximum(v - a, 0), np.maximum(b - v, 0)], fmt="none", ecolor=_INK, capsize=2)
    shown = places[:: max(1, -(-len(places) // _MOST))]
    axes.set_xticks(
        shown, [words[i] for i in shown], rotation=45 if len(v) > 4 else 0, ha="right" if len(v) > 4 else "center"
    )
    axes.set_xlabel(names[0])
    axes.set_ylabel(names[1])
    axes.set_title(title)
    return axes


def heat(axes: Axes, names: Sequence[tuple[str, Sequence[Any]]], value: Any, title: str) -> Axes:
    """A table as colours with their scale, the numbers written into it where they fit."""
    table = np.asarray(value, np.float64)
    axes.figure.colorbar(axes.imshow(table, cmap="Blues", aspect="auto"), ax=axes)
    (down, rows), (across, columns) = names
    axes.set_xticks(range(len(columns)), [str(c) for c in columns], rotation=45, ha="right")
    axes.set_yticks(range(len(rows)), [str(r) for r in rows])
    axes.set_xlabel(across)
    axes.set_ylabel(down)
    middle = float(table.min() + table.max()) / 2
    if table.size <= 100:
        for (i, j), x in np.ndenumerate(table):
            axes.text(j, i, f"{x:.3g}", ha="center", va="center", color="white" if x > middle else _INK)
    axes.set_title(title)
    return axes


def curve(axes: Axes, edges: Any, middle: Any, low: Any, high: Any, words: str, title: str, across: str) -> Axes:
    """A distribution function with its band; ``across`` is the name of the column."""
    axes.fill_between(edges, low, high, alpha=0.35, step=None, label=None)
    axes.plot(edges, middle, label=words or None)
    axes.set_ylim(-0.02, 1.02)
    axes.set_xlabel(across)
    axes.set_ylabel("share of rows below")
    axes.set_title(title)
    if words:
        axes.legend()
    return axes


def lives(
    axes: Axes,
    edges: Sequence[float],
    curves: Any,
    low: Any,
    high: Any,
    risk: Any,
    names: Sequence[str],
    title: str,
    across: str,
) -> Axes:
    """Survival curves with their intervals; under the axis of time, the numbers at risk, a line for every group."""
    shown = range(0, len(edges), max(1, -(-len(edges) // _MOST_COUNTS)))
    axes.set_xticks([edges[i] for i in shown], [f"{edges[i]:g}" for i in shown])
    axes.set_xlabel(across)
    below: list[tuple[str, list[str], Any]] = [("people at risk", [""] * len(shown), _INK)]
    for name, curve_, lower, upper, counts in zip(names, curves, low, high, risk, strict=True):
        (line,) = axes.plot(edges, curve_, label=name or None)
        axes.fill_between(edges, lower, upper, alpha=0.2, color=line.get_color())
        below.append((name or "all", [f"{max(counts[i], 0.0):.0f}" for i in shown], line.get_color()))
    for place, (name, counts, color) in enumerate(below):
        down = -_UNDER_TIME - _LINE * place
        axes.annotate(name, (0, 0), (-10, down), "axes fraction", "offset points", ha="right", va="top", color=color)
        for i, count in zip(shown, counts, strict=True):
            where = (edges[i], 0), (0, down), ("data", "axes fraction"), "offset points"
            axes.annotate(count, *where, ha="center", va="top")
    axes.set_ylim(-0.02, 1.02)
    axes.set_ylabel("share without the event")
    axes.set_title(title)
    if any(names):
        axes.legend()
    return axes
