"""The test of tests: any test, run by itself on disjoint parts of the people, and a private count of its rejections.

A last resort: it needs no sensitivity of the inner test, and pays for that in power. The inner test must be valid at the
size of a part; an exact one is.
"""

from __future__ import annotations

import contextlib
import io
import math
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, ClassVar, Unpack

import numpy as np
import numpy.typing as npt

from discreet.core import numbers
from discreet.core.cost import Distance
from discreet.core.exact import Exact
from discreet.core.grid import ONE, quantise
from discreet.core.interrupts import interrupted
from discreet.core.price import Keywords, Price
from discreet.core.query import Query, Relation, check_relation, queries
from discreet.core.random import Random, chosen
from discreet.core.reading import readings
from discreet.core.result import Result
from discreet.core.runner import Desk, NoLedger
from discreet.core.schema import Categories, Schema
from discreet.core.source import Batch, Source
from discreet.errors import InvalidRequest, UnsupportedFormat
from discreet.hypotheses.shared_generators import anew
from discreet.hypotheses.shares import ExactShare, TulapCount
from discreet.sources.choosing import row_hashes
from discreet.statistics.functions import Setting, check_keywords
from discreet.statistics.joint import ask
from discreet.statistics.question import Question

Inner = Callable[[Any], Any]
_MOST_PARTS = 100_000


@queries("count_of_tests")
@dataclass(frozen=True)
class CountOfTests(Query):
    """How many of ``parts`` disjoint parts of the people have an inner p-value of at most ``alpha0``.

    An inner test that raises, that returns no number between 0 and 1, or that has nobody to look at has the p-value 1. What
    it prints through Python or warns of is not shown.

    ``distance``: 1 under add/remove; under replace 1 where parts go by public positions, and 2 otherwise, as under both.

    Proof: parts are made of whole people, and each part's p-value depends on its own people alone: the order of a part's
    rows follows from their values, and not from where a batch or a partition of everybody ends; the random numbers that
    Python and NumPy share begin anew for every part; and the function keeps nothing from one part to the next, which is its
    author's to see to. Someone who joins or
    leaves changes one part, so the count moves by at most 1. Rows without ids get random labels that are drawn by
    themselves: given the labels of all others, a newcomer changes the part of their own label alone, so the mixture over
    labels keeps the guarantee. Someone who is replaced leaves one part and may join another, as a new id hashes elsewhere:
    2. By public positions both are in one part: 1.
    """

    function: Inner | None = field(repr=False)  # None where it was read from a document
    title: str
    columns: tuple[str, ...]
    parts: int
    alpha0: float
    by_position: bool = False

    described: ClassVar[bool] = False  # a document has its title, and not its function

    def __post_init__(self) -> None:
        if isinstance(self.parts, bool) or not isinstance(self.parts, int) or not 2 <= self.parts <= _MOST_PARTS:
            raise InvalidRequest(f"parts must be a whole number between 2 and {_MOST_PARTS}, got {self.parts!r}")
        if not 0 < self.alpha0 < 1:
            raise InvalidRequest(f"alpha0 must lie strictly between 0 and 1, got {self.alpha0}")
        if self.function is not None and not callable(self.function):
            raise InvalidRequest(f"function must take a part of the data and return a p-value, got {self.function!r}")

    def read_columns(self) -> tuple[str, ...]:
        return self.columns

    def to_dict(self) -> dict[str, Any]:
        return {name: value for name, value in super().to_dict().items() if name != "function"}

    @classmethod
    def from_fields(cls, values: dict[str, Any]) -> CountOfTests:
        return super().from_fields({"function": None} | values)

    @property
    def shape(self) -> tuple[int, ...]:
        """One count."""
        return (1,)

    def distance(self, relation: Relation) -> Distance:
        one = Fraction(1)
        if relation == "add_remove" or (relation == "replace" and self.by_position):
            return Distance(one, one, one)
        return Distance(2 * one, 2 * one, 2 * one)

    def evaluate(self, source: Source) -> Exact:
        if self.function is None:
            raise UnsupportedFormat(f"the test {self.title!r} is somebody's own; a document does not hold its function")
        parts = source.data_of(self.parts) if isinstance(source, Arrays) else _gathered(source, self.columns, self.parts)
        function = self.function
        found = (inner_p(function, data, size, number) for number, (data, size) in enumerate(parts))
        count = sum(p <= self.alpha0 for p in found)
        return Exact(np.array([count], np.int64), self.grid)

    def blank(self, rows: int) -> Exact:
        """As if the hypothesis were true."""
        return Exact(np.array([round(self.parts * self.alpha0)], np.int64), self.grid)


