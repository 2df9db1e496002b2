"""What the numbers mean, in words: who is protected from what, and how much better an attacker can guess."""

from __future__ import annotations

import itertools
import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from discreet.accounting import conversions
from discreet.accounting.filters import Filter
from discreet.core.budget import Budget
from discreet.core.cost import Cost
from discreet.core.mechanism import mechanisms
from discreet.core.reading import Axes
from discreet.core.result import Result
from discreet.core.schema import Schema
from discreet.hypotheses import describe, holm
from discreet.hypotheses.reading import HypothesisTest, p_in_words
from discreet.hypotheses.words import Speech
from discreet.report import date_columns
from discreet.report.date_columns import told
from discreet.report.language import localised, say, says
from discreet.report.numerals import percent, shown
from discreet.statistics.bounds import FoundBounds
from discreet.statistics.categories import FoundKeys
from discreet.statistics.distribution import DistributionReading
from discreet.statistics.quantile import Chosen
from discreet.statistics.top import Ranking

_DELTAS = tuple(10.0 ** (-k / 4) for k in range(2, 49))  # where a concentrated guarantee is turned into (epsilon, delta)


def best_guess(cost: Cost) -> float:
    """The largest probability with which anyone can tell two neighbouring tables apart, each equally likely before.

    Proof: for (epsilon, delta) a test has true positives at most e^epsilon times false ones plus delta, and the same of
    negatives; the best such test is right with (e^epsilon + delta) / (1 + e^epsilon). That holds for every delta at which
    some statement of the cost gives an epsilon, so the least over them does. For rho-concentrated privacy the
    Kullback-Leibler divergence is at most rho outside an event of probability ``slack``, so total variation is at most
    sqrt(rho / 2) (Pinsker) and sqrt(1 - e^-rho) (Bretagnolle and Huber), plus the slack; the guess is right with half of
    1 + total variation. A pure cost is told by its epsilon alone: the number then holds in every case, not on average.
    """
    if cost.epsilon is not None and not cost.delta:
        return 1 / (1 + math.exp(-float(cost.epsilon)))
    chances = [1.0]
    for delta in {float(cost.delta), *_DELTAS}:
        epsilon = conversions.epsilon(cost, delta)
        if epsilon < math.inf:
            chances.append((1 + delta * math.exp(-epsilon)) / (1 + math.exp(-epsilon)))
    if cost.rho is not None:
        rho = float(cost.rho)
        apart = min(math.sqrt(rho / 2), math.sqrt(-math.expm1(-rho))) + float(cost.slack)
        chances.append((1 + apart) / 2)
    return min(chances)


@dataclass(frozen=True)
class Guess:
    """How well an attacker can guess after seeing something."""

    what: str
    cost: str
    chance: float

    @property
    def percent(self) -> str:
        """The chance in per cent."""
        return percent(self.chance)


def price_of(asks: Iterable[Mapping[str, Any]]) -> Cost:
    """What the answers cost together, whenever they were paid: every entry of the ledger once.

    An answer that was stored and given again was paid for when it was first given, and reveals as much as it did then.
    """
    costs: dict[Any, Cost] = {}
    for number, ask in enumerate(asks):
        release = ask["result"]["releases"][0]
        entry = release["entry"]
        key = ("unpaid", number) if entry is None else (entry["ledger"], entry["number"])
        costs[key] = Cost.from_dict(ask["result"]["cost"])
    return sum(costs.values(), Cost.nothing())


def guesses(budget: Budget, total: Cost, here: Cost) -> list[Guess]:
    """After the answers of one page, after all releases so far, and after the whole budget."""
    rows = [Guess(say("guess_page"), str(here), best_guess(here))]
    rows.append(Guess(say("guess_all"), str(total), best_guess(total)))
    rows.append(Guess(say("guess_budget"), str(budget), best_guess(whole(budget))))
    return rows


def whole(budget: Budget) -> Cost:
    """What a budget costs when all of it is spent."""
    if budget.rho is not None:
        cost = Cost.zcdp(budget.rho)
        return Cost(cost.epsilon, cost.delta, cost.rho, budget.delta, cost.curve)
    assert budget.epsilon is not None
    return Cost.approximate(budget.epsilon, budget.delta) if budget.delta else Cost.pure(budget.epsilon)


def beliefs(cost: Cost) -> list[tuple[str, str]]:
    """For a pure guarantee: how sure an attacker may be afterwards, by how sure they were before (Bayes' rule)."""
    if cost.epsilon is None or cost.delta:
        return []
    weight = math.exp(min(float(cost.epsilon), 700.0))
    return [(percent(p), percent(p * weight / (1 - p + p * weight))) for p in (0.001, 0.01, 0.1, 0.5)]


