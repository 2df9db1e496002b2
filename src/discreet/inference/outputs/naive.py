"""The analysis that takes released numbers for exact: too narrow, and off by what the noise was. For comparison only.

Each function returns a ``Posterior`` of independent draws with the same priors as the models of this package, so that
pictures, summaries and derived quantities work the same way.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
from scipy.special import betaincinv, gammaincinv, ndtri

from discreet.core.random import Random
from discreet.errors import InvalidRequest
from discreet.inference.evidence.groups import divided
from discreet.inference.outputs.moments import Moments
from discreet.inference.outputs.names import axes_of
from discreet.inference.outputs.posterior import Posterior

if TYPE_CHECKING:
    from discreet.inference.outputs.posterior import Posterior

Floats = npt.NDArray[np.float64]
Variance = float | tuple[float, float]

DRAWS = 4000
_SWEEPS = 50  # Gibbs steps of each draw's own chain; from the least squares fit a few suffice


def naive(posterior: Posterior, seed: int = 0) -> Posterior:
    """The naive analysis with the model, the prior and the releases of a posterior."""
    from dataclasses import replace

    model = posterior.model
    kind = str(model.get("model"))
    if kind not in _KINDS:
        raise InvalidRequest(
            f"no naive analysis is known for the model {kind!r}; make one and give it as plot_comparison(other=...)"
        )
    if model.get("groups"):
        return _by_group(posterior, seed)
    made = _KINDS[kind](posterior, seed)
    return replace(made, model=model, releases=posterior.releases)


def _by_group(posterior: Posterior, seed: int) -> Posterior:
    """Each group by itself, side by side as in the posterior."""
    from dataclasses import replace

    groups = divided(posterior.releases, posterior.model["groups"])
    alone = {key: value for key, value in posterior.model.items() if key not in ("groups", "axes")}
    made = []
    for place, releases in enumerate(groups.releases):
        at: Any = (slice(None), slice(None), *np.unravel_index(place, groups.shape))
        draws = {name: array[at] for name, array in posterior.draws.items()}
        made.append(naive(replace(posterior, draws=draws, model=alone, releases=releases), seed))
    side = {name: np.stack([one.draws[name] for one in made], axis=2) for name in made[0].draws}
    shaped = {name: array.reshape(*array.shape[:2], *groups.shape, *array.shape[3:]) for name, array in side.items()}
    return replace(made[0], draws=shaped, model=posterior.model, releases=posterior.releases)


def table(counts: Any, alpha: Any = 1.0, *, seed: int = 0) -> Posterior:
    """theta ~ Dirichlet(alpha + counts) of a table of any shape; counts below zero are taken for zero."""
    cells = np.maximum(np.asarray(counts, np.float64), 0.0)
    weights = cells.ravel() + np.ravel(np.asarray(alpha, np.float64))  # one for all, or one for each in their order
    drawn = gammaincinv(weights, _uniform(seed, (DRAWS, weights.size)))
    drawn /= drawn.sum(axis=1, keepdims=True)
    return _made({"theta": drawn.reshape(DRAWS, *cells.shape)}, "dirichlet_multinomial")


def share(ones: float, rows: float, a: float = 1.0, b: float = 1.0, *, seed: int = 0) -> Posterior:
    """theta ~ Beta(a + ones, b + rows - ones), the count kept between 0 and ``rows``."""
    count = min(max(float(ones), 0.0), max(float(rows), 0.0))
    drawn = betaincinv(a + count, b + max(float(rows), 0.0) - count, _uniform(seed, (DRAWS,)))
    return _made({"theta": drawn}, "beta_bernoulli")


def rate(total: float, rows: float, shape: float = 1.0, inverse_scale: float = 1.0, *, seed: int = 0) -> Posterior:
    """rate ~ Gamma(shape + total, inverse_scale + rows)."""
    drawn = gammaincinv(shape + max(total, 0.0), _uniform(seed, (DRAWS,))) / (inverse_scale + rows)
    return _made({"rate": drawn}, "gamma_poisson")


def normal(
    rows: float, total: float, squares: float | None = None, *, mean: float = 0.0, deviation: float = 10.0,
    variance: Variance = (2.0, 1.0), seed: int = 0,
) -> Posterior:  # fmt: skip
    """Mean and variance of numbers whose count, sum and sum of squares are known.

    Without the sum of squares an unknown variance keeps its prior: the sum alone says nothing of it.
    """
    first = total / rows
    spread = 0.0 if squares is None else max(squares - rows * first**2, 0.0)
    moments = np.array([[rows, total], [total, rows * first**2 + spread]])
    seen = rows if squares is not None else 0.0
    made = _gibbs(moments, seen, np.array([mean]), deviation, variance, seed, squares is not None)
    made["mean"] = made.pop("beta")[:, 0]
    return _made(made, "normal")


def regression(
    moments: Any, rows: float, *, deviation: float = 10.0, variance: Variance = (2.0, 1.0), seed: int = 0
) -> Posterior:
    """Coefficients and variance from the matrix of sums of products of (1, x_1, ..., y), repaired first.

    With noise the matrix may have a negative eigenvalue, and then least squares has no least: it is replaced by the nearest
    matrix that has none (in Frobenius norm: negative eigenvalues become 0; Higham 1988).
    """
    matrix = np.asarray(moments, np.float64)
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1] or len(matrix) < 2:
        raise InvalidRequest(f"moments must be a square matrix of sums of products of (1, x, y), got shape {matrix.shape}")
    fixed = nearest_psd(matrix)
    made = _gibbs(fixed, max(rows, 1.0), np.zeros(len(fixed) - 1), deviation, variance, seed, known=True)
    return _made(made, "linear_regression")


def nearest_psd(matrix: Any) -> Floats:
    """The symmetric matrix without negative eigenvalues that is nearest in Frobenius norm."""
    array = np.asarray(matrix, np.float64)
    values, vectors = np.linalg.eigh((array + array.T) / 2)
    return np.asarray((vectors * np.maximum(values, 0.0)) @ vectors.T)


def _gibbs(
    moments: Floats, rows: float, centre: Floats, deviation: float, variance: Variance, seed: int, known: bool
) -> dict[str, Floats]:
    """beta ~ N(centre, deviation**2 I) and an inverse-gamma variance given sums of products of (design, y).

    Each draw is the end of a chain of its own: variance given beta, beta given variance, in turn. ``rows`` counts for the
    variance; where squares are not ``known`` it is drawn from its prior.
    """
    cross, product, square = moments[:-1, :-1], moments[:-1, -1], moments[-1, -1]
    values, vectors = np.linalg.eigh(cross)
    values = np.maximum(values, 0.0)
    middle, prior = vectors.T @ product, vectors.T @ centre / deviation**2
    prior_of_it = variance if isinstance(variance, tuple | list) else None
    sweeps = 1 if prior_of_it is None else _SWEEPS
    noise = ndtri(_uniform(seed, (sweeps, DRAWS, len(values))))
    shape = 1.0 if prior_of_it is None else prior_of_it[0] + rows / 2
    drawn = gammaincinv(shape, _uniform(seed + 1, (sweeps, DRAWS)))
    each = np.full(DRAWS, 1.0 if prior_of_it is not None else variance)
    rotated = np.tile((prior + middle) / (1 / deviation**2 + values), (DRAWS, 1))
    for sweep in range(sweeps):
        if prior_of_it is not None:
            rest = square - 2 * rotated @ middle + (rotated**2) @ values
            each = (prior_of_it[1] + (np.maximum(rest, 0.0) / 2 if known else 0.0)) / drawn[sweep]
        precision = 1 / deviation**2 + values / each[:, None]
        rotated = (prior + middle / each[:, None]) / precision + noise[sweep] / np.sqrt(precision)
    made: dict[str, Floats] = {"beta": rotated @ vectors.T}
    return made if prior_of_it is None else made | {"variance": each}


def _uniform(seed: int, shape: tuple[int, ...]) -> Floats:
    """Numbers between 0 and 1, to be sent through inverse distribution functions; loading scipy.stats takes longer."""
    words = Random(seed).words(math.prod(shape)) >> np.uint64(11)
    return np.asarray((words + 0.5) / 2**53).reshape(shape)


def _made(draws: dict[str, Floats], kind: str) -> Posterior:
    one = {name: np.asarray(array)[None] for name, array in draws.items()}
    return Posterior(one, {}, "naive", False, {"model": kind}, (), 0.0, 0.0)


def _rows(posterior: Posterior) -> float | None:
    """The number of people where it is public, else None."""
    found = posterior.model.get("n")
    return float(found) if isinstance(found, int | float) else None


def _table(posterior: Posterior, seed: int) -> Posterior:
    return table(_counts(posterior).reshape(posterior.draws["theta"].shape[2:]), posterior.model["alpha"], seed=seed)


def _counts(posterior: Posterior) -> Floats:
    """Released counts, or how often each combination of answers was reported."""
    release = posterior.releases[0]
    labels = getattr(release.mechanism, "categories", None)
    if labels is None:
        return np.asarray(release.value, np.float64)
    places = {label: i for i, label in enumerate(labels)}
    answers = np.vectorize(places.__getitem__, otypes=[np.intp])(np.asarray(release.value, dtype=object))
    shape = (len(labels),) * (answers.shape[1] if answers.ndim > 1 else 1)
    flat = np.ravel_multi_index(tuple(answers.reshape(len(answers), -1).T), shape)
    return np.bincount(flat, minlength=int(np.prod(shape))).astype(np.float64).reshape(shape)


def _share(posterior: Posterior, seed: int) -> Posterior:
    model, releases = posterior.model, posterior.releases
    prior = {"a": model["a"], "b": model["b"], "seed": seed}
    moments = Moments(releases, _rows(posterior))
    counts = _counts(posterior).ravel()
    if counts.size == 2 and not moments.columns:
        return share(float(counts[_success(posterior)]), float(counts.sum()), **prior)
    total = moments.of({moments.columns[0]: 1}) if moments.columns else float(counts[0])
    if total is None or moments.rows is None:
        raise InvalidRequest("the naive share needs the number of people, which no release says; give n to infer")
    return share(total, moments.rows, **prior)


def _success(posterior: Posterior) -> int:
    """Which of two counts is that of ones: the second, or that of the label which counts as one."""
    from discreet.inference.models.beta_bernoulli import BetaBernoulli

    release = posterior.releases[0]
    if release.query is None and not hasattr(release.mechanism, "categories"):
        return 1
    return BetaBernoulli(success=posterior.model.get("success")).place(axes_of("theta", (2,), {}, (release,))[0][1])


def _column(posterior: Posterior) -> tuple[float, float, float | None]:
    """Count, sum and sum of squares of the one column of a model."""
    moments = Moments(posterior.releases, _rows(posterior))
    names = posterior.model.get("columns") or moments.columns
    total = moments.of({names[0]: 1}) if names else None
    if total is None or moments.rows is None:
        raise InvalidRequest("the naive analysis needs the count and the sum of one column, and the releases lack them")
    return moments.rows, total, moments.of({names[0]: 2})


def _normal(posterior: Posterior, seed: int) -> Posterior:
    rows, total, squares = _column(posterior)
    prior = {name: posterior.model[name] for name in ("mean", "deviation", "variance")}
    return normal(rows, total, squares, **prior, seed=seed)


def _rate(posterior: Posterior, seed: int) -> Posterior:
    rows, total, _ = _column(posterior)
    return rate(total, rows, posterior.model["shape"], posterior.model["inverse_scale"], seed=seed)


def _regression(posterior: Posterior, seed: int) -> Posterior:
    model = posterior.model
    moments = Moments(posterior.releases, _rows(posterior))
    names = list(model.get("columns") or moments.columns)
    design: list[dict[str, int]] = [{}, *({name: 1} for name in names)]
    matrix = np.empty((len(design), len(design)))
    for i, left in enumerate(design):
        for j, right in enumerate(design):
            powers = {c: left.get(c, 0) + right.get(c, 0) for c in left | right}
            found = moments.of(powers)
            if found is None:
                words = " times ".join(f"{c}**{p}" if p > 1 else c for c, p in powers.items()) or "1"
                raise InvalidRequest(f"naive least squares needs the sum of {words}, and no release has it")
            matrix[i, j] = found
    assert moments.rows is not None
    return regression(matrix, moments.rows, deviation=model["deviation"], variance=model["variance"], seed=seed)


_KINDS = {
    "dirichlet_multinomial": _table,
    "beta_bernoulli": _share,
    "normal": _normal,
    "gamma_poisson": _rate,
    "linear_regression": _regression,
}
