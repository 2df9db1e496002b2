"""Distributions on trees of bins: exact counts, the quietest tree, and what is read off one release."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import discreet as ds
from discreet.core.release import Release
from discreet.core.result import Result
from discreet.errors import InvalidRequest
from discreet.statistics.distribution import DistributionReading
from discreet.statistics.equation import upper_tail
from discreet.statistics.nodes import branches_for, incidence, least_squares
from discreet.statistics.reading import CellReading

RNG = np.random.default_rng(0)
X = RNG.normal(0.5, 1 / 6, 1000)


def test_a_median_of_eight_bins() -> None:
    counts = np.array([5.0, 10, 20, 30, 20, 10, 4, 1])
    reading: Any = DistributionReading(tuple(range(9)), (8,)).quantile("0.5")
    release = [Release.of(ds.Laplace(1), counts)]
    weights = reading.weights[2:3]
    assert upper_tail(-(weights @ counts), np.array([25.0]), weights, ds.Laplace(1))[0] == pytest.approx(
        0.00270513, abs=1e-8
    )
    assert reading.population_interval(release, 0.95, False) == (3, 4)
    assert 3 < reading.value(release) < 4


def test_the_noise_of_a_tree() -> None:
    a = incidence((16, 16))
    inverse = np.linalg.inv(a.T @ a)
    for q, j, wanted in ((0.5, 128, 3.764706), (0.9, 92, 10.691765)):
        w = np.where(np.arange(256) < j, 1 - q, -q)
        assert w @ inverse @ w == pytest.approx(wanted, abs=1e-6)
    assert np.allclose(least_squares((16, 16)) @ a, np.eye(256))


@pytest.mark.parametrize(
    ("branches", "laplace", "gaussian"),
    [((256,), 128, 64), ((16, 16), 60, 15), ((4,) * 4, 85, 10.6), ((2,) * 8, 167, 10.4), ((8,) * 3, 91, None),
     ((512,), 256, None), ((32, 32), 124, None), ((4,) * 5, 159, None)],
)  # fmt: skip
def test_the_largest_noise_below_an_edge(branches: tuple[int, ...], laplace: float, gaussian: float | None) -> None:
    """Of C_j - q N at q = j/B: 2 h**2 w'Gw for Laplace noise at epsilon 1, h w'Gw for Gaussian noise of sigma 1."""
    bins, height = math.prod(branches), len(branches)
    weights = np.tri(bins - 1, bins) - (np.arange(1, bins) / bins)[:, None]
    largest = float(((weights @ least_squares(branches)) ** 2).sum(-1).max())
    assert 2 * height**2 * largest == pytest.approx(laplace, abs=0.5)
    if gaussian is not None:
        assert height * largest == pytest.approx(gaussian, abs=0.05)


def test_the_expected_error_is_that_of_redrawn_noise() -> None:
    """Exact against 1,000 and more draws of a fixed public stream, which are within 5 %."""
    groups = RNG.integers(0, 2, len(X))
    schema = ds.Schema({"x": ds.Real(0, 1), "g": ds.Categories([0, 1])})
    session = ds.Session({"x": X, "g": groups}, schema, ledger="test")
    for options in ({"epsilon": 1}, {"rho": 1, "bins": 7}, {"epsilon": 1, "delta": "1e-6", "by": "g", "bins": 36}):
        answer = session.distribution("x", **options)
        drawn = CellReading.expected_error(answer.reading, answer.releases)
        assert np.shape(answer.expected_error) == np.shape(answer.value)
        assert np.asarray(answer.expected_error) == pytest.approx(drawn, rel=0.05)


@pytest.mark.parametrize(
    ("bins", "gaussian", "branches"),
    [(64, False, (64,)), (256, False, (16, 16)), (1024, False, (32, 32)), (256, True, (4, 4, 4, 4)), (97, False, (97,)),
     (97, True, (97,)), (100, True, (4, 25))],
)  # fmt: skip
def test_branches(bins: int, gaussian: bool, branches: tuple[int, ...]) -> None:
    assert branches_for(bins, gaussian) == branches
    assert math.prod(branches) == bins


@pytest.mark.parametrize("spend", [{}, {"delta": "1e-5"}])
def test_without_noise_it_is_the_histogram(spend: dict[str, Any]) -> None:
    answer = ds.distribution(X, bounds=(0, 1), epsilon=math.inf, **spend)
    counts = np.histogram(X.clip(0, 1), 256, (0, 1))[0]
    assert np.asarray(answer.value) == pytest.approx(counts, abs=1e-9)
    assert answer.curve() == pytest.approx(np.concatenate([[0], counts.cumsum() / 1000]), abs=1e-12)
    assert float(answer.quantile("0.5")) == pytest.approx(np.median(X), abs=1 / 256)
    low, high = answer.quantile("0.5").interval(of="population")
    assert low <= np.median(X) <= high
    assert high - low < 0.05


def test_everything_is_read_off_one_release() -> None:
    schema = ds.Schema({"x": ds.Real(0, 1), "sex": ds.Categories(["f", "m"])})
    table = {"x": X, "sex": ["f", "m"] * 500}
    session = ds.Session(table, schema, ledger="test", seed=2)
    answer = session.distribution("x", by="sex", epsilon=1)
    assert session.spent().epsilon == 1
    median = answer.quantile(0.5)
    assert np.shape(median.value) == (2,)
    low, high = median.interval(of="population")
    inside_low, inside_high = median.interval()
    assert (low <= inside_low).all()
    assert (inside_high <= high).all()
    truth = np.array([np.median(X[::2]), np.median(X[1::2])])
    assert (low <= truth).all()
    assert (high >= truth).all()
    lower, upper = answer.band()
    curve = answer.curve()
    assert lower.shape == curve.shape == (2, 257)
    assert (lower <= curve).all()
    assert (curve <= upper).all()
    assert (np.diff(lower) >= 0).all()
    again = Result.from_json(median.to_json())
    assert np.array_equal(again.value, median.value)
    assert session.spent().epsilon == 1


def test_quantiles_with_intervals_when_asked() -> None:
    schema = ds.Schema({"x": ds.Real(0, 1)}, neighbors="replace")
    session = ds.Session({"x": X}, schema, ledger="test", seed=3)
    for options in ({"interval": True}, {"method": "pair"}):
        answer = session.median("x", epsilon=1, **options)
        assert answer.cost.epsilon == 1
        low, high = answer.interval(of="population")
        assert low < np.median(X) < high
        assert high - low < 0.3
        assert low <= answer.value <= high
    pair = session.median("x", epsilon=1, method="pair", level=0.9)
    assert pair.interval(0.5) == pair.interval(0.9) != pair.interval(0.95) == (0, 1), "the bounds, where no ends were bought"
    assert Result.from_json(pair.to_json()).value == pair.value


def test_whole_numbers_have_bins_of_their_own() -> None:
    schema = ds.Schema({"visits": ds.Integer(0, 12)})
    visits = np.arange(1300) % 13
    answer = ds.Session({"visits": visits}, schema, ledger="test").distribution("visits", epsilon=math.inf)
    assert np.asarray(answer.value).tolist() == [100] * 13


def test_a_tree_of_nothing() -> None:
    answer = ds.distribution(np.array([math.nan] * 5), bounds=(0, 1), epsilon=1, seed=9)
    assert np.asarray(answer.curve())[[0, -1]].tolist() == [0, 1]
    low, high = answer.quantile("0.5").interval(of="population")
    assert 0 <= low <= high <= 1


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"bins": 1}, "at least 2 bins"),
        ({"bins": [0, 1, 0.5]}, "increase"),
        ({"bins": 0}, "between 1 and"),
    ],
)
def test_bad_bins(options: dict[str, Any], words: str) -> None:
    with pytest.raises(InvalidRequest, match=words):
        ds.distribution(X, bounds=(0, 1), epsilon=1, **options)


def test_bad_quantiles() -> None:
    answer = ds.distribution(X, bounds=(0, 1), epsilon=1, seed=1)
    for wrong, words in [
        (lambda: answer.quantile(1.5), "strictly between 0 and 1"),
        (lambda: answer.band(of="people"), "'table' or 'population'"),
        (lambda: ds.median(X, bounds=(0, 1), epsilon=1, method="pair"), "public under replace"),
        (lambda: ds.median(X, bounds=(0, 1), epsilon=1, method="twice"), "'pair' or left out"),
        (lambda: ds.mean(X, bounds=(0, 1), epsilon=1).quantile("0.5"), "ask for one"),
    ]:
        with pytest.raises(InvalidRequest, match=words):
            wrong()
