"""Pictures as SVG that grows with the page: places in per cent, letters in pixels, so that a telephone shows it too."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from html import escape
from itertools import groupby
from typing import Any

from markupsafe import Markup

from discreet.core.result import Result
from discreet.report.meaning import lines
from discreet.report.numbers import percent, shown

BAR, MARK, LINE, SOFT, EARLIER, INK = "#2b6cb0", "#9c2f0f", "#1b2430", "#dfe6ee", "#55606e", "#1b2430"
_ROW = 44  # pixels of one line with its label above it
_PLOT = 190  # pixels of a histogram
_GUTTER = 11.0  # per cent of a histogram that the numbers beside it take
_COUNTED = ("count", "crosstab", "sum", "categories")
_RANGES = {"correlation": (-1.0, 1.0), **dict.fromkeys(("count", "variance", "std", "pooled_variance"), (0.0, math.inf))}


def _svg(key: str, title: str, height: float, parts: Sequence[str]) -> Markup:
    """A picture with its alternative text."""
    head = (
        f'<svg role="img" aria-labelledby="{key}-title" width="100%" height="{height:g}" '
        f'xmlns="http://www.w3.org/2000/svg"><title id="{key}-title">{escape(title)}</title>'
    )
    return Markup(head + "".join(parts) + "</svg>")  # noqa: S704  every text in it was escaped


def _text(x: str, y: float, words: str, anchor: str = "start", kind: str = "") -> str:
    marked = f' class="{kind}"' if kind else ""
    return f'<text x="{x}" y="{y:g}" text-anchor="{anchor}"{marked}>{escape(words)}</text>'


def _rect(x: float, y: float, width: float, height: float, fill: str, edge: str = "") -> str:
    stroke = f' stroke="{edge}"' if edge else ""
    return f'<rect x="{x:.3f}%" y="{y:g}" width="{max(width, 0):.3f}%" height="{height:g}" fill="{fill}"{stroke}/>'


def _line(x1: float, y1: float, x2: float, y2: float, color: str = LINE, width: float = 2) -> str:
    return f'<line x1="{x1:.3f}%" y1="{y1:g}" x2="{x2:.3f}%" y2="{y2:g}" stroke="{color}" stroke-width="{width:g}"/>'


def budget(others: float, here: float, left: float) -> Markup:
    """One bar: spent on other answers, spent on those of this page, left."""
    title = f"Budget: {percent(others)} spent on other answers, {percent(here)} on this page, {percent(left)} left."
    inner = [
        _rect(0, 1, 100, 30, SOFT),
        _rect(0, 1, 100 * others, 30, EARLIER),
        _rect(100 * others, 1, 100 * here, 30, BAR),
        _rect(0, 1, 100, 30, "none", EARLIER),
    ]
    return _svg("budget", title, 32, inner)


def guesses(rows: Sequence[tuple[str, float]]) -> Markup:
    """Bars from a coin toss (50 %) to certainty (100 %)."""
    title = "Best chance of a right guess, where a coin toss has 50 %: " + "; ".join(f"{w} {percent(p)}" for w, p in rows)
    parts = []
    for i, (words, chance) in enumerate(rows):
        y = i * _ROW
        parts += [
            _text("0", y + 15, words),
            _text("100%", y + 15, percent(chance), "end", "strong"),
            _rect(0, y + 21, 100, 12, SOFT),
            _rect(0, y + 21, 200 * (chance - 0.5), 12, MARK),
        ]
    end = len(rows) * _ROW
    parts += [
        _text("0", end + 12, "50 % (a coin toss)", kind="small"),
        _text("100%", end + 12, "100 % (sure)", "end", "small"),
    ]
    return _svg("guess", title, end + 18, parts)


def answer(key: str, ask: Mapping[str, Any], result: Result, most: int) -> Markup:
    """The picture of one answer: a histogram, bars, or dots on a common scale, all with their intervals."""
    names, rows = lines(result)
    labels = [tuple(str(rows[n][i]) for n in names) for i in range(len(rows["value"]))][:most]
    ends = ("population_low", "population_high") if result.scope == "population" else ("low", "high")
    triples = list(zip(rows["value"], *(rows[end] for end in ends), strict=True))[:most]
    if not triples:
        return _svg(key, f"{ask['title']}: nothing to show", 1, [])
    if ask["statistic"] == "histogram":
        return _histograms(key, ask["title"], labels, triples)
    words = [" · ".join(parts) for parts in labels] if names else [""]
    if ask["statistic"] in _COUNTED and names:
        return _bars(key, ask["title"], words, triples)
    return _dots(key, ask["title"], words, triples, _limits(ask["statistic"], result))


def _limits(statistic: str, result: Result) -> tuple[float, float]:
    """Between which numbers an answer can lie at all."""
    edges = getattr(getattr(result.reading, "distribution", result.reading), "edges", None)
    if edges is not None:
        return float(edges[0]), float(edges[-1])
    low, high = getattr(result.reading, "lo", None), getattr(result.reading, "hi", None)
    if low is not None and high is not None:
        return float(low), float(high)
    return _RANGES.get(statistic, (-math.inf, math.inf))


Triple = tuple[float, float, float]


def _alt(title: str, words: Sequence[str], triples: Sequence[Triple]) -> str:
    """A text that says what the picture shows; long ones say the ends, and the table below has the rest."""
    told = [
        f"{w + ' ' if w else ''}{shown(v)} ({shown(a)} to {shown(b)})" for w, (v, a, b) in zip(words, triples, strict=True)
    ]
    some = told if len(told) <= 8 else [*told[:3], f"and {len(told) - 3} more, listed in the table below"]
    return f"{title}, with 95 % intervals: " + "; ".join(some)


def _scale(low: float, high: float) -> Any:
    width = (high - low) or 1.0
    return lambda x: 100 * (min(max(x, low), high) - low) / width


def _bars(key: str, title: str, words: Sequence[str], triples: Sequence[Triple]) -> Markup:
    place = _scale(min(0.0, *(a for _, a, _ in triples)), max(0.0, *(b for _, _, b in triples)) or 1.0)
    parts, zero = [], place(0.0)
    for i, (label, (value, low, high)) in enumerate(zip(words, triples, strict=True)):
        y, at = i * _ROW, place(value)
        parts += [
            _text("0", y + 15, label),
            _text("100%", y + 15, shown(value), "end", "strong"),
            _rect(0, y + 21, 100, 16, SOFT),
            _rect(min(zero, at), y + 21, abs(at - zero), 16, BAR),
            *([_line(zero, y + 18, zero, y + 40, EARLIER, 1)] if zero else []),
            *_whisker(place(low), place(high), y + 29),
        ]
    return _svg(key, _alt(title, words, triples), len(triples) * _ROW + 4, parts)


def _whisker(left: float, right: float, y: float) -> list[str]:
    ends = [_line(x, y - 6, x, y + 6) for x in (left, right)]
    return [_line(left, y, right, y), *ends]


def _dots(key: str, title: str, words: Sequence[str], triples: Sequence[Triple], limits: tuple[float, float]) -> Markup:
    low, high = _axis(min(a for _, a, _ in triples), max(b for _, _, b in triples), limits)
    place = _scale(low, high)
    parts = []
    for i, (label, (value, a, b)) in enumerate(zip(words, triples, strict=True)):
        y, at = i * _ROW, place(value)
        anchor = "start" if at < 12 else "end" if at > 88 else "middle"
        above = [
            _text("0", y + 15, label),
            _text("100%", y + 15, f"{shown(value)} ({shown(a)} to {shown(b)})", "end", "strong"),
        ]
        parts += above if label else [_text(f"{at:.3f}%", y + 15, shown(value), anchor, "strong")]
        parts += [
            _rect(0, y + 27, 100, 4, SOFT),
            *_whisker(place(a), place(b), y + 29),
            f'<circle cx="{at:.3f}%" cy="{y + 29:g}" r="6" fill="{BAR}" stroke="#ffffff" stroke-width="1.5"/>',
        ]
    end = len(triples) * _ROW
    parts += [_text("0", end + 12, shown(low), kind="small"), _text("100%", end + 12, shown(high), "end", "small")]
    return _svg(key, _alt(title, words, triples), end + 18, parts)


def _axis(lowest: float, highest: float, limits: tuple[float, float]) -> tuple[float, float]:
    """The whole range where the intervals fill a fair part of it, else a closer view around them, to round numbers."""
    width = (highest - lowest) or abs(highest) or 1.0
    if width >= 0.2 * (limits[1] - limits[0]):
        return limits
    step = _step(2 * width)
    low, high = math.floor((lowest - width / 2) / step) * step, math.ceil((highest + width / 2) / step) * step
    return max(low, limits[0]), min(high, limits[1])


def _step(width: float) -> float:
    """A round step, 1, 2 or 5 times a power of ten, that goes into ``width`` three to eight times."""
    power = 10.0 ** math.floor(math.log10(width / 3))
    return max(factor * power for factor in (1, 2, 5) if factor * power <= width / 3)


def _histograms(key: str, title: str, labels: Sequence[tuple[str, ...]], triples: Sequence[Triple]) -> Markup:
    """One histogram for each group, all to one scale."""
    top = max(*(b for _, _, b in triples), 1e-300)
    bottom = min(0.0, *(a for _, a, _ in triples))
    parts: list[str] = []
    y = 0.0
    for group, members in groupby(zip(labels, triples, strict=True), key=lambda pair: pair[0][:-1]):
        listed = list(members)
        if group:
            parts.append(_text("0", y + 15, " · ".join(group), kind="strong"))
            y += 22
        parts += _histogram([label[-1] for label, _ in listed], [t for _, t in listed], y, bottom, top)
        y += _PLOT + 30
    words = [" · ".join(label) for label in labels]
    return _svg(key, _alt(title, words, triples), y, parts)


def _histogram(bins: Sequence[str], triples: Sequence[Triple], y: float, bottom: float, top: float) -> list[str]:
    def height(value: float) -> float:
        return y + 8 + (_PLOT - 8) * (top - value) / (top - bottom)

    step, parts = (100 - _GUTTER) / len(bins), []
    tick = _step(top - bottom)
    for i in range(math.ceil(bottom / tick), math.floor(top / tick) + 1):
        level = height(i * tick)
        parts += [_line(_GUTTER, level, 100, level, "#b7c1cc", 1)]
        parts += [_text(f"{_GUTTER - 1.5}%", level + 4, shown(i * tick), "end", "small")]
    for i, (value, low, high) in enumerate(triples):
        left, middle = _GUTTER + (i + 0.08) * step, _GUTTER + (i + 0.5) * step
        upper, lower = height(max(value, 0.0)), height(min(value, 0.0))
        parts.append(_rect(left, upper, 0.84 * step, max(lower - upper, 0.5), BAR))
        parts.append(_line(middle, height(low), middle, height(high)))
        parts += [_line(middle - 0.12 * step, height(e), middle + 0.12 * step, height(e)) for e in (low, high)]
    return parts + _edges(bins, step, y + _PLOT + 18)


def _edges(bins: Sequence[str], step: float, y: float) -> list[str]:
    """The edges below the bars, as many as fit on a narrow page."""
    edges = [b.strip("[]()").split(", ")[0] for b in bins] + [bins[-1].strip("[]()").split(", ")[-1]]
    every = -(-len(edges) // 9)
    parts = []
    for i in range(0, len(edges), every):
        anchor = "end" if i == len(edges) - 1 else "middle"
        parts.append(_text(f"{_GUTTER + i * step:.3f}%", y, edges[i].replace("-", "−"), anchor, "small"))
    return parts
