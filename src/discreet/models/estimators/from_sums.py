"""Models that are read off noisy sums: what they share."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

from discreet.core.cost import Cost
from discreet.core.numbers import Number
from discreet.core.query import Relation
from discreet.core.release import Release
from discreet.models.estimators.privacy import Privacy
from discreet.models.estimators.private_model import PrivateModel

METHOD = "noisy sums"


@dataclass(frozen=True, eq=False, kw_only=True)
class FittedSums(ABC):
    """What was released of a model: noisy sums, and what was paid for them."""

    releases: tuple[Release, ...]
    relation: Relation

    @property
    @abstractmethod
    def declared(self) -> Any:
        """What was declared of the columns that were read, and the most ``rows`` of a person."""

    @property
    def privacy(self) -> Privacy:
        """What it cost."""
        cost = sum((r.cost for r in self.releases if r.cost is not None), Cost.nothing())
        return Privacy(cost, self.relation, all(r.private for r in self.releases), METHOD, None, self.releases)


@dataclass(kw_only=True, eq=False, repr=False)
class FromSums(PrivateModel):
    """A model read off bounded sums with noise: ``epsilon`` alone, ``epsilon`` and ``delta``, or ``rho`` is its price."""

    rho: Number | None = None

    def _set_fitted(self, fitted: Any) -> None:
        self.privacy_ = fitted.privacy
        self.fitted_ = fitted


@dataclass(kw_only=True, eq=False, repr=False)
class Unsupervised(FromSums):
    """A model of features alone."""

    supervised = False

    def fit(self, X: Any, y: Any = None) -> Any:
        """Fit to arrays, for someone who holds them; ``y`` is not looked at. Spends what the model was made with."""
        return self._fit_arrays(X, None, None)

    def _target(self, y: Any) -> None:
        return None
