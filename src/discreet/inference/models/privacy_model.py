"""A posterior described by four functions, for a model or a statistic that nobody has foreseen.

The functions are plain ``jax.numpy``, or NumPy, or anything that Python can call (see ``samplers/host``): ``posterior``
draws parameters given records, ``latent`` draws records given parameters, ``statistic`` says what was computed from
records, and ``mechanism`` is the law of the noise.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np

from discreet.core.mechanism import Mechanism
from discreet.core.x64 import TINY, jax, jnp
from discreet.errors import InvalidRequest
from discreet.inference.evidence.laws import LogDensity, density
from discreet.inference.evidence.releases import Evidence, EvidencePart, flat_values, own_statistic
from discreet.inference.evidence.statistic import Statistic
from discreet.inference.models.base import Array, DataModel, Records, Theta
from discreet.inference.models.own import check_arguments
from discreet.inference.samplers.problem import Kernel, SamplingProblem, State
from discreet.inference.samplers.sweep import kept

Of = Literal["record", "data"]
_CHECKED = 4  # random tables on which additivity is tried


@dataclass(frozen=True, eq=False)
class PrivacyModel(DataModel):
    """The four functions, the number of records and a start.

    ``posterior(key, records, theta)`` draws theta given all records (and may use the current theta); ``latent(key,
    theta)`` draws one record, or with ``latent_of="data"`` all: ``latent(key, theta, n)``. ``statistic(record)`` is
    what one record adds to what was released; it may take the place of the record and the release too:
    ``statistic(record, index, released)``. With ``statistic_of="data"`` it is given all records; ``additive=True`` then
    says that it is a sum over records, which is tried on a few random tables, and ``additive=False`` that it is not:
    every step then computes it afresh. ``mechanism`` is a law of the package, or a function ``(released, exact)`` with
    its log-density. ``start`` is theta to start from, an array or a dict, or a function ``(key)`` that draws one.

    A theta that is not a dict is called ``theta`` in the draws. Functions that JAX cannot trace are called as they are, with
    a NumPy ``Generator`` for ``key``: slower, and nothing has to be rewritten.
    """

    posterior: Callable[..., Any]
    latent: Callable[..., Any]
    statistic: Callable[..., Any]
    mechanism: Mechanism | Callable[..., Any]
    n: int
    start: Any
    latent_of: Of = "record"
    statistic_of: Of = "record"
    additive: bool = True
    columns: None = None

    name: ClassVar[str] = "privacy_model"
    samplers: ClassVar[tuple[str, ...]] = ("sweep",)
    variables: ClassVar[int] = 0

    def __post_init__(self) -> None:
        for name in ("posterior", "latent", "statistic", "mechanism"):
            value = getattr(self, name)
            if not callable(value) and not (name == "mechanism" and isinstance(value, Mechanism)):
                raise InvalidRequest(f"{name} must be a function, got {value!r}")
        for name in ("latent_of", "statistic_of"):
            if getattr(self, name) not in ("record", "data"):
                raise InvalidRequest(f"{name} must be 'record' or 'data', got {getattr(self, name)!r}")
        if isinstance(self.n, bool) or not isinstance(self.n, int | np.integer) or self.n < 1:
            raise InvalidRequest(f"n must be a whole number of at least 1, got {self.n!r}")
        check_arguments(self.posterior, "posterior", 2, 3)
        check_arguments(self.latent, "latent", 2 if self.latent_of == "record" else 3)
        if self.statistic_of == "record" and not self.additive:
            raise InvalidRequest("a statistic of single records is added up; for another use statistic_of='data'")
        if self.statistic_of == "data":
            check_arguments(self.statistic, "statistic", 1, 2)

    @property
    def law(self) -> Mechanism:
        """The mechanism, a function wrapped as a law."""
        return self.mechanism if isinstance(self.mechanism, Mechanism) else LogDensity(self.mechanism)

    def draw_prior(self, key: Array) -> Theta:
        return _as_dict(
            self.start(key) if callable(self.start) else jax.tree.map(lambda x: jnp.asarray(x, float), self.start)
        )

    def _own(self, theta: Theta) -> Any:
        """Theta as the user's functions know it."""
        plain = not isinstance(
            jax.eval_shape(self.start, jax.random.key(0)) if callable(self.start) else self.start, Mapping
        )
        return theta["theta"] if plain else theta

    def simulate(self, key: Array, theta: Theta, size: int) -> Records:
        own = self._own(theta)
        if self.latent_of == "data":
            return self.latent(key, own, size)
        return jax.vmap(self.latent, in_axes=(0, None))(jax.random.split(key, size), own)

    def update(self, key: Array, theta: Theta, records: Records, weight: Array) -> Theta:
        count = check_arguments(self.posterior, "posterior", 2, 3)
        new = _as_dict(self.posterior(*(key, records, self._own(theta))[:count]))
        if jax.tree.map(jnp.shape, new) != jax.tree.map(jnp.shape, theta):
            raise InvalidRequest(
                f"posterior returns parameters of shape {jax.tree.map(jnp.shape, new)}, start has "
                f"{jax.tree.map(jnp.shape, theta)}; they must match"
            )
        same: Theta = jax.tree.map(lambda a, b: jnp.asarray(a, jnp.result_type(b)), new, theta)
        return same

    def column(self, records: Records, position: int) -> Array:
        raise InvalidRequest("a PrivacyModel has its own statistic; the query of a release is not used with it")

    def describe(self) -> dict[str, Any]:
        names = {f: getattr(getattr(self, f), "__name__", f) for f in ("posterior", "latent", "statistic")}
        return {"model": self.name, "n": self.n, "additive": self.additive, **names, "mechanism": self.law.to_dict()}

    def evidence(self, release: Any) -> Evidence:
        """What was released, read with this model's statistic and law."""
        values = flat_values(release)
        if self.statistic_of == "record":
            statistic = own_statistic(self.statistic, self, values)
        elif self.additive:
            self._check_additive(values)
            statistic = own_statistic(self._of_one, self, values)
        else:
            statistic = Statistic(lambda records, index, released: jnp.zeros((index.shape[0], values.size)), values.size)
        return Evidence(
            (release,), (EvidencePart(values, statistic, density(release.mechanism, values.size)),), None, values
        )

    def of_data(self, records: Records, released: Array) -> Array:
        """The statistic of all records, flat."""
        count = check_arguments(self.statistic, "statistic", 1, 2)
        return jnp.ravel(jnp.asarray(self.statistic(*(records, released)[:count]), float))

    def _of_one(self, record: Any) -> Array:
        return self.of_data(jax.tree.map(lambda x: x[None], record), jnp.zeros(0))

    def _check_additive(self, values: Any) -> None:
        """A sum over records: of all records together what it is of each alone, added up."""
        if check_arguments(self.statistic, "statistic", 1, 2) != 1:
            raise InvalidRequest("an additive statistic of a data set takes the records alone; or declare additive=False")
        for seed in range(_CHECKED):
            first, second = jax.random.split(jax.random.key(seed))
            records = self.simulate(second, self.draw_prior(first), 5 + seed)
            together = np.asarray(self.of_data(records, values))
            alone = np.asarray(jax.vmap(self._of_one)(records)).sum(0)
            if together.shape != alone.shape or not np.allclose(together, alone, rtol=1e-6, atol=1e-8):
                raise InvalidRequest(
                    f"statistic is declared additive, but of {5 + seed} random records it is {together} at once and {alone} "
                    "as a sum over records; declare additive=False"
                )


