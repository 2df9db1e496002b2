"""Six ways to a linear classifier: accuracy, objective against epsilon, and time; logistic and support vector machine.

    python examples/gradient_comparison.py [--quick] [--out DIR]

OPERA, OutPert (Zhang et al. 2017), GRPUA (corrected), output perturbation with the classical Gaussian, SgdPert, which is the
stochastic gradient descent of Bassily, Smith and Thakurta (2014) with the noise of their theorem, and no privacy; on
Adult (from the ``mglearn`` package where it is installed, simulated at its size elsewhere) and on a table like a bank's.
The ridge is 0.001 for the mean of the losses, delta is 0.001, a row is replaced, rows have a norm of at most 1, the hinge is
rounded over 0.5.
"""

from __future__ import annotations

import argparse
import importlib.util
import math
import time
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import matplotlib as mpl

mpl.use("Agg")
import matplotlib.pyplot as plt
import numpy as np

from discreet.core.random import system
from discreet.core.runner import Desk, NoLedger
from discreet.core.schema import Categories, Real, Schema
from discreet.mechanisms import Gaussian
from discreet.models import GRPUA, LinearSVC, LogisticRegression, Opera
from discreet.models.design import Design
from discreet.models.gradient.engine import Run, descend
from discreet.models.gradient.network import Network
from discreet.models.gradient.steps import StronglyConvex
from discreet.models.losses import HuberHinge, Logistic, Loss
from discreet.sources import open_source

MEAN_RIDGE, DELTA = 0.001, 1e-3
LOSSES: dict[str, Loss] = {"logistic": Logistic(), "SVM": HuberHinge()}
EXACT = {"logistic": LogisticRegression, "SVM": LinearSVC}
COLOURS = {
    "OPERA": "#0b6e99",
    "OutPert": "#7fb7de",
    "GRPUA": "#c2571a",
    "classical output": "#3a7d44",
    "SgdPert": "#7b4b94",
    "no privacy": "#8a8a8a",
}
TOPS = {"age": 90, "education-num": 16, "capital-gain": 1e5, "capital-loss": 4356, "hours-per-week": 99}


def adult(rows: int) -> tuple[Any, Any]:
    """Six numbers within [0, 1] and the income class."""
    generator = np.random.default_rng(0)
    found = importlib.util.find_spec("mglearn")
    file = None if found is None or found.origin is None else Path(found.origin).parent / "data" / "adult.data"
    if file is not None and file.exists():
        names = "age workclass fnlwgt education education-num marital occupation relationship race sex capital-gain "
        names += "capital-loss hours-per-week country income"
        lines = [line.split(", ") for line in file.read_text().splitlines() if line and "?" not in line]
        table = dict(zip(names.split(), zip(*lines, strict=True), strict=True))
        x = np.column_stack([np.array(table[n], float) / top for n, top in TOPS.items()])
        x = np.column_stack([x, np.array(table["marital"]) == "Married-civ-spouse"])
        y = np.char.startswith(np.array(table["income"]), ">").astype(int)
    else:
        x = np.column_stack(
            [generator.beta(4, 6, 30_162), generator.beta(8, 5, 30_162), generator.random((30_162, 2)) ** 12]
        )
        x = np.column_stack([x, generator.beta(6, 8, 30_162), generator.random(30_162) < 0.47])
        y = (generator.random(30_162) < 1 / (1 + np.exp(6.5 - x @ [3.0, 4.0, 9.0, 2.0, 2.0, 2.2]))).astype(int)
    order = generator.permutation(len(x))[:rows]
    return np.clip(x[order], 0, 1), y[order]


def bank(rows: int) -> tuple[Any, Any]:
    """A table like that of a bank's calls: eight numbers within [0, 1], about 12 % say yes."""
    generator = np.random.default_rng(1)
    rows = min(rows, 45_211)
    x = np.column_stack(
        [generator.beta(3, 4, (rows, 4)), generator.random((rows, 2)) ** 4, generator.random((rows, 2)) < 0.5]
    )
    score = x @ [2.0, 1.0, -1.0, 0.5, 6.0, 3.0, -1.0, 0.7] - 4.4
    return x, (generator.random(rows) < 1 / (1 + np.exp(-score))).astype(int)


