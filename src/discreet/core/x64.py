"""JAX: imported here only, with a clear word where it is missing, and used in double precision.

Totals of many records, and norms that gradients are shortened by, are exact enough only in doubles. The switch is a
context, so that the precision of other code in the process stays as it was.
"""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Any

from discreet.errors import DiscreetError


class MissingExtra(DiscreetError, ImportError):
    """A part of the package was used whose libraries are not installed."""


try:
    import jax
    import jax.flatten_util
    import jax.numpy as jnp
except ImportError as problem:  # pragma: no cover
    raise MissingExtra("this needs JAX, which is not installed; run: pip install 'discreet[bayes]'") from problem


def doubles() -> AbstractContextManager[Any]:
    """Double precision within the context, on any version of JAX."""
    if hasattr(jax, "enable_x64"):
        context: AbstractContextManager[Any] = jax.enable_x64(True)
        return context
    from jax import experimental

    older: AbstractContextManager[Any] = experimental.enable_x64()  # type: ignore[attr-defined]
    return older


TINY = 2.0**-1000  # uniform numbers are kept from zero by it, so that their logarithms are finite

__all__ = ["TINY", "MissingExtra", "doubles", "jax", "jnp"]
