"""Models of a session: fitted, tuned and scored for a price that the session's ledger pays."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from discreet.core.ask import Ask, Open, Reopen
from discreet.core.cost import Cost
from discreet.core.labels import closest
from discreet.core.numbers import Number
from discreet.core.price import Price
from discreet.core.query import Relation
from discreet.core.result import Result
from discreet.core.runner import Procedure, plan
from discreet.core.schema import Categories, Schema
from discreet.errors import InvalidRequest, UnknownName
from discreet.models.estimators.privacy import asked_ridge_of
from discreet.models.protocol import Columns, Scorable
from discreet.previews import FitPreview
from discreet.questions import Asker
from discreet.request import Request, Where
from discreet.statistics import discovery
from discreet.statistics.question import Table

if TYPE_CHECKING:
    from discreet.models.estimators.private_model import PrivateModel
    from discreet.models.protocol import Columns

M = TypeVar("M", bound="PrivateModel")
F = TypeVar("F")
Named = tuple[Sequence[str], str, str | None, str | None]  # features, target, weight, propensity


class Fitting(Asker):
    """Methods that take a model of ``discreet.models`` and the names of columns."""

    def fit(
        self,
        model: M,
        features: Sequence[str],
        target: str | None = None,
        *,
        weight: str | None = None,
        propensity: str | None = None,
        where: Where | None = None,
    ) -> M:
        """Fit a model of ``discreet.models`` to named columns, and return it. The ledger pays the model's price.

        Bounds and classes are those of the schema. ``target`` is what is to be predicted; models such as ``KMeans`` have
        none. ``propensity`` is for treatment rules: what ``weight`` is divided by.
        """
        target = _check_model(model, self, target)
        _check_columns(self.schema, features, target)
        named = (features, target, weight, propensity)
        asked = model.settled()
        words = {"fit": _words(*named) | {"model": asked}}
        names = (*features, target, weight, propensity)
        request = Request(words, partial(_fitted, asked, named), {} if where is None else where, names, whole=model.price)
        return self._accepted(model, self._answer(request))

    def _accepted(self, model: M, answer: tuple[Any, Columns]) -> M:
        """The model, fitted with what the answer says."""
        fitted, columns = answer
        model.accept(fitted, columns)
        return model

    def tune(
        self,
        candidates: Sequence[Any],
        features: Sequence[str],
        target: str | None = None,
        *,
        weight: str | None = None,
        propensity: str | None = None,
        model: PrivateModel | None = None,
        where: Where | None = None,
        selection_epsilon: Number | None = None,
        **price: Any,
    ) -> Any:
        """The best of several models, chosen and fitted privately; see ``discreet.models.tune``. The ledger pays once.

        ``weight`` and ``propensity`` are as in ``fit``; candidates are then judged by their weights too.
        """
        made, target = self._candidates(candidates, model, features, target, price)
        named = (features, target, weight, propensity)
        words = {"tune": _words(*named) | {"candidates": made, "selection_epsilon": selection_epsilon}}
        make = partial(_tuned, made, named, selection_epsilon)
        names = (*features, target, weight, propensity)
        winner, columns = self._answer(Request(words, make, {} if where is None else where, names))
        winner.model.accept(winner.fitted, columns)
        return winner.settle()

    def preview_tune(
        self,
        candidates: Sequence[Any],
        features: Sequence[str],
        target: str | None = None,
        *,
        weight: str | None = None,
        propensity: str | None = None,
        model: PrivateModel | None = None,
        where: Where | None = None,
        selection_epsilon: Number | None = None,
        **price: Any,
    ) -> FitPreview:
        """What a tuning would cost, once and for all of it, and whether it fits; touches no data."""
        made, target = self._candidates(candidates, model, features, target, price)
        named = (features, target, weight, propensity)
        _, cost, asked = self._planned(partial(_tuned, made, named, selection_epsilon), named, where)
        would = self._afterwards(cost)
        return FitPreview(cost, would.fits, would.remaining, asks=tuple(asked))

    def _candidates(
        self,
        candidates: Sequence[Any],
        model: PrivateModel | None,
        features: Sequence[str],
        target: str | None,
        price: Mapping[str, Any],
    ) -> tuple[list[PrivateModel], str]:
        """Fresh copies of the candidates, checked, and the target, empty where they have none."""
        from discreet.models.estimators.tuning import read_candidates

        if unknown := [word for word in price if word not in ("epsilon", "delta", "rho")]:
            raise InvalidRequest(f"no keyword is called {unknown[0]!r}; a price is epsilon, delta or rho")
        models = read_candidates(candidates, model, price)
        goal, *_ = [_check_model(each, self, target) for each in models]
        _check_columns(self.schema, features, goal)
        return [each.settled() for each in models], goal

    def preview_fit(
        self,
        model: PrivateModel,
        features: Sequence[str],
        target: str | None = None,
        *,
        weight: str | None = None,
        propensity: str | None = None,
        where: Where | None = None,
    ) -> FitPreview:
        """What a fit would cost, whether it fits, and its ridge; touches no data and does not change the model."""
        target = _check_model(model, self, target)
        _check_columns(self.schema, features, target)
        named = (features, target, weight, propensity)
        (fitted, _), cost, asked = self._planned(partial(_fitted, model, named), named, where)
        would = self._afterwards(cost)
        ridge = None if getattr(fitted, "ridge", None) is None else float(fitted.ridge)
        asked_ridge = None if ridge is None else asked_ridge_of(model.get_params(deep=False)["ridge"], ridge)
        run = getattr(getattr(fitted, "descent", None), "run", None)
        return FitPreview(cost, would.fits, would.remaining, ridge, asked_ridge, tuple(asked), run)

    def _planned(
        self, make: Callable[[Table], Procedure[F]], named: Named, where: Where | None
    ) -> tuple[F, Cost, Sequence[Ask | Open | Reopen]]:
        """What a procedure on named columns would return of made-up answers, cost and ask, after finding hidden columns."""
        self._check_where({} if where is None else where)
        features, *beside = named
        rows, relation = self._guessed_rows, self.schema.neighbors
        public = rows if self._rows_are_public(bool(where)) else None
        hidden = discovery.needed(self.schema, (*features, *beside))
        made, asked = plan(make(Table(discovery.stand_in(self.schema, hidden), public)), relation, rows)
        return made, sum((charged(each, relation) for each in asked), self._finding_cost(hidden)), asked

    def score(
        self,
        model: Any,
        *,
        where: Where | None = None,
        epsilon: Number | None = None,
        delta: Number | None = None,
        rho: Number | None = None,
    ) -> Result:
        """The share of rows on which a fitted classifier is right, or the value of a treatment rule: a paid release.

        The table is declared as the one that the model was fitted to; a model does better on that one than on others.
        """
        if not isinstance(model, Scorable):
            raise InvalidRequest(
                f"score is for classifiers of discreet.models with two classes, got {type(model).__name__}; a regression "
                "has paid_score on arrays"
            )
        price = Price(epsilon, delta, rho)
        words = {"score": {"model": model, "epsilon": epsilon, "delta": delta, "rho": rho}}

        def make(table: Table) -> Procedure[Result]:
            return model.score_procedure(table.schema, price)

        return self._answer(Request(words, make, {} if where is None else where))


def _check_columns(schema: Schema, features: Sequence[str], target: str) -> None:
    """Refuse features that are no list, and a target whose classes are yet to be found: finding them is not a fit's."""
    if isinstance(features, str):
        raise InvalidRequest(f"features is a list of columns, got {features!r}")
    unknown = [name for name in dict.fromkeys((*features, target)) if name and not _is_known(schema, name)]
    if len(unknown) > 1:
        raise UnknownName(f"no columns are declared as {', '.join(map(repr, unknown))}{closest(unknown[0], schema.columns)}")
    goal = schema[target] if target else None
    if isinstance(goal, Categories) and goal.private:
        raise InvalidRequest(f"the classes of a target must be known, got {target!r}, whose labels are yet to be found")


