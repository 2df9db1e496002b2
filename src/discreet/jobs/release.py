"""Everything that a release file asks, paid for, answered and written down."""

from __future__ import annotations

import datetime
import json
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any

from discreet import __version__
from discreet.core.cost import Cost
from discreet.core.result import Result
from discreet.jobs import asking
from discreet.jobs.asking import Prepared
from discreet.jobs.output import folder_for
from discreet.jobs.release_file import ReleaseFile
from discreet.ledger import Ledger
from discreet.report import render
from discreet.report.meaning import price_of

DOCUMENT, PAGE = "releases.json", "report.html"
Working = Callable[[str], AbstractContextManager[None]]  # shows that something is going on, in words


def released(
    file: ReleaseFile, folder: Path, working: Working = lambda words: nullcontext()
) -> tuple[dict[str, Any], list[Result]]:
    """Check everything, pay, answer, write; the document that was written, and the answers in it."""
    with folder_for(folder, [DOCUMENT, PAGE]) as write:
        doc, results = answered(file, working)
        # First the answers, which were paid for; the page is made from them and can be made again.
        write(DOCUMENT, json.dumps(doc, indent=1) + "\n")
        write(PAGE, render(doc, results))
    return doc, results


def answered(file: ReleaseFile, working: Working = lambda words: nullcontext()) -> tuple[dict[str, Any], list[Result]]:
    """Check everything, pay and answer: the document of the answers, and the answers.

    Questions are prepared once, by the ledger that pays or, where it has yet to be made, by one in memory: nothing is made
    for a file with an error. Only what rests on bounds or labels that are found first is prepared again with them.
    """
    source = asking.open_table(file)
    with asking.open_ledger(file, create=False) as trial, working("checking"):
        rows = asking.counted_rows(file, source) if asking.public_rows(file) else None
        finding = asking.prepare_finding(file, source, trial)
        own = asking.prepare(*asking.with_found(file, source), trial, rows)
        asking.check_budget(file, finding + own, trial)
    with asking.open_ledger(file, create=True) as ledger:
        before, note = ledger.spent(), asking.asked_before(file, finding, ledger)
        with working("reading the table"):
            found = asking.run(finding, source, ledger)
            told, named = asking.with_found(file, source, found)
            if told is not file:
                own = asking.prepare(told, named, ledger, rows)
            note = asking.asked_before(told, own, ledger) or note
            results = found + asking.run(own, named, ledger)
        return describe(told, finding + own, results, ledger, before) | {"note": note}, results


def describe(
    file: ReleaseFile, prepared: Sequence[Prepared], results: Sequence[Result], ledger: Ledger, before: Cost
) -> dict[str, Any]:
    """Everything public about a release: the answers, the laws behind them, the guarantee and the state of the budget."""
    asks = [
        each.item.to_dict() | {"known": each.known, "cost": str(result.cost), "result": result.to_dict()}
        for each, result in zip(prepared, results, strict=True)
    ]
    now = asking.total(prepared)
    assert ledger.budget is not None
    return {
        "kind": "releases",
        "schema": 1,
        "title": file.title,
        "language": file.language,
        "made": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        "discreet": __version__,
        "declared": file.schema.to_dict(),
        "ledger": {
            "name": ledger.name,
            "budget": str(ledger.budget),
            "price": str(price_of(asks)),
            "paid_now": str(now),
            "spent": str(ledger.spent()),
            "remaining": str(ledger.remaining()),
            "head": ledger.head,
            "costs": {
                "before": before.to_dict(),
                "now": now.to_dict(),
                "budget": ledger.budget.to_dict(),
            },
        },
        "asks": asks,
    }
