"""The kinds of question that can be asked from afar; each becomes a procedure of the library.

A kind reads its part of a document (closed: the keys of release files and fit files, and names of registries), and makes
the procedure that asks it of a table. The table may be one without records: what is refused and what is charged then come
from the declarations alone, which is how the front prices.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Self

from discreet.core.price import Price
from discreet.core.result import Result
from discreet.core.runner import Procedure
from discreet.errors import UnsupportedFormat
from discreet.jobs import asking, release_file
from discreet.jobs.release_file import Item, check_keys
from discreet.service.kind import PRICE, SPEND, Kind, check_options, named_in, nowhere, spent, texts
from discreet.service.limits import Limits
from discreet.service.model_kinds import Fitted, Scored, Tuned
from discreet.sources.base import BaseSource
from discreet.statistics import discovery
from discreet.statistics.joint import ask_together, taken_apart
from discreet.statistics.question import Table, build
from discreet.synthetic.synthesizing import asked


@dataclass(frozen=True)
class Asks(Kind):
    """Statistics, tests and curves, each with its own price and rows: one payment, one pass for each filter."""

    word = "ask"
    items: tuple[Item, ...]
    where: Mapping[str, Any] | str = field(default_factory=dict)  # each item has its own

    @classmethod
    def read(cls, doc: Any, limits: Limits) -> Self:
        if not isinstance(doc, list) or not 1 <= len(doc) <= limits.asks:
            raise UnsupportedFormat(f"ask is a list of 1 to {limits.asks} questions", key="ask")
        items = []
        for number, each in enumerate(doc):
            place = f"question {number + 1}: "
            item = release_file.item_of(number, each, lambda *_, said=place: said)
            check_options(item.options, limits, place)
            items.append(item)
        return cls(tuple(items))

    def names(self) -> Iterator[str]:
        for item in self.items:
            if item.statistic not in discovery.FINDERS:
                yield from item.columns
            yield from [item.by] if isinstance(item.by, str) else item.by or ()
            yield from named_in(item.where)

    def words(self) -> Iterator[str]:
        for item in self.items:
            yield from texts([*item.options.values()])

    def procedure(self, source: BaseSource, rows: int | None, limits: Limits) -> Procedure[list[Result]]:
        made = []
        for item in self.items:
            question, _, asks, _ = asking.posed(item, source, rows)
            made.append((question, asks))
        releases = iter((yield tuple(ask for _, asks in made for ask in asks)))
        own = [tuple(next(releases) for _ in asks) for _, asks in made]
        return [
            Result(q.reading, rs, sum((r.cost for r in rs[1:]), rs[0].cost), source.schema.expected_rows)
            for (q, _), rs in zip(made, own, strict=True)
        ]

    def titles(self) -> list[str]:
        return [item.title for item in self.items]


@dataclass(frozen=True)
class Together(Kind):
    """Several statistics for one price, calibrated jointly."""

    word = "together"
    questions: tuple[tuple[str, list[Any], dict[str, Any]], ...]  # the statistic, its columns, its options
    shares: tuple[Any, ...] | None
    where: Mapping[str, Any] | str
    spend: Mapping[str, Any]

    @classmethod
    def read(cls, doc: Any, limits: Limits) -> Self:
        check_keys(doc, {"questions": (list,), "shares": (list,), "where": (dict, str), **SPEND}, nowhere, "together")
        questions = doc.get("questions")
        if not isinstance(questions, list) or not 1 <= len(questions) <= limits.asks:
            raise UnsupportedFormat(f"together has a list of 1 to {limits.asks} questions", key="questions")
        made = []
        for number, each in enumerate(questions):
            named = each[:-1] if isinstance(each, list) and len(each) > 1 and isinstance(each[-1], dict) else each
            if not isinstance(named, list) or not named or not all(isinstance(name, str) for name in named):
                raise UnsupportedFormat(f'a question of together is a list such as ["mean", "age"], got {each!r:.100}')
            statistic, columns, options = taken_apart(each)
            by = options.get("by", [])
            if not isinstance(by, str | list) or not all(isinstance(name, str) for name in by):
                raise UnsupportedFormat(f"by must be a column or a list of columns, got {by!r:.100}")
            check_options(options, limits, f"question {number + 1}: ")
            made.append((statistic, columns, options))
        shares = doc.get("shares")
        if shares is not None and not all(isinstance(s, int | float | str) and not isinstance(s, bool) for s in shares):
            raise UnsupportedFormat(f"shares are numbers, got {shares!r:.100}")
        return cls(tuple(made), None if shares is None else tuple(shares), doc.get("where", {}), spent(doc))

    def names(self) -> Iterator[str]:
        for _, columns, options in self.questions:
            by = options.get("by") or ()
            yield from [*columns, *([by] if isinstance(by, str) else by)]
        yield from named_in(self.where)

    def words(self) -> Iterator[str]:
        for _, _, options in self.questions:
            yield from texts([*options.values()])

    def procedure(self, source: BaseSource, rows: int | None, limits: Limits) -> Procedure[list[Result]]:
        table = Table(source.schema, None if self.where else rows)
        asked = [build(name, table, *columns, **options) for name, columns, options in self.questions]
        expected = source.schema.expected_rows
        return ask_together(asked, Price(**self.spend), source.schema.neighbors, self.shares, expected)

    def titles(self) -> list[str]:
        return [" of ".join([name, " and ".join(columns)] if columns else [name]) for name, columns, _ in self.questions]


@dataclass(frozen=True)
class Synthesized(Kind):
    """What synthetic tables are made of: the options of ``Session.synthesize``."""

    word = "synthesize"
    options: Mapping[str, Any]
    where: Mapping[str, Any] | str
    spend: Mapping[str, Any]

    @classmethod
    def read(cls, doc: Any, limits: Limits) -> Self:
        known: dict[str, tuple[type, ...]] = {
            "columns": (list,), "bins": (dict,), "rows": (int,), "tables": (int,), "impossible": (list,),
            "workload": (list,), "where": (dict, str), **PRICE,
        }  # fmt: skip
        check_keys(doc, known, nowhere, "synthesize")
        for name in ("columns", "impossible"):
            if not all(isinstance(each, str) for each in doc.get(name, ())):
                raise UnsupportedFormat(f"{name} is a list of texts", key=name)
        for bins in doc.get("bins", {}).values():
            check_options({"bins": bins}, limits, "")
        options = {key: value for key, value in doc.items() if key in known and key not in (*PRICE, "where")}
        return cls(options, doc.get("where", {}), spent(doc))

    def names(self) -> Iterator[str]:
        yield from self.options.get("columns", ())
        yield from self.options.get("impossible", ())
        yield from named_in(self.where)

    def procedure(self, source: BaseSource, rows: int | None, limits: Limits) -> Procedure[Any]:
        public = None if self.where else rows
        return asked(schema=source.schema, public_rows=public, **self.options).procedure(Price(**self.spend))

    def results(self, returned: Any) -> list[Result]:
        return []

    def titles(self) -> list[str]:
        return [f"synthetic tables of {len(self.options.get('columns', ())) or 'all'} columns"]


KINDS: dict[str, type[Kind]] = {kind.word: kind for kind in (Asks, Together, Fitted, Tuned, Scored, Synthesized)}
