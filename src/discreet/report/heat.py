"""A large table as a heat map: the darker a cell, the larger its number."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from markupsafe import Markup

from discreet.report.language import say
from discreet.report.numerals import in_words, shown
from discreet.report.svg import BAR, SOFT, rect, svg, text

_ROW = 24  # pixels of one line
_GUTTER = 22.0  # per cent that the names of the lines take
_MOST_LINES = 60
_MOST_WITH_NUMBERS = 10  # columns in which a number fits into its cell
_DARKEST = 0.6  # of the way from white to the colour of bars: dark letters can be read on it
_SHADES = 9  # of the scale
_WHITE = "#ffffff"


def heat(key: str, title: str, labels: Sequence[tuple[str, Sequence[Any]]], values: npt.NDArray[np.float64]) -> Markup:
    """The last axis across, all others down; at most sixty lines, for the table below and releases.json have the rest."""
    table = values.reshape(-1, values.shape[-1])[:_MOST_LINES]
    lines = [
        " · ".join(in_words(part) for part in parts) for parts in itertools.product(*(known for _, known in labels[:-1]))
    ]
    columns = [in_words(label) for label in labels[-1][1]]
    width, most = (100 - _GUTTER) / len(columns), max(float(table.max()), 1e-300)
    every = -(-len(columns) // _MOST_WITH_NUMBERS)
    parts = [text("0", 14, " · ".join(name for name, _ in labels), kind="small")]
    for j in range(0, len(columns), every):
        parts.append(text(f"{_GUTTER + (j + 0.5) * width:.3f}%", 34, columns[j][: 14 * every], "middle", "small"))
    for i, row in enumerate(table):
        y = 42 + i * _ROW
        parts.append(text("0", y + 16, lines[i][:24], kind="small"))
        for j, value in enumerate(row):
            share = min(max(float(value) / most, 0.0), 1.0)
            parts.append(rect(_GUTTER + j * width, y, width, _ROW, shade(share), SOFT))
            if every == 1:
                parts.append(text(f"{_GUTTER + (j + 0.5) * width:.3f}%", y + 16, shown(value), "middle", "cell"))
    low, high = shown(float(table.min())), shown(float(table.max()))
    told = say("heat", title=title, rows=len(lines), columns=len(columns), low=low, high=high)
    below = 42 + len(table) * _ROW
    return svg(key, told, below + _ROW + 16, [*parts, *_scale(below + 10, float(table.max()))])


def _scale(y: float, most: float) -> list[str]:
    """What the colours stand for: from nothing to the largest number."""
    width = (100 - 2 * _GUTTER) / _SHADES
    shades = [rect(_GUTTER + i * width, y, width, _ROW - 8, shade(i / (_SHADES - 1)), SOFT) for i in range(_SHADES)]
    least, largest = (f"{place:g}%" for place in (_GUTTER - 1, 101 - _GUTTER))
    return [text(least, y + 13, "0", "end", "small"), *shades, text(largest, y + 13, shown(max(most, 0.0)), kind="small")]


def shade(share: float) -> str:
    """From white, for nothing, to a light form of the colour of bars, for the largest."""
    ends = [[int(color[i : i + 2], 16) for i in (1, 3, 5)] for color in (_WHITE, BAR)]
    return "#" + "".join(f"{round(a + _DARKEST * share * (b - a)):02x}" for a, b in zip(*ends, strict=True))
