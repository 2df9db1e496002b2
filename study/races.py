"""Two releases with several filters race for a budget that pays for one: one is answered whole, the other pays nothing.

Each race is a new ledger and two processes that wait for each other and then run the command ``release`` on files that ask
different questions of three groups of rows. The budget pays for one file and for all but one question of the other.
"""

from __future__ import annotations

import contextlib
import io
import multiprocessing
import tempfile
from fractions import Fraction
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import discreet as ds
from study.harness import Row

SETTINGS: list[dict[str, Any]] = [{"filters": 3}]
RUNS, PART = 200, 10
_GROUPS = ("", 'where = { sex = "f" }', 'where = { sex = "m" }')
_PRICE = Fraction(1, 10)


def run(setting: dict[str, Any], seed: int, runs: int) -> dict[str, float]:
    """How many races had one winner, two, or none, and in how many something else was spent than what was answered."""
    found = {"one": 0.0, "none": 0.0, "both": 0.0, "wrong": 0.0}
    context = multiprocessing.get_context("forkserver")
    barrier, ends = context.Barrier(2), [context.Pipe() for _ in range(2)]
    racers = [context.Process(target=_racer, args=(end[1], barrier), daemon=True) for end in ends]
    for racer in racers:
        racer.start()
    with tempfile.TemporaryDirectory() as folder:
        for number in range(runs):
            here = Path(folder) / str(number)
            files = _prepare(here, setting["filters"])
            for end, file in zip(ends, files, strict=True):
                end[0].send(str(file))
            codes = [end[0].recv() for end in ends]
            answered = sum(code == 0 for code, _ in codes)
            found[("none", "one", "both")[answered]] += 1
            with ds.Ledger(f"sqlite:///{here}/ledger.db") as ledger:
                right = ledger.spent().epsilon == answered * setting["filters"] * _PRICE
                charges = sum(event.kind == "charge" for event in ledger.events())
                ledger.verify()
            told = all(code == 0 or (said.count("\n") == 1 and "othing was" in said) for code, said in codes)
            found["wrong"] += not (right and charges == answered * setting["filters"] and told)
    for end in ends:
        end[0].send(None)
    for racer in racers:
        racer.join()
    return found


def rows(results: list[tuple[dict[str, Any], int, dict[str, float]]]) -> list[Row]:
    made = []
    for _, runs, found in results:
        made.append(Row(f"races of two releases with one winner, of {runs}", found["one"], ">=", runs))
        made.append(Row("races where something else was paid than what was answered", found["wrong"], "<=", 0))
    return made


def _prepare(folder: Path, filters: int) -> list[Path]:
    """A table, and two files that ask different questions of the same rows, on a ledger that pays for one of them."""
    folder.mkdir()
    people = "".join(f"{i * 37 % 101},{'fm'[i % 2]}\n" for i in range(200))
    (folder / "people.csv").write_text("age,sex\n" + people)
    head = (
        'table = "people.csv"\nledger = "ledger.db"\n[schema.columns]\nage = { type = "integer", bounds = [0, 100] }\n'
        'sex = { type = "category", values = ["f", "m"] }\n'
    )
    files = []
    for statistic in ("mean", "median"):
        asks = "".join(
            f'[[ask]]\nstatistic = "{statistic}"\ncolumns = "age"\nepsilon = 0.1\n{_GROUPS[n]}\n' for n in range(filters)
        )
        files.append(folder / f"{statistic}.toml")
        files[-1].write_text(head + asks)
    budget = ds.Budget(epsilon=(2 * filters - 1) * _PRICE)
    ds.Ledger(f"sqlite:///{folder}/ledger.db", budget).close()
    return files


def _racer(orders: Connection, barrier: Any) -> None:
    from discreet.cli import main

    while (file := orders.recv()) is not None:
        said = io.StringIO()
        barrier.wait()
        with contextlib.redirect_stderr(said), contextlib.redirect_stdout(io.StringIO()):
            code = main(["release", file])
        orders.send((code, said.getvalue()))
