"""A dataset of Arrow over Parquet files, such as a Delta table at one of its versions.

    ds.Session(DeltaTable("s3://clinic/visits", version=7).to_pyarrow_dataset(), schema, ...)

The files of a version of such a table are written once. Those of any other dataset may change, and are then refused.

Every file says the types of its columns itself, and all say the same. A column that folders name has a type that Arrow
guesses from all their names, and one that is of another type in one file is converted while it is read, which a cell can
make fail: one person's row would decide how the others' are read.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from discreet.core.schema import Schema
from discreet.errors import InvalidRequest, UnsupportedFormat
from discreet.sources.base import BATCH_ROWS
from discreet.sources.choosing import DEFAULT_SALT
from discreet.sources.files import named_once
from discreet.sources.resting import RestingFiles

_SHOWN = "the dataset"


def _own_types(part: Any) -> Any:
    try:
        return part.physical_schema
    except Exception:  # its words may hold a key
        raise UnsupportedFormat("a file of the dataset is damaged, changed or gone; open it again") from None


def is_dataset(table: Any) -> bool:
    """Whether a table is a dataset of Arrow, of whatever kind."""
    return any(kind.__module__ == "pyarrow._dataset" and kind.__name__ == "Dataset" for kind in type(table).__mro__)


class DatasetFiles(RestingFiles):
    """The files that a dataset names, as they were when it was opened."""

    def __init__(
        self,
        dataset: Any,
        schema: Schema,
        salt: int = DEFAULT_SALT,
        batch_rows: int = BATCH_ROWS,
        memory: str = "400MB",
    ) -> None:
        super().__init__(schema, salt, batch_rows, memory, _SHOWN)
        if not hasattr(dataset, "files"):
            raise InvalidRequest(f"a dataset must be of files, got {type(dataset).__name__}; read it into a table first")
        self._dataset = dataset
        self._opened()

    def _described(self) -> Any:
        types = named_once(self._dataset.schema.remove_metadata(), _SHOWN)
        if type(self._dataset.format).__name__ != "ParquetFileFormat":
            raise UnsupportedFormat("the files of a dataset must be Parquet; types of others are guessed from their records")
        read = {*self.schema.stored, *([] if self.schema.person is None else [self.schema.person])}
        for part in self._parts():
            own = _own_types(part)
            for name in sorted(read.intersection(types.names)):
                if name not in own.names:
                    raise UnsupportedFormat(
                        f"the column {name!r} must be in every file of the dataset, and one does not have it: a type "
                        "that is guessed from names of folders is nobody's declaration; write the column into the files"
                    )
                if own.field(name).type != types.field(name).type:
                    raise UnsupportedFormat(
                        f"the column {name!r} must have one type in all files of the dataset, got {own.field(name).type} "
                        f"and {types.field(name).type}; write it with one of them"
                    )
        return types

    def _parts(self) -> Any:
        """The files; a filter would be computed while they are read, and could fail because of a record."""
        try:
            return self._dataset.get_fragments()
        except ValueError:
            raise InvalidRequest(
                "a dataset must be of whole files, got one with a filter, which could fail because of a record",
                key="table",
                remedy="pass the dataset without it and ask with where=, or write what it chooses",
            ) from None

    def _now(self) -> tuple[str, Any]:
        if self._content() != self._state:
            raise UnsupportedFormat("the files of the dataset are not those that were opened; open it again")
        return self._state, self._types

    def _arrived(self, read: Sequence[str], types: Any, *, coded: bool) -> Iterator[Any]:
        try:
            yield from self._dataset.scanner(columns=list(read), batch_size=self._batch_rows, batch_readahead=2).to_batches()
        except Exception:  # its words may quote a record
            raise UnsupportedFormat("a file of the dataset is damaged, changed or gone; open it again") from None

    def _content(self) -> str:
        try:
            found = self._dataset.filesystem.get_file_info(self._dataset.files)
        except Exception:  # its words may hold a key
            raise UnsupportedFormat("the files of the dataset cannot be reached; open it again") from None
        return repr([(each.path, each.size, each.mtime_ns) for each in found])
