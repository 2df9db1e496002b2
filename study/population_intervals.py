"""Coverage of 95 % intervals of the population: means and shares in 48 settings, and every other kind.

A run draws a table, adds the noise of a release, and asks for the p-value of the population's true value: an interval is the
hull of the values with p above 0.05, so it covers at least where that p is. Quantiles and bands are asked for their ends.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from functools import lru_cache, partial
from typing import Any

import numpy as np

import discreet as ds
from discreet.core.price import Price
from discreet.core.random import Random
from discreet.core.release import Release
from discreet.statistics.covariance import PopulationCorrelation, covariance_score
from discreet.statistics.equation import Statement, strict_p_values, upper_tail
from discreet.statistics.mean import PopulationMean, PublicMean
from discreet.statistics.population import Contrast
from discreet.statistics.question import Table, builder
from discreet.statistics.score import Score, mean_score, person_mean_score
from discreet.statistics.sum import Total
from discreet.statistics.variance import variance_score
from study.harness import Row
from study.populations import Floats, in_turn, judged, released, spread, truth, values

RUNS, PART = 4000, 1000
_SIZES, _EPSILONS = (50, 200, 1000, 10_000), ("0.1", "0.5", "1", "4")
SETTINGS: list[dict[str, Any]] = [
    {"kind": kind, "data": data, "n": n, "epsilon": e, "relation": relation}
    for relation in ("add_remove", "replace")
    for kind, data in (("mean", "normal"), ("mean", "lognormal"), ("share", "bernoulli"))
    for n in _SIZES
    for e in _EPSILONS
    if relation == "add_remove" or kind == "mean"
]
SETTINGS += [
    {"kind": kind, "data": data, "n": n, "epsilon": e, "relation": "add_remove"}
    for kind in ("difference", "ratio", "variance", "pooled_variance", "covariance", "correlation", "median", "decile")
    for data in ("normal", "lognormal")
    for n in (200, 1000)
    for e in ("0.5", "4")
]
SETTINGS += [
    {"kind": kind, "data": "normal", "n": n, "epsilon": e, "relation": "add_remove"}
    for kind in ("people", "people_difference", "total", "band")
    for n in (200, 1000)
    for e in ("0.5", "4")
]
SETTINGS += [
    {"kind": "mean_gaussian", "data": data, "n": n, "epsilon": e, "relation": "add_remove"}
    for data in ("normal", "lognormal")
    for n in (50, 1000)
    for e in ("0.1", "1")
]

# The least and the largest coverage promised: bins cover more than the quantile in them, and the variance of sums over rows
# allows for any dependence of a person's rows.
_PLAIN = (0.93, 0.98)
_PROMISED = {
    "mean_gaussian": (0.925, 0.98),
    "variance": (0.92, 0.98),
    "covariance": (0.925, 0.98),
    "correlation": (0.92, 0.98),
    "median": (0.93, 1.0),
    "decile": (0.93, 1.0),
    "people_difference": (0.93, 1.0),
    "band": (0.92, 0.98),
}
_ALPHA, _LEVEL = 0.05, 0.95
_MOST_ROWS = 5  # of a person, where people have several


def run(setting: dict[str, Any], seed: int, runs: int) -> dict[str, float]:
    """How often the true value is covered; of means and shares also by the strict form."""
    rng, random = np.random.default_rng(seed), Random(seed=seed)
    kind = setting["kind"]
    if kind in ("median", "decile", "band"):
        return {"covered": float(_CURVES[kind](setting, rng, random, runs).sum())}
    exact, law, statement = _KINDS[kind](setting, rng, runs)
    cells = released(law, exact, random, whole=kind == "share")
    statements = [statement(one) for one in cells]
    found = {"covered": float((judged(statements, law) > _ALPHA).sum())}
    if kind in ("mean", "share"):
        strict = judged(statements, law, partial(strict_p_values, alpha=_ALPHA))
        found["strictly"] = float((strict > _ALPHA).sum())
    return found


def rows(results: Any) -> list[Row]:
    """The least and the largest coverage of every kind, and the least of the strict form."""
    found = []
    for kind in dict.fromkeys(_named(s) for s, _, _ in results):
        own = [(n, t) for s, n, t in results if _named(s) == kind]
        least, most = _PROMISED.get(kind, _PLAIN)
        covered, tables = [t["covered"] / n for n, t in own], min(n for n, _ in own)
        words = f"{kind}, {len(own)} settings, {tables} tables each"
        found.append(Row(f"{words}: least coverage", min(covered), ">=", least))
        found.append(Row(f"{words}: largest coverage", max(covered), "<=", most))
        strict = [t["strictly"] / n for n, t in own if "strictly" in t]
        if strict:
            found.append(Row(f"{words}: least coverage, strict", min(strict), ">=", 0.945))
    return found


def _named(setting: dict[str, Any]) -> str:
    replace = setting["relation"] == "replace"
    return f"{setting['kind']}, replace" if replace else str(setting["kind"])


Kind = tuple[Floats, Any, Callable[[Floats], Statement | None]]


def _law(setting: dict[str, Any]) -> Any:
    return ds.Laplace((1 if setting["relation"] == "add_remove" else 2) / float(setting["epsilon"]))


def _at(score: Score, theta: float) -> Callable[[Floats], Statement]:
    """The statement that a score makes about one value."""
    return lambda cells: score.equation(cells)(np.array([theta]))


def _cells(setting: dict[str, Any], rng: np.random.Generator, runs: int, degree: int, groups: int = 1) -> Floats:
    """Summed cells of ``groups`` groups of n rows each."""
    n, data = setting["n"], setting["data"]
    return in_turn(n * groups, runs, lambda some: spread(values(data, rng, (some, groups, n)), degree).sum(2))


def _mean(setting: dict[str, Any], rng: np.random.Generator, runs: int) -> Kind:
    centre, n = truth(setting["data"])["mean"], setting["n"]
    cells = _cells(setting, rng, runs, 2)[:, 0]
    if setting["relation"] == "add_remove":
        return cells, _law(setting), _at(mean_score(2), centre)
    # The number of rows is public: the sums of u = 2t - 1 and of u**2 / 2.
    first, second = cells[:, 1] / 2 + cells[:, 2], cells[:, 2]
    moments = np.stack([2 * first - n, 2 * second - 2 * first + n / 2], -1)
    return moments, _law(setting), _at(PublicMean(0, 1, n, Fraction(1, 2)).score, centre)


def _mean_gaussian(setting: dict[str, Any], rng: np.random.Generator, runs: int) -> Kind:
    law = ds.Gaussian(1 / float(setting["epsilon"]))
    return _cells(setting, rng, runs, 2)[:, 0], law, _at(mean_score(2), truth(setting["data"])["mean"])


def _share(setting: dict[str, Any], rng: np.random.Generator, runs: int) -> Kind:
    yes = rng.binomial(setting["n"], 0.1, runs).astype(np.float64)
    weights, guard = np.array([[0.9, -0.1]]), np.full((1, 2), 0.09)

    def statement(cells: Floats) -> Statement:
        return Statement(weights @ cells, np.array([0.09 * cells.sum()]), weights, None, guard)

    return np.stack([yes, setting["n"] - yes], -1), ds.DiscreteLaplace(1 / float(setting["epsilon"])), statement


def _groups(setting: dict[str, Any], rng: np.random.Generator, runs: int, ratio: bool) -> Kind:
    means = PopulationMean(0, 1, (2, 3), (("g", ("a", "b")),))
    contrast = Contrast(means, (1.0, -1.0), ratio, (0.05, 20.0) if ratio else None)
    return _cells(setting, rng, runs, 2, 2), _law(setting), _contrast(contrast, 1.0 if ratio else 0.0)


def _contrast(contrast: Contrast, theta: float) -> Callable[[Floats], Statement | None]:
    def statement(cells: Floats) -> Statement | None:
        groups = contrast.groups(cells)
        return None if groups is None else contrast.statement(groups, np.array([theta]))

    return statement


def _variance(setting: dict[str, Any], rng: np.random.Generator, runs: int, groups: int = 1) -> Kind:
    law, value = _law(setting), truth(setting["data"])["variance"]

    def statement(cells: Floats) -> Statement | None:
        found = variance_score(cells, law, 1)
        return None if found is None else _at(found[0], value)(cells)

    return _cells({**setting, "n": setting["n"] // groups}, rng, runs, 4, groups), law, statement


def _pairs(data: str, rng: np.random.Generator, shape: tuple[int, ...]) -> tuple[Floats, Floats]:
    """Two columns that share half of their variance before they are clipped."""
    common, a, b = rng.normal(0, math.sqrt(0.5), (3, *shape))
    s, t = (0.5 + (common + own) / 6 if data == "normal" else np.exp(common + own) / 10 for own in (a, b))
    return np.clip(s, 0, 1), np.clip(t, 0, 1)


@lru_cache
def _joint(data: str) -> tuple[float, float]:
    """Covariance and correlation of the clipped population, by quadrature on a grid of both normal variables."""
    x = np.linspace(-8, 8, 3201)
    density = np.exp(-(x**2) / 2)
    density /= density.sum()
    rest = math.sqrt(0.75)  # t given s: correlation 1/2
    own = 0.5 + x / 6 if data == "normal" else np.exp(x) / 10
    other = 0.5 * x[:, None] + rest * x[None, :]
    other = 0.5 + other / 6 if data == "normal" else np.exp(other) / 10
    own, given = np.clip(own, 0, 1), np.clip(other, 0, 1) @ density
    mean = float(own @ density)
    covariance = float((own * given) @ density) - mean**2
    return covariance, covariance / (float((own**2) @ density) - mean**2)


def _two(setting: dict[str, Any], rng: np.random.Generator, runs: int, degree: int) -> Floats:
    def draw(some: int) -> Floats:
        s, t = _pairs(setting["data"], rng, (some, setting["n"]))
        return np.asarray(np.swapaxes(spread(s, degree), 1, 2) @ spread(t, degree))

    return in_turn(setting["n"], runs, draw)


def _covariance(setting: dict[str, Any], rng: np.random.Generator, runs: int) -> Kind:
    law, value = _law(setting), _joint(setting["data"])[0]

    def statement(cells: Floats) -> Statement | None:
        found = covariance_score(cells[None], law, 1)
        return None if found is None else _at(found[0], value)(cells)

    return _two(setting, rng, runs, 2), law, statement


def _correlation(setting: dict[str, Any], rng: np.random.Generator, runs: int) -> Kind:
    reading, value = PopulationCorrelation(), _joint(setting["data"])[1]

    def statement(cells: Floats) -> Statement | None:
        score = reading.score(cells)
        return None if score is None else _at(score, value)(cells)

    return _two(setting, rng, runs, 4), _law(setting), statement


def _several(rng: np.random.Generator, shape: tuple[int, ...]) -> tuple[Floats, Floats]:
    """Values of up to five rows a person, half of the variance between people, and which rows there are.

    They are clipped at three deviations, so that the mean stays 1/2.
    """
    there = np.arange(_MOST_ROWS) < rng.integers(1, _MOST_ROWS + 1, shape)[..., None]
    own, each = rng.normal(0, math.sqrt(0.5), (*shape, 1)), rng.normal(0, math.sqrt(0.5), (*shape, _MOST_ROWS))
    return np.clip(0.5 + (own + each) / 6, 0, 1), there.astype(np.float64)


def _people(setting: dict[str, Any], rng: np.random.Generator, runs: int) -> Kind:
    def draw(some: int) -> Floats:
        t, there = _several(rng, (some, setting["n"]))
        x, z = (t * there).sum(-1) / _MOST_ROWS, 1 - there.sum(-1) / _MOST_ROWS
        y = 1 - x - z
        return np.stack([x * x, y * y, 2 * x * y, 2 * x * z, 2 * y * z, z * z], -1).sum(1)

    cells = in_turn(setting["n"] * _MOST_ROWS, runs, draw)
    return cells, _law(setting), _at(person_mean_score(_MOST_ROWS), 0.5)


def _people_difference(setting: dict[str, Any], rng: np.random.Generator, runs: int) -> Kind:
    """Two groups whose people have several rows, from sums over rows: V allows for any dependence of rows."""

    def draw(some: int) -> Floats:
        t, there = _several(rng, (some, 2, setting["n"]))
        return (spread(t, 2) * there[..., None]).sum((2, 3))

    law = ds.Laplace(_MOST_ROWS / float(setting["epsilon"]))
    means = PopulationMean(0, 1, (2, 3), (("g", ("a", "b")),), _MOST_ROWS)
    return in_turn(2 * setting["n"] * _MOST_ROWS, runs, draw), law, _contrast(Contrast(means, (1.0, -1.0)), 0.0)


def _total(setting: dict[str, Any], rng: np.random.Generator, runs: int) -> Kind:
    """The expected sum, where the number of rows is Poisson's."""
    n, data = setting["n"], setting["data"]

    def draw(some: int) -> Floats:
        sizes = rng.poisson(n, some)
        there = np.arange(sizes.max()) < sizes[:, None]
        return (spread(values(data, rng, there.shape), 2) * there[..., None]).sum(1)

    return in_turn(n, runs, draw), _law(setting), _at(Total(0, 1).score, n * truth(data)["mean"])


