"""The confusion matrix and the ROC curve of a classifier on private rows: every number of them is paid for.

A confusion matrix is a table of counts, a ROC curve is read off two histograms of scores; both are one noisy release of
counts to which a person contributes once for each of its rows.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from discreet.core.ask import Ask
from discreet.core.cost import Cost, Distance
from discreet.core.exact import Exact
from discreet.core.numbers import Number
from discreet.core.price import Price
from discreet.core.query import Relation, SumQuery, distance_of_weights, queries
from discreet.core.release import Release
from discreet.core.runner import Procedure
from discreet.errors import InvalidRequest
from discreet.mechanisms.priced import law_of_sums
from discreet.models.design import Design
from discreet.models.evaluate.axes import drawn_on
from discreet.models.evaluate.coded_table import check_declared, coded_table
from discreet.models.evaluate.decisions import Decides, Decisions
from discreet.models.evaluate.network_rule import NetworkRule
from discreet.models.gradient.network import Network
from discreet.models.losses import Logistic
from discreet.models.queries.design_sum import DesignSum

BINS = 64  # cells of a score


@queries("judged_counts")
@dataclass(frozen=True)
class ConfusionCounts(DesignSum):
    """How many rows of each true class a model puts where: into each class, or into each of ``bins`` cells of its score.

    A score z is cut into even cells of 1 / (1 + e^(-z / 3)). The model is told apart from others by the digest of its
    parameters.

    ``distance``: with k rows a person, k under add/remove in every norm; under replace and both 2k in L1, sqrt(2) k in L2.

    Proof: a row counts 1 in one cell, or nowhere if it lacks a value; so a person's counts are not negative and sum to
    at most k. Adding or removing them moves the table by at most k in L1, hence in L2; replacing v by w by |v - w|_1 <=
    2k and |v - w|_2^2 <= |v|_2^2 + |w|_2^2 <= 2 k^2.
    """

    design: Design
    network: Network
    digest: str
    bins: int = 0
    flat: Any = field(default=None, compare=False, repr=False)

    def __post_init__(self) -> None:
        if self.bins and self.classes != 2:
            raise InvalidRequest(f"a ROC curve is of two classes, got {self.classes}")

    @property
    def classes(self) -> int:
        """The number of classes."""
        return len(self.design.target.classes)

    @property
    def shape(self) -> tuple[int, int]:
        """True classes, and where their rows are put."""
        return self.classes, self.bins or self.classes

    def distance(self, relation: Relation) -> Distance:
        return distance_of_weights(self.design.rows, relation)

    def step(self, batch: Any) -> Any:
        rule = NetworkRule(self.design, self.network, self.flat)
        if self.bins:
            truth, scores = rule.scores(batch)
            share = 0.5 * (1.0 + np.tanh(scores[:, 0] / 6.0))  # wider than a probability: sure scores stay apart
            place = np.minimum((share * self.bins).astype(np.intp), self.bins - 1)
        else:
            truth, place = rule.decide(batch)
        wide = self.shape[1]
        return np.bincount(truth * wide + place, minlength=self.classes * wide).reshape(self.shape)

    def blank(self, rows: int) -> Exact:
        return Exact(np.full(self.shape, rows // (self.shape[0] * self.shape[1]), np.int64))


@dataclass(frozen=True, eq=False)
class Confusion:
    """Noisy counts: lines are true classes, columns predicted ones."""

    counts: Any
    classes: tuple[Any, ...]
    cost: Cost
    release: Release

    @property
    def accuracy(self) -> float:
        """The share on the diagonal, within [0, 1]; a half where no count is left."""
        counts = np.maximum(self.counts, 0.0)
        total = float(counts.sum())
        return float(np.trace(counts)) / total if total > 0 else 0.5

    def plot(self, axes: Any = None) -> Any:
        """The matrix as a picture; returns the axes."""
        axes = drawn_on(axes)
        shares = np.maximum(self.counts, 0) / np.maximum(np.maximum(self.counts, 0).sum(axis=1, keepdims=True), 1)
        axes.imshow(shares, cmap="Blues", vmin=0, vmax=1)
        for (line, column), count in np.ndenumerate(self.counts):
            colour = "white" if shares[line, column] > 0.55 else "black"
            axes.text(column, line, f"{count:.0f}", ha="center", va="center", color=colour)
        axes.set_xticks(range(len(self.classes)), [str(c) for c in self.classes])
        axes.set_yticks(range(len(self.classes)), [str(c) for c in self.classes])
        axes.set_xlabel("predicted")
        axes.set_ylabel("true")
        return axes


@dataclass(frozen=True, eq=False)
class Roc:
    """A ROC curve from noisy histograms of scores: ``false_alarms`` and ``hits`` as the threshold falls from 1 to 0."""

    counts: Any
    cost: Cost
    release: Release

    @cached_property
    def _curves(self) -> tuple[Any, Any]:
        counts = np.maximum(np.asarray(self.counts, np.float64), 0.0)[:, ::-1]
        totals = counts.sum(axis=1, keepdims=True)
        even = np.full_like(counts, 1 / counts.shape[1])
        shares = np.divide(counts, totals, out=even, where=totals > 0)
        no, yes = np.concatenate([np.zeros((2, 1)), np.cumsum(shares, axis=1)], axis=1)
        return no, yes

    @property
    def false_alarms(self) -> Any:
        """The share of the first class above each threshold."""
        return self._curves[0]

    @property
    def hits(self) -> Any:
        """The share of the second class above each threshold."""
        return self._curves[1]

    @property
    def area(self) -> float:
        """The area under the curve, by trapezoids."""
        return float(np.trapezoid(self.hits, self.false_alarms))

    def plot(self, axes: Any = None, label: str = "") -> Any:
        """The curve as a picture; returns the axes."""
        axes = drawn_on(axes)
        axes.plot(self.false_alarms, self.hits, label=f"{label} area {self.area:.3f}".strip())
        axes.plot([0, 1], [0, 1], color="grey", ls=":", lw=1)
        axes.set_xlabel("false alarms")
        axes.set_ylabel("hits")
        axes.legend(frameon=False)
        return axes


def confusion_matrix(
    model: Any,
    X: Any,
    y: Any = None,
    *,
    epsilon: Number | None = None,
    delta: Number | None = None,
    rho: Number | None = None,
) -> Confusion:
    """The confusion matrix of a fitted classifier on private rows: a release that costs what is given.

    ``X`` and ``y`` are arrays, or ``X`` is a Session whose table is declared as the one of the fit; its ledger then pays.
    """
    price = Price(epsilon, delta, rho)
    if isinstance(model, Decides):
        release, classes = _decisions(model, X, y, price), tuple(model.classes_.tolist())
    else:
        release, design = _counts(model, X, y, 0, price)
        classes = tuple(model.classes_.tolist()) if y is not None else design.target.classes
    assert release.cost is not None
    return Confusion(np.asarray(release.value, np.float64), classes, release.cost, release)


def roc_curve(
    model: Any,
    X: Any,
    y: Any = None,
    *,
    epsilon: Number | None = None,
    delta: Number | None = None,
    rho: Number | None = None,
    bins: int = BINS,
) -> Roc:
    """The ROC curve of a fitted classifier of two classes on private rows: a release that costs what is given."""
    if isinstance(bins, bool) or not isinstance(bins, int) or bins < 2:
        raise InvalidRequest(f"bins must be a whole number of at least 2, got {bins!r}")
    release, _ = _counts(model, X, y, bins, Price(epsilon, delta, rho))
    assert release.cost is not None
    return Roc(np.asarray(release.value, np.float64), release.cost, release)


def _decisions(model: Decides, X: Any, y: Any, price: Price) -> Release:
    """The counts of a classifier that is judged by its own rule."""
    if y is None:
        _check_session(X)
        where, question, relation = X, model.judged_in(X.schema, Decisions), X.schema.neighbors
    else:
        table, schema, question = model.judged_on(X, y, Decisions)
        where, relation = model.desk(table, schema), schema.neighbors
    made: Release = where.run(counts_of(question, price, relation))
    return made


def _check_session(given: Any) -> None:
    if not hasattr(given, "ledger") or not hasattr(given, "schema"):
        raise InvalidRequest(f"give X and y, or a Session alone, got {type(given).__name__} without y")


def question_of(model: Any, bins: int = 0) -> ConfusionCounts:
    """What is asked about a fitted model: a linear one is a network without hidden layers."""
    from sklearn.utils.validation import check_is_fitted

    check_is_fitted(model)
    fitted = model.fitted_
    design = replace(fitted.design, weight=None)
    if not design.target.classes:
        raise InvalidRequest(f"only classifiers are judged so, got {type(model).__name__}; use paid_score")
    network = getattr(fitted, "network", None) or Network((design.width, 1), Logistic(), bias=False)
    flat = np.asarray(fitted.theta, np.float64)
    return ConfusionCounts(design, network, hashlib.sha256(flat.tobytes()).hexdigest(), bins, flat)


def _counts(model: Any, X: Any, y: Any, bins: int, price: Price) -> tuple[Release, Design]:
    """The release of ``question_of`` on a session's table, or on arrays; and the design of what was counted."""
    question = question_of(model, bins)
    if y is None:
        _check_session(X)
        check_declared(question.design, X.schema)
        question = replace(question, design=replace(question.design, rows=X.schema.max_rows or 1))
        return X.run(counts_of(question, price, X.schema.neighbors)), question.design
    labels, truth = model.classes_.tolist(), np.asarray(y)
    codes = np.full(len(truth), -1)
    for code, label in enumerate(labels):
        codes[truth == label] = code
    rows = model.predictor.rows(model.columns_of(X))
    if len(truth) == len(rows) and (codes < 0).any():
        raise InvalidRequest(f"y must hold the declared classes {labels} only, got {truth[codes < 0][0]!r}")
    table, schema, design = coded_table(question.design, rows, codes, model.neighbors)
    return model.desk(table, schema).run(counts_of(replace(question, design=design), price, schema.neighbors)), design


def counts_of(question: SumQuery, price: Price, relation: Relation) -> Procedure[Release]:
    """The noisy counts: one release."""
    release: Release = yield Ask(question, law_of_sums(price, question.distance(relation)))
    return release
