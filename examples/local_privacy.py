"""Local privacy in three pictures: a mean in one dimension, 27 means at once, a classifier.

    python examples/local_privacy.py [--quick] [--out DIR]

All data are simulated here, with numbers like those of the studies they stand for.
"""

from __future__ import annotations

import argparse
import math
from pathlib import Path

import matplotlib as mpl

mpl.use("Agg")
import matplotlib.pyplot as plt
import numpy as np

import discreet as ds
from discreet.core.random import Random
from discreet.local import Hybrid, PrivUnit, best_mean, local_sgd, logistic_gradient

PER_INCH = 6.0
INK, GREY = "#1b1b1b", "#8a8a8a"
COLOURS = ("#0b6e99", "#c2571a", "#3a7d44", "#7b4b94", "#b8860b")


def figure(title: str, x: str, y: str, width: float = 7.2) -> tuple[plt.Figure, plt.Axes]:
    """An empty picture with its words."""
    made, axes = plt.subplots(figsize=(width, 4.6), layout="constrained")
    axes.set_title(title, loc="left", fontsize=11, color=INK)
    axes.set_xlabel(x)
    axes.set_ylabel(y)
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(alpha=0.25)
    return made, axes


def mean_errors(folder: Path, repeats: int) -> Path:
    """The error of a mean of up to 500 people: noise added by a trusted custodian, against reports private by themselves."""
    random, generator = Random(1), np.random.default_rng(1)
    sizes = np.array([10, 20, 50, 100, 200, 350, 500])
    people = np.clip(generator.normal(0.3, 0.35, 500), -1, 1)
    made, axes = figure("Error of a mean of values in [-1, 1]", "people", "root mean square error")
    axes.plot(sizes, people.std() / np.sqrt(sizes), color=GREY, ls=":", label="sampling alone, no privacy")
    for epsilon, colour in zip(("1", "0.25", "0.15"), COLOURS, strict=False):
        spread = [
            np.square(ds.Laplace.costing(2 / n, epsilon=epsilon).release(np.zeros(repeats), seed=random)).mean()
            for n in sizes
        ]
        axes.plot(sizes, np.sqrt(spread), "o-", ms=4, color=colour, label=f"custodian adds Laplace noise, ε = {epsilon}")
    law = Hybrid("0.5")
    errors = []
    for n in sizes:
        sent = [law.estimate(law.reports(people[:n], seed=random)).value for _ in range(repeats)]
        errors.append(math.sqrt(np.square(np.array(sent) - people[:n].mean()).mean()))
    axes.plot(sizes, errors, "s-", ms=5, color=COLOURS[3], lw=2, label="every person reports privately, ε = 0.5")
    axes.plot(sizes, np.sqrt(law.worst_variance / sizes), color=COLOURS[3], ls="--", lw=1, label="its formula, worst case")
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xticks(sizes, [str(n) for n in sizes])
    axes.minorticks_off()
    axes.legend(frameon=False, fontsize=8)
    return save(made, folder / "local_mean.png")


