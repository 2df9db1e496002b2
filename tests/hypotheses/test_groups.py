"""Several groups: analysis of variance, comparisons from one release, distributions, variances, and Holm's correction."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from study.populations import judged, released, spread

import discreet as ds
from discreet.core.price import Price
from discreet.core.random import Random
from discreet.core.release import Release
from discreet.core.result import Result
from discreet.errors import InvalidRequest
from discreet.hypotheses.anova import OneWay
from discreet.statistics.mean import PopulationMean
from discreet.statistics.question import Table, builder

RNG = np.random.default_rng(11)
ARMS = np.repeat(["new", "old", "none"], [300, 250, 280])
BP = np.concatenate([RNG.normal(128, 14, 300), RNG.normal(132, 14, 250), RNG.normal(135, 16, 280)])
SCHEMA = ds.Schema({"bp": ds.Real(80, 200), "arm": ds.Categories(["new", "old", "none"]), "two": ds.Categories(["a", "b"])})
TABLE = {"bp": BP, "arm": ARMS, "two": np.where(np.arange(830) % 2, "a", "b")}


def session(**options: Any) -> ds.Session:
    return ds.Session(TABLE, SCHEMA, **({"ledger": "test", "seed": 1} | options))


def test_analysis_of_variance_by_hand() -> None:
    means = PopulationMean(0, 1, (3, 3), (("g", ("a", "b", "c")),))
    release = [Release.of(ds.Laplace(1), np.array([[30.0, 40, 30], [20, 40, 40], [25, 50, 25]]))]
    assert OneWay(means).statistic(release) == pytest.approx(15.63426, abs=5e-6)
    assert OneWay(means).pvalue(release) < 0.02


@pytest.mark.parametrize("relation", ["add_remove", "replace", "both"])
def test_without_noise_they_are_scipys(relation: Any) -> None:
    """A mild difference: Welch's p-values of SciPy and Monte Carlo ones of 9999 draws are near."""
    parts = [BP[:100], BP[300:400] - 3.0, BP[550:650] - 6.0]
    setting: Any = {"bounds": (80, 200), "epsilon": math.inf, "neighbors": relation}
    ours = ds.hypotheses.f_oneway(*parts, draws=9999, **setting)
    assert ours.pvalue == pytest.approx(stats.f_oneway(*parts).pvalue, abs=0.06)  # which takes one variance for all
    same = ds.hypotheses.ks_2samp(*parts[:2], bins=128, draws=199, **setting)
    assert same.statistic == pytest.approx(stats.ks_2samp(*parts[:2]).statistic, abs=0.03)
    assert same.pvalue == pytest.approx(stats.ks_2samp(*parts[:2]).pvalue, abs=0.2)
    spread = ds.hypotheses.equal_variances(parts[0], parts[2], **setting)
    assert spread.value == pytest.approx(parts[0].var(ddof=1) - parts[2].var(ddof=1), rel=1e-4)
    assert spread.pvalue == pytest.approx(stats.levene(parts[0], parts[2], center="mean").pvalue, abs=0.1)


def test_one_release_compares_groups() -> None:
    asked = session(budget=ds.Budget(epsilon=1), ledger="sqlite://", seed=None)
    result = asked.compare("bp", by="arm", epsilon=1)
    assert asked.spent().epsilon == 1
    assert len(result.releases) == 1
    assert np.asarray(result.value) == pytest.approx([BP[a == ARMS].mean() for a in ("new", "old", "none")], abs=6)
    low, high = result.confidence_interval()
    assert (np.asarray(low) < np.asarray(high)).all()
    assert result.pvalue == result.test("f_oneway").pvalue < 0.01
    pairs = ds.hypotheses.differences(result)
    assert list(pairs) == [("new", "old"), ("new", "none"), ("old", "none")]
    for (one, other), test in pairs.items():
        assert test.value == pytest.approx(result.difference(one, other).value)
        assert test.confidence_interval() == result.difference(one, other).interval(of="population")
        assert Result.from_json(test.to_json()).pvalue == test.pvalue
    corrected = ds.hypotheses.holm(list(pairs.values()))
    assert corrected.releases == (3,)
    assert min(corrected) == pytest.approx(min(1.0, 3 * min(corrected.pvalues)))
    assert "3 tests, read off 1 release (" in str(corrected)
    assert str(ds.hypotheses.holm([0.2])).startswith("1 test, read off 1 release (")
    assert asked.spent().epsilon == 1  # all of it came from one release


