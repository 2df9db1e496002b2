"""Survival curves and the log-rank test: values worked out by hand, a table without noise, traps, and pictures."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats

import discreet as ds
from discreet.core.query import RELATIONS, Relation
from discreet.core.release import Release
from discreet.core.result import Result
from discreet.errors import InvalidRequest
from discreet.hypotheses.logrank import log_rank
from discreet.statistics.equation import Statement, p_values
from discreet.statistics.life_table import Curve
from discreet.statistics.survival import Survival

ONE = np.array([5, 10, 6, 20, 15, 4, 8.0])  # censored, events, beyond
OTHER = np.array([5, 10, 10, 10, 12, 13, 9.0])
BOTH = np.stack([ONE, OTHER])


def by_hand(cells: Any = BOTH, law: Any = None) -> Result:
    reading = Survival((0, 1, 2, 3), (2,), (("arm", ("a", "b")),))
    noise = ds.Laplace(1) if law is None else law
    return Result(reading, (Release.of(noise, cells),), noise.cost(1))


def test_by_hand() -> None:
    """S2 .420450, Greenwood .0238733, noise .0051447; U 6.249104, V 12.699126, squared weights 1.233914, p .108507."""
    curve, law = Curve.of(ONE), ds.Laplace(1)
    assert math.exp(curve.log_survival[1]) == pytest.approx(0.420450, abs=5e-7)
    assert curve.greenwood[1] == pytest.approx(0.0238733, abs=5e-8)
    assert curve.variance(law, sampled=False)[1] == pytest.approx(0.0051447, abs=5e-8)
    score, variance, weights = log_rank(BOTH)
    assert score == pytest.approx(6.249104, abs=5e-7)
    assert variance == pytest.approx(12.699126, abs=5e-7)
    assert (weights**2).sum() == pytest.approx(1.233914, abs=5e-7)
    test = by_hand().logrank()
    assert test.pvalue == pytest.approx(0.108507, abs=5e-7)
    assert test.value == pytest.approx(math.exp(score / variance))
    assert by_hand().value[0, 1] == pytest.approx(0.420450, abs=5e-7)
    # S is surely above 1/2 at the first edge, surely below at the last, and neither in between.
    low, high = by_hand().quantile("0.5").interval(of="population")
    assert (low.tolist(), high.tolist()) == ([1.0, 1.0], [3.0, 3.0])


def test_by_hand_where_everybody_leaves_at_the_end_of_a_bin() -> None:
    """S2 .380952, Greenwood .0297619, noise .0068282; U 7.035985, V 11.767826, squared weights 1.228780, p .062187.

    A bin in which only events happen, then one in which people only leave: nobody leaves within a bin then. The noise is
    that of the cells which can hold anybody.
    """

    def apart(cells: Any) -> Any:
        left, died = cells[:3], cells[3:6]
        return np.array([*np.ravel([[0.0, c] for c in left]), *np.ravel([[d, 0.0] for d in died]), 0.0])

    filled = apart(np.ones(7)) > 0
    law, curve = ds.Laplace(1), Curve.of(apart(ONE))
    assert math.exp(curve.log_survival[2]) == pytest.approx(0.380952, abs=5e-7)
    assert curve.greenwood[2] == pytest.approx(0.0297619, abs=5e-8)
    assert 2 * (curve.weights[2, filled] ** 2).sum() == pytest.approx(0.0068282, abs=5e-8)
    score, variance, weights = log_rank(np.stack([apart(ONE), apart(OTHER)]))
    assert score == pytest.approx(7.035985, abs=5e-7)
    assert variance == pytest.approx(11.767826, abs=5e-7)
    assert (weights[:, filled] ** 2).sum() == pytest.approx(1.228780, abs=5e-7)
    told = Statement(np.array([score]), np.array([variance]), weights[:, filled].reshape(1, -1))
    assert p_values(told, law)[0] == pytest.approx(0.062187, abs=5e-7)


def test_weights_are_the_gradients() -> None:
    """Every weight against the slope of -ln S and of U when one cell moves; those of U at equal hazards only."""
    step = 1e-5
    for place in range(7):
        moved = ONE + step * (np.arange(7) == place)
        slope = -(Curve.of(moved).log_survival - Curve.of(ONE).log_survival) / step
        assert slope == pytest.approx(Curve.of(ONE).weights[:, place], abs=1e-6)
    equal = np.stack([ONE, 2 * ONE])
    score, _, weights = log_rank(equal)
    for group in range(2):
        for place in range(7):
            moved = equal.copy()
            moved[group, place] += step
            assert (log_rank(moved)[0] - score) / step == pytest.approx(weights[group, place], abs=1e-6)


def test_times_fall_where_the_form_says() -> None:
    """On an edge: the bin before. Past the last edge: beyond, with or without the event, and never clipped into a bin.

    Whoever is censored on the last edge is beyond as well: counted half, everybody followed to the end would raise the
    hazard of the last bin.
    """
    times = [0.0, 1.0, 1.0, 1.5, 3.0, 3.0, 3.1, 99.0, math.inf, math.nan, -5.0]
    event = [1, 0, 1, 1, 0, 1, 1, 0, 1, 1, 0]
    schema = ds.Schema({"t": ds.Real(0, 3), "e": ds.Integer(0, 1)})
    session = ds.Session({"t": times, "e": event}, schema, ledger="test", seed=1)
    result = session.survival("t", "e", bins=3, epsilon=math.inf)
    assert np.asarray(result.releases[0].value).tolist() == [2, 0, 0, 2, 1, 1, 4]
    assert result.numbers_at_risk().tolist() == [10, 6, 5, 4]
    tenths = ds.Schema({"t": ds.Real(0, 1), "e": ds.Integer(0, 1)})
    grid = ds.Session({"t": np.arange(1, 11) / 10, "e": np.zeros(10)}, tenths, ledger="test", seed=1)
    assert np.asarray(grid.survival("t", "e", epsilon=math.inf).releases[0].value).tolist() == [1] * 9 + [0] * 11 + [1]


def product_limit(times: Any, happened: Any, at: Any) -> list[float]:
    """Kaplan and Meier's curve, time by time."""
    alive, found = 1.0, []
    for edge in at:
        alive = 1.0
        for t in np.unique(times[happened & (times <= edge)]):
            alive *= 1 - np.sum(happened & (times == t)) / np.sum(times >= t)
        found.append(alive)
    return found


