"""An unknown number of records: births and deaths beside the sweep.

A birth appends a record x' ~ f(. | theta) with probability min(1, p(n+1)/p(n) eta(S + t(x'))/eta(S)); a death takes
away a record chosen at random with probability min(1, p(n-1)/p(n) eta(S - t(x_j))/eta(S)). Which of the two is tried is
a fair coin.

Holds when t does not depend on a record's place, and n has a prior p(n).

Proof: the target on sequences of any length is p(n) prod f(x_i | theta) eta(S), which does not change when records are
permuted. Bring the record chosen for a death to the end first (a permutation, which leaves the target as it is); then
"append a draw of f" and "drop the last" are each other's reverse, f cancels, and the ratios above are
Metropolis-Hastings (Green 1995).
"""

from __future__ import annotations

import math

import numpy as np

from discreet.core.x64 import jax, jnp
from discreet.inference.models.base import Array
from discreet.inference.samplers.problem import SamplingProblem, State

_FEWEST, _MOST = 16, 512


def births_and_deaths(problem: SamplingProblem, key: Array, state: State, values: Array) -> State:
    """As many tries as it takes to walk about as far as the noise of the count reaches; nothing where n is known."""
    rows = problem.rows
    if isinstance(rows, int):
        return state
    new_key, try_key = jax.random.split(key)
    tries = _tries(problem)
    fresh = problem.model.simulate(new_key, state["theta"], tries)
    fresh_each = problem.evidence.each(fresh, jnp.arange(tries), values)
    keys = jax.random.split(try_key, tries)

    def one(state: State, move: tuple[Array, Array, Array]) -> tuple[State, None]:
        key, record, each = move
        coin, place, accept = jax.random.uniform(key, (3,))
        n = state["n"]
        born = coin < 0.5
        gone = jnp.minimum((place * n).astype(n.dtype), jnp.maximum(n - 1, 0))
        total = jnp.where(born, state["total"] + each, state["total"] - state["each"][gone])
        after = jnp.where(born, n + 1, n - 1)
        log_prob = problem.evidence.log_prob(values, total)
        ratio = rows.log_prior(after * 1.0) - rows.log_prior(n * 1.0) + log_prob - state["log_prob"]
        possible = jnp.where(born, n < problem.capacity, n > 0)
        good = possible & (jnp.log(accept) < ratio)
        # A birth writes behind the last record; a death moves the last one to the gap.
        last = jnp.maximum(n - 1, 0)
        to = jnp.where(born, jnp.minimum(n, problem.capacity - 1), gone)

        def write(old: Array, new: Array) -> Array:
            moved = jnp.where(born, new, old[last])
            return old.at[to].set(jnp.where(good, moved, old[to]))

        return {
            "theta": state["theta"],
            "records": jax.tree.map(write, state["records"], record),
            "each": write(state["each"], each),
            "n": jnp.where(good, after, n),
            "total": jnp.where(good, total, state["total"]),
            "log_prob": jnp.where(good, log_prob, state["log_prob"]),
        }, None

    state, _ = jax.lax.scan(one, state, (keys, fresh, fresh_each))
    return state


def _tries(problem: SamplingProblem) -> int:
    """About the variance of what is known of n: a walk of that many steps of 1 goes one standard deviation."""
    spread = 1e9
    found = problem.evidence.ones
    if found is not None:
        weights, place = found
        spread = float(np.sum((problem.evidence.parts[place].law.deviation * weights) ** 2))
    most = (problem.capacity / 4.0) ** 2
    reach = min(spread if math.isfinite(spread) else 1e9, most)
    return int(min(max(2 * reach, _FEWEST), _MOST))
