"""Statistics through a Spark session give the whole numbers that memory gives."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np

import discreet as ds
from discreet.sources import open_source
from discreet.statistics.question import Table, build

ROOT = Path(__file__).parents[2]


def test_the_same_exact_sums_on_spark(spark: Any) -> None:
    rng = np.random.default_rng(4)
    rows = {"x": rng.normal(1, 3, 500), "g": rng.choice(["a", "b", "?"], 500), "id": rng.integers(0, 200, 500)}
    rows["x"][::9] = np.nan
    schema = ds.Schema({"x": ds.Real(-2, 4), "g": ds.Categories(("a", "b"))}, person="id", max_rows=2)
    frame = spark.createDataFrame([tuple(r) for r in zip(*(v.tolist() for v in rows.values()), strict=True)], list(rows))
    asked: list[tuple[str, tuple[str, ...], dict[str, Any]]] = [
        ("count", (), {"by": "g"}),
        ("variance", ("x",), {}),
        ("mean", ("x",), {"by": "g"}),
        ("median", ("x",), {}),
    ]
    for name, args, kwargs in asked:
        query = build(name, Table(schema), *args, **kwargs).query
        here, there = (query.evaluate(open_source(source, schema, version="one")) for source in (rows, frame))
        assert np.array_equal(getattr(here, "counts", here), getattr(there, "counts", there)), name
    session = ds.Session(frame, schema, ds.Budget(epsilon=1), version="one")
    assert np.isfinite(session.mean("x", epsilon=1).value)


def test_the_same_exact_sums_by_spark_connect() -> None:
    """In a process of its own: a session by Connect and a classic one do not live together."""
    env = {k: v for k, v in os.environ.items() if not k.startswith(("SPARK", "PYSPARK"))}
    env |= {"PYTHONPATH": os.pathsep.join(map(str, (ROOT / "src", ROOT))), "PYSPARK_PYTHON": sys.executable}
    code = [sys.executable, "-W", "ignore", "-m", "tests.sources.connect", "local[1]"]
    done = subprocess.run(code, check=False, capture_output=True, text=True, env=env, cwd=ROOT, timeout=300)
    assert done.returncode == 0, done.stderr[-2000:]
    told = json.loads(done.stdout.splitlines()[-1])
    assert told["kind"].startswith("pyspark.sql.connect")
    assert told["same"] == {"mean": True, "median": True}
