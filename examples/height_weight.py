"""Men and women by height and weight: private gradient descent at high and low privacy, local descent, and no privacy.

    python examples/height_weight.py [--quick] [--out DIR]

7000 people are simulated, 70 % to learn from and 30 % to be judged on; those are private as well, so the confusion
matrix and the ROC curve are releases too.
"""

from __future__ import annotations

import argparse
import math
from pathlib import Path
from typing import Any

import matplotlib as mpl

mpl.use("Agg")
import matplotlib.pyplot as plt
import numpy as np

from discreet.local import PrivUnit, local_sgd, logistic_gradient
from discreet.models import SGDClassifier, confusion_matrix, roc_curve

INK, GREY = "#1b1b1b", "#8a8a8a"
COLOURS = ("#0b6e99", "#c2571a", "#3a7d44", "#7b4b94")
PEOPLE, LEARN = 7000, 4900
PER_INCH = 6.0  # pounds an inch, from a doctor's table: on these axes descent has no long valley to follow
DELTA = 1e-5
WAYS: dict[str, float] = {"no privacy": math.inf, "low privacy, ε = 8": 8.0, "high privacy, ε = 0.5": 0.5}


def people(count: int, generator: np.random.Generator) -> tuple[Any, Any]:
    """Height and weight beyond what is usual for it, on public scales; 1 for men."""
    men = generator.random(count) < 0.5
    a, b = generator.normal(size=(2, count))
    height = np.where(men, 69.0 + 2.86 * a, 63.7 + 2.70 * a)
    tilt = np.where(men, 0.86, 0.85)
    weight = np.where(men, 187.0, 136.0) + np.where(men, 19.8, 19.0) * (tilt * a + np.sqrt(1 - tilt**2) * b)
    return np.column_stack(((height - 66) / 6, (weight - 160 - PER_INCH * (height - 66)) / 24)), men.astype(int)


def model(epsilon: float, rows: int, epochs: float = 12) -> SGDClassifier:
    return SGDClassifier(
        epsilon=epsilon, delta=DELTA, bounds=(-3, 3), classes=[0, 1], expected_rows=rows, epochs=epochs,
        lot_size=min(250, rows), learning_rate=8.0, radius=1.5,
    )  # fmt: skip


def local(x: Any, y: Any, epsilon: float) -> Any:
    """Every person reports one clipped gradient, private by itself; returns predictions as a function."""
    records = np.column_stack((np.full(len(x), 0.5), x, 2.0 * y - 1.0))
    found = local_sgd(records, logistic_gradient, PrivUnit(epsilon, 3, 1), start=[0, 0, 0], steps=35, rate=2.0, reach=12.0)
    w = found.parameters
    return lambda z: (0.5 * w[0] + z @ w[1:] > 0).astype(int)


