"""Private gradient descent: an epoch against Opacus, and against the same training without privacy."""

from __future__ import annotations

import statistics
import time
from typing import Any
from unittest import mock

import numpy as np
from threadpoolctl import threadpool_limits

from bench.environments import ask_peer
from discreet.core.random import Random
from discreet.core.runner import Desk, NoLedger
from discreet.core.schema import Categories, Real, Schema
from discreet.mechanisms import Gaussian
from discreet.models.design import Design
from discreet.models.gradient.clipping import _filled, gradient
from discreet.models.gradient.engine import Run, descend
from discreet.models.gradient.lot_gradient import LotGradient
from discreet.models.gradient.network import Network, Room, classifier
from discreet.models.gradient.steps import Constant
from discreet.models.losses import Logistic
from discreet.sources import open_source

ROWS, FEATURES, LOT = 70_000, 11, 256
STEPS = -(-ROWS // LOT)
ROUNDS = 5


def table() -> tuple[dict[str, Any], Schema]:
    x = np.random.default_rng(0).uniform(-1, 1, (ROWS, FEATURES))
    names = [f"x{i}" for i in range(FEATURES)]
    rows = {name: x[:, i] for i, name in enumerate(names)} | {"y": (x[:, 0] + x[:, 1] ** 2 > 0.3).astype(int)}
    return rows, Schema({**dict.fromkeys(names, Real(-1, 1)), "y": Categories((0, 1))})


def run_of(schema: Schema, hidden: bool) -> Run:
    design = Design.of(schema, [f"x{i}" for i in range(FEATURES)], "y", intercept=not hidden)
    network = classifier(FEATURES, (100, 100), 2) if hidden else Network((design.width, 1), Logistic(), bias=False)
    return Run.within(
        design, network, epsilon=1, delta=1e-6, lot=LOT, steps=STEPS, clip=1, sizes=Constant(0.5), expected_rows=ROWS,
        relation="add_remove",
    )  # fmt: skip


def private(run: Run, source: Any) -> tuple[float, float]:
    """Seconds of one epoch (reading the table, lots, gradients, noise, steps), and of drawing and adding the noise in it."""
    drawn, draw = 0.0, Gaussian.release

    def timed(self: Any, *arguments: Any, **named: Any) -> Any:
        nonlocal drawn
        begun = time.perf_counter()
        made = draw(self, *arguments, **named)
        drawn += time.perf_counter() - begun
        return made

    with mock.patch.object(Gaussian, "release", timed):
        start = time.perf_counter()
        Desk(source, NoLedger(), Random(), run.relation).run(descend(run))
        return time.perf_counter() - start, drawn


def plain(run: Run, source: Any) -> float:
    """Seconds of the same training without privacy: the same lots and the same products, no norms, no factors, no noise."""
    start = time.perf_counter()
    gathered = LotGradient(run.design, run.network, run.clip).gather(source)
    random, room, network = Random(), Room(), run.network
    flat, scale = network.start(0), 0.5 / float(run.rate * run.expected_rows)
    assert gathered is not None
    for _ in range(run.steps):
        chosen = random.places(run.rate, gathered.people)
        x, y = _filled(gathered.x[chosen], gathered.y[chosen], room)
        ups = network.forward(flat, x, np, room)
        slopes = network.slopes(ups[-1], y)
        slopes[len(chosen) :] = 0.0
        downs = network.backward(flat, ups, slopes, np, room)
        flat = flat - scale * gradient(network, ups[:-1], downs, None, np, room)
    return time.perf_counter() - start


def run() -> dict[str, Any]:
    """Medians of rounds made side by side, one thread each, and medians of the ratios of each round."""
    with threadpool_limits(1):
        return measured()


def measured() -> dict[str, Any]:
    rows, schema = table()
    source = open_source(rows, schema)
    runs = {"network": run_of(schema, True), "logistic": run_of(schema, False)}
    for made in runs.values():
        private(made, source)
    seconds: dict[str, list[float]] = {}
    ratios: dict[str, list[float]] = {}
    for _ in range(ROUNDS):
        theirs = ask_peer("opacus", "gradient", str(ROWS), str(FEATURES), str(LOT))
        for name, made in runs.items():
            (ours, drawing), without = private(made, source), plain(made, source)
            for what, value in (("", ours), (", without privacy", without), (", drawing the noise", drawing)):
                seconds.setdefault(f"{name}{what}", []).append(value)
            ratios.setdefault(f"{name}, times Opacus", []).append(theirs[name] / ours)
            ratios.setdefault(f"{name}, all but the noise over no privacy", []).append((ours - drawing) / without)
        for name, value in theirs.items():
            seconds.setdefault(f"Opacus, {name}", []).append(value)
        ghost = theirs["network, ghost clipping"]
        ratios.setdefault("network, times Opacus with ghost clipping", []).append(ghost / seconds["network"][-1])
    return {
        "seconds of an epoch": {name: statistics.median(values) for name, values in seconds.items()},
        "ratios": {name: statistics.median(values) for name, values in ratios.items()},
        "rows, features, lot": [ROWS, FEATURES, LOT],
    }


def checks(result: dict[str, Any]) -> list[tuple[str, float, str, float]]:
    ratios = result["ratios"]
    over = "network, all but the noise over no privacy"
    return [
        ("an epoch of the network: times Opacus", ratios["network, times Opacus"], ">=", 8.0),
        ("an epoch of logistic SGD: times Opacus", ratios["logistic, times Opacus"], ">=", 8.0),
        (over, ratios[over], "<=", 1.5),
    ]
