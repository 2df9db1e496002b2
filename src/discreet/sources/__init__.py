"""Where records live: in memory, in files, on a cluster. All give the same records to the same NumPy code."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from discreet.core.schema import Schema
from discreet.errors import InvalidRequest
from discreet.sources.base import BATCH_ROWS, BaseSource, LocalSource
from discreet.sources.batch import Batch
from discreet.sources.choosing import DEFAULT_SALT
from discreet.sources.joining import Join

__all__ = ["Batch", "open_source"]


def open_source(
    table: Any,
    schema: Schema,
    *,
    spark: Any = None,
    salt: int = DEFAULT_SALT,
    batch_rows: int | None = None,
    memory: str = "400MB",
    version: str | None = None,
    dialect: Mapping[str, Any] | None = None,
) -> BaseSource:
    """The source of a table under a schema.

    ``table`` is a dict of arrays, a NumPy array (columns in the order of the schema, the id last), a pandas, Polars or
    Arrow table, a dataset of Arrow over files, the path of a CSV or Parquet file, a pattern or a list of paths, the address
    of a table in a database (``postgresql://host/db?table=visits``), or a Spark DataFrame; with ``spark=session`` a path is
    read by that session.
    ``salt`` decides which rows a person keeps and which part of a split a person is in; ``memory`` is for bringing the rows
    of a person together. ``version`` is the custodian's public word for this state of the table; without it files go by
    path, size and time of change, and a table in memory counts as new each time. A source opens without looking at a
    record. ``dialect`` may say again how cells are written, as in ``{"delimiter": ";"}``: the schema declares it, and what
    contradicts that is refused.
    """
    if isinstance(schema, Schema):
        schema.dialect.check(dialect)
    if version is not None and (not isinstance(version, str) or not version):
        raise InvalidRequest(f"version must be some text, got {version!r}")
    if version is None and (is_address(table) or _is_frame(table, spark)):
        raise InvalidRequest(
            f"a {'table in a database' if is_address(table) else 'Spark frame'} needs version=, a public word for its state",
            key="version",
            remedy="give one, such as version='2026-01', and another whenever its rows change",
        )
    if isinstance(table, Join):
        return _joined(table, schema, salt, batch_rows, memory, version)
    source = _open(table, schema, spark, salt, batch_rows, memory)
    source._declared = version
    return source


def _joined(join: Join, schema: Schema, salt: int, batch_rows: int | None, memory: str, version: str | None) -> BaseSource:
    """The source of a join: each table by itself, under its own schema and version."""
    from discreet.sources.joined import JoinedSource, lookup_schema

    if schema != join.schema:
        raise InvalidRequest("the schema of a join is worked out, got another; pass join.schema")

    def local(table: Any, declared: Schema, word: str | None) -> LocalSource:
        found = open_source(table, declared, salt=salt, batch_rows=batch_rows, memory=memory, version=word)
        if not isinstance(found, LocalSource):
            raise InvalidRequest("tables are joined in this process, got one of Spark; join them there, in one frame")
        return found

    first = local(join.table, join.first, version)
    others = [local(each.table, each.schema, each.version) for each in join.people]
    lookups = [local(each.table, lookup_schema(each, join.first), None) for each in join.lookups]
    return JoinedSource(join, first, others, lookups, salt, batch_rows or BATCH_ROWS)


def _open(table: Any, schema: Schema, spark: Any, salt: int, batch_rows: int | None, memory: str) -> BaseSource:
    if not isinstance(schema, Schema):
        raise InvalidRequest(f"schema must be a Schema, got {type(schema).__name__}; read one with Schema.from_toml")
    if spark is not None or type(table).__module__.startswith("pyspark."):
        from discreet.sources.spark import SparkSource

        return SparkSource(table, schema, spark, salt, batch_rows or BATCH_ROWS)
    if is_address(table):
        from discreet.sources.database_table import DatabaseSource

        return DatabaseSource(table, schema, salt, batch_rows or BATCH_ROWS, memory)
    if isinstance(table, str) and "://" in table:
        from discreet.sources.remote_files import SCHEMES, RemoteFiles

        if table.partition("://")[0] not in SCHEMES:
            raise InvalidRequest(
                "the address of a table begins with postgresql:// or the like and names ?table=, or leads to Parquet files "
                f"({', '.join(f'{word}://' for word in SCHEMES)})",
                key="table",
            )
        return RemoteFiles(table, schema, salt, batch_rows or BATCH_ROWS, memory)
    if _is_paths(table):
        from discreet.sources.files import FileSource

        return FileSource(table, schema, salt, batch_rows or BATCH_ROWS, memory)
    from discreet.sources.dataset import DatasetFiles, is_dataset
    from discreet.sources.memory import MemorySource

    if is_dataset(table):
        return DatasetFiles(table, schema, salt, batch_rows or BATCH_ROWS, memory)
    return MemorySource(table, schema, salt, batch_rows)


def is_address(table: Any) -> bool:
    """Whether a table is given by the address of a database, as in ``postgresql://host/db?table=visits``."""
    return isinstance(table, str) and "://" in table and "table=" in table.partition("?")[2]


def _is_frame(table: Any, spark: Any) -> bool:
    """Whether Spark reads it, and no file on this machine says when it changes."""
    if type(table).__module__.startswith("pyspark."):
        return True
    return spark is not None and isinstance(table, str) and "://" in table


def _is_paths(table: Any) -> bool:
    if isinstance(table, str | Path):
        return True
    return isinstance(table, Sequence) and bool(table) and all(isinstance(path, str | Path) for path in table)