def test_two_groups_are_compared_by_welch() -> None:
    result = session().compare("bp", by="two", epsilon=2)
    assert result.pvalue == result.test("ttest_ind").pvalue
    assert result.method.startswith("asymptotic")
    assert Result.from_json(result.to_json()).pvalue == result.pvalue


def test_pictures() -> None:
    result = session().compare("bp", by="arm", epsilon=2)
    figure = ds.hypotheses.comparison(result)
    above, below = figure.axes
    assert [t.get_text() for t in above.get_yticklabels()] == ["new", "old", "none"]
    assert [t.get_text() for t in below.get_yticklabels()] == ["new − old", "new − none", "old − none"]
    assert result.plot() is not None
    with pytest.raises(InvalidRequest, match="compare"):
        ds.hypotheses.comparison(session().mean("bp", epsilon=1))


def test_a_picture_says_what_its_numbers_are() -> None:
    """Every axis has a name; of a test the groups by their labels, its p-value, and where the hypothesis lies."""
    asked = session()
    shown = {
        "ttest_1samp": ({"popmean": 130}, "Mean", 130),
        "ttest_ind": ({"by": "two"}, "Difference of means, a − b", 0),
        "mannwhitneyu": ({"by": "two"}, "P(a > b), ties half", 0.5),
        "equal_variances": ({"by": "two"}, "Difference of variances, a − b", 0),
        "kruskal": ({"by": "arm"}, "Range of the groups' mean ranks, of all ranks", None),
    }
    for name, (options, words, place) in shown.items():
        axes = asked.test(name, "bp", epsilon=1, **options).plot()
        assert axes.get_xlabel() == words
        assert axes.get_title().startswith("p ")
        assert [float(line.get_xdata()[0]) for line in axes.lines if line.get_label() == "hypothesis"] == (
            [] if place is None else [place]
        )
    below = asked.compare("bp", by="arm", epsilon=1).test("ttest_ind", between=("none", "old")).plot()
    assert below.get_xlabel() == "Difference of means, none − old"
    assert asked.mean("bp", by="arm", epsilon=1).plot().get_xlabel() == "bp"
    assert asked.crosstab("arm", "two", epsilon=1).plot().get_xlabel() == "rows"
    assert asked.share("arm", epsilon=1).plot().get_xlabel() == "share"
    bars = asked.count(by="arm", epsilon=1).plot()
    assert (bars.get_xlabel(), bars.get_ylabel()) == ("arm", "rows")
    assert asked.distribution("bp", epsilon=1).plot().get_xlabel() == "bp"


def test_whoever_prints_a_test_sees_its_p_value() -> None:
    asked = session()
    found = asked.test("mannwhitneyu", "bp", by="two", epsilon=1)
    (joint, _) = asked.together([("mannwhitneyu", "bp", {"by": "two"}), ("count",)], epsilon=1)
    for test in (found, joint, asked.compare("bp", by="arm", epsilon=1)):
        first, second, *_ = str(test).splitlines()
        assert f"p-value {test.pvalue:.4g}" in first
        assert test.method in first
        assert second in ("P(a > b), ties half:", "bp:")
        assert "statistic" in test._repr_html_()
    assert str(asked.mean("bp", epsilon=1)).count("\n") == 1  # its number, and what its interval is of


def test_a_notebook_shows_some_rows_of_a_long_answer() -> None:
    html = session().distribution("bp", epsilon=1)._repr_html_()
    assert html.count("<tr>") == 1 + 60 + 1
    assert "more; to_frame() has them all" in html


def test_tests_of_a_distribution_cost_nothing() -> None:
    asked = session()
    whole = asked.distribution("bp", by="two", bins=64, epsilon=1)
    for name in ("ks_2samp", "mannwhitneyu"):
        test = whole.test(name, draws=99)
        assert test.pvalue > 0.01
        assert Result.from_json(test.to_json()).pvalue == test.pvalue
    apart = ds.Session(TABLE | {"two": np.where(ARMS == "new", "a", "b")}, SCHEMA, ledger="test", seed=2)
    assert apart.distribution("bp", by="two", bins=64, epsilon=math.inf).test("mannwhitneyu", draws=199).pvalue <= 0.01
    with pytest.raises(InvalidRequest, match="two labels"):
        asked.distribution("bp", by="arm", epsilon=1).test("ks_2samp")


