"""Asking: one question, or several with one joint calibration and one pass."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np

from discreet.core.ask import Ask
from discreet.core.cost import Distance
from discreet.core.exact import Exact
from discreet.core.numbers import Number
from discreet.core.price import Price
from discreet.core.query import FineSum, Relation, SumQuery, queries
from discreet.core.result import Result
from discreet.core.runner import Procedure
from discreet.core.source import Batch
from discreet.errors import InvalidRequest
from discreet.mechanisms.priced import law_of_sums
from discreet.statistics.question import Question
from discreet.statistics.reading import Part


def ask(question: Question, price: Price, relation: Relation, expected: int | None = None) -> Procedure[Result]:
    """Ask one question and read the answer; ``expected`` is the public guess of the number of rows."""
    releases = yield question.asks(price, relation)
    return Result(question.reading, tuple(releases), sum((r.cost for r in releases[1:]), releases[0].cost), expected)


def ask_each(
    questions: Sequence[Question],
    price: Price,
    relation: Relation,
    rows: Sequence[Any] | None = None,
    expected: int | None = None,
) -> Procedure[list[Result]]:
    """Ask questions that each pay ``price`` for themselves, in one transaction; ``rows``: what each is restricted to.

    One pass for all that are about the same rows; without ``rows`` they are about all of them.
    """
    asks = [question.asks(price, relation) for question in questions]
    if rows is not None:
        asks = [tuple(replace(ask, where=where) for ask in group) for group, where in zip(asks, rows, strict=True)]
    releases = iter((yield tuple(ask for group in asks for ask in group)))
    own = [tuple(next(releases) for _ in group) for group in asks]
    costs = [sum((r.cost for r in rs[1:]), rs[0].cost) for rs in own]
    return [Result(q.reading, rs, cost, expected) for q, rs, cost in zip(questions, own, costs, strict=True)]


def taken_apart(question: Sequence[Any]) -> tuple[str, list[Any], dict[str, Any]]:
    """Of a question such as ``("histogram", "age", {"bins": 5})`` the statistic, its columns and its options."""
    name, *columns = question
    options = columns.pop() if columns and isinstance(columns[-1], dict) else {}
    return name, columns, options


def ask_together(
    questions: Sequence[Question],
    price: Price,
    relation: Relation,
    shares: Sequence[Number] | None = None,
    expected: int | None = None,
) -> Procedure[list[Result]]:
    """Ask several questions at once for one price: Laplace and Gaussian noise calibrated jointly, not a split of it.

    ``shares`` favour some over others (equal by default): proportions of epsilon for Laplace, weights of the squared
    distance for Gaussian. Shares in proportion to the sensitivities give all Laplace noise the same scale.
    """
    if not questions:
        raise InvalidRequest("ask at least one question, got none")
    sums = [q.query for q in questions if isinstance(q.query, SumQuery)]
    if len(sums) < len(questions):
        raise InvalidRequest("quantiles are chosen, not summed: ask for them by themselves")
    if shares is not None and (not isinstance(shares, list | tuple) or len(shares) != len(questions)):
        raise InvalidRequest(f"shares must be a list of {len(questions)} positive numbers, one a question, got {shares!r}")
    bundle = Bundle(tuple(sums))
    law = law_of_sums(price, bundle.distance(relation), bundle.grid, [1] * len(questions) if shares is None else shares)
    release = yield Ask(bundle, law)
    results, start = [], 0
    for question in questions:
        part = Part(question.reading, start, start + question.size)
        results.append(Result(part, (release,), release.cost, expected))
        start += question.size
    return results


@queries("bundle")
@dataclass(frozen=True)
class Bundle(FineSum):
    """Several queries side by side, as one vector on one grid.

    ``distance``: the parts' distances joined, block by block.

    Proof: see ``Distance.joined``. A part on a finer grid is rounded to this one, which moves each of its numbers by half a
    step at most, so two neighbours by one step more.
    """

    parts: tuple[SumQuery, ...]

    @property
    def columns(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(c for p in self.parts for c in p.columns))

    @property
    def shape(self) -> tuple[int, ...]:
        """One axis with all numbers."""
        return (sum(p.size for p in self.parts),)

    def members(self) -> tuple[SumQuery, ...]:
        return self.parts

    def distance(self, relation: Relation) -> Distance:
        parts = [p.distance(relation) for p in self.parts]
        rounded = [
            Distance(d.l1 + p.size * self.grid, d.l2 + p.size * self.grid, d.linf + self.grid) if p.grid < self.grid else d
            for p, d in zip(self.parts, parts, strict=True)
        ]
        return Distance.joined(rounded, [p.size for p in self.parts])

    def step(self, batch: Batch) -> list[Any]:
        return [p.step(batch) for p in self.parts]

    def combine(self, left: list[Any], right: list[Any]) -> list[Any]:
        return [p.combine(a, b) for p, a, b in zip(self.parts, left, right, strict=True)]

    def finish(self, total: list[Any]) -> Exact:
        return self._side_by_side([p.finish(t) for p, t in zip(self.parts, total, strict=True)])

    def blank(self, rows: int) -> Exact:
        return self._side_by_side([p.blank(rows) for p in self.parts])

    def _side_by_side(self, values: list[Exact]) -> Exact:
        counts = [round(Fraction(int(c)) * v.grid / self.grid) for v in values for c in np.ravel(v.counts)]
        return Exact(np.array(counts, np.int64), self.grid)