def _is_known(schema: Schema, name: str) -> bool:
    """Whether a name is that of a column, or an expression that stands for one."""
    try:
        return schema[name] is not None
    except UnknownName:
        return False


def _columns(table: Table, features: Sequence[str], target: str, weight: str | None, propensity: str | None) -> Columns:
    schema = table.schema
    if table.rows is not None:  # public: no fewer are expected, and minimisers are certified for them
        schema = replace(schema, expected_rows=max(table.rows, schema.expected_rows or 0))
    return Columns(schema, tuple(features), target, weight, table.rows, propensity)


def _words(features: Sequence[str], target: str, weight: str | None, propensity: str | None) -> dict[str, Any]:
    return {"features": features, "target": target, "weight": weight, "propensity": propensity}


def _fitted(model: PrivateModel, named: Named, table: Table) -> Procedure[tuple[Any, Columns]]:
    """What fits a model to named columns of a table, with the columns that it was made for."""
    columns = _columns(table, *named)
    return (yield from model.procedure(columns, table.schema.neighbors)), columns


def _tuned(
    made: Sequence[PrivateModel], named: Named, selection_epsilon: Number | None, table: Table
) -> Procedure[tuple[Any, Columns]]:
    """What chooses among candidates, with the columns that it was made for."""
    from discreet.models.estimators.tuning import tuning

    columns = _columns(table, *named)
    return (yield from tuning(made, columns, table.schema.neighbors, selection_epsilon)), columns


