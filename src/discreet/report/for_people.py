"""The page for people in a table: what was published about them, and what somebody can find out about one."""

from __future__ import annotations

from importlib.resources import files
from typing import Protocol

from discreet import __version__
from discreet.core.budget import Budget
from discreet.core.schema import Schema
from discreet.report.meaning import beliefs, best_guess, whole
from discreet.report.numerals import percent

_ONE_ROW = "one row of the table; if several are about you, each is protected by itself, and all of them together less"


class Publisher(Protocol):
    """Who publishes, what for, and whom to ask."""

    @property
    def curator(self) -> str: ...
    @property
    def purpose(self) -> str: ...
    @property
    def contact(self) -> str | None: ...


class Spent(Protocol):
    """The most that may be spent, and what was."""

    @property
    def budget(self) -> Budget: ...
    @property
    def spent(self) -> str: ...


def render(title: str, about: Publisher, book: Spent, schema: Schema) -> str:
    """One page that needs no network and no knowledge of the field."""
    from jinja2 import Environment, StrictUndefined

    here = files("discreet.report")
    environment = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    cost = whole(book.budget)
    several = f"all your rows together, {schema.max_rows} at most; the column {schema.person!r} says whose a row is"
    return environment.from_string(here.joinpath("people.html.j2").read_text(encoding="utf-8")).render(
        title=title,
        style=here.joinpath("style.css").read_text(encoding="utf-8"),
        curator=about.curator,
        purpose=about.purpose,
        contact=about.contact or about.curator,
        unit=_ONE_ROW if schema.person is None else several,
        hidden="what you told" if schema.neighbors == "replace" else "whether you are in the table at all",
        budget=str(book.budget),
        spent=book.spent,
        chance=percent(best_guess(cost)),
        beliefs=beliefs(cost),
        version=__version__,
    )
