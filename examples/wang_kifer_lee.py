"""Confidence intervals of private logistic regression and support vector machines, after Wang, Kifer and Lee (2019).

    python examples/wang_kifer_lee.py [--quick] [--out DIR]

How to divide a budget, and what is left of it between the two matrices; coverage and length against rows, coefficients and
budget, and as maps over rows and budget; how far released coefficients vary, by the sample, by the noise and by both, and
intervals of many fits side by side; how many more rows privacy takes for an interval of the same length; and formulas for
the length. On Adult (from the ``mglearn`` package where it is installed, simulated at its size elsewhere) and on a
simulated table of the size of the KDD Cup of 1999.

A table is taken as the population: samples are drawn from it with replacement, and an interval is right when it holds the
coefficient that the same ridge, for each row, has on the whole table. Neighbours replace a row. Where a budget is too small
for the ridge, normal noise in an objective is refused and a point is missing.
"""

from __future__ import annotations

import argparse
import importlib.util
import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import matplotlib as mpl

mpl.use("Agg")
import matplotlib.pyplot as plt
import numpy as np

from discreet.errors import InvalidRequest
from discreet.models import LinearSVC, LogisticRegression

PENALTY = 0.001  # of the square of a coefficient, for the mean of the losses: a ridge of 2 n PENALTY for their sum
INK, GREY = "#1b1b1b", "#8a8a8a"
COLOURS = ("#0b6e99", "#c2571a", "#3a7d44", "#7b4b94")
MODELS = {"logistic": LogisticRegression, "SVM": LinearSVC}
WAYS = [
    ("objective", {"epsilon": 1.0}),
    ("output", {"epsilon": 1.0}),
    ("objective", {"rho": 0.5}),
    ("output", {"rho": 0.5}),
]


@dataclass(frozen=True)
class Table:
    """A population: rows of norm at most 1, the constant first, and classes -1 and 1."""

    name: str
    x: np.ndarray
    y: np.ndarray

    def first(self, columns: int) -> Table:
        """Only the first columns, scaled up to a norm of at most 1 again."""
        return Table(self.name, self.x[:, :columns] * math.sqrt(self.x.shape[1] / columns), self.y)


def adult() -> Table:
    """Adult, six numbers within [0, 1] and the constant; simulated where ``mglearn`` is not installed."""
    rng = np.random.default_rng(0)
    found = importlib.util.find_spec("mglearn")
    if found is not None and found.origin is not None:
        text = (Path(found.origin).parent / "data" / "adult.data").read_text(encoding="utf-8")
        rows = [line.split(", ") for line in text.splitlines() if line.strip() and "?" not in line]
        take = lambda place: np.array([row[place] for row in rows])  # noqa: E731
        columns = [take(0).astype(float) / 90, take(4).astype(float) / 16, take(5) == "Married-civ-spouse"]
        columns += [take(12).astype(float) / 99, take(9) == "Male", take(8) == "White"]
        y = np.where(take(14) == ">50K", 1.0, -1.0)
        return _table("Adult", columns, y)
    n = 30_162
    columns = [rng.gamma(9, 4.3, n) / 90, rng.normal(10, 2.5, n) / 16, rng.random(n) < 0.47, rng.normal(41, 12, n) / 99]
    columns += [rng.random(n) < 0.67, rng.random(n) < 0.86]
    made = _table("Adult-like", columns, np.ones(n))
    score = made.x @ np.array([-7.5, 2.5, 5.0, 2.2, 3.0, 0.4, 0.3]) * math.sqrt(7)
    return Table(made.name, made.x, np.where(rng.random(n) < 1 / (1 + np.exp(-score)), 1.0, -1.0))


def kdd(n: int) -> Table:
    """A table of connections: nine skewed numbers within [0, 1], and which were attacks."""
    rng = np.random.default_rng(1)
    columns = [
        rng.beta(a, b, n) for a, b in ((0.5, 2), (0.5, 4), (1, 1), (2, 2), (0.3, 0.3), (2, 5), (5, 2), (1, 3), (0.8, 0.8))
    ]
    made = _table("KDD-like", columns, np.ones(n))
    score = made.x @ np.array([-1.0, 3.0, -2.0, 1.0, -1.5, 2.0, 1.0, -1.0, 2.0, -0.5]) * math.sqrt(10)
    return Table(made.name, made.x, np.where(rng.random(n) < 1 / (1 + np.exp(-score)), 1.0, -1.0))


