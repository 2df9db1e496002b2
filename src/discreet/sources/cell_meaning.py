"""What one cell means: as a number and as a label. One meaning for every engine, and for every row by itself.

Engines hand over columns as NumPy or Arrow arrays; everything after that is the code below, so a table gives the same
records from memory, from a file and from a cluster. Nothing here raises or warns because of what a cell holds, and what
one cell holds changes nothing about how another is read: no type is inferred from cells of several kinds.

The rules. A number is a number, true is 1, and text is a number when it reads as one in the declared dialect (spaces around
it are ignored); anything else is missing. As a label, a cell is its canonical text: whole numbers without a point, true and
false in lower case, bytes decoded as UTF-8 (those that are none written as ``\\xff``), dates and times as ISO 8601 writes
them with a space between, those with a time zone in UTC. NaN, null, the empty text and the dialect's words for a
missing value are missing. Bytes and text that are the same in UTF-8 are the same cell.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping, Sequence
from decimal import Decimal
from fractions import Fraction
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from discreet.core.dialect import PLAIN, Dialect
from discreet.core.labels import canonical, fold

Floats = npt.NDArray[np.float64]
Codes = npt.NDArray[np.int32]
Places = npt.NDArray[np.intp]
Column: TypeAlias = Any  # a NumPy array or an Arrow array

# What the Arrow cast from text to double accepts, written out: a test holds the two against each other.
_DECIMAL = r"^[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?$|^[+-]?(?i:inf|infinity)$"
WHOLE_LIMIT = 10**18
_NEAR = 1 << 12  # whole numbers that lie so close together are found by their place
_NUMBERS = (int, float, Decimal, Fraction, np.number, np.bool_)
# What Arrow holds exactly as Python does: a column of cells of one of these types, and of None, may become Arrow's.
_EXACT: dict[type, Any] = {
    str: pa.large_string(), bytes: pa.large_binary(), bool: pa.bool_(), int: pa.int64(), float: pa.float64(),
    dt.date: pa.date32(),
}  # fmt: skip
_NESTED = (list, tuple, dict, set, frozenset, np.ndarray)  # no category: a library may hand over one for another
_REMEMBERED = frozenset({str, bytes, bool, int, float, type(None)})  # equal cells of these types have one label


def numbers(column: Column, dialect: Dialect = PLAIN) -> Floats:
    """Every cell as a double, NaN where it is missing. The caller's own memory where that holds doubles already."""
    values = _numbers(column, dialect)
    if dialect.missing_numbers:
        values = np.where(np.isin(values, dialect.missing_numbers), np.nan, values)
    return values


def _numbers(column: Column, dialect: Dialect) -> Floats:
    if isinstance(column, np.ndarray) and not isinstance(column, np.ma.MaskedArray):
        if column.dtype == np.float64 and column.dtype.isnative:
            return column
        if column.dtype.kind in "fiub":
            with np.errstate(all="ignore"):  # a long double beyond the doubles becomes infinite, and is clipped later
                return column.astype(np.float64)
    column = arrow(column)
    if isinstance(column, np.ndarray):
        return _object_numbers(column, dialect)
    kind = column.type
    if pa.types.is_dictionary(kind):
        return _spread(_numbers(column.dictionary, dialect), column.indices, np.nan)
    if is_text(kind) or is_bytes(kind):
        return _text_numbers(column, dialect)
    if pa.types.is_floating(kind) or pa.types.is_integer(kind) or pa.types.is_boolean(kind) or pa.types.is_decimal(kind):
        if pa.types.is_boolean(kind):
            column = column.cast(pa.uint8())
        values: Floats = column.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False)
        return values
    return np.full(len(column), np.nan)


class Labels(NamedTuple):
    """How cells become codes of labels: the code of each text, of an undeclared one and of none.

    With ``folded`` texts are compared without regard to letter case and to spaces around them.
    """

    lookup: Mapping[str, int]
    stray: int
    missing: int
    folded: bool = False


