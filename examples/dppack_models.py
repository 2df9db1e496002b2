"""The model examples every user of DPpack knows, with the same points, bounds and budgets.

    python examples/dppack_models.py [--quick] [--out DIR]

1. Logistic regression on 360 points of two bands, epsilon 1, ridge 0.1.
2. A support vector machine with a Gaussian kernel on a disc.
3. A support vector machine with weights, and a treatment rule learned from benefits.
4. Linear regression of 500 points, by noise in the objective and by noisy sums, with intervals.
5. Tuning of the ridge among 100, 1 and 0.0001.

Each prints its mean over repeated fits beside the fit without noise, and saves a picture. DPpack's relation is "bounded"
(replace, n public).
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np

import discreet as ds
from discreet.models.losses import HuberHinge

m = ds.models
REPLACE: dict[str, Any] = {"neighbors": "replace"}
SQUARE: dict[str, Any] = {"bounds": (-1, 1), "classes": [0, 1], **REPLACE}


def bands() -> tuple[Any, Any, Any, Any]:
    """Two bands of 200 points, x = (3t, m - t); every tenth point is kept for judging."""
    rng = np.random.default_rng(1)
    t = np.tile(np.linspace(-0.25, 0.25, 200), 2)
    middle = np.concatenate([rng.normal(-0.2, 0.1, 200), rng.normal(0.2, 0.1, 200)])
    return apart(np.column_stack([3 * t, middle - t]), np.repeat([0, 1], 200))


def disc() -> tuple[Any, Any, Any, Any]:
    """400 points around 0: those near it are one class."""
    X = np.random.default_rng(2).normal(0, 0.28, (400, 2))
    return apart(X, ((X**2).sum(1) >= 0.15).astype(int))


def apart(X: Any, y: Any) -> tuple[Any, Any, Any, Any]:
    """Points to fit to, and every tenth to judge by."""
    tenth = np.arange(len(X)) % 10 == 0
    return X[~tenth], y[~tenth], X[tenth], y[tenth]


def repeated(title: str, make: Callable[[Any], Any], fit: Callable[[Any], Any], score: Callable[[Any], float],
             runs: int) -> dict[str, Any]:  # fmt: skip
    """Fits at epsilon 1, and one without noise; a line for people, a record for tests."""
    plain, fits = fit(make(math.inf)), [fit(make(1)) for _ in range(runs)]
    scores = [score(model) for model in fits]
    print(f"{title:<40} exact {score(plain):.3f}  private {np.mean(scores):.3f} (mean of {runs})  {fits[0].privacy_}")
    return {"title": title, "exact": score(plain), "scores": scores, "plain": plain, "fits": fits}


def classifiers(runs: int) -> list[dict[str, Any]]:
    """Examples 1 to 3: accuracy on the points that were kept apart."""
    X, y, X_test, y_test = bands()
    round_X, round_y, round_X_test, round_y_test = disc()
    weights = np.ones(len(X))
    weights[-1] = 0.5
    # A person gains from treatment 1 where x1 > 0 and from 0 elsewhere; treatments were given by a fair coin.
    rng = np.random.default_rng(3)
    given = rng.integers(0, 2, len(X))
    benefit = np.where(given == (X[:, 0] > 0), 1.0, 0.2) * rng.uniform(0.8, 1.0, len(X))
    best = (X_test[:, 0] > 0).astype(int)

    def logistic(e: Any) -> Any:
        return m.LogisticRegression(epsilon=e, ridge="0.1", **SQUARE)

    def kernel(e: Any) -> Any:
        return m.KernelSVC(epsilon=e, components=20, beta=4, key=7, classes=[0, 1], ridge="0.1", **REPLACE)

    def weighted(e: Any) -> Any:
        return m.LinearSVC(epsilon=e, ridge="0.1", weight_bound=1, **SQUARE)

    def rule(e: Any) -> Any:
        return m.OutcomeWeightedLearner(epsilon=e, propensity=0.5, weight_bound=2, **SQUARE)

    return [
        repeated("logistic regression, 360 points", logistic, lambda f: f.fit(X, y),
                 lambda f: f.public_score(X_test, y_test), runs),
        repeated("Gaussian kernel on a disc, 20 features", kernel, lambda f: f.fit(round_X, round_y),
                 lambda f: f.public_score(round_X_test, round_y_test), runs),
        repeated("support vector machine with weights", weighted, lambda f: f.fit(X, y, weights),
                 lambda f: f.public_score(X_test, y_test), runs),
        repeated("treatment rule from benefits", rule, lambda f: f.fit(X, given, benefit),
                 lambda f: float(np.mean(f.predict(X_test) == best)), runs),
    ]  # fmt: skip


def line() -> tuple[Any, Any]:
    """500 points of y = -0.3 + 0.5 x, with normal errors of standard deviation 0.1."""
    x = np.linspace(-1, 1, 500)
    return x[:, None], -0.3 + 0.5 * x + np.random.default_rng(4).normal(0, 0.1, 500)


def regressions(runs: int) -> list[dict[str, Any]]:
    """Example 4: the squared error of both coefficients, for either method, and how long intervals are."""
    X, y = line()
    truth = np.array([0.5, -0.3])

    def error(model: Any) -> float:
        return float(np.sqrt(np.mean((np.array([model.coef_[0], model.intercept_]) - truth) ** 2)))

    rows = []
    for method in ("objective", "statistics"):

        def make(e: Any, method: str = method) -> Any:
            return m.LinearRegression(epsilon=e, bounds=(-1, 1), target_bounds=(-2, 2), method=method, **REPLACE)  # type: ignore[arg-type]

        rows.append(repeated(f"linear regression by {method}, error", make, lambda f: f.fit(X, y), error, runs))
    shown = rows[1]["fits"][0].confidence_intervals()
    print(shown)
    rows[1]["intervals"] = shown
    return rows


def tuned(runs: int) -> dict[str, Any]:
    """Example 5: how often each ridge is chosen, for logistic regression and for linear regression."""
    X, y, X_test, y_test = bands()
    x, z = line()
    ridges = ["100", "1", "0.0001"]
    chosen: dict[str, list[str]] = {"logistic": [], "linear": []}
    scores = []
    for _ in range(runs):
        logistic = m.tune([{"ridge": r} for r in ridges], X, y, model=m.LogisticRegression(epsilon=1, **SQUARE))
        linear = m.tune(
            [{"ridge": r} for r in ridges], x, z,
            model=m.LinearRegression(epsilon=1, bounds=(-1, 1), target_bounds=(-2, 2), **REPLACE),
        )  # fmt: skip
        chosen["logistic"].append(str(logistic.ridge))
        chosen["linear"].append(str(linear.ridge))
        scores.append(logistic.public_score(X_test, y_test))
    counts = {kind: [picks.count(r) for r in ridges] for kind, picks in chosen.items()}
    print(f"tuning among ridges {ridges}, chosen {counts}; accuracy {np.mean(scores):.3f}; costs {logistic.privacy_.cost}")
    return {"title": "tuning", "ridges": ridges, "counts": counts, "cost": logistic.privacy_.cost, "scores": scores}


def plane(axes: Any, X: Any, y: Any, row: dict[str, Any]) -> None:
    """Points, the border without noise (dashed) and those of some private fits."""
    side = np.linspace(-1, 1, 81)
    grid = np.column_stack([v.ravel() for v in np.meshgrid(side, side)])
    for label, mark in ((0, "o"), (1, "^")):
        axes.plot(*X[y == label].T, mark, ms=3, alpha=0.5, label=f"class {label}")
    for model in row["fits"][:5]:
        axes.contour(side, side, model.decision_function(grid).reshape(81, 81), [0.0], colors="tab:purple", linewidths=0.8)
    scores = row["plain"].decision_function(grid).reshape(81, 81)
    axes.contour(side, side, scores, [0.0], colors="black", linestyles="dashed")
    axes.plot([], [], color="tab:purple", lw=0.8, label="private, ε = 1")
    axes.plot([], [], "k--", label="without noise")
    axes.set(xlabel="first feature", ylabel="second feature")
    axes.set_title(f"{row['title']}\nright: {row['exact']:.2f}, private {np.mean(row['scores']):.2f}", fontsize=9)


def pictures(rows: list[dict[str, Any]], lines: list[dict[str, Any]], tuning: dict[str, Any], folder: Path) -> list[Path]:
    """Save three pictures."""
    from matplotlib import pyplot as plt
    from matplotlib.ticker import MaxNLocator

    figure, axes = plt.subplots(1, 4, figsize=(14, 3.8), layout="constrained")
    X, y, _, _ = bands()
    round_X, round_y, _, _ = disc()
    for place, (row, points) in enumerate(zip(rows, ((X, y), (round_X, round_y), (X, y), (X, X[:, 0] > 0)), strict=True)):
        plane(axes[place], points[0], np.asarray(points[1]).astype(int), row)
    axes[0].legend(fontsize=7, loc="lower right")
    made = [save(figure, folder / "dppack_classifiers.png")]

    figure, axes = plt.subplots(1, 3, figsize=(13, 3.8), layout="constrained", width_ratios=(1, 1, 1.1))
    x, z = line()
    for place, row in enumerate(lines):
        axes[place].plot(x[:, 0], z, ".", ms=2, alpha=0.4, label="people")
        for model in row["fits"][:10]:
            axes[place].plot(x[:, 0], model.predict(x), color="tab:purple", lw=0.8)
        axes[place].plot([], [], color="tab:purple", lw=0.8, label="private, ε = 1")
        axes[place].plot(x[:, 0], row["plain"].predict(x), "k--", label="without noise")
        axes[place].legend(fontsize=8)
        axes[place].set(
            xlabel="feature", ylabel="target", title=f"{row['title']} {np.mean(row['scores']):.3f}", ylim=(-2, 2)
        )
    for place, (low, high) in enumerate(lines[1]["intervals"]):
        axes[2].plot([low, high], [place, place], "o-", color="tab:purple")
        axes[2].plot([(0.5, -0.3)[place]], [place], "k|", ms=18)
    axes[2].set(yticks=[0, 1], yticklabels=["slope", "intercept"], ylim=(-0.5, 1.5), xlabel="coefficient")
    axes[2].set_title("95 % intervals, and the truth")
    made.append(save(figure, folder / "dppack_regression.png"))

    figure, axes = plt.subplots(figsize=(5.5, 3.4), layout="constrained")
    for shift, (kind, counts) in zip((-0.2, 0.2), tuning["counts"].items(), strict=True):
        axes.bar(np.arange(3) + shift, counts, 0.38, label=kind)
    axes.set(xticks=range(3), xticklabels=tuning["ridges"], xlabel="ridge", ylabel="times chosen", title="private tuning")
    axes.yaxis.set_major_locator(MaxNLocator(integer=True))
    axes.legend()
    made.append(save(figure, folder / "dppack_tuning.png"))

    figure, axes = plt.subplots(figsize=(5.5, 3.4), layout="constrained")
    huber(axes)
    return [*made, save(figure, folder / "dppack_huber.png")]


def huber(axes: Any) -> None:
    """DPpack's Fig. 2: the hinge, and Huber's hinge of three widths, which has the curvature that privacy needs."""
    margin = np.linspace(-0.5, 2.5, 601)
    axes.plot(margin, np.maximum(0, 1 - margin), "k--", label="hinge")
    for width in ("0.1", "0.5", "1"):
        loss = HuberHinge(Fraction(width))
        axes.plot(margin, loss.value(margin, np.ones_like(margin)), label=f"Huber, h = {width}")
    axes.set(xlabel="margin", ylabel="loss", title="Huber's hinge against the hinge")
    axes.legend()


def save(figure: Any, path: Path) -> Path:
    """Write a picture and close it."""
    from matplotlib import pyplot as plt

    figure.savefig(path, dpi=120)
    plt.close(figure)
    return path


def main(folder: Path, quick: bool = False) -> tuple[list[dict[str, Any]], list[Path]]:
    """All of them; returns what tests look at, and the pictures."""
    mpl.use("agg")
    folder.mkdir(parents=True, exist_ok=True)
    runs = 8 if quick else 100
    rows, lines, tuning = classifiers(runs), regressions(runs), tuned(2 if quick else 50)
    return [*rows, *lines, tuning], pictures(rows, lines, tuning, folder)


if __name__ == "__main__":
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--quick", action="store_true", help="fewer rows and runs, for a first look")
    options.add_argument("--out", type=Path, default=Path("pictures"), metavar="DIR", help="where pictures go; pictures/")
    given = options.parse_args()
    for made in main(given.out, given.quick)[1]:
        print(made)
    print("What to see: borders and lines of private fits (purple) scatter around those without noise (dashed);")
    print("of the two regressions the one from noisy sums scatters less.")
    if given.quick:
        print("These are quick pictures, of few runs: they show what is drawn, not what holds.")
