"""Every claim of the package against what its own samples certify: the table that a reviewer asks for."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from discreet import local
from discreet.accounting.conversions import epsilon as epsilon_of
from discreet.audit import broken, model_claims, neighbours, waist
from discreet.audit.lower_bound import CONFIDENCE, lower_bound
from discreet.core.mechanism import Mechanism, mechanisms
from discreet.core.query import RELATIONS, Relation
from discreet.core.schema import Categories, Column, Integer, Real, Schema
from discreet.local import LocalMechanism, local_mechanisms
from discreet.mechanisms import (
    DiscreteGaussian,
    DiscreteLaplace,
    Exponential,
    Gaussian,
    Laplace,
    RandomizedResponse,
    SphericalLaplace,
    Tulap,
)
from discreet.models.perturbation import METHODS
from discreet.sources import open_source
from discreet.statistics.joint import ask
from discreet.statistics.question import Question, Table, build, names
from discreet.statistics.spend import Spend


@dataclass(frozen=True)
class Row:
    """One claim: what is promised, what is certified, and whether they agree. ``margin`` is certified over claimed."""

    kind: str
    name: str
    claim: float
    delta: float
    certified: float
    holds: bool
    seconds: float
    note: str = ""

    @property
    def margin(self) -> float:
        """How much of the claim the auditor reached."""
        return self.certified / self.claim if self.claim else 0.0

    def to_dict(self) -> dict[str, Any]:
        return asdict(self) | {"margin": self.margin}


@dataclass(frozen=True)
class Case:
    """A law at two neighbouring exact values, at exactly its sensitivity; ``delta`` is where its claim is read."""

    law: Mechanism
    a: Any
    b: Any
    delta: float = 0.0
    vector: bool = False
    slow: bool = False


_MANY = 30
CASES = [
    Case(Laplace.costing(1, epsilon=1), 0.0, 1.0),
    Case(Laplace.costing(1, epsilon=1, grid=1), 0.0, 1.0),
    Case(Laplace.costing([1, 1], epsilon=1), (0.0, 0.0), (1.0, 1.0), vector=True),
    Case(Gaussian.costing(1, epsilon=1, delta="0.01"), 0.0, 1.0, 0.01),
    Case(Gaussian.costing([1, 2], epsilon=1, delta="0.01"), (0.0, 0.0), (1.0, 2.0), 0.01, vector=True),
    Case(Gaussian.costing(1, rho="0.5"), 0.0, 1.0, 0.01),
    Case(DiscreteLaplace.costing(1, epsilon=1), 0, 1),
    Case(DiscreteGaussian.costing(1, rho="0.125"), 0, 1, 0.01),
    Case(Tulap.costing(1, epsilon=1), 0, 1),
    Case(SphericalLaplace.costing(1, epsilon=1), (0.0, 0.0), (1.0, 0.0), vector=True, slow=True),
    Case(RandomizedResponse.costing(epsilon=1, categories=[0, 1]), 0, 1),
    Case(RandomizedResponse.costing(epsilon=1, categories=list(range(5))), 0, 1),
    Case(Exponential.costing(1, epsilon=1), [0.0] * _MANY, [1.0] + [-1.0] * (_MANY - 1), slow=True),
    Case(Exponential.costing(1, epsilon=1, method="permute_and_flip"), [0.0, 0.0], [1.0, -1.0], slow=True),
]
UNCLAIMED = {"no_noise"}  # laws that promise nothing


def _runs(law: Mechanism, vector: bool) -> Callable[[Any, int], Any]:
    """How to draw many times from a law."""
    if hasattr(law, "grid") and law.name != "spherical_laplace":
        if vector:
            return lambda x, n: law.release(np.tile(np.asarray(x, np.float64), (n, 1)))
        return lambda x, n: law.release(np.full(n, x))
    if law.name == "randomized_response":
        return lambda x, n: np.asarray(law.release([x] * n))
    return _one_by_one(law)


def audit_law(case: Case, trials: int, confidence: float = CONFIDENCE) -> Row:
    """A law at the two ends of its sensitivity, by the likelihood ratio where it has a density per coordinate."""
    start = time.perf_counter()
    run = _runs(case.law, case.vector)
    sensitivity = 1 if case.law.name in ("randomized_response", "exponential") else _apart(case.a, case.b)
    claim = epsilon_of(case.law.cost(sensitivity), case.delta)

    def score(outputs: Any) -> Any:
        ratio = np.asarray(case.law.log_prob(outputs, np.asarray(case.a))) - case.law.log_prob(outputs, np.asarray(case.b))
        return ratio.sum(-1) if np.ndim(ratio) > 1 else ratio

    known = score if hasattr(case.law, "grid") else None
    found = lower_bound(run, case.a, case.b, trials, case.delta, confidence=confidence, batched=True, score=known)
    name = f"{case.law.name}{_brief(case)}"
    return Row("law", name, claim, case.delta, found.epsilon, found.epsilon <= claim, time.perf_counter() - start)


def _apart(a: Any, b: Any) -> Any:
    moved = np.abs(np.asarray(a, np.float64) - np.asarray(b, np.float64))
    return moved.tolist() if moved.ndim else float(moved)


def _brief(case: Case) -> str:
    """What tells one case of a law from another."""
    law: Any = case.law
    words = ["two coordinates"] if case.vector else []
    words += [str(law.method).replace("_", " ")] if hasattr(law, "method") else []
    words += ["on whole numbers"] if getattr(law, "grid", None) == 1 and law.name in ("laplace", "gaussian") else []
    words += [f"{len(law.categories)} categories"] if hasattr(law, "categories") else []
    claim = getattr(law, "claim", None)
    words += [f"rho {float(claim.rho):g}"] if claim is not None and claim.rho is not None else []
    return f" ({', '.join(words)})" if words else ""


SCHEMA: dict[str, Column] = {"x": Real(0, 1), "y": Real(-1, 1), "n": Integer(0, 3), "g": Categories(("a", "b"), other="c")}
ASKED: dict[str, tuple[tuple[str, ...], dict[str, Any]]] = {
    "count": ((), {"by": "g"}),
    "sum": (("y",), {}),
    "mean": (("x",), {"by": "g"}),
    "variance": (("x",), {}),
    "std": (("x",), {}),
    "covariance": (("x", "y"), {}),
    "correlation": (("x", "y"), {}),
    "pooled_variance": (("x",), {"by": "g"}),
    "pooled_covariance": (("x", "y"), {"by": "g"}),
    "histogram": (("x",), {"bins": 4}),
    "crosstab": (("g",), {}),
    "quantile": (("n",), {"q": "0.25"}),
    "median": (("n",), {}),
}


def audit_statistic(name: str, relation: Relation, trials: int, confidence: float = CONFIDENCE) -> Row:
    """A statistic on the pair of neighbours that moves it furthest: distance, trace, and its released numbers."""
    start = time.perf_counter()
    schema = Schema(SCHEMA, neighbors=relation)
    args, kwargs = ASKED[name]
    worst, best = 0.0, -1.0
    pair: tuple[Any, Any] | None = None
    question: Question | None = None
    for here, there in neighbours.pairs(schema, relation):
        rows = len(here) if relation == "replace" else None
        if rows is not None and rows < 6:
            continue
        asked = build(name, Table(schema, rows), *args, **kwargs)
        sources = tuple(open_source(neighbours.table(schema, side), schema) for side in (here, there))
        moved = waist.moved(asked.query, relation, sources[0], sources[1])
        worst = max(worst, moved.worst)
        # The furthest in the norm that the noise is calibrated to is the easiest to tell apart.
        telling = moved.linf if name in ("quantile", "median") else moved.l1
        if telling > best:
            best, pair, question = telling, (sources[0], sources[1]), asked
    assert pair is not None
    assert question is not None
    spend = Spend(epsilon=1)
    chosen = question
    traced = waist.same_trace(lambda: ask(chosen, spend, relation), pair[0], pair[1], relation)
    certified = _certify(question, spend, relation, pair, trials, confidence)
    note = f"moved {worst:.3f} of the declared distance; neighbours leave {'the same' if traced else 'DIFFERENT'} traces"
    holds = certified <= 1 and worst <= 1 + 1e-9 and traced
    return Row("statistic", f"{name}, {relation}", 1.0, 0.0, certified, holds, time.perf_counter() - start, note)


def _certify(question: Question, spend: Spend, relation: Relation, pair: Any, trials: int, confidence: float) -> float:
    law: Any = question.law(spend, relation)
    exact = [question.query.evaluate(source) for source in pair]
    if law.name == "exponential":
        few = max(100, trials // 4)
        found = lower_bound(_one_by_one(law), exact[0], exact[1], few, confidence=confidence, batched=True)
        return found.epsilon
    here, there = (np.ravel(np.asarray(e.value, np.float64)) for e in exact)

    def score(outputs: Any) -> Any:
        return (law.log_prob(outputs, here) - law.log_prob(outputs, there)).sum(-1)

    def run(value: Any, n: int) -> Any:
        return law.release(np.tile(value, (n, 1)))

    return lower_bound(run, here, there, trials, confidence=confidence, batched=True, score=score).epsilon


def _one_by_one(law: Mechanism) -> Callable[[Any, int], Any]:
    return lambda x, n: np.array([law.release(np.asarray(x)) for _ in range(n)])


_ONE = Fraction(1)
LOCAL: list[tuple[LocalMechanism, Any, Any]] = [
    (local.RandomizedResponse(_ONE, ("a", "b", "c")), "a", "b"),
    (local.OptimizedUnary(_ONE, 6), 0, 1),
    (local.LocalHash(_ONE, 8), 0, 1),
    (local.Hadamard(_ONE, 6), 0, 1),
    (local.SubsetSelection(_ONE, 8), 0, 1),
    (local.Duchi(_ONE), -1.0, 1.0),
    (local.Piecewise(_ONE), -1.0, 1.0),
    (local.Hybrid(_ONE), -1.0, 1.0),
    (local.TruncatedLaplace(_ONE), -1.0, 1.0),
    (local.Cube(_ONE, 4), [1.0] * 4, [-1.0] * 4),
    (local.OneCoordinate(_ONE, 4), [1.0] * 4, [-1.0] * 4),
    (local.PrivUnit(_ONE, 4), [0.5] * 4, [-0.5] * 4),
    (local.DyadicTree(_ONE, (Fraction(0), Fraction(8)), 3), 0.0, 7.9),
]


def audit_local(law: LocalMechanism, a: Any, b: Any, trials: int, confidence: float = CONFIDENCE) -> Row:
    """One person's report for two values as far apart as they can be, by its likelihood ratio."""
    start = time.perf_counter()

    def run(value: Any, n: int) -> Any:
        sent = law.reports([value] * n)
        return law.log_prob(sent, a) - law.log_prob(sent, b)

    claim = float(law.epsilon)
    found = lower_bound(run, a, b, trials, confidence=confidence, batched=True).epsilon
    return Row("local", law.name, claim, 0.0, found, found <= claim, time.perf_counter() - start)


