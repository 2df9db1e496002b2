"""Statistics: speed against the peers and NumPy, equal sums on every engine, memory. Errors and intervals: a study."""

from __future__ import annotations

import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import discreet as ds
from bench.environments import ask_peer
from discreet.sources import open_source
from discreet.statistics.question import Table, builder

SIZE = 10_000_000
ROUNDS = 7


def milliseconds(call: Callable[[], Any]) -> float:
    start = time.perf_counter()
    call()
    return (time.perf_counter() - start) * 1e3


def speed() -> dict[str, Any]:
    """Medians of interleaved rounds, ours and NumPy's in this process, the peers' side by side in theirs."""
    x = np.random.default_rng(0).normal(50, 20, SIZE)
    bounds = (0, 100)
    calls: dict[str, Callable[[], Any]] = {
        "numpy mean": lambda: np.clip(x, *bounds).mean(),
        "discreet mean": lambda: ds.mean(x, bounds=bounds, epsilon=1),
        "discreet mean, replace": lambda: ds.mean(x, bounds=bounds, epsilon=1, neighbors="replace"),
        "numpy variance": lambda: np.clip(x, *bounds).var(),
        "discreet variance": lambda: ds.variance(x, bounds=bounds, epsilon=1),
        "discreet variance, replace": lambda: ds.variance(x, bounds=bounds, epsilon=1, neighbors="replace"),
        "numpy histogram": lambda: np.histogram(x, 100, bounds),
        "discreet histogram": lambda: ds.histogram(x, bounds=bounds, bins=100, epsilon=1),
        "discreet median": lambda: ds.median(x, bounds=bounds, epsilon=1),
    }
    seen: dict[str, list[float]] = {name: [] for name in calls}
    for call in calls.values():
        call()
    for _ in range(ROUNDS):
        for name, call in calls.items():
            seen[name].append(milliseconds(call))
    medians = {name: statistics.median(times) for name, times in seen.items()}
    for peer in ("opendp", "diffprivlib", "pydp"):
        for name, value in ask_peer(peer, "descriptive", str(SIZE)).items():
            medians[f"{peer} {name}"] = value
    return medians


ASKED: list[tuple[str, tuple[str, ...], dict[str, Any]]] = [
    ("count", (), {}),
    ("sum", ("x",), {}),
    ("mean", ("x",), {}),
    ("variance", ("x",), {}),
    ("std", ("x",), {}),
    ("covariance", ("x", "y"), {}),
    ("correlation", ("x", "y"), {}),
    ("pooled_variance", ("x",), {"by": "g"}),
    ("pooled_covariance", ("x", "y"), {"by": "g"}),
    ("histogram", ("x",), {"bins": 8, "allow_negative": True}),
    ("crosstab", ("g",), {"allow_negative": True}),
    ("quantile", ("x",), {"q": "0.9"}),
    ("mean", ("x",), {"by": "g"}),
]


def engines() -> dict[str, Any]:
    """A million rows with repeated people, gaps and strays, shuffled: the same exact sums on every engine."""
    import pandas as pd
    import polars as pl
    from pyspark.sql import SparkSession

    os.environ["PYSPARK_PYTHON"] = sys.executable  # the workers need the packages of this environment
    rng = np.random.default_rng(5)
    n = 1_000_000
    x = rng.normal(3, 4, n)
    x[::23] = np.nan
    x[::37] = np.inf
    rows = {
        "x": x,
        "y": rng.normal(0, 5, n),
        "g": rng.choice(["a", "b", "c", "?", ""], n),
        "id": rng.integers(0, 300_000, n),
    }
    columns = {"x": ds.Real(-3, 9), "y": ds.Real(-3, 9), "g": ds.Categories(("a", "b", "c"))}
    schema = ds.Schema(columns, person="id", max_rows=3)

    def sums(source: Any) -> list[Any]:
        opened = open_source(source, schema, version="one")
        return [np.ravel(getattr(e, "counts", e)).tolist() for e in (
            builder(name)(Table(schema), *args, **kwargs).query.evaluate(opened) for name, args, kwargs in ASKED
        )]  # fmt: skip

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "rows.parquet"
        frame = pd.DataFrame(rows).sample(frac=1, random_state=1)
        frame.to_parquet(path, index=False)
        spark = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false").getOrCreate()
        try:
            reference = sums(rows)
            same = {
                "polars": sums(pl.DataFrame(rows)) == reference,
                "duckdb": sums(path) == reference,
                "spark": sums(spark.read.parquet(str(path))) == reference,
            }
        finally:
            spark.stop()
    return same


_BIG = """
import resource, sys, time
import discreet as ds
path, = sys.argv[1:]
session = ds.Session(path, ds.Schema({"x": ds.Real(0, 100), "g": ds.Categories(("a", "b"))}), ledger="test")
start = time.perf_counter()
session.mean("x", by="g", epsilon=1)
print(time.perf_counter() - start, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6)
"""


def big_files() -> dict[str, Any]:
    """Fifty million rows of Parquet by group, and a quarter of them: seconds and peak memory in GB."""
    import duckdb

    found: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as folder:
        for rows in (12_500_000, 50_000_000):
            path = Path(folder) / f"{rows}.parquet"
            duckdb.sql(
                f"COPY (SELECT 100 * random() AS x, CASE WHEN random() < 0.5 THEN 'a' ELSE 'b' END AS g FROM range({rows}))"
                f" TO '{path}'"
            )
            done = subprocess.run([sys.executable, "-c", _BIG, str(path)], check=True, capture_output=True, text=True)
            seconds, memory = map(float, done.stdout.split())
            found[str(rows)] = {"seconds": seconds, "peak_gb": memory}
            path.unlink()
    return found


def run() -> dict[str, Any]:
    result = {"milliseconds": speed(), "engines": engines(), "files": big_files()}
    result["peak_gb_of_this_process"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    return result


def checks(result: dict[str, Any]) -> list[tuple[str, float, str, float]]:
    t = result["milliseconds"]
    rows = [
        ("mean over NumPy's", t["discreet mean"] / t["numpy mean"], "<=", 1.1),
        ("variance over NumPy's", t["discreet variance"] / t["numpy variance"], "<=", 1.1),
        ("histogram over NumPy's", t["discreet histogram"] / t["numpy histogram"], "<=", 0.5),
        ("median over OpenDP's", t["discreet median"] / t["opendp median"], "<=", 1.0),
    ]
    rows += [(f"same exact sums as NumPy: {name}", float(same), ">=", 1.0) for name, same in result["engines"].items()]
    small, large = result["files"]["12500000"], result["files"]["50000000"]
    rows.append(("peak GB of 5e7 Parquet rows", large["peak_gb"], "<=", 1.0))
    rows.append(("time of four times the rows, over four", large["seconds"] / small["seconds"] / 4, "<=", 1.3))
    return rows
