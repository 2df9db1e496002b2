"""``discreet local``: reports that are private before they leave, and what many of them say."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from discreet import jobs
from discreet.cli import show


def register(app: typer.Typer) -> None:
    """Add the group ``local``."""
    group = typer.Typer(help="Reports that are private before they leave their people.", no_args_is_help=True)
    group.command("report")(report)
    group.command("estimate")(estimate)
    app.add_typer(group, name="local")


def report(
    table: Annotated[Path, typer.Argument(help="The values (CSV or Parquet), one row for each person.", metavar="TABLE")],
    column: Annotated[str, typer.Option("--column", "-c", help="The column to report.")],
    epsilon: Annotated[str, typer.Option("--epsilon", help="What each person spends.")],
    categories: Annotated[str | None, typer.Option("--categories", help="The declared labels: yes,no,unsure.")] = None,
    bounds: Annotated[str | None, typer.Option("--bounds", help="Or the public ends of a number: 0,100.")] = None,
    out: Annotated[Path, typer.Option("--out", "-o", help="The file to write.")] = Path("reports.json"),
    json: show.Json = False,
) -> None:
    """Make one private report for each row of TABLE: run it where the values are; only the reports leave."""
    doc = jobs.local.reported(jobs.local.law_of(categories, bounds, epsilon), table, column, out)
    if json:
        show.document(doc)
        return
    show.say(f"Reports by the law {doc['law']} at epsilon {doc['epsilon']:g} each: {doc['written']}.")


def estimate(
    files: Annotated[list[Path], typer.Argument(help="Files of reports, all of one law.", metavar="REPORTS")],
    level: Annotated[float, typer.Option("--level", help="Probability of the intervals.")] = 0.95,
    json: show.Json = False,
) -> None:
    """Estimate shares or a mean from REPORTS, with intervals for the population they were drawn from."""
    doc = jobs.local.estimated(files, level)
    if json:
        show.document(doc)
        return
    rows = [
        [str(r["of"]), show.plain(r["value"]), f"{show.plain(r['low'])} to {show.plain(r['high'])}"] for r in doc["rows"]
    ]
    show.table(f"{doc['reports']:,} reports by {doc['law']}", ["of", "estimate", f"{100 * level:g} % interval"], rows)
    show.say(f"Each person spent epsilon {doc['epsilon']:g}.")
