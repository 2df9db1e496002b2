"""``discreet schema``: the public facts about a table, as a template to fill in and as a check of what was filled in."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from discreet import jobs
from discreet.cli import show
from discreet.cli.template import column_names, delimiter_named, in_words, other_delimiter, schema_template
from discreet.core.dialect import Dialect
from discreet.errors import InvalidRequest, UnsupportedFormat


def register(app: typer.Typer) -> None:
    """Add the group ``schema``."""
    group = typer.Typer(help="Declare what is public about a table.", no_args_is_help=True, rich_markup_mode=None)
    group.command("new")(new)
    group.command("check")(check)
    app.add_typer(group, name="schema")


def new(
    table: Annotated[Path, typer.Argument(help="A CSV or Parquet file. Only its column names are read.", metavar="TABLE")],
    out: Annotated[Path | None, typer.Option("--out", "-o", help="Where to write; TABLE.schema.toml by default.")] = None,
    delimiter: Annotated[str | None, typer.Option("--delimiter", help="What separates cells, such as ';' or tab.")] = None,
    encoding: Annotated[str, typer.Option("--encoding", help="How letters are coded, such as latin-1.")] = "utf-8",
    json: show.Json = False,
) -> None:
    """Write a template with the names of the columns, for a person to fill in.

    Bounds and categories are never read off the data: a bound taken from the largest value would give that person away. A
    header line that is separated by something else than the file's ending says is asked about; no record is looked at.
    """
    given = None if delimiter is None else delimiter_named(delimiter)
    dialect = Dialect(delimiter=given, encoding=encoding)
    names = column_names(table, dialect)
    other = None if given == "," else other_delimiter(names)  # a comma, said by hand: it is one column
    if other is not None:
        seems = f"header line seems to be separated by {in_words(other)}"
        if given is not None or not sys.stdin.isatty():
            why = "and nobody is here to be asked" if given is None else f"not by {in_words(given)}"
            raise InvalidRequest(
                f"the {seems}, {why}; say --delimiter {in_words(other)}, or --delimiter ',' if it is one column"
            )
        if typer.confirm(f"The {seems}. Is the whole file?", default=True):
            dialect = Dialect(delimiter=other, encoding=encoding)
            names = column_names(table, dialect)
    target = out or table.with_name(f"{table.name.split('.')[0]}.schema.toml")
    if target.exists():
        raise InvalidRequest(f"a schema is written by hand and never overwritten, got {str(target)!r}; give another --out")
    with jobs.output.folder_for(target.parent, [target.name]) as write:
        write(target.name, schema_template(table.name, names, dialect))
    if json:
        show.document({"schema": str(target), "columns": names})
        return
    show.say(f"Wrote {target} with {len(names)} columns: {', '.join(names)}.")
    show.say(
        "Open it, declare the bounds and categories that are public anyway, and delete the columns you will not ask of."
    )


def check(
    schema: Annotated[Path, typer.Argument(help="A schema in TOML.", metavar="SCHEMA")],
    json: show.Json = False,
) -> None:
    """Check a schema and show what it declares."""
    from discreet.core.schema import Schema

    if not schema.is_file():
        raise UnsupportedFormat(f"the schema must be a file that exists, got {str(schema)!r}; check the path")
    read = Schema.from_toml(schema)
    if json:
        show.document(read.to_dict())
        return
    rows = []
    for name, column in read.columns.items():
        doc = column.to_dict()
        rows.append([name, doc["type"], _allowed(doc), str(doc.get("missing", "")), _reading(doc)])
    more = any(row[-1] for row in rows)
    heads = ["column", "type", "bounds or categories", "missing", *(["read as"] if more else [])]
    show.table(str(schema), heads, [row if more else row[:-1] for row in rows])
    for key, value in read.dialect.to_dict().items():
        show.say(f"{key.capitalize()}: {value!r}.")
    one = f"the rows with the same {read.person!r}, {read.max_rows} at most" if read.person else "one row"
    show.say(f"One person is {one}. Neighbouring tables: {read.neighbors}.")


def _reading(doc: dict[str, Any]) -> str:
    """How its cells are made or spelt, where the declaration says so: a formula, other spellings, a unit, a zone."""
    said = [f"= {doc['formula']}"] if "formula" in doc else []
    said += [f"{', '.join(map(repr, words))} for {label!r}" for label, words in doc.get("aliases", {}).items()]
    said += ["letter case does not matter"] if doc.get("fold") else []
    said += [f"{key} {doc[key]}" for key in ("unit", "format", "zone", "other") if key in doc]
    return "; ".join(said)


def _allowed(doc: dict[str, Any]) -> str:
    """The bounds or categories of a column, or what finding them costs."""
    values = doc.get("bounds") or doc.get("values") or {"text": ["only matched"]}.get(doc["type"], ["true", "false"])
    if values != "private":
        return ", ".join(map(str, values))
    within = f" within {', '.join(map(str, doc['outer']))}" if "outer" in doc else ""
    price = ", ".join(f"{key} {value}" for key, value in doc.get("price", {}).items())
    return f"private{within}{f', for {price}' if price else ''}"
