"""OPERA against classical output perturbation and no privacy: accuracy, objective value and time, epsilon from 1e-9 to 1.

Run ``python examples/opera.py [--quick] [--out DIR]``. The table has the size of Adult (30,162 rows, 37 columns, simulated),
rows of norm at most 1, a ridge of 0.001 in the mean form, delta 0.001, a hinge rounded over 0.5. OPERA stops gradient
descent after a public number of steps and adds one Gaussian; classical output perturbation minimises and adds spherical
Laplace noise (Chaudhuri, Monteleoni and Sarwate 2011). Both protect the replacement of one person; the number of rows is
public.
"""

from __future__ import annotations

import argparse
import time
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

import discreet as ds
from discreet.models.design import Design
from discreet.models.losses import HuberHinge, Logistic, Loss
from discreet.models.perturbation import Price, ask_for
from discreet.models.queries.opera import Opera
from discreet.sources import open_source

RIDGE, DELTA = Fraction(1, 1000), Fraction(1, 1000)
EPSILONS = [10.0**k for k in range(-9, 1)]
LOSSES: dict[str, Loss] = {"logistic": Logistic(), "SVM": HuberHinge(Fraction(1, 2))}


@dataclass(frozen=True)
class Way:
    """A way to fit: its label, method and price at an epsilon."""

    label: str
    method: Any
    price: Any
    color: str


WAYS = [
    Way("OPERA, 30 steps", Opera(30), lambda e: Price(e, DELTA), "#1b6ca8"),
    Way("OPERA, 300 steps", Opera(300), lambda e: Price(e, DELTA), "#7fb7de"),
    Way("output, analytic Gaussian", "output", lambda e: Price(e, DELTA), "#c96f2b"),
    Way("output, classical", "output", Price, "#8a8a8a"),
]


def table(rows: int, columns: int) -> tuple[Any, Any]:
    """Rows like Adult's after coding: a few numbers and many indicators, a quarter of them positive."""
    rng = np.random.default_rng(0)
    x = np.where(np.arange(columns) < 6, rng.normal(0, 0.5, (rows, columns)), rng.uniform(size=(rows, columns)) < 0.15)
    beta = rng.normal(0, 1.2, columns)
    score = x @ beta
    y = (score - np.quantile(score, 0.75) + rng.logistic(0, 0.5, rows) > 0).astype(int)
    return np.clip(x, -1, 1), y


def study(rows: int, columns: int, runs: int) -> dict[str, Any]:
    """For every loss, way and epsilon: mean accuracy and objective over ``runs`` draws; for every way seconds to the fit."""
    x, y = table(rows, columns)
    names = [f"x{i}" for i in range(columns)]
    schema = ds.Schema({n: ds.Real(-1, 1) for n in names} | {"y": ds.Categories([0, 1])}, neighbors="replace")
    source = open_source({n: x[:, i] for i, n in enumerate(names)} | {"y": y}, schema)
    # Rows longer than the root of 6 are clipped to it: most are shorter.
    design = Design.of(schema, names, "y", radius=Fraction("2.5"))
    (block,) = source.fold(lambda b: [design.block(b)], lambda left, right: left + right, list(design.columns))[:1]
    ridge = RIDGE * rows
    found: dict[str, Any] = {}
    for title, loss in LOSSES.items():

        def judged(theta: Any, loss: Loss = loss) -> tuple[float, float]:
            score = block.x @ theta
            value = loss.value(score, block.y).mean() + 0.5 * float(RIDGE) * float(theta @ theta)
            return float(((score > 0) == (block.y > 0)).mean()), float(value)

        lines: dict[str, Any] = {}
        for way in WAYS:
            query = ask_for(design, loss, ridge, way.method, way.price(1), "replace", rows).query
            times = []
            for _ in range(3):
                start = time.perf_counter()
                exact = query.evaluate(source)
                times.append(time.perf_counter() - start)
            seconds = min(times)
            points = []
            for epsilon in EPSILONS:
                law = ask_for(design, loss, ridge, way.method, way.price(epsilon), "replace", rows).mechanism
                points.append(np.mean([judged(law.release(exact)) for _ in range(runs)], axis=0))
            lines[way.label] = {"accuracy": [p[0] for p in points], "objective": [p[1] for p in points], "seconds": seconds}
        best = ask_for(design, loss, ridge, "output", Price(1), "replace", rows).query.evaluate(source)
        found[title] = {"lines": lines, "none": judged(best)}
    return found


def draw(found: dict[str, Any], folder: Path) -> list[Path]:
    """Accuracy and objective against epsilon, and the times."""
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    paths = []
    for what, place in (("accuracy", 0), ("objective", 1)):
        figure, axes = plt.subplots(1, len(found), figsize=(9.5, 3.8), constrained_layout=True)
        for axis, (title, result) in zip(axes, found.items(), strict=True):
            for way in WAYS:
                axis.plot(EPSILONS, result["lines"][way.label][what], marker="o", ms=3, color=way.color, label=way.label)
            axis.axhline(result["none"][place], color="black", lw=1, ls="--", label="no privacy")
            axis.set(xscale="log", xlabel="epsilon", ylabel=what, title=title)
            if what == "objective":
                axis.set_yscale("log")
        axes[0].legend(fontsize=8)
        paths.append(folder / f"opera_{what}.png")
        figure.savefig(paths[-1], dpi=150)
        plt.close(figure)
    figure, axis = plt.subplots(figsize=(6.5, 3.2), constrained_layout=True)
    width = 0.8 / len(WAYS)
    for i, way in enumerate(WAYS):
        heights = [1000 * result["lines"][way.label]["seconds"] for result in found.values()]
        axis.bar(np.arange(len(found)) + i * width, heights, width, color=way.color, label=way.label)
    axis.set_xticks(np.arange(len(found)) + 1.5 * width, list(found))
    axis.set(ylabel="milliseconds", title="time to the point that noise is added to")
    axis.title.set_fontsize(10)
    axis.legend(fontsize=8)
    paths.append(folder / "opera_times.png")
    figure.savefig(paths[-1], dpi=150)
    plt.close(figure)
    return paths


def main(folder: Path, quick: bool = False) -> list[Path]:
    """Study, print and draw."""
    folder.mkdir(parents=True, exist_ok=True)
    found = study(*((2000, 12, 2) if quick else (30_162, 37, 20)))
    for title, result in found.items():
        print(f"{title}: without privacy accuracy {result['none'][0]:.4f}, objective {result['none'][1]:.4f}")
        for label, line in result["lines"].items():
            shown = ", ".join(f"{e:.0e} {a:.3f}" for e, a in zip(EPSILONS, line["accuracy"], strict=True))
            print(f"  {label:<26} {1000 * line['seconds']:7.1f} ms   accuracy at epsilon: {shown}")
    return draw(found, folder)


if __name__ == "__main__":
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--quick", action="store_true", help="fewer rows and runs, for a first look")
    options.add_argument("--out", type=Path, default=Path("pictures"), metavar="DIR", help="where pictures go; pictures/")
    given = options.parse_args()
    for made in main(given.out, given.quick):
        print(made)
    print("What to see: one person moves the last of few steps less than the minimiser, so OPERA needs less noise;")
    print("below some epsilon no way of the four learns anything.")
    if given.quick:
        print("These are quick pictures, of few runs: they show what is drawn, not what holds.")
