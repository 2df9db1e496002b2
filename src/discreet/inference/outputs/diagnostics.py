"""Whether draws can be trusted: effective sample sizes and R-hat, after ranks, of split chains.

Everything here takes draws as (chains, draws, ...) and answers for all trailing places at once.

Reference: Vehtari, Gelman, Simpson, Carpenter and Bürkner, "Rank-normalization, folding, and localization: an improved
R-hat", Bayesian Analysis 16 (2021); Geyer, "Practical Markov chain Monte Carlo", Statistical Science 7 (1992).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from discreet.errors import DiscreetWarning

Floats = npt.NDArray[np.float64]

LARGEST_R_HAT = 1.01
LEAST_ESS = 400.0  # draws' worth in all; below it neither an interval's end nor R-hat itself is well known
_FEWEST = 8  # draws of a chain below which nothing can be said


class PoorSampling(DiscreetWarning):
    """The chains have not agreed, or say too little: more draws, a longer warm-up or another sampler are needed."""


def ess_bulk(draws: Any) -> Floats:
    """How many independent draws the middle of the distribution is worth: that of the rank-normalised split chains."""
    return _reshaped(draws, lambda split: _ess(_ranked(split)))


def ess_tail(draws: Any) -> Floats:
    """The smaller of what the 5 % and the 95 % quantile are worth."""
    array = np.asarray(draws, np.float64)
    ends = np.quantile(array, [0.05, 0.95], axis=(0, 1))
    return np.fmin(*(_reshaped(array <= end, _ess) for end in ends))


def r_hat(draws: Any) -> Floats:
    """How much wider all chains together are than each: 1 when they agree. The larger of that of ranks, which sees
    chains in different places, and that of ranks of distances from the median, which sees chains of different width."""

    def both(split: Floats) -> Floats:
        folded = np.abs(split - np.median(split, axis=(0, 1)))
        return np.maximum(_r_hat(_ranked(split)), _r_hat(_ranked(folded)))

    return _reshaped(draws, both)


def problems(draws: Mapping[str, Any]) -> list[str]:
    """What is wrong with some draws, one plain sentence each; none where nothing is."""
    return judged({name: (ess_bulk(d), ess_tail(d), r_hat(d)) for name, d in draws.items()}, draws)


def judged(measured: Mapping[str, tuple[Floats, Floats, Floats]], draws: Mapping[str, Any]) -> list[str]:
    """The same from sizes and R-hat that are known already."""
    found = []
    for name, (bulk, tail, hat) in measured.items():
        if not np.isfinite(np.asarray(draws[name], np.float64)).all():
            found.append(f"{name} holds draws that are not finite; the model's prior or likelihood is at fault")
            continue
        if np.shape(draws[name])[1] < _FEWEST:
            found.append(f"chains of {np.shape(draws[name])[1]} draws are too short to judge {name}; take more draws")
            continue
        most = _allowed(*np.shape(draws[name])[:2])
        worst = float(np.fmax.reduce(np.ravel(hat), initial=-math.inf))
        if worst > most:
            found.append(
                f"the chains disagree about {name}: R-hat is {worst:.3f}, above {most:.3g}; "
                "use a longer warm-up, more draws or another sampler"
            )
        least = float(np.fmin.reduce(np.ravel(np.fmin(bulk, tail)), initial=math.inf))
        if least < LEAST_ESS:
            found.append(
                f"the draws of {name} are worth only {least:.0f} independent ones, fewer than {LEAST_ESS:.0f}; "
                "its interval is not well known: take more draws"
            )
    return found


def _allowed(chains: int, count: int) -> float:
    """1.01, or for short chains what independent draws exceed once in a million: m halves of n draws have
    R-hat**2 = 1 - 1/n + chi2(m - 1) / (m - 1) / n."""
    from scipy.special import chdtri  # of scipy.special: scipy.stats takes longer to load than all of this to compute

    degrees, half = 2 * chains - 1, count // 2
    return max(LARGEST_R_HAT, math.sqrt(1 + (chdtri(degrees, 1e-6) / degrees - 1) / half))


def _reshaped(draws: Any, measure: Any) -> Floats:
    """``measure`` of the halves of every chain, as (2 chains, draws // 2, places); NaN where draws are few or constant."""
    array = np.asarray(draws, np.float64)
    chains, count, *shape = array.shape
    half = count // 2
    places = math.prod(shape)
    out = np.full(places, np.nan)
    if count >= _FEWEST:
        flat = array.reshape(chains, count, places)
        known = np.isfinite(flat).all((0, 1)) & (np.ptp(flat, axis=(0, 1)) > 0)
        # An odd draw in the middle belongs to neither half.
        split = np.concatenate((flat[:, :half, known], flat[:, -half:, known]))
        if known.any():
            out[known] = measure(split)
    return out.reshape(shape)


def _ranked(split: Floats) -> Floats:
    """Normal scores of the ranks over all chains; equal values share their mean rank."""
    from scipy.special import ndtri

    chains, count, places = split.shape
    ranks = np.apply_along_axis(_mean_ranks, 0, split.reshape(-1, places))
    scores: Floats = ndtri((ranks - 0.375) / (chains * count + 0.25))
    return scores.reshape(split.shape)


def _mean_ranks(values: Floats) -> Floats:
    """The place of each value among all, from 1 on."""
    _, place, equal = np.unique(values, return_inverse=True, return_counts=True)
    return np.asarray((np.cumsum(equal) - (equal - 1) / 2)[place])


def _r_hat(split: Floats) -> Floats:
    count = split.shape[1]
    within = split.var(axis=1, ddof=1).mean(axis=0)
    between = count * split.mean(axis=1).var(axis=0, ddof=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(np.sqrt((between / within + count - 1) / count))


def _ess(split: Floats) -> Floats:
    """chains * draws / tau, tau = -1 + 2 sum of autocorrelations over Geyer's initial monotone sequence.

    Sums of neighbouring autocorrelations (even + odd lag) of a reversible chain are positive and fall: what comes after
    the first that is not positive is noise, and one above its predecessor is cut down to it.
    """
    chains, count, places = split.shape
    covariance = _autocovariance(split).mean(axis=0)
    mean_variance = covariance[0] * count / (count - 1)
    total = covariance[0] + (split.mean(axis=1).var(axis=0, ddof=1) if chains > 1 else 0.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        rho = 1 - (mean_variance - covariance) / total
    rho[0] = 1.0
    pairs = rho[: (count - 1) // 2 * 2].reshape(-1, 2, places).sum(axis=1)
    positive = np.cumprod(pairs > 0, axis=0).astype(bool)
    positive[-1] = False  # the longest lags have too few partners to be trusted
    tau = -1 + 2 * np.where(positive, np.minimum.accumulate(pairs, axis=0), 0.0).sum(axis=0)
    # The even lag of the first pair that is dropped still counts where it is positive: less noise for short chains.
    tau += np.maximum(rho[2 * positive.sum(axis=0), np.arange(places)], 0.0)
    return np.asarray(chains * count / np.maximum(tau, 1 / math.log10(chains * count)))


def _autocovariance(split: Floats) -> Floats:
    """Of every chain by itself, at every lag, with divisor n; by Fourier transform."""
    from scipy.fft import irfft, next_fast_len, rfft

    count = split.shape[1]
    size = next_fast_len(2 * count, real=True)
    wave = rfft(split - split.mean(axis=1, keepdims=True), size, axis=1)
    covariance: Floats = irfft((wave * wave.conj()).real, size, axis=1)[:, :count] / count
    return covariance