def audit_models(quick: bool, confidence: float = CONFIDENCE) -> Iterator[Row]:
    """Every way to fit a model on the pair of tables that tells most about it, and a tuning."""
    for fit in model_claims.FITS:
        few = fit.method == "objective"  # each of its draws is a fit
        trials = (300 if few else 3_000) if quick else (20_000 if few else 60_000)
        yield _row(model_claims.audit_fit(fit, trials, confidence))
    yield _row(model_claims.audit_tuning(60 if quick else 6_000, confidence))


def _row(found: model_claims.Found) -> Row:
    return Row("model", found.name, found.claim, found.delta, found.certified, found.certified <= found.claim, found.seconds)


def audit_exhibit(exhibit: broken.Exhibit, confidence: float = CONFIDENCE) -> Row:
    """An exhibit of the museum: it holds if the auditor refutes it."""
    start = time.perf_counter()
    found = exhibit.audit(confidence)
    refuted = found.refutes(exhibit.epsilon)
    return Row("broken", exhibit.name, exhibit.epsilon, exhibit.delta, found.epsilon, refuted,
               time.perf_counter() - start, exhibit.why)  # fmt: skip


def everything(quick: bool = False) -> Iterator[Row]:
    """The whole table: laws, statistics under each relation, local reports, models, and the museum."""
    for case in CASES:
        few = 20_000 if quick else 800_000
        yield audit_law(case, few if case.slow else (200_000 if quick else 2_000_000))
    for name in names():
        for relation in RELATIONS:
            yield audit_statistic(name, relation, 20_000 if quick else 400_000)
    for mechanism, a, b in LOCAL:
        yield audit_local(mechanism, a, b, 100_000 if quick else 1_000_000)
    yield from audit_models(quick)
    for exhibit in broken.EXHIBITS:
        yield audit_exhibit(exhibit)


def unaudited() -> set[str]:
    """Registered laws, statistics and ways to fit that no case covers: empty, or the audit is not whole."""
    asks = [fit.ask() for fit in model_claims.FITS]
    laws = {case.law.name for case in CASES} | {ask.mechanism.name for ask in asks} | UNCLAIMED
    methods = {str(m) for m in METHODS} - {str(fit.method) for fit in model_claims.FITS}
    reports = {law.name for law, _, _ in LOCAL}
    return methods | (set(mechanisms) - laws) | (set(names()) - set(ASKED)) | (set(local_mechanisms) - reports)
