"""The pictures of a page: the budget, what an attacker gains, and every answer with its intervals."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from markupsafe import Markup

from discreet.core.result import Result
from discreet.report import date_columns
from discreet.report.heat import heat
from discreet.report.histogram_bars import histograms
from discreet.report.language import say
from discreet.report.lives import MOST_CURVES, lives
from discreet.report.meaning import axes, has_interval, lines
from discreet.report.numerals import percent, shown
from discreet.report.svg import BAR, EARLIER, MARK, SOFT, Triple, line, rect, step, svg, text
from discreet.statistics.survival import Survival
from discreet.statistics.top import Ranking

_ROW = 44  # pixels of one line with its label above it
_COUNTED = ("count", "crosstab", "sum", "categories", "count_people", "people_sum")
_MOST_CELLS = 40  # of a table that are drawn as bars or dots: a larger one is a heat map
_NEVER_NEGATIVE = ("count", "count_people", "count_distinct", "variance", "std", "pooled_variance")
_SHARES = ("share", "survival", "binomtest", "mannwhitneyu", "ks_2samp", "kruskal", "chi2_contingency", "chisquare")
_RANGES = {
    **dict.fromkeys(("correlation", "pearsonr", "wilcoxon"), (-1.0, 1.0)),
    **dict.fromkeys(_SHARES, (0.0, 1.0)),
    **dict.fromkeys((*_NEVER_NEGATIVE, "f_oneway", "logrank"), (0.0, math.inf)),
}


def budget(others: float, here: float, left: float) -> Markup:
    """One bar: spent on other answers, spent on those of this page, left."""
    title = say("budget_picture", others=percent(others), here=percent(here), left=percent(left))
    inner = [
        rect(0, 1, 100, 30, SOFT),
        rect(0, 1, 100 * others, 30, EARLIER),
        rect(100 * others, 1, 100 * here, 30, BAR),
        rect(0, 1, 100, 30, "none", EARLIER),
    ]
    return svg("budget", title, 32, inner)


def guesses(rows: Sequence[tuple[str, float]]) -> Markup:
    """Bars from a coin toss (50 %) to certainty (100 %)."""
    title = say("guess_picture", rows="; ".join(f"{w} {percent(p)}" for w, p in rows))
    parts = []
    for i, (words, chance) in enumerate(rows):
        y = i * _ROW
        parts += [
            text("0", y + 15, words),
            text("100%", y + 15, percent(chance), "end", "strong"),
            rect(0, y + 21, 100, 12, SOFT),
            rect(0, y + 21, 200 * (chance - 0.5), 12, MARK),
        ]
    end = len(rows) * _ROW
    parts += [
        text("0", end + 12, say("coin"), kind="small"),
        text("100%", end + 12, say("sure"), "end", "small"),
    ]
    return svg("guess", title, end + 18, parts)


def answer(key: str, ask: Mapping[str, Any], result: Result, most: int) -> Markup:
    """The picture of one answer: a histogram, a heat map of a large table, bars, or dots, with their intervals."""
    names, rows = lines(result)
    labels = [tuple(rows[n][i] for n in names) for i in range(len(rows["value"]))][:most]
    ends = ("population_low", "population_high") if result.scope == "population" else ("low", "high")
    triples = list(zip(rows["value"], *(rows[end] for end in ends), strict=True))[:most]
    if not triples:
        return svg(key, say("nothing", title=ask["title"]), 1, [])
    words = [" · ".join(map(date_columns.label, parts, names)) for parts in labels] if names else [""]
    told = _alt(ask["title"], words, triples)
    if isinstance(result.reading, Ranking):
        return svg(key, told, 1, [])  # an order is a list, and the table below it is one
    if ask["statistic"] == "histogram":
        bins = [(*map(date_columns.label, parts[:-1], names), str(parts[-1])) for parts in labels]
        return histograms(key, told, bins, triples, density=result.reading.name == "density")
    if len(names) > 1 and len(rows["value"]) > _MOST_CELLS and np.ndim(result.value) == len(names):
        return heat(key, ask["title"], axes(result), np.asarray(result.value, np.float64))
    if ask["statistic"] in _COUNTED and names:
        return _bars(key, told, words, triples)
    if isinstance(result.reading, Survival) and math.prod(result.reading.outer) <= MOST_CURVES:
        return lives(key, told, result)
    limits = _limits(ask["statistic"], result)
    return _dots(key, told, words, triples, limits, has_interval(result), result.reading.hypothesis)


def _limits(statistic: str, result: Result) -> tuple[float, float]:
    """Between which numbers an answer can lie at all."""
    if isinstance(result.reading, Survival):
        return 0.0, 1.0
    edges = getattr(getattr(result.reading, "distribution", result.reading), "edges", None)
    if edges is not None:
        return float(edges[0]), float(edges[-1])
    low, high = getattr(result.reading, "lo", None), getattr(result.reading, "hi", None)
    if low is not None and high is not None:
        return float(low), float(high)
    return _RANGES.get(statistic, (-math.inf, math.inf))


def _alt(title: str, words: Sequence[str], triples: Sequence[Triple]) -> str:
    """A text that says what the picture shows; long ones say the ends, and the table below has the rest."""
    between = [say("between", low=date_columns.told(a), high=date_columns.told(b)) for _, a, b in triples]
    told = [
        f"{w + ' ' if w else ''}{date_columns.told(t[0])} ({ends})"
        for w, t, ends in zip(words, triples, between, strict=True)
    ]
    some = told if len(told) <= 8 else [*told[:3], say("and_more", count=len(told) - 3)]
    return say("alternative", title=title, numbers="; ".join(some))


def _scale(low: float, high: float) -> Any:
    width = (high - low) or 1.0
    return lambda x: 100 * (min(max(x, low), high) - low) / width


def _bars(key: str, told: str, words: Sequence[str], triples: Sequence[Triple]) -> Markup:
    place = _scale(min(0.0, *(a for _, a, _ in triples)), max(0.0, *(b for _, _, b in triples)) or 1.0)
    parts, zero = [], place(0.0)
    for i, (word, (value, low, high)) in enumerate(zip(words, triples, strict=True)):
        y, at = i * _ROW, place(value)
        parts += [
            text("0", y + 15, word),
            text("100%", y + 15, shown(value), "end", "strong"),
            rect(0, y + 21, 100, 16, SOFT),
            rect(min(zero, at), y + 21, abs(at - zero), 16, BAR),
            *([line(zero, y + 18, zero, y + 40, EARLIER, 1)] if zero else []),
            *_whisker(place(low), place(high), y + 29),
        ]
    return svg(key, told, len(triples) * _ROW + 4, parts)


def _whisker(left: float, right: float, y: float) -> list[str]:
    ends = [line(x, y - 6, x, y + 6) for x in (left, right)]
    return [line(left, y, right, y), *ends]


def _dots(
    key: str,
    told: str,
    words: Sequence[str],
    triples: Sequence[Triple],
    limits: tuple[float, float],
    ends: bool,
    hypothesis: float | None = None,
) -> Markup:
    """Dots on a common scale around them; without ``ends`` there are no intervals, and the scale is all that is declared.

    Of a test the effect under the ``hypothesis`` is marked, and the scale holds it.
    """
    marks = [] if hypothesis is None else [hypothesis]
    low, high = _axis(min([*marks, *(a for _, a, _ in triples)]), max([*marks, *(b for _, _, b in triples)]), limits)
    place = _scale(low, high)
    parts = []
    for i, (word, (value, a, b)) in enumerate(zip(words, triples, strict=True)):
        y, at = i * _ROW, place(value)
        anchor = "start" if at < 12 else "end" if at > 88 else "middle"
        above = [
            text("0", y + 15, word),
            text("100%", y + 15, _with_ends(value, a, b) if ends else date_columns.told(value), "end", "strong"),
        ]
        parts += above if word else [text(f"{at:.3f}%", y + 15, date_columns.told(value), anchor, "strong")]
        parts += [
            rect(0, y + 27, 100, 4, SOFT),
            *(line(place(mark), y + 18, place(mark), y + 40, MARK) for mark in marks),
            *(_whisker(place(a), place(b), y + 29) if ends else []),
            f'<circle cx="{at:.3f}%" cy="{y + 29:g}" r="6" fill="{BAR}" stroke="#ffffff" stroke-width="1.5"/>',
        ]
    end = len(triples) * _ROW
    parts += [
        text("0", end + 12, date_columns.told(low), kind="small"),
        text("100%", end + 12, date_columns.told(high), "end", "small"),
    ]
    for mark in marks:
        at = min(max(place(mark), 22.0), 78.0)
        parts.append(text(f"{at:.3f}%", end + 12, say("hypothesis", value=date_columns.told(mark)), "middle", "small"))
    return svg(key, told, end + 18, parts)


def _with_ends(value: float, low: float, high: float) -> str:
    return f"{date_columns.told(value)} ({say('between', low=date_columns.told(low), high=date_columns.told(high))})"


def _axis(lowest: float, highest: float, limits: tuple[float, float]) -> tuple[float, float]:
    """A view around the intervals, to round numbers, and never beyond what an answer can be."""
    width = (highest - lowest) or abs(highest) or 1.0
    tick = step(2 * width)
    low, high = math.floor((lowest - width / 4) / tick) * tick, math.ceil((highest + width / 4) / tick) * tick
    return max(low, limits[0]), min(high, limits[1])
