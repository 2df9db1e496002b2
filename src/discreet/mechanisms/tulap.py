"""Tulap noise: a discrete Laplace draw and a uniform one, for the most powerful test of a share."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from discreet.core.exact import Exact
from discreet.core.mechanism import mechanisms
from discreet.core.random import Random, chosen
from discreet.errors import InvalidRequest
from discreet.mechanisms.discrete_laplace import DiscreteLaplace, whole_cdf
from discreet.mechanisms.sampling.uniform import Floats, below

_STEPS = 1 << 20  # places of the uniform: a count below 2**32 and its place fit into a double together


@mechanisms("tulap")
@dataclass(frozen=True, init=False)
class Tulap(DiscreteLaplace):
    """Whole counts plus discrete Laplace noise plus a uniform number between -1/2 and 1/2, drawn once and released with it.

    Its density is (1 - q) / (1 + q) q**|k| within 1/2 of every whole number k, q = exp(-1 / scale): the truncated-uniform
    Laplace law of Awan and Slavković (2018), whose tests of a share are exact and most powerful at every level.

    ``cost``: epsilon = (L1 distance) / scale, exactly.

    Proof: the uniform part is drawn by itself and does not depend on the records, so adding it to a discrete Laplace
    release is post-processing. It stands on the middles of 2**20 equal parts of its range, never on an edge between two
    whole numbers, and every probability below is right to 2**-21.
    """

    words = "Tulap noise: discrete Laplace noise and a uniform number between -1/2 and 1/2, for exact tests of a share."

    def release(self, exact: Any, *, seed: int | Random | None = None) -> Any:
        """Whole numbers with fresh noise, as doubles; a number for a number, an array for an array."""
        if self.grid != 1:
            raise InvalidRequest(f"this law is for counts, on a grid of 1, got {self.grid}")
        random = chosen(seed)
        whole = np.asarray(super().release(exact if isinstance(exact, Exact) else np.asarray(exact), seed=random))
        place = below(random, _STEPS, whole.size).reshape(whole.shape)
        value = whole + ((place + 0.5) / _STEPS - 0.5)
        return value if value.ndim else float(value)

    def at_least(self, t: Any) -> Floats:
        return self.cdf(-np.asarray(t, np.float64))

    def cdf(self, t: Any) -> Floats:
        """P(noise <= t) = D(k) - P(k) (1/2 - t + k), k the whole number nearest to t."""
        values = np.asarray(t, np.float64)
        q = math.exp(-1 / float(self.scales[0]))
        k = np.rint(values)
        mass = q ** np.abs(k) * (1 - q) / (1 + q)
        return np.asarray(whole_cdf(k, q) - mass * (0.5 - values + k))

    def quantile(self, p: float) -> Any:
        """The p-quantile of the noise."""
        if not 0 < p < 1:
            raise InvalidRequest(f"p must lie strictly between 0 and 1, got {p}")
        k = self._quantile(p, float(self.scales[0]))
        q = math.exp(-1 / float(self.scales[0]))
        mass = q ** abs(k) * (1 - q) / (1 + q)
        return k - 0.5 + (p - float(whole_cdf(np.array(k - 1.0), q))) / mass

    def _log_mass(self, steps: Any, scale: Floats, xp: Any) -> Any:
        return super()._log_mass(xp.floor(steps + 0.5), scale, xp)

    def _spread(self, scale: float) -> float:
        return math.hypot(super()._spread(scale), math.sqrt(1 / 12))

    def _log_characteristic(self, t: Floats, scale: Floats) -> Floats:
        """Of both parts; that of the uniform one, sin(t/2) / (t/2), is taken by its size."""
        with np.errstate(divide="ignore"):
            uniform = np.log(np.abs(np.sinc(t / (2 * math.pi))))
        return np.asarray(super()._log_characteristic(t, scale) + uniform)
