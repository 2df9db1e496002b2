"""Metamorphic fuzzing of every source: a record is read in company as it is read alone.

A run is one record of odd cells, at any place in a table of others: its number, its label, its person and whether that
person's rows are kept must be those it has as the only row of a table, and those of its person's own rows. Where this holds
for every record, adding or removing one changes no other. Nothing may raise, warn or print, and the number of rows may not
depend on the columns asked for.
"""

from __future__ import annotations

import contextlib
import os
import random
import sys
import tempfile
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from discreet.core.schema import Categories, Real, Schema
from discreet.sources import cell_meaning, memory, open_source
from discreet.sources.choosing import DEFAULT_SALT
from discreet.sources.ids import identities
from study import odd_cells
from study.harness import Row
from study.odd_cells import NOT_IDS, NOT_IN, TYPES, typed

SETTINGS: list[dict[str, Any]] = [
    {"source": word} for word in ("dict", "numpy", "pandas objects", "pandas", "polars", "arrow", "csv", "parquet", "spark")
]
RUNS = 15_000
PART = 500
MOST = 12  # records of one table; more where opening one takes long
LARGE = {"csv": 60, "parquet": 60, "spark": 500}
COLUMNS = {"n": Real(-1e6, 1e6), "x": Real(-5, 5), "c": Categories(["a", 7, True], other="rest")}
SCHEMA = Schema(COLUMNS, person="id", max_rows=2)
LOOKUP = (COLUMNS["c"].lookup(), 3, -1)  # type: ignore[union-attr]
Read = dict[int, tuple[Any, ...]]


def run(setting: dict[str, Any], seed: int, runs: int, spark: Any = None) -> dict[str, float]:
    """``runs`` records, in as many tables as that takes; ``spark`` is a session, made here where none is given."""
    rng = random.Random(seed)
    source = setting["source"]
    found = {"records": 0, "wrong": 0, "raised": 0, "warned": 0, "printed": 0}
    with tempfile.TemporaryDirectory() as folder, a_session(source, spark) as session, listening() as heard:
        while found["records"] < runs:
            left = runs - found["records"]
            size = min(left, LARGE[source] if source == "spark" else rng.randint(1, LARGE.get(source, MOST)))
            found["records"] += size
            with warnings.catch_warnings(record=True) as warned:
                warnings.simplefilter("always")
                warnings.filterwarnings("ignore", "unclosed <socket", ResourceWarning)  # PySpark 4.0 lets them lie
                table, alone = _table(source, rng, size, Path(folder))
                del warned[:]  # what other libraries say while a table is made is not ours
                heard()
                try:
                    with np.errstate(all="ignore"):  # as the runner does
                        together = _together(table, size, session)
                except Exception:
                    found["raised"] += 1
                    continue
                found["warned"] += len(warned)
            found["printed"] += bool(heard())
            found["wrong"] += sum(together.get(n) != alone[n] for n in alone) + (len(together) != size)
    return found


def rows(results: list[tuple[dict[str, Any], int, dict[str, float]]]) -> list[Row]:
    """Nothing is read otherwise, raised, warned of or printed, in at least 10**5 records."""
    bad = ("wrong", "raised", "warned", "printed")
    made = [
        Row(f"{s['source']}: records of {runs} that another moved", sum(t[b] for b in bad), "<=", 0)
        for s, runs, t in results
    ]
    return [*made, Row("records tried", sum(t["records"] for *_, t in results), ">=", 1e5)]


@contextlib.contextmanager
def listening() -> Iterator[Any]:
    """What this process and its children write to standard output and standard error, since the last call."""
    sys.stdout.flush()
    sys.stderr.flush()
    kept = [os.dup(1), os.dup(2)]
    with tempfile.TemporaryFile() as written:
        for place in (1, 2):
            os.dup2(written.fileno(), place)

        def heard() -> bytes:
            sys.stdout.flush()
            sys.stderr.flush()
            size = os.fstat(written.fileno()).st_size
            text = os.pread(written.fileno(), size, 0)
            os.ftruncate(written.fileno(), 0)
            os.lseek(written.fileno(), 0, os.SEEK_SET)
            return text

        try:
            yield heard
        finally:
            for place, old in zip((1, 2), kept, strict=True):
                os.dup2(old, place)
                os.close(old)


