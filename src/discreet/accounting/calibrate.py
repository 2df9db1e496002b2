"""The least noise that a target allows."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

from discreet.accounting.plans import Step, epsilon_of
from discreet.core.budget import Budget
from discreet.core.mechanism import Mechanism, Sensitivity
from discreet.errors import InvalidRequest

_FINE = 20  # scales are tried to this many binary digits


def calibrate(
    law: Callable[[Fraction], Mechanism], target: Budget, *, sensitivity: Sensitivity = 1, times: int = 1
) -> Mechanism:
    """The law with the least scale of which ``times`` releases stay within ``target``: one bisection on the scale.

    ``law`` makes a mechanism from a scale (``Laplace``, ``Gaussian``, ``lambda s: DiscreteGaussian(s, grid=4)``). Pure and
    concentrated targets compare exact sums; an (epsilon, delta) target is met by the whole plan, fixed in advance.

    Proof: the cost falls as the scale grows, so the largest scale refused and the least accepted enclose the answer; the
    accepted one is returned, and it was tested itself.
    """
    if times < 1 or int(times) != times:
        raise InvalidRequest(f"times must be a whole number of at least 1, got {times}")

    def fits(scale: Fraction) -> bool:
        return _fits(law(scale), target, sensitivity, int(times))

    high = Fraction(1)
    while not fits(high):
        high *= 4
        if high > Fraction(2) ** 200:
            raise InvalidRequest(f"no scale brings {times} releases within {target}; this law has no such guarantee")
    while high > Fraction(1, 2**200) and fits(high / 4):
        high /= 4
    low = high / 4
    step = low / (1 << _FINE)
    below, above = 1 << _FINE, 4 << _FINE  # scales in steps: refused, accepted
    while above - below > 1:
        middle = (below + above) // 2
        below, above = (below, middle) if fits(step * middle) else (middle, above)
    simple = _simplest(step * below, step * above)
    return law(simple if fits(simple) else step * above)


def _simplest(low: Fraction, high: Fraction) -> Fraction:
    """The rational with the least denominator in (low, high]: a scale of exactly 10 comes back as 10, not next to it."""
    whole = math.floor(low)
    if high >= whole + 1:
        return Fraction(whole + 1)
    return whole + 1 / _simplest_from(1 / (high - whole), 1 / (low - whole) if low > whole else None)


def _simplest_from(low: Fraction, high: Fraction | None) -> Fraction:
    """The rational with the least denominator in [low, high)."""
    ceiling = Fraction(math.ceil(low))
    if high is None or ceiling < high:
        return ceiling
    whole = math.floor(low)
    return whole + 1 / _simplest(1 / (high - whole), 1 / (low - whole))


def _fits(mechanism: Mechanism, target: Budget, sensitivity: Sensitivity, times: int) -> bool:
    cost = mechanism.cost(sensitivity) * times
    if target.rho is not None:
        return cost.rho is not None and cost.rho <= target.rho and cost.slack <= target.delta
    assert target.epsilon is not None
    if cost.epsilon is not None and cost.epsilon <= target.epsilon and cost.delta <= target.delta:
        return True
    if not target.delta:
        return False
    return epsilon_of([Step(mechanism, sensitivity, times)], target.delta) <= float(target.epsilon)