def test_two_groups_are_compared_by_what_finds_most() -> None:
    """Ranks; Welch's test where a person may have several rows, which ranks refuse. Bounds of 20 deviations: 386 people."""
    asked = session()
    found = asked.test("two_sample", "bp", by="two", epsilon=math.inf)
    assert found.pvalue == asked.test("mannwhitneyu", "bp", by="two", epsilon=math.inf).pvalue
    several = ds.Schema(SCHEMA.columns, person="id", max_rows=2)
    rows = ds.Session(TABLE | {"id": np.arange(len(BP))}, several, ledger="test", seed=3)
    assert "Welch" in rows.test("two_sample", "bp", by="two", epsilon=1).method
    x, y = BP[:100], BP[100:200]
    assert "rank sum" in ds.hypotheses.two_sample(x, y, bounds=(60, 220), epsilon=1).method
    needed = [ds.power("ttest_ind", effect=0.5, sd=1, bounds=(0, width), epsilon=1).n * 2 for width in (6, 20)]
    assert [ds.power("mannwhitneyu", effect=0.5, sd=1, epsilon=1).n, *needed] == [168, 178, 386]


def test_ranks_are_mann_and_whitneys() -> None:
    found = session().distribution("bp", bins=512, by="two", epsilon=math.inf).test("mannwhitneyu").statistic
    a, b = BP[TABLE["two"] == "a"], BP[TABLE["two"] == "b"]
    assert found == pytest.approx(abs(stats.mannwhitneyu(a, b).statistic / len(a) / len(b) - 0.5), abs=0.005)


def test_nobody_is_no_evidence() -> None:
    empty = ds.Session({"bp": np.zeros(0), "arm": [], "two": []}, SCHEMA, ledger="test", seed=4)
    for name, by in (("f_oneway", "arm"), ("ks_2samp", "two"), ("equal_variances", "two"), ("compare", "arm")):
        assert empty.test(name, "bp", by=by, epsilon="0.1").pvalue > 0.01


def test_words_say_what_could_have_been_seen() -> None:
    result = session().test("ttest_ind", "bp", by="two", epsilon=1)
    words = ds.hypotheses.describe(result)
    assert "asymptotic" in words
    assert "neighbours: add_remove" in words
    assert "not private" in words
    assert "an effect of" in words
    assert "is found with probability .8" in words
    assert "Difference of means, a − b: " in words
    assert "the hypothesis says 0" in words
    one = session().test("ttest_1samp", "bp", popmean=131.6, epsilon=1)
    assert "the hypothesis says 131.6" in ds.hypotheses.describe(one)
    assert "one-sided" not in ds.hypotheses.describe(one)
    less = session().test("ttest_1samp", "bp", popmean=131.6, alternative="less", epsilon=1)
    assert "; one-sided: less)" in ds.hypotheses.describe(less)
    assert one.pvalue > 0.05
    assert "away from the hypothesis is found" in ds.hypotheses.describe(one)
    assert result.pvalue > 0.05
    assert "999" in ds.hypotheses.describe(session().test("f_oneway", "bp", by="arm", epsilon=1))
    with pytest.raises(InvalidRequest, match="no hypothesis test"):
        ds.hypotheses.describe(session().mean("bp", epsilon=1))


def test_the_effect_that_can_be_seen_is_seen() -> None:
    """At the effect named, with power .8 the test rejects in 400 runs between 250 and 370 times (6 deviations)."""
    test: Any = session().test("ttest_ind", "bp", by="two", epsilon=1)
    seen = test.reading.seen_effect(test.releases)
    rng, n, law = np.random.default_rng(5), 415, test.releases[0].mechanism
    t = np.clip((rng.normal(132, 15, (400, 2, n)) + np.array([0.0, seen])[:, None] - 80) / 120, 0, 1)
    cells = released(law, spread(t, 2).sum(2), Random(5))
    p = judged([test.reading.statement([Release.of(law, one)]) for one in cells], law)
    assert 250 <= np.count_nonzero(p <= 0.05) <= 370


