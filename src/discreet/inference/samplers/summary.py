"""Latent summaries for large n: the total is taken to be normal given theta. Approximate, and labelled so.

S | theta ~ N(n m(theta), n V(theta)) with m, V the mean and covariance of t(x); then noise is added. Gaussian noise of
standard deviation d adds d**2 to the variance; Laplace noise of scale b is N(0, b**2 W) with W ~ Exponential of mean 2.
Records are gone, so that a step costs the same for any n. It is made of rounds of two moves: theta and, where it is
unknown, n (then taken to be a real number) given W, by Metropolis steps along differences of pairs of points from an
archive; and W given theta. The archive comes from the start: a population that goes from the prior to about the posterior
by degrees, see ``annealing``. No gradient is needed, and no tuning.

With several rows a person the variance of S is multiplied by a design effect: at most the rows that a person may have,
reached where rows of one person are all alike.

Holds approximately, when n is large: by the central limit theorem with an error of the order 1/sqrt(n), and without the
clamps of a release being rare events (then n has to be larger). The release must be a total with independent Laplace or
Gaussian noise; discrete laws are taken to be continuous, grids to be fine. Moments are sums over cells for tables and
counts; for other models they are means over fixed points, see ``_normal_points``.

Proof: the approximation is in the law of S alone; given it the density of (theta, n, W) is written down. The archive does
not change after the start, and a difference of two of its points is proposed as often as its opposite: Metropolis with
the ratio of densities leaves the law invariant. For W the noise e is drawn first given all else (a normal law: S and e
are drawn from their prior, and corrected by what was seen), and given e the coordinates of W are independent: p(W | e) is
proportional to W**(-1/2) exp(-W/2 - (e/b)**2 / (2 W)), that is 1/W is inverse Gaussian with mean b/abs(e) and shape 1.
Drawing (e, W) after theta is a Gibbs step on the joint law with e in it.

Reference: ter Braak and Vrugt, "Differential evolution Markov chain with snooker updater and fewer chains", Statistics and
Computing 18 (2008); Michael, Schucany and Haas, "Generating random variates using transformations with multiple roots",
The American Statistician 30 (1976).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from discreet.core.x64 import jax, jnp
from discreet.errors import InvalidRequest
from discreet.inference.models.base import Array, FiniteModel, FreeModel, NoiseModel, Theta
from discreet.inference.models.rows import Rows
from discreet.inference.samplers.annealing import MOVES, SIZE, agreed, populations, walk
from discreet.inference.samplers.compiled import compiled_for
from discreet.inference.samplers.numpy_draws import Generator, of_keys
from discreet.inference.samplers.problem import Kernel, SamplingProblem, State, count_of, prior_place

_LINE = 401  # points of the rule in one dimension
_POINTS, _FEWER = 10, 7  # powers of two of points in several; fewer are enough to find a start
_ROUNDS = 3  # of moves of theta and of W in one step
_TOGETHER = 4  # populations, of chains that have seen the same, in the archive of each: one alone may be lopsided
_MOVES = 8  # of theta in one step, for each of its coordinates
_FEW, _JUMPS = 10.0, 5.0  # people behind a total below which it is not normal; noise in jumps above which nobody sees it
ADVISED = 1000  # from this many records on it is chosen by itself, where no exact sampler is made for the model
# Of sums of one number from this many on: measured against the exact law of the sum, by Fourier, at 100 people: the whole
# posterior is off by .4 % of its probability, 1.1 % where half of all people are moved to a bound.
ADVISED_SUMS = 200
WARMUP = 100  # steps after which the start is forgotten
Floats = npt.NDArray[np.float64]
Moments = tuple[Array, Array, Array]  # the mean, the covariance, and the third central moment of each coordinate


def takes_summary(problem: SamplingProblem) -> bool:
    """Whether the release is a total with independent Laplace or Gaussian noise."""
    evidence = problem.evidence
    laws = all(p.law.law.tails != "other" and p.statistic.finish is None for p in evidence.parts)
    return laws and bool(evidence.parts) and not evidence.indexed and "summary" in problem.model.samplers


def summary(problem: SamplingProblem) -> Kernel:  # noqa: PLR0915
    """The sampler."""
    model = problem.model
    if not takes_summary(problem) or not isinstance(model, FreeModel):
        raise InvalidRequest(
            "the sampler 'summary' needs totals with Laplace or Gaussian noise and a model with moments; use 'sweep'"
        )
    laplace = np.concatenate([np.full(p.values.size, p.law.law.tails == "laplace") for p in problem.evidence.parts])
    deviation = np.concatenate([p.law.deviation for p in problem.evidence.parts])
    unknown = isinstance(problem.rows, Rows)
    fine, coarse = _moments(problem, _POINTS), _moments(problem, _FEWER)
    effect, prior = problem.design_effect, prior_place(model)

    def read(point: Array) -> tuple[Theta, Array]:
        n = point[-1] if unknown else jnp.asarray(float(problem.capacity))
        return model.from_free(point[:-1] if unknown else point), n

    def log_prior(point: Array) -> Array:
        if isinstance(problem.rows, Rows):
            return model.log_prior(point[:-1]) + jnp.where(point[-1] >= 1, problem.rows.log_prior(point[-1]), -jnp.inf)
        return model.log_prior(point)

    def noise_of(w: Array) -> Array:
        # The deviation of Laplace noise is sqrt(2) scales, so that its variance given W is deviation**2 W / 2.
        return deviation**2 * jnp.where(laplace, w / 2, 1.0)

    def given(point: Array, moments: Moments, w: Array, values: Array) -> Array:
        """The log-density of a point and of what was seen, given the moments there and W."""
        n, (mean, covariance, _) = read(point)[1], moments
        root = jnp.linalg.cholesky(effect * n * covariance + jnp.diag(noise_of(w)))
        apart = jax.scipy.linalg.solve_triangular(root, values - n * mean, lower=True)
        return log_prior(point) - 0.5 * jnp.sum(apart**2) - jnp.sum(jnp.log(jnp.diagonal(root)))

    def start(keys: Array, values: Array) -> tuple[State, float]:
        """Of all chains at once. Where they have seen the same, one whose start was lost begins where the best does."""
        usual, lines = np.where(laplace, 2.0, 1.0), len(keys)

        def roughly(point: Array, values: Array) -> Array:
            return given(point, coarse(read(point)[0], values), usual, values)

        middle, width = _of_chains(problem, prior, values, lines)
        seen = np.broadcast_to(np.asarray(values), (lines, values.shape[-1]))
        some = np.zeros((lines, SIZE, middle.shape[1]))
        density, seconds = compiled_for(jax.vmap(jax.vmap(roughly, (0, None))), "least", some, seen)
        archive, found = populations(
            _chances(of_keys(keys), middle.shape[1]), middle, width, lambda points: density(points, seen)
        )
        if values.ndim == 1:
            archive = archive[agreed(found, middle.shape[1])]
            beside = (np.arange(lines)[:, None] + np.arange(min(lines, _TOGETHER))) % lines
            archive = archive[beside].reshape(lines, -1, middle.shape[1])  # its own first, then those of its neighbours
        place = np.arange(len(archive))
        return {
            "point": archive[place, place % SIZE], "archive": archive, "theta": {},
            "w": np.broadcast_to(usual, seen.shape), "log_prob": found,
        }, seconds  # fmt: skip

    def noise_given(normal: Array, point: Array, moments: Moments, w: Array, values: Array) -> Array:
        """The noise given theta, n, W and what was seen."""
        n, (mean, covariance, _) = read(point)[1], moments
        variance, spread = noise_of(w), effect * n * covariance
        size, axes = jnp.linalg.eigh(spread)  # no root of Cholesky's: where totals add up to n it is singular
        total = axes @ (jnp.sqrt(jnp.maximum(size, 0.0)) * normal[0])
        noise = jnp.sqrt(variance) * normal[1]
        short = values - n * mean - total - noise
        root = jnp.linalg.cholesky(spread + jnp.diag(variance))
        return noise + variance * jax.scipy.linalg.cho_solve((root, True), short)

    def step(key: Array, state: State, values: Array) -> tuple[State, dict[str, Any]]:
        archive = state["archive"]
        moves = max(1, _MOVES * archive.shape[1] // _ROUNDS)

        def once(carry: tuple[Array, ...], numbers: tuple[Any, ...]) -> tuple[tuple[Array, ...], Array]:
            (point, moments, w), (uniform, normal) = carry, numbers
            steps = uniform[: 4 * moves].reshape(4, moves), normal[: point.size * moves].reshape(moves, point.size)
            mixed, apart = uniform[4 * moves :], normal[point.size * moves :].reshape(3, values.size)

            def there(point: Array) -> tuple[Moments, Array]:
                found = fine(read(point)[0], values)
                return found, given(point, found, w, values)

            here = moments, given(point, moments, w, values)
            point, (moments, _), rate = walk(steps, there, point, here, archive)
            if laplace.any():
                noise = noise_given(apart, point, moments, w, values)
                w = jnp.where(laplace, _mixing(apart[2], mixed, noise / (deviation / np.sqrt(2))), 1.0)
            return (point, moments, w), rate

        begun = state["point"], fine(read(state["point"])[0], values), state["w"]
        # Random numbers are drawn in one place: every other place would have to be compiled too.
        even, normal = 4 * moves + values.size, archive.shape[1] * moves + 3 * values.size
        chance = jax.random.uniform(key, (_ROUNDS, even + normal), minval=np.nextafter(-1.0, 0.0))
        numbers = (chance[:, :even] + 1) / 2, np.sqrt(2) * jax.scipy.special.erfinv(chance[:, even:])
        (point, moments, w), rates = jax.lax.scan(once, begun, numbers)
        theta, n = read(point)
        stats = {"acceptance_rate": jnp.mean(rates), "rare": _rare(moments, n, deviation)}
        stats |= {"n": n} if unknown else {}
        return {**state, "point": point, "w": w}, {"theta": theta, "stats": stats}

    return Kernel("summary", start, step, heavy=True, together=True)


def _chances(chains: Sequence[Generator], coordinates: int) -> Iterator[tuple[Floats, Floats]]:
    """The numbers of round after round, every chain's its own."""
    while True:
        uniform = np.stack([1.0 - random.random((4, MOVES, SIZE)) for random in chains])  # never 0: logarithms are taken
        yield uniform, np.stack([random.standard_normal((MOVES, SIZE, coordinates)) for random in chains])


