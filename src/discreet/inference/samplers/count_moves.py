"""Collapsed counts by moves: a chain on the counts of a table, for releases that mix cells.

From an ordered pair of cells chosen at random k records move from one to the other, with k of any size up to the reach
of the noise (all magnitudes alike, so that large tables mix as fast as small ones); where n is unknown, k records also
come or go in one cell. Then theta ~ Dirichlet(alpha + N).

Holds for tables with a Dirichlet prior whose release is a function of the cell counts; n known, or with a prior.

Proof: every move and its reverse are proposed with the same probability, so that accepting with the ratio of p(n)
n!/Gamma(n + A) prod Gamma(N_c + alpha_c)/N_c! eta(N) leaves that law invariant (Metropolis et al. 1953); moves that
would make a count negative have ratio 0. Moves of k = 1 connect all tables.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from discreet.core.x64 import TINY, jax, jnp
from discreet.errors import InvalidRequest
from discreet.inference.models.base import Array
from discreet.inference.samplers.counts import takes_counts
from discreet.inference.samplers.problem import Kernel, SamplingProblem, State

_MOVES_PER_CELL = 24


def count_moves(problem: SamplingProblem) -> Kernel:
    """The sampler."""
    if not takes_counts(problem):
        raise InvalidRequest(
            "the sampler 'counts' needs a table model and a release of its counts; use 'sweep' or 'whole_table'"
        )
    model: Any = problem.model
    evidence, rows, cells = problem.evidence, problem.rows, model.cells
    known = isinstance(rows, int)
    alpha, whole = jnp.asarray(model.weights), float(model.weights.sum())
    deviations = np.concatenate([p.law.deviation for p in evidence.parts])
    reach = float(np.nanmax(deviations)) if np.isfinite(deviations).any() else np.sqrt(problem.capacity)
    largest = float(min(max(2.0, 6 * reach), problem.capacity))
    moves = _MOVES_PER_CELL * cells

    def log_prior(n: Array) -> Array:
        if isinstance(rows, int):
            return jnp.zeros(())
        n = n * 1.0
        return rows.log_prior(n) + jax.scipy.special.gammaln(n + 1) - jax.scipy.special.gammaln(n + whole)

    def weight(count: Array, alpha: Array) -> Array:
        return jnp.where(
            count >= 0,
            jax.scipy.special.gammaln(jnp.maximum(count, 0) + alpha)
            - jax.scipy.special.gammaln(jnp.maximum(count, 0) + 1.0),
            -jnp.inf,
        )

    def start(key: Array, values: Array) -> State:
        state = problem.start(key, values)
        hot = state["records"][:, None] == jnp.arange(cells)
        counts = jnp.sum(hot * problem.weight(state["n"])[:, None], axis=0)
        each = evidence.each(model.support(), jnp.arange(cells), values)
        total = counts @ each
        return {"theta": state["theta"], "counts": counts, "each": each, "total": total,
                "log_prob": evidence.log_prob(values, total)}  # fmt: skip

    def step(key: Array, state: State, values: Array) -> tuple[State, dict[str, Any]]:
        move_key, theta_key = jax.random.split(key)
        each = state["each"]

        def one(carry: tuple[Array, Array, Array], uniforms: Array) -> tuple[tuple[Array, Array, Array], Array]:
            counts, total, log_prob = carry
            size = jnp.floor(jnp.exp(uniforms[0] * jnp.log(largest + 1.0)))
            a = (uniforms[1] * cells).astype(int)
            b = (a + 1 + (uniforms[2] * (cells - 1)).astype(int)) % cells
            change = size * (jnp.arange(cells) == b) - size * (jnp.arange(cells) == a)
            if not known:
                alone = size * jnp.where(uniforms[4] < 0.25, 1.0, -1.0) * (jnp.arange(cells) == a)
                change = jnp.where(uniforms[4] < 0.5, alone, change)
            after = counts + change
            other = total + change @ each
            other_prob = evidence.log_prob(values, other)
            ratio = jnp.sum(weight(after, alpha) - weight(counts, alpha)) + other_prob - log_prob
            ratio += log_prior(jnp.sum(after)) - log_prior(jnp.sum(counts))
            good = jnp.log(uniforms[3]) < ratio
            return (
                jnp.where(good, after, counts),
                jnp.where(good, other, total),
                jnp.where(good, other_prob, log_prob),
            ), good

        uniforms = jax.random.uniform(move_key, (moves, 5), minval=TINY)
        carry = state["counts"], state["total"], state["log_prob"]
        (counts, total, log_prob), good = jax.lax.scan(one, carry, uniforms)
        theta = model.from_counts(theta_key, counts)
        stats = {"acceptance_rate": jnp.mean(good * 1.0)} | ({} if known else {"n": jnp.sum(counts)})
        state = {**state, "theta": theta, "counts": counts, "total": total, "log_prob": log_prob}
        return state, {"theta": theta, "stats": stats}

    return Kernel("counts", start, step)
