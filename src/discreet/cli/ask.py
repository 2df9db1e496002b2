"""``discreet ask``: one statement of SQL, asked of the table of a release file and paid from its ledger."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from discreet import jobs
from discreet.cli import show


def register(app: typer.Typer) -> None:
    """Add the command ``ask``."""
    app.command("ask")(ask)


def ask(
    file: Annotated[Path, typer.Argument(help="A release file in TOML: its table, schema and ledger.", metavar="FILE")],
    statement: Annotated[str, typer.Argument(help="SELECT ... FROM ... WHERE ... GROUP BY ...", metavar="STATEMENT")],
    epsilon: Annotated[str | None, typer.Option("--epsilon", help="What to spend.")] = None,
    delta: Annotated[str | None, typer.Option("--delta", help="Beside epsilon, for Gaussian noise.")] = None,
    rho: Annotated[str | None, typer.Option("--rho", help="What to spend, instead of epsilon.")] = None,
    dry: Annotated[bool, typer.Option("--dry", help="Show what it would cost; read no rows.")] = False,
    json: show.Json = False,
) -> None:
    """Ask STATEMENT of the table that FILE names.

    One aggregate is one question; several share what is spent. A statement that cannot be asked is refused with the nearest
    one that can, and nothing is charged. A question that was answered before is answered again for nothing.
    """
    asked = jobs.sql.read(file, statement, {"epsilon": epsilon, "delta": delta, "rho": rho})
    if dry:
        doc = jobs.plan.planned(asked)
        if json:
            show.document(doc)
        else:
            rows = [[each["title"], each["cost"], each["expected_error"]] for each in doc["asks"]]
            show.table("Nothing was asked yet", ["question", "cost", "expected error"], rows)
            show.fits(doc)
        return
    doc, results = jobs.release.answered(asked, show.working)
    if json:
        show.document(doc)
        return
    for each, result in zip(doc["asks"], results, strict=True):
        told = result.rows()
        show.table(each["title"], list(told), [[_said(cell) for cell in row] for row in zip(*told.values(), strict=True)])
    ledger = doc["ledger"]
    show.say(f"Paid now: {ledger['paid_now']}. Left: {ledger['remaining']}.")


def _said(cell: Any) -> str:
    return show.plain(cell) if isinstance(cell, int | float) and not isinstance(cell, bool) else str(cell)
