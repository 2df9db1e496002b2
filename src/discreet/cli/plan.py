"""``discreet plan``: what a release file would cost and how wrong its answers would be. It reads no rows."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from discreet import jobs
from discreet.cli import show


def register(app: typer.Typer) -> None:
    """Add the command ``plan``."""
    app.command("plan")(plan)


def plan(
    file: Annotated[Path, typer.Argument(help="A release file in TOML.", metavar="FILE")],
    json: show.Json = False,
) -> None:
    """Show what FILE would cost, how wrong each answer is expected to be and what would be left; read no rows.

    Errors are computed for the schema's expected_rows (1000 without it), values spread evenly between their bounds.
    """
    release = jobs.release_file.read(file)
    doc = jobs.plan.planned(release)
    if json:
        show.document(doc)
        return
    left = ("free: paid before" if a["known"] else a["left"] for a in doc["asks"])
    rows = [[a["title"], a["cost"], a["expected_error"], after] for a, after in zip(doc["asks"], left, strict=True)]
    show.table(f"Plan of {file}", ["question", "cost", "expected error", "left after it"], rows)
    said = "expected_rows in the schema" if release.schema.expected_rows else "assumed, as the schema has no expected_rows"
    show.say(f"Errors are for {doc['assumed_rows']:,} rows ({said}), with values spread evenly between their bounds.")
    show.say(f"Together: {doc['cost']}.")
    show.fits(doc)
