"""Reading documents that are not trusted: a document is read, or refused in one line."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from discreet.errors import DiscreetError, UnsupportedFormat

_BRIEF = 60
_LONGEST = 300  # characters of what another library said


def brief(value: Any) -> str:
    """A value as an error shows it: its beginning, where it is long."""
    written = repr(value)
    return written if len(written) <= _BRIEF else f"{written[:_BRIEF]}... ({len(written)} characters)"


@contextmanager
def reading(what: str) -> Iterator[None]:
    """Turn whatever goes wrong inside into ``UnsupportedFormat``: it is the document's fault, and no bug of the caller.

    A document may hold any type in any place, so any exception of Python's or NumPy's may come of it; listing them would
    always miss one. The reader does inside whatever a user would do first with what was read.
    """
    try:
        yield
    except DiscreetError:
        raise
    except Exception as problem:
        said = " ".join(f"{type(problem).__name__}: {problem}".split())
        raise UnsupportedFormat(
            f"{what} lacks or garbles a field ({said[:_LONGEST]}); read it as it was written, or write it again"
        ) from problem


def parsed(text: str | bytes, what: str = "a JSON document") -> Any:
    """The values of a JSON text."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as problem:
        raise UnsupportedFormat(f"not {what}: {' '.join(str(problem).split())[:_LONGEST]}") from problem
