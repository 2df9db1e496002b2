"""Plans fixed in advance: what a whole list of releases costs, from privacy-loss distributions.

A privacy-loss distribution composes without loss, but only for a list of laws that no answer can change. Use it for a
prepaid account or a report; a ledger that serves adaptive questions uses a filter.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from discreet.accounting import conversions
from discreet.core import numbers
from discreet.core.cost import Cost, Distance
from discreet.core.mechanism import Mechanism, Sensitivity
from discreet.core.numbers import Number
from discreet.errors import InvalidRequest
from discreet.mechanisms.hockey_stick import epsilon_at

_INTERVAL = 1e-4  # losses are rounded up to multiples of this


@dataclass(frozen=True)
class Step:
    """One law, asked ``times`` times. A plain number as sensitivity says that the exact value is a scalar."""

    mechanism: Mechanism
    sensitivity: Sensitivity = 1
    times: int = 1

    @property
    def cost(self) -> Cost:
        """What all the times cost, as a ledger would compose them."""
        return self.mechanism.cost(self.sensitivity) * self.times


def epsilon_of(plan: Sequence[Step], delta: Number) -> float:
    """The least epsilon at ``delta`` known for the whole plan: by loss distributions, or by the cost algebra if better.

    Proof: each law is replaced by a pair that dominates it: its own loss distribution where the exact value is a scalar
    or the law is Gaussian (a rotation makes it scalar), the binary pair of its pure guarantee otherwise. Domination is
    kept by composition (Zhu, Dong and Wang 2022), and every loss is rounded up.
    """
    d = float(numbers.probability(delta, "delta"))
    total = sum((s.cost for s in plan), Cost.nothing())
    algebra = conversions.epsilon(total, delta)
    square = sum((_gaussian_square(s) * s.times for s in plan if s.mechanism.name == "gaussian"), Fraction(0))
    rest = [s for s in plan if s.mechanism.name != "gaussian"]
    if not rest:
        return min(algebra, epsilon_at(delta, math.sqrt(square))) if plan else 0.0
    losses = [_loss(s).self_compose(s.times) if s.times > 1 else _loss(s) for s in rest]
    if square:
        losses.append(
            _distributions().from_gaussian_mechanism(1 / math.sqrt(square), value_discretization_interval=_INTERVAL)
        )
    composed = losses[0]
    for loss in losses[1:]:
        composed = composed.compose(loss)
    return min(algebra, max(0.0, float(composed.get_epsilon_for_delta(d))))


def _distributions() -> Any:
    from dp_accounting.pld import privacy_loss_distribution

    return privacy_loss_distribution


def _gaussian_square(step: Step) -> Fraction:
    rho = step.mechanism.cost(step.sensitivity).rho
    assert rho is not None
    return 2 * rho


def _scalar(step: Step) -> Fraction | None:
    """The sensitivity of a scalar exact value, None for a vector."""
    if isinstance(step.sensitivity, Distance):
        return None
    distance = Distance.of(step.sensitivity)
    return distance.linf if distance.blocks is None or len(distance.blocks) == 1 else None


def _laplace(law: Any, sensitivity: Fraction) -> Any:
    return _distributions().from_laplace_mechanism(float(law.scale / sensitivity), value_discretization_interval=_INTERVAL)


def _discrete(maker: str) -> Callable[[Any, Fraction], Any]:
    def make(law: Any, sensitivity: Fraction) -> Any:
        steps, scale = math.ceil(sensitivity / law.grid), float(law.scale / law.grid)
        parameter = 1 / scale if maker == "from_discrete_laplace_mechanism" else scale
        return getattr(_distributions(), maker)(parameter, sensitivity=steps, value_discretization_interval=_INTERVAL)

    return make


# Laws whose own loss distribution is known for a scalar exact value.
_OWN: dict[str, Callable[[Any, Fraction], Any]] = {
    "laplace": _laplace,
    "discrete_laplace": _discrete("from_discrete_laplace_mechanism"),
    "discrete_gaussian": _discrete("from_discrete_gaussian_mechanism"),
}


def _loss(step: Step) -> Any:
    scalar = _scalar(step)
    if scalar is not None and scalar > 0 and step.mechanism.name in _OWN:
        return _OWN[step.mechanism.name](step.mechanism, scalar)
    cost = step.mechanism.cost(step.sensitivity)
    if cost.epsilon is None:
        raise InvalidRequest(
            f"a plan needs a scalar sensitivity for the {step.mechanism.name} law, got {step.sensitivity}; "
            "give a number, or compose its cost with a filter"
        )
    from dp_accounting.pld.common import DifferentialPrivacyParameters

    claim = DifferentialPrivacyParameters(float(numbers.round_up(float(cost.epsilon))), float(cost.delta))
    return _distributions().from_privacy_parameters(claim, value_discretization_interval=_INTERVAL)
