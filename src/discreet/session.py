"""A table, a ledger, and questions: every question is paid for before anything is looked at."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar, Unpack

from discreet.accounting.filters import Remaining
from discreet.core.ask import Ask
from discreet.core.budget import Budget
from discreet.core.cost import Cost
from discreet.core.numbers import Number
from discreet.core.price import Keywords, Price
from discreet.core.random import chosen
from discreet.core.release import Release
from discreet.core.result import Result
from discreet.core.runner import Desk, Procedure, plan
from discreet.core.schema import Column, Schema
from discreet.errors import BudgetExceeded, InvalidRequest, NotPrivate
from discreet.fitting import Fitting, charged
from discreet.hypotheses.of_tests import question_of
from discreet.ledger import Ledger
from discreet.ledger.address import for_table
from discreet.ledger.ledger import Preview as Afterwards
from discreet.questions import Questions
from discreet.request import Request, Where, separate
from discreet.sources import open_source
from discreet.sources.base import BaseSource
from discreet.statistics import discovery
from discreet.statistics.joint import ask
from discreet.statistics.question import Table
from discreet.synthesis import Synthesis

R = TypeVar("R")


class Session(Questions, Fitting, Synthesis):
    """Questions to a table with a budget.

    Every statistic takes what to spend (``epsilon`` alone, ``epsilon`` and ``delta``, or ``rho``; ``mechanism`` and
    ``calibration`` as for the functions), ``by=`` a declared category or several, and ``where={"sex": "f"}``.

    ``table`` is anything ``discreet.sources.open_source`` opens; ``schema`` a Schema or the path of a TOML file; ``ledger``
    a Ledger or its url (``"sqlite:///ledger.db"``; in memory by default, and then gone with the process; ``"test"`` for
    tests, which alone allows a seed and an infinite epsilon). A relative path is taken from where the table's file lies, or
    else the schema's: the same ledger pays in whichever folder a program is run. ``name`` is the ledger of this table of
    people within the database; without it, the only one there is. ``version`` is a public word for this state of the table:
    the same question on the same version is answered again at no cost. Files go by path, size and time of change; a table in
    memory without it counts as a new one. ``dialect``, such as ``{"delimiter": ";"}``, is refused where it contradicts the
    schema, which declares how cells are written.

    A column with private bounds or labels is found, for its price, when a question first needs it, or by ``discover``;
    ``schema`` then holds what was found.

    Errors come from declarations and requests. What a record holds never raises, warns or stops anything.
    """

    def __init__(
        self,
        table: Any,
        schema: Schema | str | Path,
        budget: Budget | None = None,
        ledger: Ledger | str = "sqlite://",
        *,
        seed: int | None = None,
        name: str | None = None,
        who: str | None = None,
        spark: Any = None,
        version: str | None = None,
        dialect: Mapping[str, Any] | None = None,
    ) -> None:
        if not isinstance(schema, Schema | str | Path):
            raise InvalidRequest(f"schema must be a Schema or the path of a TOML file, got {type(schema).__name__}")
        self.schema = schema if isinstance(schema, Schema) else Schema.from_toml(schema)
        self._source = open_source(table, self.schema, spark=spark, version=version, dialect=dialect)
        relation = self.schema.neighbors
        if not isinstance(ledger, Ledger):
            ledger = Ledger(for_table(ledger, table, schema), budget, name=name, neighbors=relation, who=who)
        elif budget is not None and ledger.budget != budget:
            raise InvalidRequest(f"the ledger has the budget {ledger.budget}, got {budget}; leave it out, or open another")
        if seed is not None and not ledger.test:
            raise NotPrivate("a seed makes noise that is not private; use ledger='test', or no seed")
        self.ledger = ledger
        self._random = None if seed is None else chosen(seed)
        self._rows: int | None = None
        self._declared = self._source  # the table under the schema as it was declared
        self._found: dict[str, Column] = {}

    def __repr__(self) -> str:
        return f"Session(columns={list(self.schema.columns)}, ledger={self.ledger!r})"

    def remaining(self) -> Remaining | None:
        """What is left of the budget; None where nothing is limited."""
        return self.ledger.remaining()

    def spent(self) -> Cost:
        """What was spent so far."""
        return self.ledger.spent()

    def of_tests(
        self,
        function: Any,
        columns: Sequence[str],
        *,
        parts: int = 20,
        alpha0: Number = "0.1",
        where: Where | None = None,
        **price: Unpack[Keywords],
    ) -> Result:
        """Any test of one's own, run on disjoint ``parts`` of the people; see ``discreet.hypotheses.of_tests``.

        ``function`` is given a dict of arrays, one for each of ``columns``, and returns a p-value. It runs beside the data,
        so this is for whoever may run code there; no release file and no service can ask for it.
        """
        if isinstance(columns, str) or not columns:
            raise InvalidRequest(f"columns is a list of at least one column, got {columns!r}")
        for name in columns:
            self.schema[name]
        paid, rest = separate(price)
        if rest:
            raise InvalidRequest(f"no keyword is called {next(iter(rest))!r}; what to spend is epsilon, delta or rho")
        if self.schema.person is None and not self._source.numbered:
            raise InvalidRequest(
                "the rows of such a table have no lasting number by which to deal them into parts, and dealt by what they "
                "hold, equal rows would all be in one part; declare person= and max_rows="
            )
        by_position = self.schema.neighbors == "replace" and self.schema.person is None
        question = question_of(function, columns, parts, alpha0, by_position)
        return self._run(ask(question, paid, self.schema.neighbors), {} if where is None else where)

    def discover(self, *columns: str) -> Schema:
        """Find, for their price, the columns named (all without a name) that have private bounds or labels.

        Returns the schema with what was found, which later questions use. What was found before is not paid for again.
        """
        for name in columns:
            if self._declared.schema[name].price is None:
                raise InvalidRequest(f"column {name!r} has no price to be found for; declare one, or leave it out")
        names = discovery.needed(self.schema, columns or self.schema.columns)
        if names:
            asked = discovery.questions(self.schema, names)
            results = self._run(discovery.finding(asked, self.schema.neighbors), {}, self._declared)
            self._found |= discovery.found(self.schema, dict(zip(names, results, strict=True)))
            self._source = self._declared.found(self._found)
            self.schema = self._source.schema
        return self.schema

    def _need(self, request: Request[Any]) -> None:
        """Find the private bounds and labels that a request needs, after checking that both fit into the budget."""
        for name in request.where if isinstance(request.where, dict) else ():
            if name in self.schema.columns and self.schema[name].private:
                raise InvalidRequest(f"the labels of column {name!r} are yet to be found; use discover() before where=")
        hidden = discovery.needed(self.schema, request.names)
        if not hidden:
            return
        relation = self.schema.neighbors
        table = replace(self._table(bool(request.where)), schema=discovery.stand_in(self.schema, hidden))
        _, asked = plan(request.make(table), relation, self._guessed_rows)
        self._check_where(request.where)
        cost = self._finding_cost(hidden) + sum((charged(each, relation) for each in asked), Cost.nothing())
        would = self._afterwards(cost)
        if not would.fits:
            raise BudgetExceeded(
                f"the budget of the ledger {self.ledger.name!r} is {self.ledger.budget}: finding {', '.join(hidden)} and "
                f"this question ask for {would.cost}, and {would.remaining} is left; ask for less. Nothing was charged"
            )
        self.discover(*hidden)

    def _finding_cost(self, names: Sequence[str]) -> Cost:
        """What finding columns would cost now: nothing for those that were paid for before."""
        relation, total = self.schema.neighbors, Cost.nothing()
        for question, price in discovery.questions(self.schema, names):
            for each in question.asks(price, relation):
                if self.ledger.paid_for(each, self._declared, relation) is None:
                    total = total + charged(each, relation)
        return total

    def _answer(self, request: Request[R]) -> R:
        if request.finds:  # under its own declaration, also where that was found before
            others = {name: column for name, column in self._found.items() if name not in request.finds}
            source = self._declared.found(others) if self._found else self._source
            return self._run(request.make(Table(source.schema)), request.where, source)
        self._need(request)
        table = self._table(bool(request.where))
        procedure = request.make(table)
        if request.whole is not None:
            self._check_whole(request, request.whole, table)
        return self._run(procedure, request.where)

    def run(self, procedure: Procedure[R]) -> R:
        """What a procedure of one's own finds in this table; the ledger pays for each of its asks."""
        return self._run(procedure, {})

    def _check_whole(self, request: Request[Any], price: Price, table: Table) -> None:
        """Refuse several questions that do not fit as a whole, before the first of them is paid for."""
        if price.is_infinite or self._afterwards(price.cost).fits:
            return
        relation = self.schema.neighbors
        _, asked = plan(request.make(table), relation, self._guessed_rows)
        would = self._afterwards(sum((charged(each, relation) for each in asked), Cost.nothing()))
        first, source = asked[0] if asked else None, self._narrowed(request.where)
        paid = isinstance(first, Ask) and first.query.described and self.ledger.paid_for(first, source, relation)
        if not would.fits and not paid:
            what = "fit" if "fit" in request.words else "request"
            raise BudgetExceeded(
                f"the budget of the ledger {self.ledger.name!r} is {self.ledger.budget}: this {what} asks for {would.cost}, "
                f"and {would.remaining} is left; {_remedy(would.cost, self.ledger.budget, what)}. Nothing was charged"
            )

    def _afterwards(self, cost: Cost) -> Afterwards:
        return self.ledger.preview(cost)

    def _held(self, where: Where) -> list[Release]:
        return self.ledger.held(self._narrowed(where), self.schema.neighbors)

    def _check_where(self, where: Where) -> None:
        self._narrowed(where)

    def _run(self, procedure: Procedure[R], where: Where, table: BaseSource | None = None) -> R:
        source = self._narrowed(where, table)
        with _waiting():
            # Without a seed every run takes the stream of its own thread.
            return Desk(source, self.ledger, chosen(self._random), self.schema.neighbors).run(procedure)

    def _narrowed(self, where: Where, table: BaseSource | None = None) -> BaseSource:
        source = self._source if table is None else table
        if isinstance(where, str):
            return source.where(**source.schema.condition(where))
        if not isinstance(where, dict):
            raise InvalidRequest(
                f"where is a condition such as 'age >= 60', or a dict such as {{'sex': 'f'}} or {{'town': ['a', 'b']}}, "
                f"got {where!r}"
            )
        return source.where(**where) if where else source

    def _table(self, filtered: bool) -> Table:
        if not self._rows_are_public(filtered):
            return Table(self.schema)
        if self._rows is None:
            self._rows = self._source.fold(_size, _plus, [])
        if not self._rows:
            raise InvalidRequest(
                "under replace the number of rows is public, and there are none; use add_remove, or wait for rows"
            )
        return Table(self.schema, self._rows)


def _remedy(cost: Cost, budget: Budget | None, what: str) -> str:
    """What to do about a cost that does not fit into a budget."""
    if budget is not None and budget.rho is None and cost.epsilon is None:
        return "such a budget pays for epsilon, and for no rho: give epsilon"
    if budget is not None and cost.delta and not budget.delta and cost.epsilon:
        return f"such a budget has no delta, which this {what} needs: make one with Budget(epsilon=..., delta=...)"
    return "ask for less"


def _size(batch: Any) -> int:
    return int(batch.size)


def _plus(left: int, right: int) -> int:
    return left + right


@contextlib.contextmanager
def _waiting() -> Iterator[None]:
    """A sign of life on a terminal. It shows no count: how many rows there are is not public."""
    if not sys.stderr.isatty():
        yield
        return
    from rich.console import Console

    with Console(stderr=True).status("reading the table", spinner="dots"):
        yield
