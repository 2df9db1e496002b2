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
from discreet.core.result import Result
from discreet.core.schema import Schema
from discreet.hypotheses import describe, holm
from discreet.hypotheses.reading import HypothesisTest
from discreet.hypotheses.words import p_in_words
from discreet.report.numbers import percent, shown
from discreet.statistics.distribution import Distribution

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
    rows = [Guess("the answers on this page", str(here), best_guess(here))]
    rows.append(Guess("everything released so far", str(total), best_guess(total)))
    rows.append(Guess("everything the budget will ever allow", str(budget), best_guess(whole(budget))))
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
    if schema.person is not None:
        many = f"All rows with the same “{schema.person}” are one person"
        unit = f"{many}; at most {schema.max_rows} rows of one person are used, and the others are left out of every answer."
    else:
        unit = "One row is taken to be one person. Someone with several rows is protected row by row, which is less."
    secret = {
        "add_remove": "whether that person is in the table at all, and everything recorded about them",
        "replace": "everything recorded about that person; that the table has as many rows as it has is not a secret here",
        "both": "whether that person is in the table at all, and everything recorded about them, whether someone is added, "
        "removed or exchanged for another",
    }[schema.neighbors]
    return [
        unit,
        f"What is hidden is {secret}.",
        "It is hidden from anyone who reads this page or the file next to it, whatever else they know and however much "
        "they can compute, now and later, also if they know every other person in the table.",
        "Not hidden is what is true of people in general: if smoking raises blood pressure, a release may show it, and that "
        "applies to a smoker whether or not they were in the table.",
    ]


def law_glossary(names: Collection[str]) -> list[str]:
    """The laws that a release used, in plain words."""
    return [mechanisms[name].words or name.replace("_", " ") for name in sorted(names)]


def law_sentence(result: Result) -> str:
    """The law of one answer with its numbers."""
    law: Any = result.releases[0].mechanism
    if hasattr(law, "rate"):
        return f"{law.title()} among evenly spaced public values, rate {shown(law.rate)} for each step of utility."
    return f"{law.title()}{_size(result) if hasattr(law, 'scales') else ''}."


def _size(result: Result) -> str:
    """How far the noise moves an answer, in the answer's own unit; nothing where that is not known."""
    errors = [e for e in result.rows()["expected_error"] if math.isfinite(e)]
    if not errors:
        return ""
    small, large = shown(min(errors)), shown(max(errors))
    size = f"± {large}" if small == large else f"± {small} to ± {large}"
    each = "the answer" if len(errors) == 1 else "each number"
    return f", which moves {each} by about {size} (root mean square)"


def rank_sentence(result: Result) -> str | None:
    """For a quantile: how far off in rank, since how far off in value is not public."""
    rank = getattr(result.reading, "rank_error", None)
    if rank is None:
        return None
    rows = shown(math.ceil(rank(result.releases)))
    return (
        f"With 95 % probability the value is right to within {rows} rows of rank. How far that is in value depends on the "
        "table and is not public, so the interval is the whole declared range."
    )


def is_test(result: Result) -> bool:
    """Whether an answer has a p-value."""
    return isinstance(result.reading, HypothesisTest)


def corrections(results: Sequence[Result]) -> list[str | None]:
    """Of every test on a page, what Holm's correction makes of its p-value; nothing where it is the only one."""
    tests = [result for result in results if is_test(result)]
    adjusted = iter(holm(tests)) if len(tests) > 1 else iter(())
    many = f"This page has {len(tests)} tests, and each is a chance of a false alarm. Corrected for all of them (Holm): p"
    return [f"{many} {p_in_words(next(adjusted))}." if len(tests) > 1 and is_test(result) else None for result in results]


_WHOSE = {"table": "this table's true", "population": "the population's"}
_SHARES = (0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95)  # the quantiles that a page shows of a distribution


def lines(result: Result) -> tuple[list[str], dict[str, list[Any]]]:
    """The names of the labels of an answer, and its lines: of a distribution its quantiles, for it has hundreds of bins."""
    if not isinstance(result.reading, Distribution):
        return [name for name, _ in result.labels], result.rows()
    groups = result.reading.groups
    names = [*(name for name, _ in groups), "rows below", "value", "low", "high", "expected_error"]
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


def holds(result: Result) -> str:
    """What the lines of a picture are intervals of."""
    return f"The lines hold {_WHOSE[result.scope]} number with 95 % probability."


def sentence(ask: Mapping[str, Any], result: Result) -> str:
    """The answer in one sentence; a hypothesis test in its own words."""
    if isinstance(result.reading, Distribution):
        return (
            f"Counts in {np.shape(result.value)[-1]} bins tell the whole distribution; they are in releases.json. Here are "
            "the values that a share of the rows lies below, each with the interval that holds the population's with 95 % "
            "probability."
        )
    if is_test(result):
        return describe(result)
    told: str | None = result.reading.sentence(result.releases)
    if told is not None:
        return told
    if result.labels:
        count, whose = np.size(result.value), _WHOSE[result.scope]
        return f"{count} numbers, each with the interval that holds {whose} one with 95 % probability."
    low, high = result.interval(0.95)
    if result.scope == "population":
        outer = result.interval(0.95, of="population")
        return (
            f"The answer is {shown(result.value)}. In the population that this table is a sample of, the number lies "
            f"between {shown(outer[0])} and {shown(outer[1])} with 95 % probability, allowing for sampling and noise; "
            f"in this table alone, between {shown(low)} and {shown(high)}, allowing for noise."
        )
    if rank_sentence(result):
        return f"The answer is {shown(result.value)}."
    return (
        f"The answer is {shown(result.value)}. The true number of this table lies between {shown(low)} and {shown(high)} "
        "with 95 % probability."
    )
