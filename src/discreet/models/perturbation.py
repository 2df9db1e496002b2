"""Where the noise of a linear model goes: into its objective, onto its minimiser, or onto the last step of a descent."""

from __future__ import annotations

from fractions import Fraction
from typing import Any, Literal

from discreet.core.ask import Ask
from discreet.core.price import Price
from discreet.core.query import Relation
from discreet.errors import InvalidRequest
from discreet.mechanisms import (
    ObjectivePerturbation,
)
from discreet.mechanisms.priced import law_in_l2
from discreet.models.design import Design
from discreet.models.losses import Loss
from discreet.models.queries.empirical_risk import Minimiser, Problem
from discreet.models.queries.opera import Opera
from discreet.models.queries.outpert import OutPert

Method = Literal["objective", "output", "opera", "outpert"] | Opera | OutPert
METHODS: tuple[Method, ...] = ("objective", "output", "opera", "outpert")
DESCENTS: dict[str, Opera | OutPert] = {"opera": Opera(), "outpert": OutPert()}


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
    if not isinstance(method, Opera | OutPert) and method not in METHODS:
        words = ", ".join(map(str, METHODS))
        raise InvalidRequest(f"method must be one of {words}, or Opera(steps, rate) or OutPert(steps), got {method!r}")
    named = DESCENTS.get(method) if isinstance(method, str) else method
    if named is not None:
        descent = named.query(design, loss, ridge, relation, rows, price)
        return Ask(descent, law_in_l2(price, descent.distance(relation), design.width))
    outside = Minimiser(design, loss, ridge)
    if price.is_infinite or method == "output":
        return Ask(outside, law_in_l2(price, outside.distance(relation), design.width))
    problem = Problem(design, loss)
    law = objective_law(problem, ridge, price, relation)
    law.check(design.width)
    return Ask(problem, law)


def objective_law(problem: Any, ridge: Fraction, price: Price, relation: Relation) -> ObjectivePerturbation:
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
            distance, ridge=ridge, epsilon=price.epsilon, delta=price.delta or None, rho=price.rho
        )
    except InvalidRequest:  # no scale of it keeps the price at this ridge
        return pure
    # A ridge that had to be raised counts like noise: what it saves has to outweigh what it adds.
    more = max(Fraction(1), pure.ridge / (ridge * Fraction(11, 10)))
    width = problem.width
    return pure if noise_variance(pure, width) * more**2 < noise_variance(normal, width) else normal


def noise_variance(law: ObjectivePerturbation, width: int) -> Fraction:
    """The variance of a coordinate of the linear term: that of spherical Laplace noise is (width + 1) scale^2."""
    return law.scale**2 * (1 if law.noise == "gaussian" else width + 1)


def free_ridge(factor: int, design: Design, price: Price, relation: Relation) -> Fraction:
    """factor / epsilon, twice that under replace, times the most that a person weighs: where a Jacobian becomes free.

    The factor is 1 for two classes and 4 for a softmax (``ObjectivePerturbation``). Without noise the ridge is 1.
    """
    if price.is_infinite:
        return Fraction(1)
    twice = 1 if relation == "add_remove" else 2
    return factor * twice * design.rows * design.most_weight / price.pure_epsilon


def ridge_of(ask: Ask) -> Fraction:
    """The ridge that was minimised with: that of the law where it had to add some."""
    law, query = ask.mechanism, ask.query
    return law.ridge if isinstance(law, ObjectivePerturbation) else query.ridge  # type: ignore[attr-defined]
