"""``discreet ledger``: what was spent, by whom, for what; and whether the book still holds."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from discreet import jobs
from discreet.cli import show
from discreet.cli.keeping import adopt, backup, redeem, upgrade
from discreet.cli.ledger_file import Url, address_of, open_ledger

if TYPE_CHECKING:
    from discreet.ledger import Ledger

_STORED = "store"  # the kind of event that keeps an answer


def register(app: typer.Typer) -> None:
    """Add the group ``ledger``."""
    group = typer.Typer(help="Look into a ledger, and check it.", no_args_is_help=True, rich_markup_mode=None)
    group.command("show")(show_)
    group.command("verify")(verify)
    for command in (redeem, backup, adopt, upgrade):
        group.command(command.__name__)(command)
    app.add_typer(group, name="ledger")


def _show_all(url: str, names: list[str], json: bool) -> None:
    """What each of several ledgers in one database has and has left."""
    rows: list[list[str]] = []
    doubts: list[str | None] = []
    for name in names:
        with open_ledger(url, name) as book:
            rows.append([book.name, str(book.budget), str(book.spent()), str(book.remaining()), book.relation])
            doubts.append(book.doubt)
    heads = ["name", "budget", "spent", "remaining", "neighbors"]
    if json:
        listed = [{**dict(zip(heads, row, strict=True)), "doubt": doubt} for row, doubt in zip(rows, doubts, strict=True)]
        show.document({"kind": "ledgers", "ledgers": listed})
        return
    show.table(f"{len(rows)} ledgers", heads, rows)
    for row, doubt in zip(rows, doubts, strict=True):
        _say_doubt(row[0], doubt)
    show.say("The events of one are shown with --name.")


def _say_doubt(name: str, doubt: str | None) -> None:
    """Say first what the numbers of a copy, or of a ledger that was set back, are worth."""
    if doubt is not None:
        show.say(f"The ledger {name!r} here is not known to be the one that counts, and is not spent: {doubt}.")


def show_(
    ledger: Url,
    name: show.Name = None,
    last: Annotated[int, typer.Option("--last", min=1, help="How many of the last events to show.")] = 20,
    json: show.Json = False,
) -> None:
    """Show the budget, what is left, and the last events: when, who, what, at which cost.

    Where a database holds several ledgers, they are listed, and --name shows one. Events that only store an answer for
    later cost nothing and are shown in the JSON alone. A copy, a ledger that was set back and one without its head file
    are shown too, with a line that says that they are not known to count ("doubt" in the JSON).
    """
    from discreet.ledger import checks
    from discreet.ledger.creation import names_at

    several = names_at(address_of(ledger)) if name is None else []
    if len(several) > 1:
        _show_all(ledger, several, json)
        return
    with open_ledger(ledger, name) as book:
        if json:
            _stream(book, last)
            return
        events = book.events(last=last, without=_STORED)
        rows = [
            [
                *(str(e.number), e.time[:19].replace("T", " "), e.who, e.kind),
                *(question_in_words(e.question) + rows_in_words(e.rows), law_in_words(e.law), str(e.cost)),
            ]
            for e in events
        ]
        show.table(f"Ledger {book.name!r}", ["no", "time", "who", "kind", "question", "law", "cost"], rows)
        _say_doubt(book.name, book.doubt)
        show.say(f"Budget {book.budget}; spent {book.spent()}; left {book.remaining()}. Neighbours: {book.relation}.")
        unit = book.unit
        counted = "no unit yet: the first question binds it" if unit is None else checks.counted(unit, book.name)
        show.say(f"It counts {counted}.")
        _say_unanswered(book)
        show.say(f"Head {book.head}: keep it elsewhere, and `discreet ledger verify --head` finds a book cut short.")


def _say_unanswered(book: Ledger) -> None:
    """What is paid and not answered, and what is to be done about it."""
    from discreet.ledger.outcomes import redeeming

    looked = []
    for number, state in book.unanswered():
        paid = state == "paid"
        looked += [] if paid else [number]
        told = "nobody looked: asking the same again is free" if paid else "looked for: it is withheld"
        show.say(f"Entry {number} is paid and not answered; {told}.")
    if looked:
        show.say(f"What was looked for can be answered once more: {redeeming(looked, book.typed)} (or --all)")


def _stream(book: Ledger, last: int) -> None:
    """One JSON document, written event by event: a book may be longer than memory."""
    import itertools
    import json
    import sys

    unit, count = book.unit, book.count
    facts = {
        "kind": "ledger",
        "name": book.name,
        "neighbors": book.relation,
        "unit": None if unit is None else unit.to_dict(),
        "budget": None if book.budget is None else book.budget.to_dict(),
        "spent": book.spent().to_dict(),
        "remaining": str(book.remaining()),
        "head": book.head,
        "doubt": book.doubt,
        "unanswered": [{"entry": number, "state": state} for number, state in book.unanswered()],
    }
    write = sys.stdout.write
    write(json.dumps(facts, indent=1, ensure_ascii=False)[:-2] + ',\n "events": [')
    events = book.events(after=count - last)
    for place, event in enumerate(itertools.islice(events, last)):
        write((",\n  " if place else "\n  ") + json.dumps(event.to_dict(), ensure_ascii=False))
    write("\n ]\n}\n")


def verify(
    ledger: Url,
    name: show.Name = None,
    head: Annotated[str | None, typer.Option("--head", help="A head noted down earlier that must still be there.")] = None,
    json: show.Json = False,
) -> None:
    """Check every event of the book and the chain of hashes between them.

    With --head it is held against that head also where its head file is damaged. A copy can be checked too: a line says
    that it is not known to be the ledger that counts.
    """
    with open_ledger(ledger, name) as book:
        with show.working("checking every event"):
            count = book.verify(head)
        if json:
            told = {"name": book.name, "events": count, "head": book.head, "doubt": book.doubt}
            show.document({"kind": "verified"} | told)
            return
        show.say(f"The ledger {book.name!r} holds: {count} events, every hash and every total is right.")
        if head is not None:
            show.say(f"It contains the event with the head {head}.")
        _say_doubt(book.name, book.doubt)
        show.say(f"Head {book.head}")


# Questions about a model besides the one that fits it: the two of its intervals, and its score.
_PARTS = {
    "curvature_at": "intervals (curvature), model of",
    "slope_at": "intervals (slopes), model of",
    "hits": "score of a model of",
    "regression_sums": "sums for a model of",
}


def question_in_words(question: str) -> str:
    """A stored question in a few words: ``sums over pressure, by smoker`` or ``median of bmi``."""
    import json

    if not question.startswith("{"):
        return question
    try:
        doc = json.loads(question)
    except json.JSONDecodeError:
        return question
    names = ", ".join(dict.fromkeys(jobs.asking.columns_of([question])))
    match doc:
        case {"name": "cells", "factors": [*factors]}:
            return _cells_in_words(factors)
        case {"name": str(name), "design": {"features": [*features], "target": {"column": str(target)}}}:
            columns = ", ".join(str(f.get("column")) for f in features if isinstance(f, dict))
            return f"{_PARTS.get(name, 'model of')} {target} from {columns}"
        case {"name": "ranks", "column": column, "q": str(q)}:
            return f"median of {column}" if q == "1/2" else f"quantile {_decimal(q)} of {column}"
    kind = str(doc.get("name", "question"))
    return f"{kind} of {names}" if names else kind


def rows_in_words(rows: str | None) -> str:
    """The rows that a question was about: `` where sex is f``; nothing where it was about all of them."""
    import json

    if rows is None:
        return ""
    kept = json.loads(rows).items()
    return " where " + " and ".join(f"{column} is {' or '.join(map(str, labels))}" for column, labels in kept)


def _cells_in_words(factors: list[Any]) -> str:
    """Counts or sums in the cells of a table: what is summed, and by what."""
    groups = [str(f["column"]) for f in factors if f.get("kind") in ("category", "bins")]
    numbers = [f for f in factors if f.get("kind") not in ("category", "bins")]
    over = " and ".join(dict.fromkeys(str(f.get("column")) for f in numbers))
    squares = " and sums of squares" if any(f.get("kind") == "square" for f in numbers) else ""
    what = f"sums{squares} over {over}" if numbers else "counts" if groups else "count of rows"
    by = " and ".join(groups)
    return what + (f"{',' if numbers else ''} by {by}" if groups else "")


def _decimal(text: str) -> str:
    from fractions import Fraction

    return f"{float(Fraction(text)):.4g}"


def law_in_words(law: str | None) -> str:
    """A stored law in a few words: its name and its scale or rate."""
    import json
    from fractions import Fraction

    if law is None:
        return ""
    doc = json.loads(law)
    size = doc.get("scale", doc.get("rate"))
    shown = "" if size is None else f" {float(Fraction(size if isinstance(size, str) else size[0])):.4g}"
    return f"{doc['name']}{shown}"
