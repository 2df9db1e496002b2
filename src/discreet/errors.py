"""Every error the package raises on purpose: one tree, so that one ``except`` catches it; and the root of its warnings.

A message gives the rule, the value that broke it and the remedy. Errors come from declarations and
requests, never from what a record holds.
"""

from __future__ import annotations


class DiscreetError(Exception):
    """The root of the tree."""


class DiscreetWarning(UserWarning):
    """The root of all warnings: what is asked can be done, and is likely not what was meant."""


class InvalidRequest(DiscreetError, ValueError):
    """A parameter breaks a stated rule: a negative epsilon, a delta of one, bounds reversed."""


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
