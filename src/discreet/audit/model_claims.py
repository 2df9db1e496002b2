"""The claims of private models against their own samples: tiny tables that move a fit as far as a person can."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from discreet.accounting.conversions import epsilon as epsilon_of
from discreet.audit.lower_bound import lower_bound
from discreet.core.ask import Ask
from discreet.core.query import Relation
from discreet.core.random import system
from discreet.core.runner import Desk, NoLedger
from discreet.core.schema import Categories, Real, Schema
from discreet.models.design import Design
from discreet.models.estimator import Columns
from discreet.models.linear_svc import LinearSVC
from discreet.models.losses import HuberHinge, Logistic, Loss
from discreet.models.perturbation import Method, Price, ask_for
from discreet.models.tuning import read_candidates, tuning
from discreet.sources import open_source


@dataclass(frozen=True)
class Fit:
    """A way to fit, at a price; ``person`` against ``other`` (nobody, if None) beside a background that makes them tell."""

    name: str
    method: Method
    loss: Loss
    price: Price
    relation: Relation
    ridge: str
    delta: float = 0.0
    background: int = 0
    other: tuple[float, int] | None = (-1.0, 1)
    person: tuple[float, int] = (1.0, 1)

    def sources(self) -> tuple[Any, Any]:
        """The two neighbouring tables."""
        schema = Schema({"x": Real(-1, 1), "y": Categories((0, 1))}, neighbors=self.relation)
        tables = []
        for last in (self.person, self.other):
            rows = [(-1.0, 1)] * self.background + ([] if last is None else [last])
            tables.append(open_source({"x": [r[0] for r in rows], "y": [r[1] for r in rows]}, schema))
        return tables[0], tables[1]

    def ask(self) -> Ask:
        """The question that fits the model."""
        schema = Schema({"x": Real(-1, 1), "y": Categories((0, 1))}, neighbors=self.relation)
        design = Design.of(schema, ["x"], "y", intercept=False)
        rows = self.background + 1 if self.relation == "replace" else None
        return ask_for(design, self.loss, Fraction(self.ridge), self.method, self.price, self.relation, rows)


_HALF = HuberHinge()
FITS = [
    Fit("objective, hinge", "objective", _HALF, Price(epsilon=1), "replace", "4"),
    Fit("objective, logistic, no Jacobian", "objective", Logistic(), Price(epsilon=1), "replace", "2.1"),
    Fit("objective, add/remove", "objective", _HALF, Price(epsilon=1), "add_remove", "4", other=None),
    Fit("objective, Gaussian", "objective", _HALF, Price(rho="0.5"), "replace", "8", 0.05),
    Fit("output", "output", _HALF, Price(epsilon=1), "replace", "10"),
    Fit("output, Gaussian", "output", _HALF, Price(epsilon=1, delta="0.01"), "replace", "10", 0.01),
    Fit("opera", "opera", _HALF, Price(epsilon=1, delta="0.01"), "replace", "10", 0.01),
]


@dataclass(frozen=True)
class Found:
    """What an audit of a model found."""

    name: str
    claim: float
    delta: float
    certified: float
    seconds: float


def audit_fit(fit: Fit, trials: int, confidence: float) -> Found:
    """A fit on two neighbours, told apart by its likelihood ratio where it perturbs an objective."""
    start = time.perf_counter()
    ask = fit.ask()
    law: Any = ask.mechanism
    claim = epsilon_of(law.cost(ask.query.distance(fit.relation)), fit.delta)
    here, there = (ask.query.evaluate(source) for source in fit.sources())
    score: Callable[[Any], Any] | None = None
    if law.name == "objective_perturbation":

        def score(outputs: Any) -> Any:
            return np.array([law.log_prob(o, here) - law.log_prob(o, there) for o in outputs])

    def run(exact: Any, count: int) -> Any:
        return np.array([law.release(exact) for _ in range(count)])

    found = lower_bound(run, here, there, trials, fit.delta, confidence=confidence, batched=True, score=score)
    return Found(f"{fit.name}, {fit.relation}", claim, fit.delta, found.epsilon, time.perf_counter() - start)


def audit_tuning(trials: int, confidence: float) -> Found:
    """A tuning of two candidates: which of them is chosen, with one person more or less in a small table."""
    start = time.perf_counter()
    schema = Schema({"x": Real(-1, 1), "y": Categories((0, 1))})
    columns = Columns(schema, ("x",), "y")
    made = read_candidates([LinearSVC(ridge=r, fit_intercept=False) for r in ("2", "5")], None, Price(epsilon=1))
    tables = [open_source({"x": [1.0] * n, "y": [1] * n}, schema) for n in (1, 2)]

    def run(source: Any, count: int) -> Any:
        chosen = []
        for _ in range(count):
            winner = Desk(source, NoLedger(), system(), "add_remove").run(tuning(made, columns, "add_remove"))
            chosen.append(winner.tuning.chosen + 2 * (float(winner.fitted.theta[0]) > 0))
        return np.array(chosen)

    found = lower_bound(run, tables[0], tables[1], trials, confidence=confidence, batched=True)
    return Found("tuning, add_remove", 1.0, 0.0, found.epsilon, time.perf_counter() - start)
