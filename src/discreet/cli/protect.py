"""``discreet protect``: pseudonyms, anonymous copies, and a person's requests, each driven by a TOML job file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from discreet.cli import show
from discreet.errors import InvalidRequest

JobFile = Annotated[
    Path, typer.Argument(help="The job file; docs/how-to/protect.md shows one of each kind.", metavar="JOB.toml")
]
Who = Annotated[list[str], typer.Option("--identity", "-i", help="One identifying field, as name=value; repeat it.")]


def register(app: typer.Typer) -> None:
    """Add the group ``protect``."""
    group = typer.Typer(
        help="Keep a table safe: nothing here claims an epsilon. "
        "Complete job files for every command are in docs/how-to/protect.md.",
        no_args_is_help=True,
        rich_markup_mode=None,
    )
    for command in (pseudonymize, anonymize, check, access, erase, refuse):
        group.command(command.__name__)(command)
    app.add_typer(group, name="protect")


def pseudonymize(job: JobFile, json: show.Json = False) -> None:
    """Write the table with a partner's tokens in place of who it is about."""
    from discreet.protect import jobs

    with show.counting("replacing identities") as done:
        rows = jobs.pseudonymize(job, done)
    _tell(json, {"kind": "pseudonymized", "rows": rows}, f"Wrote {rows:,} rows with tokens.")


def anonymize(job: JobFile, json: show.Json = False) -> None:
    """Write the k-anonymous copy with the least damage, and its report."""
    from discreet.protect import jobs

    with show.counting("searching, then writing") as done:
        made = jobs.anonymize(job, done)
    chosen = {"keep", "drop"} & set(jobs.Job.read(job).facts)
    document = {
        "kind": "anonymized",
        "levels": made.levels,
        "rows": made.rows,
        "suppressed": made.suppressed,
        "metric": made.metric,
        "metrics": made.metrics,
        "copied": list(made.copied),
    }
    levels = ", ".join(f"{name} {level}" for name, level in made.levels.items())
    _tell(json, document, f"Levels: {levels}. Left out {made.suppressed:,} of {made.rows:,} rows.")
    if made.copied and not chosen and not json:
        names = ", ".join(made.copied)
        show.say(
            f"Copied unchanged: {names}; check that none of them identifies anyone, and say keep = [...] or drop = [...]."
        )


def check(job: JobFile, json: show.Json = False) -> None:
    """Measure k, l, t and the risks of re-identification of any table."""
    from discreet.protect import jobs

    with show.working("counting groups"):
        found = jobs.check(job).to_dict()
    if json:
        show.document({"kind": "checked", **found})
        return
    show.table("Measured", ["measure", "value"], [[k, "not asked" if v is None else str(v)] for k, v in found.items()])


def access(job: JobFile, identity: Who, json: show.Json = False) -> None:
    """Everything the vault's tables hold about a person, with the log of uses."""
    from discreet.protect import jobs

    found = jobs.access(job, _identity(identity)).to_dict()
    if json:
        show.document({"kind": "access", **found})
        return
    for name, rows in found["rows"].items():
        columns = list(rows[0]) if rows else []
        show.table(f"Table {name!r}", columns, [[str(v) for v in row.values()] for row in rows])
    show.say(f"Subject {found['subject']}; {len(found['uses'])} uses and {len(found['requests'])} requests on record.")


def erase(
    job: JobFile,
    identity: Who,
    override: Annotated[
        bool, typer.Option("--override", help="Although it was refused: the ground no longer holds.")
    ] = False,
    json: show.Json = False,
) -> None:
    """Erase a person from everything the vault looks after, and print the signed receipt."""
    from discreet.protect import jobs

    receipt = jobs.erase(job, _identity(identity), override=override)
    gone = ", ".join(f"{n} rows of {name}" for name, n in receipt.tables.items()) or "nothing was there"
    told = ", ".join(receipt.recipients) or "nobody"
    document = {
        "kind": "erased",
        "receipt": receipt.document,
        "signature": receipt.signature,
        "public_key": receipt.public_key,
    }
    _tell(json, document, f"Erased {gone}. To be notified: {told}. No budget comes back. Signature {receipt.signature}")


def refuse(
    job: JobFile,
    identity: Who,
    ground: Annotated[str, typer.Option("--ground", help='Such as "legal obligation" or "public interest".')],
    note: Annotated[str, typer.Option("--note", help="Words for the record.")] = "",
    json: show.Json = False,
) -> None:
    """Record that an erasure is refused, and on which ground."""
    from discreet.protect import jobs

    found = jobs.refuse(job, _identity(identity), ground, note)
    _tell(json, {"kind": "refused", **found}, f"Recorded: erasure refused on the ground {ground!r}.")


def _identity(given: list[str]) -> dict[str, str]:
    parts = [text.partition("=") for text in given]
    if not parts or any(not sep or not name for name, sep, _ in parts):
        raise InvalidRequest(f"an identity is given as --identity name=value, got {given}")
    return {name: value for name, _, value in parts}


def _tell(json: bool, document: dict[str, Any], words: str) -> None:
    show.document(document) if json else show.say(words)
