"""How often tests on ranks and the log-rank test reject at .05, under the hypothesis and away from it, and how often
intervals of survival curves cover.

A run draws a table, takes the exact sums, adds the noise of the question's own law, and reads the p-value. Beside it stands
the naive test, the textbook's formula fed the noisy numbers, and the test without privacy, which is fed the exact ones.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any

import numpy as np
from scipy import stats

import discreet as ds
from discreet.core.exact import Exact
from discreet.core.price import Price
from discreet.core.random import Random
from discreet.core.release import Release
from discreet.hypotheses.tally import tally
from discreet.statistics.equation import Statement, p_values
from discreet.statistics.life_table import Curve
from discreet.statistics.question import Question, Table, builder
from study.harness import Row

RUNS, PART = 10_000, 1000
ALPHA = 0.05


def _null(test: str, **facts: Any) -> dict[str, Any]:
    return {"test": test, "relation": "add_remove", "effect": 0.0, **facts}


SETTINGS: list[dict[str, Any]] = [
    _null("mannwhitneyu", data="normal", sizes=[50, 50], epsilon="1"),
    _null("mannwhitneyu", data="normal", sizes=[200, 200], epsilon="0.1"),
    _null("mannwhitneyu", data="lognormal", sizes=[30, 300], epsilon="1"),
    _null("mannwhitneyu", data="normal", sizes=[200, 200], epsilon="1", relation="replace"),
    _null("mannwhitneyu", data="normal", sizes=[1000, 300], epsilon="0.5", relation="both"),
    _null("mannwhitneyu", data="few", sizes=[200, 200], epsilon="4"),
    _null("mannwhitneyu", data="normal", sizes=[5000, 5000], epsilon="4"),
    _null("mannwhitneyu", data="normal", sizes=[200, 200], rho="0.5"),
    _null("kruskal", data="normal", sizes=[50, 50, 50], epsilon="1"),
    _null("kruskal", data="normal", sizes=[200, 200, 200], epsilon="0.1"),
    _null("kruskal", data="lognormal", sizes=[500, 100, 100, 50], epsilon="0.5"),
    _null("kruskal", data="normal", sizes=[100, 100, 100], epsilon="1", relation="replace"),
    _null("kruskal", data="few", sizes=[200, 200, 200], epsilon="4", relation="both"),
    _null("kruskal", data="normal", sizes=[3000, 3000, 4000], epsilon="4"),
    _null("wilcoxon", data="normal", sizes=[50], epsilon="1"),
    _null("wilcoxon", data="normal", sizes=[200], epsilon="0.1"),
    _null("wilcoxon", data="laplace", sizes=[200], epsilon="1", relation="replace"),
    _null("wilcoxon", data="normal", sizes=[1000], epsilon="0.5", relation="both"),
    _null("wilcoxon", data="few", sizes=[300], epsilon="4"),
    _null("wilcoxon", data="normal", sizes=[10_000], epsilon="4"),
    _null("logrank", hazard=0.1, sizes=[100, 100], epsilon="1", leaving=[20, 20]),
    _null("logrank", hazard=0.1, sizes=[300, 300], epsilon="0.1", leaving=[20, 20]),
    _null("logrank", hazard=0.1, sizes=[300, 300], epsilon="1", leaving=[8, 40]),
    _null("logrank", hazard=0.05, sizes=[1000, 300], epsilon="0.5", leaving=[20, 20], relation="replace"),
    _null("logrank", hazard=0.02, sizes=[500, 500], epsilon="4", leaving=[12, 12], relation="both"),
    _null("logrank", hazard=0.1, sizes=[5000, 5000], epsilon="1", leaving=[20, 20]),
    _null("logrank", hazard=0.3, sizes=[2000, 2000], epsilon="1", leaving=[8, 40]),
    {"test": "mannwhitneyu", "relation": "add_remove", "data": "normal", "sizes": [200, 200], "epsilon": "1", "effect": 0.3},
    {"test": "kruskal", "relation": "add_remove", "data": "normal", "sizes": [200] * 3, "epsilon": "1", "effect": 0.3},
    {"test": "wilcoxon", "relation": "add_remove", "data": "normal", "sizes": [200], "epsilon": "1", "effect": 0.3},
    {"test": "logrank", "relation": "add_remove", "hazard": 0.1, "sizes": [300, 300], "epsilon": "1", "leaving": [20, 20],
     "effect": 0.7},
    {"test": "logrank", "relation": "add_remove", "hazard": 0.1, "sizes": [200, 200], "epsilon": "1", "leaving": [20, 20],
     "effect": 0.6},
    *({"test": "survival", "relation": relation, "hazard": hazard, "sizes": [n], "epsilon": e, "leaving": [20]}
      for n, e, hazard, relation in ((100, "1", 0.1, "add_remove"), (200, "0.5", 0.1, "add_remove"),
                                     (1000, "0.1", 0.1, "add_remove"), (1000, "1", 0.05, "replace"),
                                     (1000, "1", 0.2, "add_remove"), (5000, "0.1", 0.1, "both"))),
]  # fmt: skip
_LARGE_HAZARD = 0.3  # where the sheet of measured levels names the log-rank test as an exception


def run(setting: dict[str, Any], seed: int, runs: int) -> dict[str, float]:
    """Rejections of our test, of the naive one and of the one without privacy; of survival, covered edges."""
    rng, random = np.random.default_rng(seed), Random(seed=seed)
    if setting["test"] == "survival":
        return _covered(setting, rng, random, runs)
    rejections = _ranks if setting["test"] != "logrank" else _lives
    return rejections(setting, rng, random, runs)


def rows(results: Any) -> list[Row]:
    """Largest level of every test, its least, the naive one's largest, power beside that without privacy, and coverage."""
    found = []
    levels = [(s, t["rejected"] / n, t["naive"] / n) for s, n, t in results if s.get("effect") == 0.0]
    for test in dict.fromkeys(s["test"] for s, _, _ in levels):
        plain = [(own, naive) for s, own, naive in levels if s["test"] == test and s.get("hazard") != _LARGE_HAZARD]
        found.append(Row(f"{test}: largest level at .05", max(own for own, _ in plain), "<=", 0.065))
        found.append(Row(f"{test}: least level at .05", min(own for own, _ in plain), ">=", 0.0))
        found.append(Row(f"{test}: largest level of the naive test", max(naive for _, naive in plain), ">=", 0.1))
    for setting, own, _ in levels:
        if setting.get("hazard") == _LARGE_HAZARD:
            found.append(Row("logrank: level at a large hazard, arms censored differently", own, "<=", 0.1))
    for setting, n, t in results:
        if setting.get("effect", 0.0) != 0.0:
            words = f"{setting['test']}: power, effect {setting['effect']}, {setting['sizes'][0]} a group, epsilon 1"
            found.append(Row(words, t["rejected"] / n, ">=", 0.9 * t["exact"] / n))
            found.append(Row(f"{words}, without privacy", t["exact"] / n, ">=", t["rejected"] / n))
    covers = [t[f"edge {i}"] / n for s, n, t in results if s["test"] == "survival" for i in range(3)]
    if covers:
        found.append(Row("survival: least coverage", min(covers), ">=", 0.94))
        found.append(Row("survival: largest coverage", max(covers), "<=", 0.97))
    return found


