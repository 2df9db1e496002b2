"""A page in German or French has no English left on it: every statistic, test, law, caution and legend is walked over."""

from __future__ import annotations

import re
from functools import cache
from html import unescape
from typing import Any

import numpy as np
import pytest

import discreet as ds
from discreet.core.cost import Cost
from discreet.core.mechanism import mechanisms
from discreet.core.query import RELATIONS
from discreet.core.reading import readings
from discreet.core.result import Result
from discreet.hypotheses.reading import HypothesisTest
from discreet.jobs.release_file import plain_title
from discreet.report import language, meaning, render
from discreet.statistics.question import builder, names

# No word of a table here is a word of a language, so that whatever is one was written by the page.
COLUMNS = {
    "xqa": ds.Real(-2, 4),
    "xqb": ds.Real(0, 1),
    "xqn": ds.Integer(0, 12),
    "xqg": ds.Categories(["gqa", "gqb", "gqc"], other="gqo"),
    "xqs": ds.Categories(["sqa", "sqb"]),
    "xqt": ds.Boolean(),
    "xqd": ds.Date("2020-01-01", "2024-12-31"),
    "xqw": ds.Datetime("2020-01-01", "2024-12-31"),
    "xql": ds.Duration(0, 9, unit="hours"),
    "xqe": ds.Text(),
    "xqf": ds.Real(0, 9, formula="xqa + xqb"),
    "xqp": ds.Real(-50, 50, price={"epsilon": "0.1"}),
    "xqc": ds.Categories("private", price={"epsilon": "0.1", "delta": "1e-6"}),
}
_BY, _TWO = {"by": "xqg"}, {"by": "xqs"}
ASKED: dict[str, list[tuple[tuple[str, ...], dict[str, Any]]]] = {
    "bounds": [(("xqp",), {"unit": "0.1"}), (("xqp",), {"unit": "0.1", "epsilon": "0.0001"})],
    "categories": [(("xqc",), {"epsilon": 1, "delta": "1e-6"})],
    "count": [((), _BY), ((), {"where": "xqa > 3"}), ((), {"rho": "0.1"}), ((), {"by": "xqt"}), ((), {"of": "population"})],
    "count_distinct": [(("xqn",), {})],
    "count_people": [((), {})],
    "people_sum": [(("xqa",), {"clip": [0, 5]})],
    "people_mean": [(("xqa",), {"clip": [0, 5], **_BY})],
    "top": [(("xqg",), {"k": 2})],
    "share": [(("xqs",), {})],
    "sum": [(("xqa",), {})],
    "mean": [(("xqa",), {}), (("xqa",), {"of": "population"}), (("xqb",), {}), (("xqa",), {"epsilon": 1, "delta": "1e-6"})],
    "variance": [(("xqa",), {})],
    "std": [(("xqa",), {})],
    "covariance": [(("xqa", "xqn"), {})],
    "covariance_matrix": [(("xqa", "xqn"), {})],
    "correlation": [(("xqa", "xqn"), {})],
    "pooled_variance": [(("xqa",), _BY)],
    "pooled_covariance": [(("xqa", "xqn"), _BY)],
    "histogram": [(("xqa",), {"bins": 4}), (("xqa",), {"bins": [-2, 0, 3, 4]})],
    "crosstab": [(("xqg", "xqs"), {})],
    "quantile": [(("xqa",), {"q": "0.25"})],
    "median": [(("xqa",), {}), (("xqn",), _TWO)],
    "distribution": [(("xqa",), {"bins": 16})],
    "binomtest": [(("xqs",), {})],
    "chi2_contingency": [(("xqg", "xqs"), {})],
    "chisquare": [(("xqg",), {})],
    "compare": [(("xqa",), _BY)],
    "equal_variances": [(("xqa",), _TWO)],
    "f_oneway": [(("xqa",), _BY)],
    "ks_2samp": [(("xqa",), {"bins": 8, **_TWO})],
    "linregress": [(("xqa", "xqn"), {})],
    "pearsonr": [(("xqa", "xqn"), {})],
    "ttest_1samp": [(("xqa",), {"popmean": 1.0})],
    "ttest_ind": [(("xqa",), _TWO)],
    "two_sample": [(("xqa",), _TWO)],
    "ttest_rel": [(("xqa", "xqn"), {})],
    "mannwhitneyu": [(("xqa",), _TWO)],
    "kruskal": [(("xqa",), {"draws": 99, **_BY})],
    "wilcoxon": [(("xqa",), {})],
    "survival": [(("xqn", "xqs"), {"happened": "sqa", "bins": [0, 3, 6]})],
    "logrank": [(("xqn", "xqt"), {"happened": True, "bins": 4, **_TWO})],
}
# Names of people, files and letters, and words that a language shares with English.
_NAMES = (
    "Carlo Cramér Cramérs Holm Kolmogorov Kruskal Laplace Mann Monte Rényi Smirnov Student Wallis Welch Whitney Wilcoxon "
    "discreet json releases Budget Test"
)
SHARED = {
    "de": f"{_NAMES} Chi Hazard In Median Private an in private so was",
    "fr": f"{_NAMES} Covariance Quantile Variance budget chance change correction covariance date dates delta distribution "
    "epsilon machine on page population public question rho score table tables test tests variance variances",
}


