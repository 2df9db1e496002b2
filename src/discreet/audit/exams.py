"""What is fitted, judged or tuned, as the auditor meets it: procedures made by the estimators themselves, on tiny tables."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import combinations
from typing import Any

import numpy as np

from discreet.audit import neighbours
from discreet.core.ask import Ask, Open
from discreet.core.price import Price
from discreet.core.query import Relation
from discreet.core.random import Random
from discreet.core.runner import Procedure, plan
from discreet.core.schema import Categories, Column, Real, Schema
from discreet.hypotheses.of_tests import question_of
from discreet.models import (
    GRPUA,
    PCA,
    AdditiveClassifier,
    Ball,
    Box,
    Classifier,
    ClipQuantile,
    ConstrainedClassifier,
    ConstrainedRegression,
    GammaRegressor,
    GaussianNB,
    GRPUANetwork,
    KernelOutcomeWeightedLearner,
    KernelSVC,
    KMeans,
    LinearRegression,
    LinearSVC,
    LogisticRegression,
    MLPClassifier,
    MLPRegressor,
    OutcomeWeightedLearner,
    OwnNetwork,
    PoissonRegressor,
    RandomForestClassifier,
    SGDClassifier,
    SGDRegressor,
    SoftmaxRegression,
    StandardScaler,
)
from discreet.models.design import Design
from discreet.models.estimators.private_model import PrivateModel
from discreet.models.estimators.tuning import read_candidates, tuning
from discreet.models.evaluate.accuracy import score_of
from discreet.models.evaluate.confusion import ConfusionCounts, counts_of
from discreet.models.evaluate.decisions import Decisions, RightDecisions, RuleCounts
from discreet.models.evaluate.determination import determination_of
from discreet.models.evaluate.network_rule import NetworkRule
from discreet.models.gradient.network import Network
from discreet.models.gradient.person_loss import gradient_loss
from discreet.models.losses import Huber, HuberHinge, Logistic
from discreet.models.protocol import Columns
from discreet.models.queries.regression_sums import RegressionSums
from discreet.statistics.joint import ask, ask_together
from discreet.statistics.question import Table, build
from discreet.synthetic.synthesizing import SynthesisRequest

SCHEMA: dict[str, Column] = {
    "x": Real(-1, 1),
    "v": Real(-1, 1),
    "y": Categories((0, 1)),
    "c": Categories((0, 1, 2)),
    "z": Real(-1, 1),
    "w": Real(0, 2),
    "u": Real(0.5, 2),
}
ROWS = 6

Make = Callable[[Columns, Relation], Procedure[Any]]
Pairs = Iterator[tuple[neighbours.Rows, neighbours.Rows]]


@dataclass(frozen=True)
class Exam:
    """A procedure that is audited: who makes it, under which relation, and at which delta its claim is read.

    ``cost`` is about how many milliseconds a fit or a run takes, which decides how many are made. ``whole`` runs it as a
    whole on one person more or less beside ``background``; otherwise each of its questions is audited by itself, on the
    usual neighbours and on those of ``tables``.
    """

    name: str
    make: Make
    target: str = "y"
    relation: Relation = "add_remove"
    delta: float = 0.0
    weight: str | None = None
    cost: float = 0.08
    whole: bool = False
    model: type[PrivateModel] | None = None
    background: int = 0
    kind: str = "model"
    features: tuple[str, ...] = ("x",)
    tables: Callable[[], Pairs] | None = None

    @cached_property
    def schema(self) -> Schema:
        used = {*self.features, self.target, self.weight}
        return Schema({c: d for c, d in SCHEMA.items() if c in used}, neighbors=self.relation, expected_rows=2)

    @property
    def columns(self) -> Columns:
        rows = ROWS if self.relation == "replace" else None
        return Columns(self.schema, self.features, self.target, self.weight, rows)

    def procedure(self) -> Procedure[Any]:
        return self.make(self.columns, self.relation)

    @cached_property
    def requests(self) -> list[Any]:
        """What it asks and opens, by a dry run."""
        return plan(self.procedure(), self.relation, ROWS)[1]

    @property
    def asked(self) -> set[str]:
        """The registered names of its queries."""
        plans = [r.plan for r in self.requests if isinstance(r, Open) and r.plan is not None]
        return {a.query.name for a in [*self.requests, *plans] if isinstance(a, Ask)}


def _of(model: PrivateModel, name: str = "", **facts: Any) -> Exam:
    """The fit of an estimator."""
    kind = type(model)
    return Exam(name or kind.__name__, model.procedure, model=kind, **facts)


def _design(columns: Columns, **facts: Any) -> Design:
    return Design.of(columns.schema, columns.features, columns.target, **facts)


def _many_ties() -> Pairs:
    """Hundreds of rows at a few places, two classes that a line parts: minimisers lie where the loss bends sharply.

    On these and their neighbours a solver that gives up after a while does so for one table and not for the other.
    """
    for seed in (1, 15):
        places = np.rint(Random(seed).words(800).reshape(2, -1) * 2.0**-64 * 20 - 10) / 10
        rows = [{"x": x, "v": v, "y": int(x + v > 0)} for x, v in places.T.tolist()]
        yield rows, rows[:-1]


def _together(columns: Columns, relation: Relation) -> Procedure[Any]:
    table = Table(columns.schema, columns.rows)
    return ask_together([build("mean", table, "x"), build("sum", table, "z")], Price(epsilon=1), relation)


def _of_tests(columns: Columns, relation: Relation) -> Procedure[Any]:
    """An inner test that rejects as soon as one row is high: a newcomer decides a part."""
    question = question_of(lambda part: float(part["x"].max() < 0.9), ["x"], 2, "0.1", relation == "replace")
    return ask(question, Price(epsilon=1), relation)


def _synthetic(columns: Columns, relation: Relation) -> Procedure[Any]:
    """A workload longer than is measured at once, so that a tree and more tables are chosen."""
    names = [*columns.features, columns.target, "w"]
    sets = [each for size in (2, 3, 4) for each in combinations(names, size)]
    request = SynthesisRequest(columns.schema, names, bins={"x": 2, "z": 2, "w": 2}, workload=sets, tables=2)
    return request.procedure(Price(rho="0.5"))


def _score(columns: Columns, relation: Relation) -> Procedure[Any]:
    return score_of(_design(columns, weight=columns.weight), (1.0, 0.0), Price(epsilon=1), relation)


def _decided(kind: type[RuleCounts]) -> Make:
    """A network's decisions, counted as those of any classifier."""

    def make(columns: Columns, relation: Relation) -> Procedure[Any]:
        design = _design(columns, intercept=False)
        rule = NetworkRule(design, Network((design.width, 1), Logistic(), bias=False), np.ones(1))
        return counts_of(kind.of(rule, design.rows), Price(epsilon=1), relation)

    return make


