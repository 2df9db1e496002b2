"""From a release file to questions, their price, and their answers: one transaction, and one pass for each filter."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import discreet.hypotheses  # noqa: F401  whose tests are statistics too
from discreet.core.ask import Ask
from discreet.core.cost import Cost
from discreet.core.documents import reading
from discreet.core.price import Price
from discreet.core.random import system
from discreet.core.result import Result
from discreet.core.runner import Desk, plan
from discreet.errors import BudgetExceeded, DiscreetError, InvalidRequest, NoSuchLedger, UnknownName
from discreet.jobs.release_file import Item, ReleaseFile, plain_title
from discreet.ledger import Ledger
from discreet.ledger.events import canonical
from discreet.report.language import spoken
from discreet.sources import open_source
from discreet.sources.base import BaseSource
from discreet.statistics import discovery
from discreet.statistics.joint import ask
from discreet.statistics.question import Question, Table, build, builder, signature

ROWS_WITHOUT_A_GUESS = 1000  # what a plan assumes where the schema has no expected_rows
_LOOKED_AT = 500  # events of a ledger that are looked at to see whose it is


@dataclass(frozen=True)
class Prepared:
    """A question that is ready to be paid for: nothing about it can be refused any more but its price.

    ``entries`` are the ledger's entries that paid for the identical ``asks`` on the identical table, answered or not: where
    there is one for each, the question is ``known``, and free. ``repeats`` are the asks that the file has made before: two
    statistics may be read off one release, and that is paid once.
    """

    item: Item
    question: Question
    spend: Price
    asks: tuple[Ask, ...]
    costs: tuple[Cost, ...]
    source: BaseSource
    entries: tuple[int | None, ...]
    repeats: tuple[bool, ...] = ()

    @property
    def cost(self) -> Cost:
        """What the question costs, whenever that is paid."""
        return sum(self.costs[1:], self.costs[0])

    @property
    def due(self) -> Cost:
        """What of it is not paid yet."""
        parts = zip(self.costs, self.entries, self.repeats, strict=True)
        return sum((cost for cost, entry, repeat in parts if entry is None and not repeat), Cost.nothing())

    @property
    def known(self) -> bool:
        """Whether all of it is paid for: in the ledger, or earlier in the file."""
        return all(entry is not None or repeat for entry, repeat in zip(self.entries, self.repeats, strict=True))


def open_table(file: ReleaseFile) -> BaseSource:
    """The table, opened without looking at a record."""
    try:
        return open_source(file.table, file.schema, version=file.version)
    except DiscreetError as problem:
        raise problem.at(file.places["table"]) from None


def open_ledger(file: ReleaseFile, *, create: bool) -> Ledger:
    """The ledger that pays. Without ``create`` a ledger that does not exist yet is played by one in memory."""
    relation = file.schema.neighbors
    try:
        try:
            ledger = Ledger(file.ledger, None, name=file.name, neighbors=relation, who=file.who)
        except NoSuchLedger as problem:
            if file.budget is None:
                made = "write a table [budget] with epsilon = 1 in the release file"
                raise problem.remedied(f"{made}, or correct the ledger or the name") from None
            address = file.ledger if create else "sqlite://"
            ledger = Ledger(address, file.budget, name=file.name, neighbors=relation, who=file.who)
    except DiscreetError as problem:
        raise problem.at(file.places["ledger"]) from None
    if file.budget is not None and ledger.budget != file.budget:
        has = ledger.budget
        ledger.close()
        raise InvalidRequest(
            f"{file.places['budget']}a ledger's budget is fixed when it is made: {ledger.name!r} has {has}, got "
            f"{file.budget}; write the budget it has, leave [budget] out, or choose another name"
        )
    try:
        _check_whose(ledger, file)
    except BaseException:
        ledger.close()
        raise
    return ledger


def _check_whose(ledger: Ledger, file: ReleaseFile) -> None:
    """Refuse a ledger whose questions so far were all about columns that this table does not have."""
    paid = set(columns_of(event.question for event in itertools.islice(ledger.events(), _LOOKED_AT)))
    if paid and not paid & set(file.schema.columns) and not file.same_people:
        raise InvalidRequest(
            f"{file.places['ledger']}the ledger {ledger.name!r} seems to be of another table: it paid for questions about "
            f"{', '.join(sorted(paid)[:5])}, and the schema declares none of these; choose another name, or write "
            "same_people = true if both tables are about the same people"
        )


def columns_of(questions: Iterable[str]) -> Iterator[str]:
    """The columns that the questions of a ledger name; a question in free text names none."""
    for question in questions:
        if not question.startswith("{"):
            continue
        try:
            waiting: list[Any] = [json.loads(question)]
        except json.JSONDecodeError:
            continue
        while waiting:
            found = waiting.pop()
            if isinstance(found, dict):
                if isinstance(found.get("column"), str):
                    yield found["column"]
                waiting += found.values()
            elif isinstance(found, list):
                waiting += found


def prepare(file: ReleaseFile, source: BaseSource, ledger: Ledger, rows: int | None) -> list[Prepared]:
    """Every question of the file, checked; ``rows`` is the number of rows where the relation makes that public.

    Those that look for bounds and labels are left to ``prepare_finding``: they are asked first, of the table as declared.
    """
    own = [item for item in file.items if item.statistic not in discovery.FINDERS]
    return _once([_prepare(item, file, source, ledger, rows) for item in own])


def _once(prepared: list[Prepared]) -> list[Prepared]:
    """The same, with the asks marked that were made before."""
    marked, seen = [], set()
    for each in prepared:
        keys = [(*_written(ask), canonical(ask.where)) for ask in each.asks]
        marked.append(replace(each, repeats=tuple(key in seen for key in keys)))
        seen.update(keys)
    return marked


def _written(ask: Ask) -> tuple[str, str]:
    """A query and its law as a ledger writes them."""
    return canonical(ask.query.to_dict()), canonical(ask.mechanism.to_dict())


def to_find(file: ReleaseFile) -> list[str]:
    """The columns that the file's questions need and that have private bounds or labels, with a price."""
    named: list[Any] = []
    for item in file.items:
        if item.statistic not in discovery.FINDERS:
            named += [*item.columns, *([item.by] if isinstance(item.by, str) else item.by or [])]
    return discovery.needed(file.schema, named)


