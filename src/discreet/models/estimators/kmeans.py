"""Private k-means clustering."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Integral
from typing import Any

import numpy as np
from sklearn.base import TransformerMixin

from discreet.core import numbers
from discreet.core.ask import Account, Ask, Open
from discreet.core.cost import Cost, Distance
from discreet.core.query import Relation
from discreet.core.random import Random
from discreet.core.release import Entry, Release
from discreet.core.runner import Procedure
from discreet.errors import InvalidRequest
from discreet.mechanisms.priced import law_of_sums
from discreet.models.design import Floats
from discreet.models.estimators.from_sums import METHOD, FittedSums, Unsupervised
from discreet.models.estimators.privacy import Privacy
from discreet.models.evaluate.centres_rule import CentresRule
from discreet.models.protocol import Columns
from discreet.models.publish.centres_predictor import CentresPredictor
from discreet.models.publish.predictor import Input
from discreet.models.queries.cluster_sums import ClusterSums
from discreet.statistics.bounded_rows import BoundedRows

_CANDIDATES = 2000  # public places of which the first centres are taken, and so no fewer than the clusters
_MOST_ROUNDS = 1000  # of which each one looks at all rows
_APART = 0.5  # how far a centre is reckoned to go in a round, of half the bounds
_REACH = 0.6  # how far from the middle the first centres lie at most, of half the bounds


@dataclass(frozen=True)
class RoundsPrivacy(Privacy):
    """What all rounds cost together: one charge, ``entry``."""

    entry: Entry | None = None


@dataclass(frozen=True, eq=False, kw_only=True)
class FittedCentres(FittedSums):
    """The centres on the scale of s in [-1, 1], noisy numbers of rows around them, and the one charge of all rounds."""

    bounded: BoundedRows
    centres: Floats
    counts: Floats
    cost: Cost
    entry: Entry | None

    @property
    def declared(self) -> BoundedRows:
        return self.bounded

    @property
    def rule(self) -> CentresRule:
        """What a tuning judges them by."""
        return CentresRule(self.bounded, self.centres)

    @property
    def privacy(self) -> Privacy:
        private = self.cost.is_finite and all(r.private for r in self.releases)
        return RoundsPrivacy(self.cost, self.relation, private, METHOD, None, (), self.entry)


@dataclass(kw_only=True, eq=False, repr=False)
class KMeans(TransformerMixin, Unsupervised):  # type: ignore[misc]
    """Lloyd's algorithm: in each of ``rounds`` every centre moves to the noisy mean of the rows nearest to it.

    The first centres are public, spread over the middle of the ``bounds`` far from one another. A round releases the
    number and the sums of the rows around every centre; all rounds are one charge. Columns are measured in halves of the
    distance of their bounds. A centre moves as far as the number of its rows outweighs the noise.
    ``cluster_centers_`` and ``counts_`` are what was released last; labels of the rows of the table are private:
    ``predict`` says those of rows one has. ``random_state`` is for tests only: what it makes is not private.

    Proof: all rounds ask ``ClusterSums`` at centres that were released before. T adaptive rounds of Gaussian noise whose
    distances are D each lose what one of distance sqrt(T) D does (a sum of T independent normal losses is normal), T
    rounds of Laplace noise what one of T times the distance does: the law is bought for that distance.
    """

    n_clusters: int = 8
    rounds: int = 3

    def procedure(self, columns: Columns, relation: Relation) -> Procedure[FittedCentres]:
        for word, most in (("n_clusters", _CANDIDATES), ("rounds", _MOST_ROUNDS)):
            given = getattr(self, word)
            if isinstance(given, bool) or not isinstance(given, Integral) or not 1 <= int(given) <= most:
                raise InvalidRequest(f"{word} must be a whole number from 1 to {most}, got {given!r}")
        bounded = BoundedRows.of(columns.schema, columns.features)
        return self._lloyd(ClusterSums.of(bounded, int(self.n_clusters)), int(self.rounds), relation)

    def _lloyd(self, query: ClusterSums, rounds: int, relation: Relation) -> Procedure[FittedCentres]:
        one, centres = query.distance(relation), first_centres(query.clusters, query.bounded.size)
        whole = Distance(one.l1 * rounds, one.l2 * numbers.square_root_up(numbers.rational(rounds, "rounds")), one.linf)
        law: Any = law_of_sums(self.price, whole, query.grid)
        cost = law.cost(whole)
        account: Account = yield Open(cost, plan=Ask(query, law), steps=rounds)
        noise = float(np.max(law.expected_error))
        counts, releases = np.zeros(query.clusters), []
        for _ in range(rounds):
            release: Release = yield Ask(query.at(centres), law, account)
            releases.append(release)
            sums = np.asarray(release.value, np.float64).reshape(query.shape)
            counts = sums[:, 0] / float(query.weight)
            some = np.maximum(counts, max(1.0, noise / float(query.weight)))
            # As far as the noise of a mean, noise / some, is small beside how far a centre is reckoned to go.
            trust = some**2 / (some**2 + (noise / _APART) ** 2)
            means = np.clip(sums[:, 1:] / some[:, None], -1.0, 1.0)
            centres = centres + trust[:, None] * (means - centres)
        entry = Entry(releases[0].entry.ledger, account.number, account.seal) if account.seal and releases[0].entry else None
        return FittedCentres(
            releases=tuple(releases), relation=relation, bounded=query.bounded, centres=centres, counts=counts, cost=cost,
            entry=entry,
        )  # fmt: skip

    def _set_fitted(self, fitted: FittedCentres) -> None:
        super()._set_fitted(fitted)
        bounded = fitted.bounded
        self.feature_names_ = [f.column for f in bounded.numbers]
        self.cluster_centers_ = bounded.middles + bounded.halves * fitted.centres
        self.counts_ = fitted.counts

    @property
    def predictor(self) -> CentresPredictor:
        """What predicts: all of a model that is published."""
        from sklearn.utils.validation import check_is_fitted

        check_is_fitted(self)
        bounded = self.fitted_.bounded
        inputs = tuple(Input(f.column, (f.lo, f.hi)) for f in bounded.numbers)
        return CentresPredictor(inputs, self.cluster_centers_, bounded.halves)

    def predict(self, X: Any) -> Any:
        """The number of the cluster of each row. Values outside the bounds are clipped, as in ``fit``."""
        rows = self.columns_of(X)
        return self.predictor.predict(rows)

    def transform(self, X: Any) -> Floats:
        """The distance of each row from each centre, in halves of the bounds."""
        rows = self.columns_of(X)
        return self.predictor.transform(rows)

    def get_feature_names_out(self, input_features: Any = None) -> Any:
        """kmeans0, kmeans1, ...: the distances that ``transform`` gives."""
        return np.array([f"kmeans{i}" for i in range(len(self.cluster_centers_))], dtype=object)


def first_centres(clusters: int, size: int) -> Floats:
    """Public places in the middle of the bounds: each next one is the farthest from those before."""
    words = Random(seed=clusters).words(_CANDIDATES * size) >> 11
    places = (words.astype(np.float64) * 2.0**-52 - 1.0).reshape(_CANDIDATES, size) * _REACH
    chosen = [int(np.argmin((places**2).sum(axis=1)))] if clusters == 1 else [int(np.argmax((places**2).sum(axis=1)))]
    apart = ((places - places[chosen[0]]) ** 2).sum(axis=1)
    while len(chosen) < clusters:
        chosen.append(int(np.argmax(apart)))
        apart = np.minimum(apart, ((places - places[chosen[-1]]) ** 2).sum(axis=1))
    return places[chosen]
