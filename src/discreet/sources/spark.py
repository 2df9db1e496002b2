"""A table on a Spark cluster: every partition is folded where it lies, and only partial results travel.

The workers need this package. With a person column the rows are brought together by id and put in its order within
each partition, so a worker sees whole people without holding a whole partition.
"""

from __future__ import annotations

import pickle
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, Literal, TypeVar

import pyarrow as pa

from discreet.core.random import system
from discreet.core.schema import Schema
from discreet.errors import InvalidRequest, UnsupportedFormat
from discreet.sources import stream
from discreet.sources.base import BATCH_ROWS, BaseSource, Selection, check_columns
from discreet.sources.batch import Batch
from discreet.sources.files import DELIMITERS, PARQUET, describe_files
from discreet.sources.people import DEFAULT_SALT

S = TypeVar("S")
_MERGERS = 8  # partial results are combined on so many workers first, and the driver combines what these make


class SparkSource(BaseSource):
    """A Spark DataFrame, or a path read by a session.

    Its version is random for a DataFrame, which may read anything; for a local path it is that of its files. Without a
    person column rows have no lasting number: a split then goes by their values, under add/remove only.
    """

    def __init__(
        self,
        table: Any,
        schema: Schema,
        session: Any = None,
        salt: int = DEFAULT_SALT,
        batch_rows: int = BATCH_ROWS,
    ) -> None:
        super().__init__(schema, salt, batch_rows)
        self._path = Path(table) if isinstance(table, str | Path) else None
        self._random = system().words(2).tobytes().hex()
        self._frame = table if self._path is None else _open(str(table), session)
        check_columns(schema, self._frame.columns)

    def fold(self, map: Callable[[Batch], S], combine: Callable[[S, S], S], columns: Sequence[str]) -> S:  # noqa: A002
        frame = self._gathered(self._needed(columns))
        work = _Work(map, combine, self._selection, self._batch_rows)
        with warnings.catch_warnings():
            # PySpark 4 says so of every pandas 3; records come here as Arrow and never meet pandas.
            warnings.filterwarnings("ignore", "PySpark does not yet fully support pandas", FutureWarning)
            partial = frame.mapInArrow(work.partition, "part binary")
            partial = partial.repartition(_MERGERS).mapInArrow(work.merge, "part binary")
        total: S | None = None
        first = True
        for row in partial.collect():
            # Made by our own workers within this job; nothing from outside is ever unpickled.
            part = pickle.loads(row["part"])  # noqa: S301
            total = part if first else combine(total, part)  # type: ignore[arg-type]
            first = False
        return map(self._empty(columns)) if first else total  # type: ignore[return-value]

    def _batches(self, columns: Sequence[str]) -> Iterator[Batch]:
        raise NotImplementedError("a Spark table is folded on its workers")

    def _gathered(self, columns: Sequence[str]) -> Any:
        from pyspark.sql import functions

        person = self.schema.person
        # A table is never read with no column at all: its rows still have to be counted.
        frame = self._frame.select(*(_quoted(name) for name in columns or self._frame.columns[:1]))
        if person is None:
            return frame
        kind = dict(self._frame.dtypes)[person]
        column = functions.col(_quoted(person))
        if kind == "string":
            frame = frame.withColumn(person, functions.when(column != "", column))
        elif kind in ("float", "double"):
            frame = frame.withColumn(person, functions.when(~functions.isnan(column), column))
        return frame.repartition(_quoted(person)).sortWithinPartitions(_quoted(person))

    def _split_by(self) -> Literal["person", "row", "values", "remainder"]:
        if self.schema.person is None and self.schema.neighbors != "add_remove":
            raise InvalidRequest(
                f"a Spark table without a person column must not be split under neighbors={self.schema.neighbors!r}: "
                "its rows have no lasting number; declare person= and max_rows="
            )
        return "values" if self.schema.person is None else "person"

    def _content(self) -> str:
        if self._path is None or not self._path.exists():
            return self._random
        files = [self._path] if self._path.is_file() else sorted(p for p in self._path.rglob("*") if p.is_file())
        return describe_files([path.resolve() for path in files])


class _Work:
    """What a worker does: fold one partition, or merge partial results. Spark carries it to the workers."""

    def __init__(self, map_: Any, combine: Any, selection: Selection, rows: int) -> None:
        self.map = map_
        self.combine = combine
        self.selection = selection
        self.rows = rows

    def partition(self, arrived: Iterable[Any]) -> Iterator[Any]:
        """One partial result of a partition, none of an empty one."""
        rules = self.selection.rules
        if rules.schema.person is None:
            from pyspark import TaskContext

            task = TaskContext.get()
            found = stream.plain(arrived, rules, task.partitionId() if task is not None else 0)
        else:
            found = stream.whole_people(arrived, rules, self.rows)
        chosen = self.selection if self.selection else None
        yield from self._one(self.map(b if chosen is None else chosen.apply(b)) for b in found if b.size)

    def merge(self, arrived: Iterable[Any]) -> Iterator[Any]:
        """One partial result of many."""
        parts = (part for batch in arrived for part in batch.column(0).to_pylist())
        yield from self._one(pickle.loads(part) for part in parts)  # noqa: S301  made by our own workers, as above

    def _one(self, parts: Iterable[Any]) -> Iterator[Any]:
        total: Any = None
        first = True
        for part in parts:
            total = part if first else self.combine(total, part)
            first = False
        if not first:
            made = pickle.dumps(total, protocol=pickle.HIGHEST_PROTOCOL)
            yield pa.RecordBatch.from_arrays([pa.array([made], pa.binary())], names=["part"])


def _open(path: str, session: Any) -> Any:
    if session is None:
        raise InvalidRequest(f"the path {path!r} needs a Spark session to read it; pass spark=session")
    name = path.lower().rstrip("/")
    try:
        for ending, delimiter in DELIMITERS.items():
            if name.endswith(ending):
                # The types of a CSV file are not guessed from its records: everything is text.
                return session.read.csv(path, header=True, inferSchema=False, sep=delimiter, quote='"', escape='"')
        if name.endswith(PARQUET) or Path(path).is_dir():
            return session.read.parquet(path)
    except Exception as problem:
        raise UnsupportedFormat(f"Spark cannot open {path!r} ({type(problem).__name__}); check the path") from None
    raise UnsupportedFormat(f"a table must end in one of {', '.join((*DELIMITERS, *PARQUET))}, got {path!r}")


def _quoted(name: str) -> str:
    doubled = name.replace("`", "``")
    return f"`{doubled}`"
