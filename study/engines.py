"""The same exact sums wherever a table lies, and an executor that is killed in mid-question.

A run of a place is one table, with every statistic, a fit and a minibatch of gradients asked of it there and in memory:
*different* counts those whose whole numbers are not the same. Odd tables have no person column, and all statistics are
asked of them in one pass.

A run of *kills* is five questions of a cluster of two executors, of which one is killed (SIGKILL) at a random moment. Each
is answered as memory answers it, or refused in one line; what was refused is asked again, after the custodian's word where
the ledger wants it. *Half* counts answers that are other than those of memory, *twice* questions that were charged twice,
and *lost* those that could not be answered in the end.
"""

from __future__ import annotations

import json
import os
import random
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet
from tests.descriptive.test_statistics import ASKED, ONE_ROW, records
from tests.descriptive.test_statistics import schema as declared

import discreet as ds
from discreet.core.ask import Ask
from discreet.core.query import evaluate_together
from discreet.core.runner import plan
from discreet.errors import DiscreetError, Withheld
from discreet.models.protocol import Columns
from discreet.sources import open_source
from discreet.statistics.question import Table, build
from study.harness import Row

CLUSTER = "local-cluster[2,1,1024]"  # two executors, each a process of its own, with one core and 1024 MB
SETTINGS: list[dict[str, Any]] = [
    *({"kind": "sums", "place": place} for place in ("parquet", "postgres", CLUSTER, "connect:local[2]")),
    {"kind": "kills", "place": CLUSTER},
]
RUNS, PART = 4, 2
KILLS = 5  # of a run
ROWS = 3000
KILLED_ROWS = 400_000
_SPARK = {
    "spark.ui.enabled": "false",
    "spark.log.level": "OFF",
    "spark.ui.showConsoleProgress": "false",
    # Partitions are not joined again, small as they are: both executors have some.
    "spark.sql.shuffle.partitions": "4",
    "spark.sql.adaptive.coalescePartitions.enabled": "false",
    "spark.deploy.maxExecutorRetries": "-1",
}


def run(setting: dict[str, Any], seed: int, runs: int, together: bool = False) -> dict[str, float]:
    """``runs`` tables or kills; with ``together`` all statistics of a table in one pass."""
    place = setting["place"]
    if place in ("parquet", "postgres"):
        return dict(_sums(place, seed, runs, together))
    # Spark in a process of its own: a classic session and one by Connect do not live together.
    words = [setting["kind"], place, str(seed), str(runs), str(int(together))]
    env = {k: v for k, v in os.environ.items() if not k.startswith(("SPARK", "PYSPARK"))}
    env |= {
        "PYTHONPATH": os.pathsep.join(filter(None, sys.path)),
        "PYSPARK_PYTHON": sys.executable,
        "SPARK_LOCAL_IP": "127.0.0.1",
    }
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-m", "study.engines", *words], check=False, capture_output=True, text=True, env=env
    )
    if done.returncode:
        raise RuntimeError(done.stderr[-2000:])
    found: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return found


def rows(results: list[tuple[dict[str, Any], int, dict[str, float]]]) -> list[Row]:
    """Not one sum differs in any place, both executors work, and no kill leaves half an answer or a second charge."""
    made = []
    for setting, runs, found in results:
        place = setting["place"]
        if setting["kind"] == "kills":
            bad = ("half", "twice", "lost")
            made += [Row(f"{word}, of {found['kills']:.0f} executors killed", found[word], "<=", 0) for word in bad]
            made.append(Row("executors killed in mid-question", found["met"], ">=", KILLS * runs / 2))
            continue
        made.append(Row(f"{place}: sums other than those of memory, of {found['asked']:.0f}", found["different"], "<=", 0))
        made.append(Row(f"{place}: statistics asked", found["statistics"] / runs, ">=", len(ASKED) + 1))
        if place.startswith("connect"):
            made.append(Row(f"{place}: tables by Connect", found["connect"] / runs, ">=", 1))
        if place == CLUSTER:
            made.append(Row("executors that folded a part, in every table", found["executors"] / runs, ">=", 2))
    return made


