"""Filters: when an adaptive sequence of charges must stop. A ledger asks ``fits`` before anything is looked at.

A filter's total may depend on the answers so far, because an analyst chooses the next question by them. Three totals
may be watched that way, and nothing else is (a privacy-loss distribution is not: use it for plans fixed in advance).

Proof. Let L be the privacy loss of all that was released when the filter stops, and let each accepted charge have,
given everything before it, Rényi divergence at most r_t at order a outside an event of probability s_t.

- *pure and approximate*: each charge is (e_t, d_t)-DP given the past. By induction from the last charge to the first,
  a sequence whose sums never pass (E, D), whatever path it takes, is (E, D)-DP: condition on the first answer, of
  which (e_1, d_1) is spent, and the rest is (E - e_1, D - d_1)-DP (Rogers et al. 2016, theorem 5.1).
- *concentrated*: M_t = exp((a - 1)(L_t - sum of r)) is a supermartingale for every order a, with r_t = rho_t a; the
  sums never pass rho, so E exp((a - 1) L) <= exp((a - 1) rho a) at the end: rho-zCDP (Feldman and Zrnic 2021). The
  events add up to at most ``delta`` by the union bound along the path.
- *Rényi*: fix orders a_1 .. a_m and shares d_j before the first charge, with sum of d_j at most D/2, and let B_j be
  the divergence that converts to (E, d_j) at order a_j. A charge is accepted while *some* order still fits, so when
  all is done at least one order j has sum of r at a_j <= B_j; call that event F_j. Then
  E (1 - e^(E - L))_+ <= sum_j E 1_{F_j} (1 - e^(E - L))_+, and on F_j the conversion's own proof bounds the term by
  d_j * E exp((a_j - 1)(L - B_j)) 1_{F_j} <= d_j * E M_j <= d_j. Order infinity bounds L by E outright, so its term is
  zero: sums of pure charges need no share. Events of probability s_t may add up to the other half of D.

*Interleaving.* A plan opened for T steps is paid once and answered while other questions are asked, so it is an interactive
mechanism that runs beside others, and each of its steps may depend on all answers so far. Composition of such mechanisms is
*concurrent* composition. It holds for every total that is watched here:

- *pure and approximate* (``basic``): an interactive (e, d)-DP mechanism is the interactive post-processing of one draw of a
  non-interactive (e, d)-DP pair (Lyu 2022, for pure also Vadhan and Wang 2021; Vadhan and Zhang 2023 for every trade-off
  function). Put that draw at the opening, where it is charged: what remains is an adaptive sequence of one-shot charges, for
  which the first proof above holds. With amounts chosen along the way this is the concurrent filter of Haney et al. (2023).
- *concentrated and Rényi*: a price that is the sum of its steps' divergences is spent step by step: M_t of the proofs
  above, taken over all answers in the order in which they come, is still a supermartingale, because a step given everything
  before it has the divergence that was paid for it in advance. So the sums may be taken in any order (Lyu 2022; Haney et
  al. 2023 for filters). A price that is less than such a sum (correlated noise, where steps are not private apart) is the
  divergence of one interactive mechanism against every adversary: at a fixed order such divergences add up under any
  interleaving (Lyu 2022), also with a filter (Haney et al. 2023). A price that is an (e, d) claim, put into these currencies
  as a pure bound outside an event of probability d, is by the simulation above one draw at the opening, which is pure
  outside such an event.

``tests/accounting/test_concurrent.py`` checks both by enumeration: every adaptive interleaving of a plan with other
charges, on mechanisms small enough to write out.

References: Vadhan and Wang, Concurrent composition of differential privacy (2021). Lyu, Composition theorems for
interactive differential privacy (2022). Vadhan and Zhang, Concurrent composition theorems for differential privacy (2023).
Haney, Shoemate, Tian, Vadhan, Vyrros, Xu and Zhang, Concurrent composition for interactive differential privacy with
adaptive privacy-loss parameters (2023).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from discreet.accounting.conversions import epsilon_of_renyi
from discreet.core.budget import Budget
from discreet.core.cost import ORDERS, Cost
from discreet.errors import UnsupportedFormat

_WATCHED = 4  # orders of a Rényi filter: each more costs ln(m) / (order - 1) of epsilon


@dataclass(frozen=True)
class Remaining:
    """What is left, in the budget's own currency. ``rho`` of a Rényi budget is room for Gaussian questions."""

    epsilon: Fraction | None
    delta: Fraction
    rho: Fraction | None

    @staticmethod
    def of(cap: Cost, drawn: Cost) -> Remaining:
        """What a cap leaves of each kind of statement that it makes."""

        def less(most: Fraction | None, taken: Fraction | None) -> Fraction | None:
            return None if most is None else max(Fraction(0), most - taken) if taken is not None else Fraction(0)

        delta = max(Fraction(0), cap.delta - drawn.delta)
        return Remaining(less(cap.epsilon, drawn.epsilon), delta, less(cap.rho, drawn.rho))

    def __str__(self) -> str:
        parts = [f"{sign}={float(v):.6g}" for sign, v in (("ε", self.epsilon), ("ρ", self.rho)) if v is not None]
        return ", ".join([*parts, f"δ={float(self.delta):.3g}"] if self.delta else parts) or "nothing"

    def __repr__(self) -> str:
        return f"Remaining({self})"


