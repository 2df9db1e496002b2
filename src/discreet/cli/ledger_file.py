"""The ledger that a command is about: its address as a person writes it, and opening it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

import discreet as ds
from discreet.errors import InvalidRequest, NoSuchLedger

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
    try:
        return ds.Ledger(address_of(url), name=name)
    except NoSuchLedger as problem:
        raise InvalidRequest(f"there is no ledger {problem.where}", remedy="correct the path or --name") from None
    except InvalidRequest as problem:
        raise problem.remedied("say which one with --name") if problem.key == "name" else problem from None
