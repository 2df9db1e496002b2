"""A stored table on a Spark cluster: counted by Spark, changed by its workers."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from discreet.errors import InvalidRequest
from discreet.protect.shuffle import Shuffle
from discreet.protect.stored_table import COUNT, Change, Counts, Progress, StoredTable, apply
from discreet.protect.writing import settled
from discreet.sources import cell_meaning
from discreet.sources.files import DELIMITERS


class SparkTable(StoredTable):
    """A Spark DataFrame: counted by Spark, changed by workers, which need this package."""

    def __init__(self, frame: Any) -> None:
        self._frame = frame
        self.columns = list(frame.columns)

    def counted(self, names: Sequence[str]) -> tuple[list[Any], Counts | None]:
        from pyspark.sql import functions

        grouped = self._frame.groupBy(*map(_tick, names)).agg(functions.count(functions.lit(1)).alias(COUNT))
        with _quiet():
            found = grouped.toArrow()
        counts = found.column(COUNT).cast(pa.int64()).to_numpy()
        return [cell_meaning.arrow(found.column(name)) for name in names], counts

    def rewrite(self, change: Change, shuffle: Shuffle) -> Any:
        from pyspark.sql import functions
        from pyspark.sql.pandas.types import from_arrow_schema, to_arrow_schema

        # The types of the result are what the change makes of no rows at all.
        empty = to_arrow_schema(self._frame.schema).empty_table()
        schema = from_arrow_schema(settled(apply(change, empty)).schema)
        with _quiet():
            made = self._frame.mapInArrow(_Worker(change), schema)
            if shuffle.kept:
                return made
            # Spark may compute a row twice, so its number is a keyed hash of its place and not drawn anew each time.
            place = functions.monotonically_increasing_id().cast("string")
            number = functions.sha2(functions.concat(functions.lit(shuffle.key.hex()), place), 256)
            return made.withColumn(COUNT, number).orderBy(COUNT).drop(COUNT)

    def batches(self, progress: Progress | None = None) -> Iterator[pa.Table]:
        raise InvalidRequest("a Spark table is written by Spark: use the DataFrame in .table and its own writer")


@dataclass(frozen=True)
class _Worker:
    change: Change

    def __call__(self, arrived: Any) -> Iterator[Any]:
        for batch in arrived:
            yield from settled(apply(self.change, pa.Table.from_batches([batch]))).combine_chunks().to_batches()


@contextmanager
def _quiet() -> Iterator[None]:
    with warnings.catch_warnings():
        # PySpark 4 says so of every pandas 3; records come here as Arrow and never meet pandas.
        warnings.filterwarnings("ignore", "PySpark does not yet fully support pandas", FutureWarning)
        yield


def spark_read(path: Any, session: Any, separated: str | None = None) -> Any:
    """A file as a DataFrame; the cells of a CSV file are texts, and a line that is no record is an error."""
    name = str(path)
    for ending, delimiter in DELIMITERS.items():
        if name.lower().endswith(ending):
            options = {
                "header": True,
                "inferSchema": False,
                "sep": separated or delimiter,
                "quote": '"',
                "escape": '"',
                "mode": "FAILFAST",
            }
            return session.read.csv(name, **options)
    return session.read.parquet(name)


def _tick(name: str) -> str:
    doubled = name.replace("`", "``")
    return f"`{doubled}`"
