"""DuckDB as every reader of files uses it: its limits, its silence, and names and texts quoted for it."""

from __future__ import annotations

import contextlib
import glob
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

THREADS = min(4, os.cpu_count() or 1)  # every thread of a sort holds buffers of its own


@contextlib.contextmanager
def connected(spill: str, memory: str | None = None, *, threads: int = THREADS, ordered: bool = True) -> Iterator[Any]:
    """A connection that is closed at the end. ``spill`` is the folder for what does not fit into memory; "" for none.

    Left to itself, DuckDB would spill into a folder beside whoever calls, and show on standard output how far a scan is.
    """
    import duckdb

    limits: dict[str, Any] = {"temp_directory": spill, "threads": threads} | ({"memory_limit": memory} if memory else {})
    connection = duckdb.connect(config=limits)
    try:
        connection.execute("SET enable_progress_bar = false")
        connection.execute(f"SET preserve_insertion_order = {str(ordered).lower()}")  # order costs memory
        yield connection
    finally:
        connection.close()


def out_of_memory(problem: BaseException) -> bool:
    """Whether memory did not suffice, as far as DuckDB and Arrow say so.

    What DuckDB raises after the first rows comes through Arrow's stream, which keeps no class: its text begins with it,
    before anything that may quote a record.
    """
    import duckdb

    streamed = isinstance(problem, OSError) and str(problem).startswith("Out of Memory Error")
    return streamed or isinstance(problem, MemoryError | duckdb.OutOfMemoryException)


def name(given: str) -> str:
    """A name of a column in SQL."""
    doubled = given.replace('"', '""')
    return f'"{doubled}"'


def text(given: str) -> str:
    """A text in SQL."""
    doubled = given.replace("'", "''")
    return f"'{doubled}'"


def listed(paths: Sequence[Path]) -> str:
    """A list of files in SQL, as they are and not as patterns."""
    return f"[{', '.join(text(glob.escape(str(path))) for path in paths)}]"


def parquet(paths: Sequence[Path]) -> str:
    """The table in Parquet files, in SQL."""
    return f"read_parquet({listed(paths)})"