def _table(name: str, columns: list[Any], y: np.ndarray) -> Table:
    x = np.column_stack([np.ones(len(y)), *(np.clip(np.asarray(c, float), 0, 1) for c in columns)])
    return Table(name, x / math.sqrt(x.shape[1]), y)


def model(kind: str, n: int, method: str = "objective", **more: Any) -> Any:
    """A model for rows of norm at most 1, with the ridge that belongs to n rows."""
    settings = {"bounds": (-1, 1), "classes": [-1, 1], "radius": 1, "fit_intercept": False, "neighbors": "replace"}
    return MODELS[kind](ridge=2 * n * PENALTY, method=method, **settings, **more)


def target(table: Table, kind: str) -> np.ndarray:
    """The population's regularised minimiser: without noise, which only a table that is public may be asked for."""
    return model(kind, len(table.y), epsilon=math.inf).fit(table.x, table.y).coef_[0]


def measure(table: Table, kind: str, method: str, n: int, repeats: int, **price: Any) -> tuple[float, float]:
    """How often intervals of level 95 % hold the population's coefficients, and their mean length; NaN where refused."""
    rng, truth = np.random.default_rng(n), target(table, kind)
    inside, lengths = [], []
    for _ in range(repeats):
        rows = rng.integers(0, len(table.y), n)
        made = model(kind, n, method, intervals=True, **price)
        try:
            ends = made.fit(table.x[rows], table.y[rows]).confidence_intervals()
        except InvalidRequest:  # about the request, before anything is looked at
            return math.nan, math.nan
        inside.append((ends.lower <= truth) & (truth <= ends.upper))
        lengths.append(ends.lengths)
    return float(np.mean(inside)), float(np.mean(lengths))


def label(method: str, price: dict[str, float]) -> str:
    word, value = next(iter(price.items()))
    return f"{method}, {'ε' if word == 'epsilon' else 'ρ'} = {value:g}"


def dress(axes: plt.Axes, title: str, x: str, y: str) -> None:
    axes.set_title(title, loc="left", fontsize=10, color=INK)
    axes.set_xlabel(x)
    axes.set_ylabel(y)
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(alpha=0.25)


def ticks(axes: plt.Axes, places: Sequence[float]) -> None:
    """A logarithmic axis with a tick at each place that was measured, and at no other."""
    axes.set_xscale("log")
    axes.set_xticks(places, [f"{p:,g}" for p in places])
    axes.xaxis.set_minor_locator(plt.NullLocator())


def save(made: plt.Figure, path: Path) -> Path:
    made.savefig(path, dpi=110)
    plt.close(made)
    return path


def allocation(folder: Path, table: Table, n: int, repeats: int, shares: Sequence[float]) -> Path:
    """The mean length by the share of the price that coefficients get; the rest is halved between the two matrices."""
    made, panels = plt.subplots(1, 2, figsize=(9.5, 4.2), layout="constrained", sharey=True)
    for axes, kind in zip(panels, MODELS, strict=True):
        for (method, price), colour in zip(WAYS, COLOURS, strict=True):
            cuts = [(f"{s:g}", f"{(1 - s) / 2:.4g}", f"{(1 - s) / 2:.4g}") for s in shares]
            lengths = [measure(table, kind, method, n, repeats, shares=c, **price)[1] for c in cuts]
            axes.plot(shares, lengths, "o-", ms=4, color=colour, label=label(method, price))
        dress(axes, f"{table.name}, {kind}, n = {n:,}", "share of the budget for the coefficients", "mean length")
        axes.set_yscale("log")
    panels[0].legend(frameon=False, fontsize=8)
    return save(made, folder / "wkl_allocation.png")


def matrices(folder: Path, table: Table, n: int, repeats: int, parts: Sequence[float]) -> Path:
    """The mean length by what the curvature gets of the price that coefficients leave; the slopes get the rest of it."""
    made, panels = plt.subplots(1, 2, figsize=(9.5, 4.2), layout="constrained", sharey=True)
    for axes, kind in zip(panels, MODELS, strict=True):
        for (method, price), colour in zip(WAYS, COLOURS, strict=True):
            left = 0.3 if "epsilon" in price else 0.1
            cuts = [(f"{1 - left:g}", f"{left * p:.6g}", f"{left - float(f'{left * p:.6g}'):.6g}") for p in parts]
            lengths = [measure(table, kind, method, n, repeats, shares=c, **price)[1] for c in cuts]
            axes.plot(parts, lengths, "o-", ms=4, color=colour, label=label(method, price))
        dress(axes, f"{table.name}, {kind}, n = {n:,}", "part of the curvature in both matrices' share", "mean length")
        axes.set_yscale("log")
    panels[0].legend(frameon=False, fontsize=8)
    return save(made, folder / "wkl_matrices.png")


