"""A test in words: what was found, how, from which release, and what could have been found."""

from __future__ import annotations

from typing import Any

import numpy as np

from discreet.core.result import Result
from discreet.errors import InvalidRequest
from discreet.hypotheses.reading import HypothesisTest
from discreet.statistics.reading import Part

_ALPHA = 0.05


def describe(result: Result) -> str:
    """One paragraph for a reader: p-value and method, effect and interval, release and relation.

    Where the hypothesis is not rejected, it says which effect a release like this one would have shown.
    """
    reading: Any = result.reading.inner if isinstance(result.reading, Part) else result.reading
    if not isinstance(reading, HypothesisTest):
        raise InvalidRequest("this answer is no hypothesis test; ask for one by its name, such as 'ttest_ind'")
    p = result.pvalue
    parts = [f"p {p_in_words(p)}, statistic {result.statistic:.4g} ({result.method})"]
    if np.size(result.value) == 1:
        parts.append(_effect(result))
    parts.append(_source(result))
    if p > _ALPHA:
        parts.append(_not_rejected(result, reading))
    return ". ".join(parts) + "."


def p_in_words(p: float) -> str:
    """Four digits, or that it is below them."""
    return "< 0.0001" if p < 1e-4 else f"= {p:.4f}"


def _effect(result: Result) -> str:
    try:
        low, high = result.confidence_interval()
    except InvalidRequest:  # a statistic without an effect in the population
        return f"Effect in this table {float(result):.4g}"
    return f"Effect {float(result):.4g}, 95 % interval in the population {float(low):.4g} to {float(high):.4g}"


def _source(result: Result) -> str:
    release = result.releases[0]
    entry = "" if release.entry is None or not release.entry.number else f", entry {release.entry.number} of its ledger"
    numbers = int(np.size(release.value))
    private = "" if result.private else "; not private (seeded or without noise)"
    many = f"one release of {numbers} number{'s' if numbers > 1 else ''}"
    return f"Read off {many} ({release.mechanism.name}{entry}), neighbours: {result.relation}{private}"


def _not_rejected(result: Result, reading: HypothesisTest) -> str:
    seen = reading.seen_effect(result.releases)
    words = "Not rejected at .05, which is no evidence that there is nothing"
    return words if seen is None else f"{words}: an effect of {seen:.3g} is found with probability .8 by a release like this"