@pytest.mark.parametrize("relation", RELATIONS)
def test_without_noise_it_is_near_the_product_limit(relation: Relation) -> None:
    rng = np.random.default_rng(3)
    life, censored = rng.exponential(4, 3000), rng.uniform(0, 12, 3000)
    times, event = np.minimum(life, censored), np.where(life <= censored, "died", "left")
    columns = {"t": ds.Real(0, 10), "e": ds.Categories(["left", "died"]), "arm": ds.Categories(["a", "b"])}
    table = {"t": times, "e": event, "arm": np.where(np.arange(3000) % 2, "a", "b")}
    session = ds.Session(table, ds.Schema(columns, neighbors=relation), ledger="test", seed=1)
    whole = session.survival("t", "e", happened="died", bins=20, epsilon=math.inf)
    edges = np.linspace(0.5, 10, 20)
    assert whole.value[3::8] == pytest.approx(product_limit(times, event == "died", edges[3::8]), abs=0.005)
    assert whole.value == pytest.approx(np.exp(-edges / 4), abs=0.05)
    assert float(whole.quantile("0.5")) == pytest.approx(4 * math.log(2), abs=0.2)
    exact = 4 * (1 - math.exp(-2.5))
    assert float(whole.restricted_mean()) == pytest.approx(exact, abs=0.2)
    assert float(whole.restricted_mean(5.0)) == pytest.approx(4 * (1 - math.exp(-1.25)), abs=0.15)
    noisy = session.survival("t", "e", happened="died", by="arm", bins=10, epsilon=2)
    for answer in (noisy, noisy.quantile("0.5"), noisy.restricted_mean(), noisy.logrank()):
        for of in ("table", "population"):
            low, high = answer.interval(0.95, of=of)
            assert (np.asarray(low) <= np.asarray(answer.value)).all()
            assert (np.asarray(answer.value) <= np.asarray(high)).all()
        again = Result.from_json(answer.to_json())
        assert np.array_equal(again.value, answer.value)
        assert answer.cost.epsilon == 2
    same = session.test("logrank", "t", "e", by="arm", happened="died", bins=10, epsilon=math.inf)
    read = session.survival("t", "e", happened="died", by="arm", bins=10, epsilon=math.inf).logrank()
    assert same.pvalue == read.pvalue
    fine = session.test("logrank", "t", "e", by="arm", happened="died", bins=100, epsilon=math.inf)
    assert fine.pvalue == pytest.approx(_textbook(times, event == "died", table["arm"] == "a"), abs=0.03)
    half = [_one_sided(session, a) for a in ("less", "greater")]
    assert sum(half) == pytest.approx(1, abs=1e-9)