@lru_cache
def _question(test: str, groups: int, relation: Any) -> Question:
    labels = ds.Categories([str(i) for i in range(max(groups, 2))])
    schema = ds.Schema({"x": ds.Real(-8, 8), "t": ds.Real(0, 10), "e": ds.Integer(0, 1), "g": labels}, neighbors=relation)
    columns = {"logrank": ("t", "e"), "survival": ("t", "e")}.get(test, ("x",))
    by = {} if test in ("wilcoxon", "survival") else {"by": "g"}
    return builder(test)(Table(schema), *columns, **by)


def _law(setting: dict[str, Any], question: Question) -> Any:
    spend = Price(rho=setting["rho"]) if "rho" in setting else Price(epsilon=setting["epsilon"])
    return question.law(spend, setting["relation"])


def _drawn(data: str, rng: np.random.Generator, size: int) -> Any:
    if data == "few":  # four values, many ties
        return rng.choice([-2.0, -1.0, 0.0, 1.0, 2.0], size)
    made = {"normal": rng.normal, "laplace": rng.laplace, "lognormal": rng.lognormal}[data](0, 1, size)
    return np.asarray(made)


def _ranks(setting: dict[str, Any], rng: np.random.Generator, random: Random, runs: int) -> dict[str, float]:
    test, sizes = setting["test"], setting["sizes"]
    question = _question(test, len(sizes), setting["relation"])
    law, reading, query = _law(setting, question), question.reading, question.query
    own, plain = [], []
    for _ in range(runs):
        values = [_drawn(setting["data"], rng, n) for n in sizes]
        values[0] = values[0] + setting["effect"]
        codes = np.rint(np.concatenate(values) * 2**26).astype(np.int64)
        if test == "wilcoxon":
            total = tally(np.abs(codes), np.sign(codes) + 1, 3)
        else:
            total = tally(codes, np.repeat(np.arange(len(sizes)), sizes), len(sizes))
        exact = query.finish(total)  # type: ignore[attr-defined]
        own.append(Release.of(law, law.release(exact, seed=random)))
        plain.append(Release.of(ds.Laplace(1), np.asarray(exact.value, np.float64)))
    if test == "kruskal":
        rejected = sum(reading.pvalue((r,)) <= ALPHA for r in own)
        naive, bare = (sum(_textbook(r.value, len(sizes)) <= ALPHA for r in made) for made in (own, plain))
        return {"rejected": rejected, "naive": naive, "exact": bare}
    return _scored(reading, own, plain, law)


