"""Reports in tables larger than memory: sums over files and over a Spark cluster, then one conclusion."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from discreet.errors import UnsupportedFormat
from discreet.local.estimate import Estimate
from discreet.local.law import LocalMechanism, Tally, refuse_repeated
from discreet.local.reports import LAW, PERSON, Reports

_ROWS = 1 << 17
_PARTIAL = "count bigint, private boolean, sums binary"


def estimate_table(law: LocalMechanism, table: Any) -> Estimate:
    """The estimate from a table of reports of ``law``: an Arrow table, paths of Parquet or CSV files, a Spark DataFrame.

    A table has the columns of the law's reports, the law's fingerprint in ``law`` on every row (``Reports.to_arrow``
    writes both) and, if people are named, ``person``: then nobody may occur twice. Whatever holds the table, the sums
    are the same whole numbers.
    """
    if type(table).__module__.startswith("pyspark."):
        return law.finish(_of_spark(law, table))
    if isinstance(table, str | Path) or (isinstance(table, Sequence) and not isinstance(table, Reports)):
        return law.finish(_of_files(law, table))
    return law.estimate(Reports.from_arrow(table, law))


def _of_files(law: LocalMechanism, paths: Any) -> Tally:
    import duckdb

    from discreet.sources import duck
    from discreet.sources.files import PARQUET, find_files
    from discreet.sources.spill import spill_folder

    found = find_files(paths)
    as_csv = f"read_csv({duck.listed(found)}, header=true, all_varchar=true)"
    source = duck.parquet(found) if found[0].name.lower().endswith(PARQUET) else as_csv
    with spill_folder() as spill, duck.connected(spill) as connection:
        try:
            named = [str(row[0]) for row in connection.execute(f"DESCRIBE SELECT * FROM {source}").fetchall()]  # noqa: S608
            wanted = _present(law, named)
            if PERSON in named:
                asked = connection.execute(f"SELECT count(*) - count(DISTINCT {PERSON}) FROM {source}").fetchall()  # noqa: S608
                refuse_repeated(int(asked[0][0]))
            names = ", ".join(map(duck.name, wanted))
            reader = connection.sql(f"SELECT {names} FROM {source}").to_arrow_reader(_ROWS)  # noqa: S608
        except duckdb.Error as problem:
            reason = str(problem).splitlines()[0]
            raise UnsupportedFormat(f"{found[0].name!r} cannot be read as a table of reports: {reason}") from None
        return _total(law, (_tally(law, batch) for batch in reader))


def _of_spark(law: LocalMechanism, frame: Any) -> Tally:
    wanted = _present(law, frame.columns)
    if PERSON in frame.columns:
        (counts,) = frame.selectExpr("count(1) AS every", f"count(DISTINCT {PERSON}) AS different").collect()
        refuse_repeated(counts["every"] - counts["different"])
    with warnings.catch_warnings():
        # PySpark 4 says so of every pandas 3; reports come here as Arrow and never meet pandas.
        warnings.filterwarnings("ignore", "PySpark does not yet fully support pandas", FutureWarning)
        rows = frame.select(*wanted).mapInArrow(partial(_partition, law), _PARTIAL).collect()
    return _total(law, (Tally(r["count"], np.frombuffer(r["sums"], "<i8"), r["private"]) for r in rows))


def _partition(law: LocalMechanism, batches: Iterable[Any]) -> Iterator[Any]:
    """What a worker does: the sums of its reports, as one row."""
    import pyarrow as pa

    total = _total(law, (_tally(law, batch) for batch in batches))
    cells = [[total.count], [total.private], [total.sums.astype("<i8").tobytes()]]
    kinds = (pa.int64(), pa.bool_(), pa.binary())
    arrays = [pa.array(cell, kind) for cell, kind in zip(cells, kinds, strict=True)]
    yield pa.RecordBatch.from_arrays(arrays, names=["count", "private", "sums"])


def _tally(law: LocalMechanism, batch: Any) -> Tally:
    import pyarrow as pa

    found = Reports.from_arrow(pa.Table.from_batches([batch]), law)
    return Tally(len(found), law.sums(found.columns), found.private)


def _total(law: LocalMechanism, parts: Iterable[Tally]) -> Tally:
    empty = {name: np.empty((0, c.width) if c.width else 0, c.dtype) for name, c in law.columns.items()}
    total = Tally(0, law.sums(empty))
    for part in parts:
        total = total + part
    return total


def _present(law: LocalMechanism, columns: Sequence[str]) -> list[str]:
    wanted = [*law.columns, LAW]
    missing = [name for name in wanted if name not in columns]
    if missing:
        raise UnsupportedFormat(f"a table of {law.name} reports needs the columns {missing}; it has {list(columns)[:10]}")
    return wanted
