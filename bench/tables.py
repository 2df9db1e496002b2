"""Tables as people have them: derived columns, filters and covariance against Polars and NumPy, and how time grows."""

from __future__ import annotations

import itertools
import statistics
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

import discreet as ds
from bench.descriptive import milliseconds

SIZE = 10_000_000
ROUNDS = 9
PICTURE = Path(__file__).parents[1] / "docs" / "images" / "growth.svg"
_BOUNDS = ((30, 200), (120, 220))
_prices = (f"1.{i}1" for i in itertools.count(1))  # the same question at the same price is answered from the ledger


def table(rows: int) -> dict[str, Any]:
    rng = np.random.default_rng(0)
    return {"w": rng.normal(80, 15, rows), "h": rng.normal(172, 9, rows), "age": rng.integers(0, 100, rows).astype(float)}


def paired(ours: Callable[[], Any], theirs: Callable[[], Any], rounds: int) -> dict[str, float]:
    """Medians of alternating runs, and the median of their ratios: the machine may be shared."""
    ours(), theirs()
    pairs = [(milliseconds(ours), milliseconds(theirs)) for _ in range(rounds)]
    ratio = statistics.median(a / b for a, b in pairs)
    return {
        "ours ms": statistics.median(a for a, _ in pairs),
        "theirs ms": statistics.median(b for _, b in pairs),
        "ratio": ratio,
    }


def speed(rows: int = SIZE, rounds: int = ROUNDS) -> dict[str, Any]:
    """A derived column with a filter, clipping included on both sides, and the covariance of clipped columns."""
    columns = table(rows)
    frame = pl.DataFrame(columns)
    declared = {
        "w": ds.Real(*_BOUNDS[0]),
        "h": ds.Real(*_BOUNDS[1]),
        "age": ds.Real(0, 110),
        "bmi": ds.Real(10, 60, formula="w / (h / 100) ** 2"),
    }
    session = ds.Session(frame, ds.Schema(declared), ledger="test", seed=1)
    bmi = (pl.col("w") / (pl.col("h") / 100) ** 2).clip(10, 60)
    w, h = columns["w"], columns["h"]
    return {
        "derived column with a filter, against Polars": paired(
            lambda: session.mean("bmi", where="age >= 60", epsilon=next(_prices)),
            lambda: frame.lazy().filter(pl.col("age") >= 60).select(bmi.mean()).collect(),
            rounds,
        ),
        "covariance, against NumPy's clip and cov": paired(
            lambda: ds.covariance(w, h, bounds=_BOUNDS, epsilon=1),
            lambda: np.cov(np.clip(w, *_BOUNDS[0]), np.clip(h, *_BOUNDS[1])),
            rounds,
        ),
    }


def growth(rows: int = SIZE // 10, rounds: int = 5) -> dict[str, Any]:
    """How the time grows: with rows, with groups and with columns, four sizes of each; the exponent of a straight line.

    The exponent is the slope of the logarithm of the time between the smallest and the largest: 1 is linear.
    """
    found: dict[str, Any] = {}
    rng = np.random.default_rng(1)
    grown = {"rows": (rows, 2 * rows, 4 * rows, 8 * rows), "groups": (16, 64, 256, 1024), "columns": (1, 2, 4, 8)}
    for what, sizes in grown.items():
        times: dict[int, list[float]] = {size: [] for size in sizes}
        asks = {size: _asking(what, size, rows, rng) for size in sizes}
        for ask in asks.values():
            ask()
        for _ in range(rounds):
            for size, ask in asks.items():
                times[size].append(milliseconds(ask))
        medians = {str(size): statistics.median(seen) for size, seen in times.items()}
        exponent = np.log(medians[str(sizes[-1])] / medians[str(sizes[0])]) / np.log(sizes[-1] / sizes[0])
        found[what] = {"ms": medians, "exponent": float(exponent)}
    return found


def _asking(what: str, size: int, rows: int, rng: np.random.Generator) -> Callable[[], Any]:
    rows = size if what == "rows" else rows
    groups = size if what == "groups" else 4
    names = [f"x{i}" for i in range(size if what == "columns" else 1)]
    labels = list(range(groups))
    data = {name: rng.uniform(0, 1, rows) for name in names} | {"g": rng.integers(0, groups, rows)}
    columns: dict[str, Any] = {name: ds.Real(0, 1) for name in names} | {"g": ds.Categories(labels)}
    session = ds.Session(data, ds.Schema(columns), ledger="test", seed=1)
    return lambda: session.together([("mean", name) for name in names], by="g", epsilon=next(_prices))


def draw(found: dict[str, Any], path: Path) -> None:
    """Milliseconds over rows, groups and columns, from 0, beside a line on which twice as much takes twice as long."""
    import matplotlib

    matplotlib.use("svg")
    from matplotlib import pyplot
    from matplotlib.ticker import MaxNLocator

    with pyplot.rc_context({"svg.fonttype": "none", "svg.hashsalt": "growth", "font.size": 9}):
        figure, panels = pyplot.subplots(1, len(found), figsize=(9, 3), layout="constrained")
        for axes, (what, grown) in zip(panels, found.items(), strict=True):
            sizes = [int(size) for size in grown["ms"]]
            times = list(grown["ms"].values())
            axes.plot([0, sizes[-1]], [0, times[-1]], "--", color="#9aa5b1", linewidth=1, label="proportional")
            axes.plot(sizes, times, "o-", color="#1f5fa8", label="measured")
            for size, time in zip(sizes, times, strict=True):
                axes.annotate(f"{time:.0f}", (size, time), (0, 5), textcoords="offset points", ha="center", fontsize=7)
            axes.set(xlabel=what, xlim=(0, 1.1 * sizes[-1]), ylim=(0, 1.25 * max(times)))
            axes.set_title(f"exponent {grown['exponent']:.2f}", fontsize=9)
            axes.xaxis.set_major_formatter(lambda size, _: f"{size / 1e6:g} million" if size >= 1e6 else f"{size:g}")
            axes.xaxis.set_major_locator(MaxNLocator(4, integer=True))
        panels[0].set_ylabel("milliseconds")
        panels[0].legend(fontsize=7, loc="lower right")
        figure.savefig(path, format="svg", metadata={"Date": None})
        pyplot.close(figure)


def run() -> dict[str, Any]:
    found = {"speed": speed(), "growth": growth()}
    draw(found["growth"], PICTURE)
    return found


def checks(result: dict[str, Any]) -> list[tuple[str, float, str, float]]:
    bounds = {"derived column with a filter, against Polars": 2.5, "covariance, against NumPy's clip and cov": 1.2}
    rows = [(what, result["speed"][what]["ratio"], "<=", most) for what, most in bounds.items()]
    return rows + [
        (f"exponent of growth with {what}", found["exponent"], "<=", 1.15) for what, found in result["growth"].items()
    ]
