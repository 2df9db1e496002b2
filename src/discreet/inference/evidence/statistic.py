"""What a query does to a record before noise is added, as a JAX function: missing rule, clamp, scaling, grid rounding.

A posterior is right only if the latent records go through exactly what the true ones went through. The record itself stays
raw; t(record) is what the query adds up. A query joins by ``@translation("its registered name")``.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import pairwise
from types import SimpleNamespace
from typing import Any

import numpy as np
import numpy.typing as npt

from discreet.core import grid as quantum
from discreet.core.query import Query
from discreet.core.x64 import jnp
from discreet.errors import InvalidRequest
from discreet.inference.models.base import Array, DataModel, Records, TableModel
from discreet.statistics.cells import Cells, Factor, bins, codes_of, cut
from discreet.statistics.joint import Bundle
from discreet.statistics.spread import Spread
from discreet.statistics.two_moments import TwoMoments

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
        if not isinstance(self.model, TableModel):
            return bin_of(factor, values) if factor.kind == "bins" else self._refuse(factor)
        size = self.model.sizes[self.positions[factor.column]]
        if factor.size != size:
            raise InvalidRequest(
                f"column {factor.column!r} has {factor.size} cells in the release and {size} in the model; shapes "
                "must match: BetaBernoulli takes two labels, DirichletMultinomial any number"
            )
        yes = self.model.place(factor.labels) if factor.kind == "category" else None
        return values if yes is None else jnp.where(values > 0, yes, 1 - yes)

    def _refuse(self, factor: Factor) -> Array:
        raise InvalidRequest(
            f"column {factor.column!r} holds categories and the model {self.model.name!r} makes numbers; "
            "use DirichletMultinomial or BetaBernoulli"
        )


def bin_of(factor: Factor, values: Array) -> Array:
    """The bin of each clipped value; -1 where it is missing, which matches no cell."""
    return jnp.nan_to_num(jnp.floor(bins(factor, values, jnp)), nan=-1.0)


# As jax.numpy, but nothing is rounded: what gradients are taken of.
SMOOTH: Any = SimpleNamespace(rint=lambda x: x, clip=jnp.clip, minimum=jnp.minimum)
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
        why = "it ranks candidates by the whole table" if query.name == "ranks" else "its sums are of no model's records"
        raise InvalidRequest(
            f"a posterior cannot be had from the query {query.name!r}: {why}; "
            "release a count, a histogram, a crosstab, a mean or a variance instead"
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
    n, xp = index.shape[0], jnp if exact else SMOOTH
    valid = jnp.ones(n, bool)
    table = jnp.ones((n, 1))
    order = sorted(range(len(query.factors)), key=lambda i: query.factors[i].is_number)
    weights = [jnp.full(n, quantum.ONE)]
    for factor in (query.factors[i] for i in order):
        if not factor.is_number:
            hot = (reader.code(records, factor)[:, None] == jnp.arange(factor.size)).astype(float)
            table = (table[:, :, None] * hot[:, None, :]).reshape(n, -1)
            continue
        values = reader.number(records, factor.column)
        valid &= ~jnp.isnan(values)
        code = codes_of(factor, jnp.where(jnp.isnan(values), factor.lo, values), xp=xp)
        weights = [part for weight in weights for part in cut(factor, weight, code, xp)]
    spread = jnp.stack(weights, axis=-1) * (1 / quantum.ONE)
    table = (table[:, :, None] * spread[:, None, :]).reshape(n, *(query.factors[i].size for i in order))
    back = [0, *(1 + int(place) for place in np.argsort(order))]
    return jnp.where(valid[:, None], jnp.transpose(table, back).reshape(n, -1), 0.0)


@translation("spread")
def spread(query: Spread, reader: Reader) -> Statistic:
    """A variance or covariance where the number of rows is public: sums of 1, s, t and s t by group, then the formula."""
    groups, grid = query.count_of_groups, float(query.grid)

    def sums(records: Records, index: Array, exact: bool) -> Array:
        xp = jnp if exact else SMOOTH
        s = codes_of(query.x, reader.number(records, query.x.column), xp=xp)
        t = codes_of(query.y, reader.number(records, query.y.column), xp=xp)
        both = xp.rint(s * (1 / quantum.ONE) * t)
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


@translation("two_moments")
def two_moments(query: TwoMoments, reader: Reader) -> Statistic:
    """Of u = 2t - 1 the sum and the weighted sum of squares, where the number of rows is public."""

    def sums(records: Records, xp: Any) -> Array:
        u = 2 * codes_of(query.number, reader.number(records, query.number.column), xp=xp) - quantum.ONE
        return jnp.stack([u, xp.rint(u * u * (float(query.weight) / quantum.ONE))], -1) * (1 / quantum.ONE)

    return Statistic(lambda r, i, _: sums(r, jnp), 2, smooth=lambda r, i, _: sums(r, SMOOTH))


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
    return math.prod(query.shape)


@translation("regression_sums")
def regression_sums(query: Any, reader: Reader) -> Statistic:
    """Products of all pairs of columns within [-1, 1], a constant and the target last, times the query's factors."""
    design = query.design
    if design.weight is not None or design.rows > 1 or any(f.labels for f in design.features):
        raise InvalidRequest(
            "a posterior from the sums of a regression needs columns that are numbers, one row a person and no weights"
        )
    scaled = [(f.column, f.lo, f.hi, f.middle, f.unit) for f in (*design.features, design.target)]
    left, right = np.triu_indices(query.side)
    steps = math.sqrt(1 / (query.grid * query.target_factor.denominator))  # an entry's own; the grid is that of products

    def sums(records: Records, index: Array, rint: Callable[[Array], Array]) -> Array:
        entries = []
        for name, lo, hi, middle, unit in scaled:
            entries.append(rint((jnp.clip(reader.number(records, name), lo, hi) - middle) / unit * steps) / steps)
        z = jnp.stack([*entries[:-1], jnp.ones(index.shape[0]), entries[-1]], axis=-1)
        return z[:, left] * z[:, right] * query.factors

    ones = ((left == query.side - 2) & (right == query.side - 2)).astype(np.float64)
    return Statistic(
        lambda r, i, _: sums(r, i, jnp.rint), len(left), ones=ones, smooth=lambda r, i, _: sums(r, i, lambda x: x)
    )
