"""Odd records among plain ones, for every type of column, derived columns and dialects, on every source.

A table of plain and odd records is read whole, without its odd records, and one half at a time. Every record must have the
same number, code, truth and derived value each time; nothing may raise, warn or print. ``study.reading`` does the same for
numbers, labels and people; here are dates, times, lengths of time, truths, texts, formulas, and files whose dialect is
declared.
"""

from __future__ import annotations

import random
import tempfile
import warnings
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

import discreet as ds
from discreet.core.dialect import Dialect
from discreet.expressions import read
from discreet.sources import open_source
from discreet.sources.cell_meaning import objects
from study import expressions, odd_cells
from study.harness import Row
from study.reading import a_session, listening

SETTINGS: list[dict[str, Any]] = [
    {"source": word} for word in ("dict", "pandas objects", "polars", "arrow", "csv", "csv dialect", "parquet", "spark")
]
RUNS = 13_000
PART = 1000
MOST = 60  # records of one table
LARGE = {"spark": 500}  # where opening one takes long
DIALECT = Dialect(delimiter=";", decimal=",", thousands=".", encoding="latin-1", quote="'", missing=("NA", "-99"))
COLUMNS = {
    "n": ds.Real(0, 1000),
    "x": ds.Real(-5000, 5000),
    "d": ds.Date("1900-01-01", "2100-01-01", formats=["%Y-%m-%d", "%d.%m.%Y"]),
    "t": ds.Datetime("1900-01-01", "2100-01-01", zone="Europe/Berlin"),
    "l": ds.Duration(0, 100, unit="hours"),
    "b": ds.Boolean(true=["ja"]),
    "g": ds.Categories(["a", 7, True], other="rest"),
    "w": ds.Text(),
    "z": ds.Real(-1e9, 1e9, formula="x / year(d) + hour(t)"),
    "q": ds.Boolean(formula="(b and x > 0) or missing(w) or g == 'a'"),
}
ASKED = ("n", "x", "d", "t", "l", "b", "g", "missing(w)", "z", "q")
PLAIN: dict[str, list[str]] = {
    "x": ["0.5", "-3.25", "1234.5", "0"],
    "d": ["2020-02-29", "01.03.1999", "1970-01-01"],
    "t": ["2020-07-01 12:30", "2021-03-28 02:30:00", "1999-12-31T23:59:59"],
    "l": ["1.5", "12", "0"],
    "b": ["ja", "nein", "true"],
    "g": ["a", "7", "b"],
    "w": ["some text", "Ä", "x"],
}


@cache
def schema(dialect: Dialect | None = None) -> ds.Schema:
    """The declared columns, in a dialect."""
    return ds.Schema(COLUMNS) if dialect is None else ds.Schema(COLUMNS, dialect=dialect)


def run(setting: dict[str, Any], seed: int, runs: int, spark: Any = None) -> dict[str, float]:
    """``runs`` odd records, in as many tables as that takes; ``spark`` is a session, made here where none is given."""
    rng, source = random.Random(seed), setting["source"]
    found = {"records": 0, "moved": 0, "raised": 0, "warned": 0, "printed": 0}
    with tempfile.TemporaryDirectory() as folder, a_session(source, spark) as session, listening() as heard:
        options: dict[str, Any] = {} if session is None else {"spark": session}
        while found["records"] < runs:
            table, odd = _records(rng, source, runs - int(found["records"]))
            found["records"] += len(odd)
            # Without the odd ones, and each half by itself: who stays must be read as in the whole.
            kept = [[row for row in table if row["n"] not in odd], table[::2], table[1::2]]
            with warnings.catch_warnings(record=True) as warned:
                warnings.simplefilter("always")
                warnings.filterwarnings("ignore", "unclosed <socket", ResourceWarning)  # PySpark 4.0 lets them lie
                try:
                    made = [_made(source, each, Path(folder) / str(place)) for place, each in enumerate([table, *kept])]
                    del warned[:]  # what other libraries say while a table is made is not ours
                    heard()
                    whole, *parts = (_read(each, source, options) for each in made)
                except Exception:
                    found["raised"] += 1
                    continue
                found["warned"] += len(warned)
            found["printed"] += bool(heard())
            found["moved"] += len(whole) != len(table)
            for rows, part in zip(kept, parts, strict=True):
                found["moved"] += len(part) != len(rows) or any(whole.get(n) != values for n, values in part.items())
    return found


