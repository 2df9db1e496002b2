"""A cluster of Spark: how the time of a question grows with rows, and with executors, each a process with one core."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

from bench.engines import SCALE, alone, draw, write

PICTURE = Path(__file__).parents[1] / "docs" / "images" / "cluster.svg"
ROWS = int(2_000_000 * SCALE)
_SPARK = """
import json, sys, time
from pyspark.sql import SparkSession
import discreet as ds
executors, *paths = sys.argv[1:]
builder = SparkSession.builder.master(f"local-cluster[{executors},1,1024]")
for key, value in {"ui.enabled": "false", "log.level": "OFF", "sql.shuffle.partitions": "8"}.items():
    builder = builder.config(f"spark.{key}", value)
spark = builder.getOrCreate()
schema = ds.Schema({"x": ds.Real(0, 40)}, person="id", max_rows=3)
seconds = []
for path in [paths[0], *paths]:  # the first one twice: what is started once is no part of a question
    taken = []
    for version in ("one", "two"):
        session = ds.Session(spark.read.parquet(path), schema, ledger="test", version=version)
        start = time.perf_counter()
        session.mean("x", epsilon=1)
        taken.append(time.perf_counter() - start)
    seconds.append(min(taken))
spark.stop()
print(json.dumps(dict(zip(paths, seconds[1:]))))
"""


def run() -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder:
        sizes = [ROWS // share for share in (4, 2, 1)]
        paths = {str(write(Path(folder) / f"{rows}.parquet", rows, rows // 5)): str(rows) for rows in sizes}
        told = {str(executors): alone(_SPARK, str(executors), *paths) for executors in (1, 2, 4)}
    found = {executors: {paths[path]: seconds for path, seconds in each.items()} for executors, each in told.items()}
    if SCALE == 1:
        rows = {int(n): seconds for n, seconds in found["2"].items()}
        executors = {int(n): each[str(ROWS)] for n, each in found.items()}
        draw({"rows, on two executors of Spark": rows, f"executors of Spark, {ROWS:,} rows": executors}, PICTURE)
    return {"seconds": found}


def checks(result: dict[str, Any]) -> list[tuple[str, float, str, float]]:
    one, two = result["seconds"]["1"], result["seconds"]["2"]
    few, *_, many = sorted(two, key=int)
    return [
        (f"time of {many} rows on two executors over that of {few}, over four", two[many] / two[few] / 4, "<=", 1.3),
        (f"time of {many} rows with two executors over that with one", two[many] / one[many], "<=", 1),
    ]
