"""Posteriors against closed forms and exact sums. One comparison in a million may fail by chance."""

from __future__ import annotations

import numpy as np
import pytest

import discreet as ds
from discreet.core.x64 import jnp
from discreet.inference import BetaBernoulli, DirichletMultinomial, Normal, PoissonRows, infer
from discreet.inference.samplers.summary import ADVISED_SUMS

from .helpers import assert_close

FOUR = (  # mean and standard deviation of pi00, pi01, pi10, pi11
    (0.2724, 0.0593), (0.1095, 0.0522), (0.3357, 0.0642), (0.2823, 0.0597),
)  # fmt: skip


@pytest.mark.parametrize("sampler", ["interweaving", "sweep"])
def test_clamped_sum(sampler: str) -> None:
    """x ~ N(theta, 1), n = 2, prior N(0, 4), clamped to [-1, 1], Laplace(1/2): by quadrature. Records stay raw."""
    release = ds.Release.of(ds.Laplace("0.5"), 2.4)
    made = infer(release, Normal(0, 2, variance=1.0), n=2, statistic=lambda x: jnp.clip(x, -1, 1), chains=32, draws=250,
                 warmup=50, seed=1, sampler=sampler)  # fmt: skip
    assert made.sampler == sampler
    assert not made.approximate
    assert_close(made.draws["mean"], 2.10036, 1.24841)
    # Without the clamp in the statistic the answer would be another one, by far more than the error.
    assert abs(made.draws["mean"].mean() - 1.07) > 0.5


def test_normal_mean() -> None:
    """Normal data, normal prior, Gaussian noise: the posterior is normal, mean -1.94122, deviation .342858."""
    made = infer(ds.Release.of(ds.Gaussian("1/3"), -2.0), Normal(0, 2, variance=1.0), n=100, statistic=lambda x: x / 100,
                 chains=24, draws=200, warmup=50, seed=2)  # fmt: skip
    assert_close(made.draws["mean"], -1.94122, 0.342858)


@pytest.mark.parametrize("sampler", [None, "whole_table", "sweep"])
def test_randomised_response(sampler: str | None) -> None:
    """Seven of ten say yes, each flipped with chance 1/4: mean .7140096, deviation .2013027."""
    release = ds.Release.of(ds.RandomizedResponse.keeping("0.75", ["no", "yes"]), ["yes"] * 7 + ["no"] * 3)
    made = infer(release, BetaBernoulli(1, 1), chains=24, draws=300, warmup=50, seed=3, sampler=sampler)
    assert made.sampler == (sampler or "independent")
    assert_close(made.draws["theta"], 0.7140096, 0.2013027)
    if sampler == "sweep":
        assert made.stats["acceptance_per_record"].shape == (24, 10)


@pytest.mark.parametrize("sampler", [None, "gibbs"])
def test_noisy_count(sampler: str | None) -> None:
    """A count of 12 people with discrete Laplace(.8), 5 seen: mean .428747, deviation .146947."""
    made = infer(ds.Release.of(ds.DiscreteLaplace("0.8"), 5), BetaBernoulli(1, 1), n=12, chains=24, draws=300, warmup=50,
                 seed=4, sampler=sampler)  # fmt: skip
    assert made.sampler == (sampler or "counts")
    assert_close(made.draws["theta"], 0.428747, 0.146947)


@pytest.mark.parametrize("sampler", [None, "sweep"])
def test_unknown_number_of_people(sampler: str | None) -> None:
    """n ~ Poisson(12), noisy count 10 and sum 8: mean of n 10.5293, of theta .674098 with deviation .208451."""
    made = infer(ds.Release.of(ds.DiscreteLaplace(2), [10, 8]), BetaBernoulli(1, 1), n=PoissonRows(12),
                 statistic=lambda x: [1, x], chains=32, draws=400, warmup=100, seed=5, sampler=sampler)  # fmt: skip
    assert_close(made.draws["theta"], 0.674098, 0.208451)
    assert_close(made.draws["n"], 10.5293)
    assert made.model["rows"] == {"law": "poisson", "mean": 12.0}


def reports() -> ds.Release:
    """Example 1: 400 people, two bits each (row, column), each bit flipped with chance 1/4."""
    counted = {(0, 1): 74, (0, 0): 102, (1, 1): 104, (1, 0): 120}
    said = np.array([bits for bits, count in counted.items() for _ in range(count)])
    return ds.Release.of(ds.RandomizedResponse.keeping("0.75", [0, 1]), said)


def test_table_of_reports() -> None:
    """Example 1 against the exact table, to its four digits; the odds ratio has median 2.17."""
    made = infer(reports(), DirichletMultinomial(1.0), chains=4, draws=32_000, seed=6)
    assert made.sampler == "independent"
    theta = made.draws["theta"].reshape(4, -1, 4)
    for cell, (mean, deviation) in enumerate(FOUR):
        assert abs(theta[..., cell].mean() - mean) < 0.00005 + 5 * deviation / np.sqrt(theta[..., cell].size)
        assert abs(theta[..., cell].std() - deviation) < 0.00005 + 5 * deviation / np.sqrt(2 * theta[..., cell].size)
    odds = theta[..., 3] * theta[..., 0] / (theta[..., 1] * theta[..., 2])
    assert abs(np.median(odds) - 2.17) < 0.03


def noisy_table() -> ds.Release:
    """Example 2: a table of 400 people with discrete Gaussian noise of deviation 6.25; it adds up to 398."""
    return ds.Release.of(ds.DiscreteGaussian("6.25"), [[110, 47], [131, 110]])


