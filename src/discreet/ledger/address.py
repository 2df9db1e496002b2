"""A ledger's address, and where its file lies: a relative path must mean one file, in whichever folder a program is run.

A budget belongs to people, and so to their table: a relative path is taken from where the table's file lies. Taken from the
current folder, the same program run in two folders would make two ledgers and spend the budget twice.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError

from discreet.errors import InvalidRequest

SQLITE = "sqlite:///"


def for_table(url: str, table: Any, schema: Any) -> str:
    """The address of a session's ledger: beside the table's file, or else the schema's; refused where there is neither."""
    path = _relative(url)
    if path is None:
        return url
    folder = folder_of(table) or folder_of(schema)
    if folder is None:
        raise InvalidRequest(
            f"a ledger's path must mean one file in every folder, got {url!r} for a table in memory; write it in full, as "
            f"in {SQLITE}{Path.cwd() / path}"
        )
    return one_place(path, folder, Path.cwd())


def one_place(path: Path, folder: Path, elsewhere: Path | None) -> str:
    """The address of ``path`` in ``folder``; refused where a ledger of that name lies in the other place it may mean."""
    meant, other = folder / path, None if elsewhere is None else elsewhere / path
    if other is not None and other.exists() and not (meant.exists() and meant.samefile(other)):
        raise InvalidRequest(
            f"a ledger's path must mean one file, got {str(path)!r}: that is {str(meant)!r} here, and there is one at "
            f"{str(other)!r}; write the path in full, as in {SQLITE}{other}"
        )
    return f"{SQLITE}{meant}"


def _relative(url: str) -> Path | None:
    """The relative path of an SQLite file; None for every other address, and for what is none."""
    try:
        parsed = make_url(url)
    except (ArgumentError, ValueError, AttributeError):
        return None  # the ledger says what an address must be
    name = parsed.database
    if not parsed.drivername.startswith("sqlite") or not name or name == ":memory:" or name.startswith("file:"):
        return None
    return None if parsed.query or Path(name).is_absolute() else Path(name)


def folder_of(given: Any) -> Path | None:
    """The folder that holds a file, a pattern's files or all of several; None for what is no path."""
    if isinstance(given, str | Path):
        given = [given]
    if not isinstance(given, Sequence) or not given or not all(isinstance(p, str | Path) for p in given):
        return None
    if any("://" in str(p) for p in given):
        return None
    return Path(os.path.commonpath([_plain_parent(Path(p).absolute()) for p in given]))


def _plain_parent(path: Path) -> Path:
    """The innermost folder above a path that no pattern is part of."""
    for parent in path.parents:
        if not any(sign in str(parent) for sign in "*?["):
            return parent
    return path.parent


def without_password(text: str) -> str:
    """An address as it may be shown, also one that cannot be read: whatever stands before the host is left out."""
    return re.sub(r"://.*@", "://***@", text, flags=re.DOTALL)


def shown(url: URL) -> str:
    """An address as it may be shown: without a password, also in its options."""
    kept = {key: value for key, value in url.query.items() if "pass" not in key.lower()}
    where = URL.create(url.drivername, url.username, None, url.host, url.port, url.database, kept)
    return where.render_as_string(hide_password=True)


def parse(text: str) -> URL:
    """The address of a database we know how to lock."""
    known = "'sqlite:///file.db', 'sqlite://' (in memory), 'postgresql://user@host/database' or 'test'"
    try:
        url = make_url(text)
    except (ArgumentError, ValueError):
        file = "" if ":" in text else f"; for a file write 'sqlite:///{text}'"
        raise InvalidRequest(f"a ledger's address must be {known}, got {without_password(text)!r}{file}") from None
    if url.drivername in ("postgresql", "postgres", "postgresql+psycopg"):
        return url.set(drivername="postgresql+psycopg")
    if url.drivername in ("sqlite", "sqlite+pysqlite"):
        if url.query or (url.database or "").startswith("file:"):
            # Options such as nolock=1 or immutable=1 would turn off what keeps two writers apart.
            shown = without_password(text)
            raise InvalidRequest(f"an SQLite ledger takes a plain path without options, got {shown!r}; drop the options")
        # Connections are opened anew later on, perhaps after a change of folder: they must find the same file.
        return url if url.database in (None, "", ":memory:") else url.set(database=os.path.abspath(url.database))
    raise InvalidRequest(f"a ledger's address must be {known}, got one for {url.drivername!r}")
