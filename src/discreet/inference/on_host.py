"""Models of plain Python: whether their functions can be traced, and their posterior where they cannot."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from discreet.core.release import Release
from discreet.core.x64 import jax, jnp
from discreet.errors import InvalidRequest
from discreet.inference.evidence.laws import density
from discreet.inference.evidence.releases import as_releases, flat_values
from discreet.inference.evidence.statistic import Reader, translate
from discreet.inference.models.own import OwnModel, check_arguments
from discreet.inference.models.privacy_model import PrivacyModel
from discreet.inference.samplers.chains import Drawn
from discreet.inference.samplers.host import Floats, HostModel, line, of_own_model, of_privacy_model, run_on_host
from discreet.inference.samplers.numpy_draws import generator

Given = PrivacyModel | OwnModel


def on_host(model: Given, statistic: Callable[..., Any] | None) -> bool:
    """Whether the model's functions are not JAX's: tried by tracing them, then by calling them once in plain Python.

    What runs in neither way is refused here, with what both said.
    """
    traced = _fails(lambda: _trace(model, statistic))
    if traced is None:
        return False
    called = _fails(lambda: _call(model))
    if called is not None:
        raise InvalidRequest(
            f"the model's functions must run under JAX or in plain Python; under JAX: {traced}; in plain Python, with a "
            f"numpy Generator in the place of a key: {called}"
        )
    return True


def _fails(work: Callable[[], Any]) -> str | None:
    """What a user's functions raise, in a line; they may raise anything."""
    try:
        work()
    except Exception as problem:
        return f"{type(problem).__name__}: {' '.join(str(problem).split())[:200]}"
    return None


def _trace(model: Given, statistic: Callable[..., Any] | None) -> None:
    def all_of_it(key: Any) -> Any:
        theta = model.draw_prior(key)
        records = model.simulate(key, theta, 2)
        first = jax.tree.map(lambda x: x[0], records)
        own = statistic if isinstance(model, OwnModel) else model.statistic if model.statistic_of == "record" else None
        if own is not None:
            count = check_arguments(own, "statistic", 1, 3)
            jnp.asarray(own(*(first, jnp.asarray(0), jnp.zeros(1))[:count]), float)
        elif isinstance(model, PrivacyModel):
            model.of_data(records, jnp.zeros(1))
        return model.update(key, theta, records, jnp.ones(2))

    jax.eval_shape(all_of_it, jax.random.key(0))


def _call(model: Given) -> None:
    rng = generator(0)
    made = (
        of_privacy_model(model, np.zeros(1))
        if isinstance(model, PrivacyModel)
        else of_own_model(model, 2, lambda records: np.zeros((2, 1)), lambda records, total: 0.0)
    )
    theta = made.start(rng)
    made.update(rng, theta, made.simulate(rng, theta, made.n))


@dataclass(frozen=True, eq=False)
class HostPosterior:
    """Draws made on the host, and the releases they are from."""

    drawn: Drawn
    releases: tuple[Release, ...]


def host_posterior(
    release: Any, model: Given, n: Any, statistic: Callable[..., Any] | None, asked: Any, seed: int
) -> HostPosterior:
    """The posterior by the sweep in plain Python; ``asked`` says how many draws, of how many chains, after which warm-up."""
    if asked.sampler not in (None, "sweep"):
        raise InvalidRequest(f"a model of plain Python is sampled by 'sweep', got {asked.sampler!r}")
    if asked.start is not None:
        raise InvalidRequest("a model of one's own says itself where chains start; leave start= out")
    if isinstance(model, PrivacyModel):
        if n is not None and n != model.n:
            raise InvalidRequest(f"the PrivacyModel has n = {model.n}, infer was given {n}; leave one out")
        one = release if isinstance(release, Release) else Release.of(model.law, release)
        releases: tuple[Release, ...] = (one,)
        made = of_privacy_model(model, flat_values(one))
    else:
        releases = as_releases(release, model.columns)
        made = _own(releases, model, n, statistic)
    drawn = run_on_host(made, asked.draws, asked.warmup, asked.chains, seed)
    return HostPosterior(drawn, releases)


def _own(releases: tuple[Release, ...], model: OwnModel, n: Any, statistic: Callable[..., Any] | None) -> HostModel:
    if not isinstance(n, int) or len(releases) != 1:
        raise InvalidRequest("a model of plain Python needs one release and a known number of records; give infer(..., n=)")
    release = releases[0]
    values = flat_values(release)
    density(release.mechanism, values.size)  # refuses a law without a density, and says why

    def log_prob(records: Any, total: Floats | None) -> float:
        return float(np.sum(release.mechanism.log_prob(values, total)))

    if statistic is not None:
        takes = check_arguments(statistic, "statistic", 1, 3)

        def each(records: Any) -> Floats:
            made = [statistic(*(line(records, i), i, values)[:takes]) for i in range(n)]
            return np.asarray(made, np.float64).reshape(n, -1)

        return of_own_model(model, n, each, log_prob)
    if release.query is None:
        raise InvalidRequest(
            "the release does not say what was computed; give infer(..., statistic=) a function of one record"
        )
    columns = model.columns or release.columns
    found = translate(release.query, Reader(model, {c: i for i, c in enumerate(columns)}))
    if found.finish is not None:
        raise InvalidRequest("a model of plain Python takes totals only; use a model of jax.numpy for this release")

    def of_query(records: Any) -> Floats:
        return np.asarray(found.each(jax.tree.map(jnp.asarray, records), jnp.arange(n), jnp.asarray(values)))

    return of_own_model(model, n, of_query, log_prob)
