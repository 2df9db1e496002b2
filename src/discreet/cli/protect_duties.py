"""``discreet protect`` on what falls due and on automated decisions: due, decide, contest, review, waiting, refit."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from discreet import jobs
from discreet.cli import show
from discreet.cli.protect_vault import JobFile, Who, identity_of, missed_words, tell
from discreet.errors import InvalidRequest

Number = Annotated[int, typer.Argument(help="The number of the decision.", metavar="NUMBER")]
Reason = Annotated[str, typer.Option("--reason", help="Why, in words without names; the log keeps them.")]
Kept = Annotated[Path | None, typer.Option("--receipt", help="Write the receipt to this new file as well.")]


def register(group: typer.Typer) -> None:
    """Add the commands."""
    for command in (due, decide, contest, review, waiting, refit):
        group.command(command.__name__)(command)


def due(
    job: JobFile,
    on: Annotated[str | None, typer.Option("--on", help="The day, such as 2026-12-31; today by default.")] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Count only: nothing is removed or logged.")] = False,
    json: show.Json = False,
) -> None:
    """Remove the rows of registered tables that fell due, and print the signed receipt."""
    from datetime import date

    try:
        day = None if on is None else date.fromisoformat(on)
    except ValueError:
        raise InvalidRequest(f"--on must be a day such as 2026-12-31, got {on!r}") from None
    found = jobs.protect.due(job, day, dry_run=dry_run)
    if json:
        show.document(found)
        return
    for one in [found] if dry_run else [each["receipt"] for each in found["receipts"]]:
        rows = ", ".join(f"{n:,} rows of {name}" for name, n in one["tables"].items())
        undated = sum(one["rows_without_date"].values())
        show.say(f"{'Due' if dry_run else 'Removed'}: {rows}." + (f" Kept, without a date: {undated:,}." if undated else ""))
        missed_words(one["missed"])
    if not dry_run and not found["receipts"]:
        show.say("Nothing fell due.")


def decide(
    job: JobFile,
    identity: Who,
    decision: Annotated[str, typer.Option("--decision", help="What was decided, in words.")],
    made_by: Annotated[str, typer.Option("--made-by", help="The model or program that decided.")],
    json: show.Json = False,
) -> None:
    """Record an automated decision about a person; they can contest it by its number."""
    number = jobs.protect.decide(job, identity_of(identity), decision, made_by)
    tell(json, {"kind": "decision", "number": number}, f"Recorded decision {number}.")


def contest(job: JobFile, number: Number, identity: Who, reason: Reason, out: Kept = None, json: show.Json = False) -> None:
    """Record that a person contests a decision about them, and print the signed receipt."""
    receipt = jobs.protect.contest(job, identity_of(identity), number, reason, out)
    tell(json, {"kind": "contested", **receipt.facts()}, f"Recorded: {receipt.words}. Signature {receipt.signature}")


def review(
    job: JobFile,
    number: Number,
    reviewer: Annotated[str, typer.Option("--reviewer", help="The human who reviewed it.")],
    outcome: Annotated[str, typer.Option("--outcome", help="upheld, changed or withdrawn.")],
    reason: Reason,
    out: Kept = None,
    json: show.Json = False,
) -> None:
    """Record what a human made of a contested decision, and print the signed receipt."""
    receipt = jobs.protect.review(job, number, reviewer, outcome, reason, out)
    tell(
        json, {"kind": "reviewed", **receipt.facts()}, f"Recorded: {receipt.words}, {outcome}. Signature {receipt.signature}"
    )


def waiting(job: JobFile, json: show.Json = False) -> None:
    """The contested decisions that nobody has reviewed, and by when each must be answered."""
    found = jobs.protect.waiting(job)
    if json:
        show.document({"kind": "waiting", "contests": found})
        return
    rows = [[str(one["decision"]), one["time"][:10], one["answer_by"], one["reason"]] for one in found]
    show.table("Contested", ["decision", "since", "answer by", "reason"], rows)


def refit(
    job: JobFile,
    fits: Annotated[list[Path], typer.Argument(help="Fit files of models that may be refitted.", metavar="FIT.toml")],
    pay: Annotated[bool, typer.Option("--pay", help="Pay and refit; without it the prices are shown only.")] = False,
    json: show.Json = False,
) -> None:
    """What erasures touched: answers that remain, models that may be refitted and their price; with --pay, refit them."""
    found = jobs.refit.refitted(job, fits, working=show.working) if pay else jobs.refit.touched(job, fits)
    if json:
        show.document(found)
        return
    for one in found["ledgers"]:
        show.say(f"Ledger {one['ledger']}: {one['questions']} questions were answered before the last erasure, and remain.")
    for one in found["models"]:
        show.say(f"{one['file']}: {one['words']}")
    if found["models"] and not pay:
        show.say(f"Refitting all costs {found['cost']}. Nothing was paid; --pay does it.")
