"""A model, what was seen, and how many records there are: what every sampler is given, and the state it moves."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from discreet.core.x64 import doubles, jax, jnp
from discreet.errors import InvalidRequest
from discreet.inference.evidence.releases import Evidence
from discreet.inference.models.base import Array, DataModel, FreeModel, Records, Theta
from discreet.inference.models.rows import Rows, UniformRows
from discreet.inference.samplers.compiled import once
from discreet.statistics.spread import Spread
from discreet.statistics.two_moments import TwoMoments

State = dict[str, Any]
Floats = npt.NDArray[np.float64]
_FAR = 24.0  # standard deviations of a count's noise beyond which a number of rows is left out
_TRIES, _ROUNDS, _BEST = 64, 12, 8
_PRIOR_DRAWS = 2000
_ENDS = np.array([0.16, 0.5, 0.84])


@dataclass(frozen=True, eq=False)
class SamplingProblem:
    """What a sampler needs. ``capacity`` is the length of the arrays of records: n itself where it is known."""

    model: DataModel
    evidence: Evidence
    rows: int | Rows
    design_effect: float = 1.0
    given: Theta | None = None  # where chains start, one line for each, if a user says so

    @property
    def capacity(self) -> int:
        return self.rows if isinstance(self.rows, int) else max(1, self.rows.most)

    @property
    def told(self) -> int:
        """How many records have a rate of acceptance each: all, where their number is known."""
        return self.rows if isinstance(self.rows, int) else 0

    @property
    def index(self) -> Array:
        """The places of records."""
        return jnp.arange(self.capacity)

    def weight(self, n: Array) -> Array:
        """1 for records that exist, 0 for room to spare."""
        return (self.index < n).astype(float)

    def place(self, theta: Theta, records: Records, n: Array, values: Array) -> State:
        """The state with its totals worked out."""
        each = self.evidence.each(records, self.index, values)
        total = jnp.sum(each * self.weight(n)[:, None], axis=0)
        return {"theta": theta, "records": records, "n": n, "each": each, "total": total,
                "log_prob": self.evidence.log_prob(values, total)}  # fmt: skip

    def start(self, key: Array, values: Array) -> State:
        """A state to start from: parameters whose simulated records fit best, found by a few rounds of search.

        Whatever the start, the sampler's own law is invariant; a good one saves warm-up.
        """
        theta_key, record_key, n_key = jax.random.split(key, 3)
        n = self._start_n(n_key, values)
        theta = self._start_theta(theta_key, values, n) if self.given is None else self.given
        return self.place(theta, self.model.simulate(record_key, theta, self.capacity), n, values)

    def _start_n(self, key: Array, values: Array) -> Array:
        if isinstance(self.rows, int):
            return jnp.asarray(self.rows)
        counted = count_of(self.evidence, values)
        if counted is None:
            spread = jnp.arange(self.rows.most + 1)
            return jax.random.categorical(key, jax.vmap(self.rows.log_prior)(spread * 1.0))
        n = jnp.clip(jnp.rint(counted), 0, self.rows.most).astype(int)
        least = self.rows.least if isinstance(self.rows, UniformRows) else 0
        return jnp.maximum(n, least)

    def _start_theta(self, key: Array, values: Array, n: Array) -> Theta:
        model = self.model
        prior_key, key = jax.random.split(key)
        thetas = jax.vmap(model.draw_prior)(jax.random.split(prior_key, _TRIES))
        if not isinstance(model, FreeModel) or not self.evidence.parts:
            first: Theta = jax.tree.map(lambda x: x[0], thetas)
            return first
        fit: Any = jax.vmap(lambda k, free: self._fit(k, model.from_free(free), values, n))

        def search(points: Array, key: Array) -> tuple[Array, None]:
            """The best of the points, and as many new ones around them as there is room for."""
            first, second, third = jax.random.split(key, 3)
            scores = fit(jax.random.split(first, _TRIES), points)
            best = points[jnp.argsort(-jnp.where(jnp.isnan(scores), -jnp.inf, scores))[:_BEST]]
            spread = jnp.std(best, axis=0) + 1e-3 * (1 + jnp.abs(best).mean(0))
            around = best[jax.random.randint(second, (_TRIES - _BEST,), 0, _BEST)]
            return jnp.concatenate([best, around + 1.5 * spread * jax.random.normal(third, around.shape)]), None

        search_key, last_key = jax.random.split(key)
        points, _ = jax.lax.scan(search, jax.vmap(model.to_free)(thetas), jax.random.split(search_key, _ROUNDS))
        return model.from_free(points[jax.random.randint(last_key, (), 0, _BEST)])

    def _fit(self, key: Array, theta: Theta, values: Array, n: Array) -> Array:
        """How likely what was seen is given records simulated from theta; few of them, scaled up."""
        size = min(self.capacity, 500)
        records = self.model.simulate(key, theta, size)
        each = self.evidence.each(records, jnp.arange(size), values)
        return self.evidence.log_prob(values, jnp.mean(each, axis=0) * n)


Step = Callable[[Array, State, Array], tuple[State, dict[str, Any]]]


@dataclass(frozen=True, eq=False)
class Kernel:
    """A sampler as two functions: ``start(key, values)`` and ``step(key, state, values)``.

    A step returns the new state and what to keep of it: ``theta``, ``stats`` and, for sweeps, ``accepted`` for each of
    the ``told`` records. ``heavy`` says that a step takes long enough to be compiled well. With ``together`` the start is
    not compiled: it is given the keys of all chains, with one line of values for all or one for each, and tells what it
    spent on compiling too.
    """

    name: str
    start: Callable[[Array, Array], Any]
    step: Step
    heavy: bool = False
    together: bool = False
    told: int = 0


def prior_place(model: FreeModel) -> tuple[Floats, Floats]:
    """The median of the prior along each free coordinate, and half of how far apart its 16 % and 84 % points are.

    As the model says; else from draws that are always the same. Samplers use it to size their steps.
    """
    said = model.prior_quantiles(_ENDS)
    if said is not None and np.isfinite(said).all():
        low, middle, high = said
        return middle, np.maximum((high - low) / 2, 1e-6)
    with doubles():
        keys = jax.random.split(jax.random.key(0), _PRIOR_DRAWS)
        drawn = once(jax.vmap(lambda key: model.to_free(model.draw_prior(key))), keys)
    low, middle, high = np.quantile(np.asarray(drawn), _ENDS, axis=0)
    return middle, np.maximum((high - low) / 2, 1e-6)


def count_of(evidence: Evidence, values: Array) -> Array | None:
    """The number of records as the first release that counts them says, noise and all."""
    found = evidence.ones
    if found is None:
        return None
    weights, place = found
    start = sum(p.values.size for p in evidence.parts[:place])
    return values[..., start : start + weights.size] @ weights


def decide_rows(evidence: Evidence, n: int | Rows | None) -> int | Rows:
    """The number of records: what the user said, what a release makes public, or every number that a count allows."""
    asked = [part for r in evidence.releases for part in r.queries]
    public: set[Any] = {query.rows for query in asked if isinstance(query, Spread | TwoMoments)}
    if evidence.reports is not None:
        public.add(len(evidence.reports.codes))
    if public:
        known = public.pop()
        if public or (n is not None and n != known):
            raise InvalidRequest(f"n is {known} in a release and {n or public} otherwise; they must agree")
        return int(known)
    if n is not None:
        return n
    found = evidence.ones
    if found is None or any(r.relation == "replace" for r in evidence.releases):
        raise InvalidRequest(
            "the number of records is not known and no release counts them; give infer(..., n=) a number, or a prior such "
            "as PoissonRows(100) beside a released count"
        )
    weights, place = found
    part = evidence.parts[place]
    counted = float(part.values @ weights)
    reach = _FAR * float(np.sqrt(np.sum((part.law.deviation * weights) ** 2)))
    if not np.isfinite(reach):
        raise InvalidRequest("how far a law of one's own may be off is not known; give infer(..., n=) a prior on the rows")
    # Laplace noise is 24 deviations off once in 10**14 times, other laws never: the prior is flat wherever it matters.
    return UniformRows(max(0, int(counted - reach)), max(1, int(np.ceil(counted + reach))))