def prepare_finding(file: ReleaseFile, source: BaseSource, ledger: Ledger) -> list[Prepared]:
    """A question for each column that has to be found first; then the file's own that look for bounds and labels."""
    made = []
    for name in to_find(file):
        statistic, options = discovery.finder(file.schema, name)
        with spoken(file.language):
            title = plain_title(statistic, [name], None, {})
        spend = dict(file.schema[name].price or ())
        item = Item(statistic, (name,), title, spend, None, {}, options, file.places["schema"])
        made.append(_prepare(item, file, source, ledger, None))
    asked = [item for item in file.items if item.statistic in discovery.FINDERS]
    return _once(made + [_prepare(item, file, source, ledger, None) for item in asked])


def recalled(finding: list[Prepared], ledger: Ledger) -> list[Result] | None:
    """What was found before, if all of it was: the ledger remembers, and no table is looked at."""
    found = []
    for each in finding:
        releases = tuple(ledger.recall(ask, each.source, each.source.schema.neighbors) for ask in each.asks)
        if any(release is None for release in releases):
            return None
        found.append(Result(each.question.reading, tuple(r for r in releases if r is not None), each.cost))
    return found


def with_found(file: ReleaseFile, source: BaseSource, found: list[Result] | None = None) -> tuple[ReleaseFile, BaseSource]:
    """The file and its table with what was found; without results as if nothing had been."""
    names = to_find(file)
    if not names:
        return file, source
    if found is None:
        schema = discovery.stand_in(file.schema, names)
        return replace(file, schema=schema), source.found({name: schema[name] for name in names})
    told = source.found(discovery.found(file.schema, dict(zip(names, found, strict=False))))
    return replace(file, schema=told.schema), told


def public_rows(file: ReleaseFile) -> bool:
    """Whether the number of rows is public: under replace, where one row is one person."""
    return file.schema.neighbors == "replace" and file.schema.person is None


def guessed_rows(file: ReleaseFile) -> int:
    """How many rows a plan assumes."""
    return file.schema.expected_rows or ROWS_WITHOUT_A_GUESS


def counted_rows(file: ReleaseFile, source: BaseSource) -> int:
    """The number of rows, at least one; only for a table of which it is public."""
    rows = int(source.fold(lambda batch: int(batch.size), lambda a, b: a + b, []))
    if not rows:
        raise InvalidRequest(
            f"{file.places['table']}under replace the number of rows is public, and there are none; "
            'write neighbors = "add_remove" in the schema, or wait for rows'
        )
    return rows


