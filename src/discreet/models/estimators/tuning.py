"""Private tuning: several candidate models, each fitted to people of its own, and a private choice among them.

Each person goes to one of m + 1 parts. Every candidate is fitted to one part, all are judged on the last one, and the
exponential mechanism chooses. The parts hold different people, so the whole costs what its dearest part does.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
from sklearn.base import clone

from discreet.core.ask import Account, Ask, Open, Reopen
from discreet.core.cost import Cost
from discreet.core.numbers import Number
from discreet.core.price import Price
from discreet.core.query import Relation
from discreet.core.release import Release
from discreet.core.runner import Procedure, R, Yielded, plan, relayed
from discreet.errors import InvalidRequest
from discreet.mechanisms import Exponential, NoNoise
from discreet.models.design import Design
from discreet.models.estimators.outcome_weighted import OutcomeWeightedLearner
from discreet.models.estimators.privacy import Privacy
from discreet.models.estimators.private_model import PrivateModel
from discreet.models.evaluate.network_rule import NetworkRule
from discreet.models.gradient.network import Network
from discreet.models.losses import Logistic, Squared
from discreet.models.protocol import Columns
from discreet.models.queries.contest import Contest, DecisionContest, Judging, NumberContest, ScoringRule

_DRY_ROWS = 100


@dataclass(frozen=True, eq=False)
class Tuning:
    """What was tried, in the order given, and which of it was chosen. There are no scores: they are private."""

    tried: tuple[dict[str, Any], ...]
    chosen: int
    cost: Cost
    selection: Release

    def __repr__(self) -> str:
        return f"Tuning({len(self.tried)} candidates, chosen: {self.chosen}, cost: {self.cost})"

    def table(self) -> list[dict[str, Any]]:
        """A row for each candidate: its number, the parameters in which candidates differ, and whether it was chosen."""
        names = [n for n in self.tried[0] if any(t.get(n) != self.tried[0][n] for t in self.tried)]
        return [
            {"candidate": i, **{n: t.get(n) for n in names}, "chosen": i == self.chosen} for i, t in enumerate(self.tried)
        ]


@dataclass(frozen=True, eq=False)
class Winner:
    """What a tuning returns: the candidate chosen, what was released for it, and the account of the whole."""

    model: PrivateModel
    fitted: Any
    tuning: Tuning
    relation: Relation
    private: bool

    def settle(self) -> PrivateModel:
        """The fitted winner with the cost of the whole tuning."""
        own: Privacy = self.model.privacy_
        releases = (*own.releases, self.tuning.selection)
        self.model.privacy_ = replace(own, cost=self.tuning.cost, private=self.private, releases=releases)
        self.model.tuning_ = self.tuning
        return self.model


def tune(
    candidates: Sequence[PrivateModel | Mapping[str, Any]],
    X: Any,
    y: Any = None,
    sample_weight: Any = None,
    *,
    benefit: Any = None,
    propensity: Any = None,
    model: PrivateModel | None = None,
    epsilon: Number | None = None,
    delta: Number | None = None,
    rho: Number | None = None,
    selection_epsilon: Number | None = None,
) -> Any:
    """The best of several models, chosen and fitted privately to arrays; any of their parameters may differ.

    ``candidates`` are models that are not fitted, or dicts of parameters for ``model``; classifiers of several kinds may
    stand beside each other, with any number of classes; a model of gradient descent expects its share of the rows.
    A ``KMeans`` is judged by how far people are from the nearest centre, and needs no ``y``.
    ``epsilon``, ``delta`` or ``rho`` is the price of each fit, for candidates that name none. The choice costs
    ``selection_epsilon``: as much as a fit by default (sqrt(8 rho) for a price in rho). Each candidate sees 1 / (m + 1) of
    the people, so few candidates are better than many. With weights each error counts by its own: ``sample_weight``, or for
    treatment rules ``benefit`` and ``propensity`` as ``OutcomeWeightedLearner.fit`` takes them, which ranks rules by their
    value. Returns the winner, fitted: ``privacy_`` says what all of it cost, which is the larger of one fit and the choice,
    and ``tuning_.table()`` what was tried.
    """
    made = read_candidates(candidates, model, {"epsilon": epsilon, "delta": delta, "rho": rho})
    weights = [sample_weight if benefit is None else _ratio(each, benefit, propensity, sample_weight) for each in made]
    table, columns = made[0].read_arrays(X, y, weights[0])
    for other, weight in zip(made[1:], weights[1:], strict=True):
        if other.read_arrays(X, y, weight)[1] != columns:
            raise InvalidRequest(
                "candidates must read the same columns with the same bounds, classes and neighbors; tune those apart"
            )
    winner = made[0].desk(table, columns.schema).run(tuning(made, columns, columns.schema.neighbors, selection_epsilon))
    winner.model.accept(winner.fitted, columns)
    return winner.settle()


def _ratio(model: PrivateModel, benefit: Any, propensity: Any, sample_weight: Any) -> Any:
    """The weights of a treatment rule."""
    if sample_weight is not None:
        raise InvalidRequest("give benefit and propensity, or sample_weight, which is their quotient; got both")
    if not isinstance(model, OutcomeWeightedLearner):
        raise InvalidRequest(f"benefit is for treatment rules, got {type(model).__name__}; give sample_weight")
    return model.weights_of(benefit, propensity)


def read_candidates(
    candidates: Sequence[PrivateModel | Mapping[str, Any]],
    model: PrivateModel | None,
    price: Mapping[str, Number | None],
) -> list[PrivateModel]:
    """Fresh copies of the candidates, at one price."""
    price = {word: value for word, value in price.items() if value is not None}
    if isinstance(candidates, Mapping):
        raise InvalidRequest(
            f"candidates must be a list of models, or of dicts with one value each, got one dict of {list(candidates)}; "
            "write [{'ridge': 1}, {'ridge': 10}], or list(sklearn.model_selection.ParameterGrid(...))"
        )
    if isinstance(candidates, str | PrivateModel) or not isinstance(candidates, Sequence) or not len(candidates):
        kind = "none" if isinstance(candidates, Sequence) and not len(candidates) else type(candidates).__name__
        raise InvalidRequest(f"candidates must be a list of at least one model, or of dicts of parameters; got {kind}")
    made: list[PrivateModel] = []
    for given in candidates:
        base = model if isinstance(given, Mapping) else given
        if base is None:
            raise InvalidRequest("candidates given as dicts of parameters need model=, the model they are for")
        if not isinstance(base, PrivateModel):
            raise InvalidRequest(f"a candidate is a model of discreet.models or a dict, got {type(base).__name__}")
        fresh: PrivateModel = clone(base)
        if isinstance(given, Mapping):
            fresh.set_params(**given)
        fresh.ledger = base.ledger  # a clone of the ledger would be another ledger
        if getattr(fresh, "checkpoint", None) is not None:
            raise InvalidRequest("a tuning begins every candidate anew, got one with a checkpoint; leave checkpoint out")
        if price:
            named = [word for word in ("epsilon", "delta", "rho") if getattr(fresh, word) is not None]
            if named:
                raise InvalidRequest(
                    f"give the price to the candidates or to tune, not to both, got {', '.join(price)} and a candidate "
                    f"with {', '.join(named)}"
                )
            if "rho" in price and "rho" not in fresh.get_params(deep=False):
                raise InvalidRequest(f"{type(fresh).__name__} takes no rho; give epsilon, or epsilon and delta")
            fresh.set_params(**price)
        made.append(fresh)
    prices = {fresh.price for fresh in made}
    if len(prices) > 1:
        raise InvalidRequest(
            f"candidates must cost the same, got {len(prices)} different prices; all pay what the dearest costs, so a "
            "cheaper one would only be worse"
        )
    if len({id(fresh.ledger) for fresh in made}) > 1 or len({fresh.random_state for fresh in made}) > 1:
        raise InvalidRequest("candidates must share one ledger and one random_state; the whole is one charge")
    return made


def tuning(
    candidates: Sequence[PrivateModel], columns: Columns, relation: Relation, selection_epsilon: Number | None = None
) -> Procedure[Winner]:
    """Fit every candidate to a part of the people, judge all on the last part, and choose.

    Proof: one person is in one of m + 1 parts, chosen without looking at what a record holds (``Source.split``). The
    accounts on the parts are capped at the dearest of one fit and the choice, so by parallel composition that is what
    the whole costs; a descent opens the account of its steps on its part, which pays for it. Given what was fitted,
    which other people paid for, the judging is a fixed query on the last part.
    """
    parts = len(candidates) + 1
    where = [replace(columns, rows=_size(columns.rows, parts, i), parts=parts) for i in range(parts)]
    price = candidates[0].price
    dry = [plan(m.procedure(w, relation), relation, _DRY_ROWS) for m, w in zip(candidates, where, strict=False)]
    spent = [_cost_of(asked, relation) for _, asked in dry]
    blank = _contest([fitted for fitted, _ in dry], columns)
    law = _law(blank.most_rows, price, relation, selection_epsilon)
    whole = law.cost(blank.distance(relation))
    for one in spent:
        whole = whole | one
    turns = any(isinstance(each, Open) and each.plan is not None and each.plan.turns for _, asked in dry for each in asked)
    accounts: list[Account] = yield Open(whole, parts=parts, turns=turns)
    fitted = []
    for m, w, account in zip(candidates, where, accounts, strict=False):
        made = yield from _charged(m.procedure(w, relation), account)
        fitted.append(made)
    selection: Release = yield Ask(_contest(fitted, columns), law, accounts[-1])
    best = int(np.argmax(selection.value)) if price.is_infinite else int(selection.value)
    tried = tuple({"model": type(m).__name__} | _parameters(m) for m in candidates)
    private = selection.private and all(f.privacy.private for f in fitted)
    account_of_all = Tuning(tried, best, whole, selection)
    return Winner(candidates[best], fitted[best], account_of_all, relation, private)


def _law(most: int, price: Price, relation: Relation, given: Number | None) -> Any:
    """The choice: one-sided under add/remove, where one more person can only add errors."""
    if price.is_infinite:
        return NoNoise()
    # A little less than a rho allows, so that what the choice costs, rounded up, never exceeds it.
    most_of = price.choice_epsilon * (1 if price.rho is None else Fraction(10**12 - 1, 10**12))
    epsilon = most_of if given is None else given
    return Exponential.costing(most, epsilon=epsilon, one_sided=relation == "add_remove")


def _size(rows: int | None, parts: int, part: int) -> int | None:
    """How many rows a part has, where that is public: every parts-th row, from the part-th on."""
    return None if rows is None else max(1, -(-(rows - part) // parts))


def _contest(fitted: Sequence[Any], columns: Columns) -> Judging:
    """What all candidates are judged by: models of one score by their errors, those of other kinds by what they decide
    or predict, clusters by how far people are from the nearest centre.

    Which it is follows from the kinds of the candidates alone.
    """
    if not any(hasattr(f, "rule") for f in fitted):
        return Contest(tuple(_scoring_rule(f) for f in fitted))
    if columns.weight is not None:
        raise InvalidRequest(
            "rows have weights where all candidates are linear models of two classes or of a number; leave the weights out"
        )
    rules = [f.rule if hasattr(f, "rule") else _network_of(f) for f in fitted]
    kind = DecisionContest if rules[0].classes else NumberContest
    return kind.of(rules, columns.schema.max_rows or 1)


def _scoring_rule(fitted: Any) -> ScoringRule:
    design = getattr(fitted, "design", None)
    if not isinstance(design, Design) or not hasattr(fitted, "theta"):
        raise InvalidRequest(
            "candidates are classifiers, regressions or clusters of discreet.models, whose errors can be counted; got one "
            "whose errors cannot, such as a PCA, a StandardScaler or a network with a loss of one's own"
        )
    loss = None if design.target.classes else getattr(fitted, "loss", None)
    return ScoringRule(design, tuple(np.asarray(fitted.theta).tolist()), loss)


def _network_of(fitted: Any) -> NetworkRule:
    """A linear model as a network without hidden layers, to stand beside models of other kinds."""
    rule = _scoring_rule(fitted)
    usual = Logistic() if rule.design.target.classes else Squared()
    network = Network((rule.design.width, 1), rule.loss or usual, bias=False)
    return NetworkRule(replace(rule.design, weight=None), network, np.asarray(fitted.theta, np.float64))


def _cost_of(asked: Sequence[Ask | Open | Reopen], relation: Relation) -> Cost:
    total = Cost.nothing()
    for ask in asked:
        assert not isinstance(ask, Reopen)  # what goes on with a checkpoint is no candidate
        if ask.account is None:
            total = total + (ask.cost if isinstance(ask, Open) else ask.mechanism.cost(ask.query.distance(relation)))
    return total


def _charged(procedure: Procedure[R], account: Account) -> Procedure[R]:
    """A procedure whose every ask is paid by an account on a part, steps of a plan by the one it opens there."""

    def charge(request: Yielded) -> Yielded:
        if isinstance(request, tuple):
            return tuple(replace(ask, account=account) for ask in request)
        return replace(request, account=account) if request.account is None else request

    return relayed(procedure, charge)


def _parameters(model: PrivateModel) -> dict[str, Any]:
    hidden = ("ledger", "random_state")
    return {k: v for k, v in model.get_params(deep=False).items() if k not in hidden}