def _textbook(cells: Any, groups: int) -> float:
    """Kruskal and Wallis's p-value by the chi-squared law."""
    sums, sizes = np.asarray(cells)[:groups], np.maximum(np.asarray(cells)[groups:] * 4, 1.0)
    return float(stats.chi2.sf(12 * (sums**2 / sizes).sum(), groups - 1))


def _scored(reading: Any, own: list[Release], plain: list[Release], law: Any) -> dict[str, float]:
    """Rejections by the score, all runs in one integral; the naive test leaves the noise out."""
    ours, bare = ([reading.statement((r,)) for r in made] for made in (own, plain))
    rejected = int((p_values(_joined(ours), law) <= ALPHA).sum())
    return {"rejected": rejected, "naive": _by_normal_theory(ours), "exact": _by_normal_theory(bare)}


def _joined(statements: list[Statement | None]) -> Statement:
    there = [s for s in statements if s is not None]
    return Statement(*(np.concatenate([getattr(s, name) for s in there]) for name in ("score", "variance", "weights")))


def _by_normal_theory(statements: list[Statement | None]) -> int:
    whole = _joined(statements)
    return int((np.abs(whole.score) >= stats.norm.ppf(1 - ALPHA / 2) * np.sqrt(np.maximum(whole.variance, 1e-12))).sum())


def _cells(setting: dict[str, Any], rng: np.random.Generator, ratio: float) -> Any:
    """Counts of lives with a constant hazard and people who leave at even times, in ten bins up to 10."""
    made = []
    for group, (n, leaving) in enumerate(zip(setting["sizes"], setting["leaving"], strict=True)):
        hazard = setting["hazard"] * (ratio if group == 0 else 1.0)
        life, left = rng.exponential(1 / hazard, n), rng.uniform(0, leaving, n)
        time, happened = np.minimum(life, left), life <= left
        place = np.searchsorted(np.arange(1.0, 11.0), time, side="left")
        made.append(np.bincount(np.where(place == 10, 20, place + 10 * happened), minlength=21))
    return np.array(made)


def _lives(setting: dict[str, Any], rng: np.random.Generator, random: Random, runs: int) -> dict[str, float]:
    question = _question("logrank", 2, setting["relation"])
    law = _law(setting, question)
    own, plain = [], []
    for _ in range(runs):
        cells = _cells(setting, rng, setting["effect"] or 1.0)
        own.append(Release.of(law, np.asarray(law.release(Exact(cells), seed=random), np.float64)))
        plain.append(Release.of(ds.Laplace(1), cells.astype(np.float64)))
    return _scored(question.reading, own, plain, law)


def _covered(setting: dict[str, Any], rng: np.random.Generator, random: Random, runs: int) -> dict[str, float]:
    law = _law(setting, _question("survival", 1, setting["relation"]))
    edges = (1, 4, 7)
    found = dict.fromkeys((f"edge {i}" for i in range(3)), 0.0)
    for _ in range(runs):
        noisy = np.asarray(law.release(Exact(_cells(setting, rng, 1.0)[0]), seed=random), np.float64)
        low, high = Curve.of(noisy).interval(law, 0.95, sampled=True)
        for i, edge in enumerate(edges):
            truth = math.exp(-setting["hazard"] * (edge + 1))
            found[f"edge {i}"] += bool(low[edge] <= truth <= high[edge])
    return found
