"""``discreet demo``: the whole way on a made-up table, with files to look at and to change."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from discreet import jobs
from discreet.cli import clinic, show
from discreet.cli.release import summary

TABLE, SCHEMA, FILE = "clinic.csv", "clinic.schema.toml", "clinic.toml"


def register(app: typer.Typer) -> None:
    """Add the command ``demo``."""
    app.command("demo")(demo)


def demo(
    out: Annotated[Path, typer.Option("--out", "-o", help="The folder to write into.")] = Path("discreet-demo"),
    json: show.Json = False,
) -> None:
    """Make a clinic with repeated visits, plan a release, do it, and write the report.

    Run it again and the same questions are answered from the ledger, for nothing.
    """
    table = clinic.clinic()
    with jobs.output.folder_for(out, [TABLE, SCHEMA, FILE]) as write:
        for name, text in ((TABLE, table), (SCHEMA, clinic.SCHEMA), (FILE, clinic.RELEASE)):
            # A table written again would be another version of the data, and its answers would cost again.
            if not _holds(out / name, text):
                write(name, text)
        file = jobs.release_file.read(out / FILE)
        plan = jobs.plan.planned(file)
        doc, results = jobs.release.released(file, out)
    if json:
        show.document(
            {"kind": "demo", "folder": str(out), "plan": plan, "releases": doc, "report": str(out / jobs.release.PAGE)}
        )
        return
    _tell(out, table, plan)
    summary(doc, results, out)
    show.say(f"Now open {out / jobs.release.PAGE} in a browser. The files to change and try are {FILE} and {SCHEMA}.")


def _holds(path: Path, text: str) -> bool:
    try:
        return path.read_text(encoding="utf-8") == text
    except (OSError, ValueError):
        return False


def _tell(out: Path, table: str, plan: dict[str, Any]) -> None:
    rows = table.count("\n") - 1
    show.say(f"1. Made {out / TABLE}: {rows:,} visits of made-up patients (4 visits of one patient count at most).")
    show.say(f"2. Declared what is public about it in {out / SCHEMA}, and what to ask in {out / FILE}.")
    show.say(f"3. Planned {len(plan['asks'])} questions without reading a row: together {plan['cost']}.")
    show.say("4. Paid the ledger, then looked, then answered:")
    show.say()