def _histograms(setting: dict[str, Any], rng: np.random.Generator, random: Random, runs: int) -> tuple[Any, Any, Floats]:
    """The question of a distribution, its law, and the noisy nodes of many tables."""
    question = builder("distribution")(Table(ds.Schema({"x": ds.Real(0, 1)})), "x")
    law: Any = question.law(Price(epsilon=setting["epsilon"]), "add_remove")
    query: Any = question.query
    bins = len(query.bins.edges) - 1

    def draw(some: int) -> Floats:
        x = values(setting["data"], rng, (some, setting["n"]))
        place = np.minimum((x * bins).astype(np.intp), bins - 1) + bins * np.arange(some)[:, None]
        counts = np.bincount(place.ravel(), minlength=some * bins).reshape(some, bins)
        return np.stack([query.finish(own).value for own in counts])

    return question.reading, law, released(law, in_turn(setting["n"], runs, draw), random, whole=True)


def _quantile(setting: dict[str, Any], rng: np.random.Generator, random: Random, runs: int) -> Floats:
    """The ends are found only where the edge on either side of the quantile is rejected: elsewhere they cannot pass it."""
    reading, law, nodes = _histograms(setting, rng, random, runs)
    q, value = (0.5 if setting["kind"] == "median" else 0.9), truth(setting["data"])[setting["kind"]]
    quantile = reading.quantile(q)
    weights, inner = quantile.weights, np.array(reading.edges[1:-1])
    above, below = int(np.searchsorted(inner, value)), int(np.searchsorted(inner, value)) - 1
    variance = np.maximum(reading.compute(nodes).sum(-1), 0.0) * q * (1 - q)
    passed = np.zeros(runs, bool)
    for edge, sign in ((above, -1.0), (below, 1.0)):
        score = sign * (nodes @ weights[edge])
        passed |= upper_tail(score, variance, np.repeat(weights[edge : edge + 1], runs, 0), law) < (1 - _LEVEL) / 2
    covered = ~passed
    for place in np.flatnonzero(passed):
        low, high = quantile.population_interval((Release.of(law, nodes[place]),), _LEVEL, False)
        covered[place] = low <= value <= high
    return covered


def _band(setting: dict[str, Any], rng: np.random.Generator, random: Random, runs: int) -> Floats:
    """Whether the band holds the distribution function at every edge."""
    from scipy.stats import norm

    reading, law, nodes = _histograms(setting, rng, random, runs)
    curve = norm.cdf((np.array(reading.edges)[1:-1] - 0.5) * 6)
    covered = np.zeros(runs, bool)
    for place, own in enumerate(nodes):
        low, high = reading.band((Release.of(law, own),), _LEVEL, "population")
        covered[place] = ((low[1:-1] <= curve) & (curve <= high[1:-1])).all()
    return covered


_KINDS: dict[str, Callable[[dict[str, Any], np.random.Generator, int], Kind]] = {
    "mean": _mean,
    "mean_gaussian": _mean_gaussian,
    "share": _share,
    "difference": partial(_groups, ratio=False),
    "ratio": partial(_groups, ratio=True),
    "variance": _variance,
    "pooled_variance": partial(_variance, groups=4),
    "covariance": _covariance,
    "correlation": _correlation,
    "people": _people,
    "people_difference": _people_difference,
    "total": _total,
}
_CURVES = {"median": _quantile, "decile": _quantile, "band": _band}
