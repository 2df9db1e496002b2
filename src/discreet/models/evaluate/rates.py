"""Rates of a classifier of two classes from noisy counts: true and false alarms, precision, F, each with an interval.

A rate is a ratio of sums of cells, theta = sum of a / sum of b. Its interval holds every theta at which L = sum of
(a - theta b) could be 0: L has the variance of its noise and, where the interval is for the population, of its people.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from discreet.core.release import Release
from discreet.errors import InvalidRequest, UnknownName
from discreet.models.intervals.noise_quantiles import quantiles

Floats = npt.NDArray[np.float64]

# What is counted above and below the line, as multiples of (true no, false yes, false no, true yes).
_TN, _FP, _FN, _TP = np.eye(4)
RATES: dict[str, tuple[Floats, Floats]] = {
    "accuracy": (_TN + _TP, _TN + _FP + _FN + _TP),
    "tpr": (_TP, _TP + _FN),
    "fpr": (_FP, _FP + _TN),
    "tnr": (_TN, _FP + _TN),
    "fnr": (_FN, _TP + _FN),
    "precision": (_TP, _TP + _FP),
    "npv": (_TN, _TN + _FN),
    "f1": (2 * _TP, 2 * _TP + _FP + _FN),
}
OTHER_NAMES = {"recall": "tpr", "sensitivity": "tpr", "hits": "tpr", "specificity": "tnr", "false_alarms": "fpr", "f": "f1"}
_GRID, _KNOTS = 2001, 33


@dataclass(frozen=True, eq=False)
class Rates(Mapping[str, float]):
    """The rates read off one release of counts; ``cells`` says which of its numbers make each of the four counts.

    ``rows`` is the most rows of one person: the variance of a sum over people is at most that many times the sum over rows.

    Proof that it costs nothing: everything is computed from the release.
    """

    release: Release
    cells: Floats
    rows: int = 1

    def __getitem__(self, name: str) -> float:
        top, bottom = self._weights(name)
        return _ratio(float(top @ self._counts), float(bottom @ self._counts))

    def __iter__(self) -> Iterator[str]:
        return iter(RATES)

    def __len__(self) -> int:
        return len(RATES)

    @property
    def _counts(self) -> Floats:
        return np.ravel(np.asarray(self.release.value, np.float64))

    def _weights(self, name: str) -> tuple[Floats, Floats]:
        known = OTHER_NAMES.get(name, name)
        if known not in RATES:
            raise UnknownName(f"no rate is called {name!r}; known: {', '.join([*RATES, *OTHER_NAMES])}")
        top, bottom = RATES[known]
        return top @ self.cells, bottom @ self.cells

    def interval(self, name: str, level: float = 0.95, of: str = "table") -> tuple[float, float]:
        """Two ends that hold a rate with probability ``level``: of these rows (noise), or of the population (both)."""
        if not 0 < level < 1:
            raise InvalidRequest(f"level must lie strictly between 0 and 1, got {level}")
        if of not in ("table", "population"):
            raise InvalidRequest(f"of must be 'table' or 'population', got {of!r}")
        top, bottom = self._weights(name)
        counts, sampled = self._counts, float(self.rows) if of == "population" else 0.0
        theta, few = np.linspace(0.0, 1.0, _GRID), np.linspace(0.0, 1.0, _KNOTS)
        weights = top[None] - few[:, None] * bottom[None]
        people = sampled * (weights**2 @ np.maximum(counts, 0.0))
        noise = noise_deviation(self.release) * np.sqrt((weights**2).sum(1))
        # How far L may be off is smooth in theta: lines between a few knots are near enough.
        far = np.interp(theta, few, reach(self.release, level, people, noise))
        possible = np.abs(float(top @ counts) - theta * float(bottom @ counts)) <= far
        found, step = self[name], theta[1]
        inside = np.append(theta[possible], found)
        return max(0.0, float(inside.min() - step)), min(1.0, float(inside.max() + step))

    def table(self, level: float = 0.95, of: str = "table") -> list[dict[str, Any]]:
        """A row for each rate: its name, value and interval."""
        rows = []
        for name in RATES:
            low, high = self.interval(name, level, of)
            rows.append({"rate": name, "value": self[name], "low": low, "high": high})
        return rows

    def __repr__(self) -> str:
        return "Rates(" + ", ".join(f"{name}={self[name]:.3f}" for name in RATES) + ")"


def noise_deviation(release: Release) -> float:
    """The standard deviation of the noise in one count."""
    size = int(np.size(release.value))
    return float(np.max(release.mechanism.deviation(size)))


def reach(release: Release, level: float, people: Floats, noise: Floats) -> Floats:
    """How far a weighted sum of counts is off at most, with probability ``level``: a normal number plus its noise.

    Weighted sums of independent Laplace numbers are nearer to normal than one of them with the same variance, so that one
    is taken: at levels from 0.9 on it reaches further.
    """
    p = 0.5 + level / 2
    if release.mechanism.tails == "laplace":
        return quantiles(p, people, noise / np.sqrt(2.0), 1)
    return quantiles(p, people + noise**2, np.zeros_like(noise), 1)


def _ratio(top: float, bottom: float) -> float:
    return min(1.0, max(0.0, top / bottom)) if bottom > 0 else 0.5
