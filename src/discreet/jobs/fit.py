"""A private model fitted to a table as a fit file or options ask, paid for and published."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import nullcontext
from typing import Any, TypeVar

import numpy as np

from discreet.core.ask import Ask
from discreet.core.cost import Cost
from discreet.errors import BudgetExceeded, DiscreetError, InvalidRequest
from discreet.jobs import asking
from discreet.jobs.fit_file import FitJob
from discreet.jobs.output import folder_for
from discreet.jobs.plan import price
from discreet.jobs.release import Working
from discreet.ledger import Ledger
from discreet.ledger.events import canonical
from discreet.models.publish.document import document
from discreet.session import Session

T = TypeVar("T")


def cost_of(wanted: FitJob) -> Cost:
    """What a fit would cost. Reads no rows, makes no ledger."""
    with asking.open_ledger(wanted.base, create=False) as ledger:
        cost: Cost = _preview(wanted, ledger).cost
        return cost


def planned(wanted: FitJob) -> dict[str, Any]:
    """What a fit would cost and whether it fits, as one document. Reads no rows, makes no ledger."""
    asking.open_table(wanted.base)
    with asking.open_ledger(wanted.base, create=False) as ledger:
        seen = _preview(wanted, ledger)
        return {
            "kind": "fit plan",
            "model": wanted.kind,
            "target": wanted.target,
            "features": list(wanted.features),
            "ledger": ledger.name,
            "budget": str(ledger.budget),
            "cost": str(seen.cost),
            "price": price(seen.cost),
            "ridge": seen.ridge,
            "asked_ridge": seen.asked_ridge,
            "steps": seen.steps,
            "utility_bound": seen.utility_bound,
            "fits": seen.fits,
            "left_now": str(ledger.remaining()),
            "left_after": str(seen.remaining) if seen.fits else None,
            "note": _note(wanted, seen, ledger),
            "free": _recalled(wanted, seen, ledger),
        }


def fitted(wanted: FitJob, working: Working = lambda words: nullcontext()) -> dict[str, Any]:
    """Check everything, pay, fit, publish; what was done, as one document."""
    if not wanted.out.parent.is_dir():
        raise InvalidRequest(
            f"the output must be a place that can be written, got {str(wanted.out)!r} (there is no such folder); make it "
            "first, or choose another --out"
        )
    with folder_for(wanted.out.parent, [wanted.out.name], [wanted.base.table]) as write:
        asking.open_table(wanted.base)
        with asking.open_ledger(wanted.base, create=False) as trial:
            seen = _preview(wanted, trial)
            note = _note(wanted, seen, trial)
            check_affordable(seen, trial, "fit")
        with asking.open_ledger(wanted.base, create=True) as ledger:
            before = ledger.spent()
            model = wanted.model()
            with working("reading the table"):
                _place(wanted, lambda: session_of(wanted, ledger).fit(model, **arguments_of(wanted)))
            published = document(model)
            write(wanted.out.name, json.dumps(published, indent=1, allow_nan=False, ensure_ascii=False) + "\n")
            return _describe(wanted, model, published, ledger, before) | {"note": note}


def check_affordable(seen: Any, trial: Ledger, what: str) -> None:
    """Refuse what a whole budget does not pay for, before a ledger with that budget is made for good."""
    if not seen.fits and trial.spent() == Cost.nothing():
        raise BudgetExceeded(f"this {what} asks for {seen.cost}, more than the budget; ask for less. Nothing was charged")


def arguments_of(wanted: FitJob) -> dict[str, Any]:
    """The columns and the filter, as methods of a session take them."""
    names = {"features": list(wanted.features), "target": wanted.target, "where": dict(wanted.where)}
    return names | {"weight": wanted.weight, "propensity": wanted.propensity}


def session_of(wanted: FitJob, ledger: Ledger) -> Session:
    """A session with the table that pays at a ledger."""
    return Session(wanted.base.table, wanted.base.schema, ledger=ledger, version=wanted.base.version)


def _preview(wanted: FitJob, ledger: Ledger) -> Any:
    return _place(wanted, lambda: session_of(wanted, ledger).preview_fit(wanted.model(), **arguments_of(wanted)))


def _note(wanted: FitJob, seen: Any, ledger: Ledger) -> str | None:
    """Says where the same fit was paid for already: to this version of the table, or to another."""
    first = seen.asks[0]
    if not isinstance(first, Ask) or not first.query.described:
        return None
    if _recalled(wanted, seen, ledger):
        return "this was paid for before, on this version of the table: it costs nothing now"
    key = (canonical(first.query.to_dict()), canonical(first.mechanism.to_dict()))
    entries = [e.number for e in ledger.events() if e.kind == "charge" and (e.question, e.law) == key]
    if not entries:
        return None
    if wanted.base.version is not None:
        return f"entry {entries[-1]} paid for the same for another version, filter or schema; this counts as a new question"
    return (
        f"the table changed since entry {entries[-1]} (file time, size or place; or the schema, or a filter): this counts "
        "as a new question; if it is the same table, give --version a word, and from then on it stays free"
    )


def _recalled(wanted: FitJob, seen: Any, ledger: Ledger) -> bool:
    """Whether the same fit, to this version of the table, was paid for before."""
    first, source = seen.asks[0], asking.open_table(wanted.base)
    if not isinstance(first, Ask) or not first.query.described:
        return False
    narrowed = source.where(**wanted.where) if wanted.where else source
    return ledger.paid_for(first, narrowed, wanted.base.schema.neighbors) is not None


def _place(wanted: FitJob, work: Callable[[], T]) -> T:
    """Do it; a refusal says the file and line of the model, and a remedy in the words of a file."""
    try:
        return work()
    except DiscreetError as problem:
        if problem.key == "expected_rows":
            problem = problem.remedied("write expected_rows in the schema, or --set expected_rows=1000")
        raise problem.at(wanted.place) from None


def _describe(wanted: FitJob, model: Any, published: dict[str, Any], ledger: Ledger, before: Cost) -> dict[str, Any]:
    names, values = [], []  # of other models, whose numbers are in the file, none
    design = getattr(model.fitted_, "design", None)
    if design is not None and np.size(getattr(model, "coef_", ())) == len(model.feature_names_):
        names = [*model.feature_names_, *(["intercept"] if design.intercept else [])]
        values = [*np.ravel(model.coef_).tolist(), *np.ravel(model.intercept_).tolist()][: len(names)]
    cost, found = model.privacy_.cost, published["intervals"]
    return {
        "kind": "fit",
        "model": wanted.kind,
        "target": wanted.target,
        "features": list(wanted.features),
        "coefficients": dict(zip(names, values, strict=True)),
        "intervals": found,
        "random_features": 0 if design is None or design.fourier is None else design.fourier.size,
        "ridge": published["card"].get("ridge"),
        "cost": str(cost),
        "price": price(cost),
        "paid": ledger.spent() != before,
        "guarantee": published["guarantee"]["words"],
        "budget": str(ledger.budget),
        "spent": str(ledger.spent()),
        "remaining": str(ledger.remaining()),
        "written": str(wanted.out),
    }