def _one_sided(session: ds.Session, alternative: str) -> float:
    asked = {"by": "arm", "happened": "died", "bins": 10, "alternative": alternative}
    return session.test("logrank", "t", "e", epsilon=math.inf, **asked).pvalue


def _textbook(times: Any, happened: Any, first: Any) -> float:
    """The p-value of the log-rank test of exact times, all of them censored at 10."""
    times, happened = np.minimum(times, 10), happened & (times <= 10)
    one = stats.CensoredData(uncensored=times[first & happened], right=times[first & ~happened])
    other = stats.CensoredData(uncensored=times[~first & happened], right=times[~first & ~happened])
    return float(stats.logrank(one, other).pvalue)


def strata(cells: Any) -> Result:
    """The log-rank test of two arms in strata, from cells (arms, strata, 7)."""
    axes = (("arm", ("a", "b")), ("site", tuple(range(cells.shape[1]))))
    reading = Survival((0, 1, 2, 3), cells.shape[:2], axes)
    return Result(reading, (Release.of(ds.Laplace(1), cells),), ds.Laplace(1).cost(1)).logrank()


def test_strata_add_up() -> None:
    """U, V and noise of the strata add up; one without anybody adds nothing; a stratum alone is the plain test."""
    alone = by_hand().logrank()
    for cells in (BOTH[:, None], np.stack([BOTH, np.zeros((2, 7))], 1)):
        assert strata(cells).pvalue == pytest.approx(alone.pvalue, abs=1e-12)
        assert strata(cells).value == pytest.approx(alone.value)
    twice = strata(np.stack([BOTH, BOTH[::-1]], 1))
    assert twice.pvalue == pytest.approx(1)
    again: Any = strata(np.stack([BOTH, 2 * BOTH], 1))
    (one, v, w), (other, u, x) = log_rank(BOTH), log_rank(2 * BOTH)
    statement = again.reading.statement(again.releases)
    assert (statement.score[0], statement.variance[0]) == pytest.approx((one + other, v + u))
    assert (statement.weights**2).sum() == pytest.approx((w**2).sum() + (x**2).sum())
    assert "2 strata" in again.method
    assert again.value == pytest.approx(math.exp((one + other) / (v + u)))


def test_strata_take_away_what_they_explain() -> None:
    """Two sites of different hazard, arms dealt unevenly: without noise the test is the textbook's, summed over sites."""
    rng = np.random.default_rng(6)
    site = rng.integers(0, 2, 2000)
    first = rng.random(2000) < np.where(site == 1, 0.75, 0.25)
    life, left = rng.exponential(1 / np.where(site == 1, 0.3, 0.1)), rng.uniform(0, 15, 2000)
    times, happened = np.minimum(life, left), (life <= left).astype(int)
    columns = {
        "t": ds.Real(0, 10),
        "e": ds.Integer(0, 1),
        "arm": ds.Categories(["a", "b"]),
        "site": ds.Categories(["x", "y"]),
    }
    table = {"t": times, "e": happened, "arm": np.where(first, "a", "b"), "site": np.where(site == 1, "x", "y")}
    session = ds.Session(table, ds.Schema(columns), ledger="test", seed=1)
    asked: Any = {"by": "arm", "bins": 100, "epsilon": math.inf}
    plain, within = (session.test("logrank", "t", "e", **asked, **more) for more in ({}, {"strata": "site"}))
    assert plain.pvalue < 1e-6
    read = session.survival("t", "e", by=("arm", "site"), bins=100, epsilon=math.inf).logrank()
    assert read.pvalue == within.pvalue
    score = variance = 0.0
    for own in (0, 1):
        for t in np.unique(times[(site == own) & (happened == 1) & (times <= 10)]):
            risk, died = (site == own) & (times >= t), (site == own) & (times == t)
            share = (risk & first).sum() / risk.sum()
            score += (died & first).sum() - share
            variance += share * (1 - share)
    assert within.pvalue == pytest.approx(2 * stats.norm.sf(abs(score) / math.sqrt(variance)), abs=0.03)
    noisy = session.test("logrank", "t", "e", by="arm", strata="site", epsilon=2)
    assert noisy.cost.epsilon == 2
    assert noisy.pvalue > 1e-4
    with pytest.raises(InvalidRequest, match="two labels"):
        session.test("logrank", "t", "e", by=("arm", "site"), epsilon=1)


