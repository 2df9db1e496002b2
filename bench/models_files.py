"""A private logistic regression on a file of 5 million rows of 10 numbers: time, and the most memory it ever takes."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

ROWS, FEATURES, PART = 5_000_000, 10, 250_000
MOST_GB = 1.0
NAMES = [f"x{i}" for i in range(FEATURES)]

# A process of its own, so that its peak is its own.
_FIT = """
import resource, sys, time
import discreet as ds

names = [f"x{i}" for i in range(int(sys.argv[2]))]
schema = ds.Schema({name: ds.Real(-1, 1) for name in names} | {"y": ds.Categories([0, 1])})
session = ds.Session(sys.argv[1], schema, ds.Budget(epsilon=1))
start = time.perf_counter()
model = session.fit(ds.models.LogisticRegression(epsilon=1), names, "y")
took = time.perf_counter() - start
print(took, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6, *model.coef_[0])
"""


def write(path: Path, rows: int) -> np.ndarray:
    """A Parquet file of rows whose labels follow a logistic law; returns its coefficients."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    rng = np.random.default_rng(0)
    beta = np.linspace(-2, 2, FEATURES)
    writer = None
    for start in range(0, rows, PART):
        x = rng.uniform(-1, 1, (min(PART, rows - start), FEATURES))
        y = (rng.uniform(size=len(x)) < 1 / (1 + np.exp(-x @ beta))).astype(np.int8)
        part = pa.table({name: x[:, i] for i, name in enumerate(NAMES)} | {"y": y})
        writer = writer or pq.ParquetWriter(path, part.schema)
        writer.write_table(part)
    assert writer is not None
    writer.close()
    return beta


def run(rows: int = ROWS) -> dict[str, Any]:
    """Fit once, in a process of its own."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "table.parquet"
        beta = write(path, rows)
        command = [sys.executable, "-c", _FIT, str(path), str(FEATURES)]
        done = subprocess.run(command, check=True, capture_output=True, text=True)
    seconds, peak, *found = map(float, done.stdout.split())
    return {
        "rows": rows,
        "features": FEATURES,
        "seconds": seconds,
        "peak_gb": peak,
        "largest_error_of_a_coefficient": float(np.abs(np.array(found) - beta).max()),
    }


def checks(result: dict[str, Any]) -> list[tuple[str, float, str, float]]:
    return [
        ("peak memory of a fit to 5 million x 10 Parquet rows, GB", result["peak_gb"], "<=", MOST_GB),
        ("largest error of its coefficients", result["largest_error_of_a_coefficient"], "<=", 0.1),
    ]
