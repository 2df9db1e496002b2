"""Which candidate wins: exponential races (Gumbel-max) and noisy maxima with exponential noise."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from discreet.core.random import Random
from discreet.mechanisms.sampling import digits
from discreet.mechanisms.sampling.digits import Digits, Interval
from discreet.mechanisms.sampling.uniform import SPAN, ULPS, UNIT, Floats, digits_of, magnitudes


def gumbel(random: Random, score: Floats, error: Floats, exact: Callable[[int], Interval]) -> int:
    """An index with probability proportional to exp(score): the first of exponential clocks of those rates.

    Proof: E_i / exp(score_i) are exponential with rate exp(score_i), and the least of independent exponentials is
    the i-th with probability proportional to its rate; the order is the one of score_i - ln E_i, reversed.
    """
    return _first(random, score, error, exact, clock=True)


def exponential(random: Random, score: Floats, error: Floats, exact: Callable[[int], Interval]) -> int:
    """The index of the largest score_i + E_i, E_i independent standard exponential (permute-and-flip)."""
    return _first(random, score, error, exact, clock=False)


def _first(random: Random, score: Floats, error: Floats, exact: Callable[[int], Interval], *, clock: bool) -> int:
    words = random.words(score.size)
    uniform = magnitudes(words)
    with np.errstate(divide="ignore", invalid="ignore"):
        wait = -np.log(uniform)
        doubt = (ULPS + 2) * UNIT * wait + 2 * UNIT + SPAN / uniform
        if clock:
            noise = -np.log(wait)
            doubt = doubt / np.maximum(wait - doubt, 0.0) + ULPS * UNIT * np.abs(noise)
        else:
            noise = wait
        key = score + noise
        doubt = doubt + error + 4 * UNIT * (np.abs(score) + np.abs(noise))
        low, high = key - doubt, key + doubt
    low = np.where(np.isfinite(low), low, -np.inf)
    possible = np.flatnonzero(~(high < low.max()) & (score > -np.inf))
    if possible.size == 1:
        return int(possible[0])
    known = {int(i): digits_of(words[i]) for i in possible}
    return digits.settle(random, list(known.values()), lambda: _decide(known, exact, clock))


def _decide(known: dict[int, Digits], exact: Callable[[int], Interval], clock: bool) -> int:
    keys = {}
    for i, uniform in known.items():
        wait = digits.exponential(uniform)
        noise = digits.negate(digits.log(wait)) if clock else wait
        keys[i] = digits.add(exact(i), noise)
    best = max(keys, key=lambda i: keys[i][0])
    if any(keys[i][1] >= keys[best][0] for i in keys if i != best):
        raise digits.Undecided
    return best
