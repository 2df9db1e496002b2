"""Histograms: bars over their bins, of equal height for equal counts, or of equal area where bins are of unequal width."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from itertools import groupby, pairwise

from markupsafe import Markup

from discreet.report import date_columns
from discreet.report.language import say
from discreet.report.numerals import shown
from discreet.report.svg import BAR, Triple, line, rect, step, svg, text

_PLOT = 190  # pixels of a histogram
_GUTTER = 11.0  # per cent of a histogram that the numbers beside it take
_EVEN = 1e-4  # of a width: labels show six digits
_APART, _LETTER = 4.0, 1.3  # per cent between two edges that are both written, and for each letter of the longer ones


def histograms(key: str, told: str, labels: Sequence[tuple[str, ...]], triples: Sequence[Triple], density: bool) -> Markup:
    """One histogram for each group, all to one scale; ``density``: the numbers are counts for each unit of width already."""
    edges = _edges([label[-1] for label in labels])
    widths = [b - a for a, b in pairwise(edges)]
    uneven = max(widths) - min(widths) > _EVEN * max(widths)
    if uneven and not density:
        across = [widths[i % len(widths)] for i in range(len(triples))]
        triples = [(v / w, a / w, b / w) for (v, a, b), w in zip(triples, across, strict=True)]
    top = max(*(b for _, _, b in triples), 1e-300)
    bottom = min(0.0, *(a for _, a, _ in triples))
    parts: list[str] = []
    y = 0.0
    if uneven or density:
        for line_of_words in re.split(r"(?<=[:,])\s", say("density")):  # a picture breaks no lines, and a page may be narrow
            parts.append(text("0", y + 12, line_of_words, kind="small"))
            y += 15
        y += 4
    for group, members in groupby(zip(labels, triples, strict=True), key=lambda pair: pair[0][:-1]):
        listed = [triple for _, triple in members]
        if group:
            parts.append(text("0", y + 15, " · ".join(group), kind="strong"))
            y += 22
        parts += _histogram(edges[: len(listed) + 1], listed, y, bottom, top)
        y += _PLOT + 30
    return svg(key, told, y, parts)


def _histogram(edges: Sequence[float], triples: Sequence[Triple], y: float, bottom: float, top: float) -> list[str]:
    def height(value: float) -> float:
        return y + 8 + (_PLOT - 8) * (top - value) / (top - bottom)

    def across(edge: float) -> float:
        return _GUTTER + (100 - _GUTTER) * (edge - edges[0]) / (edges[-1] - edges[0])

    parts = []
    tick = step(top - bottom)
    for i in range(math.ceil(bottom / tick), math.floor(top / tick) + 1):
        level = height(i * tick)
        parts += [line(_GUTTER, level, 100, level, "#b7c1cc", 1)]
        parts += [text(f"{_GUTTER - 1.5}%", level + 4, shown(i * tick), "end", "small")]
    for (left, right), (value, low, high) in zip(pairwise(map(across, edges)), triples, strict=True):
        width, middle = right - left, (left + right) / 2
        upper, lower = height(max(value, 0.0)), height(min(value, 0.0))
        gap = min(0.04 * width, 0.3)
        parts.append(rect(left + gap, upper, width - 2 * gap, max(lower - upper, 0.5), BAR))
        parts.append(line(middle, height(low), middle, height(high)))
        reach = min(0.12 * width, 1.0)
        parts += [line(middle - reach, height(end), middle + reach, height(end)) for end in (low, high)]
    return parts + _written(edges, [across(edge) for edge in edges], y + _PLOT + 18)


def _written(edges: Sequence[float], places: Sequence[float], y: float) -> list[str]:
    """The edges below the bars, as many as fit on a narrow page; the first and the last in any case."""
    parts, last = [], -math.inf
    apart = max(_APART, _LETTER * max(len(date_columns.edge(edge)) for edge in (edges[0], edges[-1])))
    for i, (edge, place) in enumerate(zip(edges, places, strict=True)):
        at_end = i == len(edges) - 1
        if not at_end and (place - last < apart or places[-1] - place < apart):
            continue
        last = place
        parts.append(text(f"{place:.3f}%", y, date_columns.edge(edge), "end" if at_end else "middle", "small"))
    return parts


def _edges(bins: Sequence[str]) -> list[float]:
    """The edges of bins such as ``[0, 18)``, of the first group."""
    ends = [tuple(float(end) for end in each.strip("[]()").split(", ")) for each in bins]
    first = [ends[0][0]]
    for low, high in ends:
        if low != first[-1]:
            break
        first.append(high)
    return first
