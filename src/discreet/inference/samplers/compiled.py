"""Programs compiled once: well where they run for long, quickly where they do not, and kept for the next call."""

from __future__ import annotations

import hashlib
import time
from collections import OrderedDict
from collections.abc import Callable
from functools import cache
from typing import Any, Literal

from discreet.core.x64 import jax

Effort = Literal["least", "some", "most"]
_KNOWN: OrderedDict[tuple[str, str], Callable[..., Any]] = OrderedDict()
_KEPT = 32


def compiled_for(function: Callable[..., Any], effort: Effort, *arguments: Any) -> tuple[Callable[..., Any], float]:
    """The function compiled for these arguments, and how long that took; the longer it will run, the more ``effort``.

    What was released is an argument, so a second release of the same shape under the same model and law is the same
    program, and is not compiled again: programs are known by their text, constants and all.
    """
    began = time.perf_counter()
    lowered = jax.jit(function).lower(*arguments)
    effort = effort if jax.default_backend() == "cpu" else "most"
    text = hashlib.sha256(lowered.as_text().encode()).hexdigest()
    made = _KNOWN.get((text, effort))
    if made is None:
        made = lowered.compile(_options(effort))
        _KNOWN[text, effort] = made
        if len(_KNOWN) > _KEPT:
            _KNOWN.popitem(last=False)
    return made, time.perf_counter() - began


@cache
def _options(effort: Effort) -> dict[str, Any] | None:
    """What makes the compiler quick. Its emitters of fused loops take most of the time where they can be left out."""
    if effort == "most":
        return None
    level: dict[str, Any] = {"xla_backend_optimization_level": int(effort != "least")}
    plain = level | {"xla_cpu_use_fusion_emitters": False}
    try:
        jax.jit(lambda: 0).lower().compile(plain)
    except RuntimeError:  # before and after the releases of JAX that have the option
        return level
    return plain


def once(function: Callable[..., Any], *arguments: Any) -> Any:
    """What a function makes of its arguments, compiled for one use."""
    return compiled_for(function, "least", *arguments)[0](*arguments)
