"""The law of what released coefficients are wrong by, all of them together: sampling, and noise of a known law."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from discreet.core.random import Random
from discreet.errors import InvalidRequest
from discreet.models.design import Floats
from discreet.models.intervals.noise_quantiles import quantiles, upper_tail

DRAWS = 9999
_STREAM = 2026  # public: what is drawn is a hypothesis


@dataclass(frozen=True, eq=False)
class ErrorLaw:
    """A normal vector plus one of spherical Laplace noise in ``dimension`` numbers, each through its own matrix.

    ``normal`` holds covariances and ``laplace`` M M' for the matrices M that noise of scale 1 went through; both have one
    matrix for each of several equally likely states of what is not known (the exact curvature of an objective, say).
    """

    normal: Floats
    laplace: Floats
    dimension: int

    @property
    def covariance(self) -> Floats:
        """The covariance matrix of the whole: a coordinate of spherical Laplace noise has variance (dimension + 1)
        scale^2.
        """
        whole: Floats = (self.normal + (self.dimension + 1) * self.laplace).mean(0)
        return whole

    def along(self, lines: Floats) -> ErrorLaw:
        """The law of combinations: each line holds the factors of one."""
        return ErrorLaw(lines @ self.normal @ lines.T, lines @ self.laplace @ lines.T, self.dimension)

    def half_lengths(self, level: float) -> Floats:
        """How far an interval of that level reaches to either side, number by number."""
        if not 0 < level < 1:
            raise InvalidRequest(f"level must lie strictly between 0 and 1, got {level}")
        variance, laplace = (np.maximum(np.einsum("dii->di", part), 0.0) for part in (self.normal, self.laplace))
        return quantiles(0.5 + level / 2, variance, np.sqrt(laplace), self.dimension)

    def judge(self, score: Floats) -> tuple[float, float]:
        """How far ``score`` is from 0: z and its p-value for one number; for several the squared length and its p-value.

        The length is taken in the inverse of the covariance. It is chi-squared where all is normal and known; otherwise
        its law is drawn, 9,999 times, and the p-value counts the score itself.
        """
        from scipy.special import chdtrc

        whole = self.covariance
        if len(score) == 1:
            variance, laplace = (np.maximum(part[:, 0, 0], 0.0) for part in (self.normal, self.laplace))
            tail = upper_tail(abs(float(score[0])), variance, np.sqrt(laplace), self.dimension)
            return float(score[0] / max(math.sqrt(max(float(whole[0, 0]), 0.0)), 1e-150)), min(1.0, 2 * tail)
        inverse = np.linalg.pinv(whole, hermitian=True)
        length = float(score @ inverse @ score)
        if len(self.normal) == 1 and not self.laplace.any():
            return length, float(chdtrc(len(score), length))
        drawn = self._drawn(DRAWS)
        lengths = ((drawn @ inverse) * drawn).sum(1)
        return length, (1 + int(np.count_nonzero(lengths >= length))) / (len(lengths) + 1)

    def _drawn(self, draws: int) -> Floats:
        """Draws of the law, the states in turn: spherical noise is normal with a variance of its own, Gamma((d + 1) / 2)."""
        from scipy.special import gammaincinv, ndtri

        states, size = self.normal.shape[:2]
        words = Random(_STREAM).words(draws * (2 * size + 1)) >> np.uint64(11)
        uniform = ((words.astype(np.float64) + 0.5) * 2.0**-53).reshape(draws, -1)
        gamma = gammaincinv((self.dimension + 1) / 2, uniform[:, :1])
        z, vectors = ndtri(uniform[:, 1:]), np.empty((draws, size))
        for state in range(states):
            part = slice(state, draws, states)
            normal, noisy = _root(self.normal[state]), _root(self.laplace[state])
            vectors[part] = z[part, :size] @ normal + np.sqrt(2 * gamma[part]) * (z[part, size:] @ noisy)
        return vectors


def _root(covariance: Floats) -> Floats:
    values, vectors = np.linalg.eigh(covariance)
    return np.asarray((vectors * np.sqrt(np.maximum(values, 0.0))) @ vectors.T)
