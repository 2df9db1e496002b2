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
from discreet.core.price import Price
from discreet.core.random import Random
from discreet.core.release import Release
from discreet.hypotheses.largest_gap import LargestGapTest
from discreet.hypotheses.rank_split import RankSplitTest
from discreet.hypotheses.tally import tally
from discreet.mechanisms import NoNoise
from discreet.statistics.equation import Statement
from discreet.statistics.life_table import Curve
from discreet.statistics.question import Question, Table, builder
from study.harness import Row
from study.populations import Floats, in_turn, judged, released, together

RUNS, PART = 10_000, 1000
ALPHA = 0.05


def _null(test: str, **facts: Any) -> dict[str, Any]:
    return {"test": test, "relation": "add_remove", "effect": 0.0, **facts}


# Hazards of five strata, and an uneven allocation: left out, the strata would make a difference between the arms.
_FIVE = [0.03, 0.06, 0.1, 0.2, 0.3]
_UNEVEN = [[0.3, 0.25, 0.2, 0.15, 0.1], [0.1, 0.15, 0.2, 0.25, 0.3]]

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
    _null("kruskal", data="normal", sizes=[50, 50, 50], epsilon="1", relation="replace"),
    _null("kruskal", data="normal", sizes=[200, 200, 200], epsilon="0.1", relation="both"),
    _null("kruskal", data="lognormal", sizes=[500, 100, 100, 50], epsilon="0.5", relation="replace"),
    _null("kruskal", data="normal", sizes=[3000, 3000, 4000], epsilon="4", relation="replace"),
    _null("ks_2samp", data="normal", sizes=[50, 50], epsilon="1"),
    _null("ks_2samp", data="normal", sizes=[200, 200], epsilon="0.1"),
    _null("ks_2samp", data="lognormal", sizes=[30, 300], epsilon="1"),
    _null("ks_2samp", data="normal", sizes=[200, 200], epsilon="1", relation="replace"),
    _null("ks_2samp", data="normal", sizes=[1000, 300], epsilon="0.5", relation="both"),
    _null("ks_2samp", data="few", sizes=[200, 200], epsilon="4"),
    _null("ks_2samp", data="normal", sizes=[5000, 5000], epsilon="4"),
    _null("ks_2samp", data="normal", sizes=[200, 200], rho="0.5"),
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
    *(_null("logrank", hazard=hazards, shares=shares, sizes=sizes, epsilon=e, leaving=leaving, relation=relation)
      for hazards, shares, sizes, e, leaving, relation in (
          ([0.05, 0.2], [[0.7, 0.3], [0.3, 0.7]], [100, 100], "1", [20, 20], "add_remove"),
          ([0.05, 0.2], [[0.7, 0.3], [0.3, 0.7]], [300, 300], "1", [20, 20], "add_remove"),
          (_FIVE, _UNEVEN, [300, 300], "1", [8, 40], "replace"),
          (_FIVE, _UNEVEN, [1000, 1000], "0.5", [8, 40], "both"),
          ([0.05, 0.1, 0.2], [[0.5, 0.3, 0.2], [0.2, 0.3, 0.5]], [1000, 300], "0.1", [20, 20], "add_remove"),
          ([0.05] * 10, [[0.1] * 10] * 2, [300, 300], "4", [20, 20], "add_remove"),
          (_FIVE, _UNEVEN, [5000, 5000], "1", [20, 20], "add_remove"))),
    {"test": "mannwhitneyu", "relation": "add_remove", "data": "normal", "sizes": [200, 200], "epsilon": "1", "effect": 0.3},
    {"test": "kruskal", "relation": "add_remove", "data": "normal", "sizes": [200] * 3, "epsilon": "1", "effect": 0.3},
    {"test": "kruskal", "relation": "replace", "data": "normal", "sizes": [200] * 3, "epsilon": "1", "effect": 0.3},
    {"test": "ks_2samp", "relation": "add_remove", "data": "normal", "sizes": [200, 200], "epsilon": "1", "effect": 0.3},
    {"test": "ks_2samp", "relation": "replace", "data": "normal", "sizes": [200, 200], "epsilon": "1", "effect": 0.3},
    {"test": "wilcoxon", "relation": "add_remove", "data": "normal", "sizes": [200], "epsilon": "1", "effect": 0.3},
    {"test": "logrank", "relation": "add_remove", "hazard": 0.1, "sizes": [300, 300], "epsilon": "1", "leaving": [20, 20],
     "effect": 0.7},
    {"test": "logrank", "relation": "add_remove", "hazard": 0.1, "sizes": [200, 200], "epsilon": "1", "leaving": [20, 20],
     "effect": 0.6},
    {"test": "logrank", "relation": "add_remove", "hazard": 0.1, "sizes": [300, 300], "epsilon": "1", "leaving": [60, 60],
     "effect": 0.7},
    {"test": "logrank", "relation": "add_remove", "hazard": [0.05, 0.2], "shares": [[0.5, 0.5]] * 2, "sizes": [300, 300],
     "epsilon": "1", "leaving": [20, 20], "effect": 0.7},
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
    for test in dict.fromkeys(_named(s) for s, _, _ in levels):
        plain = [(own, naive) for s, own, naive in levels if _named(s) == test and s.get("hazard") != _LARGE_HAZARD]
        found.append(Row(f"{test}: largest level at .05", max(own for own, _ in plain), "<=", 0.065))
        found.append(Row(f"{test}: least level at .05", min(own for own, _ in plain), ">=", 0.0))
        found.append(Row(f"{test}: largest level of the naive test", max(naive for _, naive in plain), ">=", 0.1))
    for setting, own, _ in levels:
        if setting.get("hazard") == _LARGE_HAZARD:
            found.append(Row("logrank: level at a large hazard, arms censored differently", own, "<=", 0.1))
    for setting, n, t in results:
        if setting.get("effect", 0.0) != 0.0:
            words = f"{_named(setting)}: power, effect {setting['effect']}, {setting['sizes'][0]} a group, epsilon 1"
            part = 0.85 if "shares" in setting else 0.9  # of the power without privacy: the noise of strata adds up
            found.append(Row(words, t["rejected"] / n, ">=", part * t["exact"] / n))
            found.append(Row(f"{words}, without privacy", t["exact"] / n, ">=", t["rejected"] / n))
    covers = [t[f"edge {i}"] / n for s, n, t in results if s["test"] == "survival" for i in range(3)]
    if covers:
        found.append(Row("survival: least coverage", min(covers), ">=", 0.94))
        found.append(Row("survival: largest coverage", max(covers), "<=", 0.97))
    return found


