"""Programs compiled once: well where they run for long, quickly where they do not, and kept for the next call."""

from __future__ import annotations

import hashlib
import time
from collections import OrderedDict
from collections.abc import Callable
from functools import cache
from typing import Any

from discreet.core.x64 import jax

_KNOWN: OrderedDict[tuple[str, bool], Callable[..., Any]] = OrderedDict()
_KEPT = 32


def compiled_for(function: Callable[..., Any], quickly: bool, *arguments: Any) -> tuple[Callable[..., Any], float]:
    """The function compiled for these arguments, and how long that took; ``quickly`` where it will not run for long.

    What was released is an argument, so a second release of the same shape under the same model and law is the same
    program, and is not compiled again: programs are known by their text, constants and all.
    """
    began = time.perf_counter()
    lowered = jax.jit(function).lower(*arguments)
    quickly = quickly and jax.default_backend() == "cpu"
    text = hashlib.sha256(lowered.as_text().encode()).hexdigest()
    made = _KNOWN.get((text, quickly))
    if made is None:
        made = lowered.compile(_quick_options() if quickly else None)
        _KNOWN[text, quickly] = made
        if len(_KNOWN) > _KEPT:
            _KNOWN.popitem(last=False)
    return made, time.perf_counter() - began


@cache
def _quick_options() -> dict[str, Any]:
    """What makes the compiler quick. Its emitters of fused loops take a third of the time where they can be left out."""
    level: dict[str, Any] = {"xla_backend_optimization_level": 0}
    plain = level | {"xla_cpu_use_fusion_emitters": False}
    try:
        jax.jit(lambda: 0).lower().compile(plain)
    except RuntimeError:  # before and after the releases of JAX that have the option
        return level
    return plain


def once(function: Callable[..., Any], *arguments: Any) -> Any:
    """What a function makes of its arguments, compiled for one use."""
    return compiled_for(function, True, *arguments)[0](*arguments)
