"""From values to estimates: every question, against the truth within 5.5 standard errors (false alarm 4e-8 a number)."""

from __future__ import annotations

import numpy as np
import pytest

from discreet.errors import InvalidRequest
from discreet.local import distribution, frequencies, histogram, mean, quantile, vector_mean
from discreet.local.surveys import bins

rng = np.random.default_rng(11)
PEOPLE = 40_000


def assert_close(found: object, truth: object) -> None:
    assert (np.abs(np.asarray(found.value) - truth) <= 5.5 * np.asarray(found.standard_error)).all()
    assert found.count == PEOPLE


@pytest.mark.parametrize("epsilon", ["0.5", "1", "4"])
def test_frequencies(epsilon: str) -> None:
    values = rng.choice(["n", "s", "e", "w"], PEOPLE, p=[0.6, 0.3, 0.1, 0.0])
    found = frequencies(values, categories=["n", "s", "e", "w"], epsilon=epsilon, seed=1)
    assert_close(found, [(values == c).mean() for c in "nsew"])
    assert found.labels == ("n", "s", "e", "w")
    assert frequencies(["q", "n"], categories=["n", "z"], other="z", epsilon=1).count == 2


@pytest.mark.parametrize("epsilon", ["0.3", "1", "5"])
def test_mean(epsilon: str) -> None:
    values = rng.gamma(2, 10, PEOPLE)
    assert_close(mean(values, bounds=(0, 80), epsilon=epsilon, seed=2), np.clip(values, 0, 80).mean())


@pytest.mark.parametrize("epsilon", ["0.5", "4"])
def test_vector_mean(epsilon: str) -> None:
    rows = rng.uniform(0, 1, (PEOPLE, 6)) ** np.arange(1, 7)
    assert_close(vector_mean(rows, bounds=(0, 1), epsilon=epsilon, seed=3), rows.mean(0))
    unit = rows / np.sqrt((rows**2).sum(1, keepdims=True))
    assert_close(vector_mean(unit, radius=1, epsilon=epsilon, seed=3), unit.mean(0))


def test_histogram() -> None:
    values = rng.normal(0, 1, PEOPLE)
    edges = [-2, -1, 0, 1, 2]
    found = histogram(values, edges=edges, epsilon=1, seed=4)
    assert_close(found, np.histogram(np.clip(values, -2, 2), edges)[0] / PEOPLE)
    assert found.labels[0] == (-2.0, -1.0)
    assert bins([-9, -2, -1, 1.99, 2, 9, float("nan")], [-2, -1, 0, 1, 2]).tolist() == [0, 0, 1, 3, 3, 3, 2]
    for bad in ([0, 1], [0, 0, 1], [2, 1, 0], [0, float("nan"), 1]):
        with pytest.raises(InvalidRequest, match="edges"):
            histogram(values, edges=bad, epsilon=1)


def test_distribution_and_quantiles() -> None:
    values = rng.gamma(2, 10, PEOPLE)
    found = distribution(values, bounds=(0, 64), epsilon=2, depth=6, seed=5)
    truth = (values[:, None] < found.edges[1:-1]).mean(0)
    assert_close(found, truth)
    for q in (0.05, 0.5, 0.9):
        low, high = found.quantile_interval(q, 0.999999)
        assert low <= np.quantile(values, q) <= high
        assert low <= found.quantile(q) <= high
        narrow = found.quantile_interval(q, 0.5)
        assert low <= narrow[0] < narrow[1] <= high
        assert narrow[1] - narrow[0] < 20
    assert found.quantile(0.25) < found.quantile(0.75)
    assert 0 <= quantile(values, 0.5, bounds=(0, 64), epsilon=1, depth=5) <= 64
    for bad in (0, 1, -1, float("nan")):
        with pytest.raises(InvalidRequest, match="q must"):
            found.quantile(bad)
        with pytest.raises(InvalidRequest, match="q must"):
            found.quantile_interval(bad)
    with pytest.raises(InvalidRequest, match="level"):
        found.quantile_interval(0.5, 1.5)


def test_one_value_for_all() -> None:
    """Everybody at the top of the range: the median is there."""
    found = distribution(np.full(PEOPLE, 10.0), bounds=(0, 10), epsilon=4, depth=4, seed=6)
    assert found.quantile_interval(0.5)[1] == 10
    assert found.quantile(0.5) > 9
