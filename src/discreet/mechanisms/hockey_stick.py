"""The privacy profile of the Gaussian, and the noise it asks for.

HS(eps; t) = Phi(t/2 - eps/t) - e^eps Phi(-t/2 - eps/t) is the least delta at which N(t, 1) and N(0, 1) are
(eps, delta)-indistinguishable; it is exact (Balle and Wang 2018, theorem 8). Here t is sensitivity over scale.
"""

from __future__ import annotations

import math
from functools import lru_cache

from discreet.core import numbers
from discreet.core.numbers import Number

_ROOT_HALF_PI = math.sqrt(math.pi / 2)
_ROOT_TWO_PI = math.sqrt(2 * math.pi)
_MARGIN = 1 + 1e-9  # the scale is enlarged by this, which covers every rounding below


def _mills(x: float) -> float:
    """Mills' ratio (1 - Phi(x)) / phi(x)."""
    from scipy.special import erfcx

    return _ROOT_HALF_PI * float(erfcx(x / math.sqrt(2)))


def _density(x: float) -> float:
    return math.exp(-x * x / 2) / _ROOT_TWO_PI


def hockey_stick(epsilon: float, t: float) -> float:
    """HS(epsilon; t) for epsilon >= 0, t >= 0, without ever forming e^epsilon.

    With m = epsilon / t, a = m - t/2, b = m + t/2: e^epsilon phi(b) = phi(a), so HS = phi(a) (M(a) - M(b)) with Mills'
    ratio M; for a < 0, Phi(-a) - phi(a) M(b). For small t the difference is taken from its series in t.
    """
    if t <= 0.0:
        return 0.0
    m = epsilon / t
    a, b = m - t / 2, m + t / 2
    if t < 1e-3:
        # M(a) - M(b) = -M'(m) t - M'''(m) t^3 / 24 - ..., from an asymptotic series where that difference would cancel.
        if m > 50:
            i = 1 / (m * m)
            first, third = i * (1 - 3 * i * (1 - 5 * i * (1 - 7 * i))), -6 * i * i * (1 - 10 * i)
        else:
            first, third = 1 - m * _mills(m), (m**3 + 3 * m) * _mills(m) - m * m - 2
        return _density(a) * (first * t - third * t**3 / 24)
    if a >= 0:
        return _density(a) * (_mills(a) - _mills(b))
    return 0.5 * math.erfc(a / math.sqrt(2)) - _density(a) * _mills(b)


@lru_cache(maxsize=1024)
def _largest(epsilon: float, delta: float) -> float:
    low = high = 1.0
    while hockey_stick(epsilon, high) <= delta:
        low, high = high, high * 2
    while hockey_stick(epsilon, low) > delta:
        low, high = low / 2, low
    while (middle := (low + high) / 2) not in (low, high):
        low, high = (middle, high) if hockey_stick(epsilon, middle) <= delta else (low, middle)
    return low


def largest_shift(epsilon: Number, delta: Number) -> float:
    """mu(epsilon, delta): the largest t with HS(epsilon; t) <= delta, by bisection down to neighbouring doubles."""
    return _largest(float(numbers.non_negative(epsilon, "epsilon")), float(numbers.probability(delta, "delta")))


def analytic_ratio(epsilon: Number, delta: Number) -> float:
    """The least scale over sensitivity of a Gaussian that is (epsilon, delta)-private, with its safety margin.

    Proof: HS increases in t, so every t up to ``largest_shift`` satisfies the claim; the doubles in ``hockey_stick``
    and the bisection are right to far better than 1e-9 relative in t (tested against 60-digit arithmetic), and the
    margin makes the scale that much larger.
    """
    return _MARGIN / largest_shift(epsilon, delta)


def epsilon_at(delta: Number, t: float) -> float:
    """The least epsilon with HS(epsilon; t) <= delta, from above."""
    d = float(numbers.probability(delta, "delta"))
    t *= _MARGIN
    if hockey_stick(0.0, t) <= d:
        return 0.0
    low, high = 0.0, 1.0
    while hockey_stick(high, t) > d:
        low, high = high, high * 2
    while (middle := (low + high) / 2) not in (low, high):
        low, high = (middle, high) if hockey_stick(middle, t) > d else (low, middle)
    return high
