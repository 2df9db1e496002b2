"""Where records live: what a query, the runner and a ledger need of a table, whichever engine reads it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Any, Protocol, Self, TypeVar

import numpy.typing as npt

from discreet.core.labels import Label
from discreet.core.numbers import Number
from discreet.core.random import Random
from discreet.errors import InvalidRequest

if TYPE_CHECKING:
    from discreet.core.schema import Schema

S = TypeVar("S")


class Persons(Protocol):
    """Whose rows are whose: a key for each row, equal exactly for rows of one person, and a public salted hash."""

    @property
    def keys(self) -> npt.NDArray[Any]:
        """One key for every row."""

    @property
    def hashes(self) -> npt.NDArray[Any]:
        """One hash for every row."""


class Batch(Protocol):
    """Some records of a source, whole people only, as arrays that are made when they are asked for."""

    __slots__ = ()

    size: int

    @property
    def people(self) -> npt.NDArray[Any] | None:
        """For every row the number of its person within the batch; None without a person column."""

    def numeric(self, name: str) -> npt.NDArray[Any]:
        """A column of numbers as doubles, NaN where a row contributes nothing. Not clipped yet."""

    def matrix(self, names: Sequence[str]) -> npt.NDArray[Any] | None:
        """Columns as ``numeric`` hands out each, in one piece and without a copy; None where they do not lie so."""

    def present(self, name: str) -> npt.NDArray[Any]:
        """A column of numbers as it is stored: NaN where a cell is missing, whatever a missing value becomes."""

    def codes(self, name: str) -> npt.NDArray[Any]:
        """A column of categories as places in the declared labels; -1 where a row belongs to none of them."""

    def keys(self, name: str) -> tuple[list[str], npt.NDArray[Any]]:
        """Of a column whose labels are private: the different ones here, and for every row the place of its own or -1."""

    def labels(self, name: str) -> tuple[list[str], npt.NDArray[Any]]:
        """Of a column of text or categories: the different labels, and for every row the place of its own or -1."""

    def kept(self, columns: Sequence[str]) -> npt.NDArray[Any] | None:
        """Which rows count when these columns are used: at most ``max_rows`` of a person; None where all do."""

    def identities(self) -> Persons:
        """The key and the salted hash of every row's person."""


class Source(ABC):
    """A table. It knows nothing of noise, budgets or algorithms.

    ``schema`` is what was declared of it; None where nothing was. ``in_process`` says that it is read by this
    process and no other, and ``resident`` that its rows lie in memory already, so that they may be gathered once and kept.
    """

    schema: Schema | None = None
    in_process: bool = False
    resident: bool = False

    @property
    @abstractmethod
    def version(self) -> str:
        """A word that changes whenever the records may have changed."""

    @abstractmethod
    def fold(self, map: Callable[[Any], S], combine: Callable[[S, S], S], columns: Sequence[str]) -> S:  # noqa: A002
        """``map`` over batches with whole people in them, and their results combined in any order."""

    def snapshot(self) -> AbstractContextManager[None]:
        """One state of the table for everything that is read within; entered before anything is paid, looks at no record."""
        return nullcontext()

    @property
    def restriction(self) -> tuple[tuple[str, tuple[Label, ...]], ...]:
        """The categories that rows were restricted to: columns and the labels they may have."""
        return ()

    def where(self, **wanted: Label | Sequence[Label]) -> Self:
        """The source of the records in declared categories."""
        raise InvalidRequest(f"a {type(self).__name__} has no columns to restrict rows by; open the table as a source")

    def split(self, parts: int, seed: int | Random | None = None) -> list[Self]:
        """``parts`` sources on disjoint people that together are this one."""
        raise InvalidRequest(f"a {type(self).__name__} cannot be split; open the table as a source")

    def sample(self, rate: Number, seed: int | Random | None = None) -> Self:
        """Each person independently with probability ``rate``."""
        raise InvalidRequest(f"a {type(self).__name__} cannot be sampled; open the table as a source")
