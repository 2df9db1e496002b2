"""Parquet files where Arrow's file systems reach: ``s3://bucket/visits/``, ``gs://``, ``abfs://``, ``hdfs://``, ``file://``.

Credentials come from the environment, as those file systems take them. A folder stands for all Parquet files below it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from discreet.core.schema import Schema
from discreet.errors import InvalidRequest, UnsupportedFormat
from discreet.sources import cells, stream, together
from discreet.sources.base import BATCH_ROWS, LocalSource, check_columns
from discreet.sources.batch import Batch
from discreet.sources.files import PARQUET, named_once
from discreet.sources.ids import check_kind
from discreet.sources.people import DEFAULT_SALT

SCHEMES = ("s3", "gs", "gcs", "abfs", "abfss", "hdfs", "viewfs", "file")


class RemoteFiles(LocalSource):
    """Parquet files behind an address. Their version is their names, sizes and times of change."""

    def __init__(
        self,
        address: str,
        schema: Schema,
        salt: int = DEFAULT_SALT,
        batch_rows: int = BATCH_ROWS,
        memory: str = "400MB",
    ) -> None:
        super().__init__(schema, salt, batch_rows)
        self._memory = memory
        self._shown = address.partition("://")[2].rpartition("@")[2]  # without a user or a key
        self._files, self._path = self._reached(address)
        types = [self._footer(info.path) for info in self._listed()]
        if not types:
            raise InvalidRequest(f"there is no Parquet file at {self._shown!r}", key="table", remedy="check the address")
        if any(found != types[0] for found in types):
            raise UnsupportedFormat(f"the files of a table must have the same columns, those at {self._shown!r} do not")
        self._types = types[0]
        check_columns(schema, self._types.names)
        if schema.person is not None:
            check_kind(self._types.field(schema.person).type)

    def _reached(self, address: str) -> tuple[Any, str]:
        from pyarrow import fs

        try:
            found: tuple[Any, str] = fs.FileSystem.from_uri(address)
        except Exception:  # its words may hold a key
            raise self._unreachable() from None
        return found

    def _listed(self) -> list[Any]:
        """The files, in a fixed order, as the file system describes them."""
        from pyarrow import fs

        try:
            info = self._files.get_file_info(self._path)
            if info.type == fs.FileType.Directory:
                found = self._files.get_file_info(fs.FileSelector(self._path, recursive=True))
            else:
                found = [info]
        except Exception:
            raise self._unreachable() from None
        files = [each for each in found if each.type == fs.FileType.File and each.path.lower().endswith(PARQUET)]
        return sorted(files, key=lambda each: str(each.path))

    def _footer(self, path: str) -> Any:
        from pyarrow import parquet

        try:
            found = parquet.read_schema(path, filesystem=self._files).remove_metadata()
        except Exception:
            raise UnsupportedFormat(f"a file at {self._shown!r} is not a whole Parquet file; copy it again") from None
        return named_once(found, self._shown)

    def _batches(self, columns: Sequence[str]) -> Iterator[Batch]:
        # A table is never read with no column at all: its rows still have to be counted.
        read = list(columns) or self._types.names[:1]
        rules = self._selection.rules
        if self.schema.person is None:
            yield from stream.plain(self._arrived(read, coded=True), rules)
        else:
            yield from together.whole_people(self._arrived(read, coded=False), rules, self._batch_rows, self._memory)

    def _arrived(self, read: list[str], *, coded: bool) -> Iterator[Any]:
        from pyarrow import parquet

        texts = [name for name in read if coded and cells.is_text(self._types.field(name).type)]
        before, listed = self._content(), self._listed()
        if not listed:
            raise UnsupportedFormat(f"a file at {self._shown!r} is damaged, changed or gone; open it again")
        try:
            for info in listed:
                with (
                    self._files.open_input_file(info.path) as opened,
                    parquet.ParquetFile(opened, read_dictionary=texts) as stored,
                ):
                    for found in stored.iter_batches(self._batch_rows, columns=read):
                        yield found.select(read)
        except Exception:  # its words may quote a record
            raise UnsupportedFormat(f"a file at {self._shown!r} is damaged, changed or gone; open it again") from None
        if self._content() != before:
            raise UnsupportedFormat(f"the files at {self._shown!r} changed while they were read; ask again when they rest")

    def _content(self) -> str:
        return repr([(each.path, each.size, each.mtime_ns) for each in self._listed()])

    def _unreachable(self) -> InvalidRequest:
        return InvalidRequest(
            f"the files at {self._shown!r} cannot be reached, or may not be read",
            key="table",
            remedy="check the address, and the credentials in the environment",
        )
