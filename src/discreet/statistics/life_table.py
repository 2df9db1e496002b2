"""The life table of released counts: numbers at risk, the survival curve, and how noise and sampling move it.

Reference: Kaplan and Meier (1958) for the curve, Cutler and Ederer (1958) for people censored within a bin, who count half,
Greenwood (1926) for the variance.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from discreet.core.mechanism import NoiseLaw
from discreet.statistics.equation import noise_variance

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class LifeTable:
    """Counts of one group or of many (leading axes): ``censored`` and ``events`` by bin, ``beyond`` the last edge.

    At risk in bin j: r = everybody from bin j on, less half of those censored in it. The hazard is h = events / r.
    """

    censored: Floats
    events: Floats
    beyond: Floats

    @staticmethod
    def of(cells: Floats) -> LifeTable:
        """From cells in the order of ``Lifetimes``."""
        bins = (cells.shape[-1] - 1) // 2
        return LifeTable(cells[..., :bins], cells[..., bins : 2 * bins], cells[..., -1])

    @property
    def from_here_on(self) -> Floats:
        """People whose time is in bin j or later."""
        both = self.censored + self.events
        return np.asarray(np.cumsum(both[..., ::-1], -1)[..., ::-1] + self.beyond[..., None])

    @property
    def at_risk(self) -> Floats:
        """r, bin by bin."""
        return self.from_here_on - self.censored / 2

    @property
    def survival(self) -> Floats:
        """S at the right end of every bin: the product of 1 - h, within [0, 1] and never rising.

        A bin where nobody is left at risk tells nothing and leaves the curve as it is.
        """
        r = self.at_risk
        h = np.clip(np.where(r > 0, self.events / np.where(r > 0, r, 1.0), 0.0), 0.0, 1.0)
        return np.asarray(np.cumprod(1 - h, -1))


@dataclass(frozen=True)
class Curve:
    """ln S of one group at every edge, as it is, with its weights on the cells and Greenwood's variance.

    ``good`` says up to where it means anything: everybody at risk counted more than 0, no hazard reached 1.
    """

    log_survival: Floats
    greenwood: Floats
    weights: Floats
    gradients: Floats  # g = 1 / (r (1 - h)), bin by bin
    hazards: Floats
    good: npt.NDArray[np.bool_]

    @staticmethod
    def of(cells: Floats) -> Curve:
        """From the cells of one group.

        d ln S_j = - sum over l <= j of g_l (d events_l - h_l d r_l) up to sign, and r_l counts every later cell once and
        those censored in bin l half: with A_k = -sum over l <= min(k, j) of h_l g_l the weights of -ln S are A_k + g_k
        [k <= j] for an event in bin k, A_k + h_k g_k / 2 [k <= j] for one censored there, and A_j beyond.
        """
        table = LifeTable.of(cells)
        r, d = table.at_risk, table.events
        bins = len(d)
        h = np.where(r > 0, d / np.where(r > 0, r, 1.0), 1.0)
        good = np.logical_and.accumulate((r > 0) & (h < 1))
        h = np.where(good, h, 0.0)
        g = np.where(good, 1 / np.where(good, r * (1 - h), 1.0), 0.0)
        ahead = -np.cumsum(h * g)
        edge, bin_ = np.arange(bins)[:, None], np.arange(bins)[None, :]
        a = ahead[np.minimum(edge, bin_)]
        inside = bin_ <= edge
        weights = np.concatenate([a + inside * (h * g / 2), a + inside * g, ahead[:, None]], 1)
        with np.errstate(divide="ignore", invalid="ignore"):
            greenwood = np.cumsum(np.where(good, h * g, 0.0))
        return Curve(np.cumsum(np.log1p(-h)), greenwood, weights, g, h, good)

    def variance(self, noise: NoiseLaw, sampled: bool) -> Floats:
        """Of ln S at every edge: the noise's, and Greenwood's where sampling counts."""
        own: Floats = noise_variance(self.weights, noise) + (self.greenwood if sampled else 0.0)
        return own

    def interval(self, noise: NoiseLaw, level: float, sampled: bool) -> tuple[Floats, Floats]:
        """Of S at every edge, by the normal law of ln(-ln S); [0, 1] where the counts say nothing of S.

        These are: nobody left at risk, a hazard of 1 or more, S outside (0, 1), a negative variance.
        """
        from scipy.special import ndtri

        variance, log_s = self.variance(noise, sampled), self.log_survival
        fine = self.good & (log_s < 0) & (variance >= 0)
        size = np.where(fine, -log_s, 1.0)
        reach = float(ndtri(0.5 + level / 2)) * np.sqrt(np.where(fine, variance, 0.0)) / size
        with np.errstate(over="ignore"):
            low = np.where(fine, np.exp(-size * np.exp(np.minimum(reach, 700.0))), 0.0)
            high = np.where(fine, np.exp(-size * np.exp(-reach)), 1.0)
        return low, high