def _as_dict(theta: Any) -> Theta:
    return dict(theta) if isinstance(theta, Mapping) else {"theta": jnp.asarray(theta, float)}


def whole_sweep(problem: SamplingProblem) -> Kernel:
    """The Metropolis sweep for a statistic that is no sum: computed afresh for every record tried.

    Proof: as for ``sweep``; the ratio is eta of the whole statistic with the new record over that with the old.
    """
    model = problem.model
    assert isinstance(model, PrivacyModel)
    law = problem.evidence.parts[0].law

    def log_prob(records: Records, values: Array) -> Array:
        return law.log_prob(values, model.of_data(records, values))

    def start(key: Array, values: Array) -> State:
        first, second = jax.random.split(key)
        theta = model.draw_prior(first)
        records = model.simulate(second, theta, model.n)
        return {"theta": theta, "records": records, "n": jnp.asarray(model.n), "log_prob": log_prob(records, values)}

    def step(key: Array, state: State, values: Array) -> tuple[State, dict[str, Any]]:
        theta_key, propose_key, accept_key = jax.random.split(key, 3)
        theta = model.update(theta_key, state["theta"], state["records"], jnp.ones(model.n))
        new = model.simulate(propose_key, theta, model.n)
        log_u = jnp.log(jax.random.uniform(accept_key, (model.n,), minval=TINY))

        def one(carry: tuple[Records, Array], i: Array) -> tuple[tuple[Records, Array], Array]:
            records, now = carry
            other = jax.tree.map(lambda old, fresh: old.at[i].set(fresh[i]), records, new)
            found = log_prob(other, values)
            good = log_u[i] < found - now
            records = jax.tree.map(lambda a, b: jnp.where(good, a, b), other, records)
            return (records, jnp.where(good, found, now)), good

        (records, found), good = jax.lax.scan(one, (state["records"], state["log_prob"]), jnp.arange(model.n))
        state = {**state, "theta": theta, "records": records, "log_prob": found}
        return state, kept(problem, state, good.astype(float))

    return Kernel("sweep", start, step, told=problem.told)
