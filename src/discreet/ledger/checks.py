"""What is refused before a transaction begins: texts, laws, costs and relations that break a rule."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from discreet.accounting.filters import Filter
from discreet.core.budget import Budget
from discreet.core.cost import Cost
from discreet.core.documents import brief
from discreet.core.mechanism import Mechanism
from discreet.core.query import Relation, check_relation
from discreet.core.unit import Unit
from discreet.errors import InvalidRequest, NotPrivate, RelationMismatch, UnitMismatch, UnsupportedFormat
from discreet.ledger import event_tables
from discreet.ledger.events import canonical


def text(value: str, name: str, *, longest: int | None = None, empty: bool = False) -> str:
    """A text that every database can keep: Unicode without NUL and without half characters."""
    if not isinstance(value, str) or "\0" in value or not (value or empty) or (longest and len(value) > longest):
        limit = f" of at most {longest} characters" if longest else ""
        raise InvalidRequest(f"{name} must be a text{limit} without NUL characters, got {value!r}")
    try:
        value.encode()
    except UnicodeEncodeError:
        raise InvalidRequest(f"{name} must be valid Unicode, got {value!r}") from None
    return value


def law(mechanism: Mechanism) -> Mechanism:
    """A law that a document can name."""
    if not isinstance(mechanism, Mechanism) or not hasattr(mechanism, "name"):
        raise InvalidRequest(f"a ledger charges for a registered noise law, such as Laplace(scale=1), got {mechanism!r}")
    return mechanism


def cost(value: Cost, test: bool) -> Cost:
    """A cost that is a number and not negative in every part: adding it can only raise a total."""
    exact = (value.epsilon, value.delta, value.rho, value.slack)
    if any(v is not None and v < 0 for v in exact) or not all(map((0.0).__le__, value.curve)):
        raise InvalidRequest(f"a cost must be a number that is not negative in every part, got {value!r}")
    if not (test or value.is_finite):
        raise NotPrivate(
            "a ledger pays only for what has a finite guarantee, got a cost without one; "
            "raise the noise, or use a test ledger (ledger='test')"
        )
    return value


def plan(price: Cost, steps: int) -> None:
    """Refuse a whole plan for nothing.

    Each statement of a cost is to hold, and any one of them that is zero says that nobody could tell whether the plan
    ran at all; so one zero is enough to refuse.
    """
    if price.epsilon == 0 == price.delta or (price.slack == 0 and (price.rho == 0 or 0.0 in price.curve)):
        raise InvalidRequest(
            f"a plan must cost more than nothing, got {price} for {steps} steps; give the cost of all its steps "
            "together, or ask without an account what is free by itself"
        )


def relation(asked: Relation, kept: Relation, name: str) -> Relation:
    """An event under the ledger's relation, or under both, which covers either."""
    if asked not in (kept, "both"):
        raise _another_relation(name, kept, asked)
    return asked


def _another_relation(name: str, kept: Relation, asked: Relation) -> RelationMismatch:
    takes = repr(kept) if kept == "both" else f"{kept!r}, or 'both', which covers either"
    return RelationMismatch(
        f"a ledger's relation is fixed when it is made: {name!r} has neighbors={kept!r}, got {asked!r}; declare {takes}, or "
        "keep another ledger. Nothing was charged"
    )


def known(row: Mapping[Any, Any]) -> None:
    """A ledger that no later version wrote."""
    if row["schema"] > event_tables.SCHEMA:
        raise UnsupportedFormat(
            f"the ledger {row['name']!r} has schema version {row['schema']} and this package reads up to "
            f"{event_tables.SCHEMA}; upgrade discreet. Nothing was charged"
        )


def same(row: Mapping[Any, Any], budget: Budget | None, neighbors: Relation | None) -> tuple[Relation, Filter | None]:
    """The relation and filter of a ledger's row, which must be the ones asked for, where any were."""
    known(row)
    kept, rules = check_relation(row["relation"]), read_filter(row["filter"])
    has = None if rules is None else rules.budget
    if budget is not None and budget != has:
        raise InvalidRequest(
            f"a ledger's budget is fixed when it is made: {row['name']!r} has {_full(has)}, got {_full(budget)}; "
            "open it without a budget, or make a ledger of another name"
        )
    if neighbors is not None and neighbors not in (kept, "both"):
        raise _another_relation(row["name"], kept, neighbors)
    return kept, rules


def read_filter(text: str | None) -> Filter | None:
    """The filter a ledger's row holds."""
    if text is None:
        return None
    try:
        return Filter.from_dict(json.loads(text))
    except (KeyError, TypeError, json.JSONDecodeError) as problem:
        raise UnsupportedFormat(f"a ledger's filter needs a budget and orders, got {brief(text)}") from problem


@lru_cache(maxsize=64)
def write_unit(unit: Unit) -> str:
    """A unit as a ledger's row holds it."""
    return canonical(unit.to_dict())


@lru_cache(maxsize=64)
def read_unit(text: str) -> Unit:
    """The unit a ledger's row holds."""
    try:
        return Unit.from_dict(json.loads(text))
    except json.JSONDecodeError as problem:
        raise UnsupportedFormat(f"a ledger's unit is not JSON, got {brief(text)}") from problem


def unit(asked: Unit, kept: Unit, name: str) -> None:
    """A question about the ledger's unit. A schema that names no population asks about the ledger's, which, where the ledger
    was bound to none, goes by the ledger's name."""
    population = kept.population or name
    if (asked.person, asked.max_rows) != (kept.person, kept.max_rows) or asked.population not in (None, population):
        counts = str(kept) if asked.population is None else counted(kept, name)
        raise UnitMismatch(
            f"the ledger {name!r} counts {counts}, got a question about {asked}: costs of two "
            "units do not add up; ask about the same, or keep another ledger. Nothing was charged"
        )


def counted(unit: Unit, name: str) -> str:
    """The unit of the ledger ``name`` in words, also where it was bound without the name of a population."""
    if unit.population is not None:
        return str(unit)
    return f"{unit} of a population that was given no name and goes by the ledger's, {name!r}"


def _full(budget: Budget | None) -> str:
    return "no limit" if budget is None else f"{budget} ({budget.composition} composition)"
