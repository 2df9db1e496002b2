"""A survey table: who smokes, by town and education, planned, released once and read in several ways.

    python examples/survey.py [--quick] [--out DIR]

The survey is made up: 3,000 people, of whom fewer smoke the longer they went to school. Two crosstabs and one
count are paid for; the tests of independence and the shares with their intervals are read off the crosstabs and cost nothing
more, and Holm's correction stands beside the p-values of all tests.
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

SCHOOLS, TOWNS = ("basic", "middle", "high"), ("north", "south", "east", "west")
SMOKE = {"basic": 0.32, "middle": 0.25, "high": 0.16}
SCHEMA = ds.Schema(
    {"school": ds.Categories(SCHOOLS), "town": ds.Categories(TOWNS), "smokes": ds.Categories(["no", "yes"])},
    expected_rows=3000,
)


def survey(people: int, seed: int) -> dict[str, Any]:
    """School, town and smoking; the town has nothing to do with either."""
    rng = np.random.default_rng(seed)
    school = rng.choice(SCHOOLS, people, p=[0.3, 0.45, 0.25])
    smokes = rng.random(people) < np.vectorize(SMOKE.get)(school)
    return {"school": school, "town": rng.choice(TOWNS, people), "smokes": np.where(smokes, "yes", "no")}


def main(folder: Path, quick: bool = False) -> list[Path]:
    """The plan, the answers in words, and a picture."""
    print(ds.power("chi2_contingency", shape=(3, 2), effect=0.1, epsilon="0.5"))
    session = ds.Session(survey(3000, 5), SCHEMA, ds.Budget(epsilon=2), version="survey")
    by_school = session.crosstab("school", "smokes", epsilon="0.5")
    by_town = session.crosstab("town", "smokes", epsilon="0.5")
    shares = session.share("smokes", by="school", epsilon="0.5")
    one = session.test("binomtest", "smokes", label="yes", p=0.2, epsilon="0.5")
    tests = [by_school.test("chi2_contingency"), by_town.test("chi2_contingency"), one]
    for words, test in zip(("School", "Town", "A share of one fifth"), tests, strict=True):
        print(f"\n{words}: {ds.hypotheses.describe(test)}")
    print(f"\n{ds.hypotheses.holm(tests)}")
    print("\nShares of every school, with intervals for the population")
    print(shares)
    print(f"\nSpent {session.spent()}, left {session.remaining()}")

    folder.mkdir(parents=True, exist_ok=True)
    target = folder / "survey.png"
    figure = Figure(figsize=(9.6, 4), layout="constrained")
    left, right = figure.subplots(1, 2)
    by_school.plot(left)
    low, high = (np.asarray(end)[:, 1] for end in shares.interval(of="population"))
    middle = np.asarray(shares.value)[:, 1]
    right.errorbar(middle, range(3), xerr=[middle - low, high - middle], fmt="o", color="#0b6e99", capsize=4)
    right.set_yticks(range(3), SCHOOLS)
    right.invert_yaxis()  # in the order of the counts on the left
    right.set(xlim=(0, 0.5), xlabel="share who smoke, with 95 % intervals for the population")
    figure.savefig(target, dpi=80 if quick else 160)
    return [target]


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--out", type=Path, default=Path("survey"))
    asked = parser.parse_args()
    for path in main(asked.out, asked.quick):
        print(path)
