"""``discreet plan``: what a release file would cost and how wrong its answers would be. It reads no rows."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from discreet.cli import show

if TYPE_CHECKING:
    from discreet.cli.work import Prepared
    from discreet.core.cost import Cost


def register(app: typer.Typer) -> None:
    """Add the command ``plan``."""
    app.command("plan")(plan)


def plan(
    file: Annotated[Path, typer.Argument(help="A release file in TOML.", metavar="FILE")],
    json: show.Json = False,
) -> None:
    """Show what FILE would cost, how wrong each answer is expected to be and what would be left; read no rows.

    Errors are made up for the schema's expected_rows (1000 without it), values spread evenly between their bounds.
    """
    from discreet.cli.releasefile import read

    doc = planned(read(file))
    if json:
        show.document(doc)
        return
    rows = [[a["title"], a["cost"], a["expected_error"], "free: known" if a["known"] else a["left"]] for a in doc["asks"]]
    show.table(f"Plan of {file}", ["question", "cost", "expected error", "left after it"], rows)
    show.say(f"Ledger {doc['ledger']!r}: budget {doc['budget']}, left now {doc['left_now']}.")
    show.say(f"Together: {doc['cost']}.")
    if doc["note"]:
        show.say(f"Note: {doc['note']}.")
    if doc["fits"]:
        show.say(f"It fits: {doc['left_after']} would be left. No row was read, nothing was charged.")
    else:
        show.say("It does NOT fit: ask for less. No row was read, nothing was charged.")


def planned(file: Any) -> dict[str, Any]:
    """The plan of a release file as one document."""
    from discreet.cli import work
    from discreet.core.cost import Cost

    source = work.open_table(file)
    rows = work.guessed_rows(file)
    with work.open_ledger(file, create=False) as ledger:
        finding = work.prepare_finding(file, source, ledger)
        supposed = work.with_found(file, source, work.recalled(finding, ledger))
        prepared = finding + work.prepare(*supposed, ledger, rows if work.public_rows(file) else None)
        left_now, asks, so_far = ledger.remaining(), [], Cost.nothing()
        for each in prepared:
            so_far = so_far + each.due
            after = ledger.preview(so_far)
            asks.append(
                each.item.to_dict()
                | {
                    "cost": str(each.cost),
                    "price": price(each.cost),
                    **errors(each, rows),
                    "known": each.known,
                    "fits": after.fits,
                    "left": str(after.remaining) if after.fits else "does not fit",
                }
            )
        after = ledger.preview(so_far)
        return {
            "kind": "plan",
            "ledger": ledger.name,
            "budget": str(ledger.budget),
            "assumed_rows": rows,
            "asks": asks,
            "cost": str(so_far),
            "price": price(so_far),
            "fits": after.fits,
            "left_now": str(left_now),
            "left_after": str(after.remaining) if after.fits else None,
            "note": work.asked_before(file, prepared, ledger),
        }


def price(cost: Cost) -> dict[str, str | None]:
    """A cost in exact numbers, for programs."""
    doc = cost.to_dict()
    return {key: doc[key] for key in ("epsilon", "delta", "rho")}


def errors(prepared: Prepared, rows: int) -> dict[str, Any]:
    """The expected error of an answer, in words and as a number: in its own unit, or in ranks for a quantile."""
    import numpy as np

    from discreet.cli import work

    result = work.expected(prepared, rows)
    seen = getattr(result.reading, "seen_effect", None)
    effect = None if seen is None else seen(result.releases)
    if effect is not None:
        return {"expected_error": f"finds an effect of {show.number(effect)} with power .8", "seen_effect": float(effect)}
    error = result.expected_error
    if error is not None:
        words = f"± {show.number(np.max(error))}" + (" each" if np.ndim(error) else "")
        return {"expected_error": words, "error": float(np.max(error))}
    people = getattr(result.reading, "people_needed", None)
    if people is not None:
        needed = float(people(result.releases))
        return {"expected_error": f"bins of {show.number(needed)} people are found", "people_needed": needed}
    rank = getattr(result.reading, "rank_error", None)
    if rank is None:
        return {"expected_error": "unknown", "error": None}
    found = float(rank(result.releases))
    return {"expected_error": f"± {show.number(found)} rows of rank (95 %)", "rank_error": found}
