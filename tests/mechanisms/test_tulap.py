"""Tulap noise: a discrete Laplace draw and a uniform one, drawn once."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

import discreet as ds
from discreet.core.exact import Exact
from discreet.core.mechanism import mechanisms
from discreet.errors import InvalidRequest


def test_by_hand() -> None:
    assert float(ds.Tulap(1).cdf(2.3)) == pytest.approx(0.9510946, abs=5e-8)
    assert float(ds.Tulap(1).cdf(0.0)) == 0.5


@pytest.mark.parametrize("scale", ["0.4", "1", "7.5"])
def test_the_parts_are_what_they_are_called(scale: str) -> None:
    """20,000 draws: Kolmogorov's statistic of both parts, and of the whole against ``cdf``, false alarm 3e-7 each."""
    law = ds.Tulap(scale)
    drawn = law.release(np.zeros(20_000, np.int64), seed=4)
    whole = np.rint(drawn)
    far = stats.kstwobign.isf(3e-7) / math.sqrt(20_000)
    assert stats.kstest(drawn - whole, stats.uniform(-0.5, 1).cdf).statistic < far
    assert stats.kstest(drawn, law.cdf).statistic < far
    values, counts = np.unique(whole, return_counts=True)
    same = np.exp([float(ds.DiscreteLaplace(scale).log_prob(v, 0)) for v in values])
    assert np.abs(counts / 20_000 - same).max() < far
    assert np.std(drawn) == pytest.approx(law.expected_error, rel=0.06)


def test_density_quantiles_and_cost() -> None:
    law = ds.Tulap.costing(1, epsilon=1)
    t = np.linspace(-6.25, 6.25, 101)
    step = 1e-7
    slope = (law.cdf(t + step) - law.cdf(t - step)) / (2 * step)
    inside = np.abs(t - np.rint(t)) < 0.49
    assert np.exp(law.log_prob(t, 0.0))[inside] == pytest.approx(slope[inside], rel=1e-5)
    for p in (0.001, 0.2, 0.5, 0.77, 0.999):
        assert float(law.cdf(law.quantile(p))) == pytest.approx(p, abs=1e-12)
    ratio = law.log_prob(t, 0.0) - law.log_prob(t, 1.0)
    assert np.abs(ratio).max() == pytest.approx(1.0)
    assert law.cost(1).epsilon == 1


def test_numbers_arrays_and_documents() -> None:
    law = ds.Tulap(2)
    assert isinstance(law.release(3, seed=1), float)
    assert law.release(3, seed=1) == law.release(np.array(3), seed=1) == law.release(3.0, seed=1)
    assert law.release(Exact(np.array([3, 4])), seed=1).shape == (2,)
    assert mechanisms.read(law.to_dict()) == law
    with pytest.raises(InvalidRequest, match="grid"):
        ds.Tulap(2, grid=2).release(4)
    with pytest.raises(InvalidRequest, match="strictly between"):
        law.quantile(1.0)
