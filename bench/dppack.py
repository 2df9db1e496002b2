"""Statistics and classifiers against DPpack's algorithms, written here from their formulas: equal budgets and relations.

Statistics: the root mean square error of the noise, on 500 rows in three groups. DPpack adds noise to the statistic itself,
scaled by the number of rows under either relation (which is not private where the number is), draws a variance again until
it is positive (which costs more than is said), and takes noise of L1 or L2 sensitivity 2 or sqrt(2) (1 under add/remove)
for tables. Of its three Gaussian calibrations the one with the least noise is taken, the analytic one. Its quantile is taken
with uniform draws between values, because a value of the table is not private at any epsilon.

Classifiers: the share of right predictions on rows that are not fitted to, by the algorithms of Chaudhuri, Monteleoni and
Sarwate (2011) as DPpack prints them, in the form of a sum: the Jacobian is paid for twice; random features are taken to have
a norm of 1, which they may pass by sqrt(2), and have no constant beside them. Ours are as they are by default, with a
Gaussian kernel also without an intercept, like theirs. ``bench/regression.py`` compares regressions.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

import discreet as ds
from bench.intervals import minimiser, spherical
from discreet.core.price import Price
from discreet.core.query import Relation
from discreet.core.random import Random
from discreet.core.release import Release
from discreet.models import KernelSVC, LinearSVC, LogisticRegression, OutcomeWeightedLearner
from discreet.models.losses import HuberHinge, Logistic, Loss
from discreet.sources import open_source
from discreet.statistics.question import Table, builder

ERROR_RUNS, FITS = 20_000, 1000
BOUNDS = (-3.0, 9.0)
REACH = BOUNDS[1] - BOUNDS[0]
GROUPS = (250, 150, 100)
ROWS = sum(GROUPS)
PRICES = {"epsilon 1": (1.0, 0.0), "epsilon 1, delta 1e-5": (1.0, 1e-5)}
RELATIONS: tuple[Relation, ...] = ("replace", "add_remove")
ASKED: dict[str, tuple[tuple[str, ...], dict[str, Any]]] = {
    "mean": (("x",), {}),
    "variance": (("x",), {}),
    "std": (("x",), {}),
    "covariance": (("x", "y"), {}),
    "pooled_variance": (("x",), {"by": "g"}),
    "pooled_covariance": (("x", "y"), {"by": "g"}),
    "histogram": (("x",), {"bins": 8, "allow_negative": True}),
    "crosstab": (("g",), {"allow_negative": True}),
    "median": (("x",), {}),
    "quantile": (("x",), {"q": "0.25"}),
}


def table() -> dict[str, Any]:
    rng = np.random.default_rng(1)
    x = np.clip(rng.normal(3, 2, ROWS), *BOUNDS)
    return {"x": x, "y": np.clip(0.5 * x + rng.normal(1, 1, ROWS), *BOUNDS), "g": np.repeat(["a", "b", "c"], GROUPS)}


def theirs(name: str, rows: dict[str, Any], relation: Relation, price: tuple[float, float], runs: int) -> float:
    """The root mean square error of DPpack's statistic, cell by cell where it has some."""
    rng = np.random.default_rng(3)
    x, sizes = rows["x"], np.array(GROUPS)
    if name in ("median", "quantile"):
        q = 0.5 if name == "median" else 0.25
        return _quantile(np.sort(x), q, 1.0 if relation == "replace" else max(q, 1 - q), price[0], rng, runs)
    within = (1 - 1 / sizes.max()) / (ROWS - len(sizes))
    moved = {"mean": REACH / ROWS, "pooled_variance": REACH**2 * within, "pooled_covariance": REACH**2 * within}
    moved |= dict.fromkeys(("variance", "std", "covariance"), REACH**2 / ROWS)
    cells = 2.0 if relation == "replace" else 1.0
    scale = float(ds.Gaussian.costing(1, epsilon=price[0], delta=price[1]).scale) if price[1] else 1 / price[0]  # type: ignore[arg-type]
    if name in ("histogram", "crosstab"):
        scale *= math.sqrt(cells) if price[1] else cells
    else:
        scale *= moved[name]

    def draw(size: int) -> Any:
        return rng.normal(0, scale, size) if price[1] else rng.laplace(0, scale, size)

    if name not in ("variance", "std", "pooled_variance"):
        return float(np.sqrt(np.mean(draw(runs) ** 2)))
    groups = np.split(x, np.cumsum(sizes)[:-1])
    pooled = sum(float(((g - g.mean()) ** 2).sum()) for g in groups) / (ROWS - len(sizes))
    exact = pooled if name == "pooled_variance" else float(x.var(ddof=1))
    noisy = exact + draw(runs)
    while (below := noisy <= 0).any():
        noisy[below] = exact + draw(int(below.sum()))
    if name == "std":
        return float(np.sqrt(np.mean((np.sqrt(noisy) - math.sqrt(exact)) ** 2)))
    return float(np.sqrt(np.mean((noisy - exact) ** 2)))