@pytest.mark.parametrize(
    "cells",
    [np.zeros(7), -np.ones(7), np.array([0, 0, 0, 5, 5, 5, -20.0]), np.array([0, 0, 0, -3, 0, 0, 5.0])],
    ids=["nobody", "fewer than nobody", "fewer at risk than events", "fewer events than none"],
)
def test_where_the_counts_say_nothing(cells: Any) -> None:
    """The whole range, no error and no number that is not one."""
    result = by_hand(np.stack([cells, OTHER]))
    low, high = result.interval(of="population")
    assert (low[0, -1], high[0, -1]) == (0.0, 1.0)
    assert np.isfinite(result.value).all()
    for answer in (result.quantile("0.5"), result.restricted_mean()):
        ends = np.array(answer.interval(of="population"))
        assert np.isfinite(ends).all()
        assert (ends >= 0).all()
        assert (ends <= 3).all()
    test = result.logrank()
    assert 0 <= test.pvalue <= 1
    assert np.isfinite(test.confidence_interval()).all()


def test_pictures_show_the_numbers_at_risk(tmp_path: Path) -> None:
    axes = by_hand().plot()
    assert [t.get_text() for t in axes.get_xticklabels()] == ["0", "1", "2", "3"]
    risk = [t.get_text() for t in axes.texts]
    assert risk[0] == "people at risk"
    assert [risk[risk.index(name) :][:3] for name in ("a", "b")] == [["a", "68", "43"], ["b", "69", "54"]]
    assert axes.get_xlabel() == "time"  # of counts that came from elsewhere nobody knows the column
    assert len(axes.lines) == 2
    axes.figure.savefig(tmp_path / "lives.png")
    alone = Result(Survival((0, 1, 2, 3)), (Release.of(ds.Laplace(1), ONE),), ds.Laplace(1).cost(1))
    assert alone.plot().get_legend() is None
    assert by_hand().logrank().plot() is not None


@pytest.mark.parametrize(
    ("args", "options", "words"),
    [
        (("t", "e"), {"bins": [3, 2]}, "increase"),
        (("t", "t"), {}, "between 0 and 1"),
        (("t", "c"), {}, "label of the event"),
        (("t", "e"), {"happened": "dead"}, "leave it out"),
        (("c", "e"), {}, "needs a number"),
    ],
)
def test_what_is_refused_is_not_charged(args: Any, options: Any, words: str) -> None:
    columns = {"t": ds.Real(0, 9), "e": ds.Integer(0, 1), "c": ds.Categories(["x", "y", "z"])}
    table = {"t": [1.0], "e": [1], "c": ["x"], "id": [1]}
    session = ds.Session(table, ds.Schema(columns), ds.Budget(epsilon=1))
    with pytest.raises(InvalidRequest, match=words):
        session.survival(*args, epsilon=1, **options)
    with pytest.raises(InvalidRequest, match="two labels"):
        session.test("logrank", "t", "e", by="c", epsilon=1)
    assert session.spent().epsilon == 0
    several = ds.Session(table, ds.Schema(columns, person="id", max_rows=2), ds.Budget(epsilon=1))
    with pytest.raises(InvalidRequest, match="one row a person"):
        several.survival("t", "e", epsilon=1)


def test_other_answers_are_no_survival_curves() -> None:
    mean = ds.mean([1.0, 2.0], bounds=(0, 3), epsilon=1)
    for ask in (mean.numbers_at_risk, mean.restricted_mean, mean.logrank):
        with pytest.raises(InvalidRequest, match="survival"):
            ask()
    with pytest.raises(InvalidRequest, match="an edge"):
        by_hand().restricted_mean(2.5)
    with pytest.raises(InvalidRequest, match="strictly between"):
        by_hand().quantile(1)
