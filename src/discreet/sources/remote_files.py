"""Parquet files where Arrow's file systems reach: ``s3://bucket/visits/``, ``gs://``, ``abfs://``, ``hdfs://``, ``file://``.

Credentials come from the environment, as those file systems take them. A folder stands for all Parquet files below it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from discreet.core.schema import Schema
from discreet.errors import InvalidRequest, UnsupportedFormat
from discreet.sources import cell_meaning
from discreet.sources.base import BATCH_ROWS
from discreet.sources.choosing import DEFAULT_SALT
from discreet.sources.files import PARQUET, named_once, record_batches
from discreet.sources.resting import RestingFiles

SCHEMES = ("s3", "gs", "gcs", "abfs", "abfss", "hdfs", "viewfs", "file")


class RemoteFiles(RestingFiles):
    """Parquet files behind an address."""

    def __init__(
        self,
        address: str,
        schema: Schema,
        salt: int = DEFAULT_SALT,
        batch_rows: int = BATCH_ROWS,
        memory: str = "400MB",
    ) -> None:
        shown = address.partition("://")[2].rpartition("@")[2]  # without a user or a key
        super().__init__(schema, salt, batch_rows, memory, shown)
        self._files, self._path = self._reached(address)
        self._opened()

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

    def _described(self) -> Any:
        types = [self._footer(info.path) for info in self._listed()]
        if not types:
            raise InvalidRequest(f"there is no Parquet file at {self._shown!r}", key="table", remedy="check the address")
        if any(found != types[0] for found in types):
            raise UnsupportedFormat(f"the files of a table must have the same columns, those at {self._shown!r} do not")
        return types[0]

    def _footer(self, path: str) -> Any:
        from pyarrow import parquet

        try:
            found = parquet.read_schema(path, filesystem=self._files).remove_metadata()
        except Exception:
            raise UnsupportedFormat(f"a file at {self._shown!r} is not a whole Parquet file; copy it again") from None
        return named_once(found, self._shown)

    def _arrived(self, read: Sequence[str], types: Any, *, coded: bool) -> Iterator[Any]:
        from pyarrow import parquet

        texts = [name for name in read if coded and cell_meaning.is_text(types.field(name).type)]
        try:
            for info in self._listed():
                with (
                    self._files.open_input_file(info.path) as opened,
                    parquet.ParquetFile(opened, read_dictionary=texts) as stored,
                ):
                    yield from record_batches(stored, self._batch_rows, list(read))
        except Exception:  # its words may quote a record
            raise UnsupportedFormat(f"a file at {self._shown!r} is damaged, changed or gone; open it again") from None

    def _content(self) -> str:
        return repr([(each.path, each.size, each.mtime_ns) for each in self._listed()])

    def _unreachable(self) -> InvalidRequest:
        return InvalidRequest(
            f"the files at {self._shown!r} cannot be reached, or may not be read",
            key="table",
            remedy="check the address, and the credentials in the environment",
        )
