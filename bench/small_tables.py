"""Models on the small tables that everybody knows, beside diffprivlib with the same price and scikit-learn without one.

Iris, wine, breast cancer, digits, diabetes and Adult; random splits into four fifths and one, the same for all. Bounds are
the ranges of the columns rounded outwards and taken as public, for everybody alike. Ours have epsilon alone, or a delta of
1e-6 beside it; diffprivlib's guarantees are pure. Of k-means the inertia over the best one counts, of principal components
the share of the variance that the best ones have. ``RUNS`` splits each.
"""

from __future__ import annotations

import math
import os
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from bench.environments import ask_peer
from discreet import models

RUNS = int(os.environ.get("DISCREET_RUNS", "50"))

EPSILONS = (1, 5)
DELTA = 1e-6


class Table(NamedTuple):
    """Columns, what is to be predicted, and public bounds."""

    x: Any
    y: Any
    bounds: Any


def rounded(x: Any) -> Any:
    """The ranges of columns, rounded outwards to a tenth of their size."""
    low, high = x.min(0), x.max(0)
    step = np.array([float(f"{w:.1g}") for w in np.where(high > low, high - low, 1.0)]) / 10
    return np.column_stack([np.floor(low / step) * step, np.maximum(np.ceil(high / step), np.floor(low / step) + 1) * step])


def tables() -> dict[str, Table]:
    from sklearn import datasets

    from bench.models import wide

    made = {}
    for name in ("iris", "wine", "breast_cancer", "digits", "diabetes"):
        x, y = getattr(datasets, f"load_{name}")(return_X_y=True)
        made[name] = Table(x, y, np.tile([0.0, 16.0], (64, 1)) if name == "digits" else rounded(x))
    x, y = wide()
    made["Adult"] = Table(x, y, np.tile([0.0, 1.0], (x.shape[1], 1)))
    return made


def held_out(table: Table, make: Callable[[], Any], runs: int) -> list[float]:
    """The accuracy, or the root mean square error of a number, on the fifth of the rows that was held out."""
    from sklearn.model_selection import train_test_split

    found = []
    for run in range(runs):
        train, test = train_test_split(np.arange(len(table.y)), test_size=0.2, random_state=run)
        guess = make().fit(table.x[train], table.y[train]).predict(table.x[test])
        if table.y.dtype.kind == "f":
            found.append(float(np.sqrt(np.mean((np.clip(guess, 0, 400) - table.y[test]) ** 2))))
        else:
            found.append(float((guess == table.y[test]).mean()))
    return found


def ours(kind: str, table: Table, epsilon: float, delta: float | None) -> Callable[[], Any]:
    """A model of ours of that kind, at a price."""
    from sklearn.pipeline import make_pipeline

    price: dict[str, Any] = {"epsilon": epsilon, "delta": delta, "bounds": table.bounds}
    if kind == "linear":
        return lambda: models.LinearRegression(target_bounds=(0, 400), **price)
    labels = np.unique(table.y).tolist()
    if kind == "bayes":
        return lambda: models.GaussianNB(classes=labels, **price)
    if kind == "forest":
        return lambda: models.RandomForestClassifier(classes=labels, **price)
    if len(labels) == 2:
        # Columns from the middle of their bounds, as diffprivlib is given them: a public scaler looks at no row.
        scaler, inner = models.StandardScaler(bounds=table.bounds), price | {"bounds": (-1, 1)}
        return lambda: make_pipeline(scaler, models.LogisticRegression(classes=labels, ridge="auto", **inner))
    return lambda: models.SoftmaxRegression(classes=labels, **price)


def plain(kind: str, table: Table) -> Callable[[], Any]:
    """scikit-learn's, on columns scaled by the same bounds."""
    from sklearn.ensemble import RandomForestClassifier
    from sklearn.linear_model import LinearRegression, LogisticRegression
    from sklearn.naive_bayes import GaussianNB
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import FunctionTransformer

    low, high = table.bounds.T

    def scaled(x: Any) -> Any:
        return (x - (low + high) / 2) / ((high - low) / 2)

    kinds: dict[str, Callable[[], Any]] = {
        "bayes": lambda: GaussianNB(var_smoothing=1e-6),
        "forest": lambda: RandomForestClassifier(10),
        "logistic": lambda: LogisticRegression(max_iter=1000),
        "linear": LinearRegression,
    }
    return lambda: make_pipeline(FunctionTransformer(scaled), kinds[kind]())


PAIRS = [
    *(("bayes", name) for name in ("iris", "wine", "breast_cancer", "digits", "Adult")),
    *(("logistic", name) for name in ("iris", "wine", "breast_cancer", "digits", "Adult")),
    *(("forest", name) for name in ("iris", "wine", "breast_cancer", "digits")),
    ("linear", "diabetes"),
]
PARTS = {"iris": 2, "wine": 2, "digits": 5}


