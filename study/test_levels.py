"""How often each hypothesis test rejects a true hypothesis at .05, beside the textbook's test of the same noisy numbers.

A run draws a table for which the hypothesis is true, sums its cells, adds the noise of a release, and asks for the p-value.
Monte Carlo tests draw 99 statistics a run: then p <= .05 has probability .05 exactly where their law is right.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np
from scipy import stats

import discreet as ds
from discreet.core.price import Price
from discreet.core.random import Random
from discreet.core.release import Release
from discreet.hypotheses.reading import ScoreTest
from discreet.models.intervals.wald import Sums, restricted
from discreet.statistics.bernstein import cell_weights
from discreet.statistics.question import Question, Table, builder
from study.harness import Row
from study.populations import Floats, in_turn, judged, released, share, spread, truth, values

RUNS, PART = 10_000, 500
_DRAWS = 99
_ALPHA = 0.05
# Sizes, epsilon, data and relation: six for every test, and more where a test has a trap of its own.
_USUAL = [
    (50, "1", "normal", "add_remove"),
    (200, "0.1", "lognormal", "add_remove"),
    (200, "4", "bernoulli", "replace"),
    (1000, "0.5", "discrete", "both"),
    (1000, "1", "lognormal", "replace"),
    (10_000, "0.1", "normal", "both"),
]
_MORE: dict[str, list[tuple[int, str, str, str]]] = {
    "pearsonr": [(1000, "4", "heteroscedastic", "add_remove")],
    "linregress": [(1000, "4", "heteroscedastic", "add_remove")],
    "f_oneway": [(700, "4", "lognormal, unequal", "add_remove")],
    "binomtest": [(100, "0.5", "normal", "replace")],
}
_TESTS = (
    "ttest_1samp", "ttest_ind", "ttest_rel", "binomtest", "chi2_contingency", "chisquare", "f_oneway", "ks_2samp",
    "pearsonr", "linregress", "equal_variances", "linear_wald", "linear_f",
)  # fmt: skip
SETTINGS: list[dict[str, Any]] = [
    {"test": test, "n": n, "epsilon": e, "data": data, "relation": relation}
    for test in _TESTS
    for n, e, data, relation in [*_USUAL, *_MORE.get(test, [])]
]
_BOUND = 0.065
# Named exceptions: few people of very skewed groups, as without privacy.
_EXCEPTIONS = {("f_oneway", "lognormal, unequal"): 0.11}


def run(setting: dict[str, Any], seed: int, runs: int) -> dict[str, float]:
    """How often the hypothesis, which is true, is rejected: by the test, and by the textbook's of the noisy numbers."""
    rng, random = np.random.default_rng(seed), Random(seed=seed)
    if setting["test"].startswith("linear_"):
        found = _linear(setting, rng, runs)
    else:
        question = asked(setting)
        law: Any = question.law(Price(epsilon=setting["epsilon"]), setting["relation"])
        exact = in_turn(setting["n"], runs, lambda some: cells_of(setting, rng, some))
        cells = released(law, exact, random, question.query.grid == 1)  # type: ignore[attr-defined]
        plain = np.array([_NAIVE[setting["test"]](one, setting) for one in cells])
        found = p_values_of(question.reading, cells, law), plain
    return {"rejected": float((found[0] <= _ALPHA).sum()), "naive": float((found[1] <= _ALPHA).sum())}


def rows(results: Any) -> list[Row]:
    """The level of every setting, at most .065 but for the exceptions, and three deviations where fewer runs were made."""
    made = []
    for setting, runs, tallies in results:
        bound = _EXCEPTIONS.get((setting["test"], setting["data"]), _BOUND)
        slack = 0.0 if runs >= RUNS else 4 * math.sqrt(bound / runs)
        words = f"{setting['n']} rows, epsilon {setting['epsilon']}, {setting['data']}, {setting['relation']}, {runs} runs"
        naive = f"naive {tallies['naive'] / runs:.3f}"
        made.append(Row(f"{setting['test']}, {words} ({naive})", tallies["rejected"] / runs, "<=", bound + slack))
    return made


@lru_cache(maxsize=64)
def _asked(test: str, n: int, data: str, relation: Any) -> Question:
    columns = {
        "x": ds.Real(0, 1),
        "y": ds.Real(0, 1),
        "two": ds.Categories(["a", "b"], missing="a"),
        "groups": ds.Categories(list("abc"), missing="a"),
        "many": ds.Categories(list("abcd"), missing="a"),
    }
    table = Table(ds.Schema(columns, neighbors=relation), n if relation == "replace" else None)
    how: dict[str, tuple[tuple[str, ...], dict[str, Any]]] = {
        "ttest_1samp": (("x",), {"popmean": truth(data)["mean"]}),
        "ttest_ind": (("x",), {"by": "two"}),
        "ttest_rel": (("x", "y"), {}),
        "binomtest": (("two",), {"p": share(data)}),
        "chi2_contingency": (("groups", "many"), {"draws": _DRAWS}),
        "chisquare": (("many",), {"shares": _shares(data, 4), "draws": _DRAWS}),
        "f_oneway": (("x",), {"by": "many" if data == "lognormal, unequal" else "groups", "draws": _DRAWS}),
        "ks_2samp": (("x",), {"by": "two", "bins": 32, "draws": _DRAWS}),
        "pearsonr": (("x", "y"), {}),
        "linregress": (("x", "y"), {}),
        "equal_variances": (("x",), {"by": "two"}),
    }
    args, options = how[test]
    return builder(test)(table, *args, **options)