def _confusion(bins: int) -> Make:
    def make(columns: Columns, relation: Relation) -> Procedure[Any]:
        design, flat = _design(columns, intercept=False), np.ones(1)
        network = Network((design.width, 1), Logistic(), bias=False)
        question = ConfusionCounts(design, network, hashlib.sha256(flat.tobytes()).hexdigest(), bins, flat=flat)
        return counts_of(question, Price(epsilon=1), relation)

    return make


def _determination(columns: Columns, relation: Relation) -> Procedure[Any]:
    query = RegressionSums(_design(columns))
    return determination_of(query, Price(epsilon=1, delta="0.01"), relation, columns.rows)


def _tuning(columns: Columns, relation: Relation) -> Procedure[Any]:
    made = read_candidates([LinearSVC(ridge=r, fit_intercept=False) for r in ("2", "5")], None, {"epsilon": 1})
    return tuning(made, columns, relation)


def _decision_tuning(columns: Columns, relation: Relation) -> Procedure[Any]:
    made = read_candidates([GaussianNB(), LinearSVC(ridge="2", fit_intercept=False)], None, {"epsilon": 1})
    return tuning(made, columns, relation)


def _number_tuning(columns: Columns, relation: Relation) -> Procedure[Any]:
    networks = [MLPRegressor(hidden_layer_sizes=(size,), steps=1, lot_size=1, clip="0.5") for size in (1, 2)]
    return tuning(read_candidates(networks, None, {"epsilon": 4, "delta": "0.01"}), columns, relation)


def _cluster_tuning(columns: Columns, relation: Relation) -> Procedure[Any]:
    clusters = [KMeans(n_clusters=size, rounds=1) for size in (1, 2)]
    return tuning(read_candidates(clusters, None, {"epsilon": 1}), columns, relation)


