"""``discreet tune``, ``judge`` and ``predict``: choose, try and use private models."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from discreet import jobs
from discreet.cli import show
from discreet.cli.fit import where_of

Table = Annotated[str, typer.Argument(help="The table (CSV or Parquet).", metavar="TABLE")]
Schema = Annotated[Path, typer.Option("--schema", "-s", help="The schema of the table.")]
Pays = Annotated[str, typer.Option("--ledger", "-l", help="Who pays: ledger.db, or its address.")]
Epsilon = Annotated[str | None, typer.Option("--epsilon", help="What to spend: epsilon.")]
Delta = Annotated[str | None, typer.Option("--delta", help="What to spend besides epsilon.")]
Rho = Annotated[str | None, typer.Option("--rho", help="What to spend, instead of epsilon.")]
Version = Annotated[str | None, typer.Option("--version", help="A public word for this state of the table.")]
NewBudget = Annotated[str | None, typer.Option("--budget", help="Of a new ledger: 1, or epsilon=1,delta=1e-6.")]


def register(app: typer.Typer) -> None:
    """Add the commands."""
    app.command("tune")(tune)
    app.command("judge")(judge)
    app.command("predict")(predict)


def _price(epsilon: str | None, delta: str | None, rho: str | None) -> dict[str, str]:
    return {key: value for key, value in {"epsilon": epsilon, "delta": delta, "rho": rho}.items() if value is not None}


def tune(
    table: Table,
    schema: Schema,
    ledger: Pays,
    model: Annotated[str, typer.Option("--model", "-m", help="logistic, svm, kernel, linear, sgd, network, kmeans...")],
    features: Annotated[str, typer.Option("--features", "-f", help="The columns to predict from: age,sex.")],
    tries: Annotated[list[str], typer.Option("--try", help="A parameter and its values: ridge=1,10,100. May be repeated.")],
    target: Annotated[str | None, typer.Option("--target", "-t", help="The column to predict; kmeans has none.")] = None,
    epsilon: Epsilon = None,
    delta: Delta = None,
    rho: Rho = None,
    weight: Annotated[str | None, typer.Option("--weight", help="The column of weights, or of benefits.")] = None,
    propensity: Annotated[
        str | None, typer.Option("--propensity", help="For treatment rules: a column, or a number.")
    ] = None,
    where: Annotated[list[str] | None, typer.Option("--where", help="Only rows with a label: sex=f.")] = None,
    more: Annotated[list[str] | None, typer.Option("--set", help="Any other parameter of the model.")] = None,
    budget: NewBudget = None,
    name: show.Name = None,
    version: Version = None,
    out: Annotated[Path, typer.Option("--out", "-o", help="The file to publish to.")] = Path("model.json"),
    plan: Annotated[bool, typer.Option("--plan", help="Show the price and whether it fits; read no rows.")] = False,
    json: show.Json = False,
) -> None:
    """Fit several candidates to different people of TABLE, choose the best privately, publish it. It is paid for once."""
    candidates = jobs.tune.grid(tries)
    asked = {
        "kind": model, "target": target, "features": features, "weight": weight, "where": where_of(where),
        "propensity": jobs.fit_file.number_or_name(propensity),
    }  # fmt: skip
    base = jobs.fit_file.base_of(table, schema, ledger, name, budget, version)
    parameters = _price(epsilon, delta, rho) | jobs.fit_file.settings(more or [])
    wanted = jobs.fit_file.from_options(base, asked, parameters, out)
    doc = jobs.tune.planned(wanted, candidates) if plan else jobs.tune.tuned(wanted, candidates, show.working)
    if json:
        show.document(doc)
        return
    if plan:
        show.say(f"Fits of {len(doc['tried'])} candidates and the choice would cost {doc['cost']} in all.")
        show.fits(doc)
        return
    said = ", ".join(f"{key} {value}" for key, value in doc["tried"][doc["chosen"]].items())
    show.say(f"Of {len(doc['tried'])} candidates the one with {said} was chosen; all of it cost {doc['cost']}.")
    show.say(f"Spent in all: {doc['spent']}. Left: {doc['remaining']}. Wrote {doc['written']}.")


def judge(
    model: Annotated[Path, typer.Argument(help="A published classifier.", metavar="MODEL")],
    table: Table,
    schema: Schema,
    ledger: Pays,
    epsilon: Epsilon = None,
    delta: Delta = None,
    rho: Rho = None,
    roc: Annotated[bool, typer.Option("--roc", help="A ROC curve, its area and its best threshold.")] = False,
    best: Annotated[Path | None, typer.Option("--best", help="Publish the model with that threshold, here.")] = None,
    false_yes: Annotated[float, typer.Option("--false-yes", help="What an error of this kind costs.")] = 1.0,
    false_no: Annotated[float, typer.Option("--false-no", help="What an error of the other kind costs.")] = 1.0,
    level: Annotated[float, typer.Option("--level", help="Probability of the intervals.")] = 0.95,
    budget: NewBudget = None,
    name: show.Name = None,
    version: Version = None,
    json: show.Json = False,
) -> None:
    """Judge MODEL on the private rows of TABLE: rates with intervals for the population, paid for by the ledger."""
    base = jobs.fit_file.base_of(table, schema, ledger, name, budget, version)
    job = jobs.judge.JudgeJob(base, model, _price(epsilon, delta, rho), roc, level, best, false_yes, false_no)
    doc = jobs.judge.judged(job, show.working)
    if json:
        show.document(doc)
        return
    rows = [[r["rate"], show.plain(r["value"]), f"{show.plain(r['low'])} to {show.plain(r['high'])}"] for r in doc["rates"]]
    show.table(f"{model.stem} on {Path(table).name}", ["rate", "value", f"{100 * level:g} % interval"], rows)
    if "area" in doc:
        low, high = doc["area_interval"]
        area, threshold = show.plain(doc["area"]), show.plain(doc["threshold"])
        between = f"{show.plain(low)} to {show.plain(high)}"
        show.say(f"Area under the ROC curve {area}, {between}; best threshold {threshold}.")
    else:
        show.say(f"Right: {show.plain(doc['accuracy'])} of rows.")
    show.say(f"This cost {doc['cost']}. Spent in all: {doc['spent']}. Left: {doc['remaining']}.")
    if "written" in doc:
        show.say(f"Wrote {doc['written']}.")


def predict(
    model: Annotated[Path, typer.Argument(help="A published model.", metavar="MODEL")],
    table: Annotated[Path, typer.Argument(help="Rows to predict from (CSV or Parquet).", metavar="ROWS")],
    out: Annotated[Path, typer.Option("--out", "-o", help="The file to write.")] = Path("predictions.csv"),
    json: show.Json = False,
) -> None:
    """Predict from ROWS with a published MODEL, for whoever holds them; nothing is paid."""
    doc: dict[str, Any] = jobs.predict.predicted(model, table, out)
    if json:
        show.document(doc)
        return
    show.say(f"{doc['rows'] - doc['without']:,} predictions in {doc['written']}. The model: {doc['guarantee']}.")
    if doc["without"]:
        show.say(f"{doc['without']:,} rows lack a value that the model reads, and get no prediction.")