def public(n: int) -> dict[str, Any]:
    return {"bounds": (0, 1), "classes": [0, 1], "neighbors": "replace", "ridge": MEAN_RIDGE * n}


def judged(theta: Any, design: Design, loss: Loss, x: Any, y: Any) -> tuple[float, float]:
    """Accuracy, and the mean of the losses with the ridge."""
    rows, signs = design.rows_of(x), 2.0 * y - 1.0
    score = rows @ theta
    return float(np.mean((score > 0) == (y > 0))), float(np.mean(loss.value(score, signs))) + MEAN_RIDGE / 2 * float(
        theta @ theta
    )


def sgd_pert(x: Any, y: Any, loss: Loss, epsilon: float, epochs: float) -> tuple[Any, Design]:
    """Single-record steps with the noise of their theorem, sqrt(32 T/n^2 ln(n/delta) ln(1/delta)) / epsilon for slopes of 1.

    The accountant confirms that it is enough; it is several times what is needed.
    """
    n, d = x.shape
    schema = Schema({**{f"x{i}": Real(0, 1) for i in range(d)}, "y": Categories((0, 1))}, neighbors="replace")
    table = {f"x{i}": x[:, i] for i in range(d)} | {"y": y}
    design = Design.of(schema, [f"x{i}" for i in range(d)], "y")
    steps = math.ceil(epochs * n)
    noise = Fraction(math.sqrt(32 * steps / n**2 * math.log(n / DELTA) * math.log(1 / DELTA)) / epsilon)
    most = 1 / (float(loss.curvature) + MEAN_RIDGE)
    run = Run.within(
        design, Network((design.width, 1), loss, bias=False), epsilon=epsilon, delta=DELTA, lot=1, steps=steps, clip=1,
        sizes=StronglyConvex(MEAN_RIDGE, most), expected_rows=n, relation="replace", noise=noise, ridge=MEAN_RIDGE * n,
        iterate="average",
    )  # fmt: skip
    return Desk(open_source(table, schema), NoLedger(), system(), "replace").run(descend(run)).flat, design


Found = dict[str, list[tuple[float, float, float]]]


def scores(x: Any, y: Any, kind: str, grid: list[float], repeats: int, epochs: float) -> Found:
    """For each way the median accuracy, objective and seconds of a fit at each epsilon."""
    loss, n = LOSSES[kind], len(x)
    began = time.perf_counter()
    exact = EXACT[kind](epsilon=math.inf, method="output", **public(n)).fit(x, y)
    plainly = time.perf_counter() - began
    design, best = exact.fitted_.design, exact.fitted_.theta
    ways: dict[str, Callable[[float], Any]] = {
        "OPERA": lambda e: fitted(EXACT[kind](epsilon=e, delta=DELTA, method=Opera(steps=200), **public(n)), x, y),
        "OutPert": lambda e: fitted(EXACT[kind](epsilon=e, delta=DELTA, method="outpert", **public(n)), x, y),
        "GRPUA": lambda e: fitted(GRPUA(epsilon=e, delta=DELTA, loss=loss, epochs=epochs, **public(n)), x, y),
        "classical output": lambda e: Gaussian(2 / (MEAN_RIDGE * n) * math.sqrt(2 * math.log(1.25 / DELTA)) / e).release(
            fitted(EXACT[kind](epsilon=math.inf, method="output", **public(n)), x, y)
        ),
        "SgdPert": lambda e: sgd_pert(x, y, loss, e, epochs)[0],
    }
    found: Found = {name: [] for name in COLOURS}
    for epsilon in grid:
        for name, way in ways.items():
            runs = []
            for _ in range(repeats):
                began = time.perf_counter()
                theta = way(epsilon)
                seconds = time.perf_counter() - began
                runs.append((*judged(theta, design, loss, x, y), seconds))
            found[name].append(tuple(float(np.median(each)) for each in zip(*runs, strict=True)))  # type: ignore[arg-type]
        found["no privacy"].append((*judged(best, design, loss, x, y), plainly))
    return found


