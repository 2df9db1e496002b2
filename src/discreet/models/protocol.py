"""What a session and a model say to each other. Whatever has these methods can be fitted, tuned and scored by a session.

The session gives a model the public facts of a table (``Columns``) and takes a procedure, which it runs and pays for; the
model takes what the procedure returned. Neither looks into the other.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from discreet.core.query import Relation
from discreet.core.result import Result
from discreet.core.runner import Procedure
from discreet.core.schema import Schema

if TYPE_CHECKING:
    from discreet.core.price import Price


@dataclass(frozen=True)
class Columns:
    """Which columns of a table a model is fitted to, and what is public about the table.

    ``target`` is empty for a model that predicts none. ``propensity`` is the column that weights are divided by, where a
    model has such; ``parts`` is in how many parts the people were cut, one of which this is. ``raw`` says that the numbers
    of the features have no bounds, ``arrays`` that the table was made of arrays handed to ``fit``.
    """

    schema: Schema
    features: tuple[str, ...]
    target: str
    weight: str | None = None
    rows: int | None = None  # where they are public
    propensity: str | None = None
    parts: int = 1
    raw: bool = False
    arrays: bool = False


class Fittable(Protocol):
    """A model that a session can fit, preview and tune."""

    @property
    def supervised(self) -> bool:
        """Whether it learns to predict a target."""

    @property
    def price(self) -> Price:
        """What a fit may cost."""

    def procedure(self, columns: Columns, relation: Relation) -> Procedure[Any]:
        """The asks that fit the model. What they cost depends on declarations and parameters alone."""

    def accept(self, fitted: Any, columns: Columns) -> None:
        """Take what the procedure returned: set the attributes that end in an underscore."""


@runtime_checkable
class Scorable(Protocol):
    """A fitted model whose score on a table is a paid release."""

    def score_procedure(self, schema: Schema, price: Price) -> Procedure[Result]:
        """The asks that score the model on a table that is declared as the one it was fitted to."""