def _quantile(x: Any, q: float, moved: float, epsilon: float, rng: np.random.Generator, runs: int) -> float:
    """Smith (2011): an interval between neighbouring values by the exponential mechanism, then a point of it."""
    ends = np.concatenate(([BOUNDS[0]], x, [BOUNDS[1]]))
    with np.errstate(divide="ignore"):
        logs = np.log(np.diff(ends)) - epsilon * np.abs(np.arange(len(x) + 1) - q * len(x)) / (2 * moved)
    chance = np.exp(logs - logs.max())
    chosen = rng.choice(len(chance), runs, p=chance / chance.sum())
    found = ends[chosen] + rng.random(runs) * np.diff(ends)[chosen]
    return float(np.sqrt(np.mean((found - np.quantile(x, q)) ** 2)))


def ours(name: str, rows: dict[str, Any], relation: Relation, price: tuple[float, float], runs: int) -> float:
    """The root mean square error of ours: the exact value is computed once, every run draws and reads as a user would."""
    columns = {"x": ds.Real(*BOUNDS), "y": ds.Real(*BOUNDS), "g": ds.Categories(("a", "b", "c"), missing="a")}
    schema = ds.Schema(columns, neighbors=relation)
    facts = Table(schema, ROWS, True, max(GROUPS)) if relation == "replace" else Table(schema)
    args, kwargs = ASKED[name]
    question = builder(name)(facts, *args, **kwargs)
    (ask,) = question.asks(Price(price[0], price[1] or None), relation)
    exact, law, random = ask.query.evaluate(open_source(rows, schema)), ask.mechanism, Random(seed=7)
    if name in ("median", "quantile"):
        truth: Any = np.quantile(rows["x"], 0.5 if name == "median" else 0.25)
    else:
        truth = np.asarray(question.reading.value([Release(exact.value, law)]))
    square = 0.0
    for _ in range(runs):
        value = question.reading.value([Release(law.release(exact, seed=random), law)])
        square += float(np.mean((np.asarray(value) - truth) ** 2))
    return math.sqrt(square / runs)


def statistics(runs: int = ERROR_RUNS) -> dict[str, float]:
    """Our error over DPpack's, for every statistic, relation and price."""
    rows = table()
    return {
        f"{name}, {relation}, {word}": ours(name, rows, relation, price, runs) / theirs(name, rows, relation, price, runs)
        for name in ASKED
        for relation in RELATIONS
        for word, price in PRICES.items()
        if not (price[1] and name in ("median", "quantile"))  # an exponential mechanism has no delta
    }


def bands(rng: np.random.Generator, rows: int) -> tuple[Any, Any]:
    """DPpack's two bands, x = (3t, m - t)."""
    y, t = rng.integers(0, 2, rows), rng.uniform(-0.25, 0.25, rows)
    return np.clip(np.column_stack([3 * t, rng.normal(0.4 * y - 0.2, 0.1) - t]), -1, 1), y


def disc(rng: np.random.Generator, rows: int) -> tuple[Any, Any]:
    """Points around 0: those near it are one class."""
    x = rng.normal(0, 0.28, (rows, 2))
    return x, ((x**2).sum(1) >= 0.15).astype(int)


def printed(rows: Any, signs: Any, loss: Loss, method: str, ridge: float, rng: np.random.Generator, most: float = 1.0,
            weight: Any = None) -> Any:  # fmt: skip
    """Coefficients of rows taken to have a norm of at most 1, epsilon 1, weights up to ``most``."""
    curvature, d = most * float(loss.curvature), rows.shape[1]
    if weight is not None:  # a row of weight w is w rows
        loss = _Weighted(loss, weight)
    if method == "output":
        return minimiser(rows, signs, loss, np.zeros(d), ridge) + spherical(rng, 2 * most / ridge, d)
    left = 1.0 - 2 * math.log1p(curvature / ridge)
    if left <= 0:
        ridge, left = max(ridge, curvature / math.expm1(0.25)), 0.5
    return minimiser(rows, signs, loss, spherical(rng, 2 * most / left, d), ridge)


class _Weighted:
    """A loss times the weights of its rows."""

    def __init__(self, loss: Loss, weight: Any) -> None:
        self._loss, self._weight = loss, weight

    def value(self, scores: Any, y: Any) -> Any:
        return self._weight * self._loss.value(scores, y)

    def both(self, scores: Any, y: Any) -> tuple[Any, Any]:
        slope, bend = self._loss.both(scores, y)
        return self._weight * slope, self._weight * bend


def _with_constant(x: Any) -> Any:
    return np.column_stack([x, np.ones(len(x))]) / math.sqrt(x.shape[1] + 1)


