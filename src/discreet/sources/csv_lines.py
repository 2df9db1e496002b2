"""The records of a CSV file: every line that is not blank is one, whatever it holds and whichever columns are wanted.

The grammar is that of RFC 4180. A line ends with a line feed, with or without a carriage return before it. A field whose
first byte is a quote goes on to the next quote that is not doubled, over ends of lines too; a quote elsewhere is a
character. A record with too few fields has missing cells, and the fields it has too many are left out. A quote that is never
closed is a character as well, and a record longer than 2**24 bytes is one whose cells are all missing. Cells are bytes:
whether they are text is asked cell by cell, later. What separates and quotes cells is declared, and quotes may be letters
like any other. Another encoding than UTF-8 is one in which every byte is a letter by itself, and is exchanged byte by byte.

So all readings of a file see the same records, and a record changes nothing about another, except where a field opens a
quote that another record's quote closes: nothing that writes CSV makes such a line.
"""

from __future__ import annotations

import gzip
import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from pathlib import Path
from typing import IO, Any, NamedTuple

import pyarrow as pa

LONGEST = 1 << 24  # bytes of a record
_BLOCK = 1 << 22  # bytes at a time
_MARK = b"\xef\xbb\xbf"  # how some programs begin UTF-8


class _Grammar(NamedTuple):
    """``clean`` is as many records as there are of exactly the right form, ``record`` any one, ``field`` a part of it.

    ``quote`` is what a field is quoted with where it is written again, ``quotes`` whether the file has quotes at all.
    """

    delimiter: bytes
    quote: bytes
    quotes: bool
    fields: int
    clean: re.Pattern[bytes]
    record: re.Pattern[bytes]
    field: re.Pattern[bytes]


@lru_cache(maxsize=64)
def _grammar(delimiter: str, fields: int, quote: str = '"') -> _Grammar:
    # Every repetition is possessive (``*+``): nothing is tried twice, so the time is linear in the bytes.
    cut, mark = re.escape(delimiter.encode()), re.escape((quote or '"').encode())
    inside = mark + b"((?:[^" + mark + b"]++|" + mark + mark + b")*+)" + mark
    plain, rest = b"[^" + mark + rb"\r\n" + cut + b"]*+", rb"[^\n" + cut + b"]*+"
    if quote:
        strict = b"(?:" + inside.replace(b"((", b"(?:(", 1) + b"|" + plain + b")"
        loose = b"(?:" + inside.replace(b"((", b"(?:(", 1) + rest + b"|(?!" + mark + b")" + rest + b")"
        field = inside + b"(" + rest + b")|((?!" + mark + b")" + rest + b")"
    else:
        strict, loose, field = plain, rest, b"(?!)()()|(" + rest + b")"
    more = b"(?:" + cut + strict + b"){%d}" % (fields - 1)
    return _Grammar(
        delimiter.encode(),
        (quote or '"').encode(),
        bool(quote),
        fields,
        re.compile(b"(?:" + strict + more + rb"\r?\n)*+"),
        re.compile(loose + b"(?:" + cut + loose + rb")*+\n"),
        re.compile(field),
    )


def header(path: Path, delimiter: str, quote: str = '"', encoding: str = "utf-8") -> list[str]:
    """The names in the first line; ``ValueError`` where there is none, or it is not text."""
    grammar = _grammar(delimiter, 1, quote)
    with _opened(path) as stored:
        first, _ = _head(stored, grammar)
    return [name.decode(encoding) for name in _fields(first, grammar)]


def batches(
    paths: Sequence[Path],
    names: Sequence[str],
    columns: Sequence[str],
    delimiter: str,
    quote: str = '"',
    encoding: str = "utf-8",
) -> Iterator[Any]:
    """The records of files whose columns are ``names``, in record batches of bytes; only the wanted ``columns``."""
    from pyarrow import csv

    grammar = _grammar(delimiter, len(names), quote)
    parse = csv.ParseOptions(delimiter=delimiter, quote_char=grammar.quote.decode(), newlines_in_values=True)
    convert = csv.ConvertOptions(
        check_utf8=False, column_types=dict.fromkeys(names, pa.binary()), include_columns=list(columns),
        null_values=[], strings_can_be_null=False,
    )  # fmt: skip
    for path in paths:
        with _opened(path) as stored:
            for found in _clean_blocks(stored, grammar):
                block = found if encoding == "utf-8" else found.decode(encoding, "backslashreplace").encode()
                read = csv.ReadOptions(use_threads=False, block_size=len(block) + 1, column_names=list(names))
                table = csv.read_csv(pa.BufferReader(block), read_options=read, parse_options=parse, convert_options=convert)
                yield from table.to_batches()


def _opened(path: Path) -> IO[bytes]:
    return gzip.open(path, "rb") if path.suffix.lower() == ".gz" else path.open("rb")  # type: ignore[return-value]