def _together(table: Any, size: int, session: Any) -> Read:
    """Every record's number, label, person and share of its person's rows, read with the others; its ``n`` names it."""
    options = {} if session is None else {"spark": session}
    source = open_source(table, SCHEMA, batch_rows=3 if size <= MOST else 64, **options)

    def look(batch: Any) -> Read:
        who, kept = batch.identities(), batch.kept(["x", "c"])
        plain = {key: int(kept[who.keys == key].sum()) for key in set(who.keys.tolist())}
        return {
            int(n): (float(x), int(c), int(h), plain[k])
            for n, x, c, h, k in zip(
                batch.numeric("n"), _no_nan(batch.numeric("x")), batch.codes("c"), who.hashes, who.keys.tolist(), strict=True
            )
        }

    read: Read = source.fold(look, lambda a, b: a | b, ["n", "x", "c"])
    rowless = open_source(table, Schema(COLUMNS, neighbors="replace"), batch_rows=3 if size <= MOST else 64, **options)
    for asked in ([], ["n"], ["x"], ["c"], ["c", "x"]) if session is None else ([],):
        if rowless.fold(lambda b: int(b.size), int.__add__, asked) != size:
            return {}
    return read


def _no_nan(values: Any) -> Any:
    """A missing number as 99: NaN would differ from itself."""
    with np.errstate(all="ignore"):
        return np.where(np.isnan(values), 99.0, values)


def _alone(ids: list[Any], xs: list[Any], cs: list[Any]) -> Read:
    """Every record as the only row: one-row columns of the table's own kind, in ``ids``, ``xs`` and ``cs``."""
    who = [identities(column, DEFAULT_SALT) for column in ids]
    hashes = [int(w.hashes[0]) for w in who]
    nobody = int(identities(pa.nulls(1), DEFAULT_SALT).hashes[0])
    return {
        n: (
            float(_no_nan(cell_meaning.numbers(x))[0]),
            int(cell_meaning.codes(c, *LOOKUP)[0]),
            h,
            0 if h == nobody else min(2, hashes.count(h)),
        )
        for n, (h, x, c) in enumerate(zip(hashes, xs, cs, strict=True))
    }


def _table(source: str, rng: random.Random, size: int, folder: Path) -> tuple[Any, Read]:
    """A table of that kind, and what its records are alone."""
    if source in ("dict", "pandas objects"):
        return _of_objects(source, rng, size)
    if source == "csv":
        return _of_lines(rng, size, folder / "t.csv")
    if source == "numpy":
        return _of_arrays(rng, size)
    columns: dict[str, Any] = {"n": pa.array(np.arange(size, dtype=float))}
    for name in ("id", "x", "c"):
        out = NOT_IN.get(source, ()) + (NOT_IDS if name == "id" and source in ("parquet", "spark") else ())
        kind = rng.choice([word for word in TYPES if word not in out])
        make = TYPES[kind][1]
        columns[name] = typed(kind, [None if rng.random() < 0.1 else make(rng) for _ in range(size)])
    table = pa.table(columns)
    alone = _alone(*([columns[name].slice(i, 1) for i in range(size)] for name in ("id", "x", "c")))
    if source in ("parquet", "spark"):
        import pyarrow.parquet

        path = folder / "t.parquet"
        pyarrow.parquet.write_table(table, path, row_group_size=rng.randint(1, size), use_dictionary=rng.random() < 0.5)
        return str(path), alone
    if source == "pandas":
        import pandas as pd

        try:
            frame = table.to_pandas(types_mapper=pd.ArrowDtype if rng.random() < 0.5 else None)
        except Exception:  # a date that pandas does not have, text that it refuses
            return table, alone
        # Its own rows, not Arrow's: pandas has turned whole numbers beside a null into floats.
        parts = ([memory._column(frame[name].iloc[i : i + 1], name) for i in range(size)] for name in ("id", "x", "c"))
        return frame, _alone(*parts)
    if source == "polars":
        import polars as pl

        return pl.from_arrow(table), alone
    return table, alone


def _of_objects(source: str, rng: random.Random, size: int) -> tuple[Any, Read]:
    pool = [odd_cells.anything(rng) for _ in range(rng.randint(1, 4))]  # people and labels that come again
    columns: dict[str, Any] = {"n": np.arange(size, dtype=float)}
    for name in ("id", "x", "c"):
        kind = rng.choice(["mixed", "mixed", *TYPES])
        if kind == "mixed":
            made = [rng.choice(pool) if rng.random() < 0.3 else odd_cells.anything(rng) for _ in range(size)]
        else:  # of one Python type, with one odd cell at any place
            made = [TYPES[kind][1](rng) for _ in range(size)]
            made[rng.randrange(size)] = odd_cells.anything(rng)
        columns[name] = cell_meaning.objects(made)
    alone = _alone(*([columns[name][i : i + 1] for i in range(size)] for name in ("id", "x", "c")))
    if source == "dict":
        return {name: c.tolist() if rng.random() < 0.5 else c for name, c in columns.items()}, alone
    import pandas as pd

    return pd.DataFrame({name: pd.Series(c, dtype=None if name == "n" else object) for name, c in columns.items()}), alone