def _of_chains(problem: SamplingProblem, prior: tuple[Floats, Floats], values: Array, chains: int) -> tuple[Floats, Floats]:
    """Where points of the prior lie, and how wide, one line for each chain; an unknown n is where it was counted."""
    middle, width = (np.tile(part, (chains, 1)) for part in prior)
    if not isinstance(problem.rows, Rows):
        return middle, width
    most = max(1, problem.rows.most)
    seen = np.broadcast_to(np.asarray(values), (chains, np.shape(values)[-1]))
    counted = count_of(problem.evidence, seen)
    if counted is None:
        chances = np.exp(np.asarray(jax.vmap(problem.rows.log_prior)(jnp.arange(most + 1.0))))
        chances /= chances.sum()
        n = np.arange(most + 1) @ chances
        wide = np.sqrt((np.arange(most + 1) - n) ** 2 @ chances)
    else:
        n, wide = counted, np.sqrt(sum(np.sum(part.law.deviation**2) for part in problem.evidence.parts))
    low, high = (np.broadcast_to(np.clip(n + sign * wide, 1.0, most), chains) for sign in (-1, 1))
    beside = np.broadcast_to(np.clip(n, 1.0, most), chains)
    return np.column_stack([middle, beside]), np.column_stack([width, (high - low) / 2])


