"""Frequency oracles: shares of k declared categories. What all five share is how the server reads them.

Every one says that "a report supports category v" with probability p if v is the truth and q otherwise, so

    share_v = (supports_v / n - q) / (p - q)

is unbiased, with variance [f p (1-p) + (1-f) q (1-q)] / (n (p-q)^2) over the reports of n people (Wang et al. 2017).
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from discreet.errors import InvalidRequest
from discreet.local.estimate import Estimate, deviation
from discreet.local.law import LocalMechanism, Tally
from discreet.local.reports import Columns, Reports
from discreet.mechanisms.sampling.uniform import Floats, Integers

Label = str | int | bool
_MOST_CATEGORIES = 1 << 20
_BITS = np.unpackbits(np.arange(256, dtype=np.uint8)[:, None], axis=1, bitorder="little").astype(np.int64)


@dataclass(frozen=True)
class FrequencyOracle(LocalMechanism):
    """``categories`` is the public list of labels, or their number k for the labels 0 .. k - 1.

    ``other`` is the label that stands for every value not declared; without it such a value is refused on the device.
    """

    categories: int | tuple[Label, ...]
    other: Label | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        given = self.categories
        whole = isinstance(given, int | np.integer) and not isinstance(given, bool)
        object.__setattr__(self, "categories", int(given) if whole else _labels(given))  # type: ignore[arg-type]
        if not 2 <= self.k <= _MOST_CATEGORIES:
            raise InvalidRequest(f"there must be between 2 and {_MOST_CATEGORIES} categories, got {self.k}")
        if self.other is not None and not (isinstance(self.other, str | int) and self.other in self._places):
            raise InvalidRequest(f"other must be one of the declared categories, got {self.other!r}; declare it too")

    @property
    def k(self) -> int:
        return self.categories if isinstance(self.categories, int) else len(self.categories)

    @property
    def labels(self) -> tuple[Label, ...]:
        return tuple(range(self.categories)) if isinstance(self.categories, int) else self.categories

    @cached_property
    def _places(self) -> dict[Label, int]:
        return {label: i for i, label in enumerate(self.labels)}

    @property
    @abstractmethod
    def keep(self) -> Fraction:
        """p: the probability that a report supports the truth."""

    @property
    @abstractmethod
    def stray(self) -> Fraction:
        """q: the probability that it supports any one other category."""

    @property
    @abstractmethod
    def report_bytes(self) -> int:
        """How large one report is."""

    @abstractmethod
    def supports(self, columns: Columns) -> Integers:
        """How many reports support each category."""

    @abstractmethod
    def _log_prob(self, columns: Columns, codes: Integers) -> Floats:
        """The log-probability of each report given each code, broadcast."""

    def variance(self, share: float | Fraction = 0) -> Fraction:
        """n times the variance of an estimated share whose true value is ``share``, exactly."""
        p, q, f = self.keep, self.stray, Fraction(share)
        return (f * p * (1 - p) + (1 - f) * q * (1 - q)) / (p - q) ** 2

    def encode(self, values: Any) -> Integers:
        """The place of each value among the categories; undeclared ones are ``other``, or refused."""
        found = values if isinstance(values, np.ndarray) else _objects(values)
        if isinstance(self.categories, int) and found.dtype == object:
            found = _whole(found)
        if isinstance(self.categories, int) and found.dtype.kind in "iu":
            if not found.size or (found.min() >= 0 and found.max() < self.k):
                return found.astype(np.int64, copy=False)
            if self.other is None:
                raise _undeclared(self.k)
            return np.where((found >= 0) & (found < self.k), found, int(self.other)).astype(np.int64)
        places = self._places
        try:
            if self.other is None:
                return np.array([places[v] for v in found.tolist()], np.int64)
            stray = places[self.other]
            if found.ndim == 1:
                return np.array([places.get(v, stray) if _hashable(v) else stray for v in found.tolist()], np.int64)
        except (KeyError, TypeError):
            pass
        raise _undeclared(self.k)

    def log_prob(self, reports: Reports, values: Any) -> Floats:
        self.require(reports.mechanism)
        return self._log_prob(reports.columns, self.encode([values] if np.ndim(values) == 0 else values))

    def sums(self, columns: Columns) -> Integers:
        return self.supports(columns)

    def conclude(self, tally: Tally) -> Estimate:
        n, p, q = tally.count, float(self.keep), float(self.stray)
        seen = tally.sums / n
        apart = float(self.keep - self.stray)
        value = (seen - q) / apart
        inside = np.clip(value, 0.0, 1.0)
        noise = (inside * p * (1 - p) + (1 - inside) * q * (1 - q)) / apart**2
        both = seen * (1 - seen) / apart**2
        return Estimate(
            value,
            deviation(noise, n),
            deviation(np.maximum(both, noise), n),
            n,
            float(self.epsilon),
            self.labels,
            tally.private,
        )


def _objects(values: Any) -> npt.NDArray[Any]:
    """A list as it is: NumPy would make the text "1" of a number 1 that stands beside a text."""
    try:
        given = list(values)
    except TypeError:
        raise InvalidRequest(f"values must be a list with one for each person, got {type(values).__name__}") from None
    found = np.empty(len(given), object)
    for i, value in enumerate(given):
        found[i] = value
    return found


def _whole(values: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Objects that are all whole numbers as an array of these, where 64 bits hold them."""
    if values.size and all(issubclass(kind, int | np.integer) for kind in set(map(type, values.tolist()))):
        made = np.array(values.tolist())
        return made if made.dtype.kind in "iu" else values
    return values


def _hashable(value: Any) -> bool:
    try:
        hash(value)
    except TypeError:
        return False
    return True


def _undeclared(k: int) -> InvalidRequest:
    return InvalidRequest(f"a value must be one of the {k} declared categories; declare it, or name one as other=")


def _labels(given: Sequence[Label]) -> tuple[Label, ...]:
    if isinstance(given, str) or not isinstance(given, Sequence | np.ndarray):
        raise InvalidRequest(f"categories must be a number or a list of labels, got {given!r:.60}")
    labels = tuple(v.item() if isinstance(v, np.generic) else v for v in given)
    if any(not isinstance(v, str | int) for v in labels) or len(set(labels)) != len(labels):
        raise InvalidRequest(f"categories must be different texts or whole numbers, got {list(labels)!r:.80}")
    return labels


def packed(marks: npt.NDArray[np.bool_]) -> npt.NDArray[np.uint8]:
    """Rows of marks as rows of bytes, eight to a byte."""
    return np.packbits(marks, axis=1, bitorder="little")


def unpacked(rows: npt.NDArray[np.uint8], width: int) -> npt.NDArray[np.uint8]:
    """Rows of zeros and ones from rows of bytes."""
    return np.unpackbits(rows, axis=1, count=width, bitorder="little")


def counted(rows: npt.NDArray[np.uint8], width: int) -> Integers:
    """How many rows of bytes have each bit set: how often each byte occurs in each place, times its bits."""
    each = [np.bincount(place, minlength=256) @ _BITS for place in rows.T]
    return np.concatenate(each)[:width]
