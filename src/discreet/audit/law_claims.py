"""The claims of noise laws: each at two exact values as far apart as its sensitivity."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from discreet.accounting.conversions import epsilon as epsilon_of
from discreet.audit.lower_bound import CONFIDENCE, lower_bound
from discreet.audit.row import Row
from discreet.core.mechanism import Mechanism
from discreet.mechanisms import (
    DiscreteGaussian,
    DiscreteLaplace,
    Exponential,
    Gaussian,
    Laplace,
    RandomizedResponse,
    SphericalLaplace,
    Tulap,
)
from discreet.mechanisms.hockey_stick import epsilon_at
from discreet.mechanisms.top import Top


@dataclass(frozen=True)
class Case:
    """A law at two neighbouring exact values, at exactly its sensitivity; ``delta`` is where its claim is read.

    ``share`` is how many of the usual samples it gets: fewer where one takes long, more where its event is rare.
    """

    law: Mechanism
    a: Any
    b: Any
    delta: float = 0.0
    vector: bool = False
    share: float = 1.0


_MANY = 200
_LEAST = "3e-13"  # near the smallest epsilon that whole numbers allow: nothing but the last bits could tell two counts apart
CASES = [
    Case(Laplace.costing(1, epsilon=1), 0.0, 1.0),
    Case(Laplace.costing(1, epsilon=1, grid=1), 0.0, 1.0),
    Case(Laplace.costing([1, 1], epsilon=1), (0.0, 0.0), (1.0, 1.0), vector=True),
    Case(Gaussian.costing(1, epsilon=1, delta="0.01"), 0.0, 1.0, 0.01),
    Case(Gaussian.costing([1, 2], epsilon=1, delta="0.01"), (0.0, 0.0), (1.0, 2.0), 0.01, vector=True),
    Case(Gaussian.costing(1, rho="0.5"), 0.0, 1.0, 0.01),
    Case(DiscreteLaplace.costing(1, epsilon=1), 0, 1),
    Case(DiscreteLaplace.costing(1, epsilon=_LEAST), 12, 13, share=0.1),
    Case(Laplace.costing(1, epsilon=_LEAST, grid=1), 12.0, 13.0, share=0.1),
    Case(DiscreteGaussian.costing(1, rho="0.125"), 0, 1, 0.01, share=2),
    Case(Tulap.costing(1, epsilon=1), 0, 1),
    Case(SphericalLaplace.costing(1, epsilon=1), (0.0, 0.0), (1.0, 0.0), vector=True, share=0.15),
    Case(RandomizedResponse.costing(epsilon=1, categories=[0, 1]), 0, 1),
    Case(RandomizedResponse.costing(epsilon=1, categories=list(range(5))), 0, 1),
    Case(Exponential.costing(1, epsilon=3), [0.0] * _MANY, [1.0] + [-1.0] * (_MANY - 1), share=0.2),
    Case(Top.costing(1, epsilon=3, choices=2), [0.0, 0.0, 2.2, 2.2], [1.0, 1.0, 1.2, 1.2], share=0.05),
    Case(Exponential.costing(1, epsilon=1, method="permute_and_flip"), [0.0, 0.0], [1.0, -1.0], share=0.1),
]
UNCLAIMED = {"no_noise"}  # laws that promise nothing


def audit_law(case: Case, trials: int, confidence: float = CONFIDENCE) -> Row:
    """A law at the two ends of its sensitivity, by its likelihood ratio."""
    start = time.perf_counter()
    sensitivity = 1 if case.law.name in ("randomized_response", "exponential", "top") else _apart(case.a, case.b)
    stated = epsilon_of(case.law.cost(sensitivity), case.delta)
    exact = exact_epsilon(case)
    claim, note = (
        (stated, "") if exact is None else (min(stated, exact), f"its exact profile; rho alone implies {stated:.4g}")
    )
    known = None
    if case.law.name != "randomized_response":
        known = likelihood_ratio(case.law, np.asarray(case.a), np.asarray(case.b))
    count = int(trials * case.share)
    run = draws_of(case.law, case.vector)
    found = lower_bound(run, case.a, case.b, count, case.delta, confidence=confidence, batched=True, score=known)
    name = f"{case.law.name}{_brief(case)}"
    return Row("law", name, claim, case.delta, found.epsilon, found.epsilon <= claim, time.perf_counter() - start, note)


def likelihood_ratio(law: Any, here: Any, there: Any) -> Callable[[Any], Any]:
    """ln of how much likelier outputs are around ``here`` than around ``there``, coordinates together."""
    if law.name == "exponential":
        known = np.log(probabilities(law, here)) - np.log(probabilities(law, there))
        return lambda outputs: known[outputs]

    def score(outputs: Any) -> Any:
        ratio = np.asarray(law.log_prob(outputs, here)) - law.log_prob(outputs, there)
        return ratio.sum(-1) if np.ndim(ratio) > 1 else ratio

    return score


def probabilities(law: Any, utilities: Any) -> Any:
    """Those of every candidate of a choice; equal utilities are looked up once."""
    exact = np.asarray(utilities, np.float64)
    _, first, back = np.unique(exact, return_index=True, return_inverse=True)
    return np.exp([law.log_prob(int(i), exact) for i in first])[back]


def draws_of(law: Any, vector: bool) -> Callable[[Any, int], Any]:
    """How to draw many times from a law."""
    if hasattr(law, "grid") and law.name != "spherical_laplace":
        if vector:
            return lambda x, n: law.release(np.tile(np.asarray(x), (n, 1)))
        return lambda x, n: law.release(np.full(n, x))
    if law.name == "randomized_response":
        return lambda x, n: np.asarray(law.release([x] * n))
    return one_by_one(law)


def one_by_one(law: Mechanism) -> Callable[[Any, int], Any]:
    """Many draws from a law that makes them singly."""
    return lambda x, n: np.array([law.release(np.asarray(x)) for _ in range(n)])


def exact_epsilon(case: Case) -> float | None:
    """The least epsilon at which a law of concentrated claims is (epsilon, delta)-private; None for other laws.

    rho implies a larger epsilon than there is, which no sample could reach. Of the Gaussian it is Balle and Wang's; of the
    discrete one the sum over whole numbers of P(k) - e^epsilon Q(k), where that is positive.
    """
    law: Any = case.law
    if getattr(getattr(law, "claim", None), "rho", None) is None:
        return None
    if law.name == "gaussian":
        return epsilon_at(case.delta, float(_apart(case.a, case.b)) / float(law.scales[0]))
    reach = 60 * math.ceil(float(law.scales[0]))
    places = np.arange(-reach, reach + 1)
    p, q = (np.exp(law.log_prob(places, at)) for at in (case.a, case.b))
    low, high = 0.0, 64.0
    while high - low > 1e-9:
        middle = (low + high) / 2
        left = max(np.maximum(one - math.exp(middle) * other, 0).sum() for one, other in ((p, q), (q, p)))
        low, high = (middle, high) if left > case.delta else (low, middle)
    return high


def _apart(a: Any, b: Any) -> Any:
    moved = np.abs(np.asarray(a, np.float64) - np.asarray(b, np.float64))
    return moved.tolist() if moved.ndim else float(moved)


def _brief(case: Case) -> str:
    """What tells one case of a law from another."""
    law: Any = case.law
    words = ["two coordinates"] if case.vector else []
    words += [str(law.method).replace("_", " ")] if hasattr(law, "method") else []
    words += ["on whole numbers"] if getattr(law, "grid", None) == 1 and law.name in ("laplace", "gaussian") else []
    words += [f"{len(law.categories)} categories"] if hasattr(law, "categories") else []
    words += ["largest scale"] if len(getattr(law, "scales", ())) == 1 and law.scales[0] > 2**40 else []
    claim = getattr(law, "claim", None)
    words += [f"rho {float(claim.rho):g}"] if claim is not None and claim.rho is not None else []
    return f" ({', '.join(words)})" if words else ""
