"""What is true where a transaction fails, so that an error says what was charged and what asking again costs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple


class Told(NamedTuple):
    """The last sentence of an error, by the moment of the failure: before the commit, while it is made, and after it."""

    before: str  # nothing of the transaction was written
    during: str  # all of it was written, or nothing
    after: str  # all of it was written


CHARGED = Told(
    "Nothing was charged and nothing was looked at",
    "Nothing was looked at; whether it was charged is not known: discreet ledger show tells",
    "It was charged, and nothing was looked at",
)
READ = Told(*["Nothing was charged"] * 3)
_FREE = "asking the same again is free"
_AGAIN = "asking again is charged again: its answer serves once"


def bought(prices: Sequence[str], numbers: Sequence[int], *, repeats: bool) -> Told:
    """Paying for questions; ``repeats`` where each can be asked for again."""
    if not numbers:
        return READ
    once = "asking the same again charges it once in all" if repeats else _AGAIN
    return Told(
        CHARGED.before,
        f"Nothing was looked at; whether {_prices(prices)} was charged is not known: {once}",
        f"{_prices(prices)} was charged ({_entries(numbers)}) and nothing was looked at: {_FREE if repeats else _AGAIN}",
    )


def marked(numbers: Sequence[int]) -> Told:
    """Marking entries that are paid, before anything is looked at."""
    paid = f"Nothing was looked at; {_entries(numbers)} stays paid"
    whole = f"{paid}: {_FREE}"
    return Told(whole, f"{paid}: {_FREE}, or, if the mark was written, {_redeem(numbers)}", whole)


def kept(prices: Sequence[str], numbers: Sequence[int], *, repeats: bool) -> Told:
    """Storing answers and reading them back."""
    paid = f"{_entries(numbers)} ({_prices(prices)}) stays paid"
    lost = f"{paid}, and {_redeem(numbers)}" if repeats else f"{paid}, and {_AGAIN}"
    stored = f"The answer of {_entries(numbers)} ({_prices(prices)}) is stored: {_FREE if repeats else _AGAIN}"
    return Told(
        f"The answer was not stored and is withheld; {lost}",
        f"Whether the answer was stored is not known. If it was, {_FREE if repeats else _AGAIN}; otherwise {lost}",
        stored,
    )


def _entries(numbers: Sequence[int]) -> str:
    return f"{'entry' if len(numbers) == 1 else 'entries'} {', '.join(map(str, numbers))}"


def _prices(prices: Sequence[str]) -> str:
    return ", ".join(prices)


def _redeem(numbers: Sequence[int]) -> str:
    return f"the custodian can have it answered once more: discreet ledger redeem LEDGER {numbers[0]}"