@cache
def answers() -> list[tuple[dict[str, Any], Result]]:
    """Every statistic, answered; where ``xqb`` is read there is a caution, for its cells are no numbers."""
    rng, size = np.random.default_rng(7), 400
    table = {
        "xqa": rng.uniform(-2, 4, size),
        "xqb": ["0;5"] * size,
        "xqn": rng.integers(0, 12, size),
        "xqg": rng.choice(["gqa", "gqb", "gqc", "gqz"], size),
        "xqs": rng.choice(["sqa", "sqb"], size),
        "xqt": rng.choice([True, False], size),
        "xqp": rng.normal(3, 1, size),
        "xqc": rng.choice(["cqa", "cqb"], size),
        **{name: [None] * size for name in ("xqd", "xqw", "xql", "xqe")},
    }
    session = ds.Session(table, ds.Schema(COLUMNS, expected_rows=size), ledger="test", seed=1)
    made = []
    for statistic, ways in ASKED.items():
        for args, options in ways:
            price = {} if {"epsilon", "rho"} & options.keys() else {"epsilon": 1}
            result = session.ask(statistic, *args, **price, **options)
            ask = {"statistic": statistic, "columns": list(args), "by": options.get("by"), "where": options.get("where")}
            ask |= {
                "options": {"q": options["q"]} if "q" in options else {},
                "cost": str(result.cost),
                "known": len(made) % 2,
            }
            made.append((ask, result))
    return made


def page(name: str, budget: ds.Budget, schema: ds.Schema) -> str:
    """A page with automatic titles."""
    with language.spoken(name):
        titles = [plain_title(ask["statistic"], ask["columns"], ask["by"], ask["where"] or {}) for ask, _ in answers()]
    asks = [
        ask | {"title": title, "result": result.to_dict()} for (ask, result), title in zip(answers(), titles, strict=True)
    ]
    costs = {"before": Cost.pure("0.1").to_dict(), "now": Cost.pure("0.2").to_dict(), "budget": budget.to_dict()}
    ledger = {
        "name": "xqledger",
        "budget": str(budget),
        "paid_now": "ε=0.2; ρ=0.1 (outside 1e-06)",
        "spent": "a Rényi curve",
    }
    doc = {"kind": "releases", "schema": 1, "title": "xqtitle", "language": name, "made": "2026-01-01", "discreet": "0"}
    doc |= {"declared": schema.to_dict(), "asks": asks}
    doc["ledger"] = ledger | {"remaining": "nothing", "head": "0123", "costs": costs}
    return render(doc, [result for _, result in answers()])


def texts(html: str) -> list[str]:
    """What a person reads, or is read to, in order."""
    return [
        each.strip()
        for each in re.findall(r">([^<]+)<", re.sub(r"<style>.*?</style>", "", unescape(html), flags=re.DOTALL))
        if each.strip()
    ]


def words(text: str) -> set[str]:
    return {word for word in re.findall(r"[^\W\d_]{2,}", text) if not word.startswith(("xq", "gq", "sq", "cq"))}


@pytest.mark.parametrize("name", ["de", "fr"])
def test_no_english_is_left(name: str) -> None:
    """Text by text beside the English page: what both have in common are names and words that both languages have."""
    schema = ds.Schema(COLUMNS, expected_rows=400)
    english, other = (texts(page(each, ds.Budget(epsilon=5), schema)) for each in ("en", name))
    assert len(english) == len(other)
    same = {word: text for one, text in zip(english, other, strict=True) for word in words(one) & words(text)}
    assert {word: text for word, text in same.items() if word not in SHARED[name].split()} == {}


def test_every_phrase_that_a_page_can_need_is_there() -> None:
    asked = {name for name in names() if builder(name).__module__.startswith("discreet.")}  # a page's example may add one
    laws = {name for name in mechanisms.homes() if mechanisms[name].__module__.startswith("discreet.")}
    assert set(ASKED) == asked
    tests = {name for name in readings.homes() if issubclass(readings[name], HypothesisTest)}
    for name in ("de", "fr"):
        own = language.phrases()[name]
        assert {f"statistic.{each}" for each in asked} == {key for key in own if key.startswith("statistic.")}
        assert {f"law.{each}" for each in laws} == {key for key in own if key.startswith("law.")}
        assert {f"method.{each}" for each in tests} == {key for key in own if key.startswith("method.")}
        assert {f"relation_{each}" for each in RELATIONS} <= own.keys()


def test_each_kind_of_caution_and_table_is_said() -> None:
    assert {result.caution.kind for _, result in answers() if result.caution is not None} == {"fewer"}
    for kind in ("fewer", "more", "wider"):
        told = set()
        for name in language.LANGUAGES:
            with language.spoken(name):
                told.add(language.say(kind, seen="1", expected="2"))
        assert len(told) == 3
    for relation in RELATIONS:
        for person in ({}, {"person": "xqi", "max_rows": 3}):
            assert len(meaning.protected(ds.Schema({"xqa": ds.Real(0, 1)}, neighbors=relation, **person))) == 4
