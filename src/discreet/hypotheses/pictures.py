"""The picture of a comparison: groups' means and their differences, with intervals in the population."""

from __future__ import annotations

from typing import Any

from discreet.core import drawing
from discreet.core.result import Result
from discreet.errors import InvalidRequest
from discreet.hypotheses.anova import Comparison
from discreet.statistics.reading import Part

_GREY = "#55606e"
_MOST_PAIRS = 15


def differences(result: Result) -> dict[tuple[Any, Any], Result]:
    """Every two groups of a comparison: Welch's test of their difference, read off the same release.

    They cost no epsilon, and each is a chance of a false alarm: correct them with ``holm``.
    """
    reading = result.reading.inner if isinstance(result.reading, Part) else result.reading
    if not isinstance(reading, Comparison):
        raise InvalidRequest("differences are of a comparison; ask for one with session.compare(column, by=...)")
    return {pair: result.test("ttest_ind", between=pair) for pair in reading.pairs()}


def comparison(result: Result, level: float = 0.95) -> Any:
    """A Matplotlib figure: the means above, the differences below beside a line at 0; at most fifteen differences."""
    from matplotlib.figure import Figure

    pairs = list(differences(result).items())
    shown = pairs[:_MOST_PAIRS]
    groups = [str(label) for label in result.labels[0][1]]
    figure = Figure(figsize=(7.2, 1.6 + 0.34 * (len(groups) + len(shown))), layout="constrained")
    above, below = figure.subplots(2, 1, height_ratios=[len(groups) + 1, len(shown) + 1])
    result.plot(above, level)
    low, high = zip(*(one.interval(level, of="population") for _, one in shown), strict=True)
    words = [f"{a} − {b}" for (a, b), _ in shown]
    left_out = f", {len(pairs) - len(shown)} more not shown" if len(pairs) > len(shown) else ""
    title = f"differences{left_out}; above, p of one common mean"
    drawing.dots(below, words, [float(one) for _, one in shown], low, high, title, above.get_xlabel())
    below.axvline(0, color=_GREY, lw=1, ls=":")
    return figure
