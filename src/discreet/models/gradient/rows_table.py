"""Rows in memory that are read as they are: images, sequences, or whatever a loss of one's own takes."""

from __future__ import annotations

from typing import Any, Self

from discreet.core.numbers import Number
from discreet.core.random import Random, system
from discreet.core.source import Source
from discreet.errors import InvalidRequest
from discreet.models.gradient.lot_gradient import Gathered


class RowsTable(Source):
    """Gathered rows as a source. It can be asked for lots only."""

    resident = True

    def __init__(self, rows: Gathered, version: str | None = None) -> None:
        self.rows = rows
        self._version = version or system().words(2).tobytes().hex()

    @property
    def version(self) -> str:
        return self._version

    def sample(self, rate: Number, seed: int | Random | None = None) -> Self:
        raise InvalidRequest("rows that are read as they are can be asked for lots of a plan only; use a Session")

    def fold(self, *_: Any) -> Any:
        self.sample(1)
