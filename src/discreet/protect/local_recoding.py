"""Anonymous copies by local recoding: every class of rows gets words of its own, so less is lost than by one level for all.

``mondrian`` writes for each class the stretch of values that its rows span. ``microaggregate`` writes the middle of it: the
mean of numbers and days, the most frequent category. Both leave no row out.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Unpack

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from discreet.errors import InvalidRequest
from discreet.protect.anonymous import check_columns, listed, others
from discreet.protect.anonymous_copy import AnonymousCopy, Without
from discreet.protect.boxes import Entries, Fail, boxes
from discreet.protect.clusters import clusters
from discreet.protect.diversity import Demand, Fails, Rule, RuleKeywords
from discreet.protect.ground import Ranking, ranked
from discreet.protect.hierarchies import Hierarchy
from discreet.protect.incognito import judge
from discreet.protect.lattice_histogram import Floats, Ints, distinct, encode, keys_of, mixed
from discreet.protect.scales import Scale
from discreet.protect.stored_table import Changed, StoredTable, open_table

Groups = Callable[["Counted", int, Fail | None], tuple[Ints, int]]
Written = Callable[["Counted", Ints, int], list[list[str | None]]]


class RecodingOptions(RuleKeywords, total=False):
    """The rules on sensitive columns, the columns to leave out, and the Spark session that reads a path."""

    drop: Sequence[str]
    spark: Any


@dataclass(frozen=True, eq=False)
class LocalRecode:
    """New cells for each quasi-identifier: those of the class that a row's combination of values belongs to."""

    codes: dict[str, dict[str | None, int]]
    keys: Ints
    numbers: Ints
    words: dict[str, tuple[str | None, ...]]

    @property
    def needs(self) -> tuple[str, ...]:
        return tuple(self.codes)

    def __call__(self, columns: Mapping[str, Any]) -> Changed:
        classes = pa.array(self.classes(columns))
        return Changed({name: pc.take(pa.array(words, pa.string()), classes) for name, words in self.words.items()})

    def classes(self, columns: Mapping[str, Any]) -> Ints:
        """A number for each row, equal exactly where the copy shows two rows alike."""
        encoded = {name: encode(columns[name]) for name in self.codes}
        return self.coded({name: texts for name, (texts, _) in encoded.items()}, {n: at for n, (_, at) in encoded.items()})

    def coded(self, texts: Mapping[str, Sequence[str | None]], index: Mapping[str, Ints]) -> Ints:
        """The same for columns of which every row's place among some texts is known."""
        coded = []
        for name, known in self.codes.items():
            coded.append(np.array([known.get(text, -1) for text in texts[name]], np.int64)[index[name]])
        if not len(coded[0]):
            return np.zeros(0, np.int64)
        keys = keys_of(coded, [len(known) for known in self.codes.values()])
        places = np.minimum(np.searchsorted(self.keys, keys), len(self.keys) - 1)
        if min(int(column.min()) for column in coded) < 0 or (self.keys[places] != keys).any():
            raise InvalidRequest("the table changed since it was counted: start again from the table as it is now")
        return self.numbers[places]


@dataclass(frozen=True, eq=False)
class Counted:
    """A table's different combinations of quasi-identifiers, and the sensitive values that come with each."""

    scales: tuple[Scale, ...]
    codes: tuple[Ints, ...]
    counts: Ints
    secrets: tuple[tuple[Ints, Ints, Ints, tuple[str | None, ...]], ...]

    @staticmethod
    def of(
        source: StoredTable,
        names: Sequence[str],
        hierarchies: Mapping[str, Hierarchy],
        hidden: Sequence[str],
        order: Ranking,
    ) -> Counted:
        """Group the table once. A secret is held as (entry, value, rows) sorted by entry, with its texts in order."""
        columns, found = source.counted([*names, *hidden])
        encoded = [encode(column) for column in columns]
        rows = np.ones(len(encoded[0][1]), np.int64) if found is None else found
        scales, coded = [], []
        for name, (leaves, codes) in zip(names, encoded, strict=False):
            scale, places = Scale.of(name, leaves, hierarchies[name])
            scales.append(scale)
            coded.append(places[codes])
        sizes = [len(scale.values) for scale in scales]
        combined, counts = distinct(coded, sizes, rows)
        keys = keys_of(combined, sizes)
        order_of = np.argsort(keys)  # so that classes do not hang on the order of the rows
        combined, counts, keys = [column[order_of] for column in combined], counts[order_of], keys[order_of]
        if not hidden:
            return Counted(tuple(scales), tuple(combined), counts, ())
        entry = np.searchsorted(keys, keys_of(coded, sizes))
        secrets = []
        for values, place in encoded[len(names) :]:
            texts, ranks = ranked(values, order)
            (which, value), many = distinct([entry, ranks[place]], [len(counts), len(values)], rows)
            by_entry = np.argsort(which, kind="stable")
            secrets.append((which[by_entry], value[by_entry], many[by_entry], texts))
        return Counted(tuple(scales), tuple(combined), counts, tuple(secrets))

    @property
    def rows(self) -> int:
        return int(self.counts.sum())

    @property
    def entries(self) -> Entries:
        return Entries(self.codes, [scale.positions for scale in self.scales], self.counts)

    def fails(self, demand: Demand) -> Fail | None:
        """Which groups of entries break a rule on some sensitive value; None where no rule looks at one."""
        if not demand.needs_sensitive:
            return None
        parts = [_Secret.of(secret, len(self.counts), demand, self.rows) for secret in self.secrets]

        def any_of(ids: Ints, groups: int, entries: Ints) -> Fails:
            return np.asarray(np.any([part.fails(ids, groups, entries) for part in parts], axis=0))

        return any_of


