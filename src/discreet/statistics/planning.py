"""How wide an interval of the population will be, and what it takes to make it narrower: from public guesses alone."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from discreet.core.price import Price
from discreet.core.result import Result
from discreet.errors import InvalidRequest
from discreet.statistics.equation import noise_variance
from discreet.statistics.population import MeanReading

_Z = 1.959964  # of a 95 % interval


@dataclass(frozen=True)
class Width:
    """The width of a 95 % interval of the population; with a width wanted, what it takes.

    For a mean with guessed deviation s and n rows the width is 2 z sqrt(s**2 / n + c**2 / n**2), c the deviation of the
    noise of the sum: n and c follow for a wanted width, and epsilon is in inverse proportion to c.
    """

    width: Any = None
    rows: int | None = None
    factor: float | None = None

    def epsilon(self, price: Price) -> float | None:
        """The epsilon that the wanted width takes with the rows expected; None where no epsilon does, or none was asked."""
        if self.factor is None or price.epsilon is None or price.is_infinite:
            return None
        return float(price.epsilon) * self.factor


def expected_width(result: Result, rows: int, spread: float | None, wanted: float | None) -> Width:
    """The width expected of a planned answer; ``spread`` and ``wanted`` are for means."""
    if spread is None and wanted is None:
        if result.scope != "population":
            return Width()
        low, high = result.interval(0.95, of="population")
        return Width(_plain(np.asarray(high) - np.asarray(low)))
    if not isinstance(result.reading, MeanReading):
        raise InvalidRequest("spread and width are for a mean asked with of='population'; leave them out")
    return _of_mean(result, result.reading, rows, spread, wanted)


def _of_mean(result: Result, reading: MeanReading, rows: int, spread: float | None, wanted: float | None) -> Width:
    scale = reading.hi - reading.lo
    for name, value in (("spread", spread), ("width", wanted)):
        if value is not None and not 0 < value < math.inf:
            raise InvalidRequest(f"{name} must be a positive number, got {value}")
    deviation = scale / math.sqrt(12) if spread is None else float(spread)
    law = result.releases[0].noise
    groups = math.prod(n for _, known in result.labels for n in (len(known),))
    score = reading.score
    noise = scale * math.sqrt(float(noise_variance((score.a + 0.5 * score.b)[None], law.at(slice(0, len(score.a))))[0]))
    n = rows / groups
    width = 2 * _Z * math.sqrt(deviation**2 / n + noise**2 / n**2)
    if wanted is None:
        return Width(width)
    half = (wanted / (2 * _Z)) ** 2
    needed = (deviation**2 + math.sqrt(deviation**4 + 4 * half * noise**2)) / (2 * half)
    left = (half - deviation**2 / n) * n**2
    return Width(width, math.ceil(groups * needed), noise / math.sqrt(left) if left > 0 else None)


def _plain(width: Any) -> Any:
    return width if width.ndim else float(width)
