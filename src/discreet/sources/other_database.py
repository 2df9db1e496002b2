"""Databases that SQLAlchemy speaks to, SQLite among them: rows become Arrow columns of the types that the database declares.

A cell that is not of its column's declared type, as SQLite admits, is missing: no type is inferred from cells.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import Any

import pyarrow as pa
import sqlalchemy as sa

from discreet.errors import InvalidRequest
from discreet.sources import cell_meaning
from discreet.sources.database_table import Address, Connection, computed, unreachable

_LEVELS = ("REPEATABLE READ", "SNAPSHOT", "SERIALIZABLE")  # in each, all reads of a transaction see one state
_KINDS: list[tuple[type[Any], Any]] = [
    (sa.Boolean, pa.bool_()), (sa.Integer, pa.int64()), (sa.Float, pa.float64()), (sa.Numeric, pa.large_string()),
    (sa.LargeBinary, pa.large_binary()), (sa.DateTime, pa.timestamp("us")), (sa.Date, pa.date32()),
    (sa.Time, pa.time64("us")),
]  # fmt: skip
_WRITTEN = (sa.DateTime, sa.Date, sa.Time)  # SQLite keeps these as text, and truth as 0 and 1


class OtherDatabase(Connection):
    """A connection with its transaction begun."""

    def __init__(self, address: Address, password: str | None) -> None:
        self._address = address
        url = address.url if password is None else address.url.set(password=password)
        try:
            self._engine = sa.create_engine(url, poolclass=sa.pool.NullPool, hide_parameters=True)
            self._sqlite = self._engine.dialect.name == "sqlite"
            if self._sqlite and not _is_file(address.url.database):
                raise unreachable(address)
            self._connection = self._engine.connect()
        except (sa.exc.NoSuchModuleError, ModuleNotFoundError):
            raise InvalidRequest(
                f"there is no driver here for {url.drivername!r}",
                key="table",
                remedy="correct the word before :// in the address, as in mysql+pymysql, or install its driver",
            ) from None
        except Exception:
            raise unreachable(address) from None
        try:
            self._begin()
        except InvalidRequest:
            self.close()
            raise
        except Exception:
            self.close()
            raise unreachable(address) from None

    def _begin(self) -> None:
        if self._sqlite:
            self._connection = self._connection.execution_options(isolation_level="AUTOCOMMIT")
            self._connection.connection.dbapi_connection.text_factory = _any_text  # type: ignore[union-attr]
            self._connection.exec_driver_sql("BEGIN")  # the state that its first SELECT sees, to the end
            return
        known = self._engine.dialect.get_isolation_level_values(self._connection.connection.dbapi_connection)  # type: ignore[arg-type]
        level = next((each for each in _LEVELS if each in known), None)
        if level is None:
            raise InvalidRequest(
                f"the {self._address} cannot be read in one state: its database has no repeatable read; copy it to a file"
            )
        self._connection = self._connection.execution_options(isolation_level=level, stream_results=True)

    def types(self) -> dict[str, tuple[str, Any]]:
        return {str(each["name"]): (str(each["type"]), self._kind(each["type"])) for each in self._described()}

    def _described(self) -> list[Any]:
        """The columns, as the database declares them."""
        names = self._address.names
        schema = ".".join(names[:-1]) or None
        try:
            found = sa.inspect(self._connection).get_columns(names[-1], schema=schema)
        except sa.exc.NoSuchTableError:
            found = []
        except Exception:
            raise unreachable(self._address) from None
        if not found:
            raise InvalidRequest(f"there is no {self._address}", key="table", remedy="correct ?table= in the address")
        return list(found)

    def check(self, columns: Sequence[str]) -> None:
        try:
            self._connection.exec_driver_sql(f"{self._select(columns)} WHERE 1 = 0").close()
        except Exception:
            raise InvalidRequest(
                f"the {self._address} may not be read by this user", key="table", remedy="have SELECT on it granted"
            ) from None
        if not self._is_stored():
            raise computed(self._address, "is no stored table", "store it by CREATE TABLE ... AS SELECT")
        for each in self._described():
            if each["name"] in columns and each.get("computed") and not each["computed"].get("persisted"):
                raise computed(self._address, f"computes {each['name']!r} when it is read", "declare it STORED")

    def _is_stored(self) -> bool:
        """Whether the name is that of a table, or of a stored view, and no view, virtual table or synonym."""
        *before, name = self._address.names
        if self._sqlite:
            place = self._quoted(before[-1] if before else "main")
            words = f"SELECT type = 'table' AND rootpage > 0 FROM {place}.sqlite_master WHERE lower(name) = lower(?)"  # noqa: S608
            return [bool(row[0]) for row in self._connection.exec_driver_sql(words, (name,))] == [True]
        inspected, schema = sa.inspect(self._connection), ".".join(before) or None
        tables = inspected.get_table_names(schema=schema)
        with suppress(NotImplementedError):
            tables = [*tables, *inspected.get_materialized_view_names(schema=schema)]
        return name.casefold() in {each.casefold() for each in tables}

    def batches(self, columns: Sequence[str], rows: int) -> Iterator[Any]:
        known = self.types()
        kinds = [known[name][1] for name in columns]
        fields = pa.schema(list(zip(columns, kinds, strict=True)))
        with self._connection.exec_driver_sql(self._select(columns)) as result:
            while block := result.fetchmany(rows):
                values = [_column([row[place] for row in block], kind) for place, kind in enumerate(kinds)]
                yield pa.RecordBatch.from_arrays(values, schema=fields)

    def close(self) -> None:
        with suppress(Exception):
            self._connection.close()
        with suppress(Exception):
            self._engine.dispose()

    def _kind(self, declared: Any) -> Any:
        if self._sqlite and isinstance(declared, (*_WRITTEN, sa.Boolean)):
            return pa.int64() if isinstance(declared, sa.Boolean) else pa.large_string()
        return next((kind for known, kind in _KINDS if isinstance(declared, known)), pa.large_string())

    def _select(self, columns: Sequence[str]) -> str:
        table = ".".join(map(self._quoted, self._address.names))
        return f"SELECT {', '.join(map(self._quoted, columns))} FROM {table}"  # noqa: S608  names are quoted

    def _quoted(self, name: str) -> str:
        return self._engine.dialect.identifier_preparer.quote_identifier(name)


def _is_file(path: str | None) -> bool:
    """Whether SQLite would open what is there: it makes a file that is not."""
    from pathlib import Path

    return bool(path) and Path(str(path)).is_file()


def _any_text(stored: bytes) -> str:
    """What SQLite calls text, whose bytes may be any: those that are no UTF-8 are carried along, and refused nowhere."""
    return stored.decode("utf-8", "surrogateescape")


def _column(values: list[Any], kind: Any) -> Any:
    """Cells as one Arrow array; each by itself where one of them does not fit, so that it changes no other."""
    if pa.types.is_large_string(kind):
        # Without asking whether it is UTF-8, as files are read: what a text is that is none, ``cell_meaning`` says.
        return pa.array([_bytes(value) for value in values], pa.large_binary()).view(kind)
    try:
        return pa.array(values, kind)
    except Exception:
        return pa.concat_arrays([_cell(value, kind) for value in values])


def _bytes(value: Any) -> bytes | None:
    """A cell of a column of text: text and bytes as they are stored, anything else as its label."""
    if isinstance(value, bytes | bytearray | memoryview):
        return bytes(value)
    text = value if isinstance(value, str) else cell_meaning.label(value)
    try:
        return None if text is None else text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        return None


def _cell(value: Any, kind: Any) -> Any:
    """A cell by itself, converted as it is among others."""
    try:
        return pa.array([value], kind)
    except Exception:
        return pa.nulls(1, kind)
