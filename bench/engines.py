"""Where tables live: the same sums on every engine, PostgreSQL against COPY, people in Parquet files, joins, and slopes.

``SCALE`` shrinks the tables (``python -m bench engines`` takes them whole; DISCREET_BENCH_SCALE=0.02 a fiftieth): the checks
name the rows that they were measured with.
"""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet

SCALE = float(os.environ.get("DISCREET_BENCH_SCALE", "1"))
_PEOPLE = """
import json, resource, sys, time
import discreet as ds
path, = sys.argv[1:]
session = ds.Session(path, ds.Schema({"x": ds.Real(0, 40)}, person="id", max_rows=3), ledger="test")
start = time.perf_counter()
session.mean("x", epsilon=1)
spent = time.perf_counter() - start
print(json.dumps({"seconds": spent, "peak_gb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6}))
"""
_JOIN = """
import json, resource, sys, time
import discreet as ds
visits, patients = sys.argv[1:]
one = ds.Schema({"x": ds.Real(0, 40)}, person="id", max_rows=20)
other = ds.Schema({"born": ds.Integer(1900, 2030), "sex": ds.Categories(["f", "m"])}, person="id", max_rows=1)
join = ds.join(visits, one, ds.People(patients, other))
session = ds.Session(join, join.schema, ledger="test")
start = time.perf_counter()
session.mean("x", by="sex", where="born < 1960", epsilon=1)
spent = time.perf_counter() - start
print(json.dumps({"seconds": spent, "peak_gb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6}))
"""
_SPARK = """
import json, os, sys, time
os.environ["PYSPARK_PYTHON"] = sys.executable
import numpy as np, pyarrow.parquet
from pyspark.sql import SparkSession
import discreet as ds
from discreet.core.ask import Ask
from discreet.core.runner import plan
from discreet.models.protocol import Columns
from discreet.models.queries.regression_sums import RegressionSums
from discreet.models.design import Design
from discreet.sources import open_source
from discreet.statistics.question import Table, build
where, path = sys.argv[1:]
table = pyarrow.parquet.read_table(path)
quiet = {"spark.ui.enabled": "false", "spark.log.level": "ERROR", "spark.sql.shuffle.partitions": "4"}
builder = SparkSession.builder.remote(where[8:]) if where.startswith("connect:") else SparkSession.builder.master(where)
for key, value in quiet.items():
    builder = builder.config(key, value) if not where.startswith("connect:") else builder
spark = builder.getOrCreate()
columns = {"x": ds.Real(-2, 4), "y": ds.Real(0, 1), "g": ds.Categories(["a", "b"])}
schema = ds.Schema(columns, person="id", max_rows=2)
asked = [("count", (), {"by": "g"}), ("mean", ("x",), {"by": "g"}), ("variance", ("x",), {}), ("median", ("x",), {}),
         ("correlation", ("x", "y"), {}), ("histogram", ("x",), {}), ("distribution", ("x",), {})]
queries = {name: build(name, Table(schema), *args, **kwargs).query for name, args, kwargs in asked}
queries["fit"] = RegressionSums(Design.of(schema, ["x"], "y"))
model = ds.models.SGDClassifier(epsilon=5, delta=1e-5, expected_rows=500, steps=1)
steps = plan(model.procedure(Columns(schema, ("x", "y"), "g"), "add_remove"), "add_remove", 500)[1]
queries["lot"] = next(each.query for each in steps if isinstance(each, Ask) and each.rate is not None)
here, there = open_source(table, schema), open_source(spark.read.parquet(path), schema, version="one")
same = {}
start = time.perf_counter()
with there.snapshot():
    for name, query in queries.items():
        pair = [query.evaluate(s.sample("1/2", seed=3) if name == "lot" else s) for s in (here, there)]
        one, other = (np.asarray(getattr(each, "counts", each)) for each in pair)
        same[name] = bool(np.array_equal(one, other))
print(json.dumps({"same": same, "seconds": time.perf_counter() - start}))
"""


_COPY = r"\copy (SELECT x, visits FROM visits) TO '/dev/null' (FORMAT binary)"


def _alone(code: str, *words: str) -> dict[str, Any]:
    """What code prints that runs in a process of its own."""
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", code, *words], check=True, capture_output=True, text=True)
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def _write(path: Path, rows: int, people: int) -> Path:
    """A table of visits in pieces, so that it need not be held."""
    rng = np.random.default_rng(1)
    made = None
    for start in range(0, rows, 2_000_000):
        size = min(2_000_000, rows - start)
        piece = pa.table({"id": rng.integers(0, people, size), "x": rng.normal(20, 5, size)})
        made = made or pa.parquet.ParquetWriter(path, piece.schema)
        made.write_table(piece)
    if made is not None:
        made.close()
    return path