def inner_p(function: Inner, data: Any, size: int, number: int) -> float:
    """The p-value of one part, 1 where there is none: whatever the function does, nothing else leaves it."""
    if not size:
        return 1.0
    quiet = io.StringIO()
    with (
        contextlib.redirect_stdout(quiet),
        contextlib.redirect_stderr(quiet),
        warnings.catch_warnings(),
        np.errstate(all="ignore"),
        anew(number),
        interrupted() as signals,
    ):
        warnings.simplefilter("ignore")
        try:
            p = float(function(data))
        except BaseException:  # it may fail because of what a record holds, and that must not show; a panic is no Exception
            if signals:  # somebody wants it to end; what the function raises by itself, an interrupt too, does not end it
                raise
            return 1.0
    return p if math.isfinite(p) and 0 <= p <= 1 else 1.0


def _gathered(source: Source, columns: tuple[str, ...], parts: int) -> Iterator[tuple[dict[str, Any], int]]:
    """The rows of every part: numbers clipped to their bounds, categories as their labels; incomplete rows are left out."""
    schema = source.schema
    assert schema is not None
    for number, part in enumerate(source.split(parts)):
        pieces = part.fold(_Pieces(columns, schema), _joined, columns)
        joined = {name: np.concatenate([piece[name] for piece in pieces]) for name in columns}
        order = _order(list(joined.values()), number)
        yield {name: values[order] for name, values in joined.items()}, len(order)


def _order(columns: Sequence[npt.NDArray[Any]], part: int) -> npt.NDArray[np.intp]:
    """An order of rows by a hash of what they hold and of the number of their part.

    It is as good as drawn at random, so that inner tests that split their rows, or look at runs, hold: numbers are hashed
    and not their ranks, which would lie in one order in every part of a size; and equal rows are numbered and lie apart.
    """
    codes = [_words(values) for values in columns]
    first = np.lexsort(codes)
    changed = np.logical_or.reduce([np.append(True, code[first][1:] != code[first][:-1]) for code in codes])
    starts = np.flatnonzero(changed[: len(first)])
    copies = np.arange(len(first)) - np.repeat(starts, np.diff(np.append(starts, len(first))))
    words = row_hashes([*(code[first] for code in codes), copies], np.full(len(first), part, np.uint64))
    return np.asarray(first[np.argsort(words, kind="stable")])


def _words(values: npt.NDArray[Any]) -> npt.NDArray[np.int64]:
    """A whole number for every value, the same for equal ones: the bits of a double, the rank of a label."""
    if values.dtype == np.float64:
        return (values + 0.0).view(np.int64)  # the two zeros have one
    return np.unique(values, return_inverse=True)[1].reshape(-1).astype(np.int64)


@dataclass(frozen=True)
class _Pieces:
    """The rows of one batch. A plain object, so that a cluster can send it to its workers."""

    columns: tuple[str, ...]
    schema: Schema

    def __call__(self, batch: Batch) -> list[dict[str, Any]]:
        kept = batch.kept(self.columns)
        valid = np.ones(batch.size, bool) if kept is None else kept.copy()
        found: dict[str, Any] = {}
        for name in self.columns:
            column = self.schema[name]
            if isinstance(column, Categories):
                codes = batch.codes(name)
                valid &= codes >= 0
                found[name] = np.array(column.labels)[np.maximum(codes, 0)]
            else:
                lo, hi = float(column.lo), float(column.hi)
                found[name] = lo + quantise(batch.numeric(name), lo, hi) * ((hi - lo) / ONE)
                valid &= ~np.isnan(found[name])
        return [{name: values[valid] for name, values in found.items()}]


