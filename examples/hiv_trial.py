"""A real trial with survival: one drug against several for people with HIV (ACTG 175), read with privacy.

    python examples/hiv_trial.py [--csv ACTG175.csv] [--quick] [--out DIR]

2,139 people were given zidovudine alone or another treatment, and followed until their CD4 cells fell by half, AIDS or death
(Hammer and others 1996). The file comes with the package lifelines (`pip install lifelines`), or is named with `--csv`. Time
bins and bounds are those of the plan of a trial that follows people for three years, and none is looked up in the file.
Counts by treatment give the curves, the restricted means and the log-rank test; counts by treatment and by earlier treatment
give the test stratified by the latter; ranks of CD4 cells after twenty weeks are a third release.
"""

from __future__ import annotations

import argparse
import csv
import importlib.util
from pathlib import Path
from typing import Any

import matplotlib as mpl

mpl.use("Agg")

import discreet as ds

EDGES = (0.0, 100.0, 200.0, 300.0, 400.0, 500.0, 600.0, 700.0, 800.0, 900.0, 1000.0, 1250.0)
SCHEMA = ds.Schema(
    {
        "days": ds.Real(0, 1250),
        "event": ds.Integer(0, 1),
        "drugs": ds.Categories(["one", "several"]),
        "before": ds.Categories(["never", "up to a year", "longer"]),
        "cells": ds.Real(0, 1500),
    },
    expected_rows=2000,
)
_BEFORE = {"1": "never", "2": "up to a year", "3": "longer"}


def table(path: str | Path) -> dict[str, list[Any]]:
    """The columns that are asked about, with words for their codes."""
    with open(path, encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    return {
        "days": [float(row["days"]) for row in rows],
        "event": [int(row["cens"]) for row in rows],
        "drugs": ["several" if row["treat"] == "1" else "one" for row in rows],
        "before": [_BEFORE[row["strat"]] for row in rows],
        "cells": [float(row["cd420"]) for row in rows],
    }


def installed() -> Path | None:
    """The file within the package lifelines; the package itself is not loaded."""
    found = importlib.util.find_spec("lifelines")
    if found is None or found.origin is None:
        return None
    return Path(found.origin).parent / "datasets" / "ACTG175.csv"


def main(folder: Path, path: str | Path, quick: bool = False) -> list[Path]:
    """The answers in words, and two pictures."""
    session = ds.Session(table(path), SCHEMA, ds.Budget(epsilon=2), version="ACTG 175")
    curves = session.survival("days", "event", by=("drugs", "before"), bins=EDGES, epsilon=1)
    ranks = session.test("mannwhitneyu", "cells", by="drugs", epsilon="0.5")
    whole = session.survival("days", "event", by="drugs", bins=EDGES, epsilon="0.5")
    print("Share without the event at the end of each bin of 100 days")
    print(whole)
    print("\nMean days without the event, of the first 1,000")
    print(whole.restricted_mean(1000.0))
    tests = [whole.logrank(), curves.logrank(), ranks]
    for words, test in zip(("Hazard ratio", "the same within strata", "P(fewer drugs have more cells)"), tests, strict=True):
        print(f"\n{words}: {ds.hypotheses.describe(test)}")
    print(f"\n{ds.hypotheses.holm(tests)}")
    print(f"\nSpent {session.spent()}, left {session.remaining()}")
    folder.mkdir(parents=True, exist_ok=True)
    made = [folder / name for name in ("hiv_survival.png", "hiv_cells.png")]
    whole.plot().figure.savefig(made[0], dpi=80 if quick else 160)
    ranks.plot().figure.savefig(made[1], dpi=80 if quick else 160)
    return made


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--csv", type=Path, default=installed())
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--out", type=Path, default=Path("hiv-trial"))
    asked = parser.parse_args()
    if asked.csv is None or not asked.csv.exists():
        parser.error("the trial's file is needed: pip install lifelines, or name it with --csv")
    for made in main(asked.out, asked.csv, asked.quick):
        print(made)
