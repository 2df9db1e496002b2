"""A made-up table of the most rows that the real one may have, in a file of the same kind: what weights are measured on."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet

from discreet.errors import InvalidRequest
from discreet.ledger.events import canonical
from discreet.service import dummy
from discreet.service.config import Served
from discreet.sources import open_source
from discreet.sources.base import BaseSource


def made_up(served: Served, folder: Path) -> BaseSource:
    """The made-up table of a table, made where there is none yet for its schema and size."""
    facts = canonical([served.schema.to_dict(), served.most_rows])
    first = served.files if isinstance(served.files, str) else served.files[0]
    ending = Path(first).suffix
    path = folder / f"made-up-{served.name}-{hashlib.sha256(facts.encode()).hexdigest()[:16]}{ending}"
    if not path.exists():
        for old in folder.glob(f"made-up-{served.name}-*"):
            old.unlink()
        _write(served, path)
    return open_source(str(path), served.schema, version="made up")


def _write(served: Served, path: Path) -> None:
    table = pa.table({name: pa.array(list(values)) for name, values in dummy.table(served.schema, served.most_rows).items()})
    part = path.with_name(path.name + ".part")
    if path.suffix == ".parquet":
        pyarrow.parquet.write_table(table, part)
    elif path.suffix in (".csv", ".txt", ".tsv"):
        dialect = served.schema.dialect
        options = pyarrow.csv.WriteOptions(delimiter=getattr(dialect, "delimiter", ",") or ",")
        pyarrow.csv.write_csv(table, part, options)
    else:
        raise InvalidRequest(
            f"the table {served.name!r} is no Parquet or CSV file and is not calibrated; write seconds = ... for it"
        )
    part.rename(path)
