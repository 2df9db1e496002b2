"""Exact Gibbs, record by record, for records from a finite domain.

For i in order, x_i is drawn afresh: P(x_i = c) proportional to f(c | theta) eta(S - t(x_i) + t(c)); theta ~ p(theta | x).

Holds when records are one of finitely many cells and independent given theta, and n is fixed.

Proof: the line above is the conditional law of x_i given theta, all other records and the release, because p(theta)
prod f(x_j | theta) eta(S) depends on x_i through f(x_i | theta) and S alone. No proposal is ever wasted, so it moves at
least as far as the sweep does (Liu 1996). It is made one record after another: drawn all at once, each would be judged
against a total that no longer stands.
"""

from __future__ import annotations

from typing import Any

from discreet.core.x64 import jax, jnp
from discreet.errors import InvalidRequest
from discreet.inference.models.base import Array, FiniteModel
from discreet.inference.samplers.problem import Kernel, SamplingProblem, State
from discreet.inference.samplers.sweep import kept


def gibbs(problem: SamplingProblem) -> Kernel:
    """The sampler."""
    model = problem.model
    if not isinstance(model, FiniteModel) or "gibbs" not in model.samplers or not isinstance(problem.rows, int):
        raise InvalidRequest("the sampler 'gibbs' needs records from a finite domain and a known n; use 'sweep'")
    evidence, n = problem.evidence, problem.rows

    def step(key: Array, state: State, values: Array) -> tuple[State, dict[str, Any]]:
        theta_key, record_key = jax.random.split(key)
        theta = model.update(theta_key, state["theta"], state["records"], jnp.ones(n))
        cells = model.support()
        log_cells = jnp.broadcast_to(model.log_cells(theta), (n, model.cells))
        if evidence.reports is not None:
            chances: Any = jax.vmap(lambda c: evidence.separate(values, jnp.full(n, c)), out_axes=1)(cells)
            log_cells += chances
        noise = log_cells + jax.random.gumbel(record_key, (n, model.cells))
        each = evidence.each(cells, jnp.arange(model.cells), values)

        def one(total: Array, record: tuple[Array, Array]) -> tuple[Array, Array]:
            now, scores = record
            rest = total - each[now]
            scores += jax.vmap(lambda t: evidence.log_prob(values, rest + t))(each)
            new = jnp.argmax(scores)
            return rest + each[new], new

        _, records = jax.lax.scan(one, state["total"], (state["records"], noise), unroll=4)
        records = records.astype(state["records"].dtype)
        moved = (records != state["records"]).astype(float)
        state = problem.place(theta, records, state["n"], values)
        return state, kept(problem, state, moved)

    return Kernel("gibbs", problem.start, step, told=problem.told)
