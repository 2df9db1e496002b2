"""Every error the package raises on purpose: one tree, so that one ``except`` catches it; and the root of its warnings.

A message gives the rule, the value that broke it and the remedy. Errors come from declarations and
requests, never from what a record holds.
"""

from __future__ import annotations

import copy
from typing import Self


class DiscreetError(Exception):
    """The root of the tree: a ``rule`` with the value that broke it, and, where it stands apart, the ``remedy``.

    ``key`` is the word of the request or declaration that is refused, where it is about one, and ``column`` the column that
    it is declared for; ``place`` the file and line that it stands at. Whoever shows an error reads these, never its text.
    """

    def __init__(self, rule: str = "", *, key: str = "", column: str = "", remedy: str = "") -> None:
        super().__init__(rule)
        self.key, self.column, self.remedy, self.place = key, column, remedy, ""

    def __str__(self) -> str:
        return f"{self.place}{self.args[0]}{f'; {self.remedy}' if self.remedy else ''}"

    def at(self, place: str) -> Self:
        """The same, with the place that it was found at before it; the first place found stays."""
        return self._with(place=self.place or place)

    def about(self, key: str) -> Self:
        """The same, said of the word that it was found at."""
        return self._with(key=key)

    def remedied(self, remedy: str) -> Self:
        """The same, with another remedy."""
        return self._with(remedy=remedy)

    def _with(self, **fields: str) -> Self:
        made = copy.copy(self)
        vars(made).update(fields)
        return made


class DiscreetWarning(UserWarning):
    """The root of all warnings: what is asked can be done, and is likely not what was meant."""


class InvalidRequest(DiscreetError, ValueError):
    """A parameter breaks a stated rule: a negative epsilon, a delta of one, bounds reversed."""


class NoSuchLedger(InvalidRequest):
    """No ledger of that name is there, and without a budget none is made. ``where``: its name and address, in words."""

    def __init__(self, where: str, others: str = "") -> None:
        super().__init__(
            f"a new ledger needs a budget, and there is none {where} yet{others}",
            key="budget",
            remedy="give budget=Budget(epsilon=...), or correct the address or the name",
        )
        self.where = f"{where}{others}"

    def __reduce__(self) -> tuple[type[NoSuchLedger], tuple[str], dict[str, object]]:
        return type(self), (self.where,), vars(self) | {"args": self.args}


class UnknownName(DiscreetError, LookupError):
    """A name that is not in a closed registry, or a column that is not in the schema."""


class UnsupportedFormat(DiscreetError, ValueError):
    """A document that cannot be read: broken, of another kind, or of a newer schema version."""


class GridOverflow(DiscreetError, OverflowError):
    """A scale or a sum that does not fit the integers of its grid."""


class NotPrivate(DiscreetError):
    """Something made for tests (a seed, an infinite epsilon) was brought to a ledger that is not a test ledger."""


class LedgerError(DiscreetError):
    """Something about a ledger; the children say what."""


class BudgetExceeded(LedgerError):
    """The charge does not fit in what is left. Nothing was looked at and nothing was charged."""


class RelationMismatch(LedgerError):
    """An event under another neighbouring relation than the ledger's."""


class UnitMismatch(LedgerError):
    """A question about another unit than the ledger's: another person column, other rows, another population."""


class Withheld(LedgerError):
    """A question was paid for and looked for, and has no stored answer; only the custodian can have it answered."""


class LedgerUnavailable(LedgerError):
    """The database is missing, locked or unreachable."""


class LedgerCorrupt(LedgerError):
    """The chain of events does not hold: a row was altered, dropped, added or moved."""


class AccountClosed(LedgerError):
    """A prepaid account was asked for something its plan does not contain."""


def named(kind: str) -> type[DiscreetError]:
    """The class of that name, for an error that was told by another process; another name is an ``InvalidRequest``."""
    found = globals().get(kind)
    if isinstance(found, type) and issubclass(found, DiscreetError) and found is not NoSuchLedger:
        return found
    return InvalidRequest
