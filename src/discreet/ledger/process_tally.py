"""What this process has paid and which payments have no answer yet: the last line of a command that fails says it."""

from __future__ import annotations

import threading
from collections.abc import Iterable

from discreet.core.cost import Cost
from discreet.ledger.outcomes import redeeming

_lock = threading.Lock()
_MOST = 1000  # costs that wait to be added up: nearly always nobody asks for the sum
_charged: list[Cost] = []
_open: dict[tuple[str, int], tuple[str, Cost]] = {}
PAYING, PAID, LOOKED, ALONE, PLAN, PARTS = "paying", "paid", "looked", "alone", "plan", "parts"
_alone: set[tuple[str, int]] = set()  # entries whose answer serves once
_typed: dict[tuple[str, int], str] = {}  # the ledgers of entries that are looked for, as our commands take them


def paying(ledger: str, number: int, cost: Cost, *, repeats: bool) -> None:
    """An entry is about to be charged: a process that is stopped now does not know whether it was.

    ``ledger`` is its place, here as below: ledgers of one name may be open in several databases at once.
    """
    with _lock:
        _open[ledger, number] = PAYING, cost
        if not repeats:
            _alone.add((ledger, number))


def paid(ledger: str, number: int) -> None:
    """It was charged."""
    with _lock:
        _, cost = _open[ledger, number]
        _charge(cost)
        _open[ledger, number] = ALONE if (ledger, number) in _alone else PAID, cost


def opened(ledger: str, number: int, cost: Cost, *, parts: bool) -> None:
    """A plan was charged, whose steps are taken from now on, or accounts on parts of the people."""
    with _lock:
        _charge(cost)
        _open[ledger, number] = PARTS if parts else PLAN, cost


def looked(ledger: str, number: int, typed: str) -> None:
    """The answer to an entry is being computed from now on; ``typed`` is its ledger as our commands take it."""
    with _lock:
        _typed[ledger, number] = typed
        _, cost = _open.get((ledger, number), (PAID, Cost.nothing()))  # redeemed: another process paid for it
        _open[ledger, number] = LOOKED, cost


def stored(ledger: str, number: int) -> None:
    """An entry has its answer, or was not charged after all."""
    with _lock:
        _open.pop((ledger, number), None)
        _alone.discard((ledger, number))
        _typed.pop((ledger, number), None)


def clear() -> None:
    """Forget everything: for a command that is run as a function."""
    with _lock:
        _charged.clear()
        _open.clear()
        _alone.clear()
        _typed.clear()


def in_words() -> str:
    """What was charged by this process and what asking again costs."""
    with _lock:
        charged = sum(_charged, Cost.nothing())
        left = {key: state for key, (state, _) in _open.items()}
    if not left:
        return f"{charged} was charged; every answer is stored: {_FREE}" if _charged else "nothing was charged"
    return "; ".join([f"{charged} was charged" if _charged else "nothing more was charged", *_became(left)])


def of(ledger: str, numbers: Iterable[int]) -> str:
    """What happened to some entries."""
    with _lock:
        left = {(ledger, number): _open[ledger, number][0] for number in numbers if (ledger, number) in _open}
    return "; ".join(_became(left))


_FREE = "asking the same again is free"
_BECAME = {
    PAYING: "whether {} was charged is not known: discreet ledger show tells",
    LOOKED: "{} was looked for and not answered: it is withheld until the custodian runs {}",
    PAID: "{} is paid and nobody looked: asking the same again is free",
    ALONE: "{} is paid and not answered, and asking again is charged again: its answer serves once",
    PLAN: "the steps of {} are paid: a run with a checkpoint goes on with them, and any other pays again",
    PARTS: "the accounts of {} are paid and serve this run only: running it again pays again",
}


def _became(left: dict[tuple[str, int], str]) -> list[str]:
    """A clause for each state that some entry is left in."""
    told = []
    for state, words in _BECAME.items():
        for ledger in dict.fromkeys(ledger for (ledger, _), now in left.items() if now == state):
            numbers = sorted(number for (of, number), now in left.items() if now == state and of == ledger)
            redeem = redeeming(numbers, _typed.get((ledger, numbers[0]), ""))
            told.append(words.format(f"entry {', '.join(map(str, numbers))}", redeem))
    return told


def _charge(cost: Cost) -> None:
    _charged.append(cost)
    if len(_charged) > _MOST:
        _charged[:] = [sum(_charged, Cost.nothing())]
