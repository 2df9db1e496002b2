"""What the tests of samplers share: exact comparisons by chains that do not know of one another, and calibration by ranks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import stats

from discreet.inference._jax import doubles, jax, jnp
from discreet.inference.inferring import kernel_of, prepare
from discreet.inference.run import run

RATE = 1e-6  # false alarms of one comparison


def close(draws: Any, mean: float, deviation: float | None = None) -> None:
    """The mean (and standard deviation) of chains is the true one.

    Chains are independent, so their own means are a sample of independent numbers and Student's t says how far off they may
    be, whatever the correlation inside a chain: one false alarm in a million comparisons.
    """
    draws = np.asarray(draws, np.float64)
    limit = float(stats.t.isf(RATE / 2, draws.shape[0] - 1))
    for values, truth in ((draws, mean), *([] if deviation is None else [((draws - mean) ** 2, deviation**2)])):
        each = values.mean(1)
        error = each.std(ddof=1) / np.sqrt(len(each))
        assert abs(each.mean() - truth) < limit * error, (each.mean(), truth, error)


def ranks(
    model: Any,
    law: Any,
    n: int,
    statistic: Callable[..., Any] | None,
    replicates: int,
    sampler: str,
    draws: int = 15,
    thin: int = 10,
    warmup: int = 200,
    seed: int = 0,
) -> dict[str, np.ndarray[Any, Any]]:
    """Simulation-based calibration (Talts et al. 2018): the rank of the true parameter among thinned draws, many times.

    All tables are drawn, released and inferred side by side: one chain for each.
    """
    with doubles():
        key, data_key, run_key = jax.random.split(jax.random.key(seed), 3)
        thetas = jax.vmap(model.draw_prior)(jax.random.split(key, replicates))
        made = jax.vmap(lambda k, t: model.simulate(k, t, n))(jax.random.split(data_key, replicates), thetas)
        size = model.cells if statistic is None else len(np.ravel(statistic(jax.tree.map(lambda x: x[0, 0], made))))
        from discreet import Release

        problem = prepare(Release.of(law, np.zeros(size)), model, n, statistic)
        totals = jax.vmap(lambda r: jnp.sum(problem.evidence.each(r, jnp.arange(n), jnp.zeros(size)), 0))(made)
        seen = np.asarray(law.release(np.asarray(totals), seed=seed), np.float64)
        kernel = kernel_of(problem, sampler)
        drawn = run(kernel, seen, draws=draws * thin, warmup=warmup, chains=replicates, key=run_key, progress=False)
    found = {}
    for name, values in drawn.theta.items():
        thinned = values[:, ::thin].reshape(replicates, draws, -1)
        truth = np.asarray(thetas[name]).reshape(replicates, 1, -1)
        found[name] = (thinned < truth).sum(1)
    return found


def uniform(ranks: np.ndarray[Any, Any], draws: int = 15, parts: int = 4) -> float:
    """The chance of ranks at least this uneven: the chi-squared test over ``parts`` groups of ranks, least over coordinates."""
    groups = ranks * parts // (draws + 1)
    chances = []
    for column in groups.T:
        counts = np.bincount(column, minlength=parts)
        chances.append(float(stats.chisquare(counts).pvalue))
    return min(chances) * len(chances)
