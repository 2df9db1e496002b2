"""What ignoring the noise does, in three pictures: shares of many surveys, one survey by epsilon, a regression.

    python examples/noise_aware.py [--quick] [--out DIR]

All data are simulated here.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import matplotlib as mpl

mpl.use("Agg")
import matplotlib.pyplot as plt
import numpy as np

import discreet as ds
from discreet.inference import BetaBernoulli, LinearRegression, infer
from discreet.inference.outputs import naive
from discreet.inference.outputs.pictures import AWARE, INK, MUTED, NAIVE

PEOPLE, SHARE = 100, 0.3


def plain(axes: Any, title: str, x: str, y: str = "") -> None:
    axes.set_title(title, loc="left", fontsize=10, color=INK)
    axes.set_xlabel(x)
    axes.set_ylabel(y)
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(alpha=0.25)


def surveys(folder: Path, count: int, draws: int) -> Path:
    """Many surveys of 100 people, each released at epsilon 0.1: how often do 95 % intervals hold the true share?"""
    rng, law = np.random.default_rng(1), ds.DiscreteLaplace.costing(1, epsilon="0.1")
    made, panels = plt.subplots(1, 2, figsize=(9, 5.2), sharey=True, layout="constrained")
    fits = []
    for i in range(count):
        yes = int((rng.random(PEOPLE) < SHARE).sum())
        fits.append(infer(ds.Release.of(law, law.release(yes, seed=i)), BetaBernoulli(1, 1), n=PEOPLE, draws=draws, seed=i))
    for axes, title, posteriors in (
        (panels[0], "noise ignored", [f.naive() for f in fits]),
        (panels[1], "noise in the model", fits),
    ):
        ends = [p.interval("theta") for p in posteriors]
        hits = sum(low <= SHARE <= high for low, high in ends)
        for row, (low, high) in enumerate(ends):
            axes.plot([low, high], [row, row], lw=2.4, color=AWARE if low <= SHARE <= high else NAIVE, solid_capstyle="butt")
        axes.axvline(SHARE, color=INK, ls=":", lw=1.2)
        axes.set_xlim(0, 1)
        axes.set_yticks([])
        plain(axes, f"{title}: {hits} of {count} hold the truth", "share of yes, 95 % intervals")
    made.suptitle(f"{count} surveys of {PEOPLE} people, each count released at ε = 0.1", x=0.01, ha="left", fontsize=12)
    return save(made, folder / "noise_aware_surveys.png")


def by_epsilon(folder: Path, grid: list[str], draws: int) -> Path:
    """One survey at many epsilons: from the prior, where nothing is said, to the posterior without privacy."""
    yes = round(PEOPLE * SHARE)
    exact = naive.share(yes, PEOPLE).interval("theta")
    made, axes = plt.subplots(figsize=(7.2, 4.6), layout="constrained")
    axes.axhspan(*exact, color=MUTED, alpha=0.25, lw=0, label="no privacy")
    axes.axhspan(0.025, 0.975, color=MUTED, alpha=0.08, lw=0, label="prior")
    for place, epsilon in enumerate(grid):
        law = ds.DiscreteLaplace.costing(1, epsilon=epsilon)
        fit = infer(ds.Release.of(law, law.release(yes, seed=12)), BetaBernoulli(1, 1), n=PEOPLE, draws=draws, seed=place)
        for shift, colour, word, posterior in (
            (-0.12, AWARE, "noise in the model", fit),
            (0.12, NAIVE, "noise ignored", fit.naive()),
        ):
            low, high = posterior.interval("theta")
            label = word if place == 0 else None
            axes.plot([place + shift] * 2, [low, high], color=colour, lw=3, solid_capstyle="butt", label=label)
            axes.plot(place + shift, np.median(posterior.draws["theta"]), "o", mfc="white", mec=colour)
    axes.axhline(SHARE, color=INK, ls=":", lw=1.2, label="truth")
    axes.set_xticks(range(len(grid)), grid)
    plain(axes, f"One count of {PEOPLE} people, released at different ε", "ε", "share of yes, 95 % interval")
    axes.legend(frameon=False, fontsize=8, ncols=2, loc="upper right")
    return save(made, folder / "noise_aware_epsilon.png")


def regression(folder: Path, draws: int) -> Path:
    """A line through 200 people from nine noisy sums: the naive fit is far too sure of itself."""
    rng = np.random.default_rng(2)
    x = rng.normal(0, 1, 200)
    y = 0.5 + 1.0 * x + rng.normal(0, 0.5, 200)
    sums = ds.correlation(x, y, bounds=((-4, 4), (-6, 6)), epsilon=1, seed=3)
    model = LinearRegression(1, deviation=3.0, variance=(3.0, 1.0))
    fit = infer(sums, model, draws=draws, warmup=draws // 2, seed=4)
    figure = fit.plot_comparison(names=["beta", "variance"], truth={"beta": [0.5, 1.0], "variance": 0.25})
    path = folder / "noise_aware_regression.png"
    figure.savefig(path, dpi=130)
    return path


def save(made: Any, path: Path) -> Path:
    made.savefig(path, dpi=130)
    plt.close(made)
    return path


def main(folder: Path, quick: bool = False) -> list[Path]:
    """Draw the three pictures into ``folder``."""
    folder.mkdir(parents=True, exist_ok=True)
    grid = ["0.02", "0.1", "1"] if quick else ["0.02", "0.05", "0.1", "0.2", "0.5", "1", "5"]
    shares = [
        surveys(folder, 8 if quick else 60, 200 if quick else 1000),
        by_epsilon(folder, grid, 200 if quick else 2000),
    ]
    return shares if quick else [*shares, regression(folder, 4000)]  # compiling the third takes longest


if __name__ == "__main__":
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--quick", action="store_true", help="fewer rows and runs, for a first look")
    options.add_argument("--out", type=Path, default=Path("pictures"), metavar="DIR", help="where pictures go; pictures/")
    given = options.parse_args()
    for made in main(given.out, given.quick):
        print(made)
    print("What to see: intervals that ignore the noise miss far more often than they say; those that know it do not.")
    if given.quick:
        print("These are quick pictures, of few runs: they show what is drawn, not what holds.")
