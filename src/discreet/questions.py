"""The questions of a session by their names: each is a registered statistic, asked by ``ask``."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any, TypeVar, Unpack

import discreet.hypotheses  # noqa: F401  whose tests are statistics too
from discreet.core.cost import Cost
from discreet.core.labels import Label
from discreet.core.numbers import Number
from discreet.core.price import Keywords
from discreet.core.result import Result
from discreet.core.runner import Procedure, plan
from discreet.core.schema import Schema
from discreet.errors import InvalidRequest, UnknownName
from discreet.ledger.ledger import Preview as Afterwards
from discreet.manifest import homes
from discreet.previews import Preview
from discreet.request import ROWS_WITHOUT_A_GUESS, Request, Where, columns_named, separate
from discreet.sql import translate
from discreet.statistics import discovery
from discreet.statistics.joint import ask, ask_each, ask_together, taken_apart
from discreet.statistics.planning import expected_width
from discreet.statistics.question import Table, build

R = TypeVar("R")


class Options(Keywords, total=False):
    """What to spend, and on whom: ``by`` groups by declared categories, ``where`` restricts to some of them.

    ``of="population"`` releases what it takes to speak of the population that the table is a sample of.
    """

    by: str | Sequence[str] | None
    of: str
    where: dict[str, Label | Sequence[Label]] | str


class Asker(ABC):
    """Whoever has requests answered: beside the table, or from afar. Both drive the same procedures.

    ``schema`` is what is public about the table, with what was found of it so far.
    """

    schema: Schema

    @abstractmethod
    def _answer(self, request: Request[R]) -> R:
        """What the procedure of a request returns, once it is paid for."""

    @abstractmethod
    def _afterwards(self, cost: Cost) -> Afterwards:
        """Whether a cost would be paid, and what would be left."""

    @abstractmethod
    def _finding_cost(self, names: Sequence[str]) -> Cost:
        """What finding columns with private bounds or labels would cost now."""

    @abstractmethod
    def _check_where(self, where: Where) -> None:
        """Refuse a filter that names nothing, or is none."""

    @property
    def _guessed_rows(self) -> int:
        return self.schema.expected_rows or ROWS_WITHOUT_A_GUESS

    def _rows_are_public(self, filtered: bool) -> bool:
        """Under replace the number of rows is public: of the whole table, and where one row is one person."""
        return self.schema.neighbors == "replace" and self.schema.person is None and not filtered


class Questions(Asker):
    """Methods that name a statistic and its columns, and leave the rest to ``ask``."""

    def ask(self, statistic: str, *args: Any, where: Where | None = None, **options: Any) -> Result:
        """Any registered statistic by its name."""
        price, rest = separate(options)
        finds = args if statistic in discovery.FINDERS else ()

        def make(table: Table) -> Procedure[Result]:
            asked = replace(table, gaussian=True) if price.is_gaussian else table
            question = build(statistic, asked, *args, **rest)
            return ask(question, price, table.schema.neighbors, table.schema.expected_rows)

        words = {"ask": [{"statistic": statistic, "columns": list(args), **options}]}
        names = () if finds else columns_named(args, rest)
        return self._answer(Request(words, make, {} if where is None else where, names, finds))

    def together(
        self,
        questions: Sequence[tuple[Any, ...]],
        *,
        shares: Sequence[Number] | None = None,
        where: Where | None = None,
        by: str | Sequence[str] | None = None,
        **price: Unpack[Keywords],
    ) -> list[Result]:
        """Several questions, each a tuple of a statistic's name and its columns, for one price and in one pass.

        The last of a tuple may be a dict of the statistic's options, ``("histogram", "age", {"bins": 5})``. ``by`` groups
        all of them that say no ``by`` of their own.
        """
        if not isinstance(questions, list | tuple) or not questions:
            raise InvalidRequest(f"questions must be a list of tuples such as ('mean', 'age'), got {questions!r}")
        for question in questions:
            if not isinstance(question, list | tuple) or not question:
                raise InvalidRequest(f"a question is a tuple such as ('mean', 'age') or ('count',), got {question!r}")
        grouped = {} if by is None else {"by": by}
        told = [(name, columns, grouped | options) for name, columns, options in map(taken_apart, questions)]
        paid, rest = separate(price)
        if rest:
            raise InvalidRequest(f"no keyword is called {next(iter(rest))!r}; what to spend is epsilon, delta or rho")

        def make(table: Table) -> Procedure[list[Result]]:
            asked = [build(name, table, *columns, **options) for name, columns, options in told]
            return ask_together(asked, paid, table.schema.neighbors, shares, table.schema.expected_rows)

        plain = [(name, *columns, *([options] if options else [])) for name, columns, options in told]
        words = {"together": {"questions": plain, "shares": shares, **price}}
        names = [name for _, columns, options in told for name in columns_named(columns, options)]
        return self._answer(Request(words, make, {} if where is None else where, names))

    def quantiles(self, column: str, q: Sequence[Number], **options: Unpack[Options]) -> list[Result]:
        """Several quantiles in one pass; what is spent is divided equally between them.

        With ``by``, or of the population, all are read off one distribution, which is paid for once.
        """
        if isinstance(q, str | bytes) or not hasattr(q, "__len__"):
            raise InvalidRequest(f"q must be a list such as [0.25, 0.5, 0.75], got {q!r}; for one of them use quantile")
        if not len(q):
            raise InvalidRequest("q must name at least one quantile, got none; write [0.25, 0.5, 0.75]")
        if options.get("by") is not None or options.get("of") == "population":
            whole = self.ask("distribution", column, **options)
            return [whole.quantile(one) for one in q]
        where = options.pop("where", {})
        price, rest = separate(options)
        each = price.share(Fraction(1, max(1, len(q))))

        def make(table: Table) -> Procedure[list[Result]]:
            questions = [build("quantile", table, column, q=one, **rest) for one in q]
            return ask_each(questions, each, table.schema.neighbors, expected=table.schema.expected_rows)

        words = {"ask": [{"statistic": "quantile", "columns": [column], "q": one, "price": each, **rest} for one in q]}
        return self._answer(Request(words, make, where, columns_named((column,), rest)))

    def sql(self, statement: str, **options: Any) -> Result | list[Result]:
        """What a SELECT asks, as in ``SELECT sex, AVG(bmi) FROM visits WHERE age >= 60 GROUP BY sex``; see ``discreet.sql``.

        One aggregate has one result. Several have a list: they are paid together and share the price equally.
        """
        for word in ("by", "where"):
            if word in options:
                raise InvalidRequest(f"a statement says {word} itself, got {word}= too; write it into the statement")
        asked = translate(statement, self.schema)
        if len(asked) == 1:
            return self.ask(asked[0].statistic, *asked[0].columns, **asked[0].keywords, **options)
        price, rest = separate(options)
        share = price.share(Fraction(1, len(asked)))

        def make(table: Table) -> Procedure[list[Result]]:
            whole = replace(table, gaussian=share.is_gaussian)
            some = replace(whole, rows=None)  # of rows that fulfil a condition the number is private
            questions = [build(e.statistic, some if e.where else whole, *e.columns, **e.arguments, **rest) for e in asked]
            rows = [tuple((name, (true,)) for name, true in e.condition(table.schema).items()) for e in asked]
            return ask_each(questions, share, table.schema.neighbors, rows, table.schema.expected_rows)

        told = [{"statistic": e.statistic, "columns": list(e.columns), "price": share, **e.keywords, **rest} for e in asked]
        names = [name for each in asked for name in columns_named(each.columns, each.arguments)]
        return self._answer(Request({"ask": told}, make, {}, names))

    def preview(
        self,
        statistic: str,
        *args: Any,
        where: Where | None = None,
        spread: float | None = None,
        width: float | None = None,
        **options: Any,
    ) -> Preview:
        """What a question would cost, how wrong it is expected to be, whether it fits; touches no data.

        Made up for the schema's ``expected_rows`` (1000 without it), values spread evenly between their bounds. For a
        mean asked ``of="population"``, ``spread`` is a public guess of the standard deviation, and ``width`` a width wanted
        of the 95 % interval: the preview then says how many rows, or which epsilon, it takes.
        With what it costs to find the columns that have private bounds or labels, as if nothing were found.
        """
        price, rest = separate(options)
        rows, relation = self._guessed_rows, self.schema.neighbors
        public = rows if self._rows_are_public(bool(where)) else None
        hidden = [] if statistic in discovery.FINDERS else discovery.needed(self.schema, columns_named(args, rest))
        schema = discovery.stand_in(self.schema, hidden)
        question = build(statistic, Table(schema, public, gaussian=price.is_gaussian), *args, **rest)
        result, _ = plan(ask(question, price, relation), relation, rows)
        cost = self._finding_cost(hidden) + result.cost
        would = self._afterwards(cost)
        told = [
            each(result.releases) for each in (result.reading.rank_error, result.reading.people_needed, result.reading.gap)
        ]
        ranks, people, gap = (None if each is None else float(each) for each in told)
        made = Preview(cost, result.expected_error, would.fits, would.remaining, ranks, people_needed=people, gap=gap)
        wide = expected_width(result, rows, spread, width)
        return replace(made, population_width=wide.width, rows_needed=wide.rows, epsilon_needed=wide.epsilon(price))

    def count(self, **options: Unpack[Options]) -> Result:
        """The number of rows, in all or by group."""
        return self.ask("count", **options)

    def count_people(self, **options: Any) -> Result:
        """The number of people with a row, or with ``where`` a row that fits, in all or by group: each counts once."""
        return self.ask("count_people", **options)

    def people_sum(self, column: str | None = None, **options: Any) -> Result:
        """The sum over people of what each amounts to, clipped to ``clip``; ``each`` as for ``people_mean``."""
        return self.ask("people_sum", *([] if column is None else [column]), **options)

    def people_mean(self, column: str | None = None, **options: Any) -> Result:
        """The mean over people of what each amounts to, clipped to ``clip``: ``each="sum"``, ``"mean"`` or ``"count"``."""
        return self.ask("people_mean", *([] if column is None else [column]), **options)

    def count_distinct(self, column: str, **options: Any) -> Result:
        """The number of different labels or whole numbers in a column."""
        return self.ask("count_distinct", column, **options)

    def top(self, column: str, **options: Any) -> Result:
        """The ``k`` labels that most people have, in order and without counts; ``.to_frame()`` lists them."""
        return self.ask("top", column, **options)

    def distribution(self, column: str, **options: Any) -> Result:
        """The distribution of a column in public ``bins``: ``.curve()``, ``.band()`` and ``.quantile(q)`` of one release."""
        return self.ask("distribution", column, **options)

    def test(self, name: str, *args: Any, **options: Any) -> Result:
        """A test of ``discreet.hypotheses`` by its name: ``.statistic``, ``.pvalue``, ``.confidence_interval()``."""
        tests = [word for word, home in homes("statistic").items() if home.startswith("discreet.hypotheses.")]
        if name not in tests:
            raise UnknownName(f"no test is called {name!r:.60}; there are {', '.join(tests)}")
        return self.ask(name, *args, **options)

    def survival(self, time: str, event: str, **options: Any) -> Result:
        """Survival curves in public time ``bins``, in all or by group; ``happened`` is the label of the event.

        ``.quantile(q)``, ``.restricted_mean()``, ``.logrank()`` and ``.numbers_at_risk()`` are of the same release.
        """
        return self.ask("survival", time, event, **options)

    def compare(self, column: str, *, by: str, **options: Any) -> Result:
        """Groups' means, their differences and the test of one common mean, from one release.

        ``.difference(one, other)`` and ``.test("ttest_ind", between=(one, other))`` cost nothing more; see also
        ``discreet.hypotheses.differences`` and ``comparison``, a picture.
        """
        return self.ask("compare", column, by=by, **options)

    def share(self, column: str, **options: Unpack[Options]) -> Result:
        """The share of every declared label of a column, in all or by group."""
        return self.ask("share", column, **options)

    def sum(self, column: str, **options: Unpack[Options]) -> Result:
        """The sum of a column."""
        return self.ask("sum", column, **options)

    def mean(self, column: str, **options: Unpack[Options]) -> Result:
        """The mean of a column."""
        return self.ask("mean", column, **options)

    def variance(self, column: str, **options: Unpack[Options]) -> Result:
        """The variance of a column, divisor n - 1."""
        return self.ask("variance", column, **options)

    def std(self, column: str, **options: Unpack[Options]) -> Result:
        """The standard deviation of a column."""
        return self.ask("std", column, **options)

    def covariance(self, x: str, y: str, **options: Unpack[Options]) -> Result:
        """The covariance of two columns."""
        return self.ask("covariance", x, y, **options)

    def covariance_matrix(self, *columns: str, **options: Any) -> Result:
        """The covariances of all pairs of columns, from one release."""
        return self.ask("covariance_matrix", *columns, **options)

    def correlation(self, x: str, y: str, **options: Unpack[Options]) -> Result:
        """Pearson's correlation of two columns."""
        return self.ask("correlation", x, y, **options)

    def pooled_variance(self, column: str, *, by: str, **options: Any) -> Result:
        """The variance within groups."""
        return self.ask("pooled_variance", column, by=by, **options)

    def pooled_covariance(self, x: str, y: str, *, by: str, **options: Any) -> Result:
        """The covariance within groups."""
        return self.ask("pooled_covariance", x, y, by=by, **options)

    def histogram(self, column: str, **options: Any) -> Result:
        """Counts in public bins: ``bins`` (a number or edges), ``normalize``, ``allow_negative``."""
        return self.ask("histogram", column, **options)

    def crosstab(self, *columns: str, **options: Any) -> Result:
        """Counts of every combination of declared categories."""
        return self.ask("crosstab", *columns, **options)

    def median(self, column: str, **options: Any) -> Result:
        """The median of a column; options as for ``quantile``."""
        return self.ask("median", column, **options)

    def quantile(self, column: str, q: Number, **options: Any) -> Result:
        """The value below which a share ``q`` of the rows lies.

        ``interval=True`` (also with ``by``) reads it off a distribution, ``method="pair"`` buys two more quantiles where the
        number of rows is public: both have intervals in values.
        """
        return self.ask("quantile", column, q=q, **options)

    def bounds(self, column: str, **options: Any) -> Result:
        """Bounds for a column declared with a wide outer range: ``unit`` or ``bins`` as for the function."""
        return self.ask("bounds", column, **options)

    def categories(self, column: str, **options: Any) -> Result:
        """The labels of a column declared as ``Categories("private")`` that enough people have: ``minimum``, ``counts``."""
        return self.ask("categories", column, **options)
