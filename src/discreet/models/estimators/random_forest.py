"""A private random forest."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from numbers import Integral
from typing import Any

import numpy as np

from discreet.core.ask import Ask
from discreet.core.price import Price
from discreet.core.query import Relation
from discreet.core.release import Release
from discreet.core.runner import Procedure
from discreet.core.source import Batch
from discreet.errors import InvalidRequest
from discreet.mechanisms.priced import law_of_sums
from discreet.models.design import Floats
from discreet.models.estimators.classes import ManyClasses
from discreet.models.estimators.from_sums import FittedSums, FromSums
from discreet.models.estimators.keyed import Keyed
from discreet.models.evaluate.decisions import DecisionRule, digest_of
from discreet.models.protocol import Columns
from discreet.models.publish.forest_predictor import ForestPredictor
from discreet.models.publish.predictor import Input
from discreet.models.queries.leaf_counts import LeafCounts, RandomTrees

_FEWEST, _ENOUGH, _MOST = 3, 10, 20  # trees, unless their number is given
_DEEPEST = 6  # unless more is asked for: noise in the leaves of deeper trees passes what they tell apart
_LEAST = 1e-6  # the least share of a class in a leaf


@dataclass(frozen=True, eq=False, kw_only=True)
class FittedForest(FittedSums):
    """The trees, and the logarithms of the shares of the classes in their leaves."""

    query: LeafCounts
    leaves: Floats

    @property
    def declared(self) -> LeafCounts:
        return self.query

    @property
    def rule(self) -> DecisionRule:
        """How it is judged."""
        return ForestRule(self.query, self.leaves)


@dataclass(frozen=True, eq=False)
class ForestRule:
    """How random trees with shares in their leaves decide about private rows."""

    query: LeafCounts
    leaves: Floats

    @property
    def inputs(self) -> Sequence[Input]:
        return tuple(Input(f.column, None if f.labels else (f.lo, f.hi), f.labels) for f in self.query.features)

    @property
    def target(self) -> str:
        return self.query.target.column

    @property
    def classes(self) -> int:
        return self.query.shape[2]

    @property
    def digest(self) -> str:
        return digest_of(self.leaves, self.query.forest.key)

    def decide(self, batch: Batch) -> tuple[Any, Any]:
        values, truth = self.query.read(batch)
        score = np.zeros((len(values), self.classes))
        for shares, leaf in zip(self.leaves, self.query.leaves(values), strict=True):
            score += shares[leaf]
        return truth, score.argmax(axis=1)


@dataclass(kw_only=True, eq=False, repr=False)
class RandomForestClassifier(Keyed, ManyClasses, FromSums):
    """A forest whose splits are random and never look at the data; what is released are noisy counts in its leaves.

    ``n_estimators`` trees of ``max_depth`` levels (as many as there are features, from 3 to 6, unless it is given) share the
    price: one row is in one leaf of each. So noise grows with the number of trees, and where none is given there are as many
    as features, up to 10, times the root of epsilon (of sqrt(2 rho)); from 3 to 20. The splits are drawn
    when the model is fitted, from ``key`` if that is given, and are public: ``key_`` says which. Numbers are cut at random
    places between their public ``bounds``, categories (of a session's schema) at random labels. The counts of a leaf are
    drawn towards those of the nodes above it as far as noise blurs them. ``classes`` are the public labels.
    ``neighbors`` is "add_remove", "replace" or "both". ``random_state`` is for tests only: what it makes is not private.
    """

    n_estimators: int | None = None
    max_depth: int | None = None

    def procedure(self, columns: Columns, relation: Relation) -> Procedure[FittedForest]:
        for word in ("n_estimators", "max_depth", "key"):
            given = getattr(self, word)
            if given is not None and (isinstance(given, bool) or not isinstance(given, Integral)):
                raise InvalidRequest(f"{word} must be a whole number, got {given!r}")
        features = len(columns.features)
        depth = min(_DEEPEST, max(3, features)) if self.max_depth is None else int(self.max_depth)
        trees = _enough_trees(features, self.price) if self.n_estimators is None else int(self.n_estimators)
        forest = RandomTrees(trees, depth, self._drawn_key())
        query = LeafCounts.of(columns.schema, columns.features, columns.target, forest)
        return self._ask(query, relation)

    def _ask(self, query: LeafCounts, relation: Relation) -> Procedure[FittedForest]:
        law = law_of_sums(self.price, query.distance(relation))
        release: Release = yield Ask(query, law)
        noise = float(np.max(law.expected_error))  # type: ignore[attr-defined]
        counts = np.asarray(release.value, np.float64).reshape(query.shape)
        return FittedForest(releases=(release,), relation=relation, query=query, leaves=_shares(counts, noise))

    def _set_fitted(self, fitted: FittedForest) -> None:
        super()._set_fitted(fitted)
        self.key_ = fitted.query.forest.key
        self.classes_ = np.array(fitted.query.target.labels)
        self.feature_names_ = [f.column for f in fitted.query.features]

    @property
    def predictor(self) -> ForestPredictor:
        """What predicts: all of a model that is published."""
        from sklearn.utils.validation import check_is_fitted

        check_is_fitted(self)
        query: LeafCounts = self.fitted_.query
        inputs = tuple(self.fitted_.rule.inputs)
        first = np.concatenate([[0], np.cumsum([i.size for i in inputs])])
        lows, highs = (np.array([getattr(f, end) for f in query.features]) for end in ("lo", "hi"))
        labels = np.array([bool(f.labels) for f in query.features])
        columns, cuts = [], []
        for column, cut in query.splits:
            columns.append(first[column] + np.where(labels[column], cut, 0).astype(np.int64))
            cuts.append(np.where(labels[column], 0.5, lows[column] + cut * (highs[column] - lows[column])))
        classes = tuple(self.classes_.tolist())
        return ForestPredictor(inputs, classes, np.array(columns), np.array(cuts), self.fitted_.leaves)


def _enough_trees(features: int, price: Price) -> int:
    """The number of trees for a price: each should meet another feature, and all share what noise leaves to be seen."""
    if price.is_infinite:
        return _MOST
    most = Fraction(_MOST**2)
    strength = min(most, price.epsilon) if price.epsilon is not None else math.sqrt(2 * min(most, price.rho or 0))
    return min(_MOST, max(_FEWEST, round(min(features, _ENOUGH) * math.sqrt(strength))))


def _shares(counts: Floats, noise: float) -> Floats:
    """The logarithms of the shares of the classes in every leaf of every tree, from noisy counts.

    From the root down, the share of a class in a node is its own, as far as the count of the node outweighs the noise, and
    the one of the node above for the rest: own weight N^2 / (N^2 + N + K e_h^2), where e_h is the deviation of a count that
    2^h leaves add up to. Only what was released is read.
    """
    trees, leaves, classes = counts.shape
    levels = [counts]
    while levels[-1].shape[1] > 1:
        levels.append(levels[-1].reshape(trees, -1, 2, classes).sum(axis=2))
    share = np.full((trees, 1, classes), 1.0 / classes)
    for node in reversed(levels):
        share = np.repeat(share, node.shape[1] // share.shape[1], axis=1)
        whole = np.maximum(node.sum(axis=2, keepdims=True), 0.0)
        blur = classes * noise**2 * (leaves // node.shape[1])
        trust = whole**2 / (whole**2 + whole + blur + 1e-12)
        own = np.clip(node / np.maximum(whole, 1e-12), 0.0, 1.0)
        own = own / np.maximum(own.sum(axis=2, keepdims=True), 1e-12)
        share = trust * own + (1 - trust) * share
    return np.asarray(np.log(np.maximum(share, _LEAST)))
