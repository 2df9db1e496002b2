"""``discreet synthesize``: synthetic tables, paid for from the ledger or made for nothing of what was released."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from discreet import jobs
from discreet.cli import show
from discreet.errors import InvalidRequest


def register(app: typer.Typer) -> None:
    """Add the command ``synthesize``."""
    app.command("synthesize")(synthesize)


def synthesize(
    file: Annotated[Path, typer.Argument(help="A synthesize file in TOML, or a releases.json.", metavar="FILE")],
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="The folder to write into; FILE-synthetic by default.")
    ] = None,
    column: Annotated[
        list[str] | None, typer.Option("--column", "-c", help="Of a releases.json: the columns to make; may be repeated.")
    ] = None,
    rows: Annotated[int | None, typer.Option("--rows", "-n", help="Of a releases.json: how many rows to make.")] = None,
    schema: Annotated[
        Path | None, typer.Option("--schema", help="Of a releases.json: a schema, for whole numbers and dates.")
    ] = None,
    json: show.Json = False,
) -> None:
    """Make synthetic tables as FILE says; write synthetic.csv, synthetic.json and synthetic.html.

    All or nothing: an error in what is asked, a budget that is too small or an output that cannot be written charge nothing.
    From a releases.json tables are made that agree with it, and nothing is paid.
    """
    folder = out or file.with_name(f"{file.stem}-synthetic")
    if file.suffix == ".json":
        doc = jobs.synthesize.for_nothing(file, folder, column, rows, schema)
    elif column or rows is not None or schema is not None:
        raise InvalidRequest(
            "a synthesize file says columns, rows and schema itself; leave --column, --rows and --schema out"
        )
    else:
        doc = jobs.synthesize.synthesized(jobs.synthesize_file.read(file), folder, show.working)
    if json:
        show.document(doc)
        return
    show.say(
        f"{doc['rows']:,} synthetic rows of {', '.join(doc['columns'])}, from {len(doc['measured'])} tables of noisy counts."
    )
    if "spent" in doc:
        show.say(f"Cost: {doc['cost']}. Spent in all: {doc['spent']} of {doc['budget']}. Left: {doc['remaining']}.")
    else:
        show.say("Nothing was paid: all of it was released before.")
    show.say("Intervals and tests: not from one table. See synthetic.html for what it may be used for.")
    show.say(f"Wrote {', '.join(doc['written'][:-1])} and {doc['written'][-1]}.")
