"""Sums over people, cell by cell: the one query behind nearly every statistic, and the one place that adds up.

A *factor* spreads one row over a few cells with weights that are not negative and sum to 1 (a partition of unity): a
category into its label, a number into a bin, or a number t in [0, 1] into the Bernstein polynomials of degree 1, 2 or 4:
(1 - t, t), ((1 - t)**2, 2t(1 - t), t**2), or C(4, k) t**k (1 - t)**(4 - k) for k = 0 .. 4.
The product of factors is again a partition of unity, so one row always adds exactly 1 to the cells together, whatever
it holds: sums of moments, cross-moments, groups and tables all have the same small sensitivity.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from itertools import pairwise
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from discreet.core import grid as quantum
from discreet.core import numbers
from discreet.core.bounded import check_apart
from discreet.core.cost import Distance
from discreet.core.exact import Exact
from discreet.core.grid import quantise
from discreet.core.query import Relation, SumQuery, check_rows, distance_of_weights, queries
from discreet.core.source import Batch
from discreet.errors import InvalidRequest

Kind = Literal["category", "bins", "linear", "square", "quartic", "level", "signed"]
Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]

WIDTH: dict[str, int] = {"linear": 2, "square": 3, "quartic": 5, "level": 1, "signed": 1}
_NARROWEST_BIN = 1e-120  # the narrowest bounds in as many bins as are allowed, and a density is still finite


@dataclass(frozen=True)
class Factor:
    """How one column spreads a row over cells.

    ``category``: its label. ``bins``: the interval [edge_i, edge_i+1) that holds the clipped value, the last one closed.
    ``linear``: (1 - t, t). ``square``: ((1 - t)**2, 2t(1 - t), t**2). ``quartic``: degree 4 of the same. Not partitions
    of unity, and only for themselves: ``level``: t alone; ``signed``: x / max(|lo|, |hi|) alone.
    """

    kind: Kind
    column: str
    lo: float = 0.0
    hi: float = 1.0
    edges: tuple[float, ...] = ()
    labels: tuple[Any, ...] = ()

    def __post_init__(self) -> None:
        if self.kind not in ("category", "bins", *WIDTH):
            raise InvalidRequest(f"a factor is one of category, bins, {', '.join(WIDTH)}, got {self.kind!r}")
        check_apart(self.lo, self.hi, "bounds")
        if self.edges:
            check_apart(self.edges[0], self.edges[-1], "the first and the last of the edges")
        for lo, hi in pairwise(self.edges):
            check_apart(lo, hi, "edges", _NARROWEST_BIN)

    @property
    def size(self) -> int:
        """The number of its cells."""
        return len(self.labels) or len(self.edges) - 1 if self.kind in ("category", "bins") else WIDTH[self.kind]

    @property
    def is_number(self) -> bool:
        """Whether it spreads over moments rather than picking one cell."""
        return self.kind in WIDTH


@queries("cells")
@dataclass(frozen=True)
class Cells(SumQuery):
    """The sum over rows of the product of ``factors``, as whole numbers on a grid; ``rows`` of a person count at most.

    ``distance``: with k rows a person, L1 and L2 are k under add/remove; 2k and sqrt(2) k under replace and both.

    Proof: a row's weights are not negative and sum to at most 1 (exactly 1 unless a value is missing, then 0), also
    after rounding: ``cut`` cuts a whole number into whole numbers that are not negative and sum to it. A person has
    at most k rows (the source keeps no more), so the person's vector v has v >= 0 and |v|_1 <= k. Adding or removing it
    moves the sum by v: L1 at most k, L2 at most |v|_1, and so does any change of a single cell. Replacing v by w moves it
    by v - w: L1 at most 2k and |v - w|_2^2 <= |v|_2^2 + |w|_2^2 <= 2 k^2 because v and w are not negative. ``level`` is a
    number in [0, 1] and therefore covered. ``signed`` is a number c between lo/m and hi/m, m = max(|lo|, |hi|), so
    |c| <= 1: adding or removing moves the sum by k at most in any norm. Under replace v and w lie in the convex hull of 0
    and the k c e_g, c at either end, e_g a cell; |v - w| is convex, so it is largest at corners: in one cell
    k max(1, (hi - lo)/m), in two cells 2k in L1 and sqrt(2) k in L2. Rounding a row to the grid adds one step at most.
    """

    factors: tuple[Factor, ...]
    rows: int = 1

    def __post_init__(self) -> None:
        alone = [f for f in self.factors if f.kind in ("level", "signed")]
        if len(alone) > 1 or (alone and sum(f.is_number for f in self.factors) > 1):
            raise InvalidRequest("a level or signed factor stands beside categories only; use linear factors")
        check_rows(self.rows)

    @property
    def columns(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(f.column for f in self.factors))

    @property
    def shape(self) -> tuple[int, ...]:
        """Cells of each factor: the shape of the value."""
        return tuple(f.size for f in self.factors)

    @property
    def grid(self) -> Fraction:
        """Whole numbers where every factor picks a cell, fine steps where one spreads."""
        return quantum.UNIT if any(f.is_number for f in self.factors) else Fraction(1)

    def totals(self, rows: int) -> tuple[float, float] | None:
        number = next((f for f in self.factors if f.kind in ("level", "signed")), None)
        if number is None:
            return float(rows), float(rows)
        return (rows * number.lo / number.hi, float(rows)) if number.kind == "signed" and number.lo > 0 else None

    def distance(self, relation: Relation) -> Distance:
        k = Fraction(self.rows)
        number = next((f for f in self.factors if f.kind in ("level", "signed")), None)
        alone = math.prod(self.shape) == 1
        if relation == "add_remove" or (alone and (number is None or number.kind == "level")):
            return Distance(k, k, k)
        if number is None or number.kind == "level":
            return distance_of_weights(k, relation)
        root = numbers.square_root_up(Fraction(2))
        largest = max(abs(number.lo), abs(number.hi))
        reach = max(Fraction(1), Fraction(number.hi - number.lo) / Fraction(largest) + quantum.UNIT)
        return Distance(k * reach if alone else 2 * k, k * (reach if alone else max(root, reach)), k * reach)

    def step(self, batch: Batch) -> Integers:
        kept = batch.kept(self.columns) if self.columns else batch.kept(())
        return _add_up(self, batch, kept)

    def blank(self, rows: int) -> Exact:
        """As if values were spread evenly between their bounds and every category were as frequent as any other."""
        weights = np.array(float(rows) / float(self.grid))
        for factor in self.factors:
            weights = weights[..., None] * _MIDDLE.get(factor.kind, np.full(factor.size, 1 / factor.size))
        return Exact(np.rint(weights).astype(np.int64), self.grid)


_MIDDLE: dict[str, Floats] = {
    "linear": np.array([0.5, 0.5]),
    "square": np.array([1, 1, 1]) / 3,
    "quartic": np.full(5, 0.2),
    "level": np.array([0.5]),
    "signed": np.array([0.5]),
}


def _add_up(query: Cells, batch: Batch, kept: Mask | None) -> Integers:
    """The cells of one batch: doubles add a block exactly, 2**18 rows of 2**30 at most, and whole numbers the blocks."""
    picks = [f for f in query.factors if not f.is_number]
    spreads = [f for f in query.factors if f.is_number]
    if not query.factors:
        return np.array(batch.size if kept is None else np.count_nonzero(kept))
    if not picks and kept is None and len(spreads) == 1 and spreads[0].kind != "quartic":
        quick = _one_number(spreads[0], batch.numeric(spreads[0].column))
        if quick is not None:
            return quick
    if not picks and kept is None and [f.kind for f in spreads] == ["linear", "linear"]:
        both = _two_numbers(spreads, *(batch.numeric(f.column) for f in spreads))
        if both is not None:
            return both
    columns = {f.column: batch.codes(f.column) if f.kind == "category" else batch.numeric(f.column) for f in query.factors}
    # Cells are listed with the numbers last; the query's own order may differ.
    order = sorted(range(len(query.factors)), key=lambda i: query.factors[i].is_number)
    total = np.zeros((math.prod(f.size for f in picks), math.prod(f.size for f in spreads)), np.int64)
    for start in range(0, batch.size, quantum.STEP):
        rows = slice(start, min(start + quantum.STEP, batch.size))
        part = {name: values[rows] for name, values in columns.items()}
        total += _block(picks, spreads, part, rows.stop - start, None if kept is None else kept[rows])
    table = total.reshape([query.factors[i].size for i in order])
    return table if len(order) < 2 else np.transpose(table, np.argsort(order))


def _block(
    picks: Sequence[Factor], spreads: Sequence[Factor], columns: dict[str, Any], size: int, valid: Mask | None
) -> Integers:
    """The cells of a block that fits into the cache: one line for each place, one column for each moment."""
    place, known = places(picks, columns, size, wide=bool(spreads))
    if known is not None:
        valid = known if valid is None else valid & known
    count = math.prod(f.size for f in picks)
    if not spreads:
        return np.bincount(place if valid is None else place[valid], minlength=count)[:, None]
    codes = [codes_of(f, columns[f.column]) for f in spreads]
    for code in codes:
        gone = np.isnan(code)
        if gone.any():
            valid = ~gone if valid is None else valid & ~gone
    if valid is not None:
        place, codes = place[valid], [c[valid] for c in codes]
    weights = [np.full(place.size, quantum.ONE)]
    for factor, code in zip(spreads, codes, strict=True):
        weights = [part for weight in weights for part in cut(factor, weight, code)]
    return np.stack([np.bincount(place, weights=w, minlength=count) for w in weights], -1).astype(np.int64)


def places(
    picks: Sequence[Factor], columns: dict[str, Any], size: int, wide: bool = True
) -> tuple[npt.NDArray[Any], Mask | None]:
    """The cell of every row among those that picking factors make, and which rows have one; None for all.

    ``wide``: in whole numbers of 64 bits, also where fewer would do.
    """
    place: npt.NDArray[Any] = _NOWHERE if picks else np.zeros(size, np.intp)
    valid: Mask | None = None
    for i, factor in enumerate(picks):
        code, known = _bin(factor, columns[factor.column]) if factor.kind == "bins" else _known(columns[factor.column])
        if known is not None:
            valid = known if valid is None else valid & known
        if len(picks) > 1 or wide:
            code = code.astype(np.intp, copy=False)
        place = place * factor.size + code if i else code
    return place, valid


_NOWHERE: npt.NDArray[np.intp] = np.empty(0, np.intp)


def _known(codes: npt.NDArray[Any]) -> tuple[npt.NDArray[Any], Mask | None]:
    """Codes of categories, and which of them there are; None for all."""
    return codes, codes >= 0 if codes.min(initial=0) < 0 else None


def bins(factor: Factor, values: Any, xp: Any = np) -> Any:
    """The bin of each clipped value, as a double whose whole part counts; NaN where the value is missing.

    Even bins are found by arithmetic: a value less than 2**-40 of the whole range below an edge counts as on it, so that
    rounding does not push what lies on an edge into the bin before. Others are found by search.
    """
    edges = factor.edges
    count = len(edges) - 1
    if even(edges):
        width = edges[-1] - edges[0]
        place = xp.subtract(values, edges[0] - width * 2.0**-40)
        place *= count / width
    else:
        place = xp.where(xp.isnan(values), np.nan, xp.searchsorted(xp.asarray(edges), values, side="right") - 1.0)
    return np.clip(place, 0.0, count - 1.0, out=place) if xp is np else xp.clip(place, 0.0, count - 1.0)


def _bin(factor: Factor, values: Floats) -> tuple[npt.NDArray[Any], Mask | None]:
    """The bin of each clipped value, and which values there are; None for all."""
    with np.errstate(over="ignore"):
        place = bins(factor, values)
    there = None
    if math.isnan(place.min(initial=0.0)):  # a missing value makes it so, and nothing else does
        there = ~np.isnan(place)
        place[~there] = 0.0
    return place.astype(np.int32), there


@lru_cache(maxsize=256)
def even(edges: tuple[float, ...]) -> bool:
    """Whether edges are evenly spread, to the last digits."""
    spread = np.linspace(edges[0], edges[-1], len(edges))
    return bool(np.abs(spread - np.array(edges)).max() <= 2.0**-45 * max(abs(edges[0]), abs(edges[-1])))


def codes_of(factor: Factor, values: Any, out: Floats | None = None, xp: Any = np) -> Any:
    """A column as whole numbers: 2**BITS stands for t = 1, and in a ``signed`` factor for the largest bound."""
    if factor.kind != "signed":
        return quantise(values, factor.lo, factor.hi, out=out, xp=xp)
    largest = max(abs(factor.lo), abs(factor.hi))
    if xp is not np:
        return xp.rint(xp.clip(values, factor.lo, factor.hi) * (quantum.ONE / largest))
    codes = np.clip(values, factor.lo, factor.hi, out=out, dtype=np.float64)
    codes *= quantum.ONE / largest
    return np.rint(codes, out=codes)


def cut(factor: Factor, weight: Any, code: Any, xp: Any = np) -> list[Any]:
    """Cut whole weights into whole parts: the parts are never negative and sum to the weight.

    ``xp`` is the library of the arrays: NumPy, JAX, or one whose ``rint`` leaves numbers as they are.
    """
    if factor.kind in ("level", "signed"):
        return [code]
    share = code * (1 / quantum.ONE)
    if factor.kind == "quartic":
        return _by_degrees(weight, share, 4, xp)
    top = xp.rint(weight * share)
    if factor.kind == "linear":
        return [weight - top, top]
    both = xp.rint(top * share)
    middle = xp.minimum(2 * (top - both), weight - both)
    return [weight - both - middle, middle, both]


def _by_degrees(weight: Any, share: Any, degree: int, xp: Any) -> list[Any]:
    """The Bernstein cells of a weight, degree by degree: each cell is cut into a whole part that goes up and the rest.

    Proof: rint(p t) lies between 0 and the whole number p for t in [0, 1], so neither part is negative and they sum to p;
    the cells of the next degree are sums of such parts, and their total stays the weight.
    """
    cells = [weight]
    for _ in range(degree):
        tops = [xp.rint(cell * share) for cell in cells]
        stays = [cell - top for cell, top in zip(cells, tops, strict=True)]
        cells = [stays[0], *(up + stay for up, stay in zip(tops, stays[1:], strict=False)), tops[-1]]
    return cells


def _one_number(factor: Factor, values: Floats) -> Integers | None:
    """The cells of one number by itself, without a cell's array for each; None where a value is missing.

    For weights of 2**BITS the parts of ``_spread`` are never cut short: with a the code and b = rint(a**2 / 2**BITS), the
    lowest part 2**BITS - 2a + b is not negative because 2a - 2**BITS is a whole number at most a**2 / 2**BITS.
    """
    one, count = quantum.ONE, values.size
    room = np.empty((2, min(count, quantum.STEP)))
    first = second = 0
    for start in range(0, count, quantum.STEP):
        part = values[start : start + quantum.STEP]
        code = codes_of(factor, part, room[0, : part.size])
        added = float(code.sum())  # 2**18 rows of 2**30 at most: exact
        if math.isnan(added):
            return None
        first += int(added)
        if factor.kind == "square":
            second += int(rounded_product(code, code, room[1, : part.size]).sum())
    top, whole = first, int(one) * count
    if factor.kind in ("level", "signed"):
        return np.array([top])
    if factor.kind == "linear":
        return np.array([whole - top, top])
    both = second
    return np.array([whole - 2 * top + both, 2 * (top - both), both])


def _two_numbers(factors: Sequence[Factor], x: Floats, y: Floats) -> Integers | None:
    """The four cells of two linear factors, without a cell's array for each; None where a value is missing.

    It adds up the very parts that ``cut`` makes: a weight of 2**BITS is cut into 2**BITS - a and a, exactly, and each of the
    two by the share of b, where a and b are the codes; so a row adds the same on either way, whatever stands beside it.
    """
    one, count = quantum.ONE, x.size
    room = np.empty((3, min(count, quantum.STEP)))
    first = high = low = 0
    for start in range(0, count, quantum.STEP):
        rows = slice(start, min(start + quantum.STEP, count))
        a, share, part = (line[: rows.stop - start] for line in room)
        codes_of(factors[0], x[rows], a)
        codes_of(factors[1], y[rows], share)
        share *= 1 / one
        np.multiply(a, share, out=part)
        sums = [float(a.sum()), float(np.rint(part, out=part).sum())]  # 2**18 rows of 2**30 at most: exact
        np.subtract(one, a, out=a)
        a *= share
        sums.append(float(np.rint(a, out=a).sum()))
        if any(map(math.isnan, sums)):
            return None
        first, high, low = (total + int(more) for total, more in zip((first, high, low), sums, strict=True))
    return np.array([[int(one) * count - first - low, low], [first - high, high]])


def rounded_product(a: Floats, b: Floats, out: Floats | None = None) -> Floats:
    """rint(a b / 2**BITS): the product of two codes as a code."""
    product = np.multiply(a, 1 / quantum.ONE, out=out)
    product *= b
    return np.rint(product, out=product)
