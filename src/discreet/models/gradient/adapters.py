"""Low-rank adapters: few parameters that change a large public network, so that noise falls on few numbers."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from discreet.core.random import Random
from discreet.core.x64 import jax, jnp
from discreet.errors import InvalidRequest


def low_rank(parameters: Any, rank: int, *, key: int = 0) -> tuple[Any, Callable[[Any], Any]]:
    """Adapters for every matrix of a tree of public ``parameters``, and the function that puts them in.

    A matrix W of m x n becomes W + A B with A of m x ``rank``, drawn from a public stream with deviation 1 / sqrt(m), and
    B of zeros, so that training starts at W (Hu et al. 2022). Matrices with a side of at most ``rank``, and all other
    arrays, stay as they are. Train the adapters: ``jax_loss(lambda a, x, y: loss(join(a), x, y), adapters)``.
    """
    if isinstance(rank, bool) or not isinstance(rank, int) or rank < 1:
        raise InvalidRequest(f"rank must be a whole number of at least 1, got {rank!r}")
    leaves, tree = jax.tree_util.tree_flatten(parameters)
    random, adapters = Random(key), {}
    for place, leaf in enumerate(leaves):
        if np.ndim(leaf) == 2 and min(leaf.shape) > rank:
            words = random.words(leaf.shape[0] * rank)
            uniform = (words >> np.uint64(11)).astype(np.float64) * 2.0**-52 - 1.0
            down = uniform.reshape(leaf.shape[0], rank) * math.sqrt(3.0 / leaf.shape[0])
            adapters[str(place)] = {
                "down": jnp.asarray(down.astype(leaf.dtype)),
                "up": jnp.zeros((rank, leaf.shape[1]), leaf.dtype),
            }
    if not adapters:
        raise InvalidRequest(f"no matrix of these parameters has both sides above the rank {rank}; take a smaller rank")

    def join(trained: Any) -> Any:
        made = [
            leaf + trained[str(place)]["down"] @ trained[str(place)]["up"] if str(place) in trained else leaf
            for place, leaf in enumerate(leaves)
        ]
        return jax.tree_util.tree_unflatten(tree, made)

    return adapters, join
