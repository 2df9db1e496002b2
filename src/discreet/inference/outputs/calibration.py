"""Simulation-based calibration: is a sampler right for a model, a law and a size? (Talts et al. 2018)

Parameters are drawn from the prior, records from the model, a release from the law; then the sampler runs, and the rank
of the true parameter among its draws is noted. Over many tables ranks are uniform exactly if the posterior is the right
one. All tables are inferred side by side, one chain for each.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from discreet.core.mechanism import Mechanism
from discreet.core.random import Random
from discreet.core.release import Release
from discreet.core.x64 import doubles, jax, jnp
from discreet.errors import InvalidRequest
from discreet.inference.inferring import choose, kernel_of, prepare
from discreet.inference.models.base import Array, DataModel, FiniteModel, Records, Theta
from discreet.inference.samplers.chains import run
from discreet.inference.samplers.compiled import once
from discreet.mechanisms import RandomizedResponse

_FROM_RECORDS = ("sweep", "gibbs", "interweaving")

Ranks = dict[str, npt.NDArray[np.int64]]


def ranks(
    model: DataModel,
    law: Mechanism,
    n: int,
    statistic: Callable[..., Any] | None = None,
    *,
    tables: int = 1000,
    draws: int = 15,
    thin: int = 10,
    warmup: int = 200,
    sampler: str | None = None,
    seed: int = 0,
) -> Ranks:
    """For each parameter (tables, coordinates): how many of ``draws`` thinned draws lie below the true value.

    ``thin`` steps between draws should make them nearly independent: correlated draws make ranks uneven at both ends. A
    model of one's own, whose prior cannot be drawn from, cannot be calibrated.
    """
    if model.name in ("own", "privacy_model"):
        raise InvalidRequest("calibration draws parameters from the prior, which this model cannot; use a built-in model")
    with doubles():
        prior_key, data_key, run_key = jax.random.split(jax.random.key(seed), 3)

        def draw(first: Array, second: Array) -> tuple[Theta, Records]:
            theta = model.draw_prior(first)
            return theta, model.simulate(second, theta, n)

        thetas, records = once(jax.vmap(draw), jax.random.split(prior_key, tables), jax.random.split(data_key, tables))
        if isinstance(law, RandomizedResponse):
            problem, seen = _reported(model, law, n, records, seed)
        else:
            size = _size(model, statistic, records)
            problem = prepare(Release.of(law, np.zeros(size)), model, n, statistic)
            total = jax.vmap(lambda r: jnp.sum(problem.evidence.each(r, jnp.arange(n), jnp.zeros(size)), 0))
            exact, random = np.asarray(once(total, records)), Random(seed)
            lines = [law.release(line, seed=random) for line in exact]
            seen = np.array(lines, np.float64)
        named = sampler or choose(problem)
        kernel = kernel_of(problem, "whole_table" if named == "independent" else named)
        truth = None
        if named in _FROM_RECORDS:  # the true records are themselves a draw given the release: as good a start as any
            place = jax.vmap(lambda t, r, v: problem.place(t, r, jnp.asarray(n), v))
            truth = once(place, thetas, records, jnp.asarray(seen))
        drawn = run(kernel, seen, draws=draws * thin, warmup=warmup, chains=tables, key=run_key, progress=False, state=truth)
    found = {}
    for name, values in drawn.theta.items():
        kept = values[:, thin - 1 :: thin].reshape(tables, draws, -1)
        found[name] = (kept < np.asarray(thetas[name]).reshape(tables, 1, -1)).sum(1)
    return found


def _size(model: DataModel, statistic: Callable[..., Any] | None, records: Any) -> int:
    if statistic is not None:
        return int(np.size(np.ravel(np.asarray(statistic(jax.tree.map(lambda x: x[0, 0], records))))))
    if isinstance(model, FiniteModel):
        return model.cells
    raise InvalidRequest("give statistic= what one record adds to")


def _reported(model: DataModel, law: RandomizedResponse, n: int, records: Any, seed: int) -> tuple[Any, Any]:
    """Reports of every table, as codes; the categories of the law are those of the one axis of the model."""
    labels = list(law.categories)
    codes = np.asarray(records)
    said = law.release([labels[code] for code in codes.ravel()], seed=Random(seed))
    place = {label: code for code, label in enumerate(labels)}
    problem = prepare(Release.of(law, [labels[0]] * n), model, n)
    return problem, np.array([place[label] for label in said], np.float64).reshape(codes.shape)


def unevenness(found: npt.NDArray[np.int64], draws: int = 15, groups: int = 4) -> float:
    """The chance of ranks at least this uneven, were they uniform: chi-squared over groups, all coordinates counted."""
    from scipy.stats import chisquare

    parts = found * groups // (draws + 1)
    chances = [float(chisquare(np.bincount(column, minlength=groups)).pvalue) for column in parts.T]
    return min(1.0, min(chances) * len(chances))
