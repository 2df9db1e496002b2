"""NumPy's generator, for draws from a posterior: of what was released already. Nothing private is drawn with it."""

from __future__ import annotations

from typing import Any

import numpy as np

from discreet.core.x64 import jax

Generator = np.random.Generator


def generator(*seed: int) -> Generator:
    """The draws that follow from whole numbers."""
    return np.random.default_rng(seed)


def of_keys(keys: Any) -> list[Generator]:
    """The draws that follow from each of several keys of JAX."""
    return [generator(*words) for words in np.asarray(jax.random.key_data(keys)).tolist()]


def fresh_keys(key: Any, groups: int, each: int) -> list[Any]:
    """Groups of new keys, as many in each; made here because every shape of ``jax.random.split`` is compiled anew."""
    words = np.asarray(jax.random.key_data(key))
    made = generator(*words.tolist()).integers(0, 1 << 32, (groups, each, words.size), np.uint32)
    return [jax.random.wrap_key_data(part, impl=jax.random.key_impl(key)) for part in made]