def charged(asked: Ask | Open | Reopen, relation: Relation) -> Cost:
    """What the ledger would be charged; steps of a prepaid account are free."""
    if isinstance(asked, Reopen) or asked.account is not None:
        return Cost.nothing()
    if isinstance(asked, Open):
        return asked.cost
    return asked.mechanism.cost(asked.query.distance(relation))


def _check_model(model: Any, session: Fitting, target: str | None) -> str:
    """Refuse what is no private model, and what it says of the table or the noise against what the session says.

    Returns the target, empty where the model has none.
    """
    from discreet.models.estimators.private_model import PrivateModel, at_once

    if not isinstance(model, PrivateModel):
        kind = (
            f"the class {model.__name__}" if isinstance(model, type) else f"{type(model).__module__}.{type(model).__name__}"
        )
        raise InvalidRequest(
            f"a session fits models of discreet.models, got {kind}; use one of them, such as LogisticRegression(epsilon=1)"
        )
    name, given = type(model).__name__, model.get_params(deep=False)
    found = [
        f"in a session {word} come from the schema, got {name}({word}={given[word]!r}); leave it out"
        for word in ("bounds", "target_bounds", "classes")
        if given.get(word) is not None
    ]
    if given.get("neighbors", "add_remove") not in ("add_remove", session.schema.neighbors):
        found.append(
            f"in a session neighbors is that of the schema, {session.schema.neighbors!r}, got "
            f"{name}(neighbors={given['neighbors']!r}); leave it out, or declare it in the schema"
        )
    if given.get("ledger") is not None and given["ledger"] is not getattr(session, "ledger", None):
        found.append(f"in a session the session's ledger pays, got another in {name}(ledger=...); leave it out")
    if given.get("random_state") is not None:
        found.append(
            f"in a session noise comes from the session, got {name}(random_state={given['random_state']!r}); leave it out, "
            "or for tests make Session(..., ledger='test', seed=...)"
        )
    if model.supervised and target is None:
        found.append(f"{name} needs target=, the column it learns to predict; got none")
    if not model.supervised and target is not None:
        found.append(f"{name} learns from features alone, got target={target!r}; leave it out")
    if found:
        raise InvalidRequest(at_once(found))
    return target or ""
