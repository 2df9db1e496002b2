"""``discreet release``: ask everything a release file asks, and write down what came out and what it means."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from discreet import jobs
from discreet.cli import show

if TYPE_CHECKING:
    from discreet.core.result import Result


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
    folder = out or file.with_name(f"{file.stem}-release")
    doc, results = jobs.release.released(jobs.release_file.read(file), folder, show.working)
    if json:
        show.document(doc | {"written": [str(folder / jobs.release.DOCUMENT), str(folder / jobs.release.PAGE)]})
        return
    summary(doc, results, folder)


def summary(doc: dict[str, Any], results: Sequence[Result], folder: Path) -> None:
    """What was answered, what it cost, what is left and where it is."""
    from discreet.report import date_columns, meaning
    from discreet.report.language import say

    doubts = meaning.doubted(doc["asks"], results)
    rows, types = [], {name: column["type"] for name, column in doc["declared"]["columns"].items()}
    for ask in doc["asks"]:
        result = ask["result"]
        with date_columns.about(ask, types):
            told = _answer(result)
        whose = "the population" if "population95" in result else "this table"
        rows.append([ask["title"], *told, whose, "free: paid before" if ask["known"] else ask["cost"]])
    show.table(doc["title"], ["question", "answer", "95 % interval", "of", "cost"], rows)
    show.say("An interval of this table allows for the noise; one of the population also for sampling.")
    most = doc["declared"].get("max_rows")
    if most is not None:
        show.say(f"All answers are about at most {most} rows of each person; of a person with more, {most} are counted.")
    if any(ask["result"]["reading"]["name"] == "chosen" for ask in doc["asks"]):
        show.say("A quantile is right in rank; with options = { interval = true } it has an interval in values too.")
    for ask, doubt in zip(doc["asks"], doubts, strict=True):
        if "caution" in ask["result"]:
            show.say(f"Caution: {ask['title']}: {ask['result']['caution']}.")
        elif doubt is not None:
            show.say(f"Caution: {ask['title']}: {say('fewer_beside', title=doubt)}")
    ledger = doc["ledger"]
    show.say(f"These answers cost {ledger['price']}, of which {ledger['paid_now']} was paid now.")
    show.say(f"Spent in all: {ledger['spent']} of {ledger['budget']}.")
    show.say(f"Left: {ledger['remaining']}.")
    if doc["note"]:
        show.say(f"Note: {doc['note']}.")
    show.say(f"Wrote {folder / jobs.release.DOCUMENT} and {folder / jobs.release.PAGE}.")


def _answer(result: dict[str, Any]) -> list[str]:
    from discreet.report.date_columns import in_plain as plain

    value, interval = result["value"], result.get("population95", result["interval95"])
    if isinstance(value, list):
        import numpy as np

        return [f"{np.size(value)} numbers", "see the report"]
    if "caution" in result:
        return [plain(value), "see the caution"]
    if result["reading"]["name"] == "chosen":  # by rank: its interval in values is all that is declared
        return [plain(value), "none: see the report"]
    return [plain(value), f"{plain(interval[0])} to {plain(interval[1])}"]
