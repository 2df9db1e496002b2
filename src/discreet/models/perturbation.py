"""Where the noise of a linear model goes: into its objective, onto its minimiser, or onto the last step of a descent."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any, Literal

from discreet.accounting.conversions import zcdp_of_pure
from discreet.core import numbers
from discreet.core.ask import Ask
from discreet.core.cost import Cost
from discreet.core.mechanism import Mechanism
from discreet.core.numbers import Number
from discreet.core.query import Query, Relation
from discreet.errors import InvalidRequest
from discreet.mechanisms import Gaussian, NoNoise, ObjectivePerturbation, SphericalLaplace
from discreet.mechanisms.claim import Claim
from discreet.models.design import Design
from discreet.models.losses import Loss
from discreet.models.opera import Opera
from discreet.models.problem import Minimiser, Problem

Method = Literal["objective", "output", "opera"] | Opera
METHODS: tuple[Method, ...] = ("objective", "output", "opera")


@dataclass(frozen=True)
class Price:
    """What a model may cost: epsilon alone, epsilon and delta, or rho; ``epsilon=math.inf`` adds no noise, for tests."""

    epsilon: Number | None = None
    delta: Number | None = None
    rho: Number | None = None

    def __post_init__(self) -> None:
        if self.is_infinite:
            return
        for word in ("epsilon", "rho"):
            given: Number | None = getattr(self, word)
            if given is not None and numbers.rational(given, word) <= 0:
                raise InvalidRequest(f"{word} must be positive, got {given}; write a number such as {word}=0.1")
        if self.delta is not None and self.rho is None:
            if self.epsilon is None:
                raise InvalidRequest(f"delta comes with epsilon, got delta={self.delta} alone; give epsilon, or rho")
            if numbers.rational(self.delta, "delta") == 0:
                raise InvalidRequest(
                    "delta must lie strictly between 0 and 1, got 0; leave it out for a pure guarantee of epsilon alone"
                )
        Claim(self.epsilon, self.delta, self.rho)

    @property
    def is_infinite(self) -> bool:
        """Whether no noise is asked for: only a test ledger allows it."""
        return isinstance(self.epsilon, float) and self.epsilon == math.inf

    @property
    def is_pure(self) -> bool:
        """Whether it is epsilon alone."""
        return self.rho is None and self.delta is None

    @property
    def cost(self) -> Cost:
        """The whole of it as a cost."""
        if self.is_infinite:
            return Cost.infinite()
        if self.rho is not None:
            return Cost.zcdp(self.rho)
        assert self.epsilon is not None
        return Cost.pure(self.epsilon) if self.delta is None else Cost.approximate(self.epsilon, self.delta)

    def share(self, part: Fraction) -> Price:
        """A share of it: of epsilon (and delta), or of rho."""
        if self.is_infinite:
            return self
        each = [None if v is None else numbers.rational(v, "price") * part for v in (self.epsilon, self.delta, self.rho)]
        return Price(*each)

    @property
    def pure_epsilon(self) -> Fraction:
        """The epsilon that alone costs no more than this."""
        if self.rho is not None:
            return epsilon_for(numbers.positive(self.rho, "rho"))
        assert self.epsilon is not None
        return numbers.positive(self.epsilon, "epsilon")

    def law(self, query: Query, relation: Relation, size: int) -> Mechanism:
        """The law that costs this for a vector of ``size`` coordinates measured in L2: spherical Laplace, or Gaussian.

        With a delta or a rho it is whichever has less noise in a coordinate: sqrt(size + 1) scale, or the standard
        deviation. Only public numbers decide, and the release says which law it was.
        """
        if self.is_infinite:
            return NoNoise()
        distance = query.distance(relation)
        pure = SphericalLaplace.costing(distance, epsilon=self.pure_epsilon)
        if self.is_pure:
            return pure
        normal = Gaussian.costing(distance, epsilon=self.epsilon, delta=self.delta, rho=self.rho)
        return pure if (size + 1) * pure.scales[0] ** 2 < normal.scales[0] ** 2 else normal


@lru_cache(maxsize=256)
def epsilon_for(rho: Fraction) -> Fraction:
    """The largest epsilon, to nine digits, with epsilon tanh(epsilon / 2) <= rho: what it costs alone."""
    low, high = Fraction(0), rho + 2
    while high - low > high / 10**9:
        middle = Fraction(float((low + high) / 2))
        low, high = (middle, high) if zcdp_of_pure(middle) <= rho else (low, middle)
    return low


def ask_for(
    design: Design,
    loss: Loss,
    ridge: Fraction,
    method: Method,
    price: Price,
    relation: Relation,
    rows: int | None = None,
) -> Ask:
    """The question that fits a model, with the law of its answer; ``rows`` is their number where it is public."""
    if not isinstance(method, Opera) and method not in METHODS:
        words = ", ".join(map(str, METHODS))
        raise InvalidRequest(f"method must be one of {words}, or Opera(steps, rate), got {method!r}")
    if isinstance(method, Opera) or method == "opera":
        descent = (method if isinstance(method, Opera) else Opera()).query(design, loss, ridge, relation, rows)
        return Ask(descent, price.law(descent, relation, design.width))
    outside = Minimiser(design, loss, ridge)
    if price.is_infinite or method == "output":
        return Ask(outside, price.law(outside, relation, design.width))
    problem = Problem(design, loss)
    law = inside(problem, ridge, price, relation)
    law.check(design.width)
    return Ask(problem, law)


def inside(problem: Any, ridge: Fraction, price: Price, relation: Relation) -> ObjectivePerturbation:
    """The law that perturbs the objective of a ``Problem`` or of one like it, at a price, with the least noise.

    A delta or a rho buys normal noise, which pays for every row of a person by a bound that may be far from what they
    really do. The epsilon in the price, or the one that costs no more than its rho, often buys less without it. Only
    public numbers decide, and the release says which law it was.
    """
    distance = problem.distance(relation)
    pure = ObjectivePerturbation.costing(distance, ridge=ridge, epsilon=price.pure_epsilon)
    if price.is_pure:
        return pure
    try:
        normal = ObjectivePerturbation.costing(
            distance, ridge=ridge, epsilon=price.epsilon, delta=price.delta, rho=price.rho
        )
    except InvalidRequest:  # no scale of it keeps the price at this ridge
        return pure
    # A ridge that had to be raised counts like noise: what it saves has to outweigh what it adds.
    more = max(Fraction(1), pure.ridge / (ridge * Fraction(11, 10)))
    width = problem.design.width
    return pure if noise_in(pure, width) * more**2 < noise_in(normal, width) else normal


def noise_in(law: ObjectivePerturbation, width: int) -> Fraction:
    """The variance of a coordinate of the linear term: that of spherical Laplace noise is (width + 1) scale^2."""
    return law.scale**2 * (1 if law.noise == "gaussian" else width + 1)


def ridge_of(ask: Ask) -> Fraction:
    """The ridge that was minimised with: that of the law where it had to add some."""
    law, query = ask.mechanism, ask.query
    return law.ridge if isinstance(law, ObjectivePerturbation) else query.ridge  # type: ignore[attr-defined]
