"""``discreet fit``: fit a private model to a table, pay for it from the ledger, and publish it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from discreet.cli import show

if TYPE_CHECKING:
    from discreet.cli.fitfile import Fit

_MOST_SHOWN = 40  # coefficients in the table on a terminal; all of them are in the file


def register(app: typer.Typer) -> None:
    """Add the command ``fit``."""
    app.command("fit")(fit)


def fit(
    table: Annotated[str, typer.Argument(help="The table (CSV or Parquet), or a fit file in TOML.", metavar="TABLE|FILE")],
    schema: Annotated[Path | None, typer.Option("--schema", "-s", help="The schema of the table.")] = None,
    model: Annotated[
        str | None, typer.Option("--model", "-m", help="logistic, svm, kernel, treatment, linear, sgd or network.")
    ] = None,
    target: Annotated[str | None, typer.Option("--target", "-t", help="The column to predict.")] = None,
    features: Annotated[str | None, typer.Option("--features", "-f", help="The columns to predict from: age,sex.")] = None,
    epsilon: Annotated[str | None, typer.Option("--epsilon", help="What to spend: epsilon.")] = None,
    delta: Annotated[str | None, typer.Option("--delta", help="What to spend besides epsilon.")] = None,
    rho: Annotated[str | None, typer.Option("--rho", help="What to spend, instead of epsilon.")] = None,
    ledger: Annotated[str | None, typer.Option("--ledger", "-l", help="Who pays: ledger.db, or its address.")] = None,
    name: show.Name = None,
    budget: Annotated[
        str | None, typer.Option("--budget", help="Of a new ledger: 1, or epsilon=1,delta=1e-6, or rho=0.5.")
    ] = None,
    version: Annotated[str | None, typer.Option("--version", help="A public word for this state of the table.")] = None,
    weight: Annotated[str | None, typer.Option("--weight", help="The column of weights, or of benefits.")] = None,
    propensity: Annotated[
        str | None, typer.Option("--propensity", help="For treatment rules: a column, or one public number.")
    ] = None,
    where: Annotated[list[str] | None, typer.Option("--where", help="Only rows with a label: sex=f.")] = None,
    ridge: Annotated[float | None, typer.Option("--ridge", help="The ridge, of the sum of losses; 1 by default.")] = None,
    method: Annotated[str | None, typer.Option("--method", help="Where the noise goes: objective or output.")] = None,
    intervals: Annotated[bool, typer.Option("--intervals", help="Pay for confidence intervals, of the same price.")] = False,
    more: Annotated[list[str] | None, typer.Option("--set", help="Any other parameter of the model: components=50.")] = None,
    out: Annotated[Path | None, typer.Option("--out", "-o", help="The file to publish to; model.json by default.")] = None,
    plan: Annotated[bool, typer.Option("--plan", help="Show the price and whether it fits; read no rows.")] = False,
    json: show.Json = False,
) -> None:
    """Fit a private model to TABLE, or as a FILE in TOML says, and publish it as JSON.

    All or nothing: an error in what is asked, a budget that is too small or an output that cannot be written charge
    nothing. Bounds and classes are those of the schema. What was fitted before, to the same version of the table, is free;
    without --version a file that was touched counts as a new version.
    """
    from discreet.cli import fitfile
    from discreet.errors import InvalidRequest, NoSuchLedger

    asked = {
        "kind": model, "target": target, "features": features, "weight": weight, "where": _where(where),
        "propensity": fitfile.number_or_name(propensity),
    }  # fmt: skip
    spent = {
        "epsilon": epsilon,
        "delta": delta,
        "rho": rho,
        "ridge": ridge,
        "method": method,
        "intervals": intervals or None,
    }
    parameters = {key: value for key, value in spent.items() if value is not None} | fitfile.settings(more or [])
    if table.endswith(".toml"):
        given = [f"--{key}" for key, value in (asked | {"schema": schema, "ledger": ledger}).items() if value]
        if given or parameters:
            raise InvalidRequest(
                f"a fit file says all itself, got {(given or [f'--{next(iter(parameters))}'])[0]} beside it; write it there"
            )
        wanted = fitfile.from_file(Path(table), out)
    else:
        needed = {"--schema": schema, "--model": model, "--target": target, "--features": features, "--ledger": ledger}
        for option, value in needed.items():
            if not value:
                raise InvalidRequest(f"a fit needs {option}, got none; or give a fit file in TOML")
        assert schema is not None
        assert ledger is not None
        place = out or Path("model.json")
        wanted = fitfile.from_options(table, schema, ledger, name, budget, version, asked, parameters, place)
    try:
        doc = planned(wanted) if plan else fitted(wanted)
    except NoSuchLedger as problem:
        if wanted.place:
            raise
        raise problem.remedied("give --budget 1, or correct --ledger or --name") from None
    if json:
        show.document(doc)
    elif plan:
        _say_plan(doc)
    else:
        _say_fit(doc)


def _where(given: list[str] | None) -> dict[str, Any]:
    from discreet.errors import InvalidRequest

    made: dict[str, list[str]] = {}
    for each in given or ():
        name, equals, label = each.partition("=")
        if not equals:
            raise InvalidRequest(f"--where is column=label, as in sex=f, got {each!r}")
        made.setdefault(name.strip(), []).append(label.strip())
    return {name: labels[0] if len(labels) == 1 else labels for name, labels in made.items()}


def planned(wanted: Fit) -> dict[str, Any]:
    """What a fit would cost and whether it fits, as one document. Reads no rows, makes no ledger."""
    from discreet.cli import work
    from discreet.cli.plan import price

    work.open_table(wanted.base)
    with work.open_ledger(wanted.base, create=False) as ledger:
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
            "fits": seen.fits,
            "left_now": str(ledger.remaining()),
            "left_after": str(seen.remaining) if seen.fits else None,
            "note": _note(wanted, seen, ledger),
        }


def fitted(wanted: Fit) -> dict[str, Any]:
    """Check everything, pay, fit, publish; what was done, as one document."""
    import json

    from discreet.cli import work
    from discreet.cli.output import folder_for
    from discreet.core.cost import Cost
    from discreet.errors import BudgetExceeded, InvalidRequest

    if not wanted.out.parent.is_dir():
        raise InvalidRequest(
            f"the output must be a place that can be written, got {str(wanted.out)!r} (there is no such folder); make it "
            "first, or choose another --out"
        )
    with folder_for(wanted.out.parent, [wanted.out.name]) as write:
        work.open_table(wanted.base)
        with work.open_ledger(wanted.base, create=False) as trial:
            seen = _preview(wanted, trial)
            note = _note(wanted, seen, trial)
            if not seen.fits and trial.spent() == Cost.nothing():
                raise BudgetExceeded(
                    f"this fit asks for {seen.cost}, more than the budget; ask for less. Nothing was charged"
                )
        with work.open_ledger(wanted.base, create=True) as ledger:
            before = ledger.spent()
            model = wanted.model()
            with show.working("reading the table"):
                _place(wanted, lambda: _session(wanted, ledger).fit(model, **_arguments(wanted)))
            from discreet.models.publish.document import document

            published = document(model)
            write(wanted.out.name, json.dumps(published, indent=1, allow_nan=False, ensure_ascii=False) + "\n")
            return _describe(wanted, model, published, ledger, before) | {"note": note}


def _arguments(wanted: Fit) -> dict[str, Any]:
    names = {"features": list(wanted.features), "target": wanted.target, "where": dict(wanted.where)}
    return names | {"weight": wanted.weight, "propensity": wanted.propensity}


def _session(wanted: Fit, ledger: Any) -> Any:
    from discreet.session import Session

    return Session(wanted.base.table, wanted.base.schema, ledger=ledger, version=wanted.base.version)


def _preview(wanted: Fit, ledger: Any) -> Any:
    return _place(wanted, lambda: _session(wanted, ledger).preview_fit(wanted.model(), **_arguments(wanted)))


def _note(wanted: Fit, seen: Any, ledger: Any) -> str | None:
    """Says where the same fit was paid for already: to this version of the table, or to another."""
    from discreet.cli import work
    from discreet.core.ask import Ask
    from discreet.ledger.events import canonical

    first, source = seen.asks[0], work.open_table(wanted.base)
    if not isinstance(first, Ask) or not first.query.described:
        return None
    narrowed = source.where(**wanted.where) if wanted.where else source
    if ledger.recall(first, narrowed, wanted.base.schema.neighbors) is not None:
        return "this was fitted before, to this version of the table: it costs nothing now"
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


def _place(wanted: Fit, work: Any) -> Any:
    """Do it; a refusal says the file and line of the model, and a remedy in the words of a file."""
    from discreet.errors import DiscreetError

    try:
        return work()
    except DiscreetError as problem:
        if problem.key == "expected_rows":
            problem = problem.remedied("write expected_rows in the schema, or --set expected_rows=1000")
        raise problem.at(wanted.place) from None


def _describe(wanted: Fit, model: Any, published: dict[str, Any], ledger: Any, before: Any) -> dict[str, Any]:
    import numpy as np

    from discreet.cli.plan import price

    names, values = [], []  # of a network, whose numbers are in the file, none
    if hasattr(model, "coef_"):
        names = [*model.feature_names_, *(["intercept"] if model.fitted_.design.intercept else [])]
        values = [*np.ravel(model.coef_).tolist(), *np.ravel(model.intercept_).tolist()][: len(names)]
    cost, found = model.privacy_.cost, published["intervals"]
    return {
        "kind": "fit",
        "model": wanted.kind,
        "target": wanted.target,
        "features": list(wanted.features),
        "coefficients": dict(zip(names, values, strict=True)),
        "intervals": found,
        "random_features": 0 if model.fitted_.design.fourier is None else model.fitted_.design.fourier.size,
        "ridge": published["card"]["ridge"],
        "cost": str(cost),
        "price": price(cost),
        "paid": ledger.spent() != before,
        "guarantee": published["guarantee"]["words"],
        "budget": str(ledger.budget),
        "spent": str(ledger.spent()),
        "remaining": str(ledger.remaining()),
        "written": str(wanted.out),
    }


def _say_plan(doc: dict[str, Any]) -> None:
    show.say(f"A {doc['model']} model of {doc['target']} from {', '.join(doc['features'])} would cost {doc['cost']}.")
    if doc["ridge"] is not None:
        asked = doc["asked_ridge"]
        why = "" if asked is None else f", raised from {asked:g}: this price needs as much; method output needs none"
        show.say(f"Its ridge would be {doc['ridge']:.4g}{why}.")
    show.say(f"Ledger {doc['ledger']!r}: budget {doc['budget']}, left now {doc['left_now']}.")
    if doc["note"]:
        show.say(f"Note: {doc['note']}.")
    if doc["fits"]:
        show.say(f"It fits: {doc['left_after']} would be left. No row was read, nothing was charged.")
    else:
        show.say("It does NOT fit: ask for less. No row was read, nothing was charged.")


def _say_fit(doc: dict[str, Any]) -> None:
    found, rows = doc["intervals"], []
    for place, (name, value) in enumerate(doc["coefficients"].items()):
        ends = [] if found is None else [f"{show.number(found['lower'][place])} to {show.number(found['upper'][place])}"]
        rows.append([name, show.number(value), *ends])
    if doc["random_features"]:
        show.say(f"A {doc['model']} model of {doc['target']}, of {doc['random_features']} random features.")
        rows = []
    heads = ["", "coefficient"] + ([] if found is None else [f"{100 * found['level']:g} % interval"])
    if rows:
        show.table(f"A {doc['model']} model of {doc['target']}", heads, rows[:_MOST_SHOWN])
    if len(rows) > _MOST_SHOWN:
        show.say(f"... and {len(rows) - _MOST_SHOWN} more, all of them in the file.")
    if found is not None:
        show.say(f"An interval covers {found['covers']}.")
    paid = "" if doc["paid"] else " This was fitted before: nothing was paid now."
    if doc["note"] and doc["paid"]:
        show.say(f"Note: {doc['note']}.")
    show.say(f"The guarantee: {doc['guarantee']}; ridge {doc['ridge']:g}.{paid}")
    show.say(f"Spent in all: {doc['spent']} of {doc['budget']}. Left: {doc['remaining']}.")
    show.say(f"Wrote {doc['written']}.")