def fitted(model: Any, x: Any, y: Any) -> Any:
    """The coefficients of a model, fitted."""
    return model.fit(x, y).fitted_.theta


def picture(folder: Path, name: str, made_of: dict[str, Found], grid: list[float]) -> Path:
    made, axes = plt.subplots(2, 2, figsize=(10.5, 7.4), layout="constrained", sharex=True)
    for column, (kind, found) in enumerate(made_of.items()):
        for way, values in found.items():
            for line in (0, 1):
                axes[line, column].plot(grid, [v[line] for v in values], "o-", ms=4, color=COLOURS[way], label=way)
        axes[0, column].set_title(f"{name}, {kind}", loc="left", fontsize=11)
        axes[1, column].set(xlabel="ε (δ = 0.001)", yscale="log")
    axes[0, 0].set_ylabel("accuracy")
    axes[1, 0].set_ylabel("objective")
    axes[0, 0].legend(frameon=False, fontsize=8)
    for each in axes.flat:
        each.set_xscale("log")
        each.spines[["top", "right"]].set_visible(False)
        each.grid(alpha=0.25)
    path = folder / f"comparison_{name.lower().replace(' ', '_')}.png"
    made.savefig(path, dpi=130)
    plt.close(made)
    return path


def times(folder: Path, found: dict[str, dict[str, Found]]) -> Path:
    """Seconds of a fit by each way, the median over epsilons: for each table and loss."""
    cases = {f"{name}, {kind}": each for name, kinds in found.items() for kind, each in kinds.items()}
    print("seconds of a fit".ljust(20), *(case.rjust(18) for case in cases))
    for way in COLOURS:
        print(way.ljust(20), *(f"{np.median([v[2] for v in each[way]]):.3g}".rjust(18) for each in cases.values()))
    made, axes = plt.subplots(figsize=(8.4, 4.2), layout="constrained")
    width = 0.8 / len(COLOURS)
    for place, (way, colour) in enumerate(COLOURS.items()):
        heights = [float(np.median([v[2] for v in each[way]])) for each in cases.values()]
        axes.bar(np.arange(len(cases)) + place * width, heights, width, color=colour, label=way)
    axes.set_xticks(np.arange(len(cases)) + 0.4, list(cases))
    axes.set(yscale="log", ylabel="seconds of a fit")
    axes.legend(frameon=False, fontsize=8, ncols=3)
    axes.spines[["top", "right"]].set_visible(False)
    path = folder / "comparison_times.png"
    made.savefig(path, dpi=130)
    plt.close(made)
    return path


def main(folder: Path, quick: bool = False) -> list[Path]:
    """Draw the pictures into ``folder``."""
    folder.mkdir(parents=True, exist_ok=True)
    grid = [0.1, 0.5] if quick else [0.01, 0.03, 0.1, 0.3, 0.9]
    rows, repeats, epochs = (400, 1, 0.5) if quick else (30_162, 3, 1.0)
    tables = {"Adult": adult(rows), "A bank": bank(rows)}
    found = {name: {kind: scores(*table, kind, grid, repeats, epochs) for kind in LOSSES} for name, table in tables.items()}
    return [*(picture(folder, name, made_of, grid) for name, made_of in found.items()), times(folder, found)]


if __name__ == "__main__":
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--quick", action="store_true", help="fewer rows and runs, for a first look")
    options.add_argument("--out", type=Path, default=Path("pictures"), metavar="DIR", help="where pictures go; pictures/")
    given = options.parse_args()
    for made in main(given.out, given.quick):
        print(made)
    print(
        "What to see: OPERA and GRPUA reach objectives below those of classical output noise and of SgdPert, with the noise"
    )
    print("of its theorem, at the same epsilon; accuracy follows where enough is learnt. One record a step takes longest.")
    if given.quick:
        print("These are quick pictures, of few runs: they show what is drawn, not what holds.")
