"""A loss written in JAX, with Flax or in plain functions, as something that private gradient descent can train."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np

from discreet.core.random import Random
from discreet.core.x64 import doubles, jax, jnp
from discreet.errors import InvalidRequest
from discreet.models.gradient.person_loss import PersonLoss

_NUMBERS = 1 << 22  # of the gradients of one block on a CPU, so that they stay near its caches; on a GPU 32 times as many
_PEOPLE = 64, 4096  # in a block at the most, there and there


def jax_loss(loss: Callable[[Any, Any, Any], Any], parameters: Any, *, title: str | None = None) -> PersonLoss:
    """``loss(parameters, x, y)`` of one row, for ``OwnNetwork``; ``parameters`` are the public ones to start from.

    ``parameters`` is any tree of arrays. What is to stay as it is does not belong into it: close over frozen layers, or
    train ``low_rank`` adapters of them. Rows come in the precision of the parameters, whole numbers as they are.

    A person's gradient comes from one compiled program for a block of people. It is tried on rows made up here, for
    parameters as given: if a person comes out the same to the last bit in every place of a block, blocks are used, and if
    not, people are worked off one by one, by a program of one person's shape.

    Example: ``jax_loss(lambda p, x, y: optax.softmax_cross_entropy_with_integer_labels(net.apply(p, x), y), start)``.
    """
    with doubles():
        flat, unravel = jax.flatten_util.ravel_pytree(parameters)
        if not jnp.issubdtype(flat.dtype, jnp.floating) or not bool(jnp.isfinite(flat).all()):
            raise InvalidRequest("parameters must be a tree of arrays of finite numbers; close over anything else")
        kind = flat.dtype
        first = np.asarray(flat, np.float64)

    def restore(values: Any) -> Any:
        with doubles():
            return unravel(jnp.asarray(values, kind))

    def of_person(values: Any, x: Any, y: Any, weight: Any) -> Any:
        each = jax.vmap(loss, (None, 0, 0))(unravel(values), x, y)
        return jnp.sum(each.reshape(weight.shape) * weight.astype(kind))

    def whole(values: Any, x: Any, y: Any, weight: Any, clip: Any, unit: Any) -> Any:
        """One person's shortened gradient in units, as whole numbers in doubles."""
        found = jax.grad(of_person)(values, x, y, weight).astype(jnp.float64)
        square = jnp.sum(found * found)
        good = jnp.isfinite(square)
        factor = jnp.where(good, jnp.minimum(1.0, clip / jnp.sqrt(square)), 0.0)
        return jnp.rint(jnp.where(good, found, 0.0) * (factor / unit))

    block = jax.jit(jax.vmap(whole, (None, 0, 0, 0, None, None)))
    added = jax.jit(lambda people: people.sum(0))  # of whole numbers; apart, so that what runs is the program that was tried

    @jax.jit
    def one_by_one(values: Any, x: Any, y: Any, weight: Any, clip: Any, unit: Any) -> Any:
        def add(total: Any, person: Any) -> tuple[Any, None]:
            return total + whole(values, person[0], person[1], person[2], clip, unit), None

        return jax.lax.scan(add, jnp.zeros(len(first)), (x, y, weight))[0]

    @lru_cache(maxsize=64)
    def steady(people: int, shapes: tuple[Any, ...], kinds: tuple[str, str]) -> bool:
        """Whether a block gives a person the same wherever the person stands in it; tried on made-up rows."""
        made = _made_up(people, shapes, kinds)
        weight = jnp.ones(made[1].shape[:2])
        known = np.asarray(block(flat, *made, weight, 1.0, 2.0**-28))
        for shift in sorted({1, people // 2, people - 1} - {0, people}):
            moved = block(flat, *(jnp.roll(each, shift, 0) for each in made), weight, 1.0, 2.0**-28)
            if not np.array_equal(np.asarray(moved), np.roll(known, shift, 0)):
                return False
        return True

    def shortened(values: Any, x: Any, y: Any, weight: Any, clip: float, unit: float) -> Any:
        with doubles():
            on_gpu = jax.default_backend() != "cpu"
            people = max(1, min(_PEOPLE[on_gpu], (_NUMBERS << 5 * on_gpu) // len(first)))
            x = x if x.dtype.kind in "iub" else x.astype(kind)
            y = y if y.dtype.kind in "iub" else y.astype(kind)
            together = steady(people, (x.shape[1:], y.shape[1:]), (str(x.dtype), str(y.dtype)))
            values, total = jnp.asarray(values, kind), np.zeros(len(first))
            for start in range(0, len(x), people):
                rows = (_filled(each[start : start + people], people) for each in (x, y, weight))
                made = added(block(values, *rows, clip, unit)) if together else one_by_one(values, *rows, clip, unit)
                total += np.asarray(made)
            return total

    return PersonLoss(title or str(getattr(loss, "__name__", "loss")), len(first), first, shortened, restore)


def _filled(rows: Any, people: int) -> Any:
    """A block of ``people``, filled up with zeros: people whose rows weigh nothing."""
    if len(rows) == people:
        return rows
    whole = np.zeros((people, *rows.shape[1:]), rows.dtype)
    whole[: len(rows)] = rows
    return whole


def _made_up(people: int, shapes: tuple[Any, ...], kinds: tuple[str, str]) -> list[Any]:
    """Rows and targets of the shapes and types that come, from a public stream."""
    random, made = Random(1), []
    for shape, kind in zip(shapes, kinds, strict=True):
        words = random.words(people * int(np.prod(shape, dtype=int)))
        numbers = words % 2 if np.dtype(kind).kind in "iub" else (words >> np.uint64(11)).astype(np.float64) * 2.0**-52 - 1.0
        made.append(jnp.asarray(numbers.reshape(people, *shape).astype(kind)))
    return made
