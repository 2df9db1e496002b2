"""What every command prints with: JSON for programs, tables for people, colours on a terminal only."""

from __future__ import annotations

import contextlib
import json
import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from rich.console import Console

Name = Annotated[
    str | None, typer.Option("--name", "-n", help="Which ledger of the database; without it, the only one there is.")
]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON document instead of text.")]

_WIDE = 120  # columns where there is no terminal to ask


def console() -> Console:
    """Standard output; Rich leaves colours out where it is not a terminal, and NO_COLOR does the same."""
    from rich.console import Console

    width = None if sys.stdout.isatty() or "COLUMNS" in os.environ else _WIDE
    return Console(width=width, highlight=False, soft_wrap=False)


def say(text: str = "") -> None:
    """A line that is never folded, so that a path in it can be copied."""
    console().print(text, soft_wrap=True, markup=False)


def document(doc: Any) -> None:
    """One JSON document on standard output."""
    sys.stdout.write(json.dumps(doc, indent=1, ensure_ascii=False) + "\n")


def plain(number: Any) -> str:
    """A number as the pages of a release show it."""
    from discreet.report import numerals

    return numerals.plain(number)


def table(title: str, columns: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """A table; text in it is text, whatever brackets it holds."""
    from rich import box
    from rich.markup import escape
    from rich.table import Table

    made = Table(title=escape(title), title_justify="left", box=box.SIMPLE_HEAD, pad_edge=False, collapse_padding=True)
    for name in columns:
        made.add_column(escape(name), overflow="fold")
    for row in rows:
        made.add_row(*map(escape, row))
    console().print(made)


@contextlib.contextmanager
def working(what: str) -> Iterator[None]:
    """A sign of life on a terminal, on standard error. It shows no count: how many rows there are is not public."""
    if not sys.stderr.isatty():
        yield
        return
    from rich.console import Console

    with Console(stderr=True).status(what, spinner="dots"):
        yield


@contextlib.contextmanager
def counting(what: str) -> Iterator[Callable[[int], None]]:
    """A bar on a terminal with the rows done so far, for the custodian who holds the table; yields what to call."""
    if not sys.stderr.isatty():
        yield lambda rows: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    words = TextColumn("{task.description}"), BarColumn(), TextColumn("{task.completed:,.0f} rows"), TimeElapsedColumn()
    with Progress(*words, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(what, total=None)
        yield lambda rows: bar.update(task, completed=rows)


def fits(plan: Mapping[str, Any]) -> None:
    """Who would pay for what was planned, and whether it fits."""
    say(f"Ledger {plan['ledger']!r}: budget {plan['budget']}, left now {plan['left_now']}.")
    if plan["note"]:
        say(f"Note: {plan['note']}.")
    if plan["fits"]:
        say(f"It fits: {plan['left_after']} would be left. No row was read, nothing was charged.")
    else:
        say("It does NOT fit: ask for less. No row was read, nothing was charged.")