def asked(setting: dict[str, Any]) -> Question:
    """The question that a setting asks."""
    return _asked(setting["test"], setting["n"], setting["data"], setting["relation"])


def p_values_of(reading: Any, cells: Floats, law: Any) -> Floats:
    """p-values of many releases; statements are judged together, which is what takes the time."""
    releases = [[Release.of(law, one)] for one in cells]
    if not isinstance(reading, ScoreTest):
        return np.array([reading.pvalue(release) for release in releases])
    return judged([reading.statement(release) for release in releases], law)


def _shares(data: str, labels: int) -> tuple[float, ...]:
    """Even shares, or skewed ones for skewed data."""
    made = np.ones(labels) if data == "normal" else 0.5 ** np.arange(labels)
    return tuple((made / made.sum()).tolist())


def cells_of(setting: dict[str, Any], rng: np.random.Generator, runs: int) -> Floats:
    """Exact cells of tables for which the hypothesis is true, in the shape of the question."""
    test, n, data = setting["test"], setting["n"], setting["data"]
    shape = asked(setting).reading.shape  # type: ignore[attr-defined]
    if test == "binomtest":
        yes = rng.binomial(n, share(data), runs).astype(np.float64)
        return yes[:, None] if shape == (1,) else np.stack([yes, n - yes], -1)
    if test == "chisquare":
        return rng.multinomial(n, _shares(data, 4), runs).astype(np.float64)
    if test == "chi2_contingency":
        joint = np.outer(_shares(data, 3), _shares(data, 4)).ravel()
        return rng.multinomial(n, joint, runs).reshape(runs, 3, 4).astype(np.float64)
    if test in ("ttest_rel", "pearsonr", "linregress"):
        return _two_columns(test, n, data, rng, runs)
    t = values(data, rng, (runs, n))
    if test == "ttest_1samp":
        if shape == (2,):  # the number of rows is public: the sums of u and u**2 / 2
            u = 2 * t - 1
            return np.stack([u.sum(-1), (u**2).sum(-1) / 2], -1)
        return spread(t, 2).sum(1)
    sizes = np.array([500, 100, 50, 50]) if data == "lognormal, unequal" else np.full(shape[0], n // shape[0])
    ends = np.cumsum(sizes)
    parts = [t[:, end - size : end] for size, end in zip(sizes, ends, strict=True)]
    summed = _counts if test == "ks_2samp" else _sums
    return np.stack([summed(part, shape[-1]) for part in parts], 1)


def _sums(t: Floats, cells: int) -> Floats:
    return np.asarray(spread(t, cells - 1).sum(1))


def _counts(t: Floats, bins: int) -> Floats:
    place = np.minimum((t * bins).astype(np.intp), bins - 1) + bins * np.arange(len(t))[:, None]
    return np.bincount(place.ravel(), minlength=len(t) * bins).reshape(len(t), bins).astype(np.float64)


def _two_columns(test: str, n: int, data: str, rng: np.random.Generator, runs: int) -> Floats:
    first = values(data, rng, (runs, n))
    if data == "heteroscedastic":  # without correlation, and far from independent
        other = np.clip(0.5 + 0.6 * (first - 0.5) * rng.choice([-1.0, 1.0], (runs, n)), 0.0, 1.0)
    else:
        other = values(data, rng, (runs, n))
    one, two = {"ttest_rel": (2, 2), "pearsonr": (4, 4), "linregress": (4, 2)}[test]
    return np.asarray(np.swapaxes(spread(first, one), 1, 2) @ spread(other, two))


def _linear(setting: dict[str, Any], rng: np.random.Generator, runs: int) -> tuple[Floats, Floats]:
    """Wald and F tests of a regression whose last coefficients are 0, from sums with Gaussian noise of scale 2 / epsilon."""
    n, sigma, joint = setting["n"], 2 / float(setting["epsilon"]), setting["test"] == "linear_f"
    found = np.ones((2, runs))
    lines = np.eye(4)[1:3] if joint else np.eye(4)[2:3]
    upper = np.triu_indices(5)
    for i in range(runs):
        x = 2 * values(setting["data"], rng, (n, 3)) - 1
        x[:, 2] = (x[:, 2] + x[:, 0]) / 2  # columns that go together
        y = np.clip(0.4 * x[:, 0] + rng.uniform(-0.4, 0.4, n), -1, 1)
        z = np.column_stack([x, np.ones(n), y])
        raw = z.T @ z
        noise = np.zeros((5, 5))
        noise[upper] = rng.normal(0, sigma, len(upper[0]))
        raw = raw + noise + np.triu(noise, 1).T
        for place, scale in enumerate((sigma, 0.0)):
            found[place, i] = restricted(Sums(raw, max(1.0, raw[3, 3]), scale), lines, np.zeros(len(lines)))[1]
    return found[0], found[1]


def _z(score: float, variance: float) -> float:
    """The two-sided p-value of a normal statistic; whatever is left of a variance that noise took is none."""
    return float(2 * stats.norm.sf(abs(score) / math.sqrt(max(variance, 1e-12))))


def _moments(cells: Floats, degree: int) -> tuple[float, float, float]:
    """How many, their mean and their variance, from noisy Bernstein cells of one number."""
    n = max(float(cells.sum()), 1.0)
    first, second = (float(cells @ cell_weights(np.eye(j + 1)[j], (degree,))) / n for j in (1, 2))
    return n, first, max(second - first**2, 0.0)


def _naive_mean(cells: Floats, setting: dict[str, Any]) -> float:
    centre = truth(setting["data"])["mean"]
    if len(cells) == 2:
        n, u = setting["n"], float(cells[0]) / setting["n"]
        return _z((u + 1) / 2 - centre, (2 * float(cells[1]) / n - u * u) / 4 / n)
    n, mean, variance = _moments(cells, 2)
    return _z(mean - centre, variance / n)


def _naive_groups(cells: Floats, setting: dict[str, Any]) -> float:
    found = [_moments(own, 2) for own in cells]
    weights = np.array([n / max(v, 1e-12) for n, _, v in found])
    means = np.array([m for _, m, _ in found])
    q = float((weights * (means - (weights @ means) / weights.sum()) ** 2).sum())
    return float(stats.chi2.sf(q, len(cells) - 1))


def _naive_pairs(cells: Floats, setting: dict[str, Any]) -> float:
    n, m = max(float(cells.sum()), 1.0), len(cells) - 1
    one, two = _moments(cells.sum(1), m), _moments(cells.sum(0), cells.shape[1] - 1)
    first = cell_weights(np.array([0.0, 1.0]), (m,))
    other = cell_weights(np.array([0.0, 1.0]), (cells.shape[1] - 1,))
    covariance = float(first @ cells @ other) / n - one[1] * two[1]
    if setting["test"] == "ttest_rel":
        return _z(one[1] - two[1], (one[2] + two[2] - 2 * covariance) / n)
    r = float(np.clip(covariance / math.sqrt(max(one[2] * two[2], 1e-12)), -0.999999, 0.999999))
    return float(2 * stats.t.sf(abs(r) * math.sqrt(max(n - 2, 1.0) / (1 - r * r)), max(n - 2, 1.0)))


def _naive_share(cells: Floats, setting: dict[str, Any]) -> float:
    n, p = (setting["n"] if len(cells) == 1 else max(float(cells.sum()), 1.0)), share(setting["data"])
    return _z(float(cells[0]) - n * p, n * p * (1 - p))


def _naive_counts(cells: Floats, setting: dict[str, Any]) -> float:
    table = np.maximum(cells, 0.5)
    n = table.sum()
    if table.ndim == 1:
        expected, freedom = n * np.array(_shares(setting["data"], 4)), 3
    else:
        expected, freedom = np.outer(table.sum(1), table.sum(0)) / n, (table.shape[0] - 1) * (table.shape[1] - 1)
    return float(stats.chi2.sf(((table - expected) ** 2 / expected).sum(), freedom))


def _naive_curves(cells: Floats, setting: dict[str, Any]) -> float:
    n = np.maximum(cells.sum(-1), 1.0)
    curves = np.cumsum(cells, -1) / n[:, None]
    return float(stats.kstwobign.sf(np.abs(curves[0] - curves[1]).max() * math.sqrt(n[0] * n[1] / n.sum())))


def _naive_variances(cells: Floats, setting: dict[str, Any]) -> float:
    (n, _, v), (m, _, w) = (_moments(own, 4) for own in cells)
    ratio = max(v, 1e-12) / max(w, 1e-12)
    lower = float(stats.f.cdf(ratio, max(n - 1, 1.0), max(m - 1, 1.0)))
    return 2 * min(lower, 1 - lower)


_NAIVE: dict[str, Callable[[Floats, dict[str, Any]], float]] = {
    "ttest_1samp": _naive_mean,
    "ttest_ind": _naive_groups,
    "ttest_rel": _naive_pairs,
    "binomtest": _naive_share,
    "chi2_contingency": _naive_counts,
    "chisquare": _naive_counts,
    "f_oneway": _naive_groups,
    "ks_2samp": _naive_curves,
    "pearsonr": _naive_pairs,
    "linregress": _naive_pairs,
    "equal_variances": _naive_variances,
}
