"""Registered tables: whose rows are whose, and what is told of looking for a person and of taking them out."""

from __future__ import annotations

import itertools
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from sqlalchemy import Connection

from discreet.errors import InvalidRequest
from discreet.ledger.database import Database
from discreet.protect.lattice_histogram import texts_of
from discreet.protect.pseudonyms import Pseudonymizer
from discreet.protect.reach import Reached


@dataclass(frozen=True)
class Found:
    """A person's rows in one table, how many rows have no identity that can be read, how many hard links its files have,
    and what was gone through."""

    rows: pa.Table
    unreadable: int
    links: int = 0
    seen: Reached = field(default_factory=Reached)


@dataclass(frozen=True)
class Gone:
    """How many rows were taken out of a table; the rest as in ``Found``."""

    rows: int
    unreadable: int
    links: int = 0
    seen: Reached = field(default_factory=Reached)


class Chooser(Protocol):
    """Tells which rows of a table are meant, from some of its columns."""

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that tell."""

    @property
    def partner(self) -> tuple[str, str] | None:
        """Whose tokens stand for the people, and in which data set; None where people are in it as they are."""

    def mask(self, columns: Sequence[Any], person: bytes) -> tuple[npt.NDArray[np.bool_], int]:
        """Which rows are meant, and for how many that cannot be read."""


@dataclass(frozen=True)
class Finder:
    """Tells which rows are a person's: by identifying columns, or by a token column of a partner and data set."""

    pseudonyms: Pseudonymizer
    columns: tuple[str, ...]
    partner: tuple[str, str] | None = None

    def mask(self, columns: Sequence[Any], person: bytes) -> tuple[npt.NDArray[np.bool_], int]:
        """Which rows are the person's, and how many have no identity that can be read: those match nobody."""
        encoded = [texts_of(column) for column in columns]
        if self.partner is not None:
            texts, index = encoded[0]
            tokens = self.tokens(person)
            return _spread([None if text is None else text in tokens for text in texts], index)
        if len(encoded) == 1:
            texts, index = encoded[0]
            used = np.zeros(len(texts), bool)
            used[index] = True
            matches = [
                self._matches([text], person) if here else None for text, here in zip(texts, used.tolist(), strict=True)
            ]
            return _spread(matches, index)
        known: dict[tuple[int, ...], bool | None] = {}
        out, unreadable = [], 0
        for row in zip(*(index.tolist() for _, index in encoded), strict=True):
            if row not in known:
                known[row] = self._matches([texts[code] for (texts, _), code in zip(encoded, row, strict=True)], person)
            out.append(known[row] is True)
            unreadable += known[row] is None
        return np.array(out, bool), unreadable

    def tokens(self, person: bytes) -> set[str]:
        """The tokens of a person for the partner, under every master key that was not retired."""
        assert self.partner is not None
        return {self.pseudonyms.cipher(*self.partner, v).tokens([person])[0] for v in self.pseudonyms.versions()}

    def _matches(self, texts: list[str | None], person: bytes) -> bool | None:
        try:
            return self.pseudonyms.digests.texts(texts) == person
        except InvalidRequest:
            return None


def _spread(matches: list[bool | None], index: Any) -> tuple[npt.NDArray[np.bool_], int]:
    here = np.array([match is True for match in matches], bool)
    return here[index], int(np.array([match is None for match in matches], bool)[index].sum())


class Holding(ABC):
    """A registered table. What goes wrong at one of its places is told in ``seen`` and stops nothing else."""

    name: str
    finder: Chooser

    @abstractmethod
    def check(self, connection: Connection) -> None:
        """Refuse a table that is not there or lacks a column."""

    @abstractmethod
    def find(self, person: bytes, database: Database) -> Found:
        """The person's rows."""

    @abstractmethod
    def remove(self, person: bytes, database: Database) -> Gone:
        """Take the person's rows out; doing it again takes out what is left, which is none."""

    @abstractmethod
    def tokens_under(self, version: int, database: Database) -> int:
        """How many rows have a token that was made under a version of the master key."""


def under(version: int, tokens: Iterable[Any], counts: Iterable[int] | None) -> int:
    """How many of the tokens are of a version."""
    start = f"{version}."
    return sum(
        count
        for token, count in zip(tokens, counts or itertools.repeat(1), strict=False)
        if isinstance(token, str) and token.startswith(start)
    )
