"""The descriptive examples every user of DPpack knows, with the same sizes, bounds and budgets.

Run ``python examples/dppack.py``. Each line shows the exact value, the private one, its 95 % interval and the scale of the
noise. DPpack's relation is "bounded" (replace, n public); ours by default also protects how many rows there are.
"""

from __future__ import annotations

import argparse
import math
from pathlib import Path
from typing import Any

import numpy as np

import discreet as ds

REPLACE: dict[str, Any] = {"neighbors": "replace"}


def show(title: str, result: Any, truth: Any, scale: float | None = None) -> dict[str, Any]:
    """One line for people, one record for tests."""
    low, high = result.interval()
    noise = "" if scale is None else f"  noise scale {scale:.6g}"
    value, ends = np.round(result.value, 4), f"[{np.round(low, 4)}, {np.round(high, 4)}]"
    print(f"{title:<46} exact {np.round(truth, 4)}  private {value} {ends}{noise}")
    return {"title": title, "value": result.value, "truth": truth, "scale": scale, "result": result}


def mechanisms() -> list[dict[str, Any]]:
    """Mean and variance of 100 values in [5, 10]: Laplace and the three Gaussian calibrations."""
    x = np.random.default_rng(0).uniform(5, 10, 100)
    rows = []
    mean = ds.mean(x, bounds=(5, 10), epsilon=1, **REPLACE)
    rows.append(show("Laplace mean, epsilon 1", mean, x.mean(), _scale(mean) * 5 / 100))
    for title, shares in (("one scale", ["0.05", "0.25"]), ("proportions .25, .75", ["0.25", "0.75"])):
        both = ds.together(x, ["mean", "variance"], bounds=(5, 10), epsilon=1, shares=shares, **REPLACE)
        for name, result, truth, unit, place in zip(
            ("mean", "variance"), both, (x.mean(), x.var(ddof=1)), (5 / 100, 25), (0, 1), strict=True
        ):
            rows.append(show(f"Laplace (mean, variance), {title}: {name}", result, truth, _scale(result, place) * unit))
    for calibration in ("classical", "probabilistic", "analytic"):
        law = ds.Gaussian.costing("0.05", epsilon="0.9", delta="0.01", calibration=calibration)
        made = ds.mean(x, bounds=(5, 10), epsilon="0.9", delta="0.01", calibration=calibration, **REPLACE)
        rows.append(show(f"Gaussian mean (0.9, 0.01), {calibration}", made, x.mean(), float(law.scale)))
    best = ds.Exponential.costing(1, epsilon=1, candidates=list("abcde"))
    chances = [math.exp(best.log_prob(c, [0, 1, 2, 1, 0])) for c in "abcde"]
    print(f"{'exponential mechanism, utilities 0 1 2 1 0':<46} chances {np.round(chances, 6)}")
    rows.append({"title": "exponential", "value": chances})
    return rows


def _scale(result: Any, place: int = 0) -> float:
    scales = result.releases[0].mechanism.scales
    return float(scales[min(place, len(scales) - 1)])


def moments() -> list[dict[str, Any]]:
    """N(3, 2) in [-3, 9], n = 500; pooled over 500, 200 and 100; covariance; both relations."""
    rng = np.random.default_rng(1)
    x = np.clip(rng.normal(3, 2, 500), -3, 9)
    y = np.clip(0.5 * x + rng.normal(0, 1, 500), -5, 7)
    groups = [np.clip(rng.normal(3, 2, n), -3, 9) for n in (500, 200, 100)]
    pairs = [np.column_stack([g, np.clip(g + rng.normal(0, 1, len(g)), -3, 9)]) for g in groups]
    pooled = sum(((g - g.mean()) ** 2).sum() for g in groups) / (800 - 3)
    crossed = sum(((p - p.mean(0))[:, 0] * (p - p.mean(0))[:, 1]).sum() for p in pairs) / (800 - 3)
    rows = []
    for name, setting in (("replace", REPLACE), ("add/remove", {})):
        one: dict[str, Any] = {"bounds": (-3, 9), "epsilon": 1, **setting}
        both: dict[str, Any] = {"bounds": ((-3, 9), (-5, 7)), "epsilon": 1, **setting}
        rows.append(show(f"mean, {name}", ds.mean(x, **one), x.mean()))
        rows.append(show(f"variance, {name}", ds.variance(x, **one), x.var(ddof=1)))
        rows.append(show(f"standard deviation, {name}", ds.std(x, **one), x.std(ddof=1)))
        rows.append(show(f"covariance, {name}", ds.covariance(x, y, **both), np.cov(x, y)[0, 1]))
        rows.append(show(f"pooled variance, {name}", ds.pooled_variance(groups, **one), pooled))
        wide: dict[str, Any] = {"bounds": ((-3, 9), (-3, 9)), "epsilon": 1, **setting}
        rows.append(show(f"pooled covariance, {name}", ds.pooled_covariance(pairs, **wide), crossed))
        rows.append(show(f"lower quartile, {name}", ds.quantile(x, "0.25", **one), np.quantile(x, 0.25)))
        rows.append(show(f"median, {name}", ds.median(x, **one), np.median(x)))
    return rows


