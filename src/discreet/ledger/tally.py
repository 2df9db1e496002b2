"""What this process has paid and what became of it, for the one line with which it ends when it is interrupted."""

from __future__ import annotations

import threading

from discreet.core.cost import Cost
from discreet.core.release import Entry

_lock = threading.Lock()
_MOST = 1000  # costs that wait to be added up: nearly always nobody asks for the sum
_charged: list[Cost] = []
_open: dict[tuple[str, int], str] = {}


def paid(entry: Entry, cost: Cost) -> None:
    """An entry was charged."""
    with _lock:
        _charged.append(cost)
        if len(_charged) > _MOST:
            _charged[:] = [sum(_charged, Cost.nothing())]
        _open[entry.ledger, entry.number] = "paid"


def looked(ledger: str, number: int) -> None:
    """An entry is looked for from now on."""
    with _lock:
        _open[ledger, number] = "looked"


def stored(ledger: str, number: int) -> None:
    """An entry has its answer."""
    with _lock:
        _open.pop((ledger, number), None)


def clear() -> None:
    """Begin anew: for a command that is run as a function."""
    with _lock:
        _charged.clear()
        _open.clear()


def in_words() -> str:
    """What was charged by this process and what asking again costs."""
    with _lock:
        if not _charged:
            return "nothing was charged"
        charged = sum(_charged, Cost.nothing())
        withheld = sorted(number for (_, number), state in _open.items() if state == "looked")
        waiting = sorted(number for (_, number), state in _open.items() if state == "paid")
    told = [f"{charged} was charged"]
    if withheld:
        told.append(
            f"entry {', '.join(map(str, withheld))} was looked for and not answered: it is withheld until the custodian "
            "runs discreet ledger redeem"
        )
    if waiting:
        told.append(f"entry {', '.join(map(str, waiting))} is paid and nobody looked: asking the same again is free")
    if not (withheld or waiting):
        told.append("every answer is stored: asking the same again is free")
    return "; ".join(told)
