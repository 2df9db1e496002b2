"""What a query does to a record before noise is added, as a JAX function: missing rule, clamp, scaling, grid rounding.

A posterior is right only if the latent records go through exactly what the true ones went through. The record itself stays
raw; t(record) is what the query adds up. A query joins by ``@translation("its registered name")``.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from discreet.core import grid as quantum
from discreet.core.query import Query
from discreet.errors import InvalidRequest
from discreet.inference._jax import jnp
from discreet.inference.models.base import Array, DataModel, FiniteModel, Records
from discreet.statistics.cells import Cells, Factor, even
from discreet.statistics.joint import Bundle
from discreet.statistics.spread import Spread

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Statistic:
    """t and what is made of its total.

    ``each(records, index, released)`` is (n, size): the contribution of each record, which may depend on its place and
    on the release. ``finish`` makes the exact value out of the total (None: it is the total). ``ones``, where there is
    one, is a vector w with w.t = 1 for every record, so that w.total counts records. ``smooth`` is ``each`` without
    rounding to a grid, for gradients. ``indexed`` says that t depends on the place of a record.
    """

    each: Callable[[Records, Array, Array], Array]
    size: int
    finish: Callable[[Array], Array] | None = None
    ones: Floats | None = None
    smooth: Callable[[Records, Array, Array], Array] | None = None
    indexed: bool = False


@dataclass(frozen=True, eq=False)
class Reader:
    """The columns of a model's records, by the names a query uses."""

    model: DataModel
    positions: Mapping[str, int]

    def number(self, records: Records, column: str) -> Array:
        """A column as numbers."""
        return self.model.column(records, self.positions[column]) * 1.0

    def code(self, records: Records, factor: Factor) -> Array:
        """The place of a record's value among the labels or bins of a factor."""
        values = self.model.column(records, self.positions[factor.column])
        if not isinstance(self.model, FiniteModel) or not hasattr(self.model, "sizes"):
            return _bin(factor, values) if factor.kind == "bins" else self._refuse(factor)
        size = self.model.sizes[self.positions[factor.column]]
        if factor.size != size:
            raise InvalidRequest(
                f"column {factor.column!r} has {factor.size} cells in the release and {size} in the model; shapes must match"
            )
        place = getattr(self.model, "place", None)
        if place is not None and factor.kind == "category":
            yes = place(factor.labels)
            return jnp.where(values > 0, yes, 1 - yes)
        return values

    def _refuse(self, factor: Factor) -> Array:
        raise InvalidRequest(
            f"column {factor.column!r} holds categories and the model {self.model.name!r} makes numbers; "
            "use DirichletMultinomial or BetaBernoulli"
        )


Translation = Callable[[Any, Reader], Statistic]
_TRANSLATIONS: dict[str, Translation] = {}


def translation(name: str) -> Callable[[Translation], Translation]:
    """Register how the query of that name treats a record."""

    def keep(function: Translation) -> Translation:
        _TRANSLATIONS[name] = function
        return function

    return keep


def translate(query: Query, reader: Reader) -> Statistic:
    """The statistic of a query; refuses those that are no function of a sum over records."""
    if query.name not in _TRANSLATIONS:
        why = (
            "it ranks candidates by the whole table" if query.name == "ranks" else "nobody has said what it does to a record"
        )
        raise InvalidRequest(
            f"a posterior cannot be had from the query {query.name!r}: {why}; known: {', '.join(sorted(_TRANSLATIONS))}"
        )
    return _TRANSLATIONS[query.name](query, reader)


@translation("cells")
def cells(query: Cells, reader: Reader) -> Statistic:
    """The product of factors, cut into whole numbers as ``statistics.cells`` cuts it."""
    sums = all(f.kind not in ("level", "signed") for f in query.factors)
    size = math.prod(query.shape)
    return Statistic(
        lambda records, index, released: _cells(query, reader, records, index, True),
        size,
        ones=np.ones(size) if sums else None,
        smooth=lambda records, index, released: _cells(query, reader, records, index, False),
    )