def _sums(place: str, seed: int, runs: int, together: bool) -> Counter[str]:
    found: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as folder, _engine(place, Path(folder)) as put:
        for number in range(seed, seed + runs):
            table = made(number, ROWS)
            there = put(table, f"t{number}")
            found.update(compared(table, there, people=number % 2 == 0, together=together or number % 2 == 1))
            found["connect"] += type(there).__module__.startswith("pyspark.sql.connect")
            if place == CLUSTER:
                found["executors"] += _executors_used(there)
    return found


def made(seed: int, size: int) -> Any:
    """A table with everything that can be wrong with a row, and with many different numbers."""
    rng = np.random.default_rng(seed)
    odd = records(rng, size)
    return pa.table(odd | {"x": np.where(rng.random(size) < 0.5, odd["x"], rng.normal(1, 3, size))})


def compared(table: Any, there: Any, people: bool, together: bool) -> Counter[str]:
    """Every statistic of two tables, a fit and the gradients of one minibatch."""
    found: Counter[str] = Counter()
    many, one = (declared("add_remove", most if people else None) for most in (3, 1))
    unknown = replace(many, columns={"town": ds.Categories("private")})
    asked = {name: [(many if name not in ONE_ROW else one, *each) for each in ASKED[name]] for name in sorted(ASKED)}
    asked["categories"] = [(unknown, ("town",), {})]
    found["statistics"] = len(asked)
    for facts in (many, one, unknown):
        queries = [build(n, Table(f), *a, **k).query for n, each in asked.items() for f, a, k in each if f is facts]
        here, far = (open_source(each, facts, version="one") for each in (table, there))
        with far.snapshot():
            if together:
                pairs = zip(evaluate_together(queries, here), evaluate_together(queries, far), strict=True)
            else:
                pairs = zip((q.evaluate(here) for q in queries), (q.evaluate(far) for q in queries), strict=True)
            equal = [_equal(*pair) for pair in pairs]
        found.update(asked=len(equal), different=equal.count(False))
    equal = [np.array_equal(*pair) for pair in zip(*(_fitted(each, many) for each in (table, there)), strict=True)]
    found.update(asked=len(equal), different=equal.count(False))
    return found


def _equal(one: Any, other: Any) -> bool:
    """The same to the bit."""
    if isinstance(getattr(one, "value", None), dict):
        return bool(one.value == other.value)
    return bool(np.array_equal(*(np.asarray(getattr(each, "counts", each)) for each in (one, other))))


def _fitted(table: Any, facts: ds.Schema) -> list[Any]:
    """The coefficients of a fit with noise of a seed, and the gradients of a minibatch.

    The minibatch where there is a person column: which rows are drawn without one goes by how Spark partitions them.
    """
    session = ds.Session(table, facts, ledger="test", seed=1, version="one")
    found = [session.fit(ds.models.LinearRegression(epsilon=5), ["y", "visits"], "x").coef_]
    if facts.person is not None:
        model = ds.models.SGDClassifier(epsilon=5, delta=1e-5, expected_rows=ROWS, steps=1)
        steps = plan(model.procedure(Columns(facts, ("x", "y"), "arm"), "add_remove"), "add_remove", ROWS)[1]
        batch = next(each.query for each in steps if isinstance(each, Ask) and each.rate is not None)
        found.append(batch.evaluate(open_source(table, facts, version="one").sample("1/2", seed=3)))
    return found


@contextmanager
def _engine(place: str, folder: Path) -> Iterator[Any]:
    """Puts a table where it is to lie."""

    def written(table: Any, name: str) -> str:
        pa.parquet.write_table(table, folder / f"{name}.parquet", row_group_size=500)
        return str(folder / f"{name}.parquet")

    if place == "parquet":
        yield written
    elif place == "postgres":
        from tests.servers import NONE, postgres
        from tests.sources.conftest import in_database

        with postgres() as address:
            if address is None:
                raise RuntimeError(NONE)
            yield lambda table, name: in_database(address, table, name)
    else:
        with _spark(place) as spark:
            yield lambda table, name: spark.read.parquet(written(table, name)).repartition(4)


@contextmanager
def _spark(place: str) -> Iterator[Any]:
    from pyspark.sql import SparkSession

    remote = place.removeprefix("connect:")
    if remote != place:
        os.environ["SPARK_TESTING"] = "1"  # its server takes any free port: another one may have the usual
    builder = SparkSession.builder.remote(remote) if remote != place else SparkSession.builder.master(place)
    for key, value in _SPARK.items():
        builder = builder.config(key, value)
    spark = builder.getOrCreate()
    try:
        yield spark
    finally:
        spark.stop()