def posed(item: Item, source: BaseSource, rows: int | None) -> tuple[Question, Price, tuple[Ask, ...], BaseSource]:
    """The question that an item puts to a table, its price, what it asks, and the rows it is about.

    Everything is refused here that can be refused from declarations: no record is in reach. ``rows`` is the number of rows
    of the whole table, where it is public.
    """
    schema = source.schema
    where = schema.condition(item.where) if isinstance(item.where, str) else item.where
    narrowed = source.where(**where) if where else source
    spend = Price(**item.spend)
    question = _build(item, Table(schema, None if item.where else rows, gaussian=spend.is_gaussian))
    asks = tuple(replace(each, where=narrowed.restriction) for each in question.asks(spend, schema.neighbors))
    return question, spend, asks, narrowed


def _prepare(item: Item, file: ReleaseFile, source: BaseSource, ledger: Ledger, rows: int | None) -> Prepared:
    relation = file.schema.neighbors
    try:
        with reading("an ask"):  # a number beyond all bounds, say, of which no law can be made
            question, spend, asks, narrowed = posed(item, source, rows if public_rows(file) else None)
            costs = tuple(each.mechanism.cost(each.query.distance(relation)) for each in asks)
        for cost in costs:
            ledger.preview(cost)  # refuses what no ledger pays for
        entries = tuple(ledger.paid_for(each, narrowed, relation) for each in asks)
    except DiscreetError as problem:
        raise problem.at(item.place) from None
    return Prepared(item, question, spend, asks, costs, narrowed, entries)


def _build(item: Item, table: Table) -> Question:
    parameters = signature(builder(item.statistic)).parameters.values()
    known = [p.name for p in parameters if p.kind is p.KEYWORD_ONLY]
    arguments = dict(item.options) | ({} if item.by is None else {"by": item.by})
    for key in arguments:
        if key not in known:
            raise UnknownName(f"{item.statistic} takes no {key!r}; known: {', '.join(known) or 'none'}")
    try:
        return build(item.statistic, table, *item.columns, **arguments)
    except (TypeError, ValueError) as problem:
        if isinstance(problem, DiscreetError):
            raise
        raise InvalidRequest(f"the options of {item.statistic} cannot be read ({problem}); correct them") from None


def asked_before(file: ReleaseFile, prepared: list[Prepared], ledger: Ledger) -> str | None:
    """A warning where a question that has to be paid was paid once already, for another state of the table.

    A ledger keeps the query and the law of an entry, and of the rows it was about only a digest: so it cannot tell
    another state of the table from another filter. Entries that answer this file as it stands are left out.
    """
    asked = [(ask, entry) for p in prepared for ask, entry in zip(p.asks, p.entries, strict=True)]
    new = {_written(ask) for ask, entry in asked if entry is None}
    used = {entry for _, entry in asked}
    if not new:
        return None
    last = {(e.question, e.law): e.number for e in ledger.events() if e.kind == "charge" and e.number not in used}
    entries = sorted(last[key] for key in new if key in last)
    if not entries:
        return None
    which = f"entry {entries[0]}" if len(entries) == 1 else f"entries {', '.join(map(str, entries))}"
    if file.version is not None:
        return f"{which} paid for the same for another version, filter or schema; these count as new questions"
    return (
        f"the table changed since {which} (file time, size or place; or the schema, or a filter): these count as new "
        'questions; if it is the same table, set version = "..." in the release file, and from then on it stays free'
    )


def total(prepared: Iterable[Prepared]) -> Cost:
    """What all that is not paid for yet costs together."""
    return sum((p.due for p in prepared), Cost.nothing())


def expected(prepared: Prepared, rows: int) -> Result:
    """A made-up answer, as uncertain as the real one: no data is in reach of it."""
    relation = prepared.source.schema.neighbors
    return plan(ask(prepared.question, prepared.spend, relation), relation, rows)[0]


def check_budget(file: ReleaseFile, prepared: list[Prepared], ledger: Ledger) -> None:
    """Refuse the whole file where its questions do not fit together."""
    cost = total(prepared)
    if not ledger.preview(cost).fits:
        note = asked_before(file, prepared, ledger)
        raise BudgetExceeded(
            f"the budget of the ledger {ledger.name!r} is {ledger.budget}: this release asks for {cost}, and "
            f"{ledger.remaining()} is left; ask for less. Nothing was charged{'' if note is None else f'. Note: {note}'}"
        )


def run(prepared: list[Prepared], source: BaseSource, ledger: Ledger) -> list[Result]:
    """Pay, look, answer: one payment for the whole file, and one pass over the table for each filter."""
    if not prepared:
        return []
    releases = iter(
        Desk(source, ledger, system(), source.schema.neighbors).answer(tuple(a for p in prepared for a in p.asks))
    )
    answers = []
    for each in prepared:
        own = tuple(next(releases) for _ in each.asks)
        answers.append(Result(each.question.reading, own, each.cost, source.schema.expected_rows))
    return answers
