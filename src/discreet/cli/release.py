"""``discreet release``: ask everything a release file asks, and write down what came out and what it means."""

from __future__ import annotations

import datetime
from pathlib import Path
from typing import Annotated, Any

import typer

from discreet.cli import show

DOCUMENT, PAGE = "releases.json", "report.html"


def register(app: typer.Typer) -> None:
    """Add the command ``release``."""
    app.command("release")(release)


def release(
    file: Annotated[Path, typer.Argument(help="A release file in TOML.", metavar="FILE")],
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="The folder to write into; FILE-release by default.")
    ] = None,
    json: show.Json = False,
) -> None:
    """Ask everything FILE asks; write releases.json and report.html.

    All or nothing: a file with an error anywhere, a budget that is too small or an output that cannot be written charge
    nothing. A question that was answered before, of the same version of the table, is answered again for nothing.
    """
    from discreet.cli.releasefile import read

    read_file = read(file)
    folder = out or file.with_name(f"{file.stem}-release")
    doc = released(read_file, folder)
    if json:
        show.document(doc | {"written": [str(folder / DOCUMENT), str(folder / PAGE)]})
        return
    summary(doc, folder)


def summary(doc: dict[str, Any], folder: Path) -> None:
    """What was answered, what it cost, what is left and where it is."""
    rows = []
    for ask in doc["asks"]:
        result = ask["result"]
        rows.append(
            [
                ask["title"],
                *_answer(result),
                "the population" if "population95" in result else "this table",
                "free: known" if ask["known"] else ask["cost"],
            ]
        )
    show.table(doc["title"], ["question", "answer", "95 % interval", "of", "cost"], rows)
    show.say("An interval of this table allows for the noise; one of the population also for sampling.")
    if any(ask["result"]["reading"]["name"] == "chosen" for ask in doc["asks"]):
        show.say("A quantile is right in rank; with options = { interval = true } it has an interval in values too.")
    ledger = doc["ledger"]
    show.say(f"These answers cost {ledger['price']}, of which {ledger['paid_now']} was paid now.")
    show.say(f"Spent in all: {ledger['spent']} of {ledger['budget']}.")
    show.say(f"Left: {ledger['remaining']}.")
    if doc["note"]:
        show.say(f"Note: {doc['note']}.")
    show.say(f"Wrote {folder / DOCUMENT} and {folder / PAGE}.")


def _answer(result: dict[str, Any]) -> list[str]:
    value, interval = result["value"], result.get("population95", result["interval95"])
    if isinstance(value, list):
        import numpy as np

        return [f"{np.size(value)} numbers", "see the report"]
    if result["reading"]["name"] == "chosen":  # by rank: its interval in values is all that is declared
        return [show.number(value), "none: see the report"]
    return [show.number(value), f"{show.number(interval[0])} to {show.number(interval[1])}"]


def released(file: Any, folder: Path) -> dict[str, Any]:
    """Check everything, pay, answer, write; the document that was written."""
    import json

    from discreet.cli import work
    from discreet.cli.output import folder_for

    with folder_for(folder, [DOCUMENT, PAGE]) as write:
        from discreet.report import render

        source = work.open_table(file)
        with work.open_ledger(file, create=False) as trial, show.working("checking"):
            rows = work.counted_rows(file, source) if work.public_rows(file) else None
            supposed = work.prepare(*work.with_found(file, source), trial, rows)
            work.check_budget(file, work.prepare_finding(file, source, trial) + supposed, trial)
        with work.open_ledger(file, create=True) as ledger:
            finding, before = work.prepare_finding(file, source, ledger), ledger.spent()
            note = work.asked_before(file, finding, ledger)
            with show.working("reading the table"):
                found = work.run(finding, source, ledger)
                told, named = work.with_found(file, source, found)
                own = work.prepare(told, named, ledger, rows)
                prepared, note = finding + own, work.asked_before(told, own, ledger) or note
                results = found + work.run(own, named, ledger)
            doc = describe(told, prepared, results, ledger, before) | {"note": note}
        # First the answers, which were paid for; the page is made from them and can be made again.
        write(DOCUMENT, json.dumps(doc, indent=1) + "\n")
        write(PAGE, render(doc))
    return doc


def describe(file: Any, prepared: list[Any], results: list[Any], ledger: Any, before: Any) -> dict[str, Any]:
    """Everything public about a release: the answers, the laws behind them, the guarantee and the state of the budget."""
    import json

    from discreet import __version__
    from discreet.cli import work
    from discreet.report.meaning import price_of

    asks = [
        each.item.to_dict() | {"known": each.known, "cost": str(result.cost), "result": json.loads(result.to_json())}
        for each, result in zip(prepared, results, strict=True)
    ]
    return {
        "kind": "releases",
        "schema": 1,
        "title": file.title,
        "made": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        "discreet": __version__,
        "declared": file.schema.to_dict(),
        "ledger": {
            "name": ledger.name,
            "budget": str(ledger.budget),
            "price": str(price_of(asks)),
            "paid_now": str(work.total(prepared)),
            "spent": str(ledger.spent()),
            "remaining": str(ledger.remaining()),
            "head": ledger.head,
            "costs": {
                "before": before.to_dict(),
                "now": work.total(prepared).to_dict(),
                "budget": ledger.budget.to_dict(),
            },
        },
        "asks": asks,
    }