def _executors_used(frame: Any) -> int:
    """How many different processes fold the partitions of a table: as its folds do, by a function of Arrow batches."""
    parts = frame.repartition("id").mapInArrow(_told, "parent long").collect()
    return len({row[0] for row in parts})


def _told(arrived: Any) -> Any:
    for _ in arrived:
        pass
    parent = int(re.search(r"PPid:\s*(\d+)", Path(f"/proc/{os.getppid()}/status").read_text())[1])  # type: ignore[index]
    yield pa.RecordBatch.from_pydict({"parent": [parent]})


def _kills(place: str, seed: int, runs: int) -> Counter[str]:
    found: Counter[str] = Counter()
    facts = ds.Schema({"x": ds.Real(-2, 4), "y": ds.Real(0, 1), "visits": ds.Integer(0, 12)}, person="id", max_rows=3)
    rng = np.random.default_rng(seed)
    columns = {"x": rng.normal(1, 2, KILLED_ROWS), "y": rng.random(KILLED_ROWS), "visits": rng.integers(0, 15, KILLED_ROWS)}
    table = pa.table({"id": rng.integers(0, KILLED_ROWS // 3, KILLED_ROWS), **columns})
    with tempfile.TemporaryDirectory() as folder, _engine(place, Path(folder)) as put:
        frame = put(table, "killed")
        chance = random.Random(seed)
        _asked(_session(frame, facts, 0))  # starts what is started once
        start = time.perf_counter()
        _asked(_session(frame, facts, 0))
        usual = time.perf_counter() - start
        for number in range(runs):
            here, there = (_session(each, facts, number) for each in (table, frame))
            killer = _Killer(chance, chance.uniform(0, usual))
            told = _asked(there)
            killer.end()
            found.update(kills=killer.killed, met=killer.met, refused=told is None)
            for _ in range(5):
                told = _asked(there) if told is None else told
            half = told is not None and not np.array_equal(told, _asked(here))
            found.update(half=half, lost=told is None, twice=there.spent().epsilon > here.spent().epsilon)
    return found


def _session(table: Any, facts: ds.Schema, seed: int) -> ds.Session:
    return ds.Session(table, facts, ledger="test", seed=seed, version="one")


def _asked(session: ds.Session) -> Any:
    """The answer, or None where it is refused as it may be; a custodian has what was looked for answered once more."""
    try:
        return session.fit(ds.models.LinearRegression(epsilon="0.5"), ["y", "visits"], "x").coef_
    except Withheld as problem:
        session.ledger.redeem(int(re.search(r"entry (\d+)", str(problem))[1]))  # type: ignore[index]
    except DiscreetError as problem:
        if "\n" in str(problem):
            raise
    return None


class _Killer:
    """Kills an executor of this process after some seconds; says whether that was before the end of the question."""

    def __init__(self, chance: random.Random, after: float) -> None:
        self.killed = self.met = False
        self._chance, self._after, self._asking = chance, after, True
        self._thread = threading.Thread(target=self._kill)
        self._thread.start()

    def end(self) -> None:
        self._asking = False
        self._thread.join()

    def _kill(self) -> None:
        time.sleep(self._after)
        executors = _executors()
        self.met = self._asking
        with suppress(ProcessLookupError, IndexError):
            os.kill(self._chance.choice(executors), signal.SIGKILL)
            self.killed = True


def _executors() -> list[int]:
    """The processes of our own executors: great-grandchildren of this one, by way of Java."""
    parents, found = {}, []
    for entry in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            words = (entry / "stat").read_text().rpartition(")")[2].split()
            parents[int(entry.name)] = int(words[1])
            if b"CoarseGrainedExecutorBackend" in (entry / "cmdline").read_bytes():
                found.append(int(entry.name))
    return [each for each in found if _descends(each, os.getpid(), parents)]


def _descends(process: int, from_: int, parents: dict[int, int]) -> bool:
    while process in parents and process != from_:
        process = parents[process]
    return process == from_


def main(kind: str, place: str, seed: str, runs: str, together: str) -> None:
    found = (
        _kills(place, int(seed), KILLS * int(runs))
        if kind == "kills"
        else _sums(place, int(seed), int(runs), together == "1")
    )
    sys.stdout.write(json.dumps({word: float(value) for word, value in found.items()}) + "\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
