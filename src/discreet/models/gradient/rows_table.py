"""Rows in memory that are read as they are: images, sequences, or whatever a loss of one's own takes."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from discreet.core.random import system
from discreet.errors import InvalidRequest
from discreet.models.gradient.lot_gradient import Gathered


class RowsTable:
    """Gathered rows as a source. It can be asked for lots only."""

    resident = True

    def __init__(self, rows: Gathered, version: str | None = None) -> None:
        self.rows = rows
        self.version = version or system().words(2).tobytes().hex()

    def sample(self, rate: Fraction, seed: Any = None) -> Any:
        raise InvalidRequest("rows that are read as they are can be asked for lots of a plan only; use a Session")

    def fold(self, *_: Any) -> Any:
        self.sample(Fraction(1))
