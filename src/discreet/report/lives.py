"""Survival curves: a line for every group with its intervals, and under the axis of time how many people are at risk."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from markupsafe import Markup

from discreet.core.result import Result
from discreet.report import date_columns
from discreet.report.language import say
from discreet.report.numerals import shown
from discreet.report.svg import BAR, EARLIER, MARK, line, svg, text
from discreet.statistics.survival import time_of

_COLORS = (BAR, MARK, EARLIER, "#2f855a", "#805ad5", "#b7791f")
MOST_CURVES = len(_COLORS)
_PLOT, _LINE = 200, 18  # pixels of the curves, and of a line of words
_GUTTER = 11.0  # per cent that the numbers beside the curves take
_WRITTEN = 6  # edges that a narrow page has room for
_APART = 0.5  # per cent between the intervals of two groups at one edge


def lives(key: str, told: str, result: Result) -> Markup:
    """The curves of an answer with at most ``MOST_CURVES`` groups."""
    reading: Any = result.reading
    edges, points = reading.edges, reading.bins + 1
    curves = reading.curve(result.releases).reshape(-1, points)
    low, high = (np.asarray(end).reshape(-1, reading.bins) for end in result.interval(of="population"))
    risk = reading.numbers_at_risk(result.releases).reshape(-1, points)
    places = list(itertools.product(*(known for _, known in reading.groups)))
    names = [" · ".join(map(date_columns.label, place, (name for name, _ in reading.groups))) for place in places]
    across = [_GUTTER + (96 - _GUTTER) * (edge - edges[0]) / (edges[-1] - edges[0]) for edge in edges]

    parts, top = [], 8.0
    if any(names):
        for name, color in zip(names, _COLORS, strict=False):
            parts += [line(0, top + 4, 4, top + 4, color, 4), text("5.5%", top + 8, name)]
            top += _LINE
        top += 8
    for tenths in range(0, 11, 2):
        level = _height(tenths / 10, top)
        parts += [line(_GUTTER, level, 100, level, "#b7c1cc", 1)]
        parts += [text(f"{_GUTTER - 1.5}%", level + 4, shown(tenths / 10), "end", "small")]
    for group, color in zip(range(len(curves)), _COLORS, strict=False):
        aside = (group - (len(curves) - 1) / 2) * _APART
        parts += _curve(across, curves[group], low[group], high[group], top, color, aside)
    parts.append(text(f"{(_GUTTER + 96) / 2}%", top + _PLOT + 2 * _LINE, time_of(result.releases), "middle", "small"))
    return svg(key, told, *_below(parts, edges, across, risk, names, top + _PLOT + _LINE))


def _height(share: float, top: float) -> float:
    return top + _PLOT * (1 - share)


def _curve(
    across: Sequence[float], curve: Sequence[float], low: Any, high: Any, top: float, color: str, aside: float
) -> list[str]:
    """Straight lines from edge to edge, and at every edge but the first the interval, a little aside of other groups'."""
    points = list(zip(across, (_height(share, top) for share in curve), strict=True))
    parts = [line(*one, *other, color) for one, other in pairwise(points)]
    for (x, _), a, b in zip(points[1:], low, high, strict=True):
        parts.append(line(x + aside, _height(float(a), top), x + aside, _height(float(b), top), color, 1.5))
    return parts


def _below(
    parts: list[str], edges: Sequence[float], across: Sequence[float], risk: Any, names: Sequence[str], y: float
) -> tuple[float, list[str]]:
    """The edges of time and the numbers at risk, as many as fit; the height of it all, and its parts."""
    chosen = range(0, len(edges), max(1, -(-len(edges) // _WRITTEN)))
    parts += [text(f"{across[i]:.3f}%", y, date_columns.edge(edges[i]), "middle", "small") for i in chosen]
    y += 2 * _LINE + 4
    parts.append(text("0", y, say("at_risk"), kind="small"))
    for name, color, counts in zip(names, _COLORS, risk, strict=False):
        if name:
            y += _LINE
            parts += [line(0, y - 4, 4, y - 4, color, 4), text("5.5%", y, name, kind="small")]
        y += _LINE
        parts += [text(f"{across[i]:.3f}%", y, shown(round(max(float(counts[i]), 0.0))), "middle", "small") for i in chosen]
    return y + 8, parts