def _rare(moments: Moments, n: Array, deviation: Any) -> Array:
    """Whether a total is a sum over so few people that it is far from normal, and the noise does not hide it.

    Sums over people who add a jump j with a small chance have skewness 1/sqrt(expected number of them) and third over
    second cumulant j: fewer than ten, and noise below five jumps.
    """
    _, covariance, third = moments
    second = jnp.diagonal(covariance)
    skewed = third**2 * _FEW > n * second**3
    return jnp.any(skewed & (deviation * second < _JUMPS * jnp.abs(third))) * 1.0


def _mixing(normal: Array, uniform: Array, noise: Array) -> Array:
    """W given Laplace noise in units of its scale: 1/W is inverse Gaussian with mean 1/abs(noise) and shape 1."""
    size = jnp.maximum(jnp.abs(noise), 1e-9)
    mean, square = 1 / size, normal**2
    # The smaller root of Michael, Schucany and Haas, written without a difference of large numbers.
    half = mean * square / 2
    small = mean / (1 + half + jnp.sqrt(half * (half + 2)))
    take = uniform <= mean / (mean + small)
    return 1 / jnp.where(take, small, mean**2 / small)


def _moments(problem: SamplingProblem, power: int) -> Callable[[Theta, Array], Moments]:
    """The moments of t(x) given theta, and given what was seen where t depends on it."""
    points = _points(problem, power)

    def moments(theta: Theta, values: Array) -> Moments:
        weight, each = points(theta, values)
        mean = weight @ each
        apart = each - mean
        weighted = apart * weight[:, None]
        return mean, weighted.T @ apart, jnp.sum(weighted * apart**2, axis=0)

    return moments


