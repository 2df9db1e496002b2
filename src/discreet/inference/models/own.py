"""A model of one's own: a log-prior, a log-likelihood and a simulator, and the rest is done."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from discreet.core.x64 import jax, jnp
from discreet.errors import InvalidRequest
from discreet.inference.models.base import Array, FreeModel, Records, Theta, column_names
from discreet.inference.samplers.slices import slice_sweep


@dataclass(frozen=True, eq=False)
class OwnModel(FreeModel):
    """Records and parameters described by plain ``jax.numpy`` functions, or by NumPy's, which are called as they are.

    ``log_prior(theta)`` is the log-density of the parameters, ``log_likelihood(record, theta)`` that of one record, and
    ``simulate(key, theta)`` draws one record. ``start`` is a dict with numbers of the right shape where the log-prior is
    finite: the chains start there. ``positive`` names parameters that must stay above zero. ``read(record, position)`` gives
    a column of a record where a release of a query is used (default: ``record[position]``, or the record itself). Functions
    that JAX cannot trace get a NumPy ``Generator`` for ``key`` and need a known ``n``.

    The step on theta given records is found by itself: one slice along each coordinate (Neal 2003), which needs no tuning
    and no gradient.

    Proof: a slice leaves p(theta | records) as it is, whatever its widths, which are fixed before the run.
    """

    log_prior_of: Callable[[Theta], Array]
    log_likelihood: Callable[[Any, Theta], Array]
    simulate_one: Callable[[Array, Theta], Any]
    start: Mapping[str, Any]
    positive: tuple[str, ...] = ()
    columns: tuple[str, ...] | None = None
    read: Callable[[Any, int], Array] | None = None

    name: ClassVar[str] = "own"
    samplers: ClassVar[tuple[str, ...]] = ("sweep",)

    def __init__(
        self,
        log_prior: Callable[[Theta], Array],
        log_likelihood: Callable[[Any, Theta], Array],
        simulate: Callable[[Array, Theta], Any],
        start: Mapping[str, Any],
        positive: tuple[str, ...] | list[str] = (),
        columns: tuple[str, ...] | str | None = None,
        read: Callable[[Any, int], Array] | None = None,
    ) -> None:
        for name, function, count in (
            ("log_prior", log_prior, 1),
            ("log_likelihood", log_likelihood, 2),
            ("simulate", simulate, 2),
        ):
            if not callable(function):
                raise InvalidRequest(f"{name} must be a function, got {function!r}")
            check_arguments(function, name, count)
        if not isinstance(start, Mapping) or not start:
            raise InvalidRequest(f"start must be a dict of parameters such as {{'mu': 0.0}}, got {start!r}")
        values = {name: np.asarray(value, np.float64) for name, value in start.items()}
        for name in positive:
            if name not in values:
                raise InvalidRequest(f"positive names {name!r}, which start does not have: {list(values)}")
            if not (values[name] > 0).all():
                raise InvalidRequest(f"start must be above zero at {name!r}, got {values[name]}")
        names = None if columns is None else (columns,) if isinstance(columns, str) else tuple(columns)
        for field, value in (
            ("log_prior_of", log_prior), ("log_likelihood", log_likelihood), ("simulate_one", simulate), ("start", values),
            ("positive", tuple(positive)), ("columns", names), ("read", read),
        ):  # fmt: skip
            object.__setattr__(self, field, value)
        object.__setattr__(self, "columns", column_names(names, len(names or ())))

    @property
    def variables(self) -> int:
        return 0 if self.columns is None else len(self.columns)

    def draw_prior(self, key: Array) -> Theta:
        """The declared start: a log-density cannot be drawn from."""
        return {name: jnp.asarray(value) for name, value in self.start.items()}

    def simulate(self, key: Array, theta: Theta, size: int) -> Records:
        return jax.vmap(self.simulate_one, in_axes=(0, None))(jax.random.split(key, size), theta)

    def update(self, key: Array, theta: Theta, records: Records, weight: Array) -> Theta:
        each = jax.vmap(self.log_likelihood, in_axes=(0, None))

        def log_density(free: Array) -> Array:
            here = self.from_free(free)
            return self.log_prior(free) + jnp.sum(jnp.where(weight > 0, each(records, here), 0.0))

        free = self.to_free(theta)
        widths = 1.0 + jnp.abs(self.to_free({name: jnp.asarray(value) for name, value in self.start.items()}))
        return self.from_free(slice_sweep(key, log_density, free, widths)[0])

    def column(self, records: Records, position: int) -> Array:
        if self.read is not None:
            return jax.vmap(lambda record: self.read(record, position))(records)  # type: ignore[misc]
        return records if jnp.ndim(records) == 1 else records[:, position]

    def to_free(self, theta: Theta) -> Array:
        parts = [jnp.log(theta[name]) if name in self.positive else jnp.asarray(theta[name]) for name in self.start]
        return jnp.concatenate([jnp.ravel(p) for p in parts])

    def from_free(self, free: Array) -> Theta:
        theta, start = {}, 0
        for name, value in self.start.items():
            part = free[start : start + value.size].reshape(value.shape)
            theta[name] = jnp.exp(part) if name in self.positive else part
            start += value.size
        return theta

    def log_prior(self, free: Array) -> Array:
        theta = self.from_free(free)
        return self.log_prior_of(theta) + sum(jnp.sum(jnp.log(theta[name])) for name in self.positive)


def check_arguments(function: Callable[..., Any], name: str, least: int, most: int | None = None) -> int:
    """How many arguments a user's function takes, refusing other numbers than it is called with."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):  # built-in functions do not tell
        return least
    if any(p.kind == p.VAR_POSITIONAL for p in parameters):
        return most or least
    taken = [p for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    needed = sum(p.default is p.empty for p in taken)
    count = max(least, needed)  # arguments with a default are left alone
    if count <= (most or least) and count <= len(taken):
        return count
    wanted = f"{least}" if most is None else f"{least} to {most}"
    raise InvalidRequest(f"{name} is called with {wanted} arguments, and takes {needed}; see its documentation")
