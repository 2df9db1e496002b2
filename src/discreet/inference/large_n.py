"""Latent summaries for large n: the total is taken to be normal given theta. Approximate, and labelled so.

S | theta ~ N(n m(theta), n V(theta)) with m, V the mean and covariance of t(x); then noise is added. Gaussian noise of
standard deviation d adds d**2 to the variance; Laplace noise of scale b is N(0, b**2 W) with W ~ Exponential of mean 2.
NUTS (Hoffman and Gelman 2014) moves theta, W and, where it is unknown, n, which is then taken to be a real number.

Holds approximately, when n is large: by the central limit theorem with an error of the order 1/sqrt(n), and without the
clamps of a release being rare events (then n has to be larger). The release must be a total with independent Laplace or
Gaussian noise; discrete laws are taken to be continuous, grids to be fine. Moments are sums over cells for tables and
counts; for other models they are means over fixed points, see ``_normal_points``.

Proof: the approximation is in the law of S alone; given it the density is written down and NUTS leaves it invariant.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from discreet.errors import InvalidRequest
from discreet.inference._jax import jax, jnp
from discreet.inference.models.base import Array, FiniteModel, FreeModel, NoiseModel, Theta
from discreet.inference.problem import Kernel, Problem, State, count_of
from discreet.inference.rows import Rows

_LINE = 401  # points of the rule in one dimension
_POINTS = 11  # the power of two of points in several
ADVISED = 20_000  # from this many records on it is chosen by itself, where no exact sampler is made for the model


def takes_summary(problem: Problem) -> bool:
    """Whether the release is a total with independent Laplace or Gaussian noise."""
    evidence = problem.evidence
    laws = all(p.law.shape in ("laplace", "gaussian") and p.statistic.finish is None for p in evidence.parts)
    return laws and bool(evidence.parts) and not evidence.indexed and "summary" in problem.model.samplers


def summary(problem: Problem, warmup: int) -> Kernel:
    """The sampler; its warm-up (of the step size and the mass matrix) is part of its start."""
    model = problem.model
    if not takes_summary(problem) or not isinstance(model, FreeModel):
        raise InvalidRequest(
            "the sampler 'summary' needs totals with Laplace or Gaussian noise and a model with moments; use 'sweep'"
        )
    import blackjax  # type: ignore[import-untyped]

    laplace = np.concatenate([np.full(p.values.size, p.law.shape == "laplace") for p in problem.evidence.parts])
    deviation = np.concatenate([p.law.deviation for p in problem.evidence.parts])
    unknown = isinstance(problem.rows, Rows)
    moments = _moments(problem)

    def read(point: dict[str, Array]) -> tuple[Theta, Array]:
        n = jnp.exp(point["log_n"]) if unknown else jnp.asarray(float(problem.capacity))
        return model.from_free(point["free"]), n

    def log_density(point: dict[str, Array], values: Array) -> Array:
        theta, n = read(point)
        mean, covariance = moments(theta, values)
        log_w = jnp.zeros(laplace.shape).at[np.flatnonzero(laplace)].set(point["log_w"])
        # The deviation of Laplace noise is sqrt(2) scales, so that its variance given W is deviation**2 W / 2.
        noise = deviation**2 * jnp.where(laplace, jnp.exp(log_w) / 2, 1.0)
        root = jnp.linalg.cholesky(n * covariance + jnp.diag(noise))
        apart = jax.scipy.linalg.solve_triangular(root, values - n * mean, lower=True)
        fit = -0.5 * jnp.sum(apart**2) - jnp.sum(jnp.log(jnp.diagonal(root)))
        prior = model.log_prior(point["free"]) + jnp.sum(point["log_w"] - jnp.exp(point["log_w"]) / 2)
        if isinstance(problem.rows, Rows):
            prior += problem.rows.log_prior(n) + point["log_n"]
        return fit + prior

    def start(key: Array, values: Array) -> State:
        first, second, third = jax.random.split(key, 3)
        n = problem._start_n(third, values)
        theta = problem._start_theta(first, values, n)
        point = {"free": model.to_free(theta), "log_w": jnp.zeros(int(laplace.sum()))}
        if unknown:
            counted = count_of(problem.evidence, values)
            point["log_n"] = jnp.log(jnp.maximum(1.0, n * 1.0 if counted is None else counted))

        def here(point: dict[str, Array]) -> Array:
            return log_density(point, values)

        adapt = blackjax.window_adaptation(blackjax.nuts, here)
        (state, parameters), _ = adapt.run(second, point, num_steps=max(warmup, 100))
        return {
            "point": state.position, "step_size": parameters["step_size"], "mass": parameters["inverse_mass_matrix"],
            "theta": model.from_free(state.position["free"]), "log_prob": state.logdensity,
        }  # fmt: skip

    kernel = blackjax.nuts.build_kernel()

    def step(key: Array, state: State, values: Array) -> tuple[State, dict[str, Any]]:
        def here(point: dict[str, Array]) -> Array:
            return log_density(point, values)

        before = blackjax.nuts.init(state["point"], here)
        after, info = kernel(key, before, here, state["step_size"], state["mass"])
        theta, n = read(after.position)
        stats = {"acceptance_rate": info.acceptance_rate, "diverging": info.is_divergent} | ({"n": n} if unknown else {})
        return {**state, "point": after.position, "theta": theta, "log_prob": after.logdensity}, {
            "theta": theta,
            "stats": stats,
        }

    return Kernel("summary", start, step)


def _moments(problem: Problem) -> Any:
    """The mean and covariance of t(x) given theta."""
    model, evidence = problem.model, problem.evidence

    def weighted(weight: Array, each: Array) -> tuple[Array, Array]:
        mean = weight @ each
        apart = each - mean
        return mean, (apart * weight[:, None]).T @ apart

    if isinstance(model, FiniteModel):

        def over_cells(theta: Theta, values: Array) -> tuple[Array, Array]:
            cells = model.support()
            return weighted(jnp.exp(model.log_cells(theta)), evidence.smooth(cells, jnp.arange(model.cells), values))

        return over_cells
    if not isinstance(model, NoiseModel):
        raise InvalidRequest(
            f"the sampler 'summary' needs the moments of {model.name!r}, which it does not tell; use 'sweep'"
        )
    points, chances = _normal_points(model.noise_size)

    def over_points(theta: Theta, values: Array) -> tuple[Array, Array]:
        branches = model.branches(model.noise_at(jnp.asarray(points)), theta)
        index = jnp.arange(chances.size)
        weights = [weight * jnp.asarray(chances) for weight, _ in branches]
        each = [evidence.smooth(records, index, values) for _, records in branches]
        return weighted(jnp.concatenate(weights), jnp.concatenate(each))

    return over_points


def _normal_points(size: int) -> tuple[Any, Any]:
    """Points and weights for means over standard normal numbers.

    One number: the trapezoidal rule between -8 and 8, which is exact to the last digits for smooth functions and to
    1e-4 of a standard deviation across a clamp. Several: a Sobol sequence, moved and stretched so that its mean and
    covariance are exact: means of linear and quadratic statistics are then exact too, clamps aside.
    """
    from scipy.special import ndtri
    from scipy.stats import qmc

    if size == 1:
        places = np.linspace(-8.0, 8.0, _LINE)
        weights = np.exp(-(places**2) / 2)
        return places[:, None], weights / weights.sum()
    count = 1 << _POINTS
    raw = ndtri(qmc.Sobol(size, scramble=False).random_base2(_POINTS) + 0.5 / count)
    apart = raw - raw.mean(0)
    root = np.linalg.cholesky(apart.T @ apart / count)
    return np.linalg.solve(root, apart.T).T, np.full(count, 1 / count)