def classifiers(fits: int = FITS) -> dict[str, dict[str, float]]:
    """Accuracy of ours and of theirs on the same rows, and the standard error of the difference."""
    asked: dict[str, Any] = {"epsilon": 1, "classes": [0, 1], "neighbors": "replace"}
    square = {**asked, "bounds": (-1, 1)}
    cases: dict[str, Callable[[np.random.Generator, int], tuple[float, float]]] = {}
    linear: list[tuple[str, Any, Loss]] = [("logistic", LogisticRegression, Logistic()), ("SVM", LinearSVC, HuberHinge())]
    for method in ("objective", "output"):
        for ridge in (1.0, 10.0):
            for word, kind, loss in linear:
                cases[f"{word}, {method}, ridge {ridge:g}"] = _linear(kind, loss, method, ridge, square)
            cases[f"Gaussian kernel, {method}, ridge {ridge:g}"] = _kernel(method, ridge, {**asked, "fit_intercept": False})
        cases[f"treatment rule, {method}, ridge 10"] = _rule(method, 10.0, square)
    cases["Gaussian kernel with an intercept, objective, ridge 1"] = _kernel("objective", 1.0, asked)
    found = {}
    for place, (name, case) in enumerate(cases.items()):
        seen = np.array([case(np.random.default_rng((place, run)), run) for run in range(fits)])
        error = float(np.std(seen[:, 0] - seen[:, 1]) / math.sqrt(fits))
        found[name] = {"ours": float(seen[:, 0].mean()), "theirs": float(seen[:, 1].mean()), "standard error": error}
    return found


def _linear(kind: Any, loss: Loss, method: str, ridge: float, asked: dict[str, Any]) -> Any:
    def case(rng: np.random.Generator, run: int) -> tuple[float, float]:
        (x, y), (seen, truth) = bands(rng, 360), bands(rng, 1000)
        ours = kind(**asked, method=method, ridge=ridge).fit(x, y).public_score(seen, truth)
        theta = printed(_with_constant(x), 2.0 * y - 1, loss, method, ridge, rng)
        return ours, float(np.mean((_with_constant(seen) @ theta > 0) == truth))

    return case


def _kernel(method: str, ridge: float, asked: dict[str, Any], components: int = 20, beta: float = 4.0) -> Any:
    def case(rng: np.random.Generator, run: int) -> tuple[float, float]:
        (x, y), (seen, truth) = disc(rng, 360), disc(rng, 1000)
        model = KernelSVC(**asked, method=method, ridge=ridge, components=components, beta=beta, key=run).fit(x, y)
        frequencies, phases = rng.normal(0, math.sqrt(2 * beta), (2, components)), rng.uniform(0, 2 * math.pi, components)

        def features(points: Any) -> Any:
            return math.sqrt(2 / components) * np.cos(points @ frequencies + phases)

        theta = printed(features(x), 2.0 * y - 1, HuberHinge(), method, ridge, rng)
        return model.public_score(seen, truth), float(np.mean((features(seen) @ theta > 0) == truth))

    return case


def _rule(method: str, ridge: float, asked: dict[str, Any]) -> Any:
    """Treatment 1 does good where the first column is positive, 0 elsewhere; given by a fair coin."""

    def case(rng: np.random.Generator, run: int) -> tuple[float, float]:
        (x, _), (seen, _) = bands(rng, 360), bands(rng, 1000)
        given, best = rng.integers(0, 2, len(x)), seen[:, 0] > 0
        benefit = np.where(given == (x[:, 0] > 0), 1.0, 0.2) * rng.uniform(0.8, 1.0, len(x))
        model = OutcomeWeightedLearner(**asked, method=method, ridge=ridge, propensity=0.5, weight_bound=2)
        ours = model.fit(x, given, benefit).predict(seen) == best
        theta = printed(_with_constant(x), 2.0 * given - 1, HuberHinge(), method, ridge, rng, 2.0, benefit / 0.5)
        return float(np.mean(ours)), float(np.mean((_with_constant(seen) @ theta > 0) == best))

    return case


def run(runs: int = ERROR_RUNS, fits: int = FITS) -> dict[str, Any]:
    return {"runs": runs, "error over DPpack's": statistics(runs), "fits": fits, "accuracy": classifiers(fits)}


def checks(result: dict[str, Any]) -> list[tuple[str, float, str, float]]:
    """No error above 1.05 times DPpack's, no accuracy more than two standard errors below."""
    rows = [(name, ratio, "<=", 1.05) for name, ratio in result["error over DPpack's"].items()]
    for name, seen in result["accuracy"].items():
        behind = (seen["theirs"] - seen["ours"]) / max(seen["standard error"], 1e-12)
        rows.append((f"{name}: accuracy behind DPpack's, in standard errors", behind, "<=", 2.0))
    return rows