def _of_arrays(rng: random.Random, size: int) -> tuple[Any, Read]:
    """Typed NumPy arrays, signalling NaNs and other byte orders among them."""
    units = ["M8[ns]", "M8[s]", "M8[ps]", "m8[us]", "m8[Y]"]
    makers: list[Any] = [
        lambda: np.array([odd_cells.a_float(rng) for _ in range(size)]),
        lambda: np.array([rng.choice([0x7FF0000000000001, 0x401C000000000000]) for _ in range(size)], "u8").view("f8"),
        lambda: np.array([odd_cells.a_float(rng) for _ in range(size)], ">f8"),
        lambda: np.array([rng.choice(["7", "1e4000", "nan"]) for _ in range(size)]).astype(np.longdouble),
        lambda: np.array([rng.choice([0.5, 7, np.inf]) for _ in range(size)], np.float16),
        lambda: np.array([odd_cells.an_int(rng) for _ in range(size)], np.int64),
        lambda: np.array([rng.choice([0, 2**64 - 1]) for _ in range(size)], np.uint64),
        lambda: np.array([rng.random() < 0.5 for _ in range(size)]),
        lambda: np.array([odd_cells.a_text(rng, surrogates=True)[:9] for _ in range(size)], "U9"),
        lambda: np.array([odd_cells.some_bytes(rng) for _ in range(size)], "S9"),
        lambda: np.array([rng.choice([0, 7, 2**62, -(2**63)]) for _ in range(size)]).view(rng.choice(units)),
        lambda: np.array([rng.choice([1, 1j]) for _ in range(size)], complex),
        lambda: np.ma.masked_array([odd_cells.a_float(rng) for _ in range(size)], [rng.random() < 0.3 for _ in range(size)]),
    ]  # fmt: skip
    columns = {"n": np.arange(size, dtype=float)} | {name: rng.choice(makers)() for name in ("id", "x", "c")}
    return columns, _alone(*([columns[name][i : i + 1] for i in range(size)] for name in ("id", "x", "c")))


def _of_lines(rng: random.Random, size: int, path: Path) -> tuple[Any, Read]:
    """A CSV file of bytes: quoted and not, with lines too short and too long, and characters that are none."""
    records: list[list[bytes]] = []
    lines = [b"n,id,x,c"]
    for n in range(size):
        made = [str(n).encode(), *(_field(rng) for _ in range(3))]
        line = [b'"' + f.replace(b'"', b'""') + b'"' if _needs(f) or rng.random() < 0.3 else f for f in made]
        cut = rng.random()
        if cut < 0.1:
            keep = rng.randint(1, 3)
            made, line = [*made[:keep], *[b""] * (4 - keep)], line[:keep]
        elif cut < 0.2:
            line += [rng.choice([b"", b"x", b"\xff", b'a"b'])] * rng.randint(1, 3)
        records.append(made)
        lines.append(b",".join(line))
    end = rng.choice([b"\n", b"\r\n"])
    path.write_bytes(rng.choice([b"", b"\xef\xbb\xbf"]) + end.join(lines) + rng.choice([b"", end]))
    return str(path), _alone(*([pa.array([record[place]], pa.binary()) for record in records] for place in (1, 2, 3)))


def _needs(field: bytes) -> bool:
    return field[:1] == b'"' or b"\n" in field or b"," in field or field[-1:] == b"\r"


def _field(rng: random.Random) -> bytes:
    if rng.random() < 0.5:
        return odd_cells.a_text(rng).encode("utf-8", "surrogatepass")
    return rng.choice([odd_cells.some_bytes(rng), b'a"b', b"a\rb", b"'", b"\x1a", b"\\", b"#", b"3", b"-2.5"])


@contextlib.contextmanager
def a_session(source: str, spark: Any) -> Iterator[Any]:
    if source != "spark":
        yield None
        return
    if spark is not None:
        yield spark
        return
    os.environ["PYSPARK_PYTHON"] = sys.executable
    from pyspark.sql import SparkSession

    quiet = {"spark.ui.enabled": "false", "spark.log.level": "ERROR", "spark.ui.showConsoleProgress": "false"}
    builder = SparkSession.builder.master("local[2]").config("spark.sql.shuffle.partitions", "4")
    for key, value in quiet.items():
        builder = builder.config(key, value)
    yield builder.getOrCreate()
