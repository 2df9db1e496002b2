"""From records to rows of numbers: the one place where models scale and clip.

A column of numbers is clipped to its public bounds and divided by the larger of them (a centred one is taken from the
middle of its bounds and divided by half their distance), one cut into public bins becomes a column for each bin, a category
one for each declared label but its reference level, and a constant column stands for the intercept. What results has a
norm of at most sqrt(blocks), a block being a column of the table; divided by ``radius`` (that norm, or a smaller public one
to which rows are then clipped) every row has a norm of at most 1, whatever the record holds.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import accumulate
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from discreet.core import numbers
from discreet.core.query import check_rows
from discreet.core.random import Random
from discreet.core.schema import Categories, Schema
from discreet.core.source import Batch
from discreet.errors import InvalidRequest
from discreet.models.feature import Feature
from discreet.models.publish.predictor import Input
from discreet.models.target import Target, Weight

Floats = npt.NDArray[np.float64]
Keys = npt.NDArray[np.int64]

# Rows are made this much shorter than 1, which is more than doubles can be wrong by when they measure them.
_SAFE = 1.0 - 2.0**-40
_FAR = 2.0**40
_RUN = 2048  # rows at a time
_ROWS, _NUMBERS = 4096, 1 << 17  # that are read at a time: columns side by side share lines of the cache
_WIDE = 16  # columns from which a matrix is read as it lies
_APART = 8  # so that the same row of two columns is not in the same place of the cache
MOST_ROWS = 1 << 20  # up to which a minimiser is certified, unless many more are expected


@dataclass(frozen=True)
class Fourier:
    """Random features of the Gaussian kernel exp(-beta |x - x'|^2): sqrt(2/D) cos(w . x + f), made public by ``key``.

    w is normal with variance 2 beta and f uniform on a circle (Rahimi and Recht 2007). Their norm is at most sqrt(2).
    ``constant`` is what stands for an intercept beside them, once they were divided by that.
    """

    size: int
    beta: float
    key: int
    constant: float = 1.0

    def __post_init__(self) -> None:
        if isinstance(self.size, bool) or self.size < 1:
            raise InvalidRequest(f"the number of random features must be a whole number of at least 1, got {self.size}")
        if not (math.isfinite(self.beta) and self.beta > 0):
            raise InvalidRequest(f"beta must be positive and finite, got {self.beta}")
        if not 0 < self.constant <= 1:
            raise InvalidRequest(f"the constant beside random features must lie within (0, 1], got {self.constant}")

    def usual_norm(self, intercept: bool) -> Fraction:
        """The norm of features on the average over what is drawn, once divided by sqrt(2), and of the constant beside them.

        A squared cosine is 1/2 on the average, whatever the row: a Gaussian kernel is 1 between a row and itself. So rows
        differ little in length, and clipped to this norm they have directions left, which is what tells them apart.
        """
        square = 0.5 + (self.constant**2 if intercept else 0.0)
        return Fraction(math.sqrt(square)).limit_denominator(1 << 20)

    def draw(self, dimension: int) -> tuple[Floats, Floats]:
        """The frequencies (dimension x size) and phases: the same for the same key. They are public."""
        from scipy.special import ndtri

        random = Random(self.key)
        uniform = (random.words((dimension + 1) * self.size) >> np.uint64(11)).astype(np.float64) * 2.0**-53 + 2.0**-54
        normal = ndtri(uniform[self.size :]).reshape(dimension, self.size)
        return math.sqrt(2.0 * self.beta) * normal, 2.0 * math.pi * uniform[: self.size]


def _level(column: Categories, name: str, reference: Mapping[str, Any] | None) -> int | None:
    """The place of the reference level; a lone label has none."""
    given = (reference or {}).get(name, column.labels[0])
    if given not in column.labels:
        raise InvalidRequest(f"the reference of {name!r} must be one of its labels {list(column.labels)}, got {given!r}")
    return column.labels.index(given) if len(column.labels) > 1 else None


def scores(x: Floats, theta: Any) -> Floats:
    """x . theta, each row by the same operations in the same order wherever it stands.

    A product of matrices may round a row differently when others stand beside it: one person would then change what
    another contributes.
    """
    score: Floats = x[:, 0] * theta[0]
    for column in range(1, len(theta)):
        score += x[:, column] * theta[column]
    return score


class DesignRows(NamedTuple):
    """Rows that count: features of norm at most 1, targets, weights and people (None where there are none)."""

    x: Floats
    y: Floats
    weight: Floats | None
    people: Keys | None


@dataclass(frozen=True)
class Design:
    """Which columns a model reads and how they become rows; all of it public.

    ``rows`` is the most rows of one person that count, ``radius`` the norm rows are clipped to before they are
    divided by it.

    Proof: a column of numbers lies within [-1, 1] after its clip, the columns of a category or of bins hold at most one
    1, the constant is 1: the squared norm is at most the number of blocks. Rows longer than ``radius`` are shortened to
    it, and all are divided by it. Cosines lie within [-1, 1], so random features have a norm of at most sqrt(2), by which
    they are divided before they are counted as one block, beside which the constant is that of ``Fourier``. ``_SAFE`` covers
    the rounding of doubles.
    """

    features: tuple[Feature, ...]
    target: Target
    intercept: bool = True
    radius: Fraction | None = None
    weight: Weight | None = None
    fourier: Fourier | None = None
    rows: int = 1
    most_rows: int = MOST_ROWS

    def __post_init__(self) -> None:
        if not self.features:
            raise InvalidRequest("a model needs at least one feature, got none")
        if self.fourier is None and any(f.raw for f in self.features):
            raise InvalidRequest("a column without bounds is for random features only; give bounds")
        names = [*self.columns]
        if len(set(names)) != len(names):
            raise InvalidRequest(f"features, target and weight must be different columns, got {names}")
        if self.radius is not None:
            object.__setattr__(self, "radius", numbers.positive(self.radius, "radius"))
        check_rows(self.rows)
        check_rows(self.most_rows, "most_rows")

    @staticmethod
    def of(
        schema: Schema,
        features: Sequence[str],
        target: str,
        *,
        intercept: bool = True,
        radius: Fraction | None = None,
        weight: str | Weight | None = None,
        fourier: Fourier | None = None,
        raw: bool = False,
        centred: bool = False,
        reference: Mapping[str, Any] | None = None,
    ) -> Design:
        """The design that a schema's declarations make of named columns; ``raw`` leaves bounds of numbers aside.

        Beside a constant, categories have a reference level: their first label, or the one that ``reference`` says of a
        column. ``centred`` numbers (those of the target too) are counted from the middle of their bounds; both need a
        constant.
        """
        made = []
        levels = intercept and fourier is None
        for name in reference or {}:
            if name not in features or not isinstance(schema[name], Categories):
                raise InvalidRequest(f"reference is for features that are categories, got {name!r}")
        for name in features:
            column = schema[name]
            if isinstance(column, Categories):
                made.append(
                    Feature(name, labels=column.labels, reference=_level(column, name, reference) if levels else None)
                )
            elif raw:
                made.append(Feature(name, raw=True))
            else:
                made.append(Feature(name, float(column.lo), float(column.hi), centred=centred and levels))
        goal = schema[target]
        aim = (
            Target(target, classes=goal.labels)
            if isinstance(goal, Categories)
            else Target(target, (), float(goal.lo), float(goal.hi), centred and levels)
        )
        bound = weight if isinstance(weight, Weight) else None
        for name in () if weight is None else bound.columns if bound else (str(weight),):
            declared = schema[name]
            if isinstance(declared, Categories) or declared.lo < 0:
                raise InvalidRequest(f"weights must be numbers declared from 0 up, got {name!r}; declare Real(0, most)")
            bound = bound or Weight(name, float(declared.hi))
        most = max(MOST_ROWS, 4 * (schema.expected_rows or 0))
        return Design(tuple(made), aim, intercept, radius, bound, fourier, schema.max_rows or 1, most)

    @cached_property
    def columns(self) -> tuple[str, ...]:
        """The columns of the table that are read."""
        extra = () if self.weight is None else self.weight.columns
        return (*(f.column for f in self.features), self.target.column, *extra)

    @cached_property
    def inputs(self) -> tuple[Input, ...]:
        """The columns that a prediction reads."""
        return tuple(f.input for f in self.features)

    @property
    def blocks(self) -> int:
        """The number of columns counted for the norm: each column of the table once, and the constant."""
        return (1 if self.fourier else len(self.features)) + self.intercept

    @cached_property
    def width(self) -> int:
        """The number of coefficients, the constant last; every pass over the rows asks for it."""
        return (self.fourier.size if self.fourier else sum(f.size for f in self.features)) + self.intercept

    @property
    def most_weight(self) -> Fraction:
        """The largest weight of a row."""
        return Fraction(1) if self.weight is None else Fraction(self.weight.most)

    @property
    def names(self) -> list[str]:
        """The names of the coefficients, without the constant."""
        if self.fourier:
            return [f"fourier{i}" for i in range(self.fourier.size)]
        return [name for f in self.features for name in f.names]

    @cached_property
    def units(self) -> Floats:
        """What each column of the design was divided by: a coefficient divided by it is on the scale of the table."""
        if self.fourier:
            each = [math.sqrt(2.0)] * self.fourier.size
        else:
            each = [f.unit for f in self.features for _ in range(f.size)]
        last = 1.0 / self.fourier.constant if self.fourier else 1.0
        return np.array([*each, *([last] if self.intercept else [])]) * self.stretch

    @cached_property
    def lines(self) -> Floats:
        """What turns coefficients of the design into those on the scale of the table: one line for each, the constant
        last.
        """
        made: Floats = np.diag(1.0 / self.units)
        if self.intercept and not self.fourier:
            middles = np.array([f.middle for f in self.features for _ in range(f.size)])
            made[-1, :-1] -= middles / self.units[:-1]
        return made

    @property
    def stretch(self) -> float:
        """How many times shorter rows are than rows of entries in [-1, 1]: their coefficients are so many times larger."""
        return self._longest / _SAFE

    def of_labels(self, coefficients: Floats) -> Floats:
        """Coefficients without the constant, with a 0 for each reference level: one for each label or bin."""
        made, place = [], 0
        for feature in self.features:
            part = np.zeros(feature.places)
            part[feature.coded] = coefficients[place : place + feature.size]
            made.append(part)
            place += feature.size
        return np.concatenate(made)

    @cached_property
    def _most(self) -> float:
        """The largest norm of a row before it is divided."""
        if self.fourier and self.intercept:
            return math.sqrt(1.0 + self.fourier.constant**2)
        return math.sqrt(self.blocks)

    @cached_property
    def _longest(self) -> float:
        """The norm that becomes 1."""
        return self._most if self.radius is None else min(float(self.radius), self._most)

    @cached_property
    def drawn(self) -> tuple[Floats, Floats] | None:
        """The frequencies and phases of the random features, if there are some."""
        return None if self.fourier is None else self.fourier.draw(sum(f.size for f in self.features))

    def block(self, batch: Batch) -> DesignRows:
        """The rows of a batch that count: those without a missing feature, target or weight, of people's kept rows."""
        y, there = self.target.read(batch)
        x, weight = self._features(batch), None
        kept = batch.kept(self.columns)
        if kept is not None:
            there = kept if there is None else there & kept
        if math.isnan(x.min(initial=0.0)):
            whole = np.asarray(~np.isnan(x).any(axis=1))
            there = whole if there is None else there & whole
        if self.weight is not None:
            weight = self.weight.read(batch)
            known = ~np.isnan(weight)
            if not known.all():
                there = known if there is None else there & known
        people = batch.people
        if there is not None:
            x, y = x[there], y[there]
            weight = None if weight is None else weight[there]
            people = None if people is None else people[there]
        return DesignRows(self._norm(x), y, weight, people)

    def rows_of(self, x: Floats) -> Floats:
        """Rows from a matrix of plain numbers, one column for each numeric feature: what a prediction is made from."""
        encoded = self._room(len(x))
        for place, feature in enumerate(self.features):
            feature.clip(x[:, place], encoded[:, place])
        return self._norm(self._scaled(encoded))

    def _room(self, rows: int) -> Floats:
        return np.empty((rows, sum(f.size for f in self.features) if self.fourier else self.width))

    def _features(self, batch: Batch) -> Floats:
        x = self._room(batch.size)
        for place, feature in self._placed:
            if feature.labels or feature.cuts:
                feature.read(batch, x[:, place : place + feature.size])
        places, names = self._numbers
        matrix = batch.matrix(names) if len(places) >= _WIDE and places[-1] - places[0] == len(places) - 1 else None
        columns = [batch.numeric(name) for name in names] if matrix is None else []
        rows = max(1, min(_ROWS, _NUMBERS // max(1, x.shape[1])))
        room = np.empty((len(columns), rows + _APART))
        for start in range(0, batch.size, rows):
            run = slice(start, min(start + rows, batch.size))
            if matrix is not None:
                self._clip(matrix[run].T, x[run, places[0] : places[-1] + 1].T)
            else:
                lines = room[:, : run.stop - start]
                for line, values in zip(lines, columns, strict=True):
                    line[:] = values[run]
                self._clip(lines, lines)
                for line, place in zip(lines, places, strict=True):
                    x[run, place] = line
            if self.drawn is None:
                self._divide(x[run])
        return x if self.drawn is None else self._scaled(x)

    def _clip(self, columns: Floats, out: Floats) -> None:
        """Columns of numbers, a line each, within their bounds and from their middle."""
        low, high, middle, unit = self._ends
        np.maximum(columns, low, out=out)
        np.minimum(out, high, out=out)
        if middle is not None:
            out -= middle
            np.maximum(out, -unit, out=out)  # the middle of far bounds is rounded
            np.minimum(out, unit, out=out)

    @cached_property
    def _placed(self) -> list[tuple[int, Feature]]:
        """The features, each with the place of its first column."""
        return list(zip(accumulate((f.size for f in self.features), initial=0), self.features, strict=False))

    @cached_property
    def _numbers(self) -> tuple[list[int], list[str]]:
        """The places and the names of the features that are numbers."""
        numbers = [(place, f.column) for place, f in self._placed if not (f.labels or f.cuts)]
        return [place for place, _ in numbers], [name for _, name in numbers]

    @cached_property
    def _ends(self) -> tuple[Floats, Floats, Floats | None, Floats]:
        """What columns of numbers are clipped to and counted from (None: from 0), and what a column from its middle is
        clipped to; a line for each.
        """
        inf, numbers = math.inf, [f for f in self.features if not (f.labels or f.cuts)]
        each = [(-inf, inf, 0.0, inf) if f.raw else (f.lo, f.hi, f.middle, f.unit if f.centred else inf) for f in numbers]
        low, high, middle, unit = np.array(each, np.float64).reshape(-1, 4).T[..., None].copy()
        return low, high, middle if any(f.centred for f in numbers) else None, unit

    def _divide(self, x: Floats) -> Floats:
        if self.intercept:
            x[:, -1] = 1.0
        x /= self.units
        return x

    def _scaled(self, x: Floats) -> Floats:
        """Clipped columns over their units, through the random features where there are any, the constant last."""
        if self.drawn is None:
            return self._divide(x)
        units = np.array([f.unit for f in self.features for _ in range(f.size)])
        frequencies, phases = self.drawn
        encoded = np.empty((len(x), self.width))
        with np.errstate(all="ignore"):  # an angle past 2**40 has no digits left: its row counts as missing
            for start in range(0, len(x), _RUN):
                part = x[start : start + _RUN] / units
                angle = part[:, :1] * frequencies[0] + phases
                for column in range(1, len(units)):  # column by column: a product would round rows as they stand
                    angle += part[:, column, None] * frequencies[column]
                angle[~(np.abs(angle) < _FAR)] = np.nan
                np.cos(angle, out=encoded[start : start + _RUN, : len(phases)])
        encoded[:, : len(phases)] *= math.sqrt(2.0 / len(phases))
        if self.intercept:
            encoded[:, -1] = 1.0
        encoded /= self.units
        return encoded

    def _norm(self, x: Floats) -> Floats:
        """Rows longer than ``radius`` shortened to it."""
        if self.radius is None or float(self.radius) >= self._most:
            return x
        length = np.sqrt(np.einsum("ij,ij->i", x, x))
        x /= np.maximum(length / _SAFE, 1.0)[:, None]
        return x
