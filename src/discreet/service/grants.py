"""An analyst's share of a population's budget: a reservation in the ledger, so that its cap holds where payments are made.

Shares are allotments: their sum stays within the budget, and nobody is promised what another might take. So whether a
question is refused depends on one's own past alone, and all analysts together, whatever they tell each other, learn no more
than the budget allows.
"""

from __future__ import annotations

import json
import math
from fractions import Fraction
from typing import Any

from sqlalchemy import Connection

from discreet.accounting.filters import Remaining
from discreet.core import numbers
from discreet.core.ask import Account
from discreet.core.budget import Budget
from discreet.core.cost import ORDERS, Cost
from discreet.core.price import Price
from discreet.errors import InvalidRequest
from discreet.ledger import Ledger
from discreet.ledger.events import canonical
from discreet.service.outbox import Grant, Outbox


def who(analyst: int) -> str:
    """The name under which an analyst pays in the ledger."""
    return f"analyst {analyst}"


def cap(price: Price, budget: Budget) -> Cost:
    """What a share may cost, in the currency of the budget.

    A share of an (epsilon, delta) budget is the bare statement: with what is known of rho besides, a Gaussian question
    within epsilon and delta would be refused. A Rényi budget adds curves, of which a bare statement has none: its shares are
    in rho.
    """
    if price.is_infinite:
        raise InvalidRequest("a share is finite; give epsilon, epsilon and delta, or rho")
    in_rho = budget.rho is not None or budget.composition == "renyi"
    if in_rho != (price.rho is not None):
        wanted = "rho" if in_rho else "epsilon" if not budget.delta else "epsilon and delta"
        raise InvalidRequest(f"a share of the budget {budget} is given in {wanted}", key=wanted.partition(" ")[0])
    if price.rho is not None or not budget.delta:
        return price.cost
    assert price.epsilon is not None
    return Cost(price.epsilon, price.delta, None, price.delta, (math.inf,) * len(ORDERS))


def reserve(ledger: Ledger, most: Cost, analyst: int, table: str) -> Account:
    """Set a share aside; refused where the budget has no room for it."""
    return ledger.reserve(most, canonical({"share of": who(analyst), "table": table}))


def share(ledger: Ledger, grant: Grant) -> Ledger:
    """The ledger as the analyst of a grant pays from it."""
    return ledger.drawing(Account(grant.account), who(grant.analyst))


def amounts(of: Cost | Remaining, budget: Budget) -> dict[str, str | None]:
    """An amount as mailboxes carry it: epsilon, delta and rho as text, None where the budget's shares are not in it."""
    in_rho = budget.rho is not None or budget.composition == "renyi"
    return {
        "epsilon": None if of.epsilon is None else numbers.write(of.epsilon),
        "delta": numbers.write(of.delta),
        "rho": None if of.rho is None or not in_rho else numbers.write(of.rho),
    }


def write_statement(connection: Connection, outbox: Outbox, ledger: Ledger, number: int, account: int) -> None:
    """What was spent of a share and what is left of it, for its analyst to read."""
    held = ledger.reserved(Account(account))
    left = Remaining.of(held.terms.cap, held.drawn)
    budget = ledger.budget
    assert budget is not None
    values = {"spent": json.dumps(amounts(held.drawn, budget)), "left_json": json.dumps(amounts(left, budget))}
    s = outbox.t.statements
    if not connection.execute(s.update().where(s.c.grant_id == number).values(**values)).rowcount:
        connection.execute(s.insert(), {"grant_id": number, **values})


def exceeds(cost: Cost, threshold: dict[str, Any] | None) -> bool:
    """Whether a price is above what needs no approval: in any currency that the threshold names, or cannot be said in it."""
    if not threshold:
        return False
    for word in ("epsilon", "rho"):
        if threshold.get(word) is not None:
            found: Fraction | None = getattr(cost, word)
            if found is None or found > numbers.rational(threshold[word], word):
                return True
    return threshold.get("delta") is not None and cost.delta > numbers.rational(threshold["delta"], "delta")