@pytest.mark.parametrize(
    ("name", "cells", "facts", "unit"),
    [
        ("ttest_1samp", [90, 120, 90], {"bounds": (0, 1), "sd": math.sqrt(0.05)}, 1),
        ("f_oneway", [[90, 120, 90]] * 3, {"bounds": (0, 1), "sd": math.sqrt(0.05), "groups": 3}, 1),
        ("chisquare", [75] * 4, {"cells": 4}, math.sqrt(3) / 4),
        ("chi2_contingency", [[50] * 3] * 2, {"shape": (2, 3)}, 1),
        ("kruskal", [0] * 3 + [25] * 3, {"groups": 3}, 1),
    ],
)
def test_what_could_have_been_seen_is_what_a_plan_says(name: str, cells: Any, facts: Any, unit: float) -> None:
    """The effect found with probability .8 by a release as it is expected, against ``ds.power`` with the same numbers."""
    labels = {"arm": ds.Categories(["a", "b", "c"]), "two": ds.Categories(["x", "y"]), "four": ds.Categories(list("wxyz"))}
    columns = {"bp": ds.Real(0, 1), **labels}
    asked: Any = {
        "ttest_1samp": (("bp",), {"popmean": 0.5}),
        "f_oneway": (("bp",), {"by": "arm"}),
        "chisquare": (("four",), {}),
        "chi2_contingency": (("two", "arm"), {}),
        "kruskal": (("bp",), {"by": "arm"}),
    }[name]
    question: Any = builder(name)(Table(ds.Schema(columns)), *asked[0], **asked[1])
    law: Any = question.law(Price(epsilon=1), "add_remove")
    result = Result(question.reading, (Release.of(law, np.array(cells, float)),), law.cost(1))
    seen = question.reading.seen_effect(result.releases)
    planned = ds.power(name, n=300, epsilon=1, **facts).effect
    assert seen == pytest.approx(unit * planned, rel=0.01)
    assert "is found with probability .8" in ds.hypotheses.describe(result)


@given(st.lists(st.floats(0, 1), min_size=1, max_size=12), st.floats(0.001, 0.2))
def test_holm_rejects_in_order_and_never_more_than_bonferroni_allows(p: list[float], alpha: float) -> None:
    found = ds.hypotheses.holm(p)
    order = np.argsort(p, kind="stable")
    stopped = False
    for place, i in enumerate(order):
        stopped = stopped or p[i] * (len(p) - place) > alpha
        assert found.rejected(alpha)[i] == (not stopped)
    assert all(a >= b for a, b in zip(found, p, strict=True))
    assert all(a <= min(1.0, len(p) * b) + 1e-12 for a, b in zip(found, p, strict=True))
    more = ds.hypotheses.holm(p, tests=len(p) + 5)
    assert all(a >= b for a, b in zip(more, found, strict=True))


@pytest.mark.parametrize(("p", "options"), [([], {}), ([1.5], {}), ([0.1, 0.2], {"tests": 1})])
def test_holm_refuses(p: Any, options: Any) -> None:
    with pytest.raises(InvalidRequest):
        ds.hypotheses.holm(p, **options)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda s: s.test("f_oneway", "bp", by="two", epsilon=1), "ttest_ind"),
        (lambda s: s.test("ks_2samp", "bp", by="arm", epsilon=1), "two labels"),
        (lambda s: s.test("equal_variances", "bp", by="arm", epsilon=1), "two labels"),
        (lambda s: s.compare("bp", by=["arm", "two"], epsilon=1), "one category"),
        (lambda s: s.compare("bp", by="arm", epsilon=1).test("ttest_ind"), "between"),
        (lambda s: s.compare("bp", by="arm", epsilon=1).test("ttest_ind", between=("new", "newer")), "between"),
        (lambda s: ds.hypotheses.f_oneway([1.0], bounds=(0, 1), epsilon=1), "two samples"),
    ],
)
def test_what_is_refused(make: Any, words: str) -> None:
    with pytest.raises(InvalidRequest, match=words):
        make(session())
