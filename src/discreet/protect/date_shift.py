"""Dates moved by a number of days that is each person's own: the time between two events of a person stays as it was.

The number of days is drawn from -days ... days without 0 by a keyed hash of the person's identity digest, the partner and
the data set: the same for all rows of a person, another for another partner, and unknown without the keys.
"""

from __future__ import annotations

import hmac
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from discreet.errors import InvalidRequest
from discreet.protect.lattice_histogram import texts_of
from discreet.protect.pseudonyms import Pseudonymizer
from discreet.protect.shuffle import Order, Shuffle
from discreet.protect.stored_table import Changed, open_table
from discreet.protect.tokens import Digests

_FIRST, _LAST = np.datetime64("0001-01-01"), np.datetime64("9999-12-31")


@dataclass(frozen=True, eq=False)
class DateShift:
    """The change: new dates in ISO form; a cell that is no date, or is moved out of the calendar, becomes missing."""

    digests: Digests
    key: bytes
    identity: tuple[str, ...]
    columns: tuple[str, ...]
    days: int
    drop: tuple[str, ...] = ()

    @property
    def needs(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys((*self.identity, *self.columns)))

    def __call__(self, columns: Mapping[str, Any]) -> Changed:
        digests = self.digests.columns([columns[name] for name in self.identity])
        known = {digest: self.shift(digest) for digest in set(digests)}
        moves = np.array([known[digest] for digest in digests], "timedelta64[D]")
        return Changed({name: _moved(columns[name], moves) for name in self.columns}, None, self.drop)

    def shift(self, digest: bytes) -> int:
        """The days of one person: uniform to within 2^-180 over 2 days values, none of them 0."""
        place = int.from_bytes(hmac.new(self.key, digest, "sha256").digest(), "big") % (2 * self.days)
        return place - self.days if place < self.days else place - self.days + 1


def _moved(column: Any, moves: Any) -> pa.Array:
    texts, index = texts_of(column)
    days = np.array([_day(text) for text in texts], "datetime64[D]")[index]
    with np.errstate(over="ignore"):
        moved = days + moves
    lost = np.isnat(moved) | (moved < _FIRST) | (moved > _LAST)
    return pa.array([None if gone else str(day) for day, gone in zip(moved, lost, strict=True)], pa.string())


def _day(text: str | None) -> np.datetime64:
    from datetime import date

    try:
        return np.datetime64(date.fromisoformat((text or "")[:10]))
    except ValueError:
        return np.datetime64("NaT", "D")


def shift_dates(
    table: Any,
    columns: Sequence[str],
    people: Pseudonymizer,
    partner: str,
    data_set: str = "default",
    *,
    days: int = 365,
    keep: bool = False,
    order: Order = "shuffled",
    seed: int | None = None,
) -> Any:
    """The table with each person's dates moved by days of their own, at most ``days`` to either side.

    ``columns`` hold dates in ISO form; identifying columns of ``people`` are left out unless ``keep``. Intervals between a
    person's dates stay, seasons and weekdays do not. It hides when something happened, not that it did: who knows one true
    date of a person knows all of them.
    """
    source = open_table(table)
    change = date_shift(people, people.columns(), columns, partner, data_set, days, keep=keep)
    source.check(change.columns)
    source.check(change.identity)
    return source.rewrite(change, Shuffle(order, seed))


def date_shift(
    people: Pseudonymizer,
    identity: tuple[str, ...],
    columns: Sequence[str],
    partner: str,
    data_set: str,
    days: int,
    *,
    keep: bool,
    version: int | None = None,
) -> DateShift:
    """The change behind ``shift_dates``: ``identity`` are the columns that say who a row is about.

    ``version`` is that of the key; the newest where it is left out. Tokens and shifts of one table go by the same: by
    another key a person would have two shifts under one token, and their difference tells much of both.
    """
    if isinstance(days, bool) or not isinstance(days, int) or not 1 <= days <= 36_500:
        raise InvalidRequest(f"days must be a whole number from 1 to 36,500, got {days!r}")
    names = (columns,) if isinstance(columns, str) else tuple(columns)
    key = people.derived("date-shift", json.dumps([partner, data_set]), people.newest() if version is None else version)
    return DateShift(people.digests, key, identity, names, days, () if keep else identity)