def _records(rng: random.Random, source: str, most: int) -> tuple[list[dict[str, Any]], set[str]]:
    """Records of which one, some or all are odd, and the numbers of those."""
    size = rng.randint(1, LARGE.get(source, MOST))
    odd = set(rng.sample(range(size), min(most, 1 if rng.random() < 0.3 else rng.randint(1, size))))
    table = [
        {"n": str(n), **{name: _odd(rng, source, u) if n in odd else rng.choice(u) for name, u in PLAIN.items()}}
        for n in range(size)
    ]
    return table, {str(n) for n in odd}


def rows(results: list[tuple[dict[str, Any], int, dict[str, float]]]) -> list[Row]:
    """No record moves another, in at least 10**5."""
    bad = ("moved", "raised", "warned", "printed")
    made = [
        Row(f"{s['source']}: odd records of {runs} that told", sum(t[b] for b in bad), "<=", 0) for s, runs, t in results
    ]
    return [*made, Row("odd records tried", sum(t["records"] for *_, t in results), ">=", 1e5)]


def _odd(rng: random.Random, source: str, usual: list[str]) -> Any:
    if rng.random() < 0.3:
        return rng.choice(usual)
    return odd_cells.anything(rng) if source in ("dict", "pandas objects") else odd_cells.a_text(rng)[:2000]


def _made(source: str, table: list[dict[str, Any]], path: Path) -> Any:
    """A table of that kind with these records."""
    names = ["n", *PLAIN]
    if source in ("dict", "pandas objects"):
        columns = {name: objects([row[name] for row in table]) for name in names}
        if source == "dict":
            return columns
        import pandas as pd

        return pd.DataFrame({name: pd.Series(cells, dtype=object) for name, cells in columns.items()})
    if source.startswith("csv"):
        spelt = DIALECT if "dialect" in source else Dialect()
        mark, quote = spelt.delimiter or ",", spelt.quote
        lines = [mark.join(names), *(mark.join(_cell(row[name], name, spelt, quote) for name in names) for row in table)]
        csv = path.with_suffix(".csv")
        csv.write_bytes("\n".join(lines).encode(spelt.encoding, "replace") + b"\n")
        return str(csv)
    arrow = pa.table({name: pa.array([_valid(row[name]) for row in table], pa.string()) for name in names})
    if source == "arrow":
        return arrow
    if source == "polars":
        import polars as pl

        return pl.from_arrow(arrow)
    import pyarrow.parquet

    parquet = path.with_suffix(".parquet")
    pyarrow.parquet.write_table(arrow, parquet, row_group_size=2)
    return str(parquet)


def _cell(text: str, name: str, spelt: Dialect, quote: str) -> str:
    if name in ("x", "l") and spelt.decimal == ",":
        text = text.replace(".", ",")
    return quote + text.replace(quote, quote * 2) + quote


def _valid(text: str) -> str:
    """Text that Arrow takes: a lone surrogate is none."""
    return text.encode("utf-8", "replace").decode()


def _read(table: Any, source: str, options: dict[str, Any]) -> dict[int, list[Any]]:
    """Every record's values, by the number that names it."""
    declared = schema(DIALECT if source == "csv dialect" else None)
    nodes = [read(text, declared.derivation.known) for text in ASKED]
    opened = open_source(table, declared, batch_rows=5, **options)

    def look(batch: Any) -> list[list[Any]]:
        with np.errstate(all="ignore"):  # as the runner does
            return [list(row) for row in zip(*(expressions.of(node, batch) for node in nodes), strict=True)]

    values = opened.fold(look, lambda a, b: a + b, list(ASKED))
    number = [float(np.uint64(row[0]).view(np.float64)) for row in values]
    return {-1 if np.isnan(n) else round(n): row for n, row in zip(number, values, strict=True)}