def _points(problem: SamplingProblem, power: int) -> Callable[[Theta, Array], tuple[Array, Array]]:
    """Weights and lines whose moments are those of t(x) given theta."""
    model, evidence = problem.model, problem.evidence
    if isinstance(model, FiniteModel):

        def over_cells(theta: Theta, values: Array) -> tuple[Array, Array]:
            cells = model.support()
            return jnp.exp(model.log_cells(theta)), evidence.smooth(cells, jnp.arange(model.cells), values)

        return over_cells
    if not isinstance(model, NoiseModel):
        raise InvalidRequest(
            f"the sampler 'summary' needs the moments of {model.name!r}, which it does not tell; use 'sweep'"
        )
    points, chances = _normal_points(model.noise_size, power)

    def over_points(theta: Theta, values: Array) -> tuple[Array, Array]:
        branches = model.branches(model.noise_at(jnp.asarray(points)), theta)
        index = jnp.arange(chances.size)
        weights = [weight * jnp.asarray(chances) for weight, _ in branches]
        each = [evidence.smooth(records, index, values) for _, records in branches]
        return jnp.concatenate(weights), jnp.concatenate(each)

    return over_points


def _normal_points(size: int, power: int) -> tuple[Any, Any]:
    """Points and weights for means over standard normal numbers.

    One number: the trapezoidal rule between -8 and 8, which is exact to the last digits for smooth functions and to
    1e-4 of a standard deviation across a clamp. Several: a Sobol sequence, moved and stretched so that its mean and
    covariance are exact: means of linear and quadratic statistics are then exact too, clamps aside.
    """
    if size == 1:
        places = np.linspace(-8.0, 8.0, _LINE)
        weights = np.exp(-(places**2) / 2)
        return places[:, None], weights / weights.sum()
    from scipy.special import ndtri
    from scipy.stats import qmc

    count = 1 << power
    raw = ndtri(qmc.Sobol(size, scramble=False).random_base2(power) + 0.5 / count)
    apart = raw - raw.mean(0)
    root = np.linalg.cholesky(apart.T @ apart / count)
    return np.linalg.solve(root, apart.T).T, np.full(count, 1 / count)
