"""Synthetic tables of Adult: how far marginals are off, what a classifier learns from them, seconds and memory.

Nine columns (age by year), complete rows, add/remove, epsilon 1 and delta 1e-9. Distances are average total variation over
all one- and two-way marginals of the table's rows. Beside ours: independent columns without noise, a bootstrap of the real
table, MST on ``mbi``, and MST and AIM of SmartNoise and of dpmm, one run of each; one that has not finished after as many
processor seconds as ``LIMIT`` is said not to have. Seconds are those of one processor, whatever else the machine does.
"""

from __future__ import annotations

import json
import resource
import signal
import statistics
import subprocess
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

import discreet as ds
from bench.environments import ask_peer
from bench.protect import adult
from discreet.accounting.conversions import zcdp_within

NINE = (
    "sex", "age", "race", "marital-status", "education", "native-country", "workclass", "occupation", "income",
)  # fmt: skip
NUMBERS = {
    "age": (17, 90), "fnlwgt": (0, 1_500_000), "education-num": (1, 16), "capital-gain": (0, 99_999),
    "capital-loss": (0, 4_356), "hours-per-week": (1, 99),
}  # fmt: skip
BINS: dict[str, Any] = {
    "fnlwgt": 20,
    "capital-gain": [0, 1, 2000, 5000, 10_000, 99_999],
    "capital-loss": [0, 1, 1500, 2000, 4356],
}
SEEDS = 5
TRAINED = 24_000
PRICE: dict[str, Any] = {"epsilon": 1, "delta": "1e-9"}
PEERS = (("smartnoise", "aim"), ("dpmm", "aim"), ("dpmm", "mst"), ("smartnoise", "mst"), ("mbi", "mst"))
LIMIT = 100

Codes = dict[str, npt.NDArray[np.int64]]


def declared(table: dict[str, Any], names: tuple[str, ...]) -> ds.Schema:
    """Public labels and bounds; no value is missing."""
    made: dict[str, Any] = {}
    for name in names:
        if name in NUMBERS:
            low, high = NUMBERS[name]
            made[name] = ds.Integer(low, high, missing=low)
        else:
            labels = sorted(set(table[name]))
            made[name] = ds.Categories(labels, missing=labels[0])
    return ds.Schema(made)


def arrays(table: dict[str, Any], names: tuple[str, ...], rows: slice = slice(None)) -> dict[str, Any]:
    return {name: np.array(table[name], int if name in NUMBERS else None)[rows] for name in names}


def codes(columns: dict[str, Any], schema: ds.Schema) -> Codes:
    """Columns as levels, to be compared."""
    made = {}
    for name, values in columns.items():
        column: Any = schema[name]
        known = range(int(column.lo), int(column.hi) + 1) if name in NUMBERS else column.labels
        place = {label: i for i, label in enumerate(known)}
        made[name] = np.array([place[v] for v in np.asarray(values).tolist()])
    return made


def distances(real: Codes, made: Codes) -> dict[str, float]:
    """Average total variation over one- and two-way marginals."""
    size = {name: int(max(real[name].max(), made[name].max())) + 1 for name in real}

    def share(table: Codes, names: tuple[str, ...]) -> npt.NDArray[np.float64]:
        line = np.zeros(len(table[names[0]]), np.int64)
        for name in names:
            line = line * size[name] + table[name]
        return np.bincount(line, minlength=int(np.prod([size[n] for n in names]))) / len(line)

    found = {}
    for word, many in (("one-way", 1), ("two-way", 2)):
        sets = list(combinations(real, many))
        found[word] = float(np.mean([np.abs(share(real, s) - share(made, s)).sum() / 2 for s in sets]))
    return found


def once(table: dict[str, Any], schema: ds.Schema, real: Codes, seed: int) -> dict[str, float]:
    start, worked = time.perf_counter(), time.process_time()
    session = ds.Session(table, schema, budget=ds.Budget(**PRICE), ledger="test", seed=seed)
    made = session.synthesize(list(table), **PRICE).table
    spent = {"seconds": time.perf_counter() - start, "processor seconds": time.process_time() - worked}
    back = {name: np.array(made.column(name).to_pylist()) for name in table}
    return distances(real, codes(back, schema)) | spent


def baselines(table: dict[str, Any], schema: ds.Schema, real: Codes) -> dict[str, Any]:
    rng = np.random.default_rng(0)
    rows = len(next(iter(real.values())))
    apart = {name: values[rng.permutation(rows)] for name, values in real.items()}
    again = rng.integers(0, rows, rows)
    return {
        "independent columns, no noise": distances(real, apart),
        "bootstrap of the real table": distances(real, {name: values[again] for name, values in real.items()}),
    }