def shares(budget: Budget, total: Cost, here: Cost) -> tuple[float, float, float]:
    """How much of the budget went to other answers, went to those of one page, and is left; they sum to one."""

    def used(total: Cost) -> float:
        if budget.composition == "renyi":
            room = Filter.of(budget)
            start, left = room.remaining(Cost.nothing()).rho, room.remaining(total).rho
            return 1 - float((left or Fraction(0)) / start) if start else 1.0
        most, spent = (budget.rho, total.rho) if budget.rho is not None else (budget.epsilon, total.epsilon)
        return 1.0 if spent is None or not most else min(1.0, float(spent / most))

    all_of_it = used(total)
    page = min(used(here), all_of_it)
    return all_of_it - page, page, 1 - all_of_it


def protected(schema: Schema) -> list[str]:
    """Who is protected from what: one sentence each."""
    unit = "unit_row" if schema.person is None else "unit_person"
    return [
        say(unit, person=schema.person, rows=schema.max_rows),
        *map(say, (f"hidden_{schema.neighbors}", "hidden_from", "not_hidden")),
    ]


def law_glossary(names: Collection[str]) -> list[str]:
    """The laws that a release used, in plain words: the page's own, else the law's, which are English."""
    return [
        say(f"law.{name}") if says(f"law.{name}") else mechanisms[name].words or name.replace("_", " ")
        for name in sorted(names)
    ]


def _title(law: Any) -> str:
    """The name of a law: the first words of what is said of it."""
    return say(f"law.{law.name}").partition(":")[0].strip() if says(f"law.{law.name}") else str(law.title())


def law_sentence(result: Result) -> str:
    """The law of one answer with its numbers."""
    law: Any = result.releases[0].mechanism
    if law.name == "exponential":
        return f"{_title(law)}{say('choice', rate=shown(law.rate))}."
    return f"{_title(law)}{_size(result) if hasattr(law, 'scales') else ''}."


def _size(result: Result) -> str:
    """How far the noise moves an answer, in the answer's own unit; nothing where that is not known."""
    errors = [e for e in result.rows()["expected_error"] if math.isfinite(e)]
    if not errors:
        return ""
    small, large = date_columns.size(min(errors)), date_columns.size(max(errors))
    size = large if small == large else say("between", low=small, high=large)
    return say("moves_answer" if len(errors) == 1 else "moves_each", size=size)


def rank_sentence(result: Result) -> str | None:
    """For a quantile: how far off in rank, since how far off in value is not public."""
    rank = result.reading.rank_error(result.releases)
    return None if rank is None else say("ranks", rows=shown(math.ceil(rank)))


def is_test(result: Result) -> bool:
    """Whether an answer has a p-value."""
    return isinstance(result.reading, HypothesisTest)


def test_sentence(result: Result) -> str:
    """What a hypothesis test found, in the language of the page."""
    return describe(result, Speech(say, shown, lambda p: localised(p_in_words(p)), _method, _effect, _title))


def _effect(test: Any, **groups: str) -> str:
    """What the effect of a test is: in the page's own words, else the test's, which are English."""
    key = f"effect.{test.name}"
    if getattr(test, "kind", "") == "ranks":
        key += ".ranks"
    return say(key, **groups) if says(key) else str(test.effect.format(**groups))


def _method(test: Any) -> str:
    """How a p-value was found: in the page's own words, else the test's, which are English."""
    if not says(f"method.{test.name}"):
        return localised(test.method)
    numbers = {word: getattr(getattr(test, "equality", test), word, 0) for word in ("draws", "n", "p", "strata")}
    return say(f"method.{test.name}", **{word: shown(number) for word, number in numbers.items()})


def corrections(results: Sequence[Result]) -> list[str | None]:
    """Of every test on a page, what Holm's correction makes of its p-value; nothing where it is the only one."""
    tests = [result for result in results if is_test(result)]
    adjusted = iter(holm(tests)) if len(tests) > 1 else iter(())
    return [
        say("correction", tests=len(tests), p=localised(p_in_words(next(adjusted))))
        if len(tests) > 1 and is_test(result)
        else None
        for result in results
    ]


# Of a reading the axes, and the labels on them, that are its own words and no column's.
_OWN_WORDS = {
    "found_bounds": ("bound", "lower", "upper"),
    "covariance_matrix": ("line", "column"),
    "survival": ("time",),
}


def axes(result: Result) -> Axes:
    """The axes of an answer with their labels; what a statistic calls its own axes in the language of the page."""
    own = _OWN_WORDS.get(result.reading.name, ())

    def said(word: Any) -> Any:
        return say(f"axis.{word}") if word in own else word

    told = tuple((said(name), tuple(map(said, known)) if name == "bound" else known) for name, known in result.labels)
    return told if len({name for name, _ in told}) == len(told) else result.labels


_SHARES = (0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95)  # the quantiles that a page shows of a distribution


