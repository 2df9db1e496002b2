"""Requests that an analyst might make of a small table, extremes among them: statistics, people, models, tests and SQL."""

from __future__ import annotations

import random
from fractions import Fraction
from typing import Any

from discreet.models import Ball
from discreet.models.losses import Huber, HuberHinge

Request = tuple[str, tuple[Any, ...], dict[str, Any]]

_BINS = [
    1,
    3,
    1000,
    0,
    -1,
    [0.0, 5e-324],
    [0, 1e-99],
    [-1e100, 1e100],
    [1e16, 1e16 + 2],
    [0, 1, 1],
    [1e308, 1.1e308],
    [-1, 0, 3],
]
_EPSILONS = [1e-9, "1e-30", 0.1, 0.1, 1, 1, 1, 1, 3, 3, 1000, 1e9, 5e-324, 0, "1e300"]
FORMULAS = ["x / y", "log(x) ** 3 % y", "y if x > 0 else -x", "coalesce(y, x, 0) // x", "exp(x) - exp(y) * 2"]
CONDITIONS = ["x / y >= 0.5", "g == 'a' and not x < y", "missing(x) or y in [0, 1]", "between(x ** 2, 0, 1)"]
_EACH = [{"each": "count"}, {"each": "sum", "clip": [-1, 3]}, {"each": "mean"}, {"each": "mean", "clip": [1, 0]}]


def of_people(rng: random.Random) -> Request:
    """A question about people, derived columns, or with a condition."""
    spend: dict[str, Any] = {"epsilon": rng.choice(_EPSILONS)} if rng.random() < 0.8 else {"rho": rng.choice([1e-12, 1])}
    if rng.random() < 0.5:
        spend["where"] = rng.choice(CONDITIONS)
    groups = {"by": rng.choice(["g", "b", "bins(x, [-1, 0, 3])", ["g", "y > x"]])} if rng.random() < 0.4 else {}
    match word := rng.choice(["count_people", "people_sum", "people_mean", "count_distinct", "top", "mean", "median"]):
        case "count_people":
            return word, (), spend | groups
        case "people_sum" | "people_mean":
            return word, (rng.choice(["x", "z"]),), spend | groups | rng.choice(_EACH)
        case "count_distinct":
            return word, (rng.choice(["g", "b", "x"]),), spend
        case "top":
            return word, (rng.choice(["g", "b", "bins(z, [-9, 0, 1, 9])"]),), {**spend, "k": rng.choice([1, 2, 9])}
    return word, ("z",), spend | (groups if word == "mean" else {})


def of_statistics(rng: random.Random) -> Request:
    spend: dict[str, Any] = {"epsilon": rng.choice(_EPSILONS)}
    if rng.random() < 0.3:
        spend = rng.choice(
            [
                {"epsilon": rng.choice(_EPSILONS), "delta": rng.choice([1e-300, 1e-6, 0.5])},
                {"rho": rng.choice([1e-12, 1, 1e6])},
            ]
        )
    if rng.random() < 0.3:
        spend["where"] = {"g": rng.choice(["a", 7])}
    if rng.random() < 0.3:
        spend["by"] = "g"
    word = rng.choice(
        ["count", "sum", "mean", "variance", "std", "covariance", "correlation", "histogram", "histogram", "crosstab",
         "median", "quantile", "pooled_variance", "fit"]
    )  # fmt: skip
    if word in ("median", "quantile", "crosstab"):
        spend.pop("by", None)
    match word:
        case "count":
            return word, (), spend
        case "covariance" | "correlation":
            return word, ("x", "y"), spend
        case "crosstab":
            return word, ("g",), spend
        case "histogram":
            return word, ("x",), {**spend, "bins": rng.choice(_BINS), "normalize": rng.random() < 0.3}
        case "quantile":
            return word, ("x", rng.choice([0, 1, "1/3", 1e-9, "0.5"])), spend
        case "pooled_variance":
            return word, ("x",), {**spend, "by": "g"}
        case "fit":
            name, epsilon = rng.choice(["LogisticRegression", "LinearRegression"]), rng.choice([0.5, 1, 100])
            named = (["x", "y"], "g") if name == "LogisticRegression" else (["y"], "x")
            return word, (name, {"epsilon": epsilon}, *named), {}
    return word, ("x",), spend


