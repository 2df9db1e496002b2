"""The pieces samplers are made of, each against a law that is known: slices, and populations that find a posterior."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
from scipy import stats

from discreet.core.x64 import doubles, jax, jnp
from discreet.inference import BetaBernoulli, DirichletMultinomial, GammaPoisson, Normal
from discreet.inference.models.base import FreeModel
from discreet.inference.samplers.annealing import MOVES, SIZE, agreed, populations
from discreet.inference.samplers.numpy_draws import fresh_keys
from discreet.inference.samplers.slices import slice_along


def chances(seed: int, lines: int, coordinates: int) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    random = np.random.default_rng(seed)
    while True:
        yield random.random((lines, 4, MOVES, SIZE)), random.standard_normal((lines, MOVES, SIZE, coordinates))


@pytest.mark.parametrize("width", [0.2, 3.0, 50.0])
def test_a_slice_leaves_a_lopsided_law_as_it_is(width: float) -> None:
    """20,000 draws of a gamma law, each moved once: one Kolmogorov-Smirnov test, false alarms one in a million."""
    drawn = np.random.default_rng(5).gamma(2.0, size=20_000)

    def log_density(point: jax.Array) -> jax.Array:
        x = point[0]
        return jnp.where(x > 0, jnp.log(jnp.abs(x)) - x, -jnp.inf)

    def move(key: jax.Array, x: jax.Array) -> jax.Array:
        point = jnp.stack([x])
        return slice_along(key, log_density, point, log_density(point), jnp.asarray([width]))[0][0]

    with doubles():
        keys = jax.random.split(jax.random.key(3), drawn.size)
        moved = np.asarray(jax.jit(jax.vmap(move))(keys, jnp.asarray(drawn)))
    assert (moved != drawn).mean() > 0.99
    assert stats.kstest(moved, stats.gamma(2.0).cdf).pvalue > 1e-6


def test_populations_find_a_posterior_far_out_in_the_prior() -> None:
    """Of 40 populations of 64 points: centre and width of a narrow law 6 prior deviations away, each line its own.

    The mean of 40 centres is within 6 standard errors where points are worth a fourth of independent ones.
    """
    lines, centre, width = 40, np.array([6.0, -4.0]), np.array([0.05, 0.3])
    places = centre + np.arange(lines)[:, None] * np.array([0.01, -0.01])

    def log_density(points: np.ndarray) -> np.ndarray:
        return -0.5 * np.sum(((points - places[:, None]) / width) ** 2, axis=-1)

    points, found = populations(chances(2, lines, 2), np.zeros((lines, 2)), np.ones((lines, 2)), log_density)
    assert points.shape == (lines, SIZE, 2)
    np.testing.assert_allclose(found, log_density(points), rtol=1e-12)
    apart = (points - places[:, None]) / width
    assert np.abs(apart.mean((0, 1))).max() < 6 * 2 / np.sqrt(lines * SIZE)
    np.testing.assert_allclose(apart.std((0, 1)), 1.0, atol=0.15)


def test_a_population_never_stands_where_the_density_is_no_number() -> None:
    def log_density(points: np.ndarray) -> np.ndarray:
        with np.errstate(invalid="ignore"):
            return np.where(points[..., 0] < 0, np.nan, -points[..., 0])

    points, _ = populations(chances(4, 3, 1), np.zeros((3, 1)), np.ones((3, 1)), log_density)
    assert (points >= 0).all()


def test_a_lost_population_takes_the_best_one() -> None:
    assert agreed(np.array([[-3.0, -4.0], [-900.0, -950.0], [-2.0, -2.5]]), 2).tolist() == [0, 2, 2]


@pytest.mark.parametrize(
    "model",
    [
        Normal(3.0, 2.0, variance=(4.0, 20.0)),
        Normal(-1.0, 0.1, variance=2.0),
        BetaBernoulli(2.0, 0.5),
        DirichletMultinomial([1.0, 3.0, 0.7], shape=3),
        GammaPoisson(1.5, 0.2),
    ],
    ids=lambda model: model.name,
)
def test_quantiles_of_a_prior_are_those_of_its_draws(model: FreeModel) -> None:
    """20,000 draws; each of at most 15 shares below a quantile is binomial: beyond 5.8 deviations once in 10**7."""
    levels, size = np.array([0.16, 0.5, 0.84]), 20_000
    with doubles():
        keys = jax.random.split(jax.random.key(8), size)
        drawn = np.asarray(jax.jit(jax.vmap(lambda key: model.to_free(model.draw_prior(key))))(keys))
    said = model.prior_quantiles(levels)
    assert said is not None
    assert said.shape == (3, drawn.shape[1])
    below = (drawn[:, None] < said).mean(0)
    assert (np.abs(below - levels[:, None]) < 5.8 * np.sqrt(levels * (1 - levels) / size)[:, None]).all()


def test_new_keys_are_all_different_and_follow_from_the_key() -> None:
    first, again, other = (fresh_keys(jax.random.key(seed), 2, 50) for seed in (1, 1, 2))
    words = [np.concatenate([jax.random.key_data(group) for group in groups]) for groups in (first, again, other)]
    np.testing.assert_array_equal(words[0], words[1])
    assert len({tuple(line) for line in np.concatenate([words[0], words[2]]).tolist()}) == 200
