"""A trial of two arms with survival: planned, released and read, all of it private.

    python examples/survival_trial.py [--quick] [--out DIR]

The trial is made up: a drug lowers the hazard to 0.65 of the placebo's, people leave at random, everybody is followed for
five years at most. One release of counts gives both curves, median survival, the restricted mean and the log-rank test; a
rank test of the blood pressure at one year is a second one.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import matplotlib as mpl

mpl.use("Agg")
import numpy as np
from matplotlib.figure import Figure

import discreet as ds

HAZARD, RATIO, YEARS = 0.22, 0.65, 5.0
SCHEMA = ds.Schema(
    {
        "years": ds.Real(0, YEARS),
        "died": ds.Integer(0, 1),
        "arm": ds.Categories(["drug", "placebo"]),
        "pressure": ds.Real(60, 220),
    },
    expected_rows=800,
)


def trial(people: int, seed: int) -> dict[str, Any]:
    """Everybody's time, what ended it, the arm and the blood pressure after a year."""
    rng = np.random.default_rng(seed)
    arm = rng.permutation(np.arange(people) % 2 == 0)
    life = rng.exponential(1 / np.where(arm, HAZARD * RATIO, HAZARD))
    left = rng.uniform(0, 2.5 * YEARS, people)
    seen = np.minimum(np.minimum(life, left), YEARS)
    pressure = rng.normal(np.where(arm, 136, 142), 16)
    named = np.where(arm, "drug", "placebo")
    return {"years": seen, "died": (life == seen).astype(int), "arm": named, "pressure": pressure}


def planned(epsilon: float) -> list[Any]:
    """How many people the trial needs, before anybody is in it."""
    return [
        ds.power("logrank", effect=1 / RATIO, epsilon=epsilon, events=0.5),
        ds.power("mannwhitneyu", effect=6, sd=16, epsilon=epsilon),
    ]


def main(folder: Path, quick: bool = False) -> list[Path]:
    """The plan, the answers in words, and three pictures."""
    for needed in planned(1.0):
        print(needed)
    session = ds.Session(trial(800, 3), SCHEMA, ds.Budget(epsilon=2), version="trial")
    curves = session.survival("years", "died", by="arm", bins=10, epsilon=1)
    ranks = session.test("mannwhitneyu", "pressure", by="arm", epsilon="0.5")

    print("\nSurvival at the end of each half year")
    print(curves)
    print("\nMedian survival, in years; 5 stands for 5 or more")
    print(curves.quantile("0.5"))
    print("\nMean years lived, of five")
    print(curves.restricted_mean())
    print("\nHazard ratio, drug to placebo:", ds.hypotheses.describe(curves.logrank()))
    print("\nA pressure of the drug arm is the higher one with probability:", ds.hypotheses.describe(ranks))
    found = ds.hypotheses.holm([curves.logrank(), ranks])
    print(f"\n{found}")
    print(f"\nSpent {session.spent()}, left {session.remaining()}")

    folder.mkdir(parents=True, exist_ok=True)
    made = [folder / name for name in ("trial_survival.png", "trial_pressure.png", "trial_power.png")]
    dots = 80 if quick else 160
    curves.plot().figure.savefig(made[0], dpi=dots)
    ranks.plot().figure.savefig(made[1], dpi=dots)
    figure = Figure(figsize=(9.6, 4), layout="constrained")
    for axes, needed in zip(figure.subplots(1, 2), planned(1.0), strict=True):
        needed.plot(axes)
    figure.savefig(made[2], dpi=dots)
    return made


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--out", type=Path, default=Path("survival-trial"))
    asked = parser.parse_args()
    for path in main(asked.out, asked.quick):
        print(path)