def _joined(left: list[Any], right: list[Any]) -> list[Any]:
    return [*left, *right]


@dataclass(frozen=True)
class Arrays(Source):
    """Data in memory whose first axis is people, one row each: an array, or a mapping of arrays of one length."""

    data: Any
    relation: Relation
    random: Random
    version: str = ""

    def fold(self, *_: Any) -> Any:
        raise InvalidRequest("arrays are given to a test part by part; use a Session for other questions")

    def __post_init__(self) -> None:
        sizes = {len(column) for column in self._columns()}
        if len(sizes) != 1:
            raise InvalidRequest(f"data must be an array, or a mapping of arrays of one length, got lengths {sorted(sizes)}")

    def _columns(self) -> list[Any]:
        return list(self.data.values()) if isinstance(self.data, Mapping) else [self.data]

    def data_of(self, parts: int) -> Iterator[tuple[Any, int]]:
        """The parts: by position under replace, where positions are public, else by labels drawn at random."""
        size = len(self._columns()[0])
        if self.relation == "replace":
            labels = np.arange(size) % parts
        else:
            labels = (self.random.words(size) % np.uint64(parts)).astype(np.int64)
        for part in range(parts):
            rows = np.flatnonzero(labels == part)
            if isinstance(self.data, Mapping):
                yield {name: np.asarray(column)[rows] for name, column in self.data.items()}, len(rows)
            else:
                yield np.asarray(self.data)[rows], len(rows)


@readings("of_tests")
@dataclass(frozen=True)
class OfTests(ExactShare):
    """The share of parts whose inner test rejects at ``p`` = alpha0, and the p-value of its being no more than alpha0.

    Under the hypothesis every part rejects with probability alpha0 at most, by itself: the count is at most binomial.
    """

    effect: ClassVar[str] = "Share of the parts that reject"

    @property
    def method(self) -> str:
        return f"exact: test of tests, a count of {self.n} parts at {self.p:g} plus the noise as drawn"


def question_of(function: Inner, columns: Sequence[str], parts: int, alpha0: numbers.Number, by_position: bool) -> Question:
    """The question of a test of tests."""
    level = float(numbers.rational(alpha0, "alpha0"))
    if function is None:
        raise InvalidRequest("function must take a part of the data and return a p-value, got None")
    title = str(getattr(function, "__qualname__", type(function).__name__))
    query = CountOfTests(function, title, tuple(columns), parts, level, by_position)
    return TulapCount(query, OfTests(parts, level, "greater"))


def of_tests(
    function: Inner, data: Any, *, parts: int = 20, alpha0: numbers.Number = "0.1", **setting: Unpack[Setting]
) -> Result:
    """Any test, privately: the people are dealt into ``parts``, ``function`` gives the p-value of each, and the number of
    those at most ``alpha0`` is released.

    ``data`` is an array, or a mapping of arrays, with one row a person; ``function`` is given the same kind of thing for a
    part. It has to be valid at the size of a part, and must keep nothing from one part to the next: a generator of random
    numbers of its own is made inside it. Choose ``parts`` and ``alpha0`` before looking at the data.
    """
    check_keywords(setting)
    relation = check_relation(setting.get("neighbors", "add_remove"))
    ledger = setting.get("ledger")
    price = Price(**{k: v for k, v in setting.items() if k in Keywords.__annotations__})  # type: ignore[arg-type]
    question = question_of(function, (), parts, alpha0, relation == "replace")
    random = chosen(setting.get("seed"))
    desk = Desk(Arrays(data, relation, random), NoLedger() if ledger is None else ledger, random, relation)
    return desk.run(ask(question, price, relation))
