"""What was looked at, what could not be, and the two failures that are nobody's damage: too little room, and a busy file."""

from __future__ import annotations

import errno
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from discreet.errors import DiscreetError, InvalidRequest, LedgerUnavailable, UnknownName
from discreet.ledger.journal import now

_ROOM = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.ENOMEM, errno.EMFILE, errno.ENFILE}


class OutOfRoom(InvalidRequest):
    """Memory or disk did not suffice. Nothing is damaged, and the same request goes through with more of it."""


class Busy(InvalidRequest):
    """Another program is writing to a file that has to be replaced."""


TROUBLE = (OutOfRoom, Busy, LedgerUnavailable)  # what passes, and goes through when it is asked for again


@contextmanager
def enough_room(doing: str) -> Iterator[None]:
    """Too little memory or disk in what is done here is called that, and not damage."""
    try:
        yield
    except MemoryError:  # Arrow's own is a kind of it
        raise OutOfRoom(f"memory did not suffice for {doing}; free some, or use a larger machine") from None
    except OSError as problem:
        if problem.errno not in _ROOM:
            raise
        raise OutOfRoom(f"room did not suffice for {doing} ({problem.strerror}); free some and ask again") from None


@dataclass
class Reached:
    """The places of one table that were gone through, with when and how many rows, and those that were not, with why."""

    looked: list[dict[str, Any]] = field(default_factory=list)
    missed: list[dict[str, Any]] = field(default_factory=list)
    trouble: list[DiscreetError] = field(default_factory=list)  # what may go through when it is asked for again

    def look(self, place: str, rows: int) -> None:
        self.looked.append({"place": place, "at": now(), "rows": rows})

    def miss(self, place: str, reason: str, *, read: bool = False) -> None:
        """``read`` says that the place was there and what is in it was no good: it is no use until it changes."""
        self.missed.append({"place": place, "at": now(), "reason": reason, "read": read})

    @contextmanager
    def at(self, place: str) -> Iterator[None]:
        """What goes wrong at one place is written down, and the next place is gone to."""
        try:
            with enough_room(f"reading and rewriting {place!r}"):
                yield
        except TROUBLE as problem:
            self.miss(place, str(problem))
            self.trouble.append(problem)
        except DiscreetError as problem:
            self.miss(place, str(problem), read=not isinstance(problem, UnknownName))  # a table or column is not there
        except OSError as problem:
            self.miss(place, problem.strerror or type(problem).__name__)
