"""What the laws that find keys share: exponentials and roots as rationals rounded to the safe side."""

from __future__ import annotations

from decimal import MAX_EMAX, MIN_EMIN, Context, Decimal, localcontext
from fractions import Fraction

from discreet.core import numbers
from discreet.core.cost import Cost, Distance
from discreet.core.price import Price
from discreet.errors import InvalidRequest
from discreet.mechanisms.sampling import digits
from discreet.mechanisms.sampling.digits import Interval

_DIGITS = 80
ONE = (Decimal(1), Decimal(1))


def precise() -> Context:
    """Arithmetic with far more digits than any threshold needs."""
    return Context(prec=_DIGITS, Emax=MAX_EMAX, Emin=MIN_EMIN)


def exp(exponent: Fraction) -> Interval:
    """e to a rational, as an interval that is certain to hold it; within ``precise``.

    Proof: the decimal module's ``exp`` is correctly rounded and increases, so one more unit on either side covers it.
    """
    low, high = digits.exactly(exponent)
    return low.exp().next_minus(), high.exp().next_plus()


def each(delta: Fraction, times: int) -> Fraction:
    """The largest d, rounded down, with 1 - (1 - d)**times at most ``delta``."""
    if times == 1:
        return delta
    with localcontext(precise()):
        high = digits.divide(digits.log(digits.exactly(1 - delta)), digits.exactly(Fraction(times)))[1]
        return max(Fraction(0), 1 - Fraction(high.exp().next_plus()))


def together(delta: Fraction, times: int) -> Fraction:
    """1 - (1 - delta)**times, rounded up."""
    if times == 1:
        return delta
    if delta >= 1:
        return Fraction(1)
    with localcontext(precise()):
        low = digits.multiply(digits.log(digits.exactly(1 - delta)), digits.exactly(Fraction(times)))[0]
        return min(Fraction(1), 1 - Fraction(low.exp().next_minus()))


def moved_keys(distance: Distance) -> int:
    """How many keys one person moves, each by one; refuses a value that moves any of them further."""
    if distance.linf > 1 or distance.l1 != int(distance.l1):
        raise InvalidRequest(
            f"a person counts once for a key, got a move of {distance.linf} of one key, {distance.l1} in all; "
            "count distinct pairs of person and key"
        )
    return int(distance.l1)


def settled(claim: Price | None, epsilon: Fraction, delta: Fraction) -> Cost:
    """What a law was made for, where that holds; else what it costs. Pure outside an event of probability delta."""
    if claim is not None and claim.epsilon is not None and epsilon <= claim.epsilon and 0 < delta <= claim.delta:
        epsilon, delta = claim.epsilon, claim.delta
    return Cost.approximate(epsilon, delta) if 0 < delta < 1 else (Cost.infinite() if delta else Cost.pure(epsilon))


def price(epsilon: numbers.Number, delta: numbers.Number, keys: int) -> tuple[Fraction, Fraction, Price]:
    """A person's price divided between the keys they move, and the claim it makes up."""
    claim = Price(epsilon, delta)
    assert claim.epsilon is not None
    return claim.epsilon / keys, each(claim.delta, keys), claim
