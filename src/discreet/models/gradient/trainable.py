"""What gradient descent can train: parameters in one flat vector, and the question that each of its steps asks."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar

from discreet.core.codec import read_as
from discreet.core.query import LotQuery

if TYPE_CHECKING:
    from discreet.models.design import Design


class StepQuery(LotQuery, ABC):
    """The question of a step: a sum of clipped gradients over a lot, at parameters that are public."""

    @abstractmethod
    def at(self, weights: Any) -> StepQuery:
        """The same question at other parameters, which are no part of what a plan is held to."""


class Trainable(ABC):
    """Something with ``size`` parameters, first ones that are public, and a question about its gradient."""

    registry: ClassVar[Any]
    size: Any

    @abstractmethod
    def start(self, key: int) -> Any:
        """Public first parameters, the same for the same key."""

    @abstractmethod
    def question(self, design: Design | None, clip: Fraction, lot: float = 0) -> StepQuery:
        """What every step asks; ``design`` says how rows of a table become rows of numbers, ``lot`` how many to expect."""


class _Documents:
    """A network of layers is an object of its fields; of somebody's own a document has the title and the size."""

    def read(self, document: Any) -> Any:
        from discreet.models.gradient.network import Network
        from discreet.models.gradient.person_loss import PersonLoss

        own = isinstance(document, Mapping) and "title" in document
        return read_as(PersonLoss if own else Network, document)


Trainable.registry = _Documents()