def learnt(folder: Path, repeats: int) -> Path:
    """The people with the lines learnt, and the accuracy of each way."""
    generator = np.random.default_rng(11)
    x, y = people(PEOPLE, generator)
    train, test = (x[:LEARN], y[:LEARN]), (x[LEARN:], y[LEARN:])
    made, (left, right) = plt.subplots(1, 2, figsize=(10.5, 4.6), layout="constrained")
    for sex, colour, word in ((1, COLOURS[0], "men"), (0, COLOURS[1], "women")):
        mine = test[0][:700][test[1][:700] == sex]
        height = 66 + 6 * mine[:, 0]
        left.scatter(height, 160 + 24 * mine[:, 1] + PER_INCH * (height - 66), s=7, alpha=0.45, color=colour, label=word)
    ends = np.array([54.0, 78.0])
    scores: dict[str, list[float]] = {}
    for (word, epsilon), style in zip(WAYS.items(), (":", "-", "--"), strict=True):
        fits = [model(epsilon, LEARN).fit(*train) for _ in range(1 if math.isinf(epsilon) else repeats)]
        scores[word] = [fit.public_score(*test) for fit in fits]
        (a, b), c = fits[0].coef_[0], fits[0].intercept_[0]
        left.plot(ends, 160 + PER_INCH * (ends - 66) - 24 * (c + a * (ends - 66) / 6) / b, style, color=INK, label=word)
    scores["local, ε = 8"] = [float((local(*train, 8.0)(test[0]) == test[1]).mean()) for _ in range(repeats)]
    scores["local, ε = 0.5"] = [float((local(*train, 0.5)(test[0]) == test[1]).mean()) for _ in range(repeats)]
    left.set(xlim=(54, 78), ylim=(60, 260), xlabel="height, inches", ylabel="weight, pounds")
    left.legend(frameon=False, fontsize=8)
    for place, (word, values) in enumerate(scores.items()):
        colour = COLOURS[place % len(COLOURS)]
        right.plot(values, [place] * len(values), "o", color=colour, alpha=0.5)
        right.plot(np.median(values), place, "|", ms=24, mew=2.5, color=colour)
        right.text(0.4, place + 0.18, word, fontsize=9, color=INK)
    right.set(xlim=(0.4, 1.0), ylim=(-0.5, len(scores)), yticks=[], xlabel="accuracy on 2100 others")
    right.set_title(f"{repeats} runs of each, and their median", loc="left", fontsize=10)
    return save(made, folder / "height_weight_lines.png")


def judged(folder: Path) -> Path:
    """What may be said about the model on private people: a confusion matrix and a ROC curve, each for ε = 0.5."""
    x, y = people(PEOPLE, np.random.default_rng(11))
    fitted = model(0.5, LEARN).fit(x[:LEARN], y[:LEARN])
    made, (left, right) = plt.subplots(1, 2, figsize=(9.5, 4.4), layout="constrained")
    matrix = confusion_matrix(fitted, x[LEARN:], y[LEARN:], epsilon=0.5)
    matrix.plot(left).set_title(f"confusion matrix, ε = 0.5: accuracy {matrix.accuracy:.3f}", loc="left", fontsize=10)
    curve = roc_curve(fitted, x[LEARN:], y[LEARN:], epsilon=0.5, bins=32)
    curve.plot(right).set_title("ROC curve, ε = 0.5", loc="left", fontsize=10)
    return save(made, folder / "height_weight_judged.png")


def by_size(folder: Path, sizes: list[int], repeats: int) -> Path:
    """Accuracy against the number of people."""
    from discreet.models.evaluate.learning_curve import accuracy_by_size, plot_accuracy

    x, y = people(PEOPLE, np.random.default_rng(11))
    made, axes = plt.subplots(figsize=(7, 4.4), layout="constrained")
    curves = {
        word: accuracy_by_size(
            lambda n, e=epsilon: model(e, n, epochs=6), x, y, (x[LEARN:], y[LEARN:]), sizes, repeats=repeats
        )
        for word, epsilon in WAYS.items()
    }
    plot_accuracy(curves, axes).set_title("Accuracy against the number of people learnt from", loc="left", fontsize=11)
    return save(made, folder / "height_weight_sizes.png")


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
    return [
        learnt(folder, 2 if quick else 10),
        judged(folder),
        by_size(folder, *(([100, 300], 1) if quick else ([100, 300, 1000, LEARN], 5))),
    ]


if __name__ == "__main__":
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--quick", action="store_true", help="fewer rows and runs, for a first look")
    options.add_argument("--out", type=Path, default=Path("pictures"), metavar="DIR", help="where pictures go; pictures/")
    given = options.parse_args()
    for made in main(given.out, given.quick):
        print(made)
    print("What to see: central privacy at epsilon = 0.5 draws nearly the line of no privacy;")
    print("local privacy at the same epsilon loses more.")
    if given.quick:
        print("These are quick pictures, of few runs: they show what is drawn, not what holds.")
