"""Arrays on a GPU, or of another library: the same engine, with the rows where they lie and the noise from here."""

from __future__ import annotations

from types import ModuleType
from typing import Any, Self

from discreet.core.numbers import Number
from discreet.core.random import Random, system
from discreet.core.source import Source
from discreet.errors import InvalidRequest
from discreet.models.design import Design
from discreet.models.gradient.lot_gradient import Gathered
from discreet.models.gradient.network import Network


def namespace(x: Any) -> ModuleType | None:
    """The array namespace of an array that is not NumPy's; None for anything else."""
    from array_api_compat import array_namespace, is_array_api_obj, is_numpy_array

    if not is_array_api_obj(x) or is_numpy_array(x):
        return None
    found: ModuleType = array_namespace(x)
    return found


class DeviceTable(Source):
    """A table of numbers in another library's arrays: features in columns, targets coded as the design has them.

    Bounds, units and norms are applied there, in doubles. It can be asked for lots only.
    """

    resident = True

    def __init__(self, x: Any, y: Any, xp: ModuleType, version: str | None = None) -> None:
        self._x, self._y, self._xp = x, y, xp
        if xp.astype(x[:0, :], xp.float64).dtype != xp.float64:
            raise InvalidRequest("arrays must hold doubles, and this library makes them shorter; turn its 64-bit mode on")
        self._version = version or system().words(2).tobytes().hex()

    def gathered(self, design: Design, network: Network) -> Gathered:
        """The rows as the network takes them; those with a value that is not finite are left out. A last one is nobody's.

        All is done number by number, which no library does otherwise for more or fewer rows; a sum over columns might be.
        """
        xp = self._xp
        x = xp.astype(self._x, xp.float64)
        device = {"device": x.device}
        lo, hi = (xp.asarray([getattr(f, end) for f in design.features], dtype=xp.float64, **device) for end in ("lo", "hi"))
        whole = xp.all(xp.isfinite(x), axis=1)
        x = xp.minimum(xp.maximum(x[whole, :], lo), hi)
        if design.intercept:
            x = xp.concat([x, xp.ones((x.shape[0], 1), dtype=x.dtype, **device)], axis=1)
        x = x / xp.asarray(design.units, dtype=xp.float64, **device)
        if design.radius is not None and design.radius**2 < design.blocks:
            square = xp.zeros_like(x[:, :1])
            for place in range(int(x.shape[1])):
                column = x[:, place : place + 1]
                square = square + column * column
            length = xp.sqrt(square) * (1 + 2.0**-40)
            x = x / xp.maximum(length, xp.ones_like(length))
        y = xp.astype(self._y, xp.float64)[whole]
        people = int(x.shape[0])
        x = xp.concat([x, xp.zeros((1, int(x.shape[1])), dtype=x.dtype, **device)], axis=0)
        y = xp.concat([y, xp.zeros((1,), dtype=y.dtype, **device)], axis=0)
        return Gathered(network.widen(x, xp), y, None, None, people, None, xp)

    @property
    def version(self) -> str:
        return self._version

    def sample(self, rate: Number, seed: int | Random | None = None) -> Self:
        raise InvalidRequest("arrays of another library are asked for lots of a plan only; pass NumPy arrays")

    def fold(self, *_: Any) -> Any:
        self.sample(1)
