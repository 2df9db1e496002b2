"""What a data model has to say so that the samplers can use it.

A model is a prior on parameters and a law of one record given them. ``theta`` is a dict of arrays; ``records`` is an array,
or a dict of arrays, with one line for each record. Everything is a pure function of ``jax.numpy`` values, so that chains
can be vectorised. Records are raw: what a query does to them before it adds them up is not the model's business.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import fields
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from discreet.errors import InvalidRequest

Array = Any
Floats = npt.NDArray[np.float64]
Theta = dict[str, Any]
Records = Any


class DataModel(ABC):
    """A prior, a law of records, and the step p(theta | records). Every subclass is a frozen dataclass."""

    name: ClassVar[str]
    samplers: ClassVar[tuple[str, ...]] = ("sweep",)

    columns: tuple[str, ...] | None

    @property
    @abstractmethod
    def variables(self) -> int:
        """How many columns a record has."""

    @abstractmethod
    def draw_prior(self, key: Array) -> Theta:
        """Parameters from the prior."""

    @abstractmethod
    def simulate(self, key: Array, theta: Theta, size: int) -> Records:
        """``size`` independent records given the parameters."""

    @abstractmethod
    def update(self, key: Array, theta: Theta, records: Records, weight: Array) -> Theta:
        """A step that leaves p(theta | records) as it is; ``weight`` is 1 for records that exist, else 0."""

    @abstractmethod
    def column(self, records: Records, position: int) -> Array:
        """One column of the records as numbers."""

    def share_within(self, draws: Mapping[str, Any], position: int, low: float, high: float) -> Any:
        """The chance, for each draw of the parameters, that a column lies within two ends; None where it is not known."""
        return None

    def describe(self) -> dict[str, Any]:
        """The model in plain words and numbers."""
        return {"model": self.name} | {f.name: _plain(getattr(self, f.name)) for f in fields(self)}  # type: ignore[arg-type]


class FreeModel(DataModel):
    """A model whose parameters have free coordinates (a vector without bounds), for slices and gradients.

    ``log_prior`` is the log-density of the prior in those coordinates.
    """

    @abstractmethod
    def to_free(self, theta: Theta) -> Array:
        """The parameters as a vector without bounds."""

    @abstractmethod
    def from_free(self, free: Array) -> Theta:
        """The parameters of a vector."""

    @abstractmethod
    def log_prior(self, free: Array) -> Array:
        """The log-density of the prior at a vector of free coordinates, the Jacobian counted."""

    def prior_quantiles(self, levels: Floats) -> Floats | None:
        """Quantiles of the prior along each free coordinate, one line for each level; None where there is no formula."""
        return None


class NoiseModel(FreeModel):
    """A model whose records are a function of parameters and of noise that does not depend on them: x = g(u, theta).

    ``correlated`` says that u are standard normal numbers and parameters are several: worth moving all at once.
    """

    correlated: ClassVar[bool] = False

    @abstractmethod
    def to_noise(self, key: Array, records: Records, theta: Theta) -> Array:
        """The noise that makes these records; drawn given both where several would."""

    @abstractmethod
    def from_noise(self, noise: Array, theta: Theta) -> Records:
        """The records that this noise makes."""

    def branches(self, noise: Array, theta: Theta) -> list[tuple[Array, Records]]:
        """Records with their weights whose mean is smooth in theta: for yes and no, both with their chances."""
        return [(1.0, self.from_noise(noise, theta))]

    @property
    @abstractmethod
    def noise_size(self) -> int:
        """How many standard normal numbers make the noise that ``branches`` needs of one record."""

    @abstractmethod
    def noise_at(self, normal: Array) -> Array:
        """The noise of records from lines of ``noise_size`` standard normal numbers."""


class FiniteModel(FreeModel):
    """A model whose records are one of finitely many cells, numbered from 0; ``shape`` are the cells of each column."""

    @property
    @abstractmethod
    def cells(self) -> int:
        """How many cells there are."""

    @abstractmethod
    def log_cells(self, theta: Theta) -> Array:
        """The log-probability of each cell."""

    @abstractmethod
    def support(self) -> Records:
        """One record for each cell, in order."""


class TableModel(FiniteModel):
    """A model of a table of categories whose cells have a Dirichlet prior, so that their counts are all it learns from.

    ``sizes`` are the numbers of labels of its columns, and ``weights`` the prior's alpha of every cell.
    """

    @property
    @abstractmethod
    def sizes(self) -> tuple[int, ...]:
        """How many labels each column has."""

    @property
    @abstractmethod
    def weights(self) -> Floats:
        """Alpha of every cell."""

    @abstractmethod
    def from_counts(self, key: Array, counts: Array) -> Theta:
        """Parameters given the counts of the cells, in the last axis: a draw from Dirichlet(alpha + counts)."""

    def place(self, labels: Sequence[Any]) -> int | None:
        """Which of two labels counts as 1; None where cells are in the order of the labels."""
        return None


def _plain(value: Any) -> Any:
    if isinstance(value, np.ndarray | np.generic):
        return value.tolist()
    if isinstance(value, tuple):
        return [_plain(v) for v in value]
    return value if value is None or isinstance(value, int | float | str | bool) else getattr(value, "__name__", repr(value))


def normal_within(mean: Any, deviation: Any, low: float, high: float) -> Any:
    """The chance that a normal number lies within two ends."""
    from scipy.special import ndtr

    return ndtr((high - mean) / deviation) - ndtr((low - mean) / deviation)


def positive(value: Any, name: str) -> float:
    """A finite number above zero."""
    number = finite(value, name)
    if number <= 0:
        raise InvalidRequest(f"{name} must be positive, got {value!r}")
    return number


def finite(value: Any, name: str) -> float:
    """A finite number."""
    try:
        number = float(value)
    except (TypeError, ValueError):
        raise InvalidRequest(f"{name} must be a number, got {value!r}") from None
    if not np.isfinite(number):
        raise InvalidRequest(f"{name} must be a finite number, got {value!r}")
    return number


def known_or_prior(value: Any, name: str) -> float | tuple[float, float]:
    """A known positive number, or the two positive parameters (shape, scale) of an inverse-gamma prior."""
    if isinstance(value, tuple | list):
        if len(value) != 2:
            raise InvalidRequest(f"{name} is one number if it is known, or (shape, scale) of its prior, got {value!r}")
        return positive(value[0], f"{name} shape"), positive(value[1], f"{name} scale")
    return positive(value, name)


def column_names(columns: Any, variables: int) -> tuple[str, ...] | None:
    """The columns a model was told to use, one for each of its variables."""
    if columns is None:
        return None
    names = (columns,) if isinstance(columns, str) else tuple(columns)
    if len(names) != variables or len(set(names)) != len(names):
        raise InvalidRequest(f"the model has {variables} columns, got the names {list(names)}")
    return names
