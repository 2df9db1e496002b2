"""PostgreSQL by ADBC: records come as Arrow, by way of COPY, and nothing in between is a row of Python's."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import Any

import pyarrow as pa

from discreet.errors import InvalidRequest
from discreet.sources.database_table import Address, Connection, computed, unreachable

# One state of the table for the whole transaction, and its rows in the order in which they are stored.
_BEGIN = (
    "SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY",
    "SET LOCAL synchronize_seqscans = off",
    "SET LOCAL max_parallel_workers_per_gather = 0",
    "SET LOCAL statement_timeout = 0",
)
# Types and computed columns; and whether somebody's own function makes text of a cell, which it may refuse to do.
_COLUMNS = """
SELECT a.attname::text, t.typname::text, format_type(a.atttypid, a.atttypmod), t.typcategory::text,
a.attgenerated IN ('', 's') AND NOT EXISTS (SELECT FROM pg_cast k WHERE k.castsource IN (t.oid, t.typbasetype)
AND k.casttarget = 'text'::regtype AND k.castfunc >= 16384)
FROM pg_attribute a JOIN pg_type t ON t.oid = a.atttypid
WHERE a.attrelid = to_regclass('{table}') AND a.attnum > 0 AND NOT a.attisdropped ORDER BY a.attnum
"""
# What it is: a table or a stored view ('r', 'p', 'm'), all the way down, whose rows no policy chooses for this user.
_STORED = """
SELECT row_security_active(c.oid), ARRAY_TO_STRING(ARRAY(
WITH RECURSIVE below AS (SELECT c.oid UNION SELECT i.inhrelid FROM pg_inherits i JOIN below b ON i.inhparent = b.oid)
SELECT DISTINCT k.relkind::text FROM below JOIN pg_class k ON k.oid = below.oid), ' ')
FROM pg_class c WHERE c.oid = to_regclass('{table}')
"""
_WORDS = {"v": "a view", "f": "a foreign table"}
# Encodings in which every byte has a letter in UTF-8, or which are UTF-8; text in another one is read as the bytes it is.
_LETTERS = {"UTF8", "LATIN1", "LATIN2", "LATIN4", "LATIN5", "LATIN6", "LATIN7", "LATIN8", "LATIN9", "LATIN10", "ISO_8859_5",
            "KOI8R", "KOI8U", "WIN866", "WIN1256"}  # fmt: skip
_PLAIN = {
    "int2": pa.int16(), "int4": pa.int32(), "int8": pa.int64(), "float4": pa.float32(), "float8": pa.float64(),
    "bool": pa.bool_(), "text": pa.string(), "varchar": pa.string(), "bytea": pa.binary(), "time": pa.time64("us"),
}  # fmt: skip
_MOMENTS = {"date": pa.date32(), "timestamp": pa.timestamp("us"), "timestamptz": pa.timestamp("us", "UTC")}


class Postgres(Connection):
    """A connection with its transaction begun."""

    def __init__(self, address: Address) -> None:
        try:
            from adbc_driver_postgresql import dbapi
        except ImportError:
            raise InvalidRequest("a table in PostgreSQL needs the package adbc-driver-postgresql; "
                                 "pip install 'discreet[databases]'") from None  # fmt: skip
        self._address = address
        self._table = ".".join(_quoted(name) for name in address.names)
        uri = address.url.set(drivername="postgresql").render_as_string(hide_password=False)
        try:
            self._connection = dbapi.connect(uri, autocommit=False)
        except Exception:
            raise unreachable(address) from None
        try:
            for words in _BEGIN:
                self._run(words)
            stored = self._run("SELECT current_setting('server_encoding')").column(0)[0].as_py()
            self._run(f"SET LOCAL client_encoding = '{'UTF8' if stored in _LETTERS else stored}'")
        except Exception:
            self.close()
            raise unreachable(address) from None
        self._known: dict[str, tuple[str, str]] = {}
        self._computed: set[str] = set()

    def types(self) -> dict[str, tuple[str, Any]]:
        try:
            found = self._run(_COLUMNS.format(table=self._as_text())).to_pylist()
        except Exception:
            raise unreachable(self._address) from None
        if not found:
            raise InvalidRequest(f"there is no {self._address}", key="table", remedy="correct ?table= in the address")
        columns = [tuple(row.values()) for row in found]
        self._known = {name: (_read_as(_quoted(name), kind, category), kind) for name, kind, _, category, _ in columns}
        self._computed = {name for name, _, _, _, stored in columns if not stored}
        return {name: (said, {**_PLAIN, **_MOMENTS}.get(kind, pa.string())) for name, kind, said, _, _ in columns}

    def check(self, columns: Sequence[str]) -> None:
        self._check_stored(columns)
        try:
            self._run(f"{self._select(columns)} LIMIT 0")
        except Exception:
            raise InvalidRequest(
                f"the {self._address} may not be read by this user", key="table", remedy="have SELECT on it granted"
            ) from None
        self._check_stored(columns)  # again: from here on the table is locked against becoming another one

    def _check_stored(self, columns: Sequence[str]) -> None:
        """Refuse what is computed when it is read."""
        (chosen, kinds), *_ = [
            *(row.values() for row in self._run(_STORED.format(table=self._as_text())).to_pylist()),
            (False, ""),
        ]
        odd = [_WORDS.get(kind, "no table") for kind in kinds.split() or [""] if kind not in ("r", "p", "m")]
        if odd:
            raise computed(self._address, f"is or holds {odd[0]}", "store it by CREATE MATERIALIZED VIEW")
        if chosen:
            raise computed(self._address, "has a row security policy for this user",
                           "read it as a user with BYPASSRLS, or store it by CREATE MATERIALIZED VIEW")  # fmt: skip
        for name in columns:
            if name in self._computed:
                raise computed(self._address, f"computes {name!r} when it is read", "store that in a column of a table")

    def batches(self, columns: Sequence[str], rows: int) -> Iterator[Any]:
        if not self._known:
            self.types()
        with self._connection.cursor() as cursor:
            cursor.execute(self._select(columns))
            for found in cursor.fetch_record_batch():
                yield from _slices(found, rows)

    def close(self) -> None:
        with suppress(Exception):
            self._connection.close()

    def _select(self, columns: Sequence[str]) -> str:
        read = ", ".join(f"{self._known[name][0]} AS {_quoted(name)}" for name in columns)
        return f"SELECT {read} FROM {self._table}"  # noqa: S608  names are quoted

    def _as_text(self) -> str:
        return self._table.replace("'", "''")

    def _run(self, words: str) -> Any:
        with self._connection.cursor() as cursor:
            cursor.execute(words)
            return cursor.fetch_arrow_table() if cursor.description else None


def _read_as(name: str, kind: str, category: str) -> str:
    """How a column is read, so that a cell means what it means elsewhere."""
    if kind in _PLAIN:
        return name
    if kind in _MOMENTS:
        return f"CASE WHEN isfinite({name}) THEN {name} END"
    if kind == "numeric":
        return f"trim_scale({name})::text"
    if category in ("A", "C", "R"):  # lists, records and ranges are no cells
        return "NULL::text"
    return f"{name}::text"


def _slices(found: Any, rows: int) -> Iterator[Any]:
    for start in range(0, found.num_rows, rows):
        yield found.slice(start, rows)


def _quoted(name: str) -> str:
    doubled = name.replace('"', '""')
    return f'"{doubled}"'
