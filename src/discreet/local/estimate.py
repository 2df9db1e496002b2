"""What the server half gives back: a value with its standard error, unbiased unless it says otherwise."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from statistics import NormalDist
from typing import Any, Literal

import numpy as np

from discreet.errors import InvalidRequest
from discreet.mechanisms.sampling.uniform import Floats

Of = Literal["people", "population"]


@dataclass(frozen=True, eq=False)
class Estimate:
    """An estimate from reports.

    ``standard_error`` is about the people who reported: the noise of their reports alone. ``population_error`` is about
    the population they were drawn from, independently: noise and sampling. ``interval(level)`` is the normal
    interval of the one or the other. ``biased`` says why a value is no longer unbiased, and is empty otherwise.
    """

    value: Any
    standard_error: Any
    population_error: Any
    count: int
    epsilon: float
    labels: tuple[Any, ...] | None = None
    private: bool = True
    biased: str = ""

    def interval(self, level: float = 0.95, of: Of = "people") -> tuple[Any, Any]:
        """Lower and upper ends that cover each number separately with probability ``level``, for many reports."""
        if self.biased:
            raise InvalidRequest(f"an interval needs the unbiased estimate, and this one is {self.biased}; ask before that")
        if not 0 < level < 1:
            raise InvalidRequest(f"level must lie strictly between 0 and 1, got {level}")
        if of not in ("people", "population"):
            raise InvalidRequest(f"of must be 'people' or 'population', got {of!r}")
        reach = NormalDist().inv_cdf(0.5 + level / 2) * (self.standard_error if of == "people" else self.population_error)
        return self.value - reach, self.value + reach

    def on_simplex(self) -> Estimate:
        """The nearest point (in L2) with no negative share and sum one. Closer to the truth, and biased: it says so.

        max(v - t, 0) with the t that makes the sum one (Held, Wolfe and Crowder 1974).
        """
        if self.labels is None or np.ndim(self.value) != 1:
            raise InvalidRequest("only shares of categories can be put on the simplex, this estimate is no such thing")
        return replace(self, value=simplex(self.value), biased="projected to the simplex, which pulls small shares up")

    def to_dict(self) -> dict[str, Any]:
        """The shares by label, or the value; for printing."""
        value = np.asarray(self.value).tolist()
        return dict(zip(self.labels, value, strict=True)) if self.labels is not None else {"value": value}

    def __float__(self) -> float:
        return float(self.value)


def simplex(values: Floats) -> Floats:
    """The Euclidean projection to non-negative numbers with sum one."""
    ordered = np.sort(values)[::-1]
    over = (np.cumsum(ordered) - 1) / np.arange(1, len(values) + 1)
    last = int(np.flatnonzero(ordered > over)[-1])
    nearest: Floats = np.maximum(values - over[last], 0.0)
    return nearest


def deviation(variance: Any, count: int) -> Any:
    """sqrt(variance / count), with what rounding left below zero taken as zero."""
    value = np.sqrt(np.maximum(variance, 0.0) / count)
    return float(value) if math.prod(np.shape(value)) == 1 and not np.ndim(value) else value
