"""Local privacy: speed against multi-freq-ldpy, and honesty of every estimator's variance and interval."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from bench.environments import ask_peer
from discreet.core.random import Random
from discreet.local import (
    Cube,
    Duchi,
    DyadicTree,
    Hadamard,
    Hybrid,
    LocalHash,
    OneCoordinate,
    OptimizedUnary,
    Piecewise,
    PrivUnit,
    RandomizedResponse,
    SubsetSelection,
    Tally,
    TruncatedLaplace,
)

ROUNDS = 5
PEOPLE = 400_000
ERROR_RUNS, COVER_RUNS = 20_000, 11_500
EACH = 400  # people in one run
ORACLES = (RandomizedResponse, OptimizedUnary, LocalHash, Hadamard, SubsetSelection)
SIZES = (8, 64)


def seconds(call: Callable[[], Any]) -> float:
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def oracles() -> dict[str, dict[str, float]]:
    """Reports a second: client half, server half, both."""
    found = {}
    for k in SIZES:
        values = np.arange(PEOPLE) % k
        for kind in ORACLES:
            law = kind(1, k)
            law.reports(values[:1000])
            start = time.perf_counter()
            sent = law.reports(values)
            middle = time.perf_counter()
            law.estimate(sent)
            end = time.perf_counter()
            spent = {"client": middle - start, "server": end - middle, "both": end - start}
            found[f"{law.name}, k = {k}"] = {what: PEOPLE / t for what, t in spent.items()}
    return found


def numbers() -> dict[str, float]:
    """Reports a second of the scalar laws, coordinates a second of the others."""
    generator = np.random.default_rng(0)
    t = generator.uniform(-1, 1, PEOPLE)
    found = {}
    for kind in (Duchi, Piecewise, Hybrid, TruncatedLaplace):
        law = kind(1)
        law.report(0.0)
        found[f"{law.name}, reports"] = PEOPLE / seconds(lambda law=law: law.reports(t))
    for d, n in ((27, 20_000), (100, 10_000)):
        rows = generator.uniform(-1, 1, (n, d))
        unit = rows / np.sqrt((rows**2).sum(1, keepdims=True))
        for law, values in ((Cube(1, d), rows), (OneCoordinate(1, d), rows), (PrivUnit(1, d), unit)):
            law.reports(values[:10])
            found[f"{law.name}, coordinates, d = {d}"] = n * d / seconds(lambda law=law, v=values: law.reports(v))
    return found


def growth() -> dict[str, float]:
    """Seconds for the cube's reports of 10^6 coordinates: linear in d is a constant."""
    found = {}
    for d in (100, 1000, 10_000):
        law, rows = Cube(1, d), np.zeros((1_000_000 // d, d))
        law.report(rows[0])
        found[f"cube, d = {d}"] = statistics.median(seconds(lambda law=law, rows=rows: law.reports(rows)) for _ in range(5))
    return found


def repeat(law: Any, values: Any, seed: int) -> list[Any]:
    """Estimates from ``ERROR_RUNS`` runs on the same people."""
    random, n, at_once = Random(seed), len(values), 250
    found = []
    for _ in range(ERROR_RUNS // at_once):
        sent = law.reports(np.concatenate([values] * at_once), seed=random).columns
        for run in range(at_once):
            part = {name: column[run * n : (run + 1) * n] for name, column in sent.items()}
            found.append(law.conclude(Tally(n, law.sums(part))))
    return found


def honesty() -> dict[str, dict[str, float]]:
    """Measured variance over the formula, and how often 95 % intervals cover; noise only, on a fixed table of people."""
    generator = np.random.default_rng(1)
    codes = np.repeat(np.arange(8), np.array([200, 100, 40, 30, 15, 10, 5, 0]))
    shares = np.bincount(codes, minlength=8) / EACH
    t = np.clip(generator.normal(0.2, 0.3, EACH), -1, 1)
    rows = np.clip(generator.normal([0.3, 0.0, -0.2, 0.6, 0.1], 0.2, (EACH, 5)), -1, 1)
    unit = rows / np.sqrt((rows**2).sum(1, keepdims=True))
    cases: list[tuple[str, Any, Any, Any, Any]] = []
    for kind in ORACLES:
        law = kind(1, 8)
        cases.append((law.name, law, codes, shares, [float(law.variance(float(f))) / EACH for f in shares]))
    for kind in (Duchi, Piecewise, Hybrid, TruncatedLaplace):
        law = kind(1)
        cases.append((law.name, law, t, t.mean(), float(np.mean(law.variance(t))) / EACH))
    cube, one, ball = Cube(2, 5), OneCoordinate(1, 5), PrivUnit(2, 5)
    cases.append(("cube", cube, rows, rows.mean(0), (cube.reach**2 - (rows**2).mean(0)) / EACH))
    told = np.vectorize(one.variance)(rows).mean(0) / EACH
    cases.append(("one_coordinate", one, rows, rows.mean(0), told))
    # Of the sphere's law the formula is about the whole vector.
    cases.append(("priv_unit", ball, unit, unit.mean(0), (1 / ball.cap.mean**2 - 1) / EACH))
    tree, places = DyadicTree(2, (-1, 1), 4), t
    below = (places[:, None] < tree.edges[1:-1]).mean(0)
    cases.append(("dyadic_tree", tree, places, below, None))
    found = {}
    for i, (name, law, values, truth, formula) in enumerate(cases):
        made = repeat(law, values, i)
        error = np.array([np.square(np.asarray(e.value) - truth) for e in made])
        seen = error.sum(1).mean() if name == "priv_unit" else error.mean(0)
        said = np.mean([np.square(e.standard_error) for e in made], axis=0) if formula is None else np.asarray(formula)
        ratio = float(np.mean(np.asarray(seen) / said))
        ends = [e.interval(0.95) for e in made[:COVER_RUNS]]
        covered = float(np.mean([(low <= truth) & (truth <= high) for low, high in ends]))
        bias = np.asarray([e.value for e in made]).mean(0) - truth
        found[name] = {"variance over formula": ratio, "coverage": covered, "largest bias": float(np.abs(bias).max())}
        if name == "dyadic_tree":
            middle = float(np.quantile(t, 0.5))
            hits = [low <= middle <= high for low, high in (e.quantile_interval(0.5) for e in made[:COVER_RUNS])]
            found[name]["coverage of the median"] = float(np.mean(hits))
    return found


def run() -> dict[str, Any]:
    """Medians of rounds made side by side, ours and the peer's; then the honesty of the estimates."""
    ours: dict[str, dict[str, list[float]]] = {}
    peers: dict[str, dict[str, list[float]]] = {}
    rates: dict[str, list[float]] = {}
    for _ in range(ROUNDS):
        for name, values in oracles().items():
            for what, value in values.items():
                ours.setdefault(name, {}).setdefault(what, []).append(value)
        for k, laws in ask_peer("multifreq", "local", *map(str, SIZES)).items():
            for law, values in laws.items():
                for what, value in values.items():
                    peers.setdefault(f"{law}, k = {k}", {}).setdefault(what, []).append(value)
        for name, value in numbers().items():
            rates.setdefault(name, []).append(value)
    median = {n: {w: statistics.median(v) for w, v in values.items()} for n, values in ours.items()}
    theirs = {n: {w: statistics.median(v) for w, v in values.items()} for n, values in peers.items()}
    ratios = {name: median[name]["both"] / values["both"] for name, values in theirs.items()}
    return {
        "reports a second": median,
        "multi-freq-ldpy, reports a second": theirs,
        "times multi-freq-ldpy": ratios,
        "rates": {name: statistics.median(values) for name, values in rates.items()},
        "seconds for a million coordinates": growth(),
        "honesty": honesty(),
    }


def checks(result: dict[str, Any]) -> list[tuple[str, float, str, float]]:
    rows = [(f"{name}: times multi-freq-ldpy", ratio, ">=", 20.0) for name, ratio in result["times multi-freq-ldpy"].items()]
    rows += [(f"{n}: reports a second", v["client"], ">=", 1e6) for n, v in result["reports a second"].items()]
    for name, value in result["rates"].items():
        rows.append((f"{name} a second", value, ">=", 1e7 if "coordinates" in name else 1e6))
    times = result["seconds for a million coordinates"]
    rows.append(
        ("cube: a coordinate at d = 10,000 over one at 1,000", times["cube, d = 10000"] / times["cube, d = 1000"], "<=", 2.0)
    )
    for name, seen in result["honesty"].items():
        rows.append((f"{name}: variance over formula, less one", abs(seen["variance over formula"] - 1), "<=", 0.05))
        rows.append((f"{name}: coverage of 95 %, off by", abs(seen["coverage"] - 0.95), "<=", 0.01))
    rows.append(("median: coverage of 95 %", result["honesty"]["dyadic_tree"]["coverage of the median"], ">=", 0.94))
    return rows