@dataclass(frozen=True, eq=False)
class _Secret:
    """The sensitive values of entries, found by entry, and the rules on them."""

    starts: Ints
    values: Ints
    counts: Ints
    width: int
    rules: list[Rule]

    @staticmethod
    def of(secret: tuple[Ints, Ints, Ints, tuple[str | None, ...]], many: int, demand: Demand, rows: int) -> _Secret:
        which, values, counts, texts = secret
        shares: Floats = np.bincount(values, counts, len(texts)) / max(1, rows)
        starts = np.searchsorted(which, np.arange(many + 1))
        return _Secret(starts, values, counts, len(texts), demand.rules(shares, texts))

    def fails(self, ids: Ints, groups: int, entries: Ints) -> Fails:
        lengths = self.starts[entries + 1] - self.starts[entries]
        firsts = np.repeat(self.starts[entries] - (np.cumsum(lengths) - lengths), lengths)
        places = firsts + np.arange(len(firsts))
        values, counts = self.values[places], self.counts[places]
        _, bad = judge(self.rules, np.repeat(ids, lengths), groups, counts, values, self.width)
        return bad


@dataclass(frozen=True, eq=False, kw_only=True)
class LocalCopy(AnonymousCopy):
    """An anonymous copy whose classes have words of their own.

    ``groups`` is how many classes there are, ``sizes`` how many rows each has, and ``copied`` names the columns that stand
    in the copy as they were. Nothing is suppressed.
    """

    method: str
    metrics: dict[str, float]
    sizes: Ints = field(repr=False)
    recode: LocalRecode = field(repr=False)

    @property
    def kept(self) -> int:
        return self.rows

    @property
    def groups(self) -> int:
        """How many classes the copy shows."""
        return len(self.sizes)


def mondrian(
    table: Any,
    quasi_identifiers: Sequence[str],
    hierarchies: Mapping[str, Hierarchy],
    k: int,
    sensitive: str | Sequence[str] | None = None,
    **options: Unpack[RecodingOptions],
) -> LocalCopy:
    """The copy in which every class is a box of at least ``k`` rows: strict Mondrian on mixed columns.

    A cell says the stretch that its class spans: ``[31, 36]`` for numbers and days, and for categories up to five values or
    their lowest common ancestor. Rules on ``sensitive`` columns, ``drop`` and ``spark`` are those of
    ``discreet.protect.anonymize``.
    """
    return _copy("mondrian", table, quasi_identifiers, hierarchies, k, sensitive, **options)


def microaggregate(
    table: Any,
    quasi_identifiers: Sequence[str],
    hierarchies: Mapping[str, Hierarchy],
    k: int,
    sensitive: str | Sequence[str] | None = None,
    **options: Unpack[RecodingOptions],
) -> LocalCopy:
    """The copy in which every class is a cluster of at least ``k`` rows that lie close together: k-member microaggregation.

    A cell says the middle of its class: the mean of numbers and days, the most frequent category. The options are those of
    ``mondrian``.
    """
    return _copy("microaggregation", table, quasi_identifiers, hierarchies, k, sensitive, **options)


def _copy(
    method: str,
    table: Any,
    quasi_identifiers: Sequence[str],
    hierarchies: Mapping[str, Hierarchy],
    k: int,
    sensitive: str | Sequence[str] | None,
    drop: Sequence[str] = (),
    spark: Any = None,
    **rules: Unpack[RuleKeywords],
) -> LocalCopy:
    demand = Demand.of(k, rules)
    source = open_table(table, spark)
    names, hidden = listed(quasi_identifiers), listed(sensitive)
    check_columns(source, names, hierarchies, hidden, demand)
    copied, dropped = others(source, [*names, *hidden], drop)
    counted = Counted.of(source, names, hierarchies, hidden if demand.needs_sensitive else [], demand.order)
    recode, sizes, metrics = made_of(counted, demand, METHODS[method])
    return LocalCopy(
        rows=counted.rows,
        demand=demand,
        source=source,
        change=Without.of(recode, dropped),
        hierarchies={name: hierarchies[name] for name in names},
        sensitive=tuple(hidden),
        copied=copied,
        method=method,
        metrics=metrics,
        sizes=sizes,
        recode=recode,
    )


