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
import numpy.typing as npt
from sklearn.base import clone

from discreet.core import numbers
from discreet.core.ask import Account, Ask, Open, Reopen
from discreet.core.cost import Cost, Distance
from discreet.core.numbers import Number
from discreet.core.query import FoldQuery, Relation, queries
from discreet.core.release import Release
from discreet.core.runner import Procedure, plan
from discreet.errors import InvalidRequest
from discreet.mechanisms import Exponential, NoNoise
from discreet.models.design import Design, scores
from discreet.models.estimator import Columns, Privacy, PrivateModel
from discreet.models.perturbation import Price

Integers = npt.NDArray[np.int64]
_STEPS = 1 << 20  # a squared error is counted in so many steps
_DRY_ROWS = 100


@dataclass(frozen=True)
class Rule:
    """A fitted linear model as it is judged: how records become rows, and the coefficients of its score."""

    design: Design
    theta: tuple[float, ...]

    def __post_init__(self) -> None:
        if isinstance(self.design, dict):
            object.__setattr__(self, "design", Design(**self.design))
        object.__setattr__(self, "theta", tuple(map(float, self.theta)))

    def to_dict(self) -> dict[str, Any]:
        return {"design": self.design.to_dict(), "theta": list(self.theta)}

    def errors(self, batch: Any) -> int:
        """The number of wrong classes, or the sum of squared errors in steps of (hi - lo)^2 / 2^20."""
        rows, target = self.design.block(batch), self.design.target
        score = scores(rows.x, self.theta)
        if target.classes:
            return int(((score > 0) != (rows.y > 0)).sum())
        lo, hi = target.lo / target.unit, target.hi / target.unit
        apart = np.clip((np.clip(score, lo, hi) - np.clip(rows.y, lo, hi)) / (hi - lo), -1.0, 1.0)
        return int(np.rint(_STEPS * apart * apart).astype(np.int64).sum())


@queries("contest")
@dataclass(frozen=True)
class Contest(FoldQuery):
    """The utility of each rule: minus its number of errors, or minus its sum of squared errors over (hi - lo)^2.

    ``distance``: a person moves any utility by at most ``rows``, in L-infinity, under every relation.

    Proof: an error is a whole number of steps from 0 to 1 whatever a row holds (numbers and predictions are clipped to
    the public bounds, and the steps of a square at most 1 are at most 2^20), a sum of whole numbers is exact, and a person
    has at most ``rows`` rows. Adding a person moves no utility up; replacing one moves each by at most ``rows``.
    """

    rules: tuple[Rule, ...]

    def __post_init__(self) -> None:
        made = tuple(r if isinstance(r, Rule) else Rule(**r) for r in self.rules)
        object.__setattr__(self, "rules", made)
        if not made:
            raise InvalidRequest("a contest needs at least one rule, got none")

    @property
    def columns(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(c for r in self.rules for c in r.design.columns))

    @property
    def _rows(self) -> int:
        return max(r.design.rows for r in self.rules)

    def distance(self, relation: Relation) -> Distance:
        k = Fraction(self._rows)
        return Distance(k * len(self.rules), k * numbers.square_root_up(Fraction(len(self.rules))), k)

    def step(self, batch: Any) -> Integers:
        return np.array([rule.errors(batch) for rule in self.rules], np.int64)

    def combine(self, left: Integers, right: Integers) -> Integers:
        return left + right

    def finish(self, total: Integers) -> Any:
        whole = bool(self.rules[0].design.target.classes)
        # Whole in doubles; a clip of the utility itself moves no two of them further apart.
        return -np.minimum(total, 1 << 53).astype(np.float64) / (1 if whole else _STEPS)

    def blank(self, rows: int) -> Any:
        return np.full(len(self.rules), -rows / 2)


@dataclass(frozen=True, eq=False)
class Tuning:
    """What was tried, in the order given, and which of it was chosen. There are no scores: they are private."""

    tried: tuple[dict[str, Any], ...]
    chosen: int
    cost: Cost
    selection: Release

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
    y: Any,
    sample_weight: Any = None,
    *,
    model: PrivateModel | None = None,
    epsilon: Number | None = None,
    delta: Number | None = None,
    rho: Number | None = None,
    selection_epsilon: Number | None = None,
) -> Any:
    """The best of several models, chosen and fitted privately to arrays; any of their parameters may differ.

    ``candidates`` are models that are not fitted, or dicts of parameters for ``model``. ``epsilon``, ``delta`` or ``rho``
    is the price of each fit, for candidates that name none. The choice costs ``selection_epsilon``: as much as a fit by
    default (sqrt(8 rho) for a price in rho). Each candidate sees 1 / (m + 1) of the people, so few candidates are better
    than many. Returns the winner, fitted: ``privacy_`` says what all of it cost, which is the larger of one fit and the
    choice, and ``tuning_.table()`` what was tried.
    """
    made = read_candidates(candidates, model, Price(epsilon, delta, rho) if epsilon is not None or rho is not None else None)
    table, columns = made[0]._read_arrays(X, y, sample_weight)
    for other in made[1:]:
        if other._read_arrays(X, y, sample_weight)[1] != columns:
            raise InvalidRequest(
                "candidates must read the same columns with the same bounds, classes and neighbors; tune those apart"
            )
    winner = made[0]._desk(table, columns.schema).run(tuning(made, columns, columns.schema.neighbors, selection_epsilon))
    winner.model._accept_arrays(winner.fitted)
    return winner.settle()


