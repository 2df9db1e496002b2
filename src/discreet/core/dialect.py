"""How a table writes its cells: what separates them, how a number is spelt, which words stand for nothing.

A dialect is declared, never recognised from records: a file guessed to have decimal commas because of one cell would tell
of that cell. What separates and quotes the cells and how letters are coded is about CSV files; the rest holds wherever a
cell is text.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any

from discreet.core.labels import closest
from discreet.errors import InvalidRequest

# One byte is one letter in each of these, and ASCII is itself: so a record is read alike whatever stands beside it.
ENCODINGS = (
    "utf-8", "latin-1", "cp1250", "cp1251", "cp1252", "cp1253", "cp1254", "cp1257", "cp437", "cp850", "iso-8859-2",
    "iso-8859-15", "mac-roman", "koi8-r",
)  # fmt: skip
_SPELT = {
    "utf8": "utf-8", "ascii": "utf-8", "latin1": "latin-1", "iso-8859-1": "latin-1", "windows-1252": "cp1252",
    "windows-1250": "cp1250", "windows-1251": "cp1251", "iso8859-15": "iso-8859-15", "latin-9": "iso-8859-15",
}  # fmt: skip
_THOUSANDS = (",", ".", " ", "'", "\u2019", "\u00a0", "\u202f", "_")
_ALIKE = (" \u00a0\u202f", "'\u2019")  # marks that nobody can tell apart: one stands for all of its kind
_DECIMALS = (".", ",", "\u066b")
DELIMITERS = (",", ";", "\t", "|", ":", "^", "~", " ", "\x1f")
_QUOTES = ('"', "'", "")


@dataclass(frozen=True)
class Dialect:
    """The public facts of how cells are written; the defaults are those of RFC 4180 and of English numbers.

    ``delimiter``: what separates the cells of a CSV file; None: by the file's ending. ``quote``: ``'"'``, ``"'"``, or
    ``""`` where quotes are letters like any other. ``encoding``: one of ``ENCODINGS``. ``decimal`` and ``thousands``: how
    numbers are spelt; with a thousands mark ``1.234`` and ``1234`` are read, ``12.34`` is missing; spaces of any
    width are one mark. ``missing``: words that
    stand for an empty cell, such as ``"NA"``; one that is a number, such as ``"-99"``, also where the cell is a number.
    """

    delimiter: str | None = None
    decimal: str = "."
    thousands: str | None = None
    encoding: str = "utf-8"
    quote: str = '"'
    missing: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.delimiter is not None:
            _one_of("delimiter", self.delimiter, DELIMITERS)
        _one_of("decimal", self.decimal, _DECIMALS)
        if self.thousands is not None:
            _one_of("thousands", self.thousands, _THOUSANDS)
        if self.thousands == self.decimal:
            raise InvalidRequest(
                f"thousands and decimal must differ, got {self.decimal!r} for both; leave thousands out", key="thousands"
            )
        _one_of("quote", self.quote, _QUOTES)
        spelt = self.encoding.lower().replace("_", "-") if isinstance(self.encoding, str) else self.encoding
        object.__setattr__(self, "encoding", _SPELT.get(spelt, spelt) if isinstance(spelt, str) else spelt)
        _one_of("encoding", self.encoding, ENCODINGS)
        words = [self.missing] if isinstance(self.missing, str) else self.missing
        if not isinstance(words, Sequence) or not all(isinstance(word, str | int | float) for word in words):
            raise InvalidRequest(
                f"missing must be a list of words such as ['NA', '-99'], got {self.missing!r}", key="missing"
            )
        texts = [word.strip() if isinstance(word, str) else f"{word:g}" for word in words]
        if "" in texts:
            raise InvalidRequest(
                "missing must not hold the empty text: an empty cell is missing anyway; leave it out", key="missing"
            )
        object.__setattr__(self, "missing", tuple(sorted(set(texts))))

    @classmethod
    def of(cls, given: Any) -> Dialect:
        """A dialect from its keys; refuses keys that it does not have."""
        if isinstance(given, Dialect):
            return given
        if not isinstance(given, Mapping):
            raise InvalidRequest(f"dialect must be a Dialect or its keys, got {given!r}")
        for key in given:
            if key not in KEYS:
                raise InvalidRequest(f"a dialect has no {key!r}{closest(str(key), KEYS)}")
        return cls(**given)

    @cached_property
    def is_plain(self) -> bool:
        """Whether a text is a number as Python spells one, and no word stands for nothing."""
        return self.decimal == "." and self.thousands is None and not self.missing

    @cached_property
    def number(self) -> str:
        """The regular expression, in RE2's grammar, of a text that is a number."""
        point = re.escape(self.decimal)
        whole = "[0-9]+"
        if self.thousands is not None:
            whole = f"(?:[0-9]{{1,3}}(?:[{re.escape(self.thousand_marks)}][0-9]{{3}})+|[0-9]+)"
        return rf"^[+-]?(?:{whole}(?:{point}[0-9]*)?|{point}[0-9]+)(?:[eE][+-]?[0-9]+)?$|^[+-]?(?i:inf|infinity)$"

    @cached_property
    def thousand_marks(self) -> str:
        """Every letter that is read as the thousands mark: spaces of any width are one mark, and so are apostrophes."""
        return next((marks for marks in _ALIKE if self.thousands in tuple(marks)), self.thousands or "")

    @cached_property
    def missing_numbers(self) -> tuple[float, ...]:
        """The words for a missing value that are numbers."""
        plain = [self.plain(word) for word in self.missing if re.search(self.number, word)]
        return tuple(sorted({float(word) for word in plain}))

    def plain(self, number: str) -> str:
        """A number of this dialect as Python spells it."""
        return "".join(letter for letter in number if letter not in self.thousand_marks).replace(self.decimal, ".")

    def to_dict(self) -> dict[str, Any]:
        """What differs from the defaults."""
        declared = {f.name: getattr(self, f.name) for f in fields(self)}
        kept = {name: value for name, value in declared.items() if value != getattr(PLAIN, name)}
        return {name: list(value) if isinstance(value, tuple) else value for name, value in kept.items()}

    def check(self, given: Mapping[str, Any] | None) -> None:
        """Refuse what a call or a file says of a table's dialect where the schema says something else."""
        for name, value in dict(given or {}).items():
            if name not in KEYS:
                raise InvalidRequest(f"a dialect has no {name!r}; known: {', '.join(KEYS)}")
            try:
                same = getattr(Dialect(**{name: value}), name) == getattr(self, name)
            except InvalidRequest:
                same = False
            if not same:
                declared = getattr(self, name)
                raise InvalidRequest(
                    f"{name} is declared in the schema as {declared!r}, got {value!r}; leave it out, or mend the schema"
                )


KEYS = tuple(f.name for f in fields(Dialect))


def _one_of(name: str, value: Any, known: Sequence[str]) -> None:
    if not isinstance(value, str) or value not in known:
        raise InvalidRequest(f"{name} must be one of {', '.join(map(repr, known))}, got {value!r}", key=name)


PLAIN = Dialect()