def made_of(counted: Counted, demand: Demand, method: Method) -> tuple[LocalRecode, Ints, dict[str, float]]:
    """The change, the sizes of the classes it shows, and what is lost by it.

    Classes with the same words are one: a union of classes that satisfy the rules satisfies them.
    """
    if demand.k > counted.rows:
        raise InvalidRequest(f"k must not be larger than the table, got k={demand.k} for {counted.rows} rows; lower k")
    fails = counted.fails(demand)
    every = np.arange(len(counted.counts))
    if fails is not None and fails(np.zeros(len(every), np.int64), 1, every).any():
        raise InvalidRequest(
            "not even the whole table satisfies the rules on the sensitive column; ask for less (a lower l, or a larger t, "
            "beta, disclosure or c)"
        )
    classes, many = method.grouped(counted, demand.k, fails)
    words = method.written(counted, classes, many)
    _, numbers = np.unique(_word_keys(words), return_inverse=True)
    sizes = np.bincount(numbers[classes], counted.counts).astype(np.int64)
    first = np.zeros(len(sizes), np.int64)
    first[numbers] = np.arange(many)
    keys = keys_of(counted.codes, [len(scale.values) for scale in counted.scales])
    order = np.argsort(keys)
    recode = LocalRecode(
        {scale.name: {value: code for code, value in enumerate(scale.values)} for scale in counted.scales},
        keys[order],
        numbers[classes][order],
        {scale.name: tuple(column[p] for p in first.tolist()) for scale, column in zip(counted.scales, words, strict=True)},
    )
    metrics = {
        "ncp": float(_penalty(counted, classes, many)),
        "discernibility": float((sizes.astype(float) ** 2).sum()) / max(1, counted.rows) ** 2,
        "mean_size": counted.rows / max(1, len(sizes)),
    }
    return recode, sizes, metrics


def _boxes(counted: Counted, k: int, fails: Fail | None) -> tuple[Ints, int]:
    return boxes(counted.entries, k, fails)


def _clusters(counted: Counted, k: int, fails: Fail | None) -> tuple[Ints, int]:
    return clusters(counted.entries, [scale.apart for scale in counted.scales], k, fails)


def _stretches(counted: Counted, classes: Ints, many: int) -> list[list[str | None]]:
    return [scale.cover(*_ends(codes, classes, many))[0] for scale, codes in zip(counted.scales, counted.codes, strict=True)]


def _middles(counted: Counted, classes: Ints, many: int) -> list[list[str | None]]:
    parts = zip(counted.scales, counted.codes, strict=True)
    return [scale.centres(classes, many, codes, counted.counts) for scale, codes in parts]


def _penalty(counted: Counted, classes: Ints, many: int) -> float:
    """NCP: the mean over cells of the share of the range that the class spans."""
    rows = np.bincount(classes, counted.counts, many)
    parts = zip(counted.scales, counted.codes, strict=True)
    losses = [float(rows @ scale.cover(*_ends(codes, classes, many))[1]) for scale, codes in parts]
    return sum(losses) / max(1, counted.rows) / len(losses)


def _ends(codes: Ints, classes: Ints, many: int) -> tuple[Ints, Ints]:
    low, high = np.full(many, np.iinfo(np.int64).max), np.full(many, -1)
    np.minimum.at(low, classes, codes)
    np.maximum.at(high, classes, codes)
    return low, high


def _word_keys(words: Sequence[Sequence[str | None]]) -> Ints:
    coded, sizes = [], []
    for column in words:
        known: dict[str | None, int] = {}
        coded.append(np.array([known.setdefault(word, len(known)) for word in column], np.int64))
        sizes.append(len(known))
    return mixed(coded, sizes)[0]


def _spans(scale: Scale, classes: Ints, many: int, codes: Ints, rows: Floats) -> tuple[Floats, Floats]:
    """A class of Mondrian is read as the stretch that it spans."""
    return scale.between(*_ends(codes, classes, many))


def _points(scale: Scale, classes: Ints, many: int, codes: Ints, rows: Floats) -> tuple[Floats, Floats]:
    """A cluster is read as its mean, or as its most frequent value."""
    points, _ = scale.points()
    if scale.hierarchy.measured and not scale.gap:
        means = np.bincount(classes, rows * points[codes], many) / np.maximum(np.bincount(classes, rows, many), 1)
        return means, means
    often = points[scale.most_frequent(classes, many, codes, rows)]
    return often, often


class Method(NamedTuple):
    """How rows are grouped, what is written for a group, and how an analyst reads it."""

    grouped: Groups
    written: Written
    read: Callable[[Scale, Ints, int, Ints, Floats], tuple[Floats, Floats]]


METHODS: dict[str, Method] = {
    "mondrian": Method(_boxes, _stretches, _spans),
    "microaggregation": Method(_clusters, _middles, _points),
}
