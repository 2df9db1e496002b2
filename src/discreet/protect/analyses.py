"""What a copy does to an analysis: means, correlations, a logistic regression and counts, beside those of the table.

An analyst reads a coarse cell as the stretch of its column that it stands for: a number as the middle of its interval, a row
as spread evenly over it when rows are counted. Rows that are left out are not there. Everything is measured by whoever holds
the table, and tells of the table: it is for choosing a copy, not for publishing beside it.

- *means*: the difference of a column's mean, in standard deviations of the column;
- *correlations*: the largest difference between two columns with numbers or days;
- *regression*: a logistic regression of whether ``target`` is ``positive`` on all quasi-identifiers is fitted to the copy
  and predicts every row of the table as the copy shows it (a row that is left out at the mean); its area under the ROC curve
  beside that of a fit to the table itself;
- *queries*: counts of rows in a stretch of one column and a stretch of another; the median over fixed queries of
  |estimate - count| / max(count, 1 % of the rows).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations, pairwise

import numpy as np
import numpy.typing as npt

from discreet.errors import InvalidRequest
from discreet.protect.anonymous import Anonymized
from discreet.protect.copies import Copy
from discreet.protect.incognito import Node
from discreet.protect.lattice_histogram import Floats, Histogram, Ints, distinct, encode, keys_of
from discreet.protect.local_recoding import METHODS, LocalCopy
from discreet.protect.scales import Scale
from discreet.protect.stored_table import StoredTable
from discreet.sources.cell_meaning import label

Bools = npt.NDArray[np.bool_]
_QUERIES = 60
_BINS = 100  # stretches of a column without a measure that a regression tells apart


@dataclass(frozen=True)
class Utility:
    """What a copy changes. ``means`` and ``correlation`` are 0 and ``queries`` near 0 where nothing is lost.

    ``means`` is the largest change of a mean in standard deviations, and ``auc`` and ``auc_of_table`` the areas of the two
    regressions; None where there is no column with numbers or days, no second one, or no target.
    """

    means: float | None
    correlation: float | None
    queries: float
    auc: float | None
    auc_of_table: float | None


@dataclass(frozen=True, eq=False)
class ShownColumn:
    """A column as a copy shows it: the cell of every entry, and the stretch of the range that each cell stands for."""

    which: Ints
    low: Floats
    high: Floats

    @property
    def middle(self) -> Floats:
        """For every entry the middle of its cell."""
        return np.asarray(((self.low + self.high) / 2)[self.which], np.float64)

    def share(self, start: float, stop: float) -> Floats:
        """For every entry the share of its cell that lies from ``start`` to ``stop``."""
        width = self.high - self.low
        inside = np.clip(np.minimum(self.high, stop) - np.maximum(self.low, start), 0, None)
        point = (self.low >= start) & (self.low <= stop)
        shares = np.where(width > 0, inside / np.where(width > 0, width, 1), point)
        return np.asarray(shares[self.which], np.float64)


def check_target(table: StoredTable, names: Sequence[str], target: str, positive: object) -> None:
    """Refuse a target that nothing can be predicted of: a quasi-identifier, or one that never has its positive value."""
    table.check([target])
    if target in names or label(positive) is None:
        raise InvalidRequest(
            f"a target is no quasi-identifier and comes with its positive value, got {target!r} and {positive!r}"
        )
    if label(positive) not in encode(table.counted([target])[0][0])[0]:
        raise InvalidRequest(
            f"some row must have the positive value, and {target!r} is never {positive!r}; check its spelling"
        )


class Analyses:
    """The analyses of a table, made once, beside which copies of it are laid."""

    def __init__(self, copy: Copy, target: str | None = None, positive: object = None) -> None:
        names = list(copy.columns)
        if target is not None:
            check_target(copy.source, names, target, positive)
        columns, found = copy.source.counted([*names, *([] if target is None else [target])])
        encoded = [encode(column) for column in columns]
        rows = np.ones(len(encoded[0][1]), np.int64) if found is None else found
        if target is not None:
            texts, codes = encoded.pop()
            encoded.append(([], np.array([text == label(positive) for text in texts], np.int64)[codes]))
        self._scales: list[Scale] = []
        coded = []
        for name, (leaves, codes) in zip(names, encoded, strict=False):
            scale, places = Scale.of(name, leaves, copy.hierarchies[name])
            self._scales.append(scale)
            coded.append(places[codes])
        self._sizes = [len(scale.values) for scale in self._scales]
        more = [] if target is None else [encoded[-1][1]]
        entries, counts = distinct([*coded, *more], [*self._sizes, *([2] * len(more))], rows)
        self._answer = entries.pop() if more else None
        self._codes, self._rows = entries, counts.astype(np.float64)
        self._numbers = [place for place, scale in enumerate(self._scales) if scale.hierarchy.measured and not scale.gap]
        self._queries = _queries(len(names))
        self._base: tuple[Histogram, Ints] | None = None
        self._table = [ShownColumn(codes, *scale.points()) for codes, scale in zip(self._codes, self._scales, strict=True)]
        everyone = np.ones(len(self._rows), bool)
        self._truth = self._counts(self._table, everyone)
        self._auc = self._area(self._table, everyone)

    def of(self, copy: Copy, node: Node | None = None) -> Utility:
        """What a copy of the same table changes; ``node`` takes another node of a full-domain copy."""
        shown, kept = self._by_class(copy) if isinstance(copy, LocalCopy) else self._by_level(copy, node or copy.node)
        error = np.abs(self._counts(shown, kept) - self._truth) / np.maximum(self._truth, self._rows.sum() / 100)
        means, correlation = self._moments(shown, kept)
        return Utility(means, correlation, float(np.median(error)), self._area(shown, kept), self._auc)

    def _by_level(self, copy: Anonymized, node: Node) -> tuple[list[ShownColumn], Bools]:
        """The cells of a node, and which entries are in groups that it keeps."""
        made = []
        for scale, codes, level in zip(self._scales, self._codes, node, strict=True):
            which, low, high = scale.at(level)
            made.append(ShownColumn(which[codes], low, high))
        ids, bad, _ = copy.view.entries(node)
        return made, ~bad[ids][self._places(copy.base)]

    def _places(self, base: Histogram) -> Ints:
        """For every entry one of a histogram's with the same quasi-identifiers."""
        if self._base is None or self._base[0] is not base:
            there = []
            for scale, column in zip(self._scales, base.columns, strict=True):
                known = {text: code for code, text in enumerate(column.labels[0])}
                there.append(np.array([known[text] for text in scale.values], np.int64))
            mine = keys_of([at[codes] for at, codes in zip(there, self._codes, strict=True)], self._sizes)
            theirs = keys_of(base.codes, self._sizes)
            order = np.argsort(theirs)
            self._base = base, order[np.searchsorted(theirs, mine, sorter=order)]
        return self._base[1]

    def _by_class(self, copy: LocalCopy) -> tuple[list[ShownColumn], Bools]:
        """The cells of classes with words of their own; every entry is kept."""
        known = {scale.name: codes for scale, codes in zip(self._scales, self._codes, strict=True)}
        classes = copy.recode.coded({scale.name: scale.values for scale in self._scales}, known)
        read = METHODS[copy.method].read
        parts = zip(self._scales, self._codes, strict=True)
        made = [ShownColumn(classes, *read(scale, classes, copy.groups, codes, self._rows)) for scale, codes in parts]
        return made, np.ones(len(self._rows), bool)

    def _moments(self, shown: Sequence[ShownColumn], kept: Bools) -> tuple[float | None, float | None]:
        if not self._numbers or not kept.any():
            return None, None
        before = [self._table[place].middle for place in self._numbers]
        after = [shown[place].middle[kept] for place in self._numbers]
        was, now = self._rows, self._rows[kept]
        shifts = [
            abs(np.average(b, weights=now) - np.average(a, weights=was)) / (_spread(a, was) or 1.0)
            for a, b in zip(before, after, strict=True)
        ]
        pairs = list(combinations(range(len(before)), 2))
        moved = [abs(_correlation(after[i], after[j], now) - _correlation(before[i], before[j], was)) for i, j in pairs]
        return float(max(shifts)), float(max(moved)) if moved else None

    def _counts(self, shown: Sequence[ShownColumn], kept: Bools) -> Floats:
        rows = np.where(kept, self._rows, 0.0)
        out = []
        for (a, *first), (b, *second) in self._queries:
            shares = shown[a].share(*first)
            out.append(rows @ (shares if a == b else shares * shown[b].share(*second)))
        return np.array(out, float)

    def _area(self, shown: Sequence[ShownColumn], kept: Bools) -> float | None:
        """The area under the ROC curve of a logistic regression on the cells, over all rows of the table."""
        from sklearn.linear_model import LogisticRegression
        from sklearn.metrics import roc_auc_score

        if self._answer is None:
            return None
        here = self._answer[kept]
        if len(np.unique(here)) < 2:
            return 0.5
        features = np.concatenate([self._features(place, cells) for place, cells in enumerate(shown)], axis=1)
        fit = LogisticRegression(solver="newton-cholesky", max_iter=50, tol=1e-3)
        fit.fit(features[kept], here, sample_weight=self._rows[kept])
        scores = np.full(len(self._answer), np.average(here, weights=self._rows[kept]))
        scores[kept] = fit.predict_proba(features[kept])[:, 1]
        return float(roc_auc_score(self._answer, scores, sample_weight=self._rows))

    def _features(self, place: int, cells: ShownColumn) -> Floats:
        """A number or a day as the middle of its cell, a category as the chance of each value given the cell."""
        if place in self._numbers:
            return cells.middle[:, None]
        edges = np.linspace(0, 1, min(_BINS, self._sizes[place]) + 1)
        return np.stack([cells.share(start, stop) for start, stop in pairwise(edges.tolist())], axis=1)


