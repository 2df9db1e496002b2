"""A table, a ledger, and questions: every question is paid for before anything is looked at."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, Unpack

import discreet.hypotheses  # noqa: F401  whose tests are statistics too
from discreet.accounting.filters import Remaining
from discreet.core.ask import Ask, Open, Reopen
from discreet.core.budget import Budget
from discreet.core.cost import Cost
from discreet.core.numbers import Number
from discreet.core.price import Keywords, Price
from discreet.core.query import Relation
from discreet.core.random import chosen
from discreet.core.result import Result
from discreet.core.runner import Desk, Procedure, plan
from discreet.core.schema import Categories, Column, Schema
from discreet.errors import BudgetExceeded, InvalidRequest, NotPrivate
from discreet.ledger import Ledger
from discreet.ledger.address import for_table
from discreet.previews import FitPreview, Preview
from discreet.questions import Options, Questions
from discreet.sources import open_source
from discreet.sources.base import BaseSource
from discreet.statistics import discovery
from discreet.statistics.joint import ask, ask_each, ask_together
from discreet.statistics.planning import expected_width
from discreet.statistics.question import Question, Table, build

if TYPE_CHECKING:
    from discreet.models.estimators.private_model import PrivateModel
    from discreet.models.protocol import Columns

R = TypeVar("R")
M = TypeVar("M", bound="PrivateModel")
_ROWS_WITHOUT_A_GUESS = 1000  # what a preview assumes where the schema has no expected_rows


class Session(Questions):
    """Questions to a table with a budget.

    Every statistic takes what to spend (``epsilon`` alone, ``epsilon`` and ``delta``, or ``rho``; ``mechanism`` and
    ``calibration`` as for the functions), ``by=`` a declared category or several, and ``where={"sex": "f"}``.

    ``table`` is anything ``discreet.sources.open_source`` opens; ``schema`` a Schema or the path of a TOML file;
    ``ledger`` a Ledger or its url (``"sqlite:///ledger.db"``; in memory by default, and then gone with the process;
    ``"test"`` for tests, which alone allows a seed and an infinite epsilon). A relative path is taken from where the
    table's file lies, or else the schema's: the same ledger pays in whichever folder a program is run. ``name`` is the
    ledger of this table of people within the database; without it, the only one there is. ``version`` is a public word for
    this state of the table: the same question on the same version is answered again at no cost. Files go by path, size and
    time of change; a table in memory counts as new without it. ``dialect``, such as ``{"delimiter": ";"}``, is refused where
    it contradicts the schema, which declares how cells are written.

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
        where: dict[str, Any] | str | None = None,
        **price: Unpack[Keywords],
    ) -> Result:
        """Any test of one's own, run on disjoint ``parts`` of the people; see ``discreet.hypotheses.of_tests``.

        ``function`` is given a dict of arrays, one for each of ``columns``, and returns a p-value. It runs beside the data,
        so this is for whoever may run code there; no release file and no service can ask for it.
        """
        from discreet.hypotheses.of_tests import question_of

        if isinstance(columns, str) or not columns:
            raise InvalidRequest(f"columns is a list of at least one column, got {columns!r}")
        for name in columns:
            self.schema[name]
        paid, rest = _separate(dict(price))
        if rest:
            raise InvalidRequest(f"no keyword is called {next(iter(rest))!r}; what to spend is epsilon, delta or rho")
        by_position = self.schema.neighbors == "replace" and self.schema.person is None
        question = question_of(function, columns, parts, alpha0, by_position)
        return self._run(ask(question, paid, self.schema.neighbors), {} if where is None else where)

    def quantiles(self, column: str, q: Sequence[Number], **options: Unpack[Options]) -> list[Result]:
        """Several quantiles in one pass; what is spent is divided equally between them."""
        where = options.pop("where", {})
        price, rest = _separate(dict(options))

        def make(schema: Schema) -> Procedure[list[Result]]:
            table = replace(self._table(bool(where)), schema=schema)
            questions = [build("quantile", table, column, q=each, **rest) for each in q]
            return ask_each(questions, price.share(Fraction(1, max(1, len(q)))), schema.neighbors)

        self._need(_names((column,), rest), where, make)
        return self._run(make(self.schema), where)

    def discover(self, *columns: str) -> Schema:
        """Find, for their price, the columns named (all without a name) that have private bounds or labels.

        Returns the schema with what was found, which questions use from then on. What is found already is not paid again.
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

    def _need(
        self, names: Iterable[Any], where: dict[str, Any] | str | None, make: Callable[[Schema], Procedure[Any]]
    ) -> None:
        """Find what a question needs, once it is checked, and known to fit, as if nothing were found."""
        for name in where if isinstance(where, dict) else ():
            if name in self.schema.columns and self.schema[name].private:
                raise InvalidRequest(f"the labels of column {name!r} are yet to be found; use discover() before where=")
        hidden = discovery.needed(self.schema, names)
        if not hidden:
            return
        rows = self.schema.expected_rows or _ROWS_WITHOUT_A_GUESS
        _, asked = plan(make(discovery.stand_in(self.schema, hidden)), self.schema.neighbors, rows)
        self._narrowed({} if where is None else where)  # refuses a filter that names nothing
        cost = self._finding_cost(hidden) + sum((_price(each, self.schema.neighbors) for each in asked), Cost.nothing())
        would = self.ledger.preview(cost)
        if not would.fits:
            raise BudgetExceeded(
                f"the budget of the ledger {self.ledger.name!r} is {self.ledger.budget}: finding {', '.join(hidden)} and "
                f"this question ask for {would.cost}, and {would.remaining} is left; ask for less. Nothing was charged"
            )
        self.discover(*hidden)

    def _finding_cost(self, names: Sequence[str]) -> Cost:
        """What finding columns would cost now: nothing for those that the ledger remembers."""
        relation, total = self.schema.neighbors, Cost.nothing()
        for question, price in discovery.questions(self.schema, names):
            for each in question.asks(price, relation):
                if self.ledger.recall(each, self._declared, relation) is None:
                    total = total + _price(each, relation)
        return total

    def ask(self, statistic: str, *args: Any, where: dict[str, Any] | str | None = None, **options: Any) -> Result:
        """Any registered statistic by its name."""
        price, rest = _separate(options)
        if statistic in discovery.FINDERS:
            return self._find(statistic, args, rest, price, where)

        def make(schema: Schema) -> Procedure[Result]:
            table = replace(self._table(bool(where)), schema=schema, gaussian=price.is_gaussian)
            return ask(build(statistic, table, *args, **rest), price, schema.neighbors)

        self._need(_names(args, rest), where, make)
        return self._run(make(self.schema), {} if where is None else where)

    def _find(
        self, statistic: str, args: tuple[Any, ...], rest: dict[str, Any], price: Price, where: dict[str, Any] | str | None
    ) -> Result:
        """Look for the bounds or labels of a column: under its own declaration, also where that was found before."""
        source = (
            self._declared.found({k: v for k, v in self._found.items() if k not in args}) if self._found else self._source
        )
        question = build(statistic, Table(source.schema, gaussian=price.is_gaussian), *args, **rest)
        return self._run(ask(question, price, self.schema.neighbors), {} if where is None else where, source)

    def together(
        self,
        questions: Sequence[tuple[Any, ...]],
        *,
        shares: Sequence[Number] | None = None,
        where: dict[str, Any] | str | None = None,
        **price: Unpack[Keywords],
    ) -> list[Result]:
        """Several questions, each a tuple of a statistic's name and its columns, for one price and in one pass."""
        for question in questions:
            if isinstance(question, str) or not question:
                raise InvalidRequest(f"a question is a tuple such as ('mean', 'age') or ('count',), got {question!r}")
        paid, rest = _separate(dict(price))
        if rest:
            raise InvalidRequest(f"no keyword is called {next(iter(rest))!r}; what to spend is epsilon, delta or rho")

        def make(schema: Schema) -> Procedure[list[Result]]:
            table = replace(self._table(bool(where)), schema=schema)
            asked = [build(name, table, *columns) for name, *columns in questions]
            return ask_together(asked, paid, schema.neighbors, shares)

        self._need([name for _, *columns in questions for name in columns], where, make)
        return self._run(make(self.schema), {} if where is None else where)

    def fit(
        self,
        model: M,
        features: Sequence[str],
        target: str | None = None,
        *,
        weight: str | None = None,
        propensity: str | None = None,
        where: dict[str, Any] | str | None = None,
    ) -> M:
        """Fit a model of ``discreet.models`` to named columns, and return it. The ledger pays the model's price.

        Bounds and classes are those of the schema. ``target`` is what is to be predicted; models such as ``KMeans`` have
        none. ``propensity`` is for treatment rules: what ``weight`` is divided by.
        """
        target = _check_model(model, self, target)
        rows = self._table(bool(where)).rows

        def make(schema: Schema) -> Procedure[Any]:
            declared = replace(self._columns(features, target, weight, propensity, rows), schema=schema)
            return model.procedure(declared, schema.neighbors)

        self._need((*features, target, weight, propensity), where, make)
        columns = self._columns(features, target, weight, propensity, rows)
        self._check_whole(model, columns, {} if where is None else where)
        model.accept(self._run(model.procedure(columns, self.schema.neighbors), {} if where is None else where), columns)
        return model

    def tune(
        self,
        candidates: Sequence[Any],
        features: Sequence[str],
        target: str,
        *,
        weight: str | None = None,
        propensity: str | None = None,
        model: PrivateModel | None = None,
        where: dict[str, Any] | str | None = None,
        selection_epsilon: Number | None = None,
        **price: Any,
    ) -> Any:
        """The best of several models, chosen and fitted privately; see ``discreet.models.tune``. The ledger pays once.

        ``weight`` and ``propensity`` are as in ``fit``; candidates are then judged by their weights too.
        """
        from discreet.models.estimators.tuning import read_candidates, tuning

        if unknown := [word for word in price if word not in ("epsilon", "delta", "rho")]:
            raise InvalidRequest(f"no keyword is called {unknown[0]!r}; a price is epsilon, delta or rho")
        made = read_candidates(candidates, model, price or None)
        for each in made:
            _check_model(each, self, target)
        rows = self._table(bool(where)).rows

        def make(schema: Schema) -> Procedure[Any]:
            declared = replace(self._columns(features, target, weight, propensity, rows), schema=schema)
            return tuning(made, declared, schema.neighbors, selection_epsilon)

        self._need((*features, target, weight, propensity), where, make)
        columns = self._columns(features, target, weight, propensity, rows)
        winner = self._run(tuning(made, columns, self.schema.neighbors, selection_epsilon), {} if where is None else where)
        winner.model.accept(winner.fitted, columns)
        return winner.settle()

    def preview_fit(
        self,
        model: PrivateModel,
        features: Sequence[str],
        target: str | None = None,
        *,
        weight: str | None = None,
        propensity: str | None = None,
        where: dict[str, Any] | str | None = None,
    ) -> FitPreview:
        """What a fit would cost, whether it fits, and its ridge; touches no data and does not change the model."""
        from discreet.models.estimators.privacy import asked_ridge_of

        target = _check_model(model, self, target)
        self._narrowed({} if where is None else where)  # refuses a filter that names nothing
        guess = self.schema.expected_rows or _ROWS_WITHOUT_A_GUESS
        rows = guess if self._rows_are_public(bool(where)) else None
        hidden = discovery.needed(self.schema, (*features, target, weight, propensity))
        columns = self._columns(features, target, weight, propensity, rows)
        columns = replace(columns, schema=discovery.stand_in(self.schema, hidden))
        fitted, asked = plan(model.procedure(columns, self.schema.neighbors), self.schema.neighbors, guess)
        cost = sum((_price(each, self.schema.neighbors) for each in asked), self._finding_cost(hidden))
        would = self.ledger.preview(cost)
        ridge = None if getattr(fitted, "ridge", None) is None else float(fitted.ridge)
        asked_ridge = None if ridge is None else asked_ridge_of(model.ridge, ridge)  # type: ignore[attr-defined]
        return FitPreview(cost, would.fits, would.remaining, ridge, asked_ridge, tuple(asked))

    def score(
        self,
        model: Any,
        *,
        where: dict[str, Any] | str | None = None,
        epsilon: Number | None = None,
        delta: Number | None = None,
        rho: Number | None = None,
    ) -> Result:
        """The share of rows on which a fitted classifier is right, or the value of a treatment rule: a paid release.

        The table is declared as the one that the model was fitted to; a model does better on that one than on others.
        """
        from discreet.core.price import Price
        from discreet.models.protocol import Scorable

        if not isinstance(model, Scorable):
            raise InvalidRequest(
                f"score is for classifiers of discreet.models with two classes, got {type(model).__name__}; a regression "
                "has paid_score on arrays"
            )
        return self._run(model.score_procedure(self.schema, Price(epsilon, delta, rho)), {} if where is None else where)

    def run(self, procedure: Procedure[R]) -> R:
        """What a procedure of one's own finds in this table; the ledger pays for each of its asks."""
        return self._run(procedure, {})

    def _check_whole(self, model: PrivateModel, columns: Columns, where: dict[str, Any] | str) -> None:
        """Refuse a fit of several questions that does not fit as a whole, before the first of them is paid for."""
        price = model.price
        if price.is_infinite or self.ledger.preview(price.cost).fits:
            return
        relation = self.schema.neighbors
        _, asked = plan(model.procedure(columns, relation), relation, self.schema.expected_rows or _ROWS_WITHOUT_A_GUESS)
        would = self.ledger.preview(sum((_price(each, relation) for each in asked), Cost.nothing()))
        first, source = asked[0] if asked else None, self._narrowed(where)
        known = isinstance(first, Ask) and first.query.described and self.ledger.recall(first, source, relation) is not None
        if not would.fits and not known:
            other = self.ledger.budget is not None and self.ledger.budget.rho is None and would.cost.epsilon is None
            remedy = "such a budget pays for epsilon, and for no rho: give epsilon" if other else "ask for less"
            if self.ledger.budget is not None and would.cost.delta and not self.ledger.budget.delta and would.cost.epsilon:
                remedy = "such a budget has no delta, which this fit needs: make one with Budget(epsilon=..., delta=...)"
            raise BudgetExceeded(
                f"the budget of the ledger {self.ledger.name!r} is {self.ledger.budget}: this fit asks for {would.cost}, "
                f"and {would.remaining} is left; {remedy}. Nothing was charged"
            )

    def _columns(
        self, features: Sequence[str], target: str, weight: str | None, propensity: str | None, rows: int | None
    ) -> Columns:
        from discreet.models.protocol import Columns

        if isinstance(features, str):
            raise InvalidRequest(f"features is a list of columns, got {features!r}")
        goal = self.schema[target] if target else None
        if isinstance(goal, Categories) and goal.private:
            raise InvalidRequest(f"the classes of a target must be known, got {target!r}, whose labels are yet to be found")
        return Columns(self.schema, tuple(features), target, weight, rows, propensity)

    def preview(
        self,
        statistic: str,
        *args: Any,
        where: dict[str, Any] | str | None = None,
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
        price, rest = _separate(options)
        rows = self.schema.expected_rows or _ROWS_WITHOUT_A_GUESS
        public = rows if self._rows_are_public(bool(where)) else None
        hidden = [] if statistic in discovery.FINDERS else discovery.needed(self.schema, _names(args, rest))
        schema = discovery.stand_in(self.schema, hidden)
        question = build(statistic, Table(schema, public, gaussian=price.is_gaussian), *args, **rest)
        result, _ = self._plan(question, price, rows)
        cost = self._finding_cost(hidden) + result.cost
        would = self.ledger.preview(cost)
        told = [getattr(result.reading, word, None) for word in ("rank_error", "people_needed")]
        ranks, people = (None if each is None else float(each(result.releases)) for each in told)
        made = Preview(cost, result.expected_error, would.fits, would.remaining, ranks, people_needed=people)
        wide = expected_width(result, rows, spread, width)
        return replace(made, population_width=wide.width, rows_needed=wide.rows, epsilon_needed=wide.epsilon(price))

    def _plan(self, question: Question, price: Price, rows: int) -> tuple[Result, list[Ask | Open | Reopen]]:
        return plan(ask(question, price, self.schema.neighbors), self.schema.neighbors, rows)

    def _run(self, procedure: Procedure[R], where: dict[str, Any] | str, table: BaseSource | None = None) -> R:
        source = self._narrowed(where, table)
        with _waiting():
            # Without a seed every run takes the stream of its own thread.
            return Desk(source, self.ledger, chosen(self._random), self.schema.neighbors).run(procedure)

    def _narrowed(self, where: dict[str, Any] | str, table: BaseSource | None = None) -> BaseSource:
        source = self._source if table is None else table
        if isinstance(where, str):
            return source.where(**source.schema.condition(where))
        if not isinstance(where, dict):
            raise InvalidRequest(
                f"where is a condition such as 'age >= 60', or a dict such as {{'sex': 'f'}} or {{'town': ['a', 'b']}}, "
                f"got {where!r}"
            )
        return source.where(**where) if where else source

    def _rows_are_public(self, filtered: bool) -> bool:
        """Under replace the number of rows is public: of the whole table, and where one row is one person."""
        return self.schema.neighbors == "replace" and self.schema.person is None and not filtered

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


def _price(asked: Ask | Open | Reopen, relation: Relation) -> Cost:
    """What the ledger would be charged; steps of a prepaid account are free."""
    if isinstance(asked, Open):
        return asked.cost
    if isinstance(asked, Reopen) or asked.account is not None:
        return Cost.nothing()
    return asked.mechanism.cost(asked.query.distance(relation))


def _check_model(model: Any, session: Session, target: str | None) -> str:
    """Refuse what is no private model, and what it says of the table or the noise against what the session says.

    Returns the target, empty where the model has none.
    """
    from discreet.models.estimators.private_model import PrivateModel

    if not isinstance(model, PrivateModel):
        kind = (
            f"the class {model.__name__}" if isinstance(model, type) else f"{type(model).__module__}.{type(model).__name__}"
        )
        raise InvalidRequest(
            f"a session fits models of discreet.models, got {kind}; use one of them, such as LogisticRegression(epsilon=1)"
        )
    name, given = type(model).__name__, model.get_params(deep=False)
    for word in ("bounds", "target_bounds", "classes"):
        if given.get(word) is not None:
            raise InvalidRequest(
                f"in a session {word} come from the schema, got {name}({word}={given[word]!r}); leave it out"
            )
    if given.get("neighbors", "add_remove") not in ("add_remove", session.schema.neighbors):
        raise InvalidRequest(
            f"in a session neighbors is that of the schema, {session.schema.neighbors!r}, got "
            f"{name}(neighbors={given['neighbors']!r}); leave it out, or declare it in the schema"
        )
    if given.get("ledger") is not None and given["ledger"] is not session.ledger:
        raise InvalidRequest(f"in a session the session's ledger pays, got another in {name}(ledger=...); leave it out")
    if given.get("random_state") is not None:
        raise InvalidRequest(
            f"in a session noise comes from the session, got {name}(random_state={given['random_state']!r}); leave it out, "
            "or for tests make Session(..., ledger='test', seed=...)"
        )
    if model.supervised and target is None:
        raise InvalidRequest(f"{name} needs target=, the column it learns to predict; got none")
    if not model.supervised and target is not None:
        raise InvalidRequest(f"{name} learns from features alone, got target={target!r}; leave it out")
    return target or ""


def _size(batch: Any) -> int:
    return int(batch.size)


def _plus(left: int, right: int) -> int:
    return left + right


def _names(args: Sequence[Any], options: dict[str, Any]) -> list[Any]:
    """The columns that a question may name."""
    by = options.get("by")
    return [*args, *([by] if isinstance(by, str) or not isinstance(by, Sequence) else by)]


def _separate(options: dict[str, Any]) -> tuple[Price, dict[str, Any]]:
    """What to spend, and the statistic's own arguments; an argument of None is one not given."""
    price = {k: v for k, v in options.items() if k in Keywords.__annotations__}
    rest = {k: v for k, v in options.items() if k not in price and v is not None}
    return Price(**price), rest


@contextlib.contextmanager
def _waiting() -> Iterator[None]:
    """A sign of life on a terminal. It shows no count: how many rows there are is not public."""
    if not sys.stderr.isatty():
        yield
        return
    from rich.console import Console

    with Console(stderr=True).status("reading the table", spinner="dots"):
        yield
