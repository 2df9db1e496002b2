"""Randomised response: a category kept with a known probability, otherwise replaced by one of the others."""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from decimal import Context, localcontext
from fractions import Fraction
from typing import Any, Self

import numpy as np

from discreet.core import numbers
from discreet.core.cost import Cost
from discreet.core.mechanism import Mechanism, Sensitivity, mechanisms
from discreet.core.numbers import Number
from discreet.core.price import Price
from discreet.core.random import Random, chosen
from discreet.errors import InvalidRequest
from discreet.mechanisms.sampling import digits, uniform
from discreet.mechanisms.sampling.uniform import Integers


@mechanisms("randomized_response")
@dataclass(frozen=True, init=False)
class RandomizedResponse(Mechanism):
    """Report the truth with probability ``keep``, else one of the other categories, each equally likely (Warner 1965).

    ``cost`` of one report: epsilon = |ln(keep (k - 1) / (1 - keep))|, or the claim it was made for, once confirmed.

    Proof: the report has probability ``keep`` at the truth and (1 - keep) / (k - 1) anywhere else, so the largest ratio
    between two truths is the ratio of these two, at a report that is one of them. It does not depend on what the other
    people hold, so the sensitivity plays no part.
    """

    words = "Randomised response: the truth with a known probability, otherwise another category."
    no_posterior = "reports of single people are read with a table model (BetaBernoulli, DirichletMultinomial)"

    keep: Fraction
    categories: tuple[Hashable, ...]
    claim: Price | None

    def __init__(self, keep: Number, categories: Sequence[Hashable], claim: Price | None = None) -> None:
        kept, labels = numbers.rational(keep, "keep"), tuple(categories)
        if len(labels) < 2 or len(set(labels)) != len(labels):
            raise InvalidRequest(f"categories must be at least two different values, got {list(labels)!r}")
        if not 0 <= kept <= 1:
            raise InvalidRequest(f"keep is a probability between 0 and 1, got {keep}")
        object.__setattr__(self, "keep", kept)
        object.__setattr__(self, "categories", labels)
        object.__setattr__(self, "claim", claim)

    @classmethod
    def keeping(cls, p: Number, categories: Sequence[Hashable]) -> Self:
        """The law that reports the truth with probability ``p``."""
        return cls(p, categories)

    @classmethod
    def costing(cls, *, epsilon: Number, categories: Sequence[Hashable]) -> Self:
        """The law that costs ``epsilon``: keep = e^epsilon / (e^epsilon + k - 1), rounded down."""
        claim = Price(epsilon)
        e, k = float(numbers.positive(epsilon, "epsilon")), len(categories)
        ideal = Fraction(1 / (1 + (k - 1) * math.exp(-e)))
        # Towards 1/k by more than the doubles can be wrong, of 1 - keep too, so that the claim is sure to hold.
        return cls(1 - (1 - ideal) * (1 + Fraction(1, 2**40)) - Fraction(1, 2**52), categories, claim)

    @property
    def swap(self) -> Fraction:
        """The probability of any one of the other categories."""
        return (1 - self.keep) / (len(self.categories) - 1)

    def cost(self, sensitivity: Sensitivity = 1) -> Cost:
        if not self.keep or not self.swap:
            return Cost.infinite()
        ratio = max(self.keep / self.swap, self.swap / self.keep)
        with localcontext(Context(prec=50)):
            epsilon = Fraction(digits.log(digits.exactly(ratio))[1])
        if self.claim is not None and self.claim.epsilon is not None and epsilon <= self.claim.epsilon:
            return Cost.pure(self.claim.epsilon)
        return Cost.pure(numbers.round_up(float(epsilon)))

    def release(self, exact: Any, *, seed: int | Random | None = None) -> Any:
        """A report for one category, or one for each in an array or list."""
        alone = isinstance(exact, str | bytes) or not np.ndim(exact)
        codes = self._codes([exact] if alone else exact)
        random, k = chosen(seed), len(self.categories)
        moved = ~uniform.bernoulli(random, self.keep, codes.size)
        # Every report draws its replacement, used or not: the number of draws says nothing.
        steps = 1 + uniform.below(random, k - 1, codes.size)
        reported = np.where(moved, (codes + steps) % k, codes)
        labels = [self.categories[i] for i in reported]
        return labels[0] if alone else np.array(labels) if isinstance(exact, np.ndarray) else labels

    def log_prob(self, released: Any, exact: Any) -> Any:
        """The log-probability of each report, given the truth."""
        alone = isinstance(exact, str | bytes) or not np.ndim(exact)
        same = self._codes([released] if alone else released) == self._codes([exact] if alone else exact)
        with np.errstate(divide="ignore"):
            value = np.where(same, np.log(float(self.keep)), np.log(float(self.swap)))
        return float(value[0]) if alone else value

    def _codes(self, values: Any) -> Integers:
        places = {label: i for i, label in enumerate(self.categories)}
        try:
            return np.array([places[v] for v in (values.tolist() if isinstance(values, np.ndarray) else values)], np.int64)
        except (KeyError, TypeError):
            raise InvalidRequest(f"values must be among the declared categories {list(self.categories)!r}") from None
