"""Whole-table updates where the law factorises over records: all records of a table in a few draws, whatever n.

For reports y given by m_y people: N_y ~ Multinomial(m_y, proportional to M_yc theta_c), the number of those people in
each cell; then theta ~ Dirichlet(alpha + sum of N_y).

Holds when the only evidence is reports of single people (randomised response), and the model is a table.

Proof: given theta the records are independent, and one whose report is y lies in cell c with probability proportional
to M_yc theta_c; people with the same report are alike, so that their counts are multinomial. Given the counts, theta is
Dirichlet. These are the two conditionals of a Gibbs sampler.
"""

from __future__ import annotations

from typing import Any

from discreet.core.x64 import jax, jnp
from discreet.errors import InvalidRequest
from discreet.inference.evidence.releases import ReportEvidence
from discreet.inference.models.base import Array, TableModel
from discreet.inference.samplers.problem import Kernel, SamplingProblem, State


def whole_table(problem: SamplingProblem) -> Kernel:
    """The sampler."""
    model, reports = problem.model, problem.evidence.reports
    if not isinstance(reports, ReportEvidence) or problem.evidence.parts or not isinstance(model, TableModel):
        raise InvalidRequest(
            "the sampler 'whole_table' needs reports of single people and nothing else; use 'counts' or 'sweep'"
        )
    matrix, size = jnp.asarray(reports.matrix), reports.matrix.shape[0]

    def start(key: Array, values: Array) -> State:
        codes = values.astype(int)
        counts = jnp.sum(codes[:, None] == jnp.arange(size), axis=0)
        return {"theta": model.draw_prior(key), "counts": counts, "log_prob": jnp.zeros(())}

    def step(key: Array, state: State, values: Array) -> tuple[State, dict[str, Any]]:
        split_key, theta_key = jax.random.split(key)
        share = matrix * jnp.exp(model.log_cells(state["theta"]))
        split = _multinomial(split_key, state["counts"], share / jnp.sum(share, axis=1, keepdims=True))
        theta = model.from_counts(theta_key, jnp.sum(split, axis=0))
        return {**state, "theta": theta}, {"theta": theta, "stats": {"acceptance_rate": jnp.ones(())}}

    return Kernel("whole_table", start, step)


def _multinomial(key: Array, counts: Array, shares: Array) -> Array:
    """Every count split among the cells of its line of shares, cell after cell by binomials."""
    left, rest, parts = counts.astype(float), jnp.ones(counts.shape), []
    for cell in range(shares.shape[1] - 1):
        key, draw = jax.random.split(key)
        chance = jnp.clip(shares[:, cell] / jnp.maximum(rest, 1e-300), 0.0, 1.0)
        part = jax.random.binomial(draw, left, chance)
        parts.append(part)
        left, rest = left - part, rest - shares[:, cell]
    return jnp.stack([*parts, left], axis=1)
