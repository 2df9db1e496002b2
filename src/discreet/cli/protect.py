"""``discreet protect``: pseudonyms, anonymous copies, and a person's requests, each driven by a TOML job file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from discreet import jobs
from discreet.cli import protect_duties, protect_vault, show
from discreet.cli.protect_vault import JobFile, tell


def register(app: typer.Typer) -> None:
    """Add the group ``protect``."""
    group = typer.Typer(
        help="Keep a table safe: nothing here claims an epsilon. "
        "Complete job files for every command are in docs/how-to/protect.md.",
        no_args_is_help=True,
        rich_markup_mode=None,
    )
    for command in (pseudonymize, anonymize, check, scan):
        group.command(command.__name__)(command)
    protect_vault.register(group)
    protect_duties.register(group)
    app.add_typer(group, name="protect")


def pseudonymize(job: JobFile, json: show.Json = False) -> None:
    """Write the table with a partner's tokens in place of who it is about."""
    with show.counting("replacing identities") as done:
        rows = jobs.protect.pseudonymize(job, done)
    order = _order(job)
    tell(json, {"kind": "pseudonymized", "rows": rows, "order": order}, f"Wrote {rows:,} rows with tokens, {_WORDS[order]}.")


def anonymize(
    job: JobFile,
    override: Annotated[
        bool, typer.Option("--override", help="Although it breaks what earlier copies promised: nobody can hold both.")
    ] = False,
    node: Annotated[
        str | None, typer.Option("--node", help="Another safe choice of levels, as the report lists them: age=1,zip=2.")
    ] = None,
    safe_harbour: Annotated[
        bool, typer.Option("--safe-harbour", help="Tell what was done to each of HIPAA's eighteen identifiers.")
    ] = False,
    json: show.Json = False,
) -> None:
    """Write the k-anonymous copy with the least damage, and its report."""
    with show.counting("searching, then writing") as done:
        made = jobs.protect.anonymize(job, done, override=override, node=node)
    chosen = {"keep", "drop"} & set(jobs.protect.Job.read(job).facts)
    order = _order(job)
    facts, words = _told(made)
    document = {
        "kind": "anonymized",
        "rows": made.rows,
        "metrics": made.metrics,
        "copied": list(made.copied),
        "order": order,
    }
    rows = jobs.protect.safe_harbour(made) if safe_harbour else []
    tell(json, document | facts | ({"safe_harbour": rows} if rows else {}), f"{words}; the rest are {_WORDS[order]}.")
    if rows and not json:
        show.table("Identifiers of HIPAA's safe harbour", ["identifier", "columns", "what was done"], rows)
    if made.copied and not chosen and not json:
        names = ", ".join(made.copied)
        show.say(
            f"Copied unchanged: {names}; check that none of them identifies anyone, and say keep = [...] or drop = [...]."
        )


def check(job: JobFile, json: show.Json = False) -> None:
    """Measure k, l, t and the risks of re-identification of any table."""
    with show.working("counting groups"):
        found = jobs.protect.check(job).to_dict()
    if json:
        show.document({"kind": "checked", **found})
        return
    show.table("Measured", ["measure", "value"], [[k, "not asked" if v is None else str(v)] for k, v in found.items()])


def scan(
    table: Annotated[Path, typer.Argument(help="The table to look at, CSV or Parquet.", metavar="TABLE")],
    plan: Annotated[Path | None, typer.Option("--plan", help="Write the beginning of a job file to this new file.")] = None,
    delimiter: Annotated[str | None, typer.Option("--delimiter", help="What separates the cells of a CSV file.")] = None,
    json: show.Json = False,
) -> None:
    """Find columns and texts that identify people, and propose what to do with each; no cell is shown."""
    with show.working("looking at every column"):
        found = jobs.protect.scan(table, plan, delimiter)
    rows = [list(row) for row in found.safe_harbour()]
    if json:
        show.document({"kind": "scanned", **found.to_dict(), "safe_harbour": rows})
        return
    seen = [[f.column, f.kind, f"{100 * f.share:.0f} %", f.proposal] for f in found.findings]
    show.table("Found", ["column", "kind", "cells", "proposal"], seen)
    show.table("Identifiers of HIPAA's safe harbour", ["identifier", "columns", "proposal"], rows)
    show.say(
        f"Nothing was found in: {', '.join(found.clear) or 'no column'}. Look at them as well: only forms are known here."
    )


def _told(made: Any) -> tuple[dict[str, Any], str]:
    """What is said of a copy, by its kind: for programs and in words."""
    from discreet.protect import Anonymized

    if isinstance(made, Anonymized):
        levels = ", ".join(f"{name} {level}" for name, level in made.levels.items())
        facts = {"levels": made.levels, "suppressed": made.suppressed, "metric": made.metric}
        return facts, f"Levels: {levels}. Left out {made.suppressed:,} of {made.rows:,} rows"
    classes = f"{made.groups:,} classes by {made.method}, of at least {int(made.sizes.min()):,} rows"
    return {"method": made.method, "groups": made.groups}, f"{classes}. Left out 0 of {made.rows:,} rows"


_WORDS = {"shuffled": "in a new random order", "kept": "in the order they had: copies can be joined by position"}


def _order(job: Path) -> str:
    facts: Any = jobs.protect.Job.read(job).facts
    return str(facts.get("row_order", "shuffled"))
