"""Synthetic tables for nothing: from counts, distributions and means that were released already.

Every release is a linear function of the table of its columns plus noise of a known law: counts of labels and of bins as
they are, nodes of a distribution as sums of bins, and the cells behind a mean or a variance as averages over a bin.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from discreet.core.cost import Cost
from discreet.core.dates_and_times import Date
from discreet.core.release import Release
from discreet.core.result import Result
from discreet.core.schema import Categories, Column, Integer, Real, Schema
from discreet.errors import InvalidRequest
from discreet.mechanisms.additive import Additive
from discreet.mechanisms.no_noise import NoNoise
from discreet.statistics.bernstein import cells_at
from discreet.statistics.cells import Cells, Factor
from discreet.statistics.nodes import Nodes, incidence
from discreet.synthetic.decoding import RecordWriter, check_possible
from discreet.synthetic.domain import Attribute, Bins, Domain, bins_by_column, check_sizes, column_names, domain_of
from discreet.synthetic.measurement import Floats, Measurement, measured, total
from discreet.synthetic.queries import Marginal
from discreet.synthetic.tables import TABLES, Synthetic, check_numbers

_BINS = 16  # of a column of which only moments are known
_BEYOND = 4  # deviations of noise between two numbers of rows that cannot be the same
_MOST_WHOLE = 64  # whole numbers in a bin that are averaged one by one


def from_releases(
    releases: Iterable[Release | Result] | Release | Result,
    columns: Sequence[str] | None = None,
    schema: Schema | None = None,
    *,
    bins: Bins | None = None,
    rows: int | None = None,
    tables: int | None = None,
    impossible: Sequence[str] | None = None,
) -> Synthetic:
    """Synthetic tables that agree with what was released about some columns (all of them, where none are named).

    Counts (``count``, ``crosstab``, ``histogram``, ``share``), distributions, and means, variances and covariances are used;
    what is about a part of the rows, or is no sum, is not. A column that was released only together with others is modelled
    beside them. Nothing is paid and nothing is looked at.
    """
    check_numbers(rows, tables)
    given = [releases] if isinstance(releases, Release | Result) else releases
    found = [u for u in (_usable(r) for each in given for r in _single(each)) if u is not None]
    wanted = (
        column_names(columns) if columns is not None else list(dict.fromkeys(f.column for _, fs, _ in found for f in fs))
    )
    names = [schema.name_of(name) if schema is not None else name for name in wanted]
    names += _beside(names, [{f.column for f in factors} for _, factors, _ in found])
    mine = [(r, factors, gaps) for r, factors, gaps in found if {f.column for f in factors} <= {*names}]
    if not any(factors for _, factors, _ in mine):
        raise InvalidRequest("nothing was released that a table can be made of: counts, distributions or means")
    declared = schema if schema is not None else _declared(names, mine)
    edges = bins_by_column(bins)
    domain, made = _built(names, declared, mine, edges, frozenset())
    if gone := _with_gaps(domain, made):
        domain, made = _built(names, declared, mine, edges, gone)
    known = total(made)
    if rows is None and np.isnan(known):
        raise InvalidRequest("nothing that was released tells how many rows there are; give rows=")
    writer = RecordWriter(declared, domain, tuple(wanted), tuple(impossible or ()))
    check_possible(writer)
    count = rows if rows is not None else max(1, round(known))
    private = all(r.private for r, _, _ in mine)
    return Synthetic(writer, made, Cost.nothing(), count, tables or TABLES, None, private)


def _beside(names: Sequence[str], sets: Sequence[set[str]]) -> list[str]:
    """The columns to be modelled beside some, because one of those was released with them only; they are not written."""
    more: list[str] = []
    for name in names:
        wider = [each - {*names, *more} for each in sets if name in each]
        if not wider:
            known = ", ".join(sorted(set().union(*sets))) or "none"
            raise InvalidRequest(f"nothing that was released tells of column {name!r}, only of {known}; leave it out or pay")
        least = min(wider, key=len)
        more += sorted(least)
    return more


def _built(
    names: Sequence[str], schema: Schema, found: Sequence[_Usable], bins: Bins, gone: frozenset[str]
) -> tuple[Domain, tuple[Measurement, ...]]:
    """The domain of some releases, with a level for a missing value of the columns in ``gone``, and what they measured."""
    attributes = tuple(_attribute(name, schema, found, bins.get(name), name in gone) for name in names)
    domain = Domain(attributes, max(int(getattr(r.query, "rows", 1)) for r, _, _ in found))
    check_sizes(domain, [tuple(sorted({names.index(f.column) for f in factors})) for _, factors, _ in found])
    return domain, tuple(_measurement(domain, schema, r, factors, gaps) for r, factors, gaps in found)


def _with_gaps(domain: Domain, made: Sequence[Measurement]) -> frozenset[str]:
    """The columns of releases that count fewer rows than others do, beyond noise: of some rows they have no value.

    A release leaves out the rows without a value of its columns. Taken for counts of all rows, two that count differently
    many would contradict one another, and a table could agree with neither.
    """
    seen = [(m.places, *known) for m in made if (known := m.counted) is not None]
    least = max((rows - _BEYOND * math.sqrt(variance) for _, rows, variance in seen), default=0.0)
    short = [places for places, rows, variance in seen if rows + _BEYOND * math.sqrt(variance) < least]
    whole = {i for places, rows, variance in seen if places not in short for i in places}
    found = {i for places in short for i in ({*places} - whole or places)}
    return frozenset(domain.names[i] for i in found)


_Usable = tuple[Release, tuple[Factor, ...], tuple[bool, ...]]


def _single(given: Release | Result) -> Sequence[Release]:
    if isinstance(given, Result):
        return given.releases
    if not isinstance(given, Release):
        raise InvalidRequest(f"releases must be releases or results, got {type(given).__name__}")
    return (given,)


def _usable(release: Release) -> _Usable | None:
    """The factors of a release and which of them have a level for a missing value; None where it is no sum over all rows."""
    query = release.query
    if release.where or not isinstance(release.mechanism, Additive | NoNoise):
        return None
    if isinstance(query, Marginal):
        return release, tuple(a.factor for a in query.attributes), tuple(a.gaps for a in query.attributes)
    if isinstance(query, Nodes):
        factors: tuple[Factor, ...] = (*query.groups, query.bins)
    elif isinstance(query, Cells):
        factors = query.factors
    else:
        return None
    return (release, factors, (False,) * len(factors)) if len({f.column for f in factors}) == len(factors) else None


def _declared(names: Sequence[str], found: Sequence[_Usable]) -> Schema:
    """What the releases themselves say of their columns."""
    made: dict[str, Column] = {}
    for name in names:
        factor = next(f for _, factors, _ in found for f in factors if f.column == name)
        made[name] = Categories(factor.labels) if factor.kind == "category" else Real(factor.lo, factor.hi)
    return Schema(made)


def _attribute(name: str, schema: Schema, found: Sequence[_Usable], bins: Any, gone: bool) -> Attribute:
    """The levels of a column: labels, or the bins that all releases about it can be made of."""
    mine = [(f, gap) for _, factors, gaps in found for f, gap in zip(factors, gaps, strict=True) if f.column == name]
    gap = gone or any(gap for _, gap in mine)
    declared = schema[name]
    if isinstance(declared, Categories):
        if any(f.labels != mine[0][0].labels for f, _ in mine):
            raise InvalidRequest(f"releases about {name!r} must have the same labels, and differ; leave some out")
        return Attribute(mine[0][0], gap)
    edges = {edge for f, _ in mine for edge in f.edges}
    if bins is not None or not edges:
        short = isinstance(declared, Integer) and declared.hi - declared.lo < 128
        given = bins if bins is not None or short else _BINS
        edges |= {*domain_of(schema, [name], None if given is None else {name: given}).attributes[0].factor.edges}
    lo, hi = float(declared.lo), float(declared.hi)
    inside = sorted({min(edges | {lo}), max(edges | {hi}), *edges})
    return Attribute(Factor("bins", name, lo, hi, tuple(inside)), gap)


def _measurement(
    domain: Domain, schema: Schema, release: Release, factors: Sequence[Factor], gaps: Sequence[bool]
) -> Measurement:
    places = tuple(domain.names.index(f.column) for f in factors)
    maps = []
    for place, factor, gap in zip(places, factors, gaps, strict=True):
        query = release.query
        nodes = query.branches if isinstance(query, Nodes) and factor is query.bins and len(query.branches) > 1 else None
        maps.append(_map(domain.attributes[place], factor, gap, schema[factor.column], nodes))
    shape = [domain.sizes[i] if each is None else len(each) for i, each in zip(places, maps, strict=True)]
    return measured(release, places, tuple(maps), shape)


def _map(attribute: Attribute, factor: Factor, gap: bool, declared: Any, branches: tuple[int, ...] | None) -> Floats | None:
    """From the levels of a column to the cells of a factor; a level that the factor leaves out has a column of zeros."""
    if factor == attribute.factor and gap == attribute.gaps and branches is None:
        return None
    size = attribute.factor.size
    if factor.is_number:
        made = np.stack([_average(attribute.factor, level, factor, declared) for level in range(size)], 1)
    elif factor.kind == "category":
        made = np.eye(size)
    else:
        fine = np.array(attribute.factor.edges)
        inside = np.searchsorted(np.array(factor.edges), (fine[:-1] + fine[1:]) / 2, side="right") - 1
        made = np.zeros((factor.size, size))
        made[np.clip(inside, 0, factor.size - 1), np.arange(size)] = 1
    if branches is not None:
        made = incidence(branches) @ made
    if gap:
        made = np.vstack([made, np.zeros((1, size))])
    if attribute.gaps:
        last = np.zeros((len(made), 1))
        last[-1] = float(gap)
        made = np.hstack([made, last])
    return made


def _average(bins: Factor, level: int, factor: Factor, declared: Any) -> Floats:
    """The cells of a number, averaged over the values of a bin."""
    low, high = max(bins.edges[level], bins.lo), min(bins.edges[level + 1], bins.hi)
    first, last = np.ceil(low), np.floor(high) if level == bins.size - 1 else np.ceil(bins.edges[level + 1]) - 1
    if isinstance(declared, Integer | Date) and 0 <= last - first < _MOST_WHOLE:
        values = np.arange(first, last + 1)
        weights = np.full(len(values), 1 / len(values))
    else:
        nodes, weights = np.polynomial.legendre.leggauss(4)
        values, weights = low + (high - low) * (nodes + 1) / 2, weights / 2
    if factor.kind == "signed":
        return np.array([values @ weights / max(abs(factor.lo), abs(factor.hi))])
    t = np.clip((values - factor.lo) / (factor.hi - factor.lo), 0.0, 1.0)
    if factor.kind == "level":
        return np.array([t @ weights])
    return np.asarray(cells_at({"linear": 1, "square": 2, "quartic": 4}[factor.kind], t) @ weights)