def test_noisy_table() -> None:
    """Example 2 against the exact table, to its four digits."""
    made = infer(noisy_table(), DirichletMultinomial(1.0), n=400, chains=32, draws=8000,
                 seed=7)  # fmt: skip
    theta = made.draws["theta"].reshape(32, -1, 4)
    for cell, (mean, deviation) in enumerate(((0.2760, 0.0259), (0.1200, 0.0210), (0.3280, 0.0269), (0.2760, 0.0259))):
        each = theta[..., cell].mean(1)
        assert abs(each.mean() - mean) < 0.00005 + 6 * each.std(ddof=1) / np.sqrt(32)
        assert abs(theta[..., cell].std() - deviation) < 0.0009


def test_two_ways_of_exact_counts_agree() -> None:
    """All tables one by one, and cell after cell by convolution, have the same posterior: 40,000 draws of each."""
    from discreet.core.x64 import doubles, jax
    from discreet.inference.inferring import prepare
    from discreet.inference.samplers import counts

    release = ds.Release.of(ds.Laplace("1.5"), [4.2, 9.9, 1.3])
    for n in (14, PoissonRows(12)):
        with doubles():
            problem = prepare(release, DirichletMultinomial((0.5, 1.0, 2.0)), n)
            every = counts._enumerate(problem, jax.random.key(0), 40_000).counts
            folded = counts._convolve(problem, jax.random.key(1), 40_000)
        assert folded is not None
        for cell in range(3):
            for power in (1, 2):
                a, b = every[:, cell].astype(float) ** power, folded.counts[:, cell].astype(float) ** power
                assert abs(a.mean() - b.mean()) < 5 * np.sqrt((a.var() + b.var()) / 40_000)
        assert (folded.counts >= 0).all()
        assert n != 14 or (folded.counts.sum(1) == 14).all()


def test_limits_of_the_noise() -> None:
    """With hardly any noise the posterior is that of the true table; with nothing but noise it is the prior."""
    sharp = infer(ds.Release.of(ds.Laplace("1e-4"), [7.0]), BetaBernoulli(2, 3), n=10, chains=32, draws=600, seed=8)
    assert_close(sharp.draws["theta"], 9 / 15, float(np.sqrt(9 * 6 / (15**2 * 16))))
    blunt = infer(ds.Release.of(ds.Laplace("1e6"), [7.0]), BetaBernoulli(2, 3), n=10, chains=32, draws=600, seed=9)
    assert_close(blunt.draws["theta"], 0.4, float(np.sqrt(0.04)))
    model = Normal(0, 2, variance=1.0)
    for scale, mean, deviation in (("0.001", 2.0 * 0.8, np.sqrt(0.8)), (10**6, 0.0, 2.0)):
        release = ds.Release.of(ds.Gaussian(scale), 2.0)
        made = infer(release, model, n=1, statistic=lambda x: x, chains=32, draws=300, warmup=50, seed=10)
        assert_close(made.draws["mean"], mean, float(deviation))


def test_interweaving_does_not_stick() -> None:
    """x ~ N(theta, 1), one record, epsilon = 0.1: lag-1 correlation 1/(1 + epsilon**2) = .99 for the sweep, below .1 here.

    48 chains of 500: the error of a correlation is about .0065, and .1 is fifteen of them.
    """
    release = ds.Release.of(ds.Gaussian(10), 3.0)
    made = infer(release, Normal(0, 100, variance=1.0), n=1, statistic=lambda x: x, chains=48, draws=500, warmup=50, seed=12)
    draws = made.draws["mean"]
    centred = draws - draws.mean()
    assert abs((centred[:, 1:] * centred[:, :-1]).mean() / (centred**2).mean()) < 0.1
    # The posterior is normal: precision 1/100**2 + 1/(1 + 100), mean 3 / (1 + 101/100**2).
    assert_close(draws, 3 / (1 + 101 / 1e4), float(np.sqrt(1 / (1e-4 + 1 / 101))))


def test_the_normal_law_of_a_sum_over_few_people_is_as_good_as_the_exact_one() -> None:
    """At the fewest people that ``summary`` is chosen for: its draws against a grid of the exact posterior, by Fourier.

    Values are normal, moved to [0, 1], and half of all people are moved to 0. Draws are worth at least 1,000: a mean is off
    by .032 posterior deviations, so .2 is 6 of them, and a deviation by 5 % where it is 30 % of tails; .2 of it is let pass.
    """
    people, scale, seen = ADVISED_SUMS, 0.5, 14.0
    law, model = ds.Laplace(scale), Normal(0.3, 1.0, variance=0.04)
    made = infer(ds.Release.of(law, [seen]), model, n=people, seed=5, sampler="summary", draws=2000,
                 statistic=lambda x: jnp.clip(x, 0.0, 1.0))  # fmt: skip
    means, normal = np.linspace(-0.4, 0.4, 81), np.linspace(-8, 8, 401)
    weights = np.exp(-(normal**2) / 2) / np.exp(-(normal**2) / 2).sum()
    step, size = 0.05, 1 << 12
    places, turns = step * np.arange(size), 2 * np.pi * np.fft.rfftfreq(size, step)
    chances = []
    for mean in means:
        each = np.clip(mean + 0.2 * normal, 0.0, 1.0)
        waves = np.exp(-1j * np.outer(turns, each)) @ weights
        law_of_sum = np.fft.irfft(waves**people, size)
        chances.append(law_of_sum @ np.exp(-np.abs(seen - places) / scale) * np.exp(-((mean - 0.3) ** 2) / 2))
    shares = np.array(chances) / sum(chances)
    middle = shares @ means
    spread = np.sqrt(shares @ (means - middle) ** 2)
    assert made.summary()["mean"]["ess_bulk"] > 1000
    assert abs(made.draws["mean"].mean() - middle) < 0.2 * spread
    assert abs(made.draws["mean"].std() / spread - 1) < 0.2