TYPES = ["Compact", "Large", "Midsize", "Small", "Sporty", "Van"]
ORIGINS, AIRBAGS = ["USA", "non-USA"], ["Driver & Passenger", "Driver only", "None"]


def tables() -> list[dict[str, Any]]:
    """A histogram of 500 normals, and a table of 93 cars by type, origin and air bags (36 cells, simulated cars)."""
    rng = np.random.default_rng(2)
    x = rng.normal(0, 1, 500)
    edges = np.linspace(-4, 4, 9).tolist()
    rows = [
        show("histogram of 500 normals", ds.histogram(x, bounds=(-4, 4), bins=edges, epsilon=1), np.histogram(x, edges)[0]),
        show("the same, area 1", ds.histogram(x, bounds=(-4, 4), bins=edges, epsilon=1, normalize=True),
             np.histogram(x, edges, density=True)[0]),
    ]  # fmt: skip
    cars = [rng.choice(labels, 93) for labels in (TYPES, ORIGINS, AIRBAGS)]
    table = ds.crosstab(*cars, categories=[TYPES, ORIGINS, AIRBAGS], epsilon=1)
    error = table.expected_error.max()
    print(f"{'93 cars by type, origin and air bags':<46} {table.value.size} cells, expected error {error:.3f}")
    print(table.to_frame().head(6).to_string(index=False))
    rows.append({"title": "cars", "value": table.value, "result": table})
    return rows


def picture(row: dict[str, Any], folder: Path) -> Path:
    """The noisy histogram, its 95 % intervals, and the exact counts."""
    import matplotlib as mpl

    mpl.use("agg")
    from matplotlib import pyplot as plt

    figure, axes = plt.subplots(figsize=(6.5, 3.6), layout="constrained")
    result, place = row["result"], np.arange(np.size(row["value"]))
    low, high = result.interval(0.95)
    axes.bar(place, row["value"], color="tab:purple", alpha=0.4, label="released, ε = 1")
    axes.vlines(place, low, high, color="tab:purple", label="95 % interval")
    axes.plot(place, row["truth"], "k_", ms=12, label="exact")
    axes.set(xlabel="bin", ylabel="people", title="A private histogram of 500 normals")
    axes.legend(frameon=False)
    path = folder / "dppack_histogram.png"
    figure.savefig(path, dpi=130)
    plt.close(figure)
    return path


def main(folder: Path | None = None, quick: bool = False) -> list[dict[str, Any]]:
    """All of them, and a picture where there is a folder for it; they are quick in any case."""
    rows = [*mechanisms(), *moments(), *tables()]
    if folder is not None:
        folder.mkdir(parents=True, exist_ok=True)
        print(picture(next(row for row in rows if row["title"].startswith("histogram")), folder))
    return rows


if __name__ == "__main__":
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--quick", action="store_true", help="fewer rows and runs, for a first look")
    options.add_argument("--out", type=Path, default=Path("pictures"), metavar="DIR", help="where pictures go; pictures/")
    given = options.parse_args()
    main(given.out, given.quick)
    print("What to see: noise is small beside the answers, and each result says how wrong it is expected to be.")
