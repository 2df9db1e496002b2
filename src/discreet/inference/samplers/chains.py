"""Chains: side by side, in pieces, with a progress bar; an interrupt returns what was drawn so far."""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from discreet.core.x64 import jax, jnp
from discreet.errors import InvalidRequest
from discreet.inference.models.base import Array
from discreet.inference.samplers.compiled import Effort, compiled_for
from discreet.inference.samplers.numpy_draws import fresh_keys
from discreet.inference.samplers.problem import Kernel

_SMALL, _LARGE = 1_000_000, 30_000_000  # records looked at from which on compiling better saves more than it takes
_PIECE = 100  # steps between two looks at the keyboard


@dataclass(frozen=True, eq=False)
class Drawn:
    """What chains left: arrays of (chains, draws, ...), and ``accepted`` of (chains, records) where a sampler has it."""

    theta: dict[str, npt.NDArray[Any]]
    stats: dict[str, npt.NDArray[Any]]
    seconds: float
    compile_seconds: float
    interrupted: bool = False


def run(
    kernel: Kernel,
    values: Any,
    *,
    draws: int,
    warmup: int,
    chains: int,
    key: Array,
    progress: bool | None = None,
    state: Any = None,
) -> Drawn:
    """Run a kernel. ``values`` is what was seen: one array for all chains, or one line for each.

    ``state`` is where the chains start, if not where the kernel would start them.
    """
    values = np.asarray(values)
    axis = 0 if values.ndim == 2 else None
    piece = max(1, math.ceil(draws / math.ceil(draws / _PIECE)))
    began = time.perf_counter()
    starts, keys = fresh_keys(key, 2, chains)
    compiled = 0.0
    if state is None and kernel.together:
        state, compiled = kernel.start(starts, values)
    elif state is None:
        start, compiled = compiled_for(jax.vmap(kernel.start, (0, axis)), "least", starts, values)
        state = start(starts, values)
    check_start(state)

    def one_piece(keys: Array, state: Any, values: Array) -> tuple[Array, Any, Any]:
        def step(carry: tuple[Array, Any, Any], _: Any) -> tuple[tuple[Array, Any, Any], Any]:
            key, state, accepted = carry
            key, now = jax.random.split(key)
            state, kept = kernel.step(now, state, values)
            more = kept.pop("accepted", jnp.zeros(0))
            return (key, state, accepted + more), kept

        begun = keys, state, jnp.zeros(kernel.told)
        (key, state, accepted), kept = jax.lax.scan(step, begun, None, length=piece)
        return key, state, (kept, accepted)

    work = (draws + warmup) * chains * max(1, state.get("each", values).shape[-2 if "each" in state else -1])
    effort: Effort = "most" if work >= _LARGE else "some" if kernel.heavy or work >= _SMALL else "least"
    advance, more = compiled_for(jax.vmap(one_piece, (0, 0, axis)), effort, keys, state, values)
    compiled += more
    before, after = math.ceil(warmup / piece), math.ceil(draws / piece)
    pieces: list[Any] = []
    interrupted = False
    with _bar(before + after, progress) as done:
        try:
            for number in range(before + after):
                keys, state, kept = advance(keys, state, values)
                kept = jax.device_get(kept)
                if number >= before:
                    pieces.append(kept)
                done()
        except KeyboardInterrupt:
            if not pieces:
                raise
            interrupted = True
    theta, stats = (
        {name: np.concatenate([p[0][kind][name] for p in pieces], axis=1)[:, -draws:] for name in pieces[0][0][kind]}
        for kind in ("theta", "stats")
    )
    if pieces[0][1].shape[1]:
        made = len(pieces) * piece
        stats["acceptance_per_record"] = sum(p[1] for p in pieces) / made
    return Drawn(theta, stats, time.perf_counter() - began - compiled, compiled, interrupted)


def check_start(state: dict[str, Any]) -> None:
    """Refuse a start that no chain can leave, naming the function at fault."""
    for name, value in state["theta"].items():
        if not np.isfinite(np.asarray(value)).all():
            raise InvalidRequest(f"the prior (start) gives {name} a value that is not finite; check its parameters")
    each, log_prob = np.asarray(state.get("each", 0.0)), np.asarray(state["log_prob"])
    if np.isnan(each).any() or np.isinf(each).any():
        raise InvalidRequest(
            "the statistic is not finite at records simulated from the model; check statistic= and its clamp"
        )
    if np.isnan(log_prob).any():
        raise InvalidRequest("the log-density of the release is NaN at the start; check the law (mechanism=)")
    if np.isinf(log_prob).any():
        raise InvalidRequest(
            "what was released has probability zero (log-density -inf) at the start; check that the statistic lies on the "
            "grid of a discrete law, and the model and n against the release"
        )


@contextmanager
def _bar(pieces: int, wanted: bool | None) -> Iterator[Callable[[], None]]:
    """A progress bar on a terminal, or where it is asked for."""
    if not (sys.stderr.isatty() if wanted is None else wanted):
        yield lambda: None
        return
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task("drawing", total=pieces)
        yield lambda: progress.advance(task)
