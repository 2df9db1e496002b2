"""A table on a Spark cluster: every partition is folded where it lies, and only partial results travel.

The workers need this package. With a person column the rows are brought together by id and put in its order within
each partition, so a worker sees whole people without holding a whole partition.
"""

from __future__ import annotations

import threading
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import reduce
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import pyarrow as pa

from discreet.core.dialect import Dialect
from discreet.core.schema import Schema
from discreet.errors import InvalidRequest, UnsupportedFormat
from discreet.sources import spark_plans, spark_workers, stream
from discreet.sources.base import BATCH_ROWS, BaseSource, Selection, check_columns
from discreet.sources.batch import Batch
from discreet.sources.choosing import DEFAULT_SALT
from discreet.sources.files import DELIMITERS, PARQUET, describe_files
from discreet.sources.parcels import pack, unpack

S = TypeVar("S")
_JAVA = {"utf-8": "UTF-8", "latin-1": "ISO-8859-1", "mac-roman": "x-MacRoman", "koi8-r": "KOI8-R"} | {
    f"cp125{n}": f"windows-125{n}" for n in range(9)
}
_TEXTS = ("string", "char", "varchar")
_MOST_FIELDS = 1 << 20  # of a line: Spark fails for more, by itself for more than 20480
_TIMES = ("timestamp", "timestamp_ntz")
_OTHER_IDS = (
    "binary", "boolean", "byte", "short", "integer", "long", "float", "double", "decimal", "date", "time", "timestamp",
    "timestamp_ntz", "void",
)  # fmt: skip


