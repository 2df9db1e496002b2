"""Where tables live: PostgreSQL against COPY, people in Parquet files with the slope of their time, and joins.

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

PICTURE = Path(__file__).parents[1] / "docs" / "images" / "engines.svg"
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
_COPY = r"\copy (SELECT x, visits FROM visits) TO '/dev/null' (FORMAT binary)"


def alone(code: str, *words: str) -> dict[str, Any]:
    """What code prints that runs in a process of its own."""
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", code, *words], check=True, capture_output=True, text=True)
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def write(path: Path, rows: int, people: int) -> Path:
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
        path = write(folder / "people.parquet", rows, rows // 5)
        found[str(rows)] = alone(_PEOPLE, str(path))
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
    visits = write(folder / "visits.parquet", 10 * count, count)
    return {"patients": count, **alone(_JOIN, str(visits), str(folder / "patients.parquet"))}


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


def run() -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        found = {"people": people(folder), "join": joined(folder), "postgres": postgres()}
    if SCALE == 1:
        draw({"rows of Parquet, with people": {int(n): each["seconds"] for n, each in found["people"].items()}}, PICTURE)
    return found


def draw(lines: dict[str, dict[int, float]], path: Path) -> None:
    """Seconds over each of some sizes, beside a line on which twice as much takes twice as long."""
    import matplotlib

    matplotlib.use("svg")
    from matplotlib import pyplot

    with pyplot.rc_context({"svg.fonttype": "none", "svg.hashsalt": path.stem, "font.size": 9}):
        figure, panels = pyplot.subplots(1, len(lines), figsize=(1 + 3 * len(lines), 3), layout="constrained", squeeze=False)
        for axes, (what, seconds) in zip(panels[0], lines.items(), strict=True):
            sizes = sorted(seconds)
            times = [seconds[size] for size in sizes]
            power = -1 if what.startswith("executors") else 1
            even = [times[0] * (size / sizes[0]) ** power for size in sizes]
            axes.plot(sizes, even, "--", color="#9aa5b1", linewidth=1, label="proportional")
            axes.plot(sizes, times, "o-", color="#1f5fa8", label="measured")
            for size, took in zip(sizes, times, strict=True):
                axes.annotate(f"{took:.1f}", (size, took), (0, 5), textcoords="offset points", ha="center", fontsize=7)
            axes.set(xlabel=what, xlim=(0, 1.1 * sizes[-1]), ylim=(0, 1.25 * max(times)), xticks=sizes)
            axes.xaxis.set_major_formatter(lambda size, _: f"{size / 1e6:g} million" if size >= 1e6 else f"{size:g}")
        panels[0][0].set_ylabel("seconds")
        panels[0][0].legend(fontsize=7, loc="lower right")
        figure.savefig(path, format="svg", metadata={"Date": None})
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
    return made
