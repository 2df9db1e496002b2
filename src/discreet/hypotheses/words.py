"""A test in words: what was found, how, from which release, and what could have been found."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from discreet.core.result import Result
from discreet.errors import InvalidRequest
from discreet.hypotheses.reading import HypothesisTest, p_in_words
from discreet.statistics.reading import Part

_ALPHA = 0.05
ENGLISH = {
    "test_found": "p {p}, statistic {statistic} ({method})",
    "test_less": "{method}; one-sided: less",
    "test_greater": "{method}; one-sided: greater",
    "test_effect": "{what}: {effect}, 95 % interval in the population {low} to {high}",
    "test_effect_alone": "{what}, in this table: {effect}",
    "test_hypothesis": "{words}; the hypothesis says {value}",
    "test_source": "Read off one release of {numbers} numbers ({law}{entry}), neighbours: {relation}{private}",
    "test_source_one": "Read off one release of 1 number ({law}{entry}), neighbours: {relation}{private}",
    "test_entry": ", entry {number} of its ledger",
    "test_not_private": "; not private (seeded or without noise)",
    "test_not_rejected": "Not rejected at .05, which is no evidence that there is nothing",
    "test_would_find": "{words}: an effect of {effect} is found with probability .8 by a release like this",
    "test_would_find_from": "{words}: {effect} away from the hypothesis is found with probability .8 by a release like this",
    "relation_add_remove": "add_remove",
    "relation_replace": "replace",
    "relation_both": "both",
    "relation_unknown": "not told",
}


@dataclass(frozen=True)
class Speech:
    """How things are said: a phrase by its key in ``ENGLISH``, a number, a p-value, the method of a test and what its effect
    is (with the groups it compares), and a law.
    """

    say: Callable[..., str] = lambda key, **words: ENGLISH[key].format(**words)
    number: Callable[[float], str] = "{:.4g}".format
    p_value: Callable[[float], str] = p_in_words
    method: Callable[[Any], str] = lambda test: str(test.method)
    effect: Callable[..., str] = lambda test, **groups: str(test.effect.format(**groups))
    law: Callable[[Any], str] = lambda law: str(law.name)


def describe(result: Result, speech: Speech = Speech()) -> str:  # noqa: B008  it is frozen
    """One paragraph for a reader: p-value and method, effect and interval, release and relation.

    Where the hypothesis is not rejected, it says which effect a release like this one would have shown.
    """
    reading: Any = result.reading.inner if isinstance(result.reading, Part) else result.reading
    if not isinstance(reading, HypothesisTest):
        raise InvalidRequest("this answer is no hypothesis test; ask for one by its name, such as 'ttest_ind'")
    words = {"p": speech.p_value(result.pvalue), "statistic": speech.number(result.statistic)}
    side = getattr(reading, "alternative", "two-sided")
    method = speech.method(reading)
    if side != "two-sided":
        method = speech.say(f"test_{side}", method=method)
    parts = [speech.say("test_found", method=method, **words)]
    if np.size(result.value) == 1:
        parts.append(_effect(result, reading, speech))
    parts.append(_source(result, speech))
    if result.pvalue > _ALPHA:
        parts.append(_not_rejected(result, reading, speech))
    return ". ".join(parts) + "."


def _effect(result: Result, reading: HypothesisTest, speech: Speech) -> str:
    what = speech.effect(reading, **reading.compared(result.reading.own(result.releases)))
    effect = speech.number(float(result))
    try:
        low, high = map(float, result.confidence_interval())
    except InvalidRequest:  # a statistic without an effect in the population
        return speech.say("test_effect_alone", what=what, effect=effect)
    words = speech.say("test_effect", what=what, effect=effect, low=speech.number(low), high=speech.number(high))
    told = reading.hypothesis
    return words if told is None else speech.say("test_hypothesis", words=words, value=speech.number(told))


def _source(result: Result, speech: Speech) -> str:
    release, say = result.releases[0], speech.say
    known = release.entry is not None and release.entry.number
    numbers = int(np.size(release.value))
    return say(
        "test_source" if numbers > 1 else "test_source_one",
        numbers=numbers,
        law=speech.law(release.mechanism),
        entry=say("test_entry", number=release.entry.number) if known and release.entry else "",
        relation=say(f"relation_{result.relation}") if result.relation else say("relation_unknown"),
        private="" if result.private else say("test_not_private"),
    )


def _not_rejected(result: Result, reading: HypothesisTest, speech: Speech) -> str:
    seen, words = reading.seen_effect(result.reading.own(result.releases)), speech.say("test_not_rejected")
    if seen is None:
        return words
    away = reading.hypothesis and not reading.ratio  # a distance from 0 is the effect itself
    key = "test_would_find_from" if away else "test_would_find"
    return speech.say(key, words=words, effect=speech.number(float(f"{seen:.3g}")))
