"""When a question is answered: a pure function of arrivals, weights and slots, and of nothing that a record could move.

The clock has slots. A request weighs the worst time that its kind took on a made-up table of the most rows that the real one
may have; it is given n = ceil(3 weight / slot) slots, begins when it has its turn, and is answered at the end of the last.
Small ones share a slot while their weights together leave the same margin. Turns go round the analysts: whoever was served
longest ago comes first, each with the oldest request, one at a time.

Proof that a moment tells nothing of the table: ``due`` is computed here before the hand begins, from what is in the
arguments: arrivals (who asked when), weights (measured without the table) and the length of a slot. Nothing of a run comes
back in but whether it overran, which closes the population after three.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

MARGIN = 3
MOST_SLOTS = 2400


@dataclass(frozen=True)
class Waiting:
    """A request that waits: who asked, in which slot it arrived, and what it weighs in seconds."""

    ref: str
    analyst: int
    arrived: int
    weight: float


@dataclass(frozen=True)
class Turn:
    """Requests that are answered together: begun with slot ``start``, delivered when slot ``due`` begins."""

    refs: tuple[str, ...]
    start: int
    due: int


def slots(weight: float, slot: Fraction) -> int:
    """How many slots a weight takes."""
    return max(1, math.ceil(MARGIN * Fraction(weight) / slot))


def longest(slot: Fraction) -> float:
    """The seconds that a question may weigh at most."""
    return float(MOST_SLOTS * slot / MARGIN)


def next_turn(waiting: Sequence[Waiting], served: Mapping[int, int], now: int, slot: Fraction) -> Turn | None:
    """Who has the turn that begins with slot ``now``; ``served`` says in which slot each analyst was last served."""
    first: dict[int, Waiting] = {}
    for each in sorted(waiting, key=lambda w: w.arrived):  # of one slot, in the order given
        if each.arrived <= now:
            first.setdefault(each.analyst, each)
    if not first:
        return None
    order = sorted(first.values(), key=lambda w: (served.get(w.analyst, -1), w.arrived, w.analyst))
    long = slots(order[0].weight, slot)
    if long > 1:
        return Turn((order[0].ref,), now, now + long)
    chosen, room = [], slot
    for each in order:
        need = MARGIN * Fraction(each.weight)
        if need <= room:
            chosen.append(each.ref)
            room -= need
    return Turn(tuple(chosen), now, now + 1)


def schedule(
    arrivals: Sequence[Waiting], slot: Fraction, free: int = 0, served: Mapping[int, int] | None = None
) -> list[Turn]:
    """All turns of these arrivals, were nobody else to come; the hand is free from slot ``free`` on."""
    left, turns, last = list(arrivals), [], dict(served or {})
    now = free
    while left:
        turn = next_turn(left, last, now, slot)
        if turn is None:
            now = min(each.arrived for each in left)
            continue
        turns.append(turn)
        last |= {each.analyst: turn.start for each in left if each.ref in turn.refs}
        left = [each for each in left if each.ref not in turn.refs]
        now = turn.due
    return turns
