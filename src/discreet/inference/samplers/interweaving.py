"""Interweaving: the cure for slow mixing at small epsilon (ASIS, Yu and Meng 2011).

With much noise the sweep accepts nearly everything and theta moves only as far as n records let it. Where x = g(u,
theta) with u free of theta, one step more is made: x to u, a slice on theta ~ prior(theta) eta(sum t(g(u_i, theta)))
along each free coordinate, and u back to x. In the example x ~ N(theta, 1), n = 1, with noise N(0, 1/epsilon**2), the
lag-1 correlation falls from 1/(1 + epsilon**2) to 0. Slices along one parameter at
a time cannot follow several that are correlated: there a few elliptical slices move all of them, and u, at once.

Holds when records are independent given theta and are a function of theta and of noise whose law does not depend on it.

Proof: (theta, u) has the density prior(theta) p(u) eta(sum t(g(u_i, theta))); given u, the slice leaves the conditional
of theta as it is (see ``slices``), and (theta, x) is a function of (theta, u). Where several u make the same x (yes and
no), u is drawn from its law given x and theta first, which is one more Gibbs step. The sweep before leaves the same
joint law invariant. With f = centre + spread w, the density of (w, u) is N(0, I) times prior(f) exp(|w|**2 / 2) eta, which
the elliptical slices leave as it is, whatever the centre and the spread.
"""

from __future__ import annotations

from typing import Any

from discreet.core.x64 import jax, jnp
from discreet.errors import InvalidRequest
from discreet.inference.models.base import Array, NoiseModel
from discreet.inference.samplers.births import births_and_deaths
from discreet.inference.samplers.elliptical import elliptical
from discreet.inference.samplers.problem import Kernel, SamplingProblem, State, prior_place
from discreet.inference.samplers.slices import slice_sweep
from discreet.inference.samplers.sweep import kept, replace_records

_WIDTHS = 1.35  # of slices, in deviations of the prior: its middle half
_TURNS = 4  # elliptical slices in one step


def interweaving(problem: SamplingProblem) -> Kernel:
    """The sampler."""
    model = problem.model
    if not isinstance(model, NoiseModel) or problem.evidence.reports is not None:
        raise InvalidRequest(
            f"the sampler 'interweaving' needs totals of records that are made of noise, and those of {model.name!r} are "
            "not, or were reported one by one; use 'sweep'"
        )
    evidence = problem.evidence
    centre, spread = prior_place(model)
    widths = _WIDTHS * spread

    def step(key: Array, state: State, values: Array) -> tuple[State, dict[str, Any]]:
        keys = jax.random.split(key, 6)
        state, accepted = replace_records(problem, keys[0], state, values)
        state = births_and_deaths(problem, keys[1], state, values)
        exists = problem.weight(state["n"])
        theta = model.update(keys[2], state["theta"], state["records"], exists)
        noise = model.to_noise(keys[3], state["records"], theta)

        def log_density(free: Array, noise: Array) -> Array:
            each = evidence.each(model.from_noise(noise, model.from_free(free)), problem.index, values)
            return model.log_prior(free) + evidence.log_prob(values, jnp.sum(each * exists[:, None], axis=0))

        free, found = slice_sweep(keys[4], lambda free: log_density(free, noise), model.to_free(theta), jnp.asarray(widths))
        if model.correlated:
            scaled = (free - centre) / spread
            size = scaled.size

            def log_rest(both: Array) -> Array:
                free = centre + spread * both[:size]
                return log_density(free, both[size:].reshape(noise.shape)) + 0.5 * jnp.sum(both[:size] ** 2)

            both = jnp.concatenate([scaled, noise.ravel()])
            both, _ = elliptical(keys[5], log_rest, both, found + 0.5 * jnp.sum(scaled**2), _TURNS)
            free, noise = centre + spread * both[:size], both[size:].reshape(noise.shape)
        theta = model.from_free(free)
        state = problem.place(theta, model.from_noise(noise, theta), state["n"], values)
        return state, kept(problem, state, accepted)

    return Kernel("interweaving", problem.start, step, told=problem.told)
