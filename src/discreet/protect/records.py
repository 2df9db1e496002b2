"""The records of a CSV file as the bytes they are, so that what stays in a file stays as it was written.

A record ends at a line end outside quotes: an even number of quotes lies before it, since a quote inside a quoted cell is
doubled. Quoting, line ends, blank lines and the mark at the start (BOM) belong to the bytes and are kept with them.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, BinaryIO

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from discreet.errors import UnsupportedFormat
from discreet.protect.lattice_histogram import Ints

_CHUNK = 1 << 22
_LONGEST = 1 << 26  # bytes of one record; more is a quote that was never closed
_BOM = b"\xef\xbb\xbf"


@dataclass(frozen=True)
class Records:
    """Some records of a file: ``ends[i]`` is where record ``i`` ends in ``content``; ``blank`` says which hold nothing."""

    content: bytes
    ends: Ints
    blank: npt.NDArray[np.bool_]
    names: tuple[str, ...]
    delimiter: str

    def cells(self, columns: Sequence[str]) -> pa.Table:
        """The cells of some columns as text, one row for each record that is not blank."""
        return _parsed(self.content, self.names, columns, self.delimiter, int((~self.blank).sum()))

    def only(self, rows: npt.NDArray[np.bool_], *, blanks: bool) -> bytes:
        """The bytes of the records that are chosen, of those that are not blank; blank ones as well, or not."""
        wanted = self.blank & blanks
        wanted[~self.blank] = rows
        starts = np.concatenate([[0], self.ends[:-1]])
        edges = np.flatnonzero(np.diff(np.concatenate([[False], wanted, [False]]).astype(np.int8)))
        view = memoryview(self.content)
        return b"".join(
            view[starts[first] : self.ends[last - 1]] for first, last in zip(edges[::2], edges[1::2], strict=True)
        )


def read_records(source: BinaryIO, delimiter: str) -> Iterator[bytes | Records]:
    """The header as its bytes, then all records, some at a time."""
    names: tuple[str, ...] = ()
    for piece, marks in _pieces(source):
        content, ends = piece, marks
        if not names:
            header = piece[: marks[0]]
            names = _names(header, delimiter)
            yield header
            content, ends = piece[marks[0] :], marks[1:] - marks[0]
        if len(ends):
            _check_quotes(content, delimiter)
            sizes = np.diff(np.concatenate([[0], ends]))
            # A record of a line end alone is blank; so is "\r\n", and with a "\r" only the file may still end in one.
            last = np.frombuffer(content, np.uint8)[ends - 1]
            second = np.frombuffer(content, np.uint8)[np.maximum(ends - 2, 0)]
            blank = ((sizes == 1) & ((last == 10) | (last == 13))) | ((sizes == 2) & (last == 10) & (second == 13))
            yield Records(content, ends, blank, names, delimiter)
    if not names:
        raise UnsupportedFormat("a CSV file must begin with a header, and this one is empty; write one")


def _names(header: bytes, delimiter: str) -> tuple[str, ...]:
    try:
        text = header.removeprefix(_BOM).decode("utf-8")
        return tuple(next(csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True), []))
    except (UnicodeDecodeError, csv.Error):
        raise UnsupportedFormat("the header is no CSV in UTF-8; convert the file") from None


def _pieces(source: BinaryIO) -> Iterator[tuple[bytes, Ints]]:
    """Bytes that end where a record does, and the ends of the records in them."""
    rest = b""
    while chunk := source.read(_CHUNK):
        content = rest + chunk
        ends = _ends(content, last=False)
        cut = int(ends[-1]) if len(ends) else 0
        if cut:
            yield content[:cut], ends
        rest = content[cut:]
        if len(rest) > _LONGEST:
            raise UnsupportedFormat("a quote is opened and never closed, or a record is too long; repair the file")
    if rest:
        yield rest, _ends(rest, last=True)


def _ends(content: bytes, *, last: bool) -> Ints:
    array = np.frombuffer(content, np.uint8)
    outside = np.cumsum(array == ord('"'), dtype=np.uint8) & 1 == 0
    line = array == 10
    carriage = array == 13
    if carriage.any():  # alone it ends a record; before "\n" it belongs to that line end
        alone = carriage.copy()
        alone[:-1] &= ~line[1:]
        alone[-1] &= last
        line |= alone
    ends = np.flatnonzero(line & outside) + 1
    if last and not (len(ends) and ends[-1] == len(content)):
        if not outside[-1]:
            raise UnsupportedFormat("a quote is opened and never closed; repair the file")
        ends = np.append(ends, len(content))
    return ends.astype(np.int64)


def _check_quotes(content: bytes, delimiter: str) -> None:
    """Refuse quotes inside a cell that is not quoted: where such a cell ends is a matter of opinion.

    A quote that opens has a delimiter, a line end, nothing or (being the second of two) a quote before it; one that closes
    has one of these after it.
    """
    array = np.frombuffer(content, np.uint8)
    quotes = np.flatnonzero(array == ord('"'))
    if not len(quotes):
        return
    fits = np.zeros(257, bool)
    fits[[ord('"'), ord(delimiter), 10, 13, 256]] = True
    around = np.concatenate([[256], array.astype(np.int64), [256]])
    opening, closing = quotes[::2], quotes[1::2]
    if not (fits[around[opening]].all() and fits[around[closing + 2]].all()):
        raise UnsupportedFormat("a quote stands inside a cell that is not quoted; repair the file")


def _parsed(content: bytes, names: Sequence[str], columns: Sequence[str], delimiter: str, rows: int) -> pa.Table:
    from pyarrow.csv import ConvertOptions, ParseOptions, ReadOptions, read_csv

    if not rows:
        return pa.table({name: pa.array([], pa.string()) for name in columns})
    read = ReadOptions(use_threads=False, block_size=len(content) + 1, column_names=list(names))
    parse = ParseOptions(delimiter=delimiter, newlines_in_values=True, ignore_empty_lines=True)
    convert = ConvertOptions(include_columns=list(columns), column_types=dict.fromkeys(names, pa.string()), check_utf8=True)
    try:
        found = read_csv(pa.BufferReader(content), read, parse, convert)
    except (pa.ArrowInvalid, pa.ArrowKeyError):  # its own words may quote a record, and are left out
        raise UnsupportedFormat("a line is no record, or bytes are no UTF-8; repair the file") from None
    if found.num_rows != rows:
        raise UnsupportedFormat("quotes do not fit together: a record cannot be told from the next; repair the file")
    return found


def whole_rows(parts: Sequence[bytes], names: Sequence[str], delimiter: str) -> pa.Table:
    """All cells of chosen records as text, an empty cell as missing."""
    content = b"".join(part if part.endswith((b"\n", b"\r")) else part + b"\n" for part in parts)
    rows = len(_ends(content, last=True)) if content else 0
    found: Any = _parsed(content, names, names, delimiter, rows)
    return pa.table({name: _missing(found.column(name)) for name in names})


def _missing(column: Any) -> Any:
    import pyarrow.compute as pc

    return pc.if_else(pc.equal(column, ""), pa.scalar(None, pa.string()), column)
