"""What declarations of columns share: the price of what is yet to be found, and a formula."""

from __future__ import annotations

from typing import Any, TypeAlias

from discreet.core import numbers
from discreet.errors import InvalidRequest

PRIVATE = "private"  # the word for bounds and labels that are yet to be found
_CURRENCIES = ("epsilon", "delta", "rho")

Currencies: TypeAlias = tuple[tuple[str, Any], ...]


def read_price(given: Any, wanted: str) -> Currencies | None:
    """What finding a private declaration costs: epsilon, epsilon and delta, or rho."""
    if given is None:
        return None
    try:
        price = dict(given)
        unknown = next((key for key in price if key not in _CURRENCIES), None)
    except (TypeError, ValueError):
        raise InvalidRequest(f"price must be {wanted}, got {given!r}", key="price") from None
    if unknown is not None or not price:
        raise InvalidRequest(f"price must be {wanted}, got {given!r}", key="price")
    for key, value in price.items():
        try:
            (numbers.probability if key == "delta" else numbers.positive)(value, f"price: {key}")
        except InvalidRequest as problem:
            raise problem.about("price") from None
    return tuple(sorted(price.items()))


def check_formula(formula: Any) -> None:
    """Refuse a formula that is no text."""
    if formula is not None and (not isinstance(formula, str) or not formula.strip()):
        raise InvalidRequest(f"formula must be an expression such as 'weight / height ** 2', got {formula!r}", key="formula")


def written(price: Any) -> dict[str, Any]:
    """A price as JSON and TOML hold it: what was typed, where that is text or a plain number."""
    return {k: v if isinstance(v, str | int | float) else str(v) for k, v in price}