def codes(
    column: Column,
    lookup: Mapping[str, int],
    stray: int,
    missing: int,
    folded: bool = False,
    dialect: Dialect = PLAIN,
) -> Codes:
    """Every cell as the code of its label, by the rules of ``Labels``."""
    values, index = _whole_numbers(column) or distinct(column)
    table = np.empty(len(values) + 1, np.int32)
    table[-1] = missing
    for place, value in enumerate(values):
        text = said(value, dialect)
        table[place] = missing if text is None else lookup.get(fold(text) if folded else text, stray)
    return table[index]


def keys(column: Column, dialect: Dialect = PLAIN) -> tuple[list[str], Places]:
    """The different labels of a column, and for every row the place of its own; -1 where it has none."""
    values, index = distinct(column)
    known: dict[str, int] = {}
    places = np.full(len(values) + 1, -1, np.intp)
    for place, value in enumerate(values):
        text = said(value, dialect)
        if text is not None:
            places[place] = known.setdefault(text, len(known))
    return list(known), places[index]


def said(cell: Any, dialect: Dialect = PLAIN) -> str | None:
    """The canonical text of one cell; None where it is missing, nested, or one of the words for a missing value."""
    text = None if isinstance(cell, _NESTED) else label(cell)
    return None if text is None or (dialect.missing and text.strip() in dialect.missing) else text


def label(cell: Any) -> str | None:
    """The canonical text of one cell, None where it is missing."""
    try:
        if isinstance(cell, np.generic):
            cell = plain_cell(cell)
        if cell is None or not cell == cell:  # noqa: PLR0124, SIM201  NaN and NaT differ from themselves
            return None
        if isinstance(cell, bytes | bytearray | memoryview):
            return bytes(cell).decode("utf-8", "backslashreplace") or None
        if isinstance(cell, float | Decimal | Fraction) and -WHOLE_LIMIT < cell < WHOLE_LIMIT and cell == int(cell):
            cell = int(cell)
        if isinstance(cell, Decimal):
            cell = _decimal(cell)
        elif isinstance(cell, dt.datetime | dt.timedelta):
            cell = _moment(cell)
        text = canonical(cell).encode("utf-8", "backslashreplace").decode()
    except Exception:  # whatever an odd object does when it is compared or written, it is a missing cell
        return None
    return text or None


def plain_cell(cell: Any) -> Any:
    """A scalar of NumPy as Python's own; a long double is its own item, and a date in nanoseconds a bare number."""
    if isinstance(cell, np.floating):
        return float(cell)
    if isinstance(cell, np.datetime64 | np.timedelta64):
        if np.isnat(cell):
            return None
        found = cell.astype(f"{cell.dtype.kind}8[us]").item() if np.datetime_data(cell.dtype)[0] != "D" else cell.item()
        return None if isinstance(found, int) else found  # beyond the calendar
    return cell.item()


def _decimal(cell: Decimal) -> str:
    """The digits of a decimal without zeros at the end; written out where that is short."""
    sign, digits, exponent = cell.as_tuple()
    if not isinstance(exponent, int):
        return str(cell)
    text = "".join(map(str, digits))
    kept = text.rstrip("0")
    exponent += len(text) - len(kept)
    if -100 <= exponent <= 100:
        return format(Decimal((sign, tuple(map(int, kept)), exponent)), "f")
    return f"{'-' if sign else ''}{kept}e{exponent}"


def _moment(cell: Any) -> str:
    """A moment or a length of time, of pandas or of Python, as Python writes it; with a time zone in UTC."""
    if isinstance(cell, dt.timedelta):
        text = str(dt.timedelta(cell.days, cell.seconds, cell.microseconds))
        small = getattr(cell, "nanoseconds", 0)
    else:
        zone = dt.UTC if cell.utcoffset() is not None else None
        cell = cell.astimezone(zone) if zone is not None else cell
        small = getattr(cell, "nanosecond", 0)
        text = str(dt.datetime(cell.year, cell.month, cell.day, cell.hour, cell.minute, cell.second, cell.microsecond, zone))
    return f"{text} {small}ns" if small else text