def utility(copy: Copy, target: str | None = None, positive: object = None) -> Utility:
    """What a copy does to means, correlations, counts and a logistic regression of ``target == positive``.

    For several copies of one table, ``Analyses(copy, target, positive).of(other)`` reads the table once.
    """
    return Analyses(copy, target, positive).of(copy)


def _queries(columns: int) -> list[tuple[tuple[int, float, float], tuple[int, float, float]]]:
    """Two columns, and a stretch of each: fixed ones that fill the range evenly (multiples of irrational numbers)."""
    pairs = list(combinations(range(columns), 2)) or [(0, 0)]
    made = []
    for number in range(_QUERIES):
        one, two = pairs[number % len(pairs)]
        begin = [(number + 1) * step % 1 for step in (0.7548776662, 0.5698402910)]
        width = [0.2 + 0.4 * ((number + 1) * step % 1) for step in (0.8191725134, 0.6710436067)]
        first, second = ((b * (1 - w), b * (1 - w) + w) for b, w in zip(begin, width, strict=True))
        made.append(((one, *first), (two, *second)))
    return made


def _spread(values: Floats, rows: Floats) -> float:
    return float(np.sqrt(np.average((values - np.average(values, weights=rows)) ** 2, weights=rows)))


def _correlation(a: Floats, b: Floats, rows: Floats) -> float:
    """The correlation; 0 where a column does not vary."""
    spread = _spread(a, rows) * _spread(b, rows)
    if spread <= 1e-12:
        return 0.0
    apart = (a - np.average(a, weights=rows)) * (b - np.average(b, weights=rows))
    return float(np.average(apart, weights=rows)) / spread
