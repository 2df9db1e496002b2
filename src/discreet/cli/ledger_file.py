"""The ledger that a command is about: its address as a person writes it, and opening it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from discreet.ledger import Ledger

Url = Annotated[
    str, typer.Argument(help="sqlite:///ledger.db, the path of an SQLite file, or postgresql://...", metavar="LEDGER")
]


def address_of(url: str) -> str:
    """A url, also from the path of a file."""
    return url if "://" in url else f"sqlite:///{url}"


def open_ledger(url: str, name: str | None) -> Ledger:
    """The ledger, or one line that says what is there instead."""
    from discreet.cli.remedies import not_this_ledger
    from discreet.errors import InvalidRequest
    from discreet.ledger import Ledger

    try:
        return Ledger(address_of(url), name=name)
    except InvalidRequest as problem:
        raise InvalidRequest(not_this_ledger(str(problem))) from None