def arrow(column: Column) -> Column:
    """As one Arrow array where Arrow holds every cell as it is, else as a NumPy array of objects.

    Cells of one Python type become Arrow's; of several they stay objects, so that none decides what another becomes.
    """
    if isinstance(column, pa.ChunkedArray):
        return _joined(column)
    if isinstance(column, pa.Array):
        return column
    if isinstance(column, np.ma.MaskedArray):
        column = objects(column.tolist())
    if column.dtype == object or column.dtype.kind in "US":  # Arrow would end such a text at its first NUL
        return _of_one_type(column.astype(object))
    try:
        return pa.array(column, from_pandas=True)
    except Exception:  # text that is not Unicode, units and sizes that Arrow does not have: read one at a time
        return objects(list(column) if column.dtype.kind in "mM" else column.tolist())


def _joined(column: Any) -> Any:
    if column.num_chunks == 1:
        return column.chunk(0)
    try:
        return column.combine_chunks()
    except pa.ArrowInvalid:  # more than two thousand million bytes of text
        return column.cast(pa.large_string() if is_text(column.type) else pa.large_binary()).combine_chunks()


def _of_one_type(column: npt.NDArray[np.object_]) -> Column:
    kinds = set(map(type, column))
    kinds.discard(type(None))
    if not kinds:
        return pa.nulls(len(column))
    wanted = _EXACT.get(kinds.pop()) if len(kinds) == 1 else None
    if wanted is None:
        return column
    try:
        return pa.array(column, wanted, from_pandas=True)
    except Exception:  # a lone surrogate, a whole number of more than 64 bits
        return column


def objects(cells: Sequence[Any]) -> npt.NDArray[np.object_]:
    """An array of objects, one for each cell, whatever the cells are."""
    out = np.empty(len(cells), object)
    for place, cell in enumerate(cells):  # a plain assignment would unpack cells that are lists
        out[place] = cell
    return out


def is_text(kind: Any) -> bool:
    """Whether an Arrow type is one of text."""
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind))


def is_bytes(kind: Any) -> bool:
    """Whether an Arrow type is one of bytes."""
    tests = (pa.types.is_binary, pa.types.is_large_binary, pa.types.is_fixed_size_binary, pa.types.is_binary_view)
    return any(test(kind) for test in tests)


def as_bytes(column: Any) -> Any:
    """A column of text or bytes as bytes: whether text is Unicode is not asked here."""
    if pa.types.is_binary(column.type):
        return column
    return column.cast(pa.binary() if pa.types.is_string(column.type) else pa.large_binary())


def readable(column: Any) -> Any:
    """A column of text or bytes as text, null where a cell is not UTF-8."""
    column = as_bytes(column)
    kind = pa.string() if pa.types.is_binary(column.type) else pa.large_string()
    try:
        return column.cast(kind)
    except pa.ArrowInvalid:
        return pa.array([None if cell is None else _decoded(cell) for cell in column.to_pylist()], kind)


def texts(column: Column, dialect: Dialect = PLAIN) -> Any:
    """Every cell that is text as Arrow's text, null where it is missing or none."""
    column = arrow(column)
    if isinstance(column, np.ndarray):
        some = (str, bytes, bytearray, memoryview)
        return pa.array([said(cell, dialect) if isinstance(cell, some) else None for cell in column], pa.large_string())
    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    if not is_text(column.type) and not is_bytes(column.type):
        return pa.nulls(len(column), pa.large_string())
    column = readable(column)
    if not dialect.missing:
        return column
    gone = pc.is_in(pc.utf8_trim_whitespace(column), pa.array(dialect.missing, column.type))
    return pc.if_else(gone, pa.scalar(None, column.type), column)


def _decoded(cell: bytes) -> str | None:
    try:
        return cell.decode()
    except UnicodeDecodeError:
        return None


def _text_numbers(column: Any, dialect: Dialect = PLAIN) -> Floats:
    column = pc.utf8_trim_whitespace(readable(column))
    if not dialect.is_plain:
        column = _in_plain_spelling(column, dialect)
    try:
        values = column.cast(pa.float64())
    except pa.ArrowInvalid:
        good = pc.match_substring_regex(column, _DECIMAL)
        values = pc.if_else(good, column, pa.scalar(None, column.type)).cast(pa.float64())
    result: Floats = values.to_numpy(zero_copy_only=False)
    return result