def supervised(kind: str, name: str, table: Table, path: Path) -> dict[str, Any]:
    row: dict[str, Any] = {"runs": RUNS, "no privacy": float(np.mean(held_out(table, plain(kind, table), min(10, RUNS))))}
    for epsilon in EPSILONS:
        means = {
            "diffprivlib": ask_peer("diffprivlib", "small_tables", str(path), kind, str(epsilon), str(RUNS)),
            "ours, pure": held_out(table, ours(kind, table, epsilon, None), RUNS),
            "ours, delta 1e-6": held_out(table, ours(kind, table, epsilon, DELTA), RUNS),
        }
        row[f"epsilon {epsilon}"] = {
            who: [float(np.mean(v)), float(np.std(v) / math.sqrt(RUNS))] for who, v in means.items()
        }
    return row


def clusters(name: str, table: Table, path: Path) -> dict[str, Any]:
    """Inertia over the best one; a single cluster beside it."""
    from sklearn.cluster import KMeans

    low, high = table.bounds.T
    unit = (table.x - (low + high) / 2) / ((high - low) / 2)
    best = KMeans(3, n_init=20, random_state=0).fit(unit).inertia_
    row: dict[str, Any] = {"runs": RUNS, "one cluster": float(((unit - unit.mean(0)) ** 2).sum() / best)}
    for epsilon in EPSILONS:
        theirs = np.array(ask_peer("diffprivlib", "small_tables", str(path), "kmeans", str(epsilon), str(RUNS))) / best
        row[f"epsilon {epsilon}"] = {"diffprivlib": [float(theirs.mean()), float(theirs.std() / math.sqrt(RUNS))]}
        for words, delta in (("ours, pure", None), ("ours, delta 1e-6", DELTA)):
            model = models.KMeans(n_clusters=3, epsilon=epsilon, delta=delta, bounds=table.bounds)
            mine = np.array([(model.fit(table.x).transform(table.x).min(1) ** 2).sum() / best for _ in range(RUNS)])
            row[f"epsilon {epsilon}"][words] = [float(mine.mean()), float(mine.std() / math.sqrt(RUNS))]
    return row


def components(name: str, table: Table, path: Path) -> dict[str, Any]:
    """The variance along the released components over that along the best ones."""
    low, high = table.bounds.T
    unit = (table.x - (low + high) / 2) / ((high - low) / 2)
    unit = unit - unit.mean(0)
    scatter, parts = unit.T @ unit, PARTS[name]
    best = float(np.linalg.eigvalsh(scatter)[-parts:].sum())
    row: dict[str, Any] = {"runs": RUNS}
    for epsilon in EPSILONS:
        row[f"epsilon {epsilon}"] = {}
        if name != "digits":  # where it takes minutes for each fit
            theirs = np.array(ask_peer("diffprivlib", "small_tables", str(path), "pca", str(epsilon), str(RUNS))) / best
            row[f"epsilon {epsilon}"]["diffprivlib"] = [float(theirs.mean()), float(theirs.std() / math.sqrt(RUNS))]
        for words, delta in (("ours, pure", None), ("ours, delta 1e-6", DELTA)):
            model = models.PCA(n_components=parts, epsilon=epsilon, delta=delta, bounds=table.bounds)
            turned = [model.fit(table.x).components_ for _ in range(RUNS)]
            mine = np.array([np.trace(t @ scatter @ t.T) / best for t in turned])
            row[f"epsilon {epsilon}"][words] = [float(mine.mean()), float(mine.std() / math.sqrt(RUNS))]
    return row


def run() -> dict[str, Any]:
    made, found = tables(), {}
    with tempfile.TemporaryDirectory() as place:
        for name, table in made.items():
            path = Path(place) / f"{name}.npz"
            low, high = table.bounds.T
            np.savez(path, x=table.x, y=table.y, lo=low, hi=high, low=0.0, high=400.0, parts=PARTS.get(name, 1))
            for kind, of in PAIRS:
                if of == name:
                    found[f"{kind}, {name}"] = supervised(kind, name, table, path)
                    print(f"{kind}, {name}", found[f"{kind}, {name}"], flush=True)
            if name in ("iris", "wine"):
                found[f"kmeans, {name}"] = clusters(name, table, path)
                print(f"kmeans, {name}", found[f"kmeans, {name}"], flush=True)
            if name in PARTS:
                found[f"pca, {name}"] = components(name, table, path)
                print(f"pca, {name}", found[f"pca, {name}"], flush=True)
    return {"scores": found}


def checks(result: dict[str, Any]) -> list[tuple[str, float, str, float]]:
    """The better of our two laws is ahead of diffprivlib in every row."""
    rows = []
    for name, row in result["scores"].items():
        low = name.startswith(("linear", "kmeans"))  # where less is better
        for epsilon in EPSILONS:
            told = row[f"epsilon {epsilon}"]
            if "diffprivlib" not in told:
                continue
            mine = [told[words][0] for words in ("ours, pure", "ours, delta 1e-6")]
            ahead = told["diffprivlib"][0] - min(mine) if low else max(mine) - told["diffprivlib"][0]
            rows.append((f"{name}, epsilon {epsilon}: ahead of diffprivlib by", ahead, ">=", 0.0))
    return rows