def maps(folder: Path, table: Table, sizes: Sequence[int], budgets: Sequence[float], repeats: int) -> Path:
    """Coverage (above) and mean length (below) over rows and budget, for each method and guarantee."""
    made, panels = plt.subplots(2, 4, figsize=(13, 6), layout="constrained", sharex=True, sharey=True)
    for column, (method, price) in enumerate(WAYS):
        word = next(iter(price))
        seen = [[measure(table, "logistic", method, n, repeats, **{word: b * price[word]}) for n in sizes] for b in budgets]
        for row, (of, colours) in enumerate((("coverage", "RdYlGn"), ("mean length", "viridis_r"))):
            values = np.array([[cell[row] for cell in line] for line in seen])
            axes = panels[row, column]
            low, high = (0.85, 1.0) if row == 0 else (np.log10(0.05), np.log10(20))
            axes.imshow(
                values if row == 0 else np.log10(values), cmap=colours, vmin=low, vmax=high, aspect="auto", origin="lower"
            )
            for place, value in np.ndenumerate(values):
                axes.text(
                    place[1],
                    place[0],
                    "refused" if np.isnan(value) else f"{value:.2g}",
                    ha="center",
                    va="center",
                    fontsize=8,
                )
            axes.set_xticks(range(len(sizes)), [f"{n:,}" for n in sizes], fontsize=8)
            axes.set_yticks(range(len(budgets)), [f"{b:g}" for b in budgets])
            axes.set_title(f"{of}, {method}, {'ε' if word == 'epsilon' else 'ρ'}", loc="left", fontsize=9, color=INK)
    made.supxlabel(f"rows of {table.name}")
    made.supylabel("budget, times ε = 1 or ρ = 0.5")
    return save(made, folder / "wkl_maps.png")


def ranges(folder: Path, table: Table, n: int, repeats: int) -> Path:
    """Where the middle 95 % of the released coefficients lie: over samples, over noise, over both; and an interval."""
    made, panels = plt.subplots(1, 2, figsize=(10.5, 4.4), layout="constrained")
    rng, plain = np.random.default_rng(8), {"epsilon": math.inf}
    for axes, kind in zip(panels, MODELS, strict=True):
        samples = [rng.integers(0, len(table.y), n) for _ in range(repeats)]
        cases = [("the sample varies", samples, plain), ("the noise varies", samples[:1] * repeats, {"rho": 0.5}),
                 ("both vary", samples, {"rho": 0.5})]  # fmt: skip
        for shift, (words, drawn, price) in enumerate(cases):
            fits = [model(kind, n, intervals=True, **price).fit(table.x[rows], table.y[rows]) for rows in drawn]
            low, high = np.quantile([fit.coef_[0] for fit in fits], [0.025, 0.975], axis=0)
            places = np.arange(len(low)) + 0.2 * shift
            axes.vlines(places, low, high, color=COLOURS[shift], lw=3, label=words)
        ends = fits[0].confidence_intervals()
        axes.vlines(np.arange(len(low)) + 0.6, ends.lower, ends.upper, color=INK, lw=1.5, label="one fit's intervals")
        axes.plot(np.arange(len(low)) + 0.3, target(table, kind), "_", color=GREY, ms=24)
        axes.set_xticks(np.arange(len(low)) + 0.3, [str(place) for place in range(len(low))])
        dress(axes, f"{table.name}, {kind}, n = {n:,}, ρ = 0.5", "coefficient", "released value")
    panels[0].legend(frameon=False, fontsize=8)
    return save(made, folder / "wkl_ranges.png")


