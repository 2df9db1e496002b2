"""Chi-squared tests: values worked out by hand, SciPy without noise, and the test of a table that was paid for already."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from scipy import stats

import discreet as ds
from discreet.core.price import Price
from discreet.core.random import Random
from discreet.core.release import Release
from discreet.core.result import Result
from discreet.errors import InvalidRequest, UnknownName
from discreet.hypotheses.chi_square import GoodnessOfFit, Independence
from discreet.hypotheses.draws import binomial, multinomial, uniforms
from discreet.manifest import homes
from discreet.statistics.question import Table, builder

RNG = np.random.default_rng(8)
SEX = RNG.choice(["f", "m"], 400)
TOWN = np.where(SEX == "f", RNG.choice(["a", "b", "c"], 400, p=[0.5, 0.3, 0.2]), RNG.choice(["a", "b", "c"], 400))
SCHEMA = ds.Schema({"sex": ds.Categories(["f", "m"]), "town": ds.Categories(["a", "b", "c"]), "age": ds.Real(0, 10)})
TABLE = {"sex": SEX, "town": TOWN, "age": RNG.uniform(0, 10, 400)}


def test_by_hand() -> None:
    """Q 6.857539 of ((30, 20), (15, 35)) with Laplace noise of scale 2."""
    release = [Release.of(ds.Laplace(2), np.array([[30.0, 20], [15, 35]]))]
    assert Independence((2, 2)).statistic(release) == pytest.approx(6.857539, abs=5e-7)


def test_without_noise_they_are_scipys() -> None:
    """Monte Carlo with 9999 draws is within .015 of the asymptotic p-value, six deviations of its own."""
    counts = np.array([[np.count_nonzero((s == SEX) & (t == TOWN)) for t in "abc"] for s in "fm"])
    theirs = stats.chi2_contingency(counts)
    ours = ds.hypotheses.chi2_contingency(SEX, TOWN, categories=[["f", "m"], list("abc")], epsilon=math.inf, draws=9999)
    assert ours.statistic == pytest.approx(theirs.statistic)
    assert ours.pvalue == pytest.approx(theirs.pvalue, abs=0.015)
    assert ours.value == pytest.approx(math.sqrt(theirs.statistic / 400))
    fit = ds.hypotheses.chisquare(SEX, categories=["f", "m"], shares=[0.45, 0.55], epsilon=math.inf, draws=9999)
    expected = np.array([180.0, 220.0])
    assert fit.statistic == pytest.approx(stats.chisquare(counts.sum(1), expected).statistic)
    assert fit.pvalue == pytest.approx(stats.chisquare(counts.sum(1), expected).pvalue, abs=0.03)  # a sum of few jumps


def test_a_table_that_was_paid_for_gives_its_test_for_nothing() -> None:
    session = ds.Session(TABLE, SCHEMA, ds.Budget(epsilon=2), name="once")
    table = session.crosstab("sex", "town", epsilon=1)
    test = table.test("chi2_contingency")
    assert session.spent().epsilon == 1
    assert test.releases is table.releases
    assert 0 < test.pvalue <= 1
    assert test.pvalue == table.test("chi2_contingency").pvalue  # the stream is fixed
    assert Result.from_json(test.to_json()).pvalue == test.pvalue
    assert session.share("town", epsilon="0.5").test("chisquare", shares=[0.4, 0.3, 0.3]).pvalue > 0
    assert session.histogram("age", bins=4, epsilon="0.5").test("chisquare").pvalue > 0


def test_a_part_of_a_joint_release_can_be_tested() -> None:
    session = ds.Session(TABLE, SCHEMA, ledger="test", seed=1)
    table, _ = session.together([("crosstab", "sex", "town"), ("crosstab", "sex")], epsilon=2)
    found = table.test("chi2_contingency")
    assert 0 < found.pvalue <= 1
    assert found.statistic > 0
    assert "Monte Carlo" in found.method


def test_several_rows_of_a_person_do_not_raise_the_level() -> None:
    """A person has 4 equal rows: counted as people, half of the tables would be rejected. 60 tables, at most 13 (1e-6)."""
    schema = ds.Schema({"a": ds.Categories(["x", "y"]), "b": ds.Categories(["x", "y"])}, person="id", max_rows=4)
    question = builder("chi2_contingency")(Table(schema), "a", "b", draws=99)
    law: Any = question.law(Price(epsilon=100), "add_remove")
    counts = 4 * np.random.default_rng(0).multinomial(100, [0.25] * 4, 60)
    cells = np.asarray(law.release(counts, seed=Random(1)), np.float64).reshape(60, 2, 2)
    reading: Any = question.reading
    assert sum(reading.pvalue((Release.of(law, one),)) <= 0.05 for one in cells) <= 13


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda s: s.mean("age", epsilon=1).test("chi2_contingency"), "read off a crosstab"),
        (lambda s: s.sum("age", by="sex", epsilon=1).test("chisquare"), "read off a crosstab"),
        (lambda s: s.crosstab("sex", epsilon=1).test("chi2_contingency"), "two columns"),
        (lambda s: s.crosstab("sex", "town", epsilon=1).test("chisquare"), "one column"),
        (lambda s: s.crosstab("sex", epsilon=1).test("ttest_ind"), "means by one column"),
        (lambda s: s.test("chisquare", "town", shares=[0.5, 0.5], epsilon=1), "sum to 1"),
        (lambda s: s.test("chi2_contingency", "sex", "town", draws=3, epsilon=1), "at least 19"),
    ],
)
def test_what_is_refused(make: Any, words: str) -> None:
    with pytest.raises(InvalidRequest, match=words):
        make(ds.Session(TABLE, SCHEMA, ledger="test", seed=1))


def test_unknown_tests_are_named() -> None:
    with pytest.raises(UnknownName, match="chi2_contingency"):
        ds.count([1], epsilon=1).test("chi3")
    session = ds.Session(TABLE, SCHEMA, ds.Budget(epsilon=1), ledger="test", seed=1)
    for name in (*(word for word, home in homes("statistic").items() if ".hypotheses." not in home), "chi3"):
        with pytest.raises(UnknownName, match=r"no test is called .*chi2_contingency"):
            session.test(name, "sex", epsilon=1)
    assert session.remaining().epsilon == 1


@pytest.mark.parametrize(("n", "p"), [(7, 0.2), (60, 0.03), (60, 0.9), (200, 0.3), (3000, 0.5)])
def test_public_draws_are_binomial(n: int, p: float) -> None:
    """At 999 equally spaced uniform numbers: exact below a variance of 25, within one beyond it."""
    u = (np.arange(999) + 0.5) / 999
    ours, theirs = binomial(np.full(999, float(n)), p, u), stats.binom.ppf(u if p <= 0.5 else 1 - u, n, p)
    theirs = theirs if p <= 0.5 else n - stats.binom.ppf(u, n, 1 - p)
    apart = np.abs(ours - theirs)
    assert apart.max() <= (0 if n * p * (1 - p) < 25 else 1)
    assert apart.mean() <= 0.02


def test_public_draws_sum_up() -> None:
    shares = np.array([0.1, 0.0, 0.6, 0.3])
    drawn = multinomial(50, shares, uniforms(2000, 4, 7))
    assert (drawn.sum(1) == 50).all()
    assert (drawn >= 0).all()
    assert (drawn[:, 1] == 0).all()
    assert drawn.mean(0) == pytest.approx(50 * shares, abs=6 * 3.5 / math.sqrt(2000))


def test_fit_of_shares_is_checked() -> None:
    with pytest.raises(InvalidRequest, match="at least 2 labels"):
        GoodnessOfFit((1,), (1.0,))
