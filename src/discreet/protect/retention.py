"""Rows that were kept as long as was said, found and taken out: retention that falls due."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime
from typing import Any

import numpy as np
import numpy.typing as npt

from discreet.errors import InvalidRequest
from discreet.ledger.journal import now
from discreet.protect.erasure import Removals, database_words, holding, raise_trouble
from discreet.protect.holding_files import Files
from discreet.protect.holding_rows import RowHolding
from discreet.protect.holdings import Chooser, Found
from discreet.protect.lattice_histogram import texts_of
from discreet.protect.receipts import Receipt
from discreet.protect.vault_log import LogRow

_LONGEST = 365_250  # days


@dataclass(frozen=True)
class Keep:
    """How long rows are kept: so many ``days`` after the date in a ``column``, written as ``form`` says, ISO by default."""

    column: str
    days: int
    form: str | None = None

    @staticmethod
    def of(given: Sequence[Any]) -> Keep:
        """From a column, a number of days and, where dates are not in ISO form, how they are written."""
        if isinstance(given, str) or not 2 <= len(given) <= 3:
            raise InvalidRequest(f"due must be a column, days and, if not ISO, the form of its dates, got {given!r}")
        column, days, form = (*given, None)[:3]
        if not isinstance(column, str) or not column:
            raise InvalidRequest(f"due must name a column, got {column!r}")
        if not isinstance(days, int) or isinstance(days, bool) or not 0 <= days <= _LONGEST:
            raise InvalidRequest(f"due must be after 0 to {_LONGEST} days, got {days!r}")
        if form is not None and (not isinstance(form, str) or "%" not in form):
            raise InvalidRequest(f"the form of a date must be as %d.%m.%Y, got {form!r}")
        return Keep(column, days, form)

    def day(self, text: str | None) -> date | None:
        """The day that a cell names; None where it names none."""
        try:
            if self.form is not None:
                return datetime.strptime((text or "").strip(), self.form).date()
            return date.fromisoformat((text or "")[:10])
        except ValueError:
            return None


@dataclass(frozen=True)
class Overdue:
    """Tells which rows fell due by a day: found and removed as a person's rows are, whoever they belong to.

    Rows of ``held`` people are not among them: their erasure was refused because the law demands that they be kept.
    """

    keep: Keep
    on: date
    people: Chooser
    held: tuple[bytes, ...]

    @property
    def columns(self) -> tuple[str, ...]:
        """The date, and who the row belongs to where that matters."""
        return (self.keep.column, *(self.people.columns if self.held else ()))

    @property
    def partner(self) -> tuple[str, str] | None:
        """As in the table."""
        return self.people.partner

    def mask(self, columns: Sequence[Any], person: bytes) -> tuple[npt.NDArray[np.bool_], int]:
        """Which rows fell due, and how many have no date that can be read: those are never due."""
        texts, index = texts_of(columns[0])
        days = [self.keep.day(text) for text in texts]
        last = self.on.toordinal() - self.keep.days
        due = np.array([day is not None and day.toordinal() < last for day in days], bool)[index]
        for one in self.held:
            due &= ~self.people.mask(columns[1:], one)[0]
        return due, int(np.array([day is None for day in days], bool)[index].sum())


@dataclass(frozen=True, repr=False)
class Retention(Removals):
    """Takes out what fell due in the registered tables that say when.

    Proof that nothing is half-done and forgotten: as for an erasure, the intent is in the log before a row is removed, and
    its receipt after every table was gone through; the next call finishes an intent without a receipt, for the day it named.
    """

    intent, receipt, of = "due", "expired", "due"

    def due(self, on: date | None = None) -> dict[str, Found]:
        """The rows that fell due by a day, today unless said, by table. Nothing is removed or logged: a dry run."""
        found = {table.name: table.find(b"", self.log.database) for table in self._tables(on or _today(), self._held())}
        if not found:
            raise InvalidRequest(
                "a table must say when its rows fall due, and none does; register one with due=('column', days) (--due)"
            )
        return found

    def expire(self, on: date | None = None) -> list[Receipt]:
        """Remove what fell due by a day, today unless said, and return the signed receipts; none where nothing did.

        Nothing is known of a place that was not reached: a receipt then names it, also where no row was found elsewhere.
        """
        if on is not None and on > _today():
            raise InvalidRequest(f"rows cannot be removed before they fall due, got the day {on}; try it as a dry run")
        done = [self._finish(intent) for intent in self.unfinished()]
        found = self.due(on)
        counts = {name: part.rows.num_rows for name, part in found.items()}
        if any(counts.values()) or any(part.seen.missed for part in found.values()):
            done.append(self._finish(self.log.write("due", {"on": (on or _today()).isoformat(), "tables": counts})))
        return done

    def _tables(self, on: date, held: tuple[bytes, ...]) -> list[Files | RowHolding]:
        with self.log.database.transaction(write=False) as connection:
            known = self.register.tables(connection)
        made = []
        for facts in known.values():
            if facts.get("due") is not None:
                table = holding(facts, self.register.pseudonyms)
                made.append(replace(table, finder=Overdue(Keep.of(facts["due"]), on, table.finder, held)))
        return made

    def _held(self) -> tuple[bytes, ...]:
        """The people whose erasure was refused last: the ground may be a law under which their rows must stay."""
        last = {row.subject: row.kind for row in self.log.rows(("refuse", "receipt"))}
        return tuple(self.cipher.digest(subject or "") for subject, kind in last.items() if kind == "refuse")

    def _finish(self, intent: LogRow) -> Receipt:
        on = date.fromisoformat(intent.document["on"])
        held = self._held()
        gone = {table.name: table.remove(b"", self.log.database) for table in self._tables(on, held)}
        emptied = self.shredder.emptied()
        raise_trouble(gone)
        removed = self._removed(intent, gone)
        with self.log.database.transaction(write=True) as connection:
            self.log.lock(connection)
            touched = [name for name, rows in removed.items() if rows]
            document = {
                "about": "retention",
                "vault": self.log.name,
                "on": on.isoformat(),
                "asked_by": intent.who,
                "erased": now(),
                "tables": removed,
                "missed": {name: part.seen.missed for name, part in gone.items() if part.seen.missed},
                "rows_without_date": {name: part.unreadable for name, part in gone.items() if part.unreadable},
                "people_held": len(held),
                "database": database_words(self.log.database, emptied=emptied),
                **self.register.touched(connection, touched),
                "budget_refunded": "none",
            }
            receipt = Receipt.sign(document, self.seed)
            self.log.append(connection, "expired", {"due": intent.number, **receipt.facts()})
        return receipt


def _today() -> date:
    return datetime.now(UTC).date()
