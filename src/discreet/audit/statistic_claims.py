"""The claims of statistics: the pair of neighbouring tables that moves each furthest, and its released numbers."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from functools import lru_cache, partial
from itertools import product
from typing import Any

import numpy as np

from discreet.audit import neighbours, waist
from discreet.audit.law_claims import draws_of, likelihood_ratio, probabilities
from discreet.audit.lower_bound import CONFIDENCE, lower_bound
from discreet.audit.row import Row
from discreet.core.price import Price
from discreet.core.query import RELATIONS, Relation
from discreet.core.schema import Categories, Column, Integer, Real, Schema
from discreet.sources import open_source
from discreet.statistics.joint import ask
from discreet.statistics.question import Question, Table, build

_WIDE = 200  # so many values that those which one row favours hold next to none of the probability
SCHEMA: dict[str, Column] = {
    "x": Real(0, 1),
    "y": Real(-1, 1),
    "n": Integer(0, _WIDE),
    "g": Categories(("a", "b"), other="c"),
    "arm": Categories(("a", "b"), missing="a"),
}
ASKED: dict[str, tuple[tuple[str, ...], dict[str, Any]]] = {
    "bounds": (("y",), {"unit": "0.125"}),
    "count": ((), {"by": "g"}),
    "count_distinct": (("arm",), {}),
    "count_people": ((), {"by": "g"}),
    "people_mean": (("x",), {"clip": [0, 2], "by": "g"}),
    "people_sum": (("y",), {"clip": [-1, 1]}),
    "top": (("g",), {"k": 2}),
    "sum": (("y",), {}),
    "mean": (("x",), {"by": "g"}),
    "variance": (("x",), {}),
    "std": (("x",), {}),
    "covariance": (("x", "y"), {}),
    "covariance_matrix": (("x", "y"), {}),
    "correlation": (("x", "y"), {}),
    "pooled_variance": (("x",), {"by": "g"}),
    "pooled_covariance": (("x", "y"), {"by": "g"}),
    "histogram": (("x",), {"bins": 4}),
    "crosstab": (("g",), {}),
    "quantile": (("n",), {"q": "0.25"}),
    "median": (("n",), {}),
    "share": (("g",), {}),
    "distribution": (("x",), {"bins": 4, "by": "g"}),
    "ttest_1samp": (("x",), {"popmean": 0.5}),
    "ttest_ind": (("x",), {"by": "arm"}),
    "ttest_rel": (("x", "y"), {}),
    "two_sample": (("x",), {"by": "arm"}),
    "binomtest": (("arm",), {}),
    "chi2_contingency": (("g", "arm"), {}),
    "chisquare": (("arm",), {}),
    "compare": (("x",), {"by": "arm"}),
    "equal_variances": (("x",), {"by": "arm"}),
    "f_oneway": (("x",), {"by": "g"}),
    "kruskal": (("x",), {"by": "g"}),
    "ks_2samp": (("x",), {"by": "arm"}),
    "linregress": (("x", "y"), {}),
    "logrank": (("y", "x"), {"by": "arm", "bins": 3}),
    "mannwhitneyu": (("x",), {"by": "arm"}),
    "pearsonr": (("x", "y"), {}),
    "survival": (("y", "x"), {"by": "g", "bins": 3}),
    "wilcoxon": (("y",), {}),
}
PEOPLE: dict[str, tuple[tuple[str, ...], dict[str, Any]]] = {
    "mean": (("x",), {"of": "population"}),
    "count_distinct": (("n",), {}),
    "count_people": ((), {"by": "g"}),
    "people_mean": (("x",), {"clip": [0, 1], "by": "g"}),
    "people_sum": (("y",), {"clip": [-1, 2]}),
}
_MOST_ROWS = 3  # of one person, where people have several
# Five or six numbers move at once, and all have to lie on one side to tell: a rare event.
_MORE = {"covariance_matrix": 2_000_000, "kruskal": 2_000_000, "people_mean": 2_000_000}


def audit_statistic(
    name: str, relation: Relation, trials: int, confidence: float = CONFIDENCE, *, people: bool = False
) -> Row:
    """A statistic on the pair of neighbours that tells most: distance, trace, and its released numbers.

    ``people``: a person may have several rows, and neighbours differ in all of them.
    """
    start = time.perf_counter()
    args, kwargs = (PEOPLE if people else ASKED)[name]
    chooses = name in CHOICES
    price = Price(epsilon=3 if chooses else 1)  # a choice is told apart by rare answers, which epsilon 1 hardly moves
    worst, best = 0.0, -1.0
    pair: tuple[Any, Any] | None = None
    question: Question | None = None
    tried = [*_several(relation)] if people else [*_usual(relation), *map(_opened(relation), extremes(name, relation))]
    built: dict[int | None, Question] = {}
    exact: dict[tuple[int | None, int], Any] = {}  # a table has many neighbours, and is looked at once
    for rows, sources in tried:
        if relation == "replace" and rows < 6:
            continue
        public = rows if relation == "replace" and not people else None
        if public not in built:
            built[public] = build(name, Table(sources[0].schema, public), *args, **kwargs)
        asked = built[public]
        for source in sources:
            if (public, id(source)) not in exact:
                exact[public, id(source)] = asked.query.evaluate(source)
        values = [exact[public, id(source)] for source in sources]
        moved = waist.apart(asked.query.distance(relation), *values)
        worst = max(worst, moved.worst)
        # The furthest in the norm that the noise is calibrated to is the easiest to tell apart.
        telling = _promise(asked, price, relation, values, trials) if chooses else moved.l1
        if telling > best:
            best, pair, question = telling, (sources[0], sources[1]), asked
    assert pair is not None
    assert question is not None
    chosen, claim = question, float(price.choice_epsilon)
    traced = waist.same_trace(lambda: ask(chosen, price, relation), pair[0], pair[1], relation)
    certified = _certify(question, price, relation, pair, trials, confidence)
    note = f"moved {worst:.3f} of the declared distance; neighbours leave {'the same' if traced else 'DIFFERENT'} traces"
    holds = certified <= claim and worst <= 1 + 1e-9 and traced
    title = f"{name}{' of people with several rows' if people else ''}, {relation}"
    return Row("statistic", title, claim, 0.0, certified, holds, time.perf_counter() - start, note)


Opened = tuple[int, tuple[Any, Any]]


def _opened(relation: Relation) -> Callable[[tuple[neighbours.Rows, neighbours.Rows]], Opened]:
    """Two tables as sources, with the number of rows of the first."""
    schema = Schema(SCHEMA, neighbors=relation)
    known: dict[str, Any] = {}

    def opened(pair: tuple[neighbours.Rows, neighbours.Rows]) -> Opened:
        for side in pair:
            if repr(side) not in known:
                known[repr(side)] = open_source(neighbours.table(schema, side), schema)
        return len(pair[0]), (known[repr(pair[0])], known[repr(pair[1])])

    return opened


@lru_cache(maxsize=len(RELATIONS))
def _usual(relation: Relation) -> list[Opened]:
    """The pairs that every statistic is tried on."""
    return list(map(_opened(relation), neighbours.pairs(Schema(SCHEMA, neighbors=relation), relation)))


# The rows of a person, as group, x, y and n: all alike, spread over groups, in groups that others of these are not in.
_THEIRS: list[list[tuple[str, float, float, int]]] = [
    [("b", 0, -1, 0)] * 3,
    [("b", 1, 1, 0)] * 3,
    [("a", 0, -1, 0)] * 3,
    [("a", 0, -1, 1), ("b", 0, -1, 2), ("c", 0, -1, 3)],
    [("a", 1, 1, 1), ("b", 1, 1, 2), ("c", 1, 1, 3)],
    [("b", 0, -1, 0), ("b", 1, 1, 0), ("c", 1, 1, 3)],
    [("b", 1, 1, 0)],
]


def _several(relation: Relation) -> Iterator[Opened]:
    """Six people with one row each beside one with three rows, who is gone or another one next door."""
    schema = Schema(SCHEMA, neighbors=relation, person="who", max_rows=_MOST_ROWS)
    others = [_at("a", 0.5, 0) | {"who": i} for i in range(6)]
    tables = [others, *([*others, *(_at(*row) | {"who": 9} for row in rows)] for rows in _THEIRS)]
    nobody, *each = [open_source({name: [row[name] for row in t] for name in t[0]}, schema) for t in tables]
    for mine, theirs in product(each, [nobody] if relation == "add_remove" else each):
        yield _MOST_ROWS + len(others), (mine, theirs)


CHOICES = ("quantile", "median")


def extremes(name: str, relation: Relation) -> Iterator[tuple[neighbours.Rows, neighbours.Rows]]:
    """Pairs that a proof names as its worst case, and that no list of odd records would hit upon."""
    if name in CHOICES:
        # Values below the first step gain on one more low row, all others lose: few against many.
        for step, size, low in product((2, 5, 12), range(4, 10), range(9)):
            if low < size:
                here = _low(low) + _low(1, step) + _low(size - low - 1, _WIDE)
                if relation == "add_remove":
                    yield [*here, *_low(1)], here
                elif low < size - 1:
                    yield here, [*here[:-1], *_low(1)]
    if name == "pooled_variance" and relation == "replace":
        together = [_at("a", 0, 0)] * 19  # the more in one group, the closer to 1
        yield [*together, _at("a", 0, 0)], [*together, _at("a", 1, 0)]
    if name == "pooled_covariance" and relation == "replace":
        camps = [_at("a", 0, -1)] * 3 + [_at("b", 1, -1)] * 3
        yield [*camps, _at("a", 1, 1)], [*camps, _at("b", 0, 1)]
    if name == "covariance_matrix" and relation == "replace":
        yield [_at("a", 0.5, 0)] * 5 + [_at("a", 1, 1)], [_at("a", 0.5, 0)] * 5 + [_at("a", 1 / 3, -1 / 3)]
    if name == "ks_2samp":
        # All others in one group, and one below them who joins the other, or comes over to it.
        others = [_at("b", 0.5, 0)] * 199
        yield [*others, _at("a", 0, 0)], others if relation == "add_remove" else [*others, _at("b", 0, 0)]
    if name == "kruskal" and relation != "add_remove":
        # Few of two groups above many of a third: one of them goes from the top of the one to the bottom of the other.
        others = [_at("a", 1, 0), _at("b", 1, 0)] + [_at("c", 0.5, 0)] * 197
        yield [*others, _at("a", 1, 0)], [*others, _at("b", 0, 0)]
    if name in ("mannwhitneyu", "two_sample", "kruskal", "wilcoxon"):
        # All others in one group with one value, and one at either end of the ranks in a group of their own.
        others = [_at("b", 0.5, -0.5)] * 199  # the more, the closer to the bound of the proof
        if relation == "add_remove":
            yield [*others, _at("a", 1, 1)], others
        else:
            yield [*others, _at("a", 0, -1)], [*others, _at("a", 1, 1)]
            yield [*others, _at("a", 0, -1)], [*others, _at("c", 1, 1)]


def _at(group: str, x: float, y: float, n: int = 0) -> dict[str, Any]:
    return {"x": x, "y": y, "n": n, "g": group, "arm": group}


def _low(rows: int, value: int = 0) -> neighbours.Rows:
    return [_at("a", 0, 0, value)] * rows


def _promise(question: Question, price: Price, relation: Relation, utilities: list[Any], trials: int) -> float:
    """What the exact probabilities of a choice let an audit of so many trials expect to certify."""
    law: Any = question.law(price, relation)
    p, q = (probabilities(law, known) for known in utilities)
    best = 0.0
    for one, other in ((p, q), (q, p)):
        order = np.argsort(other / one)
        high, low = np.cumsum(one[order]), np.cumsum(other[order])
        certain = (high - 5 * np.sqrt(high * 2 / trials)) / (low + 5 * np.sqrt(low * 2 / trials) + 10 / trials)
        best = max(best, float(np.log(np.maximum(certain, 1)).max()))
    return best


def _certify(question: Question, price: Price, relation: Relation, pair: Any, trials: int, confidence: float) -> float:
    law: Any = question.law(price, relation)
    exact = [question.query.evaluate(source) for source in pair]
    if not hasattr(law, "rate"):  # a choice takes utilities
        exact = [np.ravel(np.asarray(e.value, np.float64)) for e in exact]
    here, there = exact
    score, run = likelihood_ratio(law, here, there), draws_of(law, vector=True)
    return lower_bound(run, here, there, trials, confidence=confidence, batched=True, score=score).epsilon


def parts(quick: bool) -> list[tuple[str, Callable[[], Iterator[Row]]]]:
    """Every statistic of ``ASKED`` under each relation; ``claims.unaudited`` names a registered one that is not there."""
    return [(f"{name}, {relation}", partial(_part, name, relation, quick)) for name in ASKED for relation in RELATIONS]


def _part(name: str, relation: Relation, quick: bool) -> Iterator[Row]:
    few = 1_000 if quick else 300_000
    trials = few if name in CHOICES else 4 * few if quick else _MORE.get(name, 400_000)
    yield audit_statistic(name, relation, trials)
    if name in PEOPLE:
        yield audit_statistic(name, relation, trials, people=True)
