"""The template of a schema: the names of the columns, and a place for a person to declare the rest."""

from __future__ import annotations

import json
import re
from pathlib import Path

from discreet.core.dialect import Dialect
from discreet.errors import InvalidRequest

_TOP = """\
# What is public about {table}. Fill it in from what you know without opening the table:
# a form, a code book, the law. Never from its smallest, largest or most frequent values.

# One person may have several rows? Name the column that says who, and how many rows of one person may count.
# person = "patient_id"
# max_rows = 5

# "add_remove": nobody can tell whether a person is in the table. "replace": nobody can tell what a person's row holds,
# and the number of rows is public.
neighbors = "add_remove"

# A public guess of the number of rows, for plans only.
# expected_rows = 1000

# How the cells are written, where numbers are not as in 1234.5 or letters not in UTF-8: docs/how-to/messy_tables.md.
{delimiter}
# decimal = ","
# thousands = "."
{encoding}
# missing = ["NA", "-99"]

# Each column below is one of these; delete it if nothing will be asked of it, and the person column too:
#   type = "real"      and  bounds = [lo, hi]
#   type = "integer"   and  bounds = [lo, hi]
#   type = "category"  and  values = ["a", "b"]
#   type = "boolean"   and  true = ["yes"], false = ["no"]
#   type = "date"      and  bounds = ["2020-01-01", "2029-12-31"], formats = ["%d.%m.%Y", "%Y-%m-%d"]
#   type = "text"      which conditions can match, and nothing else
# A category that is not declared is dropped silently, unless other = "..." gives it a place: docs/how-to/schema.md.
# More types, other spellings of a label, columns computed from others: docs/how-to/messy_tables.md and expressions.md.
"""
_COLUMN = """
[columns.{name}]
type = ""
"""


def column_names(table: Path, dialect: Dialect) -> list[str]:
    """The names in the header or footer of a file; no record is read."""
    from discreet.core.schema import Schema
    from discreet.sources.files import FileSource

    if not table.exists():
        raise InvalidRequest(f"table must be a file that exists, got {str(table)!r}; check the path")
    return FileSource(table, Schema({}, dialect=dialect)).names


def other_delimiter(names: list[str]) -> str | None:
    """What seems to separate the names of a header line that was read by commas: a mark that is in it more often.

    None where there is none, or two are as frequent: nothing but the header line is looked at, and a person is asked.
    """
    often = sorted(((sum(name.count(mark) for name in names), mark) for mark in (";", "\t", "|", ",")), reverse=True)
    (most, mark), (next_most, _) = often[:2]
    return mark if most > next_most and most > len(names) - 1 else None


def delimiter_named(word: str) -> str:
    """The mark that a word at the command line stands for: a tab is hard to type."""
    return "\t" if word in ("tab", "\\t") else word


def in_words(mark: str) -> str:
    """A mark as it can be typed at the command line."""
    return "tab" if mark == "\t" else f"'{mark}'"


def schema_template(table: str, names: list[str], dialect: Dialect) -> str:
    """The text of the template."""
    said = dialect.to_dict()
    lines = {
        key: f"{key} = {json.dumps(said[key])}" if key in said else f"# {key} = {example}" for key, example in _EXAMPLES
    }
    return _TOP.format(table=table, **lines) + "".join(_COLUMN.format(name=_key(name)) for name in names)


_EXAMPLES = (("delimiter", '";"'), ("encoding", '"latin-1"'))


def _key(name: str) -> str:
    """A column's name as a TOML key: quoted unless it is plain."""
    if re.fullmatch(r"[A-Za-z0-9_-]+", name):
        return name
    return json.dumps(name, ensure_ascii=False).replace("\x7f", "\\u007f")
