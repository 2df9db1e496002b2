"""A private network at two medical sizes: 303 patients of a heart study, and 70,000 of a screening.

    python examples/medical_network.py [--quick] [--out DIR]

Both tables are simulated, with as many columns and a like share of the ill. Two hidden layers of 100 units, clip norm
1: what privacy costs depends on how many people stand behind it. The second picture compares ways to perturb gradients:
GRPUA (corrected) takes one record a step, SgdPert the same steps with the noise of the theorem of Bassily, Smith and
Thakurta (2014), and lots of many records the same number of epochs; accuracy, objective and time of a fit.
"""

from __future__ import annotations

import argparse
import math
import time
from pathlib import Path
from typing import Any

import matplotlib as mpl

mpl.use("Agg")
import matplotlib.pyplot as plt
import numpy as np

from discreet.models import GRPUANetwork, MLPClassifier, roc_curve

COLOURS = ("#0b6e99", "#c2571a", "#3a7d44")


def patients(count: int, features: int, seed: int) -> tuple[Any, Any]:
    """Measurements within [-1, 1] and who is ill: a score with a bend and a product in it, and chance."""
    generator = np.random.default_rng(seed)
    x = np.clip(generator.normal(0, 0.5, (count, features)), -1, 1)
    score = 2.5 * x[:, 0] + 2 * x[:, 1] ** 2 - 3 * x[:, 2] * x[:, 3] + x[:, 4:7].sum(axis=1)
    return x, (generator.random(count) < 1 / (1 + np.exp(-2 * score))).astype(int)


