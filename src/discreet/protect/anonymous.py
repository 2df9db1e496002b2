"""A k-anonymous copy of a table, with the least damage."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Unpack

import numpy as np

from discreet.core.labels import closest
from discreet.core.numbers import Number, rational
from discreet.errors import InvalidRequest, UnknownName
from discreet.protect.anonymous_copy import AnonymousCopy, Without
from discreet.protect.diversity import Demand, Forms
from discreet.protect.ground import Ranking, ranked
from discreet.protect.hierarchies import Hierarchy
from discreet.protect.incognito import HistogramView, Node, Safe, incognito
from discreet.protect.lattice_histogram import Histogram, Ints
from discreet.protect.metrics import METRICS, Chosen, choose, metric_named
from discreet.protect.presence import Presence, checked, people
from discreet.protect.recode import Recode
from discreet.protect.stored_table import StoredTable, open_table


@dataclass(frozen=True, eq=False, kw_only=True)
class Anonymized(AnonymousCopy):
    """An anonymous copy, the levels it was made with, and what it cost.

    ``levels`` gives the level of each quasi-identifier; ``suppressed`` is how many rows were left out; ``loss`` is what the
    node was chosen by, from 0 to 1; ``tested`` is how many nodes were computed to find all safe ones; ``copied`` names the
    columns that are neither quasi-identifiers nor sensitive and stand in the copy as they were.
    """

    levels: dict[str, int]
    suppressed: int
    metric: str
    loss: float
    limit: int
    tested: int
    presence: tuple[Number, Number] | None = None
    base: Histogram = field(repr=False)
    safe: Safe = field(repr=False)

    @property
    def kept(self) -> int:
        return self.rows - self.suppressed

    @property
    def node(self) -> Node:
        """The levels in the order of the quasi-identifiers."""
        return tuple(self.levels.values())

    @cached_property
    def losses(self) -> dict[str, float]:
        """The loss of the chosen node under every metric, without weights: from 0 for nothing to 1 for all."""
        return {name: metric_named(name, self.base).score(self.node, self.view)[0] for name in METRICS}

    @property
    def metrics(self) -> dict[str, float]:
        """The metrics as they are defined, without weights.

        ``precision`` (1 is untouched), ``height`` (the sum of levels), ``discernibility`` (sum of |E|^2 + s n), ``ncp``
        (the mean over cells) and ``entropy`` (over the top node's).
        """
        return {name: metric_named(name, self.base).value(loss) for name, loss in self.losses.items()}

    @property
    def nodes(self) -> list[dict[str, int]]:
        """Every safe node, lowest first."""
        return [dict(zip(self.levels, node, strict=True)) for node in self.safe.nodes()]

    def at(self, levels: Mapping[str, int | str]) -> Anonymized:
        """The copy at another safe node: a level for each quasi-identifier, by number or name; others are refused.

        Its ``loss`` is that of precision.
        """
        if set(levels) != set(self.levels):
            raise InvalidRequest(f"levels must name the quasi-identifiers {list(self.levels)}, got {list(levels)}")
        wanted = []
        for column in self.base.columns:
            given = levels[column.name]
            number = column.levels.index(given) if isinstance(given, str) and given in column.levels else given
            if isinstance(number, bool) or not isinstance(number, int) or not 0 <= number < len(column.levels):
                raise InvalidRequest(f"{column.name!r} has the levels {list(column.levels)}, got {given!r}")
            wanted.append(number)
        node = tuple(wanted)
        inside = all(level < size for level, size in zip(node, self.safe.mask.shape, strict=True))
        if not inside or not self.safe.mask[node]:
            raise InvalidRequest(
                f"these levels are not safe, got {dict(zip(self.levels, node, strict=True))}; take one of .nodes"
            )
        change, gone = Recode.at(self.view, node)
        loss = metric_named("precision", self.base).score(node, self.view)[0]
        return replace(
            self,
            levels=dict(zip(self.levels, node, strict=True)),
            suppressed=gone,
            metric="precision",
            loss=loss,
            change=Without.of(change, self.dropped),
        )

    @property
    def level_names(self) -> dict[str, str]:
        """The names of the chosen levels."""
        return {column.name: column.levels[self.levels[column.name]] for column in self.base.columns}

    def sizes(self, *, before: bool = False) -> Ints:
        """The sizes of the released groups, or of the groups before anything was made coarser."""
        if before:
            _, _, found = HistogramView(self.base, ()).entries((0,) * len(self.levels))
            return np.sort(found)
        _, bad, found = self.view.entries(self.node)
        return np.sort(found[~bad])

    @property
    def shares(self) -> dict[str | None, float] | None:
        """The shares of the sensitive values in the whole table, which closeness is measured from."""
        if self.base.sensitive is None:
            return None
        return dict(zip(self.base.values, map(float, self.base.shares()), strict=True))

    @cached_property
    def view(self) -> HistogramView:
        """The histogram of the table, to be looked at under the rules that were asked for."""
        shares = self.base.shares() if self.base.sensitive is not None else None
        return HistogramView(self.base, self.demand.rules(shares, self.base.values))


def anonymize(
    table: Any,
    quasi_identifiers: Sequence[str],
    hierarchies: Mapping[str, Hierarchy],
    k: int,
    sensitive: str | Sequence[str] | None = None,
    l: Number | None = None,  # noqa: E741
    t: Number | None = None,
    suppression: Number = 0.0,
    metric: Chosen = "precision",
    *,
    presence: tuple[Number, Number] | None = None,
    population: Any = None,
    weights: Mapping[str, float] | None = None,
    at_most: Mapping[str, int | str] | None = None,
    drop: Sequence[str] = (),
    spark: Any = None,
    **rules: Unpack[Forms],
) -> Anonymized:
    """The copy of ``table`` in which every released row shares its quasi-identifiers with at least ``k - 1`` others.

    ``table`` is a dict of columns, a pandas, Polars or Arrow table, the path of CSV or Parquet files (with
    ``spark=session`` read by Spark), or a Spark DataFrame. ``hierarchies`` says how each quasi-identifier is made
    coarser. With a ``sensitive`` column, each group also needs ``l``-diversity (``diversity``: distinct, entropy, or
    recursive with ``c``), ``t``-closeness (categorical, or by ``order``: a list, "numeric" or a hierarchy),
    ``beta``-likeness (``likeness``: enhanced or basic) or ``disclosure``, the delta of delta-disclosure. At most the share
    ``suppression`` of rows may be left out, in whole groups that fail. Distinct and recursive diversity hold for the others
    of a group whatever ``insiders``, so many of its people, tell of themselves. Where nothing is suppressed,
    ``presence=(least, largest)`` bounds which share of the people of ``population`` like a group is in the table
    (delta-presence). Of all safe combinations of levels the one of least
    ``metric`` is taken: precision, height, discernibility, ncp or entropy, with ``weights`` for columns, or a function of
    your own of the levels, the sizes of groups and the rows left out; ``result.at(levels)`` is the copy at any other safe
    one. Several ``sensitive`` columns are each held to the same demands, where nothing is suppressed. ``at_most`` caps the
    level of a column.

    Every other column is copied as it is: leave names, numbers of people and free text out with ``drop``. ``k`` counts
    rows, not people: give a table with one row for each person.

    This is no differential privacy, and it promises nothing against someone who knows more than the quasi-identifiers:
    a group whose rows share one sensitive value gives that value away (ask for ``l``), and whoever can rule values out
    learns more. Two k-anonymous copies of one table together need not be k-anonymous.
    """
    demand = Demand.of(k, {**rules, "l": l, "t": t})
    source = open_table(table, spark)
    names, hidden = listed(quasi_identifiers), listed(sensitive)
    if presence is not None:
        checked(presence)
    if (presence is None) != (population is None) or (presence is not None and suppression != 0):
        raise InvalidRequest(
            "presence and population are given together, and without suppression: whoever is left out is known to be absent"
        )
    if len(hidden) > 1 and suppression != 0:
        raise InvalidRequest(f"several sensitive columns are held to rules without suppression=, got {hidden}; ask for one")
    check_columns(source, names, hierarchies, hidden, demand)
    first = hidden[0] if hidden else None
    copied, dropped = others(source, [*names, *hidden], drop)
    share = rational(suppression, "suppression")
    if not 0 <= share < 1:
        raise InvalidRequest(f"suppression must lie in [0, 1), got {suppression}; it is a share of the rows")
    base = histogram_of(source, names, hierarchies, first if demand.needs_sensitive else None, demand.order)
    if k > base.rows:
        raise InvalidRequest(f"k must not be larger than the table, got k={k} for {base.rows} rows; lower k")
    caps = [_cap(name, hierarchies[name], at_most or {}) for name in names]
    limit = math.floor(share * base.rows)
    wanted = demand.rules(base.shares() if base.sensitive is not None else None, base.values)
    chooser = metric_named(metric, base, weights)
    shape = [cap + 1 for cap in caps]
    view = HistogramView(base, wanted)
    safe = incognito(base, shape, wanted, limit)
    for other in hidden[1:] if demand.needs_sensitive else ():
        more = histogram_of(source, names, hierarchies, other, None)
        safe = safe.both(incognito(more, shape, demand.rules(more.shares(), more.values), limit))
    if not safe.mask.any():
        raise InvalidRequest(_blocked(view, caps, limit, first))
    if presence is not None:
        everyone = people(source, open_table(population, spark), names, hierarchies)
        safe = safe.both(incognito(everyone, shape, [Presence.of(presence, everyone)], 0))
        if not safe.mask.any():
            raise InvalidRequest("no levels that satisfy the other rules satisfy presence; widen it, or raise at_most")
    node, loss = choose(chooser, safe.mask, view, limit)
    change, gone = Recode.at(view, node)
    return Anonymized(
        rows=base.rows,
        demand=demand,
        source=source,
        change=Without.of(change, dropped),
        hierarchies={column: hierarchies[column] for column in names},
        sensitive=tuple(hidden),
        copied=copied,
        levels=dict(zip(names, node, strict=True)),
        suppressed=gone,
        metric=metric if isinstance(metric, str) else getattr(metric, "__name__", "own"),
        loss=loss,
        limit=limit,
        tested=safe.tested,
        presence=presence,
        base=base,
        safe=safe,
    )


def listed(names: str | Sequence[str] | None) -> list[str]:
    """One name, several or none, as a list."""
    return [] if names is None else [names] if isinstance(names, str) else list(names)


def others(source: StoredTable, used: Sequence[str], drop: Sequence[str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Of the columns that nothing is asked of: those that are copied, and those that are left out."""
    gone = listed(drop)
    source.check(gone)
    if wanted := [name for name in gone if name in used]:
        raise InvalidRequest(
            f"drop must not name a quasi-identifier or the sensitive column, got {wanted[0]!r}; leave it out of one of them"
        )
    return tuple(name for name in source.columns if name not in (*used, *gone)), tuple(gone)


def histogram_of(
    source: StoredTable,
    names: Sequence[str],
    hierarchies: Mapping[str, Hierarchy],
    sensitive: str | None,
    order: Ranking = None,
) -> Histogram:
    """The base histogram of a table, its sensitive values in their declared order."""
    columns, counts = source.counted([*names, *([] if sensitive is None else [sensitive])])
    secret = None if sensitive is None else columns.pop()
    base = Histogram.of(names, columns, hierarchies, counts, secret)
    if base.sensitive is None or order is None:
        return base
    values, ranks = ranked(base.values, order)
    return replace(base, sensitive=ranks[base.sensitive], values=values)


def check_columns(
    source: StoredTable, names: Sequence[str], hierarchies: Mapping[str, Hierarchy], sensitive: Sequence[str], demand: Demand
) -> None:
    """Refuse columns that are not there, without a hierarchy, or held to rules that do not go together."""
    if not names:
        raise InvalidRequest("quasi_identifiers must name at least one column, got none")
    if not sensitive and demand.needs_sensitive:
        raise InvalidRequest("l, t, beta and disclosure need a sensitive column, got none; pass sensitive='...'")
    source.check([*names, *sensitive])
    if len(sensitive) > 1 and demand.order is not None:
        raise InvalidRequest(f"several sensitive columns have no one order, got {list(sensitive)}; leave order out")
    for name in names:
        if name not in hierarchies:
            raise UnknownName(f"every quasi-identifier needs a hierarchy, and {name!r} has none{closest(name, hierarchies)}")
        if not isinstance(hierarchies[name], Hierarchy):
            raise InvalidRequest(f"the hierarchy of {name!r} must be a Hierarchy, got {type(hierarchies[name]).__name__}")


def _cap(name: str, hierarchy: Hierarchy, at_most: Mapping[str, int | str]) -> int:
    return hierarchy.level(at_most[name]) if name in at_most else hierarchy.height


def _blocked(view: HistogramView, caps: Sequence[int], limit: int, sensitive: str | None) -> str:
    """Why nothing passes, and what would help: the highest node allowed passes if any does."""
    columns = view.histogram.columns
    tops = tuple(column.height for column in columns)
    start = f"no levels satisfy the rules with at most {limit} rows suppressed"
    if view.suppressed(tops) > limit:
        return (
            f"{start}, not even with every quasi-identifier at the top: the column {sensitive!r} blocks; ask for less "
            "(a lower l, or a larger t, beta, disclosure or c)"
        )
    capped = [p for p, (cap, top) in enumerate(zip(caps, tops, strict=True)) if cap < top]
    alone = []
    for place in capped:
        lifted = tuple(tops[p] if p == place else cap for p, cap in enumerate(caps))
        if view.suppressed(lifted) <= limit:
            alone.append(columns[place].name)
    blocking = alone or [columns[place].name for place in capped]
    how = "any one of them" if alone else "several of them"
    return f"{start}: the columns {blocking} block; raise at_most for {how}, allow more suppression, or lower k"