def drug_use(folder: Path, repeats: int) -> Path:
    """27 yes-or-no answers of 1000 people: the largest error of the 27 shares, by epsilon."""
    n, d, random, generator = 1000, 27, Random(2), np.random.default_rng(2)
    # A few common substances, many rare ones.
    used = np.sort(generator.beta(0.5, 2.5, d))[::-1]
    rows = (generator.random((n, d)) < used).astype(float)
    truth = rows.mean(0)
    grid = ["0.5", "1", "2", "4", "8"]
    alphas = np.array([float(e) for e in grid])
    best, laplace = [], []
    for epsilon in grid:
        law, noise = best_mean(d, epsilon, bounds=(0, 1)), ds.Laplace.costing(d, epsilon=epsilon)
        best.append(
            np.mean([np.abs(law.estimate(law.reports(rows, seed=random)).value - truth).max() for _ in range(repeats)])
        )
        noisy = [noise.release(rows, seed=random).mean(0) for _ in range(max(3, repeats // 5))]
        laplace.append(np.mean([np.abs(m - truth).max() for m in noisy]))
    sampled = np.mean([np.abs(rows[generator.integers(0, n, n)].mean(0) - truth).max() for _ in range(200)])
    made, axes = figure(
        f"{d} shares from {n} people, reported privately", "ε of each person's one report", "largest error of the shares"
    )
    axes.plot(alphas, laplace, "^-", color=COLOURS[1], label="Laplace noise on all 27 answers")
    axes.plot(alphas, best, "s-", color=COLOURS[3], lw=2, label="best law (one coordinate or cube)")
    rate = 0.5 * np.sqrt(d * math.log(2 * d) / (n * np.minimum(alphas, alphas**2)))
    axes.plot(alphas, rate, "--", color=INK, lw=1, label="minimax rate, constant one")
    axes.axhline(sampled, color=GREY, ls=":", label="no privacy: sampling alone")
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xticks(alphas, grid)
    axes.minorticks_off()
    axes.legend(frameon=False, fontsize=8)
    return save(made, folder / "local_drug_use.png")


def heights_and_weights(count: int, generator: np.random.Generator) -> np.ndarray:
    """(1/2, height, weight beyond what is usual for it, sex), on public scales; men 1, women -1.

    Six pounds an inch is what a doctor's table says; on these axes gradient descent has no long valley to follow.
    """
    men = generator.random(count) < 0.5
    a, b = generator.normal(size=(2, count))
    height = np.where(men, 69.0 + 2.86 * a, 63.7 + 2.70 * a)
    tilt = np.where(men, 0.86, 0.85)
    weight = np.where(men, 187.0, 136.0) + np.where(men, 19.8, 19.0) * (tilt * a + np.sqrt(1 - tilt**2) * b)
    beyond = weight - 160 - PER_INCH * (height - 66)
    return np.column_stack((np.full(count, 0.5), (height - 66) / 6, beyond / 24, np.where(men, 1.0, -1.0)))


def accuracy(parameters: np.ndarray, records: np.ndarray) -> float:
    return float((np.sign(records[:, :-1] @ parameters) == records[:, -1]).mean())


def classifier(folder: Path, repeats: int) -> Path:
    """Men and women by height and weight: 4900 people learn a line together, each reporting one clipped gradient."""
    generator = np.random.default_rng(3)
    records = heights_and_weights(7000, generator)
    train, test = records[:4900], records[4900:]
    free = np.zeros(3)
    for _ in range(3000):
        free -= 2.0 * logistic_gradient(free, train).mean(0)
    grid = ["0.5", "1", "2", "4", "8"]
    scores, lines = [], {}
    for epsilon in grid:
        law = PrivUnit(epsilon, 3, 1)
        found = [
            local_sgd(train, logistic_gradient, law, start=[0, 0, 0], steps=35, rate=2.0, reach=12.0, seed=100 * i)
            for i in range(repeats)
        ]
        scores.append([accuracy(f.parameters, test) for f in found])
        lines[epsilon] = found[0].parameters
    made, (left, right) = plt.subplots(1, 2, figsize=(10.5, 4.6), layout="constrained")
    shown = test[:700]
    for sex, colour, word in ((1, COLOURS[0], "men"), (-1, COLOURS[1], "women")):
        mine = shown[shown[:, -1] == sex]
        height = 66 + 6 * mine[:, 1]
        left.scatter(height, 160 + 24 * mine[:, 2] + PER_INCH * (height - 66), s=7, alpha=0.5, color=colour, label=word)
    x = np.array([54.0, 78.0])
    for w, style, word in ((free, ":", "no privacy"), (lines["2"], "--", "ε = 2"), (lines["8"], "-", "ε = 8")):
        left.plot(
            x, 160 + PER_INCH * (x - 66) - 24 * (0.5 * w[0] + w[1] * (x - 66) / 6) / w[2], style, color=INK, label=word
        )
    left.set(xlim=(54, 78), ylim=(60, 260), xlabel="height, inches", ylabel="weight, pounds")
    left.set_title("A line learnt by local gradient descent", loc="left", fontsize=11)
    left.legend(frameon=False, fontsize=8)
    alphas = [float(e) for e in grid]
    middle = [float(np.median(s)) for s in scores]
    right.fill_between(alphas, [min(s) for s in scores], [max(s) for s in scores], color=COLOURS[3], alpha=0.15, lw=0)
    right.plot(alphas, middle, "s-", color=COLOURS[3], label=f"median and range of {repeats} runs, 35 groups of 140 people")
    right.axhline(accuracy(free, test), color=GREY, ls=":", label="no privacy")
    right.set_xscale("log")
    right.set_xticks(alphas, grid)
    right.minorticks_off()
    right.set(xlabel="ε of each person's one report", ylabel="accuracy on 2100 others", ylim=(0.45, 1.0))
    right.set_title("What privacy costs", loc="left", fontsize=11)
    right.legend(frameon=False, fontsize=8, loc="lower right")
    for axes in (left, right):
        axes.spines[["top", "right"]].set_visible(False)
        axes.grid(alpha=0.25)
    return save(made, folder / "local_classifier.png")


def save(made: plt.Figure, path: Path) -> Path:
    made.savefig(path, dpi=130)
    plt.close(made)
    return path


def main(folder: Path, quick: bool = False) -> list[Path]:
    """Draw the three pictures into ``folder``."""
    folder.mkdir(parents=True, exist_ok=True)
    return [
        mean_errors(folder, 40 if quick else 1000),
        drug_use(folder, 5 if quick else 60),
        classifier(folder, 2 if quick else 15),
    ]


if __name__ == "__main__":
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--quick", action="store_true", help="fewer rows and runs, for a first look")
    options.add_argument("--out", type=Path, default=Path("pictures"), metavar="DIR", help="where pictures go; pictures/")
    given = options.parse_args()
    for made in main(given.out, given.quick):
        print(made)
    print("What to see: a custodian's noise fades faster with people than the noise of everybody's own report;")
    print("of 27 answers it is better to report one, or a law made for all, than each with a share of epsilon.")
    if given.quick:
        print("These are quick pictures, of few runs: they show what is drawn, not what holds.")