def sweeps(folder: Path, table: Table, sizes: Sequence[int], budgets: Sequence[float], repeats: int) -> Path:
    """Coverage (above) and mean length (below) against rows, coefficients and budget."""
    made, panels = plt.subplots(2, 3, figsize=(13, 7), layout="constrained", sharex="col")
    width, middle = table.x.shape[1], sizes[len(sizes) // 2]
    for kind, style in (("logistic", "o-"), ("SVM", "s--")):
        for (method, price), colour in zip(WAYS, COLOURS, strict=True):
            word = next(iter(price))
            by_rows = [measure(table, kind, method, n, repeats, **price) for n in sizes]
            widths = sorted({2, (width + 2) // 2, width})
            by_width = [measure(table.first(d), kind, method, middle, repeats, **price) for d in widths]
            by_budget = [measure(table, kind, method, middle, repeats, **{word: b * price[word]}) for b in budgets]
            for column, (where, seen) in enumerate(((sizes, by_rows), (widths, by_width), (budgets, by_budget))):
                for row in range(2):
                    panels[row, column].plot(
                        where, [s[row] for s in seen], style, ms=4, color=colour, label=f"{kind}, {label(method, price)}"
                    )
    for column, x in enumerate(("rows", "coefficients", "budget, times ε = 1 or ρ = 0.5")):
        dress(panels[0, column], f"{table.name}", "", "coverage")
        dress(panels[1, column], "", x, "mean length")
        panels[0, column].axhline(0.95, color=GREY, ls=":")
        panels[0, column].set_ylim(min(0.8, panels[0, column].get_ylim()[0]), 1.005)  # no point is hidden
        panels[1, column].set_yscale("log")
        if column != 1:
            ticks(panels[1, column], sizes if column == 0 else budgets)
        else:
            panels[1, column].set_xticks(widths)
    made.legend(*panels[1, 0].get_legend_handles_labels(), loc="outside lower center", ncols=4, frameon=False, fontsize=8)
    return save(made, folder / f"wkl_{table.name.split('-')[0].lower()}_sweeps.png")


def variability(folder: Path, table: Table, n: int) -> Path:
    """Intervals of one coefficient from 40 fits, each on a sample and with noise of its own: about two should miss."""
    made, panels = plt.subplots(1, 2, figsize=(10, 4.4), layout="constrained")
    rng, place = np.random.default_rng(7), 1
    for axes, kind in zip(panels, MODELS, strict=True):
        truth = target(table, kind)[place]
        for i in range(40):
            rows = rng.integers(0, len(table.y), n)
            fitted = model(kind, n, rho=0.5, intervals=True).fit(table.x[rows], table.y[rows])
            low, high = fitted.confidence_intervals()[place]
            axes.plot([i, i], [low, high], color=COLOURS[0] if low <= truth <= high else COLOURS[1], lw=2)
        axes.axhline(truth, color=INK, lw=1, ls="--")
        dress(axes, f"{table.name}, {kind}, n = {n:,}, ρ = 0.5", "fit", "interval of the second coefficient")
    return save(made, folder / "wkl_variability.png")


def overhead(folder: Path, table: Table, sizes: Sequence[int], repeats: int) -> Path:
    """Lengths against rows with a fit a / sqrt(n) + b / n, and how many times more rows privacy takes."""
    made, panels = plt.subplots(1, 2, figsize=(10.5, 4.4), layout="constrained")
    plain = [measure(table, "logistic", "output", n, repeats, epsilon=math.inf)[1] for n in sizes]
    rate = float(np.mean(np.array(plain) * np.sqrt(sizes)))
    panels[0].plot(sizes, plain, "^-", color=GREY, label="no privacy")
    fine = np.geomspace(sizes[0], sizes[-1], 50)
    for (method, price), colour in zip(WAYS, COLOURS, strict=True):
        seen = np.array([measure(table, "logistic", method, n, repeats, **price)[1] for n in sizes])
        basis = np.column_stack((1 / np.sqrt(sizes), 1 / np.array(sizes, float)))
        (a, b), *_ = np.linalg.lstsq(basis / seen[:, None], np.ones(len(sizes)), rcond=None)
        panels[0].plot(sizes, seen, "o", ms=4, color=colour)
        panels[0].plot(fine, a / np.sqrt(fine) + b / fine, "-", lw=1, color=colour,
                       label=f"{label(method, price)}: {a:.3g}/√n + {b:.3g}/n")  # fmt: skip
        # The interval without privacy is as long at (rate / length)^2 rows.
        panels[1].plot(sizes, np.array(sizes) / (rate / seen) ** 2, "o-", ms=4, color=colour, label=label(method, price))
    dress(panels[0], f"{table.name}, logistic: mean length", "rows", "mean length")
    dress(panels[1], "rows needed, over rows without privacy", "rows", "times as many")
    for axes in panels:
        axes.set_yscale("log")
        ticks(axes, sizes)
    panels[1].axhline(1.0, color=GREY, ls=":", label="no privacy")
    for axes in panels:
        axes.legend(frameon=False, fontsize=8, loc="upper center", bbox_to_anchor=(0.5, -0.16))
    return save(made, folder / "wkl_overhead.png")


def by_budget(folder: Path, table: Table, n: int, budgets: Sequence[float], repeats: int) -> Path:
    """Lengths against the budget with fits of root(a^2 + (b / epsilon)^2), rho taken as epsilon = root(2 rho)."""
    made, axes = plt.subplots(figsize=(6.5, 4.4), layout="constrained")
    fine = np.geomspace(budgets[0], budgets[-1], 50)
    for (method, price), colour in zip(WAYS, COLOURS, strict=True):
        rho = "rho" in price
        seen = np.array([measure(table, "logistic", method, n, repeats, **({"rho": e * e / 2} if rho else {"epsilon": e}))[1]
                         for e in budgets])  # fmt: skip
        there = np.isfinite(seen)
        basis = np.column_stack((np.ones(len(budgets)), 1 / np.array(budgets) ** 2))[there]
        found, *_ = np.linalg.lstsq(basis / seen[there, None] ** 2, np.ones(int(there.sum())), rcond=None)
        a, b = np.sqrt(np.maximum(found, 0.0))
        axes.plot(budgets, seen, "o", ms=4, color=colour)
        axes.plot(fine, np.hypot(a, b / fine), "-", lw=1, color=colour, label=f"{label(method, price).split(',')[0]}, "
                  f"{'ρ' if rho else 'ε'}: √({a:.2g}² + ({b:.2g}/ε)²)")  # fmt: skip
    dress(axes, f"{table.name}, logistic, n = {n:,}", "ε, or √(2ρ)", "mean length")
    axes.set_yscale("log")
    ticks(axes, budgets)
    axes.legend(frameon=False, fontsize=8)
    return save(made, folder / "wkl_by_budget.png")


def main(folder: Path, quick: bool = False) -> list[Path]:
    """Draw the pictures into ``folder``."""
    folder.mkdir(parents=True, exist_ok=True)
    people = adult()
    if quick:
        few, sizes = people.first(3), [8000, 16_000]  # few different ridges: each is calibrated for
        made = [allocation(folder, few, 8000, 1, [0.7, 0.9]), sweeps(folder, few, sizes, [0.5, 1.0], 1)]
        made += [variability(folder, few, 8000), sweeps(folder, kdd(17_000).first(3), sizes, [0.5, 1.0], 1)]
        made += [overhead(folder, few, sizes, 1), matrices(folder, few, 8000, 1, [0.3, 0.7])]
        made += [maps(folder, few, sizes, [0.5, 1.0], 1), ranges(folder, few, 8000, 8)]
        made.append(by_budget(folder, few, 8000, [0.5, 1.0], 1))
    else:
        sizes, budgets = [3000, 6000, 15_000, 30_000], [0.1, 0.5, 1.0, 2.0]
        made = [allocation(folder, people, 15_000, 20, [0.3, 0.5, 0.65, 0.75, 0.85, 0.92, 0.97])]
        made += [sweeps(folder, people, sizes, budgets, 20), variability(folder, people, 15_000)]
        made.append(sweeps(folder, kdd(450_000), [30_000, 100_000, 300_000], budgets, 5))
        made += [overhead(folder, people, [*sizes, 60_000], 30), maps(folder, people, sizes, budgets, 30)]
        made += [
            matrices(folder, people, 15_000, 20, [0.1, 0.2, 0.35, 0.5, 0.65, 0.8, 0.9]),
            ranges(folder, people, 15_000, 200),
        ]
        made.append(by_budget(folder, people, 15_000, [0.25, 0.5, 1.0, 2.0, 4.0], 30))
    return made


if __name__ == "__main__":
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--quick", action="store_true", help="fewer rows and runs, for a first look")
    options.add_argument("--out", type=Path, default=Path("pictures"), metavar="DIR", help="where pictures go; pictures/")
    given = options.parse_args()
    for made in main(given.out, given.quick):
        print(made)
    print("What to see: intervals hold the truth about 95 times in 100 at any budget;")
    print("what privacy costs is their length, and it fades as rows are added.")
    if given.quick:
        print("These are quick pictures, of few runs: they show what is drawn, not what holds.")
