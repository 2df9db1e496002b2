"""The Metropolis sweep: data augmentation for any model (Ju et al. 2022).

theta ~ p(theta | x); then new records x'_1 .. x'_n ~ f(. | theta) all at once, and for i in order the i-th replaces x_i with
probability min(1, eta(S') / eta(S)), where S is the running total of t and S' = S - t(x_i) + t(x'_i).

Holds when records are independent given theta, n is fixed (see ``births`` for when it is not), the scale of the noise
does not depend on the records, and the start has eta > 0. t may depend on the place of a record and on the release.

Proof: the target is p(theta) prod f(x_i | theta) eta(sum t(x_i)). The first step draws from its conditional. In the
second, x'_i is proposed from f(. | theta), so that f cancels in the Metropolis-Hastings ratio and eta(S')/eta(S) is
left; each replacement leaves the target as it is, given all others. Proposals may be drawn in one batch: they do not
depend on the records. Where eta is a product over records (reports of single people) the ratios do not involve one
another, and all are decided at once.
"""

from __future__ import annotations

from typing import Any

from discreet.core.x64 import TINY, jax, jnp
from discreet.inference.models.base import Array
from discreet.inference.samplers.births import births_and_deaths
from discreet.inference.samplers.problem import Kernel, SamplingProblem, State

_UNROLL = 4


def sweep(problem: SamplingProblem) -> Kernel:
    """The sampler."""

    def step(key: Array, state: State, values: Array) -> tuple[State, dict[str, Any]]:
        theta_key, record_key, rows_key = jax.random.split(key, 3)
        theta = problem.model.update(theta_key, state["theta"], state["records"], problem.weight(state["n"]))
        state, accepted = replace_records(problem, record_key, {**state, "theta": theta}, values)
        state = births_and_deaths(problem, rows_key, state, values)
        return state, kept(problem, state, accepted)

    return Kernel("sweep", problem.start, step, told=problem.told)


def kept(problem: SamplingProblem, state: State, accepted: Array) -> dict[str, Any]:
    """What a step leaves behind."""
    exists = problem.weight(state["n"])
    rate = jnp.sum(accepted * exists) / jnp.maximum(jnp.sum(exists), 1.0)
    stats = {"acceptance_rate": rate} | ({} if isinstance(problem.rows, int) else {"n": state["n"]})
    each = {"accepted": accepted} if isinstance(problem.rows, int) else {}
    return {"theta": state["theta"], "stats": stats, **each}


def replace_records(problem: SamplingProblem, key: Array, state: State, values: Array) -> tuple[State, Array]:
    """One pass over all records; returns the state and which were replaced."""
    propose_key, accept_key = jax.random.split(key)
    evidence, n = problem.evidence, problem.capacity
    new = problem.model.simulate(propose_key, state["theta"], n)
    new_each = evidence.each(new, problem.index, values)
    log_u = jnp.log(jax.random.uniform(accept_key, (n,), minval=TINY))
    apart = evidence.separate(values, new)
    if apart is not None:
        log_u -= apart - evidence.separate(values, state["records"])
    accepted = _decide(problem, state, new_each, log_u, values) if evidence.parts else log_u < 0
    records = jax.tree.map(lambda a, b: _choose(accepted, a, b), new, state["records"])
    if isinstance(problem.rows, int):
        each = _choose(accepted, new_each, state["each"])
        total = jnp.sum(each, axis=0)
        moved = {"records": records, "each": each, "total": total, "log_prob": evidence.log_prob(values, total)}
        return {**state, **moved}, accepted.astype(float)
    return problem.place(state["theta"], records, state["n"], values), accepted.astype(float)


def _decide(problem: SamplingProblem, state: State, new_each: Array, log_u: Array, values: Array) -> Array:
    evidence = problem.evidence
    exists = None if isinstance(problem.rows, int) else problem.index < state["n"]

    def one(carry: tuple[Array, Array], record: tuple[Array, ...]) -> tuple[tuple[Array, Array], Array]:
        total, log_prob = carry
        change, log_u, exists = record
        other = total + change
        other_prob = evidence.log_prob(values, other)
        accept = (log_u < other_prob - log_prob) & exists
        return (jnp.where(accept, other, total), jnp.where(accept, other_prob, log_prob)), accept

    there = jnp.ones(log_u.shape, bool) if exists is None else exists
    records = (new_each - state["each"], log_u, there)
    _, accepted = jax.lax.scan(one, (state["total"], state["log_prob"]), records, unroll=_UNROLL)
    return accepted


def _choose(accepted: Array, new: Array, old: Array) -> Array:
    return jnp.where(accepted.reshape((-1,) + (1,) * (new.ndim - 1)), new, old)
