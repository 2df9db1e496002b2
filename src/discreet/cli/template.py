"""The template of a schema: the names of the columns, and a place for a person to declare the rest."""

from __future__ import annotations

import json
import re
from pathlib import Path

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

# A category that is not declared is dropped silently, unless other = "..." gives it a place: docs/how-to/schema.md.
"""
_COLUMN = """
[columns.{name}]
# One of these three, or delete the column if nothing will be asked of it:
#   type = "real"      and  bounds = [lo, hi]
#   type = "integer"   and  bounds = [lo, hi]
#   type = "category"  and  values = ["a", "b"]
type = ""
"""


def column_names(table: Path) -> list[str]:
    """The names in the header or footer of a file; no record is read."""
    from discreet.core.schema import Schema
    from discreet.errors import InvalidRequest
    from discreet.sources.files import FileSource

    if not table.exists():
        raise InvalidRequest(f"table must be a file that exists, got {str(table)!r}; check the path")
    return FileSource(table, Schema({})).names


def schema_template(table: str, names: list[str]) -> str:
    """The text of the template."""
    return _TOP.format(table=table) + "".join(_COLUMN.format(name=_key(name)) for name in names)


def _key(name: str) -> str:
    """A column's name as a TOML key: quoted unless it is plain."""
    if re.fullmatch(r"[A-Za-z0-9_-]+", name):
        return name
    return json.dumps(name, ensure_ascii=False).replace("\x7f", "\\u007f")