def _cells(query: Cells, reader: Reader, records: Records, index: Array, exact: bool) -> Array:
    n = index.shape[0]
    rint = jnp.rint if exact else lambda x: x
    valid = jnp.ones(n, bool)
    table = jnp.ones((n, 1))
    order = sorted(range(len(query.factors)), key=lambda i: query.factors[i].is_number)
    for i in order:
        factor = query.factors[i]
        if not factor.is_number:
            code = reader.code(records, factor)
            hot = (code[:, None] == jnp.arange(factor.size)).astype(float)
            table = (table[:, :, None] * hot[:, None, :]).reshape(n, -1)
    weights = [jnp.full(n, quantum.ONE)]
    numbers = [query.factors[i] for i in order if query.factors[i].is_number]
    for factor in numbers:
        values = reader.number(records, factor.column)
        valid &= ~jnp.isnan(values)
        code = _codes(factor, jnp.where(jnp.isnan(values), factor.lo, values), rint)
        weights = [part for weight in weights for part in _spread(factor, weight, code, rint)]
    spread = jnp.stack(weights, axis=-1) * (1 / quantum.ONE)
    table = (table[:, :, None] * spread[:, None, :]).reshape(n, *(query.factors[i].size for i in order))
    back = [0, *(1 + int(place) for place in np.argsort(order))]
    return jnp.where(valid[:, None], jnp.transpose(table, back).reshape(n, -1), 0.0)


def quantise(values: Array, lo: float, hi: float, rint: Callable[[Array], Array] = jnp.rint) -> Array:
    """As ``core.grid.quantise``: whole numbers 0 .. 2**BITS."""
    return rint(jnp.clip((values - lo) * (quantum.ONE / (hi - lo)), 0.0, quantum.ONE))


def _codes(factor: Factor, values: Array, rint: Callable[[Array], Array]) -> Array:
    if factor.kind != "signed":
        return quantise(values, factor.lo, factor.hi, rint)
    return rint(jnp.clip(values, factor.lo, factor.hi) * (quantum.ONE / max(abs(factor.lo), abs(factor.hi))))


def _spread(factor: Factor, weight: Array, code: Array, rint: Callable[[Array], Array]) -> list[Array]:
    if factor.kind in ("level", "signed"):
        return [code]
    share = code * (1 / quantum.ONE)
    top = rint(weight * share)
    if factor.kind == "linear":
        return [weight - top, top]
    both = rint(top * share)
    middle = jnp.minimum(2 * (top - both), weight - both)
    return [weight - both - middle, middle, both]


def _bin(factor: Factor, values: Array) -> Array:
    """The bin of each clipped value; -1 where it is missing, which matches no cell."""
    edges = factor.edges
    count = len(edges) - 1
    if even(edges):
        width = edges[-1] - edges[0]
        place = (values - (edges[0] - width * 2.0**-40)) * (count / width)
    else:
        place = jnp.searchsorted(jnp.asarray(edges), values, side="right") - 1.0
    place = jnp.floor(jnp.clip(place, 0.0, count - 1.0))
    return jnp.where(jnp.isnan(values), -1, place).astype(jnp.int32)


