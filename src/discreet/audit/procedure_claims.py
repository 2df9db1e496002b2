"""The claims of everything that is fitted, judged or tuned: every question a procedure asks, and whole runs of it.

What a procedure asks is found by a dry run; each question is then put to the pair of neighbouring tables that moves it
furthest, and its releases are told apart. Procedures whose questions come from an account (lots, parts) are run as a whole,
and everything they release is looked at together.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np

from discreet.accounting.conversions import epsilon as epsilon_of
from discreet.audit import exams, neighbours, waist
from discreet.audit.exams import ROWS, Exam
from discreet.audit.law_claims import draws_of, likelihood_ratio
from discreet.audit.lower_bound import CONFIDENCE, lower_bound
from discreet.audit.row import Row
from discreet.core.ask import Ask, Open
from discreet.core.cost import Cost
from discreet.core.query import Relation
from discreet.core.random import system
from discreet.core.release import Release
from discreet.core.runner import Desk, NoLedger
from discreet.core.source import Source
from discreet.sources import open_source

_DRAW = 0.08  # milliseconds for a draw beside an exact value, where a fit takes longer


def parts(quick: bool) -> list[tuple[str, Callable[[], Iterator[Row]]]]:
    """Every exam; with ``quick`` each question gets a thirtieth of a second, otherwise four, and whole runs sixteen."""
    made: list[tuple[str, Callable[[], Iterator[Row]]]] = []
    for exam in exams.EXAMS:
        seconds, most = (0.03, 2_500) if quick else (16.0 if exam.whole else 4.0, 200_000)
        trials = int(min(max(40, 500 * seconds / exam.cost), most))
        made.append((exam.name, partial(_whole if exam.whole else audit_questions, exam, trials)))
    return made


def _whole(exam: Exam, trials: int) -> Iterator[Row]:
    yield audit_run(exam, trials)


def audit_questions(exam: Exam, trials: int, confidence: float = CONFIDENCE) -> Iterator[Row]:
    """Each question of a procedure by itself, at the price that its law says."""
    for ask in exam.requests:
        start = time.perf_counter()
        law: Any = ask.mechanism
        claim = epsilon_of(law.cost(ask.query.distance(exam.relation)), exam.delta)
        if law.name == "objective_perturbation":
            here, there = (ask.query.evaluate(source) for source in _sides(exam))
            worst, found = 0.0, _certify_fits(law, here, there, trials, exam.delta, confidence)
        else:
            worst, here, there = _furthest(ask, exam)
            run, many = draws_of(law, vector=True), int(trials * max(1.0, exam.cost / _DRAW))
            found = lower_bound(run, here, there, many, exam.delta, confidence=confidence, batched=True,
                                score=likelihood_ratio(law, here, there)).epsilon  # fmt: skip
        note = f"moved {worst:.3f} of the declared distance" if worst else ""
        holds = found <= claim and worst <= 1 + 1e-9
        name = f"{exam.name}: {ask.query.name}, {exam.relation}"
        yield Row(exam.kind, name, claim, exam.delta, found, holds, time.perf_counter() - start, note)


def _furthest(ask: Ask, exam: Exam) -> tuple[float, Any, Any]:
    """The exact values on the neighbours that move a question furthest, and how far that is of what it declares."""
    best: tuple[float, Any, Any] = (-1.0, None, None)
    made = () if exam.tables is None else exam.tables()
    declared = ask.query.distance(exam.relation)
    exact: dict[str, Any] = {}  # a table has many neighbours, and is looked at once
    for tables in [*neighbours.pairs(exam.schema, exam.relation, ROWS), *made]:
        if exam.relation == "replace" and len(tables[0]) != ROWS:
            continue
        for side in tables:
            if repr(side) not in exact:
                source = open_source(neighbours.table(exam.schema, side), exam.schema)
                exact[repr(side)] = ask.query.evaluate(source)
        values = [exact[repr(side)] for side in tables]
        moved = waist.apart(declared, *values).worst
        if moved > best[0]:
            flat = [np.ravel(np.asarray(getattr(v, "value", v), np.float64)) for v in values]
            best = moved, flat[0], flat[1]
    return best


def _certify_fits(law: Any, here: Any, there: Any, trials: int, delta: float, confidence: float) -> float:
    def run(exact: Any, count: int) -> Any:
        return np.array([np.ravel(law.release(exact)) for _ in range(count)])

    return lower_bound(run, here, there, trials, delta, confidence=confidence, batched=True).epsilon


def _sides(exam: Exam) -> tuple[Any, Any]:
    """A table with one person more or less, or with another, beside a background at the opposite corner."""
    person = {"x": 1.0, "v": 1.0, "y": 1, "c": 1, "z": 1.0, "w": 2.0, "u": 2.0}
    other = {"x": -1.0, "v": -1.0, "y": 1, "c": 1, "z": 1.0, "w": 2.0, "u": 2.0}
    replaced = exam.relation == "replace"
    many = ROWS - 1 if replaced and not exam.whole else exam.background
    sides = [[other] * many + [person], [other] * many + ([other] if replaced else [])]
    first, second = (open_source(neighbours.table(exam.schema, side), exam.schema) for side in sides)
    return first, second


@dataclass(frozen=True)
class _Recording(Desk):
    """A desk that keeps the numbers it hands out."""

    spoken: list[Any] = field(default_factory=list)

    def answer(self, asks: tuple[Ask, ...]) -> tuple[Release, ...]:
        made = super().answer(asks)
        self.spoken.extend(np.ravel(r.value) for r in made)
        return made

    def step(self, ask: Ask) -> Release:
        made = super().step(ask)
        self.spoken.append(np.ravel(made.value))
        return made


def audit_run(exam: Exam, trials: int, confidence: float = CONFIDENCE) -> Row:
    """A whole run, again and again: everything it releases is one output."""
    start = time.perf_counter()
    costs = [_price(r, exam.relation) for r in exam.requests]
    claim = epsilon_of(sum(costs, Cost.nothing()), exam.delta)

    def run(source: Source) -> Any:
        desk = _Recording(source, NoLedger(), system(), exam.relation)
        desk.run(exam.procedure())
        return np.concatenate(desk.spoken)

    here, there = _sides(exam)
    found = lower_bound(run, here, there, trials, exam.delta, confidence=confidence).epsilon
    name = f"{exam.name}: whole runs, {exam.relation}"
    return Row(exam.kind, name, claim, exam.delta, found, found <= claim, time.perf_counter() - start)


def _price(request: Any, relation: Relation) -> Cost:
    if request.account is not None:
        return Cost.nothing()
    return request.cost if isinstance(request, Open) else request.mechanism.cost(request.query.distance(relation))
