"""The draws of single numbers, and how they are best seen: their density, and on which scale."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from discreet.errors import UnknownName
from discreet.inference.outputs.names import places
from discreet.inference.outputs.posterior import Posterior

Floats = npt.NDArray[np.float64]

_BINS = 1 << 18
_BARS = 40  # the most bars that a count is drawn with
_SKEWED = 4.0  # how much longer an upper tail is than a lower one where a scale of orders of magnitude is used


@dataclass(frozen=True, eq=False)
class Series:
    """The draws of one number: (chains, draws)."""

    label: str
    quantity: str
    draws: npt.NDArray[Any]

    @property
    def flat(self) -> Floats:
        return np.asarray(self.draws, np.float64).ravel()

    @property
    def whole(self) -> bool:
        """Whether it is a count, to be drawn as one."""
        return self.draws.dtype.kind in "iu"


def series(posterior: Posterior, names: Sequence[str] | None = None) -> list[Series]:
    """Every number of a posterior, or those asked for: whole quantities (``theta``) or single ones (``theta[f, yes]``)."""
    found = []
    for name, array in posterior.draws.items():
        flat = array.reshape(posterior.chains, posterior.count, -1)
        found += [Series(p, name, flat[..., i]) for i, p in enumerate(places(name, posterior.axes(name)))]
    if names is None:
        return found
    asked = [names] if isinstance(names, str) else list(names)
    unknown = [n for n in asked if not any(n in (s.quantity, s.label) for s in found)]
    if unknown or not asked:
        known = ", ".join(posterior.draws)
        raise UnknownName(f"nothing is called {', '.join(map(repr, unknown)) or 'by an empty list'}; known: {known}")
    return [s for s in found if s.quantity in asked or s.label in asked]


def estimated(one: Series) -> tuple[Floats, Floats]:
    """Places and heights of a density estimate; of a count, the frequencies of its values, several together if many.

    A Gaussian kernel of the normal rule's width, reflected at the least and greatest draw: a share near 0 or 1 keeps its
    mass on the right side of the bound, and elsewhere there is nothing at the ends to reflect.
    """
    from scipy.ndimage import gaussian_filter1d

    values = one.flat[np.isfinite(one.flat)]
    if one.whole:
        step = math.ceil((values.max() - values.min() + 1) / _BARS)
        first, last = values.min() - step, values.max() + 2 * step
        counts, edges = np.histogram(values, np.arange(first, last, step) - 0.5)
        return edges[:-1] + step / 2, counts / values.size / step
    low, high = (float(values.min()), float(values.max())) if values.size else (0.0, 0.0)
    if not high > low:
        return np.array([low]), np.array([1.0])
    quarter = np.subtract(*np.quantile(values, [0.75, 0.25])) / 1.34
    spread = min(float(values.std()), float(quarter)) or float(values.std())
    width = 1.06 * spread * values.size**-0.2
    bins = int(min(max(256, 4 * (high - low) / width), _BINS))
    heights, edges = np.histogram(values, bins, (low, high), density=True)
    smooth = gaussian_filter1d(heights, width / (high - low) * bins, mode="reflect")
    return (edges[1:] + edges[:-1]) / 2, smooth


def in_orders(shown: Sequence[Series]) -> bool:
    """Whether numbers are better seen in orders of magnitude: all above zero, and the upper tail much the longer one."""
    if any(s.whole or s.flat.min() <= 0 for s in shown):
        return False
    ends = [np.quantile(s.flat, [0.025, 0.5, 0.975]) for s in shown]
    return any(high - middle > _SKEWED * (middle - low) for low, middle, high in ends)
