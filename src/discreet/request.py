"""A request: the procedure that asks it of a table, and the same in words for whoever is not beside the table."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from discreet.core.price import Keywords, Price
from discreet.core.runner import Procedure
from discreet.statistics.question import Table

R = TypeVar("R")
Where = dict[str, Any] | str
ROWS_WITHOUT_A_GUESS = 1000  # what a preview assumes where the schema has no expected_rows


@dataclass(frozen=True)
class Request(Generic[R]):
    """What is asked: ``make`` turns what is public about a table into a procedure, and may do so more than once.

    ``words`` say the same with names, numbers and models only. ``where`` restricts the rows. ``names`` are the columns that
    have to be found first where their bounds or labels are private; ``finds`` are those that the request itself looks for.
    ``whole`` is the price of a request that pays in several parts: it is refused before the first where it does not fit.
    """

    words: Mapping[str, Any]
    make: Callable[[Table], Procedure[R]]
    where: Where = field(default_factory=dict)
    names: Sequence[Any] = ()
    finds: tuple[str, ...] = ()
    whole: Price | None = None


def separate(options: Mapping[str, Any]) -> tuple[Price, dict[str, Any]]:
    """What to spend, and the statistic's own arguments; an argument of None is one not given."""
    price = {k: v for k, v in options.items() if k in Keywords.__annotations__}
    rest = {k: v for k, v in options.items() if k not in price and v is not None}
    return Price(**price), rest


def columns_named(args: Sequence[Any], options: Mapping[str, Any]) -> list[Any]:
    """The columns that a question may name."""
    by = options.get("by")
    return [*args, *([by] if isinstance(by, str) or not isinstance(by, Sequence) else by)]