def people(folder: Path) -> dict[str, Any]:
    """Parquet with a person column: a quarter of the rows, half of them, all."""
    found = {}
    for share in (4, 2, 1):
        rows = int(50_000_000 * SCALE) // share
        path = _write(folder / "people.parquet", rows, rows // 5)
        found[str(rows)] = _alone(_PEOPLE, str(path))
        path.unlink()
    return found


def joined(folder: Path) -> dict[str, Any]:
    """Patients and ten times as many visits."""
    count = int(1_000_000 * SCALE)
    rng = np.random.default_rng(2)
    patients = pa.table(
        {"id": np.arange(count), "born": rng.integers(1930, 2015, count), "sex": rng.choice(["f", "m"], count)}
    )
    pa.parquet.write_table(patients, folder / "patients.parquet")
    visits = _write(folder / "visits.parquet", 10 * count, count)
    return {"patients": count, **_alone(_JOIN, str(visits), str(folder / "patients.parquet"))}


def postgres() -> dict[str, Any]:
    """Rows a second that a question reads, over those that psql copies to nowhere."""
    import psycopg
    from tests.servers import postgres as serving

    import discreet as ds

    rows = int(2_000_000 * SCALE)
    found = importlib.util.find_spec("pgserver")
    client = str(Path(found.origin).parent / "pginstall/bin/psql") if found and found.origin else "psql"
    with serving() as address:
        if address is None:
            return {}
        with psycopg.connect(address, autocommit=True) as connection:
            connection.execute(
                "CREATE TABLE visits AS SELECT i AS n, random() * 40 AS x, (random() * 100)::int AS visits "
                f"FROM generate_series(1, {rows}) AS i"
            )
            copied, read = [], []
            schema = ds.Schema({"x": ds.Real(0, 40), "visits": ds.Integer(0, 100)})
            for word in range(5):
                start = time.perf_counter()
                subprocess.run([client, address, "-qc", _COPY], check=True)
                copied.append(time.perf_counter() - start)
                # Another version each time: the same question of the same table would be answered from the ledger.
                session = ds.Session(f"{address}&table=visits", schema, ledger="test", version=str(word))
                start = time.perf_counter()
                session.covariance("x", "visits", epsilon=1)
                read.append(time.perf_counter() - start)
    return {"rows": rows, "copy_rows_s": rows / min(copied), "read_rows_s": rows / min(read)}


def spark(folder: Path) -> dict[str, Any]:
    """Classic Spark in one process and with two executors of their own, and by Connect."""
    rng = np.random.default_rng(4)
    rows = 20_000
    x = rng.normal(1, 3, rows)
    x[::9] = np.nan
    columns = {"id": rng.integers(0, rows // 3, rows), "x": x, "y": rng.random(rows), "g": rng.choice(["a", "b", "?"], rows)}
    path = folder / "spark.parquet"
    pa.parquet.write_table(pa.table(columns), path)
    places = ("local[2]", "local-cluster[2,1,1024]", "connect:local[2]")
    return {place: _alone(_SPARK, place, str(path)) for place in places}


def run() -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        found = {"people": people(folder), "join": joined(folder), "postgres": postgres(), "spark": spark(folder)}
    _draw(found, Path(__file__).parent / "engines.svg")
    return found


def _draw(found: dict[str, Any], path: Path) -> None:
    """Seconds over rows."""
    import matplotlib

    matplotlib.use("svg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(5, 3))
    rows = sorted(map(int, found["people"]))
    axes.plot(rows, [found["people"][str(n)]["seconds"] for n in rows], "o-", label="Parquet with people")
    axes.plot([10 * found["join"]["patients"]], [found["join"]["seconds"]], "s", label="join of visits and patients")
    axes.set(xlabel="rows", ylabel="seconds", xlim=(0, None), ylim=(0, None))
    axes.legend()
    figure.tight_layout()
    figure.savefig(path, metadata={"Date": None})
    pyplot.close(figure)


def checks(result: dict[str, Any]) -> list[tuple[str, float, str, float]]:
    sizes = sorted(map(int, result["people"]))
    small, large = result["people"][str(sizes[0])], result["people"][str(sizes[-1])]
    made = [
        (f"seconds of {sizes[-1]} Parquet rows with people", large["seconds"], "<=", 9),
        (f"peak GB of {sizes[-1]} Parquet rows with people", large["peak_gb"], "<=", 0.8),
        ("time of four times the rows, over four", large["seconds"] / small["seconds"] / 4, "<=", 1.3),
        (f"seconds of a join of {result['join']['patients']} patients", result["join"]["seconds"], "<=", 15),
        ("peak GB of the join", result["join"]["peak_gb"], "<=", 1.5),
    ]
    if result["postgres"]:
        ratio = result["postgres"]["read_rows_s"] / result["postgres"]["copy_rows_s"]
        made.append((f"rows a second from PostgreSQL over COPY's, {result['postgres']['rows']} rows", ratio, ">=", 0.5))
    for place, told in result["spark"].items():
        made += [(f"same exact sums on {place}: {name}", float(same), ">=", 1) for name, same in told["same"].items()]
    return made