class SparkSource(BaseSource):
    """A Spark DataFrame, or a path read by a session, classic or by Connect: DataFrames only, no RDDs.

    A frame is a plan, made of what no record makes fail (``spark_plans``), and its version is the custodian's; for a local
    path it is that of its files. Without a person column rows have no lasting number: a split then goes by their values
    (equal rows stay together), under add/remove only, and a sample draws each row by its partition and place in it, so that
    two folds of it agree only where Spark partitions the rows alike.
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
        self._path = Path(table) if is_local(table) else None
        self._session = session
        self._state = None if self._path is None else self._content()
        self._by_plan = not isinstance(table, str | Path)
        if self._by_plan:
            spark_plans.check(table)
        self._frame = table if self._by_plan else _open(str(table), session, schema.dialect)
        check_columns(schema, self._frame.columns)
        if schema.person is not None:
            _check_kind(self._frame.schema[schema.person].dataType)
        if any(self._frame.schema[name].dataType.typeName() in _TIMES for name in _declared(schema)):
            spark_plans.check_times(self._frame)
        self._workers = spark_workers.Workers(self._frame.sparkSession)
        self._held = threading.local()

    @contextmanager
    def snapshot(self) -> Iterator[None]:
        """One state of the table: files that stay as they are, or a copy that the cluster keeps during a question.

        The copy has no lineage: where an executor is lost with a part of it the question is refused, and never answered
        from a table that was read twice.
        """
        if getattr(self._held, "frame", None) is not None:
            yield
            return
        self._workers.check()
        if self._by_plan:
            spark_plans.check_names(self._frame)
        with self._holding(self._kept() if self._path is None else self._now()):
            yield

    @contextmanager
    def _one_pass(self) -> Iterator[None]:
        """The state that a question holds; one pass by itself, outside of a question, needs no copy to agree with."""
        if getattr(self._held, "frame", None) is not None:
            yield
            return
        self._workers.check()
        with self._holding(self._frame if self._path is None else self._now()):
            yield

    @contextmanager
    def _holding(self, frame: Any) -> Iterator[None]:
        self._held.state = None if self._path is None else self._content()
        self._held.frame = frame
        try:
            yield
        finally:
            self._held.frame = None

    def _now(self) -> Any:
        """The files as they are; refused where a declared column is gone or of another type since they were opened."""
        if self._content() == self._state:
            return self._frame
        frame = _open(str(self._path), self._session, self.schema.dialect)
        check_columns(self.schema, frame.columns)
        for name in _declared(self.schema):
            was, now = (each.schema[name].dataType.simpleString() for each in (self._frame, frame))
            if was != now:
                rule = f"column {name!r} of {str(self._path)!r} was {was} and is {now} now"
                raise UnsupportedFormat(rule, key=name, remedy="open it again")
        return frame

    def _kept(self) -> Any:
        """The declared columns, kept by the cluster from the first pass on."""
        declared = dict.fromkeys(_declared(self.schema))
        frame = self._frame.select(*(_quoted(name) for name in declared or self._frame.columns[:1]))
        return frame.localCheckpoint(eager=False)

    def fold(self, map: Callable[[Batch], S], combine: Callable[[S, S], S], columns: Sequence[str]) -> S:  # noqa: A002
        sample = map(self._empty(columns))
        work = _Work(map, combine, self._selection, self._batch_rows)
        with self._one_pass(), warnings.catch_warnings():
            # PySpark 4 says so of every pandas 3; records come here as Arrow and never meet pandas.
            warnings.filterwarnings("ignore", "PySpark does not yet fully support pandas", FutureWarning)
            try:
                parts = self._gathered(self._needed(columns)).mapInArrow(work.partition, "part binary").collect()
            except Exception:
                # What Spark says of a task may quote a record, and is left out.
                raise UnsupportedFormat("the cluster did not finish: a table or a worker is gone; ask again") from None
            if self._path is not None and self._content() != self._held.state:
                raise UnsupportedFormat(f"{self._path.name!r} changed while it was read; ask again when it rests")
        found = [unpack(bytes(row[0]), sample) for row in parts]
        return reduce(combine, found) if found else sample

    def _gathered(self, columns: Sequence[str]) -> Any:
        from pyspark.sql import functions

        person = self.schema.person
        # A table is never read with no column at all: its rows still have to be counted.
        held = self._held.frame
        frame = held.select(*(_quoted(name) for name in columns or held.columns[:1]))
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
        if self._path is None:
            raise InvalidRequest("a Spark frame needs version=, a public word for this state of the table")
        files = [self._path] if self._path.is_file() else sorted(p for p in self._path.rglob("*") if p.is_file())
        return describe_files([path.resolve() for path in files])


def _declared(schema: Schema) -> list[str]:
    return [*schema.stored, *([] if schema.person is None else [schema.person])]


def is_local(table: Any) -> bool:
    """Whether a table is a path on this machine, whose files say when it changes."""
    return isinstance(table, str | Path) and Path(table).exists()


class _Work:
    """What a worker does: one parcel for a partition, none where it has no records."""

    def __init__(self, map_: Any, combine: Any, selection: Selection, rows: int) -> None:
        self.map = map_
        self.combine = combine
        self.selection = selection
        self.rows = rows

    def partition(self, arrived: Iterable[Any]) -> Iterator[Any]:
        """The partial result of one partition."""
        rules = self.selection.rules
        if rules.schema.person is None:
            from pyspark import TaskContext

            found = stream.plain(arrived, rules, TaskContext.get().partitionId())
        else:
            found = stream.whole_people(arrived, rules, self.rows)
        parts: list[Any] = []
        with np.errstate(all="ignore"):  # as in the runner: a worker writes no warning because of what a record holds
            for batch in found:
                part = self.map(self.selection.apply(batch) if self.selection else batch)
                parts = [self.combine(parts[0], part)] if parts else [part]
        for part in parts:
            yield pa.RecordBatch.from_arrays([pa.array([pack(part)], pa.binary())], names=["part"])


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
                read = read.option("recursiveFileLookup", "true").option("maxColumns", _MOST_FIELDS)
                mark = dialect.quote or "\0"  # a letter that no text holds: quotes are then letters like any other
                return read.csv(
                    path, header=True, inferSchema=False, sep=dialect.delimiter or delimiter, quote=mark, escape=mark,
                    encoding=_JAVA.get(dialect.encoding, dialect.encoding),
                )  # fmt: skip
        if name.endswith(PARQUET) or Path(path).is_dir():
            # Names of folders are no columns: Spark would guess their type from all of them.
            return session.read.option("recursiveFileLookup", "true").parquet(path)
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
