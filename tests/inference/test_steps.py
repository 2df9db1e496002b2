"""The pieces samplers are made of, each against a law that is known: slices, and populations that find a posterior."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from discreet.core.x64 import doubles, jax, jnp
from discreet.inference.samplers.annealing import SIZE, agreed, populations
from discreet.inference.samplers.slices import slice_along


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

    points, found = populations(np.random.default_rng(2), np.zeros((lines, 2)), np.ones((lines, 2)), log_density)
    assert points.shape == (lines, SIZE, 2)
    np.testing.assert_allclose(found, log_density(points), rtol=1e-12)
    apart = (points - places[:, None]) / width
    assert np.abs(apart.mean((0, 1))).max() < 6 * 2 / np.sqrt(lines * SIZE)
    np.testing.assert_allclose(apart.std((0, 1)), 1.0, atol=0.15)


def test_a_population_never_stands_where_the_density_is_no_number() -> None:
    def log_density(points: np.ndarray) -> np.ndarray:
        with np.errstate(invalid="ignore"):
            return np.where(points[..., 0] < 0, np.nan, -points[..., 0])

    points, _ = populations(np.random.default_rng(4), np.zeros((3, 1)), np.ones((3, 1)), log_density)
    assert (points >= 0).all()


def test_a_lost_population_takes_the_best_one() -> None:
    assert agreed(np.array([[-3.0, -4.0], [-900.0, -950.0], [-2.0, -2.5]]), 2).tolist() == [0, 2, 2]
