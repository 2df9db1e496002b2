"""The one equation against values worked out by hand and by other means, and against limits where the answer is known."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

import discreet as ds
from discreet.core.release import Release
from discreet.core.result import Result
from discreet.errors import InvalidRequest
from discreet.mechanisms import DiscreteGaussian, DiscreteLaplace, Gaussian, Laplace, NoNoise
from discreet.statistics.bernstein import cell_weights, multiply
from discreet.statistics.covariance import PopulationCorrelation, PopulationCovariance
from discreet.statistics.equation import (
    Statement,
    degrees_of_freedom,
    noise_quantile,
    p_values,
    strict_p_values,
    upper_tail,
)
from discreet.statistics.mean import PersonMean, PopulationMean
from discreet.statistics.population import Contrast
from discreet.statistics.score import mean_score, person_mean_score
from discreet.statistics.share import Share
from discreet.statistics.variance import PopulationVariance, variance_score

ONE = Laplace(1)


def at(score: Any, cells: Any, theta: float) -> Statement:
    return score.equation(np.asarray(cells, np.float64))(np.array([theta]))


def plain_p(statement: Statement, law: Any = ONE) -> float:
    tail = upper_tail(np.abs(statement.score), statement.variance, statement.weights, law)
    return 2 * float(tail[0])


def read(reading: Any, cells: Any, law: Any = ONE) -> Result:
    release = Release.of(law, np.asarray(cells, np.float64))
    return Result(reading, (release,), law.cost(1))


def test_a_mean() -> None:
    statement = at(mean_score(2), [30, 40, 30], 0.4)
    assert (statement.score[0], statement.variance[0]) == pytest.approx((10, 6))
    assert plain_p(statement) == pytest.approx(0.00021963, rel=5e-5)
    freedom = degrees_of_freedom(statement, ONE)
    assert freedom is not None
    assert freedom[0] == pytest.approx(234.23, rel=1e-4)
    assert p_values(statement, ONE)[0] == pytest.approx(0.00027347, rel=5e-5)
    low, high = read(PopulationMean(0, 1), [30, 40, 30]).interval(of="population")
    assert (low, high) == pytest.approx((0.450613, 0.549387), abs=1e-6)


@pytest.mark.parametrize(("law", "p"), [(ONE, 0.0165775), (DiscreteLaplace(1), 0.0162473)])
def test_a_share(law: Any, p: float) -> None:
    weights = np.array([[0.8, -0.2]])
    statement = Statement(weights @ np.array([30.0, 70.0]), np.array([16.0]), weights)
    assert p_values(statement, law)[0] == pytest.approx(p, abs=1e-7)
    low, high = read(Share((2,)), [30, 70], law).interval(1 - p, of="population")
    assert low[0] == pytest.approx(0.2, abs=1e-5)
    assert high[1] == pytest.approx(0.8, abs=1e-5)


def test_a_variance() -> None:
    """The oracle leaves out what the noise of the mean takes away, so it is left out here too."""
    cells = np.array([10.0, 20, 40, 20, 10])
    found = variance_score(cells[None], NoNoise(), 1)
    assert found is not None
    score, estimate = found
    assert estimate == pytest.approx(0.016835, abs=1e-6)
    statement = at(score, cells, 0.06)
    assert (statement.score[0], statement.variance[0]) == pytest.approx((-4.27333, 1.41), abs=1e-5)
    assert plain_p(statement) == pytest.approx(0.00080453, rel=1e-5)
    assert p_values(statement, ONE)[0] == pytest.approx(0.00099257, rel=1e-5)
    noisy = variance_score(cells[None], ONE, 1)
    assert noisy is not None
    assert at(noisy[0], cells, 0.06).score[0] == pytest.approx(-4.27333 + 2 * 0.625 / 100, abs=1e-5)


def test_a_covariance() -> None:
    cells = np.array([[30.0, 5, 5], [5, 10, 5], [5, 5, 30]])
    psi = np.outer([-0.5, 1.0], [-0.5, 1.0])
    weights, spread = cell_weights(psi, (2, 2)).ravel(), cell_weights(multiply(psi, psi), (2, 2)).ravel()
    statement = Statement(
        np.array([weights @ cells.ravel()]), np.array([spread @ cells.ravel()]), weights[None], spread[None]
    )
    assert (statement.score[0], statement.variance[0], float(weights @ weights)) == pytest.approx((12.5, 3.75, 0.25))
    freedom = degrees_of_freedom(statement, ONE)
    assert freedom is not None
    assert freedom[0] == pytest.approx(513.78, abs=0.005)
    low, high = read(PopulationCovariance(1.0, shape=(3, 3)), cells).interval(of="population")
    assert low < 0.125 < high


def test_quartic_cells_carry_more_noise_of_a_mean_and_less_of_a_variance() -> None:
    """|w|**2 at m = 1/2, of t - m and of its square."""
    centred = np.array([-0.5, 1.0])
    for degree, mean, variance in ((2, 0.5, 0.1875), (4, 0.625, 0.1319)):
        assert (cell_weights(centred, (degree,)) ** 2).sum() == pytest.approx(mean)
        assert (cell_weights(multiply(centred, centred), (degree,)) ** 2).sum() == pytest.approx(variance, abs=5e-5)


def test_a_correlation_by_normal_theory() -> None:
    """psi = z z' - rho (z**2 + z'**2) / 2 from 3 x 3 cells, rho .5, with V = N (1 - rho**2)**2: L 33.3333, p .000586404."""
    cells = np.array([[30.0, 5, 5], [5, 10, 5], [5, 5, 30]])
    z = np.array([-0.5, 1.0]) / math.sqrt(0.15)  # the variance of either number is .4 - .5**2
    psi = np.zeros((3, 3))
    psi[:2, :2] += np.outer(z, z)
    psi[:, 0] -= 0.25 * multiply(z, z)
    psi[0, :] -= 0.25 * multiply(z, z)
    weights = cell_weights(psi, (2, 2)).ravel()
    statement = Statement(np.array([weights @ cells.ravel()]), np.array([100 * 0.75**2]), weights[None])
    assert statement.score[0] == pytest.approx(33.3333, abs=5e-5)
    assert plain_p(statement) == pytest.approx(0.000586404, abs=5e-10)


def test_a_contrast_at_each_groups_own_mean() -> None:
    """V .0009, p .0028198, corrected .0030481."""
    labels = (("arm", ("a", "b")),)
    means = read(PopulationMean(0, 1, (2, 3), labels), [[30, 40, 30], [20, 40, 40]])
    difference = means.difference("a", "b")
    assert isinstance(difference.reading, Contrast)
    groups = difference.reading.groups(np.asarray(means.releases[0].value))
    statement = difference.reading.statement(groups, np.zeros(1))
    assert statement.variance[0] == pytest.approx(0.0009)
    assert plain_p(statement) == pytest.approx(0.0028198, abs=1e-7)
    assert p_values(statement, ONE)[0] == pytest.approx(0.0030481, abs=1e-7)
    low, high = difference.interval(1 - 0.0030481, of="population")
    assert high == pytest.approx(0, abs=1e-5)
    assert low < difference.value < high


def test_people_with_several_rows() -> None:
    score = person_mean_score(5)
    assert float((score.a + 0.5 * score.b) @ (score.a + 0.5 * score.b)) == pytest.approx(15.625)
    # One person with three rows of t = 0.2, 0.9 and 0.4 and another with one of 0.5, worked out directly.
    people = [[0.2, 0.9, 0.4], [0.5]]
    cells = np.zeros(6)
    for rows in people:
        x, z = sum(rows) / 5, (5 - len(rows)) / 5
        y = 1 - x - z
        cells += [x * x, y * y, 2 * x * y, 2 * x * z, 2 * y * z, z * z]
    statement = at(score, cells, 0.3)
    each = [sum(rows) - 0.3 * len(rows) for rows in people]
    assert statement.score[0] == pytest.approx(sum(each))
    assert statement.variance[0] == pytest.approx(sum(e * e for e in each))
    assert read(PersonMean(0, 1, 5), cells, NoNoise()).value == pytest.approx(2 / 4)


LAWS = [Laplace(1), Laplace([1, 2, 3]), DiscreteLaplace(3), Gaussian(2), DiscreteGaussian(2), NoNoise()]


@pytest.mark.parametrize("law", LAWS, ids=lambda law: f"{type(law).__name__} {law.scales}")
def test_tails_agree_with_draws(law: Any) -> None:
    """100,000 draws of normal plus noise (NumPy's, by the textbook) beyond four points; six deviations, 2e-9 each."""
    rng, runs = np.random.default_rng(4), 100_000
    weights = np.array([[0.3, -1.0, 0.5]])
    scales = np.broadcast_to([float(s) for s in law.scales], 3)
    drawn = {
        "Laplace": lambda: rng.laplace(0, scales, (runs, 3)),
        "DiscreteLaplace": lambda: (
            rng.geometric(-math.expm1(-1 / 3), (runs, 3)) - rng.geometric(-math.expm1(-1 / 3), (runs, 3))
        ),
        "Gaussian": lambda: rng.normal(0, scales, (runs, 3)),
        "DiscreteGaussian": lambda: np.rint(rng.normal(0, 2, (runs, 3))),  # at scale 2 the laws differ by less than 1e-8
        "NoNoise": lambda: np.zeros((runs, 3)),
    }[type(law).__name__]()
    if isinstance(law, DiscreteGaussian):
        k = np.arange(-40, 41)
        p = np.exp(-(k**2) / 8)
        drawn = rng.choice(k, (runs, 3), p=p / p.sum())
    total = rng.normal(0, 1.5, runs) + (drawn @ weights.T)[:, 0]
    for x in (-2.0, 0.7, 3.0, 6.0):
        tail = float(upper_tail(np.array([x]), np.array([2.25]), weights, law)[0])
        assert abs((total >= x).mean() - tail) <= 6 * math.sqrt(tail * (1 - tail) / runs) + 1e-9


def test_without_noise_it_is_the_score_test() -> None:
    z = np.array([0.3, 1.0, 2.5])
    found = p_values(Statement(z, np.ones(3), np.ones((3, 2))), NoNoise())
    assert found == pytest.approx(2 * stats.norm.sf(z), abs=1e-12)
    nothing = p_values(Statement(np.array([0.0, 1.0]), np.zeros(2), np.ones((2, 2))), NoNoise())
    assert nothing.tolist() == [1.0, 0.0]


def test_what_is_clamped_of_a_noisy_variance_does_not_count() -> None:
    """The variance of max(0, X), X normal, by quadrature: f takes it for the noise of V."""
    grid = np.linspace(-12, 12, 240_001)
    density = np.exp(-(grid**2) / 2) / np.exp(-(grid**2) / 2).sum()
    score, value = mean_score(2), np.array([0.0, 0.2, 1.0, 3.0, 50.0])
    weights = at(score, np.zeros(3), 0.3).variance_weights
    assert weights is not None
    spread = math.sqrt(2 * float((weights**2).sum()))
    for away in value:
        cells = weights[0] * (away * spread / float((weights**2).sum()))  # V is so many deviations of its noise
        statement = at(score, cells, 0.3)
        freedom = degrees_of_freedom(statement, ONE)
        assert freedom is not None
        seen = np.maximum(away + grid, 0.0)
        clamped = float(seen**2 @ density - (seen @ density) ** 2) * spread**2
        total = float(statement.variance[0]) + 2 * float((statement.weights**2).sum())
        assert freedom[0] == pytest.approx(2 * total**2 / clamped, rel=1e-7)


def test_one_laplace_by_its_closed_form() -> None:
    """With V = 0 only the cut of the integral is left, 2.5e-5 at most."""
    x = np.array([0.5, 1.0, 3.0, 10.0])
    found = upper_tail(x, np.zeros(4), np.ones((4, 1)), ONE)
    assert found == pytest.approx(np.exp(-x) / 2, abs=2.5e-5)
    assert float(noise_quantile(np.ones((1, 1)), ONE, 0.0025)[0]) == pytest.approx(-math.log(0.005), rel=2e-3)


def test_strict_covers_more() -> None:
    statement = at(mean_score(2), [30, 40, 30], 0.45)
    assert strict_p_values(statement, ONE, 0.05)[0] > p_values(statement, ONE)[0]
    answer = read(PopulationMean(0, 1), [30, 40, 30])
    plain, strict = answer.interval(of="population"), answer.interval(of="population", strict=True)
    assert strict[0] < plain[0] < plain[1] < strict[1]


def test_nothing_can_be_said_of_nothing() -> None:
    whole = [
        (PopulationVariance(2.0, shape=(5,)), np.full(5, -3.0), (0.0, 1.0)),
        (PopulationCovariance(4.0, shape=(3, 3)), np.full((3, 3), -1.0), (-1.0, 1.0)),
        (PopulationCorrelation(), np.full((5, 5), -1.0), (-1.0, 1.0)),
    ]
    for reading, cells, ends in whole:
        assert read(reading, cells).interval(of="population") == ends
    low, high = read(PopulationMean(10, 20), [0.1, 0.3, -0.2], Laplace(10)).interval(of="population")
    assert (low, high) == (10, 20)


@given(
    st.lists(st.floats(-1e6, 1e6), min_size=3, max_size=3),
    st.sampled_from([Laplace(1), Laplace(1000), Gaussian(3), NoNoise()]),
    st.sampled_from([0.5, 0.95, 0.999]),
)
@settings(max_examples=25, deadline=None)
def test_any_cells_have_an_interval_within_the_bounds(cells: list[float], law: Any, level: float) -> None:
    answer = read(PopulationMean(-1, 3), cells, law)
    low, high = answer.interval(level, of="population")
    assert -1 <= low <= answer.value <= high <= 3


def test_the_words_of_an_interval() -> None:
    answer = ds.mean(np.arange(100.0), bounds=(0, 100), epsilon=1, seed=3)
    with pytest.raises(InvalidRequest, match="of='population'"):
        answer.interval(of="population")
    with pytest.raises(InvalidRequest, match="'table' or 'population', got 'populations'"):
        answer.interval(of="populations")
    with pytest.raises(InvalidRequest, match="'table' or 'population', got 'everybody'"):
        ds.mean(np.arange(3.0), bounds=(0, 100), epsilon=1, of="everybody")
    with pytest.raises(InvalidRequest, match="strict is for"):
        answer.interval(strict=True)
    with pytest.raises(InvalidRequest, match="a contrast is of means"):
        answer.difference("a", "b")


@pytest.mark.parametrize("relation", ["add_remove", "replace", "both"])
def test_every_statistic_says_where_the_population_lies(relation: Any) -> None:
    """Without noise the intervals are near the textbook's; 2,000 normal rows."""
    rng = np.random.default_rng(8)
    x = rng.normal(0.5, 0.15, 2000)
    y = 0.5 * x + rng.normal(0.2, 0.1, 2000)
    setting: Any = {"epsilon": math.inf, "neighbors": relation, "of": "population"}
    both = ((0, 1), (0, 1))
    mean = ds.mean(x, bounds=(0, 1), **setting).interval(of="population")
    assert mean == pytest.approx(stats.t.interval(0.95, 1999, x.mean(), stats.sem(x)), abs=1e-4)
    variance = ds.variance(x, bounds=(0, 1), **setting).interval(of="population")
    textbook = 1999 * x.var(ddof=1) / stats.chi2.ppf([0.975, 0.025], 1999)
    assert variance == pytest.approx(textbook, rel=0.01)
    assert ds.std(x, bounds=(0, 1), **setting).interval(of="population") == pytest.approx(np.sqrt(textbook), rel=0.005)
    found = stats.pearsonr(x, y).confidence_interval()
    correlation = ds.correlation(x, y, bounds=both, **setting).interval(of="population")
    assert correlation == pytest.approx((found.low, found.high), abs=0.01)
    products = (x - x.mean()) * (y - y.mean())
    covariance = ds.covariance(x, y, bounds=both, **setting).interval(of="population")
    assert covariance == pytest.approx(stats.t.interval(0.95, 1999, products.mean(), stats.sem(products)), abs=2e-4)
    total = ds.sum(x, bounds=(0, 1), **setting).interval(of="population")
    spread = 2000 * x.var() if relation == "replace" else (x**2).sum()
    assert total == pytest.approx(x.sum() + 1.96 * math.sqrt(spread) * np.array([-1, 1]), rel=1e-3)


def test_counts_and_shares_of_groups() -> None:
    schema = ds.Schema({"sex": ds.Categories(["f", "m"]), "town": ds.Categories(["a", "b"])})
    rng = np.random.default_rng(2)
    table = {"sex": rng.choice(["f", "m"], 3000, p=[0.3, 0.7]).tolist(), "town": rng.choice(["a", "b"], 3000).tolist()}
    session = ds.Session(table, schema, ledger="test", seed=1)
    shares = session.share("sex", by="town", epsilon=1)
    low, high = shares.interval(of="population")
    assert low.shape == (2, 2)
    assert (low < [0.3, 0.7]).all()
    assert (high > [0.3, 0.7]).all()
    counts = session.count(by="sex", epsilon=1, of="population")
    low, high = counts.interval(of="population")
    inner = counts.interval()
    assert (low < inner[0]).all()
    assert (high > inner[1]).all()


def test_a_session_with_people() -> None:
    """400 people with up to five rows that go together: the interval knows, and is about as wide as that of their means."""
    rng = np.random.default_rng(12)
    own, sizes = rng.normal(0.5, 0.15, 400), rng.integers(1, 6, 400)
    ids = np.repeat(np.arange(400), sizes)
    x = np.clip(np.repeat(own, sizes) + rng.normal(0, 0.05, sizes.sum()), 0, 1)
    schema = ds.Schema({"x": ds.Real(0, 1)}, person="id", max_rows=5)
    session = ds.Session({"x": x, "id": ids}, schema, ledger="test", seed=5)
    low, high = session.mean("x", epsilon=4, of="population").interval(of="population")
    residual = np.bincount(ids, x - x.mean())
    wanted = 2 * 1.96 * math.sqrt((residual**2).sum()) / len(x)
    assert low < x.mean() < high
    assert high - low == pytest.approx(wanted, rel=0.15)
    assert session.mean("x", epsilon=4, of="population").cost.epsilon == 4


def test_ratios_and_contrasts() -> None:
    rng = np.random.default_rng(3)
    arm = rng.choice(["a", "b", "c"], 6000)
    x = rng.normal(np.select([arm == "a", arm == "b"], [40.0, 60.0], 50.0), 8)
    schema = ds.Schema({"x": ds.Real(0, 100), "arm": ds.Categories(["a", "b", "c"])})
    session = ds.Session({"x": x, "arm": arm.tolist()}, schema, ledger="test", seed=2)
    means = session.mean("x", by="arm", epsilon=1, of="population")
    difference = means.difference("b", "a")
    low, high = difference.interval(of="population")
    assert low < 20 < high
    assert high - low < 3
    ratio = means.ratio("b", "a", within=(0.1, 10))
    low, high = ratio.interval(of="population")
    assert low < 1.5 < high
    assert ratio.cost == means.cost
    low, high = means.contrast({"a": 0.5, "b": 0.5, "c": -1}).interval(of="population")
    assert low < 0 < high
    again = Result.from_json(difference.to_json())
    assert again.interval(of="population") == difference.interval(of="population")
    for wrong, words in [
        (lambda: means.difference("a", "z"), "no group is called 'z'"),
        (lambda: means.ratio("a", "b", within=(2, 1)), "two finite public numbers"),
        (lambda: means.contrast({"a": 1}), "at least two groups"),
    ]:
        with pytest.raises(InvalidRequest, match=words):
            wrong()


def test_quartic_cells_are_whole_and_sum_to_the_rows() -> None:
    """Every cell not negative, the sum exact, moments within a few steps: whatever the values."""
    rng = np.random.default_rng(7)
    values = np.concatenate([rng.random(2000), [0, 1, 2.0**-31, 1 - 2.0**-31, 0.5, 1e-300]])
    for x in (values, *itertools.repeat(rng.choice([0.0, 1.0], 50), 1)):
        answer = ds.variance(x, bounds=(0, 1), epsilon=math.inf, of="population")
        cells = np.asarray(answer.releases[0].value)
        assert (cells >= 0).all()
        assert cells.sum() == len(x)
        for power in (1, 2, 3, 4):
            moment = cells @ cell_weights(np.eye(power + 1)[power], (4,))
            assert moment == pytest.approx((x**power).sum(), abs=1.2e-9 * len(x))


def test_a_contrast_of_another_answer_says_what_to_ask() -> None:
    rng = np.random.default_rng(4)
    table = {"x": rng.uniform(0, 1, 400), "g": rng.choice(["a", "b"], 400), "h": rng.choice(["c", "d"], 400)}
    labels = {"g": ds.Categories(["a", "b"]), "h": ds.Categories(["c", "d"])}
    session = ds.Session(table, ds.Schema({"x": ds.Real(0, 1), **labels}), ds.Budget(epsilon=20))
    with pytest.raises(InvalidRequest, match="asked of the table only; ask for a mean with by="):
        session.mean("x", by="g", epsilon=1).difference("a", "b")
    with pytest.raises(InvalidRequest, match="this answer is another; ask for a mean with by="):
        session.share("g", epsilon=1, of="population").difference("a", "b")
    with pytest.raises(InvalidRequest, match="these are by g, h; ask by one of them, and filter by the others with where="):
        session.mean("x", by=["g", "h"], epsilon=1, of="population").difference("a", "b")
    narrowed = session.mean("x", by="g", where={"h": "c"}, epsilon=1, of="population")
    assert np.isfinite(narrowed.difference("a", "b").interval(of="population")).all()