def _head(stored: IO[bytes], grammar: _Grammar) -> tuple[bytes, bytes]:
    """The first record, and what was read behind it."""
    held = b""
    while True:
        more = stored.read(_BLOCK)
        held = (held + more).removeprefix(_MARK)
        if not more and not held.endswith(b"\n"):
            held += b"\n"
        found = grammar.record.match(held)
        if found is not None:
            return found[0], held[found.end() :]
        if not more or len(held) > LONGEST:
            raise ValueError("the first line is no header")


def _clean_blocks(stored: IO[bytes], grammar: _Grammar) -> Iterator[bytes]:
    """The records behind the header, all of exactly the right form, some thousands at a time."""
    _, held = _head(stored, grammar)
    ends = False
    while True:
        if ends and not held.endswith(b"\n"):
            held += b"\n"
        pieces: list[bytes] = []
        place = 0
        while place < len(held):
            end = _until(held, place, grammar, ends, pieces)
            if end is None:
                if len(held) <= place + LONGEST:
                    break
                held, place = _beyond(stored, held, place, grammar, pieces), 0
            else:
                place = end
        block = b"".join(pieces)
        if block.strip(b"\r\n"):
            yield block
        if ends:
            return
        more = stored.read(_BLOCK)
        ends = not more
        held = held[place:] + more


def _until(held: bytes, place: int, grammar: _Grammar, ends: bool, pieces: list[bytes]) -> int | None:
    """Put the next records into ``pieces``; where they end, None where the next one goes on beyond what was read."""
    clean = grammar.clean.match(held, place)
    assert clean is not None
    if place < clean.end() <= place + LONGEST:
        pieces.append(clean[0])
        return clean.end()
    found = grammar.record.match(held, place)
    if found is not None:
        if found.end() > place + LONGEST:
            pieces.append(_written([], grammar))
        elif found[0].strip(b"\r\n"):
            pieces.append(_written(_fields(found[0], grammar), grammar))
        return found.end()
    return _one_line(held, place, grammar, pieces) if ends else None


def _one_line(held: bytes, place: int, grammar: _Grammar, pieces: list[bytes]) -> int:
    """A record with a quote that is never closed ends with its line."""
    newline = held.index(b"\n", place)
    line = held[place:newline].removesuffix(b"\r")
    pieces.append(_written(line.split(grammar.delimiter) if newline < place + LONGEST else [], grammar))
    return newline + 1


def _beyond(stored: IO[bytes], held: bytes, place: int, grammar: _Grammar, pieces: list[bytes]) -> bytes:
    """What follows a record that is longer than what was read: looked for without holding the record."""
    here = stored.tell()
    after = _after_record(stored, held[place:], grammar)
    if after is not None:
        pieces.append(_written([], grammar))
        return after
    # To its end the file has no quote that closes this one. The line is read again, with the quote as a character.
    stored.seek(here)
    if b"\n" in held[place:]:
        return held[_one_line(held, place, grammar, pieces) :]
    pieces.append(_written([], grammar))
    return _skip_line(stored)


def _skip_line(stored: IO[bytes]) -> bytes:
    while more := stored.read(_BLOCK):
        newline = more.find(b"\n")
        if newline >= 0:
            return more[newline + 1 :]
    return b""


def _after_record(stored: IO[bytes], held: bytes, grammar: _Grammar) -> bytes | None:
    """What was read behind the end of a record that begins with ``held``; None where a quote in it is never closed.

    A quote opens a field behind the delimiter only, and every quote that is not doubled closes it.
    """
    delimiter, mark = grammar.delimiter, re.escape(grammar.quote)
    inside, outside = re.compile(mark), re.compile(b"[" + mark + b"\n]" if grammar.quotes else b"\n")
    before, place, quoted = delimiter, 0, False
    while True:
        found = (inside if quoted else outside).search(held, place)
        if found is None or (quoted and found.end() == len(held)):  # whether a quote is doubled shows behind it
            rest = b"" if found is None else held[found.start() :]
            before = held[len(held) - len(rest) - 1 : len(held) - len(rest)] or before
            more = stored.read(_BLOCK)
            if not more:
                return None if quoted and not rest else b""
            held, place = rest + more, 0
            continue
        at, place = found.start(), found.end()
        if held[at:place] == b"\n":
            return held[place:]
        if not quoted:
            quoted = (held[at - 1 : at] if at else before) == delimiter
        elif held[place : place + 1] == grammar.quote:
            place += 1
        else:
            quoted = False


def _fields(record: bytes, grammar: _Grammar) -> list[bytes]:
    line = record.removesuffix(b"\n").removesuffix(b"\r")
    fields: list[bytes] = []
    place = 0
    while place <= len(line):
        found = grammar.field.match(line, place)
        assert found is not None
        quoted, after, plain = found.groups()
        fields.append(plain if quoted is None else quoted.replace(2 * grammar.quote, grammar.quote) + after)
        place = found.end() + len(grammar.delimiter)
    return fields


def _written(fields: list[bytes], grammar: _Grammar) -> bytes:
    """A record of exactly the right form: as many fields as there are columns, each in quotes."""
    kept = [*fields, *[b""] * (grammar.fields - len(fields))][: grammar.fields]
    mark = grammar.quote
    return grammar.delimiter.join(mark + field.replace(mark, 2 * mark) + mark for field in kept) + b"\n"