def network(rows: int, epsilon: float, epochs: float) -> MLPClassifier:
    return MLPClassifier(
        epsilon=epsilon, delta=1 / (10 * rows), bounds=(-1, 1), classes=[0, 1], expected_rows=rows,
        lot_size=min(rows, max(64, rows // 64)), epochs=epochs, clip=1.0, learning_rate=1.0,
    )  # fmt: skip


def against_epsilon(folder: Path, sizes: dict[int, tuple[int, float, int]], grid: list[float]) -> Path:
    made, axes = plt.subplots(figsize=(7.2, 4.6), layout="constrained")
    for (rows, (features, epochs, repeats)), colour in zip(sizes.items(), COLOURS, strict=False):
        train, test = patients(rows, features, 1), patients(20_000, features, 2)
        scores = [[network(rows, e, epochs).fit(*train).public_score(*test) for _ in range(repeats)] for e in grid]
        axes.plot(grid, [np.median(s) for s in scores], "o-", color=colour, label=f"{rows:,} patients, {features} columns")
        axes.fill_between(grid, [min(s) for s in scores], [max(s) for s in scores], color=colour, alpha=0.15, lw=0)
        free = network(rows, math.inf, epochs).fit(*train).public_score(*test)
        axes.axhline(free, color=colour, ls=":", lw=1)
    axes.set_xscale("log")
    axes.set_xticks(grid, [f"{e:g}" for e in grid])
    axes.minorticks_off()
    axes.set(xlabel="ε (δ a tenth of one over the patients)", ylabel="accuracy on others")
    axes.set_title("Dotted: the same networks without privacy", loc="left", fontsize=11)
    axes.legend(frameon=False)
    return save(made, folder / "medical_accuracy.png")


def sgd_pert(rows: int, epsilon: float, steps: int) -> GRPUANetwork:
    """One record a step, with noise sqrt(32 steps / rows^2 ln(rows / delta) ln(1 / delta)) / epsilon for slopes of 1.

    More than is needed up to an epsilon of about 4, and too little beyond.
    """
    delta = 1 / (10 * rows)
    noise = math.sqrt(32 * steps / rows**2 * math.log(rows / delta) * math.log(1 / delta)) / epsilon
    return GRPUANetwork.with_noise(
        noise, delta=delta, expected_rows=rows, steps=steps, bounds=(-1, 1), classes=[0, 1], clip=1.0, learning_rate=0.02
    )


def perturbed(folder: Path, rows: int, features: int, epochs: float, grid: list[float], repeats: int) -> Path:
    """Accuracy on others, mean cross-entropy of the fitted rows and seconds of a fit, against epsilon."""
    train, test = patients(rows, features, 1), patients(20_000, features, 2)
    single = {"delta": 1 / (10 * rows), "bounds": (-1, 1), "classes": [0, 1], "expected_rows": rows, "learning_rate": 0.02}
    steps = math.ceil(epochs * rows)
    ways: dict[str, Any] = {
        "GRPUA": lambda e: GRPUANetwork(epsilon=e, steps=steps, **single),
        "SgdPert": lambda e: sgd_pert(rows, e, steps),
        "lots": lambda e: network(rows, e, epochs),
    }
    made, axes = plt.subplots(1, 3, figsize=(12.5, 3.9), layout="constrained")
    for (name, way), colour in zip(ways.items(), COLOURS, strict=True):
        lines: list[list[float]] = []
        for epsilon in grid:
            runs = []
            for _ in range(repeats):
                model = way(epsilon)
                began = time.perf_counter()
                model.fit(*train)
                seconds = time.perf_counter() - began
                runs.append((model.public_score(*test), cross_entropy(model, *train), seconds))
            lines.append([float(np.median(each)) for each in zip(*runs, strict=True)])
        print(f"{name:<8} seconds of a fit: {np.median([line[2] for line in lines]):.2g}")
        for place, axis in enumerate(axes):
            axis.plot(grid, [line[place] for line in lines], "o-", color=colour, label=name)
    free = network(rows, math.inf, epochs).fit(*train)
    axes[0].axhline(free.public_score(*test), color="black", ls=":", lw=1, label="no privacy")
    axes[1].axhline(cross_entropy(free, *train), color="black", ls=":", lw=1)
    for axis, words in zip(axes, ("accuracy on others", "mean cross-entropy", "seconds of a fit"), strict=True):
        axis.set(xscale="log", xlabel="ε", ylabel=words)
        axis.set_xticks(grid, [f"{e:g}" for e in grid])
        axis.minorticks_off()
    axes[2].set_yscale("log")
    axes[0].legend(frameon=False)
    axes[0].set_title(f"{rows:,} patients, {epochs:g} epochs", loc="left", fontsize=11)
    return save(made, folder / "medical_perturbed.png")


def cross_entropy(model: Any, x: Any, y: Any) -> float:
    """The objective of a network: the mean of -log of the chance it gave to what was the case."""
    return float(-np.mean(np.log(np.maximum(model.predict_proba(x)[np.arange(len(y)), y], 1e-12))))


def roc(folder: Path, rows: int, epochs: float) -> Path:
    """The ROC curve on 20,000 private patients, paid with ε = 0.2."""
    made, axes = plt.subplots(figsize=(5.4, 4.8), layout="constrained")
    train, test = patients(rows, 11, 1), patients(20_000, 11, 2)
    for epsilon in (0.5, 4.0):
        fitted = network(rows, epsilon, epochs).fit(*train)
        roc_curve(fitted, *test, epsilon=0.2).plot(axes, f"ε = {epsilon:g},")
    axes.set_title(f"{rows:,} patients; each curve costs ε = 0.2 more", loc="left", fontsize=10)
    return save(made, folder / "medical_roc.png")


def save(made: Any, path: Path) -> Path:
    for axes in made.axes:
        axes.spines[["top", "right"]].set_visible(False)
        axes.grid(alpha=0.2)
    made.savefig(path, dpi=130)
    plt.close(made)
    return path


def main(folder: Path, quick: bool = False) -> list[Path]:
    """Draw the pictures into ``folder``."""
    folder.mkdir(parents=True, exist_ok=True)
    if quick:
        return [
            against_epsilon(folder, {303: (13, 5, 1), 2000: (11, 2, 1)}, [0.5, 4.0]),
            perturbed(folder, 303, 13, 1.0, [0.5, 4.0], 1),
            roc(folder, 2000, 2),
        ]
    sizes = {303: (13, 40.0, 5), 70_000: (11, 10.0, 2)}
    grid = [0.25, 0.5, 1.0, 2.0, 4.0, 8.0]
    return [
        against_epsilon(folder, sizes, grid),
        perturbed(folder, 3000, 13, 4.0, grid[:-1], 3),
        roc(folder, 70_000, 10),
    ]


if __name__ == "__main__":
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--quick", action="store_true", help="fewer rows and runs, for a first look")
    options.add_argument("--out", type=Path, default=Path("pictures"), metavar="DIR", help="where pictures go; pictures/")
    given = options.parse_args()
    for made in main(given.out, given.quick):
        print(made)
    print(
        "What to see: with 303 patients privacy costs much of the accuracy, with 70,000 little of it; lots of many records"
    )
    print("beat one record a step, and GRPUA, with the noise that is needed, beats the noise of the theorem.")
    if given.quick:
        print("These are quick pictures, of few runs: they show what is drawn, not what holds.")
