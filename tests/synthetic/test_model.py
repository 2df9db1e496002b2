"""The fit: exact trees without noise, iterative proportional fitting as oracle, and the public stream's laws."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

import discreet as ds
from discreet.core.release import Release
from discreet.synthetic.measurement import Floats, Measurement, measured, total
from discreet.synthetic.model import fitted, from_tree
from discreet.synthetic.pair_tree import simplex, tree_of
from discreet.synthetic.public_stream import Stream

RNG = np.random.default_rng(3)


def seen(places: tuple[int, ...], value: Floats, sigma: float = 1.0) -> Measurement:
    release = Release.of(ds.DiscreteGaussian(sigma), np.asarray(value))
    return measured(release, places, (None,) * len(places), np.shape(value))


def test_the_simplex_projection_meets_its_conditions() -> None:
    """What is kept was lowered by one number, what is dropped lies below it (Karush, Kuhn and Tucker)."""
    for _ in range(50):
        y = RNG.normal(0, 3, 12)
        x = simplex(y, 5.0)
        assert x.sum() == pytest.approx(5)
        lowered = (y - x)[x > 0]
        assert np.ptp(lowered) < 1e-12
        assert (y[x == 0] <= lowered[0] + 1e-12).all()


def test_a_chain_is_found_and_is_exact() -> None:
    """Of a Markov chain a - b - c with exact counts, the tree is the chain and its joint distribution is the truth."""
    first, step = np.array([0.2, 0.5, 0.3]), RNG.dirichlet(np.ones(3), 3)
    joint = first[:, None, None] * step[:, :, None] * step[None, :, :]
    counts = 1e6 * joint
    pairs = {(0, 1): counts.sum(2), (1, 2): counts.sum(0), (0, 2): counts.sum(1)}
    measurements = [seen((i,), counts.sum(tuple(j for j in range(3) if j != i))) for i in range(3)]
    measurements += [seen(places, table) for places, table in pairs.items()]
    tree = tree_of((3, 3, 3), measurements, 1e6)
    assert {frozenset(edge[:2]) for edge in tree.edges} == {frozenset((0, 1)), frozenset((1, 2))}
    assert tree.joint() == pytest.approx(joint.ravel(), abs=2e-4)
    assert total(measurements) == pytest.approx(1e6)
    model = fitted((3, 3, 3), measurements, 1e6, Stream(1))
    assert model.weights == pytest.approx(joint.ravel(), abs=2e-4)
    drawn = tree.drawn(30_000, Stream(2))
    share = np.bincount((drawn[0] * 3 + drawn[1]) * 3 + drawn[2], minlength=27) / 30_000
    assert share == pytest.approx(joint.ravel(), abs=0.02)


def test_three_pairs_give_what_proportional_fitting_gives() -> None:
    """All three pairs of an interaction that no tree has: the fit agrees with iterative proportional fitting."""
    truth = RNG.dirichlet(np.ones(12), 1).reshape(2, 2, 3) * 1e5
    tables = {(0, 1): truth.sum(2), (1, 2): truth.sum(0), (0, 2): truth.sum(1)}
    joint = np.ones((2, 2, 3))
    for _ in range(2000):
        joint *= (tables[0, 1] / joint.sum(2))[:, :, None]
        joint *= (tables[1, 2] / joint.sum(0))[None]
        joint *= (tables[0, 2] / joint.sum(1))[:, None, :]
    model = fitted((2, 2, 3), [seen(p, t, 0.5) for p, t in tables.items()], 1e5, Stream(1))
    assert 1e5 * model.weights == pytest.approx(joint.ravel(), rel=0.02)


def test_a_mean_tilts_the_distribution() -> None:
    """Of a column whose mean alone is known, the fit has that mean."""
    release = Release.of(ds.Laplace(1), np.array([300.0, 700.0]))
    middles = (np.arange(8) + 0.5) / 8
    mean = measured(release, (0,), (np.stack([1 - middles, middles]),), (2,))
    model = fitted((8,), [mean], 1000, Stream(1))
    assert middles @ model.weights == pytest.approx(0.7, abs=1e-3)
    assert total([mean]) == pytest.approx(1000)


def test_impossible_records_are_left_out() -> None:
    measurements = [seen((0,), np.array([50.0, 50.0])), seen((1,), np.array([50.0, 50.0]))]
    model = from_tree((2, 2), measurements, 100, Stream(1), lambda records, stream: records[0] != records[1])
    assert model.records.T.tolist() == [[0, 1], [1, 0]]


def test_gamma_numbers_have_their_law() -> None:
    """Kolmogorov and Smirnov's distance of 20,000 numbers: above .02 with a probability below 1e-6."""
    for shape in (0.05, 0.7, 1.0, 30.0):
        drawn = Stream(int(shape * 100)).gammas(np.full(20_000, shape))
        assert stats.kstest(drawn, stats.gamma(shape).cdf).statistic < 0.02


def test_margins_know_their_noise() -> None:
    table = seen((2, 0), np.arange(6.0).reshape(2, 3), 3.0)
    counts, variance = table.margin((0,))
    assert counts.tolist() == [3, 5, 7]
    assert variance == pytest.approx(2 * table.sigma**2)
    assert table.margin((0, 2))[0].shape == (3, 2)