def peer(name: str, method: str, real: Codes) -> dict[str, Any]:
    """How far a peer's table is off; nothing but the limit where it does not finish."""
    with tempfile.TemporaryDirectory() as folder:
        source, target = Path(folder) / "real.npz", Path(folder) / "made.npz"
        np.savez(source, **real)
        asked = {
            "method": method, "source": str(source), "target": str(target), "limit": LIMIT,
            "epsilon": float(PRICE["epsilon"]), "delta": float(PRICE["delta"]),
            "rho": float(zcdp_within(Fraction(PRICE["epsilon"]), Fraction(PRICE["delta"]))),
        }  # fmt: skip
        try:
            told = ask_peer(name, "synthetic", json.dumps(asked))
        except subprocess.CalledProcessError as problem:
            if problem.returncode not in (-signal.SIGXCPU, -signal.SIGKILL):
                raise
            return {"not finished in processor seconds": LIMIT}
        with np.load(target) as made:
            return distances(real, {column: made[column] for column in real}) | told


def peers(real: Codes) -> dict[str, Any]:
    """All of them, two at a time: their seconds are those of a processor."""
    with ThreadPoolExecutor(2) as pool:
        found = list(pool.map(lambda each: peer(*each, real), PEERS))
    return {f"{method.upper()} of {name}": each for (name, method), each in zip(PEERS, found, strict=True)}


def classifier(table: dict[str, Any], schema: ds.Schema) -> dict[str, float]:
    """Accuracy on rows held out of a classifier trained on real rows, on synthetic ones, and of the larger class."""
    from sklearn.ensemble import HistGradientBoostingClassifier

    order = np.random.default_rng(0).permutation(len(table["sex"]))
    trained = {name: values[order[:TRAINED]] for name, values in table.items()}
    held = codes({name: values[order[TRAINED:]] for name, values in table.items()}, schema)
    session = ds.Session(trained, schema, budget=ds.Budget(**PRICE), ledger="test", seed=1)
    made = session.synthesize(list(table), **PRICE).table
    synthetic = codes({name: np.array(made.column(name).to_pylist()) for name in table}, schema)
    names = [name for name in table if name != "income"]

    def right(rows: Codes) -> float:
        model = HistGradientBoostingClassifier(random_state=0).fit(np.stack([rows[n] for n in names], 1), rows["income"])
        return float(model.score(np.stack([held[n] for n in names], 1), held["income"]))

    larger = float(max(held["income"].mean(), 1 - held["income"].mean()))
    return {"real rows": right(codes(trained, schema)), "synthetic rows": right(synthetic), "larger class": larger}


def wide(table: dict[str, Any]) -> float:
    """Processor seconds for all fifteen columns."""
    names = tuple(table)
    schema = declared(table, names)
    start = time.process_time()
    session = ds.Session(arrays(table, names), schema, budget=ds.Budget(**PRICE), ledger="test", seed=1)
    assert session.synthesize(list(names), bins=BINS, **PRICE).table.num_rows
    return time.process_time() - start


def run() -> dict[str, Any]:
    whole, real_rows = adult()
    schema = declared(whole, NINE)
    table = arrays(whole, NINE)
    real = codes(table, schema)
    runs = [once(table, schema, real, seed) for seed in range(1, SEEDS + 1)]
    return {
        "real Adult": real_rows,
        "rows": len(table["sex"]),
        "ours": {word: statistics.mean(r[word] for r in runs) for word in runs[0]},
        "worst of ours": {word: max(r[word] for r in runs) for word in runs[0]},
        "runs": SEEDS,
        "memory, MB": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3,
        **baselines(table, schema, real),
        "peers": peers(real),
        "accuracy": classifier(table, schema),
        "fifteen columns, processor seconds": wide(whole) if real_rows else None,
    }


def checks(result: dict[str, Any]) -> list[tuple[str, float, str, float]]:
    ours, accuracy = result["ours"], result["accuracy"]
    rows = [
        ("one-way total variation", ours["one-way"], "<=", 0.006),
        ("two-way total variation", ours["two-way"], "<=", 0.036),
        ("processor seconds of a table", ours["processor seconds"], "<=", 10.0),
        (
            "accuracy on synthetic rows above the larger class",
            accuracy["synthetic rows"] - accuracy["larger class"],
            ">=",
            0.02,
        ),
    ]
    for name, found in result["peers"].items():
        if "two-way" in found:
            rows.append((f"two-way total variation over {name}'s", ours["two-way"] / found["two-way"], "<=", 1.0))
    wide = result["fifteen columns, processor seconds"]
    if wide is not None:
        rows.append(("processor seconds for fifteen columns", wide, "<=", 60.0))
    return rows
