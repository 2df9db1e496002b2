"""A model, what was seen, and how many records there are: what every sampler is given, and the state it moves."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from discreet.errors import InvalidRequest
from discreet.inference._jax import jax, jnp
from discreet.inference.evidence import Evidence
from discreet.inference.models.base import Array, DataModel, FreeModel, Records, Theta
from discreet.inference.rows import Rows, UniformRows

State = dict[str, Any]
_FAR = 12.0  # standard deviations of noise beyond which a number of rows is left out
_TRIES, _ROUNDS, _BEST = 64, 12, 8


@dataclass(frozen=True, eq=False)
class Problem:
    """What a sampler needs. ``capacity`` is the length of the arrays of records: n itself where it is known."""

    model: DataModel
    evidence: Evidence
    rows: int | Rows

    @property
    def capacity(self) -> int:
        return self.rows if isinstance(self.rows, int) else max(1, self.rows.most)

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
        theta = self._start_theta(theta_key, values, n)
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
            return jax.tree.map(lambda x: x[0], thetas)
        free_of, fit = jax.vmap(model.to_free), jax.vmap(lambda k, t: self._fit(k, t, values, n))

        def search(state: tuple[Array, Array], key: Array) -> tuple[tuple[Array, Array], None]:
            """The best of the points, and as many new ones around them."""
            points, scores = state
            order = jnp.argsort(-scores)[:_BEST]
            best, kept = points[order], scores[order]
            spread = jnp.std(best, axis=0) + 1e-3 * (1 + jnp.abs(best).mean(0))
            first, second, third = jax.random.split(key, 3)
            from_ = jax.random.randint(first, (_TRIES - _BEST,), 0, _BEST)
            new = best[from_] + 1.5 * spread * jax.random.normal(second, (_TRIES - _BEST, best.shape[1]))
            found = fit(jax.random.split(third, _TRIES - _BEST), jax.vmap(model.from_free)(new))
            found = jnp.where(jnp.isnan(found), -jnp.inf, found)
            return (jnp.concatenate([best, new]), jnp.concatenate([kept, found])), None

        fit_key, search_key, last_key = jax.random.split(key, 3)
        scores = fit(jax.random.split(fit_key, _TRIES), thetas)
        scores = jnp.where(jnp.isnan(scores), -jnp.inf, scores)
        (points, scores), _ = jax.lax.scan(search, (free_of(thetas), scores), jax.random.split(search_key, _ROUNDS))
        chosen = jnp.argsort(-scores)[jax.random.randint(last_key, (), 0, _BEST)]
        return model.from_free(points[chosen])

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

    A step returns the new state and what to keep of it: ``theta``, ``stats`` and, for sweeps, ``accepted`` per record.
    """

    name: str
    start: Callable[[Array, Array], State]
    step: Step


def count_of(evidence: Evidence, values: Array) -> Array | None:
    """The number of records as the first release that counts them says, noise and all."""
    found = evidence.ones
    if found is None:
        return None
    weights, place = found
    start = sum(p.values.size for p in evidence.parts[:place])
    return jnp.sum(values[start : start + weights.size] * weights)


def decide_rows(evidence: Evidence, n: int | Rows | None) -> int | Rows:
    """The number of records: what the user said, what a release makes public, or every number that a count allows."""
    public = {getattr(r.query, "rows", None) for r in evidence.releases if r.query is not None and r.query.name == "spread"}
    if evidence.reports is not None:
        public.add(len(evidence.reports.codes))
    public.discard(None)
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
    # Noise is twelve deviations off less than once in ten million: the prior is flat wherever it matters.
    return UniformRows(max(0, int(counted - 2 * reach)), max(1, int(np.ceil(counted + 2 * reach))))
