"""``discreet ledger redeem``, ``backup``, ``adopt`` and ``upgrade``: what only the custodian of a ledger does."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from discreet.cli import show
from discreet.cli.ledger_file import Url, address_of, open_ledger
from discreet.errors import InvalidRequest

if TYPE_CHECKING:
    from discreet.ledger import Ledger


def redeem(
    ledger: Url,
    entries: Annotated[
        list[int] | None,
        typer.Argument(help="The numbers of the entries; `discreet ledger show` lists them.", metavar="[ENTRY]..."),
    ] = None,
    name: show.Name = None,
    every: Annotated[
        bool, typer.Option("--all", help="Every entry that was looked for and not answered; they are listed first.")
    ] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="With --all: do not ask before.")] = False,
    forgo: Annotated[
        bool, typer.Option("--forgo", help="Never answer it: the same question is then paid for anew.")
    ] = False,
    json: show.Json = False,
) -> None:
    """Let entries be answered that were paid for and looked for, and whose process ended before the answer was stored.

    Asking the same question again is then free, once. All of them are decided on, or none. Not for someone who could choose
    the moment of the end by the time that had passed: noise that was drawn quickly is not the noise that was paid for.
    """
    with open_ledger(ledger, name) as book:
        if bool(entries) == every:
            raise InvalidRequest(f"redeem takes the numbers of entries or --all, got {'both' if every else 'neither'}")
        decided = _looked_for(book, forgo=forgo, yes=yes, json=json) if every else list(entries or ())
        if every and not decided:
            raise InvalidRequest(f"no entry of {book.name!r} was looked for and not answered; nothing is to be decided")
        cost = book.redeem(*decided, forgo=forgo)
        if json:
            kind = "forgone" if forgo else "redeemed"
            show.document({"kind": kind, "name": book.name, "entries": decided, "cost": cost.to_dict()})
            return
    one = len(decided) == 1
    which = f"{'Entry' if one else 'Entries'} {', '.join(map(str, decided))} ({cost}{'' if one else ' together'})"
    if forgo:
        show.say(
            f"{which} {'stays' if one else 'stay'} paid and {'is' if one else 'are'} never answered; asking the same again "
            "is paid for anew."
        )
    else:
        show.say(f"{which} {'is' if one else 'are'} answered, once, when the same question is asked again; that is free.")


def _looked_for(book: Ledger, *, forgo: bool, yes: bool, json: bool) -> list[int]:
    """The entries that only the custodian can decide on, listed; and a question on a terminal before that is done."""
    from discreet.cli.ledger import question_in_words, rows_in_words

    found = [number for number, state in book.unanswered() if state == "looked"]
    if not found or json or yes:
        if found and not yes:
            raise InvalidRequest(f"--all decides on {len(found)} entries at once", remedy="look at them, and give --yes too")
        return found
    paid = {event.number: event for event in book.events(after=found[0] - 1) if event.number in set(found)}
    rows = [
        [str(n), e.time[:19], e.who, question_in_words(e.question) + rows_in_words(e.rows), str(e.cost)]
        for n, e in paid.items()
    ]
    show.table("Looked for and not answered", ["no", "time", "who", "question", "cost"], rows)
    act = "Give all of them up" if forgo else "Let all of them be answered once more"
    if not sys.stdin.isatty():
        raise InvalidRequest(f"--all decides on {len(found)} entries at once", remedy="look at them, and give --yes too")
    typer.confirm(f"{act}?", abort=True)
    return found


def backup(
    ledger: Url,
    copy: Annotated[Path, typer.Argument(help="The file to write; COPY.key is written beside it.", metavar="COPY")],
    json: show.Json = False,
) -> None:
    """Copy a ledger as it is at one moment, also while others use it, and check the copy.

    A key that is lost, or is not the one of this ledger, is not copied, and a line says so.
    """
    from discreet.ledger import keeping

    names = keeping.backup(address_of(ledger), copy)
    key = copy.with_name(f"{copy.name}.key")
    if json:
        show.document({"kind": "backup", "copy": str(copy), "key": str(key) if key.exists() else None, "ledgers": names})
        return
    held = f"{', '.join(map(repr, names)) or 'no ledgers'}, every event checked."
    if key.exists():
        show.say(f"Wrote {copy} and {key}: {held}")
        return
    show.say(f"Wrote {copy}: {held}")
    show.say(
        "No key was written: the ledger's own is missing, or is another one. Without it answers stored before cannot be "
        "found; restore it from an earlier backup."
    )


def adopt(ledger: Url, json: show.Json = False) -> None:
    """Say that this file is the ledger that counts from now on: after a restore, or when its head file was lost.

    Entries that were paid and not answered are given up, because they may have been answered after the copy was made.
    """
    from discreet.ledger import keeping

    given_up = keeping.adopt(address_of(ledger))
    if json:
        show.document({"kind": "adopted", "given_up": given_up})
        return
    for name, count in given_up.items():
        show.say(f"The ledger {name!r} holds, and counts from now on. Entries given up without an answer: {count}.")


def upgrade(
    ledger: Url,
    copy: Annotated[
        Path | None, typer.Option("--backup", help="Where to copy the file first; LEDGER.0.1.0 by default.", metavar="COPY")
    ] = None,
    json: show.Json = False,
) -> None:
    """Bring ledgers that version 0.1.0 wrote up to date; a file is copied first, and every event is checked."""
    from discreet.ledger import keeping

    address = address_of(ledger)
    path = Path(address.removeprefix("sqlite:///"))
    kept = copy or (path.with_name(path.name + ".0.1.0") if address.startswith("sqlite:///") else None)
    names = keeping.upgrade(address, kept)
    if json:
        show.document({"kind": "upgraded", "ledgers": names, "backup": str(kept) if names and kept else None})
        return
    if not names:
        show.say("Nothing to do: the ledgers are up to date.")
        return
    show.say(f"Upgraded {', '.join(map(repr, names))}; nothing was charged and every event holds.")
    if kept is not None:
        show.say(f"The file as it was: {kept}")
