"""The confusion matrix and the ROC curve of a classifier on private rows: every number of them is paid for.

A confusion matrix is a table of counts, a ROC curve is read off two histograms of scores; both are one noisy release of
counts to which a person contributes once for each of its rows.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.core import drawing
from discreet.core.ask import Ask
from discreet.core.cost import Cost, Distance
from discreet.core.exact import Exact
from discreet.core.numbers import Number
from discreet.core.price import Price
from discreet.core.query import Relation, SumQuery, distance_of_weights, queries
from discreet.core.random import chosen
from discreet.core.release import Release
from discreet.core.runner import Desk, NoLedger, Procedure
from discreet.core.source import Batch
from discreet.errors import InvalidRequest
from discreet.mechanisms.priced import law_of_sums
from discreet.models.design import Design
from discreet.models.estimators.private_model import PrivateModel
from discreet.models.evaluate.coded_table import check_declared, coded_table
from discreet.models.evaluate.decisions import Decides, Decisions
from discreet.models.evaluate.network_rule import NetworkRule
from discreet.models.evaluate.rates import Rates
from discreet.models.evaluate.roc import BINS, Roc
from discreet.models.evaluate.scorer import Scorer, by_scores, scorer_of
from discreet.models.gradient.network import Network
from discreet.models.publish.predictor import Predictor
from discreet.models.queries.design_sum import DesignSum
from discreet.sources import open_source

if TYPE_CHECKING:
    import matplotlib.axes


@queries("judged_counts")
@dataclass(frozen=True)
class ConfusionCounts(DesignSum):
    """How many rows of each true class a model puts where: into each class, or into each of ``bins`` cells of its score.

    A score z is cut into even cells of 1 / (1 + e^(-z / 3)); of two classes the second is one
    above ``threshold``. The model is told apart from others by the digest of its parameters.

    ``distance``: with k rows a person, k under add/remove in every norm; under replace and both 2k in L1, sqrt(2) k in L2.

    Proof: a row counts 1 in one cell, or nowhere if it lacks a value; so a person's counts are not negative and sum to
    at most k. Adding or removing them moves the table by at most k in L1, hence in L2; replacing v by w by |v - w|_1 <=
    2k and |v - w|_2^2 <= |v|_2^2 + |w|_2^2 <= 2 k^2.
    """

    design: Design
    network: Network
    digest: str
    bins: int = 0
    threshold: float = 0.0
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

    def step(self, batch: Batch) -> Any:
        rule = NetworkRule(self.design, self.network, self.flat, self.threshold)
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
    """Noisy counts: lines are true classes, columns predicted ones. ``rows`` is the most rows of one person."""

    counts: Any
    classes: tuple[Any, ...]
    cost: Cost
    release: Release
    rows: int = 1

    @property
    def accuracy(self) -> float:
        """The share on the diagonal, within [0, 1]; a half where no count is left."""
        total = float(self.counts.sum())
        return min(1.0, max(0.0, float(np.trace(self.counts)) / total)) if total > 0 else 0.5

    def rates(self, positive: Any = None) -> Rates:
        """True and false alarms, precision, F and the like, with intervals: of the second class, or of ``positive`` against
        the rest.
        """
        wanted = self.classes[1] if positive is None and len(self.classes) == 2 else positive
        if wanted not in self.classes:
            raise InvalidRequest(f"positive must be one of the classes {list(self.classes)}, got {positive!r}")
        yes = np.array([label == wanted for label in self.classes], np.float64)
        four = [np.outer(a, b).ravel() for a in (1 - yes, yes) for b in (1 - yes, yes)]
        return Rates(self.release, np.stack(four), self.rows)

    def interval(self, level: float = 0.95) -> tuple[Any, Any]:
        """Two ends for every count, over the noise alone."""
        reach = float(np.max(self.release.noise.error(level)))
        return np.maximum(self.counts - reach, 0.0), np.maximum(self.counts + reach, 0.0)

    def plot(self, axes: matplotlib.axes.Axes | None = None) -> matplotlib.axes.Axes:
        """The matrix as a picture; returns the axes."""
        axes = drawing.new_axes(axes, (5.5, 4.5))
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


def confusion_matrix(
    model: Any,
    X: Any,
    y: Any = None,
    *,
    epsilon: Number | None = None,
    delta: Number | None = None,
    rho: Number | None = None,
    ledger: Any = None,
) -> Confusion:
    """The confusion matrix of a fitted classifier on private rows: a release that costs what is given.

    ``X`` and ``y`` are arrays, or ``X`` is a Session whose table is declared as the one of the fit; its ledger then pays.
    ``model`` may be a published one (``load``), and on arrays anything with ``decision_function`` and two classes. On arrays
    ``ledger`` pays, or the model's own where none is given.
    """
    price = Price(epsilon, delta, rho)
    if isinstance(model, Decides):
        release, rows = _decisions(model, X, y, price, ledger)
        classes = tuple(model.classes_.tolist())
    else:
        release, design, classes = _counts(model, X, y, 0, price, ledger)
        rows = design.rows
    assert release.cost is not None
    return Confusion(np.asarray(release.value, np.float64), classes, release.cost, release, rows)


def roc_curve(
    model: Any,
    X: Any,
    y: Any = None,
    *,
    epsilon: Number | None = None,
    delta: Number | None = None,
    rho: Number | None = None,
    bins: int = BINS,
    ledger: Any = None,
) -> Roc:
    """The ROC curve of a fitted classifier of two classes on private rows: a release that costs what is given."""
    if isinstance(bins, bool) or not isinstance(bins, int) or bins < 2:
        raise InvalidRequest(f"bins must be a whole number of at least 2, got {bins!r}")
    release, design, classes = _counts(model, X, y, bins, Price(epsilon, delta, rho), ledger)
    assert release.cost is not None
    return Roc(np.asarray(release.value, np.float64), release.cost, release, classes, design.rows)


def _decisions(model: Decides, X: Any, y: Any, price: Price, ledger: Any) -> tuple[Release, int]:
    """The counts of a classifier that is judged by its own rule, and the most rows of one person."""
    if y is None:
        _check_session(X)
        where, question, relation = X, model.judged_in(X.schema, Decisions), X.schema.neighbors
    else:
        table, schema, question = model.judged_on(X, y, Decisions)
        own, relation = model.desk(table, schema), schema.neighbors
        where = own if ledger is None else replace(own, ledger=ledger)
    release: Release = where.run(counts_of(question, price, relation))
    return release, question.rows


def _check_session(given: Any) -> None:
    if not hasattr(given, "ledger") or not hasattr(given, "schema"):
        raise InvalidRequest(f"give X and y, or a Session alone, got {type(given).__name__} without y")


def question_of(model: Any, bins: int = 0) -> ConfusionCounts:
    """What is asked about a fitted or published model: a linear one is a network without hidden layers."""
    return _question(scorer_of(model), bins)


def _question(one: Scorer, bins: int) -> ConfusionCounts:
    return ConfusionCounts(one.design, one.network, one.digest, bins, one.threshold, one.flat)


def _counts(model: Any, X: Any, y: Any, bins: int, price: Price, ledger: Any) -> tuple[Release, Design, tuple[Any, ...]]:
    """The counts of a model on a session's table, or on arrays; the design of what was counted, and the classes."""
    if y is None:
        one = scorer_of(model)
        question = _question(one, bins)
        _check_session(X)
        check_declared(question.design, X.schema)
        question = replace(question, design=replace(question.design, rows=X.schema.max_rows or 1))
        return X.run(counts_of(question, price, X.schema.neighbors)), question.design, question.design.target.classes
    neighbors: Any = getattr(model, "neighbors", "add_remove")
    if isinstance(model, PrivateModel):
        one, rows = scorer_of(model), model.predictor.rows(model.columns_of(X))
    elif isinstance(model, Predictor):
        one, rows = scorer_of(model), model.rows(X)
    else:
        one, rows = by_scores(model, X)
    labels, truth = list(one.classes), np.asarray(y)
    codes = np.full(len(truth), -1)
    for code, label in enumerate(labels):
        codes[truth == label] = code
    if len(truth) == len(rows) and (codes < 0).any():
        raise InvalidRequest(f"y must hold the declared classes {labels} only, got {truth[codes < 0][0]!r}")
    table, schema, design = coded_table(one.design, rows, codes, neighbors)
    asked = counts_of(replace(_question(one, bins), design=design), price, schema.neighbors)
    if isinstance(model, PrivateModel) and ledger is None:
        return model.desk(table, schema).run(asked), design, tuple(labels)
    desk = Desk(open_source(table, schema), NoLedger() if ledger is None else ledger, chosen(None), schema.neighbors)
    return desk.run(asked), design, tuple(labels)


def counts_of(question: SumQuery, price: Price, relation: Relation) -> Procedure[Release]:
    """The noisy counts: one release."""
    release: Release = yield Ask(question, law_of_sums(price, question.distance(relation)))
    return release
