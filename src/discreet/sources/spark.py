"""A table on a Spark cluster: every partition is folded where it lies, and only partial results travel.

The workers need this package. With a person column the rows are brought together by id and put in its order within
each partition, so a worker sees whole people without holding a whole partition.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import pyarrow as pa

from discreet.core.dialect import Dialect
from discreet.core.random import system
from discreet.core.schema import Schema
from discreet.errors import InvalidRequest, UnsupportedFormat
from discreet.sources import stream
from discreet.sources.base import BATCH_ROWS, BaseSource, Selection, check_columns
from discreet.sources.batch import Batch
from discreet.sources.files import DELIMITERS, PARQUET, describe_files
from discreet.sources.people import DEFAULT_SALT

S = TypeVar("S")
_JAVA = {"utf-8": "UTF-8", "latin-1": "ISO-8859-1", "mac-roman": "x-MacRoman", "koi8-r": "KOI8-R"} | {
    f"cp125{n}": f"windows-125{n}" for n in range(9)
}
_TEXTS = ("string", "char", "varchar")
_OTHER_IDS = (
    "binary", "boolean", "byte", "short", "integer", "long", "float", "double", "decimal", "date", "time", "timestamp",
    "timestamp_ntz", "void",
)  # fmt: skip


class SparkSource(BaseSource):
    """A Spark DataFrame, or a path read by a session.

    Its version is random for a DataFrame, which may read anything; for a local path it is that of its files. Without a
    person column rows have no lasting number: a split then goes by their values (equal rows stay together), under
    add/remove only, and a sample draws each row by its partition and place in it, so that two folds of it agree only
    where Spark partitions the rows alike.
    """

    numbered = False

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
        self._frame = table if self._path is None else _open(str(table), session, schema.dialect)
        if type(self._frame).__module__.startswith("pyspark.sql.connect"):
            raise InvalidRequest("a Spark table must come from a classic session, got a remote one; submit the job instead")
        check_columns(schema, self._frame.columns)
        if schema.person is not None:
            _check_kind(self._frame.schema[schema.person].dataType)

    def fold(self, map: Callable[[Batch], S], combine: Callable[[S, S], S], columns: Sequence[str]) -> S:  # noqa: A002
        work = _Work(map, combine, self._selection, self._batch_rows)
        with warnings.catch_warnings():
            # PySpark 4 says so of every pandas 3; records come here as Arrow and never meet pandas.
            warnings.filterwarnings("ignore", "PySpark does not yet fully support pandas", FutureWarning)
            packed = self._gathered(self._needed(columns)).mapInArrow(_pack, "records binary")
        # Partial results travel as Spark moves any object of a job; nothing is unpacked by this package.
        total = packed.rdd.mapPartitions(work.partition).treeAggregate((), work.join, work.join)
        result: S = total[0] if total else map(self._empty(columns))
        return result

    def _gathered(self, columns: Sequence[str]) -> Any:
        from pyspark.sql import functions

        person = self.schema.person
        # A table is never read with no column at all: its rows still have to be counted.
        frame = self._frame.select(*(_quoted(name) for name in columns or self._frame.columns[:1]))
        if person is None:
            return frame
        kind = self._frame.schema[person].dataType.typeName()
        column = functions.col(_quoted(person))
        if kind in _TEXTS:
            # As bytes: two texts that a collation takes for one would be cut apart in the middle of their rows.
            column = column.cast("binary")
        if kind in _TEXTS or kind == "binary":
            column = functions.when(functions.length(column) > 0, column)
        elif kind in ("float", "double"):
            zero = functions.when(column == 0, 0.0).otherwise(column)  # -0.0 is the same person
            column = functions.when(~functions.isnan(column), zero)
        frame = frame.withColumn(person, column)
        return frame.repartition(_quoted(person)).sortWithinPartitions(_quoted(person))

    def _content(self) -> str:
        if self._path is None or not self._path.exists():
            return self._random
        files = [self._path] if self._path.is_file() else sorted(p for p in self._path.rglob("*") if p.is_file())
        return describe_files([path.resolve() for path in files])


class _Work:
    """What a worker does. A partial result is a tuple of one, or an empty one where a partition has no records."""

    def __init__(self, map_: Any, combine: Any, selection: Selection, rows: int) -> None:
        self.map = map_
        self.combine = combine
        self.selection = selection
        self.rows = rows

    def partition(self, packed: Iterable[Any]) -> Iterator[tuple[Any, ...]]:
        """The partial result of one partition."""
        rules = self.selection.rules
        arrived = _unpack(packed)
        if rules.schema.person is None:
            from pyspark import TaskContext

            found = stream.plain(arrived, rules, TaskContext.get().partitionId())
        else:
            found = stream.whole_people(arrived, rules, self.rows)
        total: tuple[Any, ...] = ()
        with np.errstate(all="ignore"):  # as in the runner: a worker writes no warning because of what a record holds
            for batch in found:
                total = self.join(total, (self.map(self.selection.apply(batch) if self.selection else batch),))
        yield total

    def join(self, left: tuple[Any, ...], right: tuple[Any, ...]) -> tuple[Any, ...]:
        """Two partial results as one."""
        return (self.combine(left[0], right[0]),) if left and right else left or right


def _pack(arrived: Iterable[Any]) -> Iterator[Any]:
    """Record batches as Arrow's own bytes, one row for each."""
    for found in arrived:
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, found.schema) as writer:
            writer.write_batch(found)
        yield pa.RecordBatch.from_arrays([pa.array([sink.getvalue().to_pybytes()], pa.binary())], names=["records"])


def _unpack(packed: Iterable[Any]) -> Iterator[Any]:
    for row in packed:
        with pa.ipc.open_stream(bytes(row["records"])) as reader:
            yield from reader


def _open(path: str, session: Any, dialect: Dialect) -> Any:
    if session is None:
        raise InvalidRequest(f"the path {path!r} needs a Spark session to read it; pass spark=session")
    name = path.lower().rstrip("/")
    try:
        for ending, delimiter in DELIMITERS.items():
            if name.endswith(ending):
                # The types of a CSV file are not guessed from its records: everything is text.
                # Whole lines are parsed whatever is asked for, and a line that does not fit has missing cells.
                read = session.read.option("columnPruning", "false").option("mode", "PERMISSIVE")
                mark = dialect.quote or "\0"  # a letter that no text holds: quotes are then letters like any other
                return read.csv(
                    path, header=True, inferSchema=False, sep=dialect.delimiter or delimiter, quote=mark, escape=mark,
                    encoding=_JAVA.get(dialect.encoding, dialect.encoding),
                )  # fmt: skip
        if name.endswith(PARQUET) or Path(path).is_dir():
            return session.read.parquet(path)
    except Exception as problem:
        raise UnsupportedFormat(f"Spark cannot open {path!r} ({type(problem).__name__}); check the path") from None
    raise UnsupportedFormat(f"a table must end in one of {', '.join((*DELIMITERS, *PARQUET))}, got {path!r}")


def _check_kind(kind: Any) -> None:
    """Refuse a person column of a type whose cells have no one form; see ``ids.check_kind``."""
    if kind.typeName() not in (*_TEXTS, *_OTHER_IDS):
        raise InvalidRequest(
            f"a person column must hold text, bytes, numbers, dates or times, got {kind.simpleString()}; convert it first"
        )


def _quoted(name: str) -> str:
    doubled = name.replace("`", "``")
    return f"`{doubled}`"