_HELD: dict[str, Any] = {"loss": HuberHinge(Fraction(1, 50)), "region": Ball(Fraction(100))}
_MODELS: dict[str, tuple[str, list[dict[str, Any]]]] = {
    "LogisticRegression": ("b", [{}, {"intervals": True}, {"method": "output"}, {"ridge": 1e-6}, {"ridge": 1e9}]),
    "AdditiveClassifier": ("b", [{}, {"bins": 2}, {"bins": {"x": [0.5]}}, {"intervals": True}]),
    "LinearSVC": ("b", [{}, {"method": "output"}, {"width": 0.01}, {"method": "opera"}]),
    "KernelSVC": ("b", [{"components": 3, "key": 1}]),
    "SoftmaxRegression": ("g", [{}, {"method": "output"}, {"ridge": 1e-6}, {"ridge": 1e6}]),
    "PoissonRegressor": ("y", [{}, {"method": "output"}, {"intervals": True}, {"reach": 49}, {"ridge": 1e-5}]),
    "LinearRegression": ("y", [{}, {"method": "objective"}, {"intervals": True}]),
    "ConstrainedClassifier": ("b", [_HELD, {**_HELD, "method": "output"}, {**_HELD, "ridge": 1e-4}]),
    "ConstrainedRegression": ("y", [{**_HELD, "loss": Huber()}, {**_HELD, "loss": Huber(), "method": "output"}]),
    "GaussianNB": ("g", [{}]),
    "RandomForestClassifier": ("g", [{"n_estimators": 2, "max_depth": 2, "key": 1}]),
    "StandardScaler": ("", [{}]),
    "PCA": ("", [{}, {"n_components": 1}]),
    "KMeans": ("", [{"n_clusters": 2}, {"n_clusters": 1, "rounds": 1}]),
    "SGDClassifier": ("b", [{}, {"lots": "turns"}, {"lots": "best"}, {"clip": 1e-9}, {"momentum": 0.9}]),
    "SGDRegressor": ("y", [{}, {"lots": "turns"}, {"iterate": "last", "clip": 1e9}]),
    "MLPClassifier": ("b", [{"hidden_layer_sizes": (2,)}, {"hidden_layer_sizes": (2,), "lots": "turns"}]),
    "MLPRegressor": ("y", [{"hidden_layer_sizes": (2,)}]),
}
_DESCENDS = ("SGDClassifier", "SGDRegressor", "MLPClassifier", "MLPRegressor")
_OF_SUMS = ("GaussianNB", "RandomForestClassifier", "StandardScaler", "PCA", "KMeans")
_TESTS: list[tuple[tuple[Any, ...], dict[str, Any]]] = [
    (("ttest_1samp", "x"), {"popmean": 0.5}),
    (("ttest_ind", "x"), {"by": "b"}),
    (("mannwhitneyu", "x"), {"by": "b"}),
    (("kruskal", "x"), {"by": "g"}),
    (("f_oneway", "y"), {"by": "g"}),
    (("chi2_contingency", "g", "b"), {}),
    (("chisquare", "g"), {}),
    (("ks_2samp", "x"), {"by": "b"}),
    (("pearsonr", "x", "y"), {}),
    (("linregress", "x", "y"), {}),
]
_SQL = [
    "SELECT g, COUNT(*), AVG(x) FROM t GROUP BY g",
    "SELECT SUM(y) FROM t WHERE x / y > 0.5",
    "SELECT COUNT(DISTINCT g) FROM t WHERE b",
    "SELECT VARIANCE(x), COUNT(*) FROM t WHERE g IN ('a', 'b') OR y IS NULL",
]


def of_models(rng: random.Random) -> Request:
    """A fit with its options, a test, a statement in SQL, or a synthetic table."""
    spend: dict[str, Any] = {"epsilon": rng.choice([1e-6, 0.5, 1, 1, 1, 1, 3, 1000])}
    if rng.random() < 0.4:
        spend["delta"] = rng.choice([1e-300, 1e-6, 1e-6, 0.1])
    elif rng.random() < 0.1:
        spend = {"rho": rng.choice([1e-12, 0.5])}
    word = rng.choice(["fit"] * 6 + ["test", "test", "sql", "synthesize"])
    if word == "test":
        args, more = rng.choice(_TESTS)
        return word, args, spend | more
    if word == "sql":
        return word, (rng.choice(_SQL),), spend
    if word == "synthesize":
        return word, (["g", "b", "x"],), {**spend, "bins": {"x": 2}, "rows": 5, "tables": 2}
    name = rng.choice(list(_MODELS))
    target, options = _MODELS[name]
    made = {**spend, **rng.choice(options)}
    if name in _DESCENDS:
        made.pop("rho", None)
        made = {"epsilon": 1, "delta": 1e-6, "expected_rows": 5, "lot_size": 2, "steps": 3} | made
    if rng.random() < 0.2 and name not in (*_OF_SUMS, *_DESCENDS):
        made["fit_intercept"] = False
    features = [each for each in ("x", "y", "g", "b") if each != target and rng.random() < 0.7] or ["x"]
    if name in _OF_SUMS:
        features = ["x", "y"]
    more = {"weight": "w"} if rng.random() < (0.1 if name in _OF_SUMS else 0.4) else {}
    if rng.random() < 0.2:
        more["where"] = {"g": rng.choice(["a", 7])}
    return word, (name, made, features, target), more
