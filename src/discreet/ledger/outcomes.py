"""What a failed transaction means for the budget: what was charged, and what asking again costs. Errors end with it."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from discreet.core.cost import Cost


class Outcome:
    """The last sentence of an error, by the moment of the failure: before the commit, while it is made, and after it.

    Sentences are put together only when something fails: every ask has three of them, and nearly always none is shown.
    """

    def __init__(self, sentences: Callable[[], tuple[str, str, str]]) -> None:
        self._sentences = sentences

    @property
    def before(self) -> str:
        """Nothing of the transaction was written."""
        return self._sentences()[0]

    @property
    def during(self) -> str:
        """All of it was written, or nothing."""
        return self._sentences()[1]

    @property
    def after(self) -> str:
        """All of it was written."""
        return self._sentences()[2]

    @property
    def whenever(self) -> Outcome:
        """The outcome of a later failure, when all of this transaction was written."""
        return Outcome(lambda: (self.after, self.after, self.after))


CHARGED = Outcome(
    lambda: (
        "Nothing was charged and nothing was looked at",
        "Nothing was looked at; whether it was charged is not known: discreet ledger show tells",
        "It was charged, and nothing was looked at",
    )
)
READ = Outcome(lambda: ("Nothing was charged",) * 3)
_FREE = "asking the same again is free"
_AGAIN = "asking again is charged again: its answer serves once"


def bought(prices: Sequence[Cost], numbers: Sequence[int], *, repeats: bool) -> Outcome:
    """Paying for questions; ``repeats`` where each can be asked for again."""
    if not numbers:
        return READ
    once = "asking the same again charges it once in all" if repeats else _AGAIN
    return Outcome(
        lambda: (
            CHARGED.before,
            f"Nothing was looked at; whether {_prices(prices)} was charged is not known: {once}",
            f"{_prices(prices)} was charged ({_entries(numbers)}) and nothing was looked at: {_FREE if repeats else _AGAIN}",
        )
    )


def marked(numbers: Sequence[int], typed: str) -> Outcome:
    """Marking entries that are paid, before anything is looked at; ``typed`` is the ledger as our commands take it."""

    def sentences() -> tuple[str, str, str]:
        whole = f"Nothing was looked at; {_entries(numbers)} stays paid: {_FREE}"
        return whole, f"{whole}, or, if the mark was written, {_redeem(numbers, typed)}", whole

    return Outcome(sentences)


def kept(prices: Sequence[Cost], numbers: Sequence[int], typed: str, *, repeats: bool) -> Outcome:
    """Storing answers and reading them back; ``typed`` as above."""

    def sentences() -> tuple[str, str, str]:
        again = _FREE if repeats else _AGAIN
        paid = f"{_entries(numbers)} ({_prices(prices)}) stays paid"
        lost = f"{paid}, and {_redeem(numbers, typed) if repeats else _AGAIN}"
        return (
            f"The answer was not stored and is withheld; {lost}",
            f"Whether the answer was stored is not known. If it was, {again}; otherwise {lost}",
            f"The answer of {_entries(numbers)} ({_prices(prices)}) is stored: {again}",
        )

    return Outcome(sentences)


def _entries(numbers: Sequence[int]) -> str:
    return f"{'entry' if len(numbers) == 1 else 'entries'} {', '.join(map(str, numbers))}"


def _prices(prices: Sequence[Cost]) -> str:
    return ", ".join(map(str, prices))


def redeeming(numbers: Sequence[int], typed: str) -> str:
    """The custodian's command that lets entries be answered once more."""
    return f"discreet ledger redeem {typed} {' '.join(map(str, numbers))}"


def _redeem(numbers: Sequence[int], typed: str) -> str:
    return f"the custodian can have it answered once more: {redeeming(numbers, typed)}"