@dataclass(frozen=True)
class Filter:
    """A budget with the orders it watches, fixed when the ledger is made."""

    budget: Budget
    orders: tuple[float, ...] = ()

    @staticmethod
    def of(budget: Budget) -> Filter:
        """The filter for a budget; a Rényi budget watches the orders that leave Gaussian questions most room."""
        if budget.composition == "basic":
            return Filter(budget)
        trial = Filter(budget, ORDERS[:_WATCHED])
        ranked = sorted(ORDERS, key=lambda a: trial._limit(a) / a, reverse=True)
        return Filter(budget, tuple(sorted(ranked[:_WATCHED])))

    def _limit(self, order: float) -> float:
        """B_j of the proof, rounded down."""
        share = float(self.budget.delta) / (2 * len(self.orders))
        e = float(self.budget.epsilon or 0)
        limit = e - epsilon_of_renyi(order, 0.0, share)
        return limit - 2.0**-45 * (abs(limit) + e + 1)

    def fits(self, total: Cost) -> bool:
        """Whether a total of charges stays within the budget."""
        budget = self.budget
        if budget.rho is not None:
            return total.rho is not None and total.rho <= budget.rho and total.slack <= budget.delta
        within = total.epsilon is not None and budget.epsilon is not None and total.epsilon <= budget.epsilon
        if budget.composition == "basic":
            return within and total.delta <= budget.delta
        if total.slack > budget.delta / 2:
            return False
        # A claim whose deltas are all slack is a pure bound outside those events: order infinity.
        return (within and total.delta == total.slack) or any(
            total.curve[ORDERS.index(a)] <= self._limit(a) for a in self.orders
        )

    def remaining(self, total: Cost) -> Remaining:
        """What is left after ``total``, never below zero."""
        budget, zero = self.budget, Fraction(0)
        if budget.rho is not None:
            left = zero if total.rho is None else max(zero, budget.rho - total.rho)
            return Remaining(None, max(zero, budget.delta - total.slack), left)
        e = budget.epsilon or zero
        epsilon = zero if total.epsilon is None else max(zero, e - total.epsilon)
        if budget.composition == "basic":
            return Remaining(epsilon, max(zero, budget.delta - total.delta), None)
        pure = epsilon if total.delta == total.slack else zero
        room = max((self._limit(a) - total.curve[ORDERS.index(a)]) / a for a in self.orders)
        rho = Fraction(room) if 0 < room < math.inf else zero
        return Remaining(pure, max(zero, budget.delta / 2 - total.slack), rho)

    def to_dict(self) -> dict[str, Any]:
        return {"budget": self.budget.to_dict(), "orders": list(self.orders)}

    @staticmethod
    def from_dict(doc: dict[str, Any]) -> Filter:
        orders = tuple(float(a) for a in doc["orders"])
        if any(a not in ORDERS for a in orders):
            raise UnsupportedFormat(f"a filter watches orders this package does not keep: {orders}; upgrade discreet")
        return Filter(Budget.from_dict(doc["budget"]), orders)