_LOTS: dict[str, Any] = {"epsilon": 4, "delta": "0.01", "steps": 2, "expected_rows": 2, "lot_size": 1, "clip": "0.5"}
_PLAIN: dict[str, Any] = {"epsilon": 1, "fit_intercept": False}
_FAR = Ball(Fraction(1000))
EXAMS = [
    _of(LogisticRegression(ridge="2.1", intervals=True, epsilon=10, fit_intercept=False),
        "LogisticRegression with intervals", cost=0.6),
    _of(LogisticRegression(epsilon=10, delta="0.01", ridge="2.1", intervals=True, fit_intercept=False),
        "LogisticRegression with intervals, Gaussian", delta=0.01, relation="replace", cost=0.6),
    _of(AdditiveClassifier(epsilon=1, bins=2), features=("x", "v"), cost=0.6),
    _of(AdditiveClassifier(epsilon=1, delta="0.01", bins=2), "AdditiveClassifier, Gaussian", delta=0.01,
        features=("x", "v"), relation="replace", cost=0.6),
    _of(LinearSVC(method="output", ridge="10", **_PLAIN), "LinearSVC, output"),
    _of(LinearSVC(method="opera", epsilon=1, delta="0.01", ridge="1", fit_intercept=False), "LinearSVC, OPERA",
        relation="replace", delta=0.01),
    _of(Classifier(loss=HuberHinge(), ridge="2.5", **_PLAIN), cost=0.6),
    _of(KernelSVC(components=2, key=1, ridge="2.5", **_PLAIN), cost=0.6),
    _of(
        KernelOutcomeWeightedLearner(components=2, key=1, propensity=0.5, weight_bound=4, ridge="10", **_PLAIN),
        weight="w",
        cost=0.6,
    ),
    _of(OutcomeWeightedLearner(propensity=0.5, weight_bound=4, ridge="10", **_PLAIN), weight="w", cost=0.6),
    _of(LinearRegression(epsilon=1), target="z"),
    _of(LinearRegression(epsilon=1, delta="0.01"), "LinearRegression, Gaussian", target="z", delta=0.01, relation="replace"),
    _of(LinearRegression(method="objective", **_PLAIN), "LinearRegression, objective", target="z", cost=0.6),
    _of(ConstrainedClassifier(loss=HuberHinge(), region=_FAR, ridge="2.5", **_PLAIN), cost=0.6),
    _of(ConstrainedClassifier(loss=HuberHinge(), region=_FAR, ridge="2.5", method="output", **_PLAIN),
        "ConstrainedClassifier, output"),
    _of(ConstrainedClassifier(loss=HuberHinge(Fraction(1, 50)), region=_FAR, ridge="0.5", method="output", epsilon=1),
        "ConstrainedClassifier, output, narrow corner", features=("x", "v"), tables=_many_ties),
    _of(ConstrainedClassifier(loss=HuberHinge(), region=Ball(Fraction(100)), ridge="0.001", epsilon=8, fit_intercept=False),
        "ConstrainedClassifier, tiny ridge", cost=0.6, background=1),
    _of(ConstrainedRegression(loss=Huber(), region=Box(), ridge="2.5", **_PLAIN), target="z", cost=0.6),
    _of(ConstrainedRegression(loss=Huber(), region=Box(), ridge="2.5", method="output", **_PLAIN),
        "ConstrainedRegression, output", target="z"),
    _of(SoftmaxRegression(ridge="4.1", **_PLAIN), target="c", cost=0.8),
    _of(SoftmaxRegression(epsilon=1, delta="0.01", ridge="9", fit_intercept=False),
        "SoftmaxRegression, Gaussian", target="c", delta=0.01, relation="replace", cost=0.8),
    _of(SoftmaxRegression(method="output", ridge="10", **_PLAIN), "SoftmaxRegression, output", target="c"),
    _of(LinearSVC(ridge="8.2", **_PLAIN), "LinearSVC, three classes", target="c", cost=0.8),
    _of(LinearSVC(epsilon=1, delta="0.01", ridge="18", fit_intercept=False), "LinearSVC, three classes, Gaussian",
        target="c", delta=0.01, relation="replace", cost=0.8),
    _of(LinearSVC(method="output", ridge="10", **_PLAIN), "LinearSVC, three classes, output", target="c"),
    _of(PoissonRegressor(ridge="4", **_PLAIN), target="w", cost=0.8),
    _of(GammaRegressor(ridge="4", **_PLAIN), target="u", cost=0.8),
    _of(PoissonRegressor(ridge="10", method="output", **_PLAIN), "PoissonRegressor, output", target="w", relation="replace"),
    _of(GaussianNB(epsilon=1)),
    _of(GaussianNB(epsilon=1, delta="0.01"), "GaussianNB, Gaussian", delta=0.01, features=("x", "v")),
    _of(GaussianNB(epsilon=1, delta="0.01"), "GaussianNB, Gaussian", delta=0.01, relation="replace", features=("x", "v")),
    _of(RandomForestClassifier(epsilon=1, n_estimators=2, max_depth=2, key=1), features=("x", "v")),
    _of(RandomForestClassifier(epsilon=1, delta="0.01", n_estimators=2, max_depth=2, key=1),
        "RandomForestClassifier, Gaussian", delta=0.01, relation="replace"),
    _of(StandardScaler(epsilon=1), target=""),
    _of(PCA(epsilon=1), target="", features=("x", "v")),
    _of(PCA(epsilon=1, delta="0.01"), "PCA, Gaussian", target="", features=("x", "v"), relation="replace", delta=0.01),
    _of(KMeans(epsilon=2, n_clusters=2, rounds=2), target="", whole=True, cost=0.5),
    _of(KMeans(epsilon=2, delta="0.01", n_clusters=2, rounds=2), "KMeans, Gaussian", target="", whole=True, delta=0.01,
        relation="replace", cost=0.5, background=1),
    Exam("decisions", _decided(Decisions), cost=0.02),
    Exam("right decisions", _decided(RightDecisions), relation="replace", cost=0.02),
    Exam("together", _together, target="z", kind="statistic", cost=0.02),
    Exam("test of tests", _of_tests, kind="statistic", cost=0.2),
    Exam("test of tests, by positions", _of_tests, kind="statistic", relation="replace", cost=0.2),
    Exam("synthetic tables", _synthetic, features=("x", "z"), weight="w", kind="synthetic", relation="replace", delta=0.01,
         cost=0.02),
    Exam("synthetic tables", _synthetic, features=("x", "z"), weight="w", kind="synthetic", whole=True, delta=0.01, cost=20),
    Exam("paid score", _score, cost=0.02),
    Exam("paid score with weights", _score, weight="w", relation="replace", cost=0.02),
    Exam("confusion matrix", _confusion(0), cost=0.02),
    Exam("ROC curve", _confusion(8), relation="replace", cost=0.02),
    Exam("coefficient of determination", _determination, target="z", delta=0.01, cost=0.02),
    Exam("tuning", _tuning, whole=True, cost=6, background=1),
    Exam("tuning by decisions", _decision_tuning, whole=True, cost=6, background=1),
    Exam("tuning of clusters", _cluster_tuning, target="", whole=True, cost=6, background=1),
    Exam("tuning of numbers", _number_tuning, target="z", whole=True, delta=0.01, cost=6, background=1),
    _of(SGDClassifier(fit_intercept=False, **_LOTS), whole=True, delta=0.01, cost=1.4),
    _of(SGDClassifier(fit_intercept=False, **_LOTS), "SGDClassifier, replace", whole=True, delta=0.01, relation="replace",
        cost=1.4, background=1),
    _of(SGDClassifier(fit_intercept=False, **_LOTS | {"clip": ClipQuantile(epsilon="0.5")}), "SGDClassifier, bought clip",
        whole=True, delta=0.01, cost=2.4),
    _of(SGDClassifier(loss="huber_hinge", fit_intercept=False, **_LOTS), "SGDClassifier, three classes", target="c",
        whole=True, delta=0.01, cost=1.4),
    _of(GRPUA(fit_intercept=False, **_LOTS), whole=True, delta=0.01, cost=1.4),
    _of(GRPUANetwork(hidden_layer_sizes=(2,), **_LOTS), whole=True, delta=0.01, cost=1.4),
    _of(SGDRegressor(fit_intercept=False, **_LOTS), target="z", whole=True, delta=0.01, cost=1.4),
    _of(MLPClassifier(hidden_layer_sizes=(2,), **_LOTS), whole=True, delta=0.01, cost=1.4),
    _of(SGDClassifier(fit_intercept=False, **_LOTS | {"lots": "turns", "steps": 3}), "SGDClassifier, people in turns",
        whole=True, delta=0.01, cost=1.4),
    _of(MLPRegressor(hidden_layer_sizes=(2,), **_LOTS), target="z", whole=True, delta=0.01, cost=1.4),
    _of(OwnNetwork(loss=gradient_loss(lambda p, x, y: (2 * y - 1) * x, [0.0]), **_LOTS), whole=True, delta=0.01, cost=1.4),
]  # fmt: skip
