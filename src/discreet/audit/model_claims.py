"""The claims of private models against their own samples: tiny tables that move a fit as far as a person can."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np

from discreet.accounting.conversions import epsilon as epsilon_of
from discreet.audit.lower_bound import CONFIDENCE, lower_bound
from discreet.audit.row import Row
from discreet.core.ask import Ask
from discreet.core.price import Price
from discreet.core.query import Relation
from discreet.core.schema import Categories, Real, Schema
from discreet.models.design import Design
from discreet.models.losses import HuberHinge, Logistic, Loss
from discreet.models.perturbation import Method, ask_for
from discreet.sources import open_source


@dataclass(frozen=True)
class FitClaim:
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
    FitClaim("objective, hinge", "objective", _HALF, Price(epsilon=1), "replace", "4"),
    FitClaim("objective, logistic, no Jacobian", "objective", Logistic(), Price(epsilon=1), "replace", "2.1"),
    FitClaim("objective, add/remove", "objective", _HALF, Price(epsilon=1), "add_remove", "4", other=None),
    FitClaim("objective, Gaussian", "objective", _HALF, Price(rho="0.5"), "replace", "8", 0.05),
    FitClaim("output", "output", _HALF, Price(epsilon=1), "replace", "10"),
    FitClaim("output, Gaussian", "output", _HALF, Price(epsilon=1, delta="0.01"), "replace", "10", 0.01),
    FitClaim("opera", "opera", _HALF, Price(epsilon=1, delta="0.01"), "replace", "10", 0.01),
    FitClaim("outpert", "outpert", _HALF, Price(epsilon=1, delta="0.01"), "replace", "10", 0.01),
]


def fits(quick: bool) -> list[tuple[str, Callable[[], Row]]]:
    """Every way to fit a model on the pair of tables that tells most about it; of an objective each draw is a fit."""
    few, many = (200, 2_000) if quick else (12_000, 60_000)
    return [(fit.name, partial(audit_fit, fit, few if fit.method == "objective" else many)) for fit in FITS]


def audit_fit(fit: FitClaim, trials: int, confidence: float = CONFIDENCE) -> Row:
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
    name, taken = f"{fit.name}, {fit.relation}", time.perf_counter() - start
    return Row("model", name, claim, fit.delta, found.epsilon, found.epsilon <= claim, taken)
