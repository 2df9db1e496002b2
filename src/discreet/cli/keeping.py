"""``discreet ledger redeem``, ``backup``, ``adopt`` and ``upgrade``: what only the custodian of a ledger does."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from discreet.cli import show
from discreet.cli.ledger_file import Url, address_of, open_ledger


def redeem(
    ledger: Url,
    entry: Annotated[
        int, typer.Argument(help="The number of the entry; `discreet ledger show` lists them.", metavar="ENTRY")
    ],
    name: show.Name = None,
    forgo: Annotated[
        bool, typer.Option("--forgo", help="Never answer it: the same question is then paid for anew.")
    ] = False,
    json: show.Json = False,
) -> None:
    """Let an entry be answered that was paid for and looked for, and whose process ended before the answer was stored.

    Asking the same question again is then free, once. Not for someone who could choose the moment of the end by the time
    that had passed: noise that was drawn quickly is not the noise that was paid for.
    """
    with open_ledger(ledger, name) as book:
        cost = book.redeem(entry, forgo=forgo)
        if json:
            show.document(
                {"kind": "forgone" if forgo else "redeemed", "name": book.name, "entry": entry, "cost": cost.to_dict()}
            )
            return
    if forgo:
        show.say(f"Entry {entry} ({cost}) stays paid and is never answered; asking the same again is paid for anew.")
    else:
        show.say(f"Entry {entry} ({cost}) is answered, once, when the same question is asked again; that is free.")


def backup(
    ledger: Url,
    copy: Annotated[Path, typer.Argument(help="The file to write; COPY.key is written beside it.", metavar="COPY")],
    json: show.Json = False,
) -> None:
    """Copy a ledger as it is at one moment, also while others use it, and check the copy."""
    from discreet.ledger import keeping

    names = keeping.backup(address_of(ledger), copy)
    if json:
        show.document({"kind": "backup", "copy": str(copy), "ledgers": names})
        return
    show.say(f"Wrote {copy} and {copy}.key: {', '.join(map(repr, names)) or 'no ledgers'}, every event checked.")


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