@translation("spread")
def spread(query: Spread, reader: Reader) -> Statistic:
    """A variance or covariance where the number of rows is public: sums of 1, s, t and s t by group, then the formula."""
    groups, grid = query.count_of_groups, float(query.grid)

    def sums(records: Records, index: Array, exact: bool) -> Array:
        rint = jnp.rint if exact else lambda x: x
        s = quantise(reader.number(records, query.x.column), query.x.lo, query.x.hi, rint)
        t = quantise(reader.number(records, query.y.column), query.y.lo, query.y.hi, rint)
        both = rint(s * (1 / quantum.ONE) * t)
        four = jnp.stack([jnp.full_like(s, quantum.ONE), s, t, both], -1) * (1 / quantum.ONE)
        if query.group is None:
            return four
        hot = reader.code(records, query.group)[:, None] == jnp.arange(groups)
        return (hot[:, :, None] * four[:, None, :]).reshape(index.shape[0], -1)

    def finish(total: Array) -> Array:
        n, s, t, both = jnp.moveaxis(total.reshape(groups, 4), 1, 0)
        centred = jnp.sum(jnp.where(n > 0, both - s * t / jnp.where(n > 0, n, 1.0), 0.0))
        return jnp.rint(centred / (query.rows - groups) / grid)[None] * grid

    counts = np.tile([1.0, 0.0, 0.0, 0.0], groups)
    return Statistic(lambda r, i, _: sums(r, i, True), 4 * groups, finish, counts, lambda r, i, _: sums(r, i, False))


@translation("bundle")
def bundle(query: Bundle, reader: Reader) -> Statistic:
    """Several queries side by side."""
    parts = [translate(part, reader) for part in query.parts]
    sizes = [part.size for part in parts]
    starts = np.concatenate([[0], np.cumsum(sizes)])
    lengths = [_length(part) for part in query.parts]
    places = np.concatenate([[0], np.cumsum(lengths)])
    grids = [float(part.grid) for part in query.parts]

    def each(records: Records, index: Array, released: Array) -> Array:
        seen = [released[a:b] for a, b in pairwise(places)]
        return jnp.concatenate([p.each(records, index, r) for p, r in zip(parts, seen, strict=True)], axis=1)

    def smooth(records: Records, index: Array, released: Array) -> Array:
        return jnp.concatenate([(p.smooth or p.each)(records, index, released) for p in parts], axis=1)

    def finish(total: Array) -> Array:
        made = []
        for part, grid, (a, b) in zip(parts, grids, pairwise(starts), strict=True):
            value = total[a:b] if part.finish is None else part.finish(total[a:b])
            unit = float(quantum.UNIT)
            made.append(jnp.rint(value / unit) * unit if grid < unit else value)
        return jnp.concatenate(made)

    first = next((i for i, p in enumerate(parts) if p.ones is not None), None)
    ones = None
    if first is not None:
        ones = np.zeros(int(starts[-1]))
        ones[starts[first] : starts[first + 1]] = parts[first].ones
    plain = all(p.finish is None for p in parts)
    return Statistic(each, int(starts[-1]), None if plain else finish, ones, smooth)


def _length(query: Any) -> int:
    return math.prod(getattr(query, "shape", ()))


_FINE = float(1 << 16)  # the grid of entries of a regression's rows


@translation("regression_sums")
def regression_sums(query: Any, reader: Reader) -> Statistic:
    """Products of all pairs of columns that are divided by their largest bound, a constant and the target last."""
    design = query.design
    if design.weight is not None or design.rows > 1 or any(f.labels for f in design.features):
        raise InvalidRequest(
            "a posterior from the sums of a regression needs columns that are numbers, one row a person and no weights"
        )
    scaled = [(f.column, f.lo, f.hi, f.unit) for f in design.features]
    goal = (design.target.column, design.target.lo, design.target.hi, design.target.unit)
    left, right = np.triu_indices(query.side)

    def sums(records: Records, index: Array, rint: Callable[[Array], Array]) -> Array:
        entries = []
        for name, lo, hi, unit in (*scaled, goal):
            entries.append(rint(jnp.clip(reader.number(records, name), lo, hi) / unit * _FINE) / _FINE)
        z = jnp.stack([*entries[:-1], jnp.ones(index.shape[0]), entries[-1]], axis=-1)
        return z[:, left] * z[:, right]

    ones = ((left == query.side - 2) & (right == query.side - 2)).astype(np.float64)
    return Statistic(
        lambda r, i, _: sums(r, i, jnp.rint), len(left), ones=ones, smooth=lambda r, i, _: sums(r, i, lambda x: x)
    )