def _in_plain_spelling(column: Any, dialect: Dialect) -> Any:
    """Texts that are numbers of a dialect as Python spells them; null for every other, and for words that say nothing.

    A text is matched before anything in it is exchanged: where ``,`` is the point, ``1.5`` is no number and not 15.
    """
    said = pc.is_in(column, pa.array(dialect.missing, column.type))
    good = pc.and_not(pc.match_substring_regex(column, dialect.number), said)
    column = pc.if_else(good, column, pa.scalar(None, column.type))
    for mark in dialect.thousand_marks:
        column = pc.replace_substring(column, mark, "")
    return column if dialect.decimal == "." else pc.replace_substring(column, dialect.decimal, ".")


def _object_numbers(column: npt.NDArray[np.object_], dialect: Dialect) -> Floats:
    out = np.full(len(column), np.nan)
    texts: list[tuple[int, str]] = []
    for place, cell in enumerate(column):
        if isinstance(cell, str | bytes | bytearray | memoryview):
            text = label(cell)
            if text is not None:
                texts.append((place, text))
        elif isinstance(cell, _NUMBERS) and not isinstance(cell, np.timedelta64 | np.complexfloating):
            try:
                out[place] = float(cell)
            except OverflowError:
                out[place] = np.inf if cell > 0 else -np.inf
            except Exception:  # a signalling NaN refuses to become a float: missing
                out[place] = np.nan
    if texts:
        spelt = pa.array([text for _, text in texts], pa.large_string())
        out[[place for place, _ in texts]] = _text_numbers(spelt, dialect)
    return out


def distinct(column: Column) -> tuple[list[Any], Places]:
    """The different cells, and for every row the place of its cell; a null row points one past the end."""
    column = arrow(column)
    if isinstance(column, np.ndarray):
        return _distinct_objects(column)
    if is_text(column.type) or is_bytes(column.type):
        column = as_bytes(column)
    try:
        encoded = column if pa.types.is_dictionary(column.type) else column.dictionary_encode()
        values = _cells(encoded.dictionary)
        index = encoded.indices.cast(pa.int64()).fill_null(len(values)).to_numpy()
    except pa.ArrowException:  # nested cells: every row is its own
        values, index = _cells(column), np.arange(len(column))
    return values, index


def _whole_numbers(column: Column) -> tuple[list[int], Places] | None:
    """The whole numbers from the least of a column to its largest, and for every row the place of its own: no search.

    None of other columns, and where there are more of them than rows.
    """
    if type(column) is not np.ndarray or column.dtype.kind not in "iu" or not len(column):
        return None
    least, most = int(column.min()), int(column.max())
    if most - least >= min(len(column), _NEAR):
        return None
    wide = column.astype(np.int64) if column.dtype.kind == "i" else column  # a difference of small ones may overflow
    return list(range(least, most + 1)), (wide - least).astype(np.intp)


def _distinct_objects(column: npt.NDArray[np.object_]) -> tuple[list[Any], Places]:
    values: list[Any] = []
    known: dict[Any, int] = {}
    index = np.empty(len(column), np.intp)
    for row, cell in enumerate(column):
        kind = type(cell)
        if kind in _REMEMBERED:
            place = known.setdefault((kind, cell), len(values))
            if place == len(values):
                values.append(cell)
        else:
            place = len(values)
            values.append(cell)
        index[row] = place
    return values, index


def _cells(column: Any) -> list[Any]:
    """The cells of an Arrow array as Python's; None for one that Python cannot hold."""
    if is_text(column.type):
        column = as_bytes(column)
    try:
        found: list[Any] = column.to_pylist()
    except Exception:  # a date outside the calendar, text inside a list that is not UTF-8
        found = [_cell(cell) for cell in column]
    return found


def _cell(cell: Any) -> Any:
    try:
        return cell.as_py()
    except Exception:  # as above, for this cell alone
        return None


def _spread(table: Floats, indices: Any, missing: float) -> Floats:
    """The values a dictionary column points at."""
    places = indices.cast(pa.int64()).fill_null(len(table)).to_numpy()
    spread: Floats = np.append(table, missing)[places]
    return spread
