"""``discreet fit``: fit a private model to a table, pay for it from the ledger, and publish it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from discreet import jobs
from discreet.cli import show
from discreet.errors import InvalidRequest, NoSuchLedger

_MOST_SHOWN = 40  # coefficients in the table on a terminal; all of them are in the file


def register(app: typer.Typer) -> None:
    """Add the command ``fit``."""
    app.command("fit")(fit)


def fit(
    table: Annotated[str, typer.Argument(help="The table (CSV or Parquet), or a fit file in TOML.", metavar="TABLE|FILE")],
    schema: Annotated[Path | None, typer.Option("--schema", "-s", help="The schema of the table.")] = None,
    model: Annotated[
        str | None,
        typer.Option(
            "--model",
            "-m",
            help="logistic, svm, kernel, treatment, linear, sgd, network, grpua and others; a wrong word lists all.",
        ),
    ] = None,
    target: Annotated[str | None, typer.Option("--target", "-t", help="The column to predict; some have none.")] = None,
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
    asked = {
        "kind": model, "target": target, "features": features, "weight": weight, "where": where_of(where),
        "propensity": jobs.fit_file.number_or_name(propensity),
    }  # fmt: skip
    spent = {
        "epsilon": epsilon,
        "delta": delta,
        "rho": rho,
        "ridge": ridge,
        "method": method,
        "intervals": intervals or None,
    }
    parameters = {key: value for key, value in spent.items() if value is not None} | jobs.fit_file.settings(more or [])
    if table.endswith(".toml"):
        given = [f"--{key}" for key, value in (asked | {"schema": schema, "ledger": ledger}).items() if value]
        if given or parameters:
            raise InvalidRequest(
                f"a fit file says all itself, got {(given or [f'--{next(iter(parameters))}'])[0]} beside it; write it there"
            )
        wanted = jobs.fit_file.from_file(Path(table), out)
    else:
        needed: dict[str, Any] = {"--schema": schema, "--model": model, "--features": features, "--ledger": ledger}
        if model not in jobs.fit_file.UNSUPERVISED:
            needed["--target"] = target
        if missing := [option for option, value in needed.items() if not value]:
            raise InvalidRequest(f"a fit needs {', '.join(missing)}, got none; or give a fit file in TOML")
        assert schema is not None
        assert ledger is not None
        place = out or Path("model.json")
        base = jobs.fit_file.base_of(table, schema, ledger, name, budget, version)
        wanted = jobs.fit_file.from_options(base, asked, parameters, place)
    try:
        doc = jobs.fit.planned(wanted) if plan else jobs.fit.fitted(wanted, show.working)
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


def where_of(given: list[str] | None) -> dict[str, Any]:
    """Conditions as columns with their labels."""
    made: dict[str, list[str]] = {}
    for each in given or ():
        name, equals, label = each.partition("=")
        if not equals:
            raise InvalidRequest(f"--where is column=label, as in sex=f, got {each!r}")
        made.setdefault(name.strip(), []).append(label.strip())
    return {name: labels[0] if len(labels) == 1 else labels for name, labels in made.items()}


def _say_plan(doc: dict[str, Any]) -> None:
    whose = f"{doc['target'] or 'features'} from {', '.join(doc['features'])}"
    show.say(f"A {doc['model']} model of {whose} would cost {doc['cost']}.")
    if doc["ridge"] is not None:
        asked = doc["asked_ridge"]
        why = "" if asked is None else f", raised from {asked:g}: this price needs as much; method output needs none"
        show.say(f"Its ridge would be {doc['ridge']:.4g}{why}.")
    if doc["steps"] is not None:
        known = doc["utility_bound"]
        far = "" if known is None else f", and would end at most {known:.3g} above the least mean objective, in expectation"
        show.say(f"It would take {doc['steps']} steps{far}.")
    show.fits(doc)


def _say_fit(doc: dict[str, Any]) -> None:
    found, rows = doc["intervals"], []
    for place, (name, value) in enumerate(doc["coefficients"].items()):
        ends = [] if found is None else [f"{show.plain(found['lower'][place])} to {show.plain(found['upper'][place])}"]
        rows.append([name, show.plain(value), *ends])
    if doc["random_features"]:
        show.say(f"A {doc['model']} model of {doc['target'] or 'features'}, of {doc['random_features']} random features.")
        rows = []
    heads = ["", "coefficient"] + ([] if found is None else [f"{100 * found['level']:g} % interval"])
    if rows:
        show.table(f"A {doc['model']} model of {doc['target'] or 'features'}", heads, rows[:_MOST_SHOWN])
    if len(rows) > _MOST_SHOWN:
        show.say(f"... and {len(rows) - _MOST_SHOWN} more, all of them in the file.")
    if found is not None:
        show.say(f"An interval covers {found['covers']}.")
    paid = "" if doc["paid"] else " This was fitted before: nothing was paid now."
    if doc["note"] and doc["paid"]:
        show.say(f"Note: {doc['note']}.")
    ridge = "" if doc["ridge"] is None else f"; ridge {doc['ridge']:g}"
    show.say(f"The guarantee: {doc['guarantee']}{ridge}.{paid}")
    show.say(f"Spent in all: {doc['spent']} of {doc['budget']}. Left: {doc['remaining']}.")
    show.say(f"Wrote {doc['written']}.")
