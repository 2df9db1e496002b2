"""A table in a database, streamed from there; all passes of one question read one state of it.

The address names the table: ``postgresql://host/clinic?table=visits``. Passwords are no part of an address: they come from
the environment, as the database's own programs take them (``PGPASSWORD``, ``~/.pgpass``), and are shown nowhere. Which state
of the table it is, only the custodian can say: ``version=`` is required.
"""

from __future__ import annotations

import os
import threading
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from sqlalchemy.engine import URL, make_url

from discreet.core.schema import Schema
from discreet.errors import InvalidRequest, UnsupportedFormat
from discreet.sources import stream, together
from discreet.sources.base import BATCH_ROWS, LocalSource, check_columns
from discreet.sources.batch import Batch
from discreet.sources.choosing import DEFAULT_SALT
from discreet.sources.ids import check_kind

PASSWORD = "DISCREET_TABLE_PASSWORD"  # noqa: S105  the name of a variable: for databases that have none of their own


class Address:
    """Where a table lies. ``str`` shows database and table, and neither user nor password."""

    def __init__(self, given: str) -> None:
        try:
            url = make_url(given)
            query = dict(url.query)
            table = query.pop("table", None)
        except Exception:  # whatever it is, it is not shown: a password may be in it
            raise InvalidRequest("the address of a table must be written as in postgresql://host/db?table=visits") from None
        if not isinstance(table, str) or not table:
            raise InvalidRequest("the address of a database must name a table; write ...?table=visits", key="table")
        if url.password or any("pass" in key.lower() for key in query):
            raise InvalidRequest(
                "a password is no part of an address, where others would read it",
                key="table",
                remedy=f"set PGPASSWORD (PostgreSQL) or {PASSWORD}, and leave it out",
            )
        self.table = table
        self.url: URL = url.set(query=query)

    @property
    def names(self) -> list[str]:
        """The table's name, with its schema before it where one is given."""
        return self.table.split(".")

    def __str__(self) -> str:
        place = f"{self.url.host or 'the local server'}/{self.url.database or ''}"
        return f"table {self.table!r} of {place if self.url.get_backend_name() != 'sqlite' else self.url.database}"


class Connection(ABC):
    """One state of a table, from its opening to its closing."""

    @abstractmethod
    def types(self) -> dict[str, tuple[str, Any]]:
        """The columns, each with its type in the database's words and as Arrow holds it. Looks at no record."""

    @abstractmethod
    def check(self, columns: Sequence[str]) -> None:
        """Refuse columns that may not be read, or that are computed when they are. Looks at no record."""

    @abstractmethod
    def batches(self, columns: Sequence[str], rows: int) -> Iterator[Any]:
        """The records, as record batches of about ``rows``."""

    @abstractmethod
    def close(self) -> None:
        """Let go of it."""


class DatabaseSource(LocalSource):
    """A table in a database. Its rows have no lasting number; ``memory`` is for bringing people together."""

    numbered = False

    def __init__(
        self,
        address: str,
        schema: Schema,
        salt: int = DEFAULT_SALT,
        batch_rows: int = BATCH_ROWS,
        memory: str = "400MB",
    ) -> None:
        super().__init__(schema, salt, batch_rows)
        self._address = Address(address)
        self._memory = memory
        self._open = threading.local()  # a question is answered by one thread, and several may be at once
        connection = self._connected()
        try:
            self._types = connection.types()
            check_columns(schema, list(self._types))
            connection.check(self._declared_columns())
        finally:
            connection.close()
        if schema.person is not None:
            check_kind(self._types[schema.person][1])

    @contextmanager
    def snapshot(self) -> Iterator[None]:
        """One state of the table for everything that is read until the end, and refused where it is another table now."""
        if getattr(self._open, "connection", None) is not None:
            yield
            return
        connection = self._connected()
        try:
            self._check(connection)
            self._open.connection = connection
            yield
        finally:
            self._open.connection = None
            connection.close()

    def _batches(self, columns: Sequence[str]) -> Iterator[Batch]:
        with self.snapshot():
            connection: Connection = self._open.connection
            # A table is never read with no column at all: its rows still have to be counted.
            read = list(columns) or list(self._types)[:1]
            arrived = stream.guarded(connection.batches(read, self._batch_rows), self._gone)
            if self.schema.person is None:
                yield from stream.plain(arrived, self._selection.rules)
            else:
                yield from together.whole_people(arrived, self._selection.rules, self._batch_rows, self._memory)

    def _connected(self) -> Connection:
        if self._address.url.get_backend_name() == "postgresql":
            from discreet.sources.postgres import Postgres

            return Postgres(self._address)
        from discreet.sources.other_database import OtherDatabase

        return OtherDatabase(self._address, os.environ.get(PASSWORD))

    def _check(self, connection: Connection) -> None:
        """Refuse a table whose columns are not those it was opened with: nothing was paid yet, and nothing looked at."""
        now = connection.types()
        check_columns(self.schema, list(now))
        declared = self._declared_columns()
        for name in declared:
            if now[name] != self._types[name]:
                raise UnsupportedFormat(
                    f"column {name!r} of {self._address} was {self._types[name][0]} and is {now[name][0]} now",
                    key=name,
                    remedy="open it again, with another version",
                )
        connection.check(declared)

    def _declared_columns(self) -> list[str]:
        schema = self.schema
        return (
            list(dict.fromkeys([*schema.stored, *([] if schema.person is None else [schema.person])]))
            or list(self._types)[:1]
        )

    def _gone(self) -> UnsupportedFormat:
        return UnsupportedFormat(f"the {self._address} went away while it was read; ask again")

    def _content(self) -> str:
        raise InvalidRequest("a table in a database needs version=, a public word for this state of it")


def computed(address: Address, rule: str, remedy: str) -> InvalidRequest:
    """The refusal of what is computed when it is read, by an expression that could fail for one of the records.

    That would be after the question was paid, and whether it fails is then an answer about that record, without any noise.
    Nobody can tell by its name which expression cannot fail, so what is stored is read and nothing else.
    """
    return InvalidRequest(
        f"the {address} {rule}: what is computed there could fail because of a record",
        key="table",
        remedy=f"{remedy}, or compute it by a formula in the schema",
    )


def unreachable(address: Address) -> InvalidRequest:
    """The refusal of a database that does not answer. What its driver says may hold names and passwords, and is left out."""
    user = (
        "PGUSER and PGPASSWORD (or ~/.pgpass)"
        if address.url.get_backend_name() == "postgresql"
        else f"the user in the address and {PASSWORD}"
    )
    return InvalidRequest(
        f"the {address} cannot be reached, or does not let this user in",
        key="table",
        remedy=f"check the address, {user}",
    )
