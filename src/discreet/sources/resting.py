"""Files that rest while a question is answered: all its passes read one state of them, or it is refused.

Before anything is paid the files are looked at from outside, and again after every pass: names, sizes and times of change.
Where they are others than those that were opened, headers and footers are read anew, and a declared column that is gone or
of another type is refused. No record is looked at.
"""

from __future__ import annotations

import threading
from abc import abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from discreet.core.schema import Schema
from discreet.errors import UnsupportedFormat
from discreet.sources import stream, together
from discreet.sources.base import LocalSource, check_columns
from discreet.sources.batch import Batch
from discreet.sources.ids import check_kind


class RestingFiles(LocalSource):
    """A table in files. Its version is their names, sizes and times of change.

    ``memory`` is for bringing people together; a batch and what the map makes of it come on top.
    """

    def __init__(self, schema: Schema, salt: int, batch_rows: int, memory: str, shown: str) -> None:
        super().__init__(schema, salt, batch_rows)
        self._memory = memory
        self._shown = shown
        self._held = threading.local()  # a question is answered by one thread, and several may be at once

    @abstractmethod
    def _described(self) -> Any:
        """The columns of the files with their types, from headers and footers alone."""

    @abstractmethod
    def _arrived(self, read: Sequence[str], types: Any, *, coded: bool) -> Iterator[Any]:
        """The record batches of all files, in the order of their rows; ``coded`` text of Parquet stays as it is stored."""

    def _opened(self, otherwise: str = "") -> None:
        """Keep what the files are now; refuses a schema that does not fit them."""
        self._state, self._types = self._content(), self._described()
        check_columns(self.schema, self._types.names, otherwise)
        if self.schema.person is not None:
            check_kind(self._types.field(self.schema.person).type)

    @contextmanager
    def snapshot(self) -> Iterator[None]:
        """One state of the files for everything that is read until the end."""
        if getattr(self._held, "state", None) is not None:
            yield
            return
        self._held.state, self._held.types = self._now()
        try:
            yield
        finally:
            self._held.state = self._held.types = None

    def _now(self) -> tuple[str, Any]:
        state = self._content()
        if state == self._state:
            return state, self._types
        types = self._described()
        check_columns(self.schema, types.names)
        for name in [*self.schema.stored, *([] if self.schema.person is None else [self.schema.person])]:
            was, now = (each.field(name).type for each in (self._types, types))
            if was != now:
                rule = f"column {name!r} of {self._shown!r} was {was} and is {now} now"
                raise UnsupportedFormat(rule, key=name, remedy="open it again")
        return state, types

    def _batches(self, columns: Sequence[str]) -> Iterator[Batch]:
        with self.snapshot():
            state, types, rules = self._held.state, self._held.types, self._selection.rules
            # A table is never read with no column at all: its rows still have to be counted.
            read = list(columns) or types.names[:1]
            if self.schema.person is None:
                yield from stream.plain(self._arrived(read, types, coded=True), rules)
            else:
                arrived = self._arrived(read, types, coded=False)
                yield from together.whole_people(arrived, rules, self._batch_rows, self._memory)
            if self._content() != state:
                raise UnsupportedFormat(f"{self._shown!r} changed while it was read; ask again when it rests")