def _named(setting: dict[str, Any]) -> str:
    return f"stratified {setting['test']}" if "shares" in setting else str(setting["test"])


@lru_cache
def _question(test: str, groups: int, relation: Any, strata: int = 1) -> Question:
    labels, sites = (ds.Categories([str(i) for i in range(max(many, 2))]) for many in (groups, strata))
    columns_of = {"x": ds.Real(-8, 8), "t": ds.Real(0, 10), "e": ds.Integer(0, 1), "g": labels, "site": sites}
    schema = ds.Schema(columns_of, neighbors=relation)
    columns = {"logrank": ("t", "e"), "survival": ("t", "e")}.get(test, ("x",))
    by = {} if test in ("wilcoxon", "survival") else {"by": "g"}
    if strata > 1:
        by["strata"] = "site"
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
    if isinstance(reading, RankSplitTest | LargestGapTest):
        rejected = sum(reading.pvalue((r,)) <= ALPHA for r in own)
        naive, bare = (
            sum(reading.pvalue((Release.of(NoNoise(), r.value),)) <= ALPHA for r in made) for made in (own, plain)
        )
        return {"rejected": rejected, "naive": naive, "exact": bare}
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
    rejected = int((judged(ours, law) <= ALPHA).sum())
    return {"rejected": rejected, "naive": _by_normal_theory(ours), "exact": _by_normal_theory(bare)}


def _by_normal_theory(statements: list[Statement | None]) -> int:
    whole = together([s for s in statements if s is not None])
    return int((np.abs(whole.score) >= stats.norm.ppf(1 - ALPHA / 2) * np.sqrt(np.maximum(whole.variance, 1e-12))).sum())


def _cells(setting: dict[str, Any], rng: np.random.Generator, runs: int, ratio: float = 1.0) -> Floats:
    """Counts of lives with a constant hazard and people who leave at even times, in ten bins up to 10: (runs, arms, 21).

    With several hazards each is that of a stratum, (runs, arms, strata, 21), and ``shares`` are the strata's in every arm.
    """
    hazards = np.atleast_1d(setting["hazard"])
    shares = setting.get("shares", [[1.0]] * len(setting["sizes"]))

    def draw(some: int) -> Floats:
        arms = []
        for arm, (n, leaving) in enumerate(zip(setting["sizes"], setting["leaving"], strict=True)):
            stratum = rng.choice(len(hazards), (some, n), p=shares[arm])
            life = rng.exponential(1 / (hazards[stratum] * (ratio if arm == 0 else 1.0)))
            left = rng.uniform(0, leaving, (some, n))
            place = np.searchsorted(np.arange(1.0, 11.0), np.minimum(life, left), side="left")
            cell = np.where(place == 10, 20, place + 10 * (life <= left))
            flat = (np.arange(some)[:, None] * len(hazards) + stratum) * 21 + cell
            arms.append(np.bincount(flat.ravel(), minlength=some * len(hazards) * 21).reshape(some, len(hazards), 21))
        return np.stack(arms, 1).astype(np.float64)

    made = in_turn(sum(setting["sizes"]), runs, draw)
    return made if "shares" in setting else made[:, :, 0]


def _lives(setting: dict[str, Any], rng: np.random.Generator, random: Random, runs: int) -> dict[str, float]:
    question = _question("logrank", 2, setting["relation"], len(setting.get("shares", [[1]])[0]))
    law = _law(setting, question)
    exact = _cells(setting, rng, runs, setting["effect"] or 1.0)
    noisy = released(law, exact, random, whole=True)
    own, plain = ([Release.of(law, one) for one in made] for made in (noisy, exact))
    return _scored(question.reading, own, plain, law)


def _covered(setting: dict[str, Any], rng: np.random.Generator, random: Random, runs: int) -> dict[str, float]:
    law = _law(setting, _question("survival", 1, setting["relation"]))
    edges = (1, 4, 7)
    found = dict.fromkeys((f"edge {i}" for i in range(3)), 0.0)
    for noisy in released(law, _cells(setting, rng, runs)[:, 0], random, whole=True):
        low, high = Curve.of(noisy).interval(law, 0.95, sampled=True)
        for i, edge in enumerate(edges):
            truth = math.exp(-setting["hazard"] * (edge + 1))
            found[f"edge {i}"] += bool(low[edge] <= truth <= high[edge])
    return found