def lines(result: Result) -> tuple[list[str], dict[str, list[Any]]]:
    """The names of the labels of an answer, and its lines: of a distribution its quantiles, for it has hundreds of bins."""
    if not isinstance(result.reading, DistributionReading):
        told, numbers = axes(result), result.rows()
        labels = zip(*itertools.product(*(known for _, known in told)), strict=True)
        columns = {name: list(column) for (name, _), column in zip(told, labels, strict=True)}
        return list(columns), columns | {name: numbers[name] for name in list(numbers)[len(told) :]}
    groups = result.reading.groups
    names = [*(name for name, _ in groups), say("rows_below"), "value", "low", "high", "expected_error"]
    ends = ["population_low", "population_high"]
    rows: dict[str, list[Any]] = {name: [] for name in [*names, *ends]}
    for share in _SHARES:  # the interval of the table is not shown, and would take ten times as long
        quantile = result.quantile(share)
        low, high = (np.ravel(end) for end in quantile.interval(0.95, of="population"))
        places = itertools.product(*(known for _, known in groups))
        for place, value, a, b in zip(places, np.ravel(quantile.value), low, high, strict=True):
            line = (*place, percent(share), value, a, b, None, a, b)
            for column, cell in zip(rows.values(), line, strict=True):
                column.append(cell)
    return names[: len(groups) + 1], rows


def has_interval(result: Result) -> bool:
    """Whether an answer has an interval in values; a choice has none, and a ranking has no values."""
    return not isinstance(result.reading, Chosen | FoundBounds | Ranking)


def caution(result: Result) -> str | None:
    """What the release says against what was expected, in words."""
    found = result.caution
    if found is None:
        return None
    seen = found.seen if found.kind == "wider" else round(max(found.seen, 0.0))
    return say(found.kind, seen=shown(seen), expected=shown(found.expected))


def doubted(asks: Sequence[Mapping[str, Any]], results: Sequence[Result]) -> list[str | None]:
    """Of answers that give no sign themselves, the title of another one that says their column could hardly be read.

    A sum, say, does not tell how many rows it is of; a mean of the same column of all rows does.
    """
    unread: dict[str, str] = {}
    for ask, result in zip(asks, results, strict=True):
        plain = len(ask.get("columns", ())) == 1 and not ask.get("by") and not ask.get("where")
        if plain and result.caution is not None and result.caution.kind == "fewer":
            unread.setdefault(ask["columns"][0], ask["title"])
    return [
        None if result.caution else next((unread[name] for name in ask.get("columns", ()) if name in unread), None)
        for ask, result in zip(asks, results, strict=True)
    ]


def alone(result: Result) -> str:
    """An answer of which nothing is promised."""
    if result.labels:
        return say("answer_many_alone", count=np.size(result.value))
    return say("answer_alone", value=told(result.value))


def sentence(ask: Mapping[str, Any], result: Result) -> str:
    """The answer in one sentence; a hypothesis test in its own words. Nothing is promised of an answer with a caution."""
    asked_share = {"median": "0.5"}.get(ask["statistic"], ask.get("options", {}).get("q", "0.5"))
    of_rank = f" {say('quantile', share=percent(float(asked_share)))}" if ask["statistic"] in ("quantile", "median") else ""
    return _told(result) + of_rank


def _told(result: Result) -> str:
    reading = result.reading
    if isinstance(reading, DistributionReading):
        return say("answer_distribution", bins=np.shape(result.value)[-1])
    if is_test(result):
        return test_sentence(result)
    own = _own_words(result)
    if own is not None:
        return own
    many = bool(result.labels)
    if result.caution is not None or not has_interval(result):
        return alone(result)
    if many:
        return say("answer_many", count=np.size(result.value))
    low, high = map(told, result.interval(0.95))
    if result.scope == "population":
        outer = [told(end) for end in result.interval(0.95, of="population")]
        ends = {"low": outer[0], "high": outer[1], "inner_low": low, "inner_high": high}
        return say("answer_population", value=told(result.value), **ends)
    return say("answer", value=told(result.value), low=low, high=high)


def _own_words(result: Result) -> str | None:
    """What a reading says of itself where a number with its interval does not say it, in the language of the page."""
    reading, releases = result.reading, result.releases
    if isinstance(reading, Ranking):
        names = ", ".join(str(label) for label in reading.axes(releases)[0][1])
        return say("ranking", names=names, gap=shown(math.ceil(reading.gap(releases))))
    if isinstance(reading, FoundKeys):
        return say("found_labels", count=len(releases[0].value))
    if isinstance(reading, FoundBounds):
        low, high = reading.value(releases)
        found = reading.note(releases) is None
        return say("found_bounds", low=told(low), high=told(high)) if found else say("found_no_bounds")
    return reading.sentence(releases)