def read_candidates(
    candidates: Sequence[PrivateModel | Mapping[str, Any]], model: PrivateModel | None, price: Price | None
) -> list[PrivateModel]:
    """Fresh copies of the candidates, at one price."""
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
        if price is not None:
            if fresh.epsilon is not None or fresh.rho is not None:
                raise InvalidRequest("give the price to the candidates or to tune, not to both")
            fresh.set_params(epsilon=price.epsilon, delta=price.delta, rho=price.rho)
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
    the whole costs. Given what was fitted, which other people paid for, the judging is a fixed query on the last part.
    """
    parts = len(candidates) + 1
    where = [replace(columns, rows=_size(columns.rows, parts, i)) for i in range(parts)]
    price = candidates[0].price
    dry = [plan(m._procedure(w, relation), relation, _DRY_ROWS) for m, w in zip(candidates, where, strict=False)]
    designs = [_design(fitted) for fitted, _ in dry]
    law = _law(designs, price, relation, selection_epsilon)
    spent = [_cost_of(asked, relation) for _, asked in dry]
    blank = Contest(tuple(Rule(d, (0.0,) * d.width) for d in designs))
    whole = law.cost(blank.distance(relation))
    for one in spent:
        whole = whole | one
    accounts: list[Account] = yield Open(whole, parts=parts)
    fitted = []
    for m, w, account in zip(candidates, where, accounts, strict=False):
        made = yield from _charged(m._procedure(w, relation), account)
        fitted.append(made)
    rules = tuple(Rule(_design(f), tuple(np.asarray(f.theta).tolist())) for f in fitted)
    selection: Release = yield Ask(Contest(rules), law, accounts[-1])
    best = int(np.argmax(selection.value)) if price.is_infinite else int(selection.value)
    tried = tuple({"model": type(m).__name__} | _said(m) for m in candidates)
    private = selection.private and all(r.private for f in fitted for r in f.releases)
    account_of_all = Tuning(tried, best, whole, selection)
    return Winner(candidates[best], fitted[best], account_of_all, relation, private)


def _law(designs: Sequence[Design], price: Price, relation: Relation, given: Number | None) -> Any:
    """The choice: one-sided under add/remove, where one more person can only add errors."""
    if price.is_infinite:
        return NoNoise()
    epsilon = given
    if epsilon is None:
        epsilon = price.epsilon
    if epsilon is None:
        assert price.rho is not None
        # A choice at epsilon is epsilon^2 / 8-zCDP. Rounded up and then down, so that it never exceeds rho.
        epsilon = numbers.square_root_up(8 * numbers.rational(price.rho, "rho")) * Fraction(10**12 - 1, 10**12)
    most = max(d.rows for d in designs)
    return Exponential.costing(most, epsilon=epsilon, one_sided=relation == "add_remove")


def _size(rows: int | None, parts: int, part: int) -> int | None:
    """How many rows a part has, where that is public: every parts-th row, from the part-th on."""
    return None if rows is None else max(1, -(-(rows - part) // parts))


def _design(fitted: Any) -> Design:
    design = getattr(fitted, "design", None)
    if not isinstance(design, Design) or not hasattr(fitted, "theta"):
        raise InvalidRequest("only linear models of discreet.models can be tuned: classifiers and regressions of one score")
    return replace(design, weight=None)


def _cost_of(asked: Sequence[Ask | Open | Reopen], relation: Relation) -> Cost:
    total = Cost.nothing()
    for ask in asked:
        if isinstance(ask, Open | Reopen) or ask.account is not None:
            raise InvalidRequest("a model that opens accounts of its own cannot be tuned; tune linear models")
        total = total + ask.mechanism.cost(ask.query.distance(relation))
    return total


def _charged(procedure: Procedure[Any], account: Account) -> Procedure[Any]:
    """A procedure whose every ask is paid by an account."""
    answer: Any = None
    while True:
        try:
            request = procedure.send(answer)
        except StopIteration as stop:
            return stop.value
        if isinstance(request, Ask):
            answer = yield replace(request, account=account)
        else:
            assert isinstance(request, tuple)
            answer = yield tuple(replace(ask, account=account) for ask in request)


def _said(model: PrivateModel) -> dict[str, Any]:
    hidden = ("ledger", "random_state")
    return {k: v for k, v in model.get_params(deep=False).items() if k not in hidden}
