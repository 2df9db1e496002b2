"""What one cell means: as a number, as a category, as a person's id. One meaning for every engine.

Engines hand over columns as NumPy or Arrow arrays; everything after that is the code below, so a table gives the same
records from memory, from a file and from a cluster. Nothing here raises or warns because of what a cell holds.

The rules. A number is a number, true is 1, and text is a number when it reads as a decimal (spaces around it are
ignored); anything else is missing. As a label, a cell is its canonical text: whole numbers without a point, true and
false in lower case, bytes decoded. NaN, null and the empty text are missing.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from decimal import Decimal
from fractions import Fraction
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from discreet.core.schema import canonical

Floats = npt.NDArray[np.float64]
Codes = npt.NDArray[np.int32]
Keys = npt.NDArray[np.int64]
Words = npt.NDArray[np.uint64]
Column: TypeAlias = Any  # a NumPy array or an Arrow array

# What the Arrow cast from text to double accepts, written out: a test holds the two against each other.
_DECIMAL = r"^[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?$|^[+-]?(?i:inf|infinity)$"
_SMALL_WHOLE = "^(0|-?[1-9][0-9]{0,17})$"  # at most 18 digits: always fits 64 bits, and has one spelling only
_WHOLE_LIMIT = 10**18
NO_ID = -(2**63)  # the key of every row without an id; no small whole number reaches it
# Cells that, beside one another, end the process inside Arrow: they are read one at a time.
_ARROW_CRASHES = (np.complexfloating, np.datetime64, np.timedelta64)
_NUMBERS = (int, float, Decimal, Fraction, np.number, np.bool_)


def numbers(column: Column) -> Floats:
    """Every cell as a double, NaN where it is missing. The caller's own memory where that holds doubles already."""
    if isinstance(column, np.ndarray) and not isinstance(column, np.ma.MaskedArray):
        if column.dtype == np.float64:
            return column
        if column.dtype.kind in "fiub":
            with np.errstate(all="ignore"):  # a long double beyond the doubles becomes infinite, and is clipped later
                return column.astype(np.float64)
    column = arrow(column)
    if isinstance(column, np.ndarray):
        return _object_numbers(column)
    kind = column.type
    if pa.types.is_dictionary(kind):
        return _spread(numbers(column.dictionary), column.indices, np.nan)
    if _is_text(kind):
        return _text_numbers(column)
    if pa.types.is_floating(kind) or pa.types.is_integer(kind) or pa.types.is_boolean(kind) or pa.types.is_decimal(kind):
        if pa.types.is_boolean(kind):
            column = column.cast(pa.uint8())
        values: Floats = column.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False)
        return values
    if pa.types.is_binary(kind) or pa.types.is_large_binary(kind) or pa.types.is_fixed_size_binary(kind):
        return _object_numbers(objects(column.to_pylist()))
    return np.full(len(column), np.nan)


def codes(column: Column, lookup: Mapping[str, int], stray: int, missing: int) -> Codes:
    """Every cell as the code of its label; ``stray`` for an undeclared label and ``missing`` for none."""
    values, index = _distinct(column)
    table = np.empty(len(values) + 1, np.int32)
    table[-1] = missing
    for place, value in enumerate(values):
        text = label(value)
        table[place] = missing if text is None else lookup.get(text, stray)
    return table[index]


def identities(column: Column, salt: int) -> tuple[Keys, Words]:
    """For every row a key, equal exactly for rows of the same person in this column, and a salted 64-bit hash.

    The hash of a person is the same on every engine and in every process. Keys, not hashes, decide who is one person:
    two people whose hashes agree would otherwise share one allowance of rows, and one could push out the other's.
    Rows without an id get the key ``NO_ID``; they are nobody's, and count for nothing.
    """
    whole = _whole(column)
    if whole is not None:
        return whole, hash_whole(whole, salt)
    values, index = _distinct(column)
    known: dict[str, int] = {}
    keys = np.empty(len(values) + 1, np.int64)
    hashes = np.empty(len(values) + 1, np.uint64)
    keys[-1], hashes[-1] = NO_ID, _hash_id(None, salt)
    for place, value in enumerate(values):
        text = label(value)
        keys[place] = NO_ID if text is None else known.setdefault(text, len(known))
        hashes[place] = _hash_id(text, salt)
    return keys[index], hashes[index]


def label(cell: Any) -> str | None:
    """The canonical text of one cell, None where it is missing."""
    if isinstance(cell, np.generic):
        cell = float(cell) if isinstance(cell, np.floating) else cell.item()  # a long double is its own item
    try:
        if cell is None or not cell == cell:  # noqa: PLR0124, SIM201  NaN and NaT differ from themselves
            return None
        if isinstance(cell, bytes | bytearray | memoryview):
            cell = bytes(cell).decode("utf-8", "backslashreplace")
        if isinstance(cell, float | Decimal | Fraction) and -_WHOLE_LIMIT < cell < _WHOLE_LIMIT and cell == int(cell):
            cell = int(cell)
        if isinstance(cell, Decimal):
            cell = format(cell.normalize(), "f")
        text = canonical(cell).encode("utf-8", "backslashreplace").decode()
    except Exception:  # whatever an odd object does when it is compared or written, it is a missing cell
        return None
    return text or None


def hash_whole(values: Keys, salt: int) -> Words:
    """A salted hash of whole numbers; one-to-one, so two of them never meet."""
    return mix(values.view(np.uint64) + np.uint64(salt & (2**64 - 1)))


def mix(words: Words) -> Words:
    """The finaliser of SplitMix64 (Steele, Lea and Flood 2014): a one-to-one scrambling of 64-bit words."""
    words = (words ^ (words >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    words = (words ^ (words >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return words ^ (words >> np.uint64(31))


def arrow(column: Column) -> Column:
    """As one Arrow array where Arrow can hold the cells, else as a NumPy array of objects."""
    if isinstance(column, pa.ChunkedArray):
        return column.combine_chunks() if column.num_chunks != 1 else column.chunk(0)
    if isinstance(column, pa.Array):
        return column
    if isinstance(column, np.ma.MaskedArray):
        column = objects(column.tolist())
    if column.dtype == object and any(isinstance(cell, _ARROW_CRASHES) for cell in column):
        return column
    try:
        made = pa.array(column, from_pandas=True)
    except Exception:  # mixed cells, huge whole numbers, odd objects: they are read one at a time
        return column if column.dtype == object else objects(column.tolist())
    # Among objects Arrow rounds a whole number because another row holds a fraction; a cell must not do that to another.
    blended = column.dtype == object and (pa.types.is_floating(made.type) or pa.types.is_decimal(made.type))
    return column if blended else made


def objects(cells: Sequence[Any]) -> npt.NDArray[np.object_]:
    """An array of objects, one for each cell, whatever the cells are."""
    out = np.empty(len(cells), object)
    for place, cell in enumerate(cells):  # a plain assignment would unpack cells that are lists
        out[place] = cell
    return out


def _is_text(kind: Any) -> bool:
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind))


def _text_numbers(column: Any) -> Floats:
    if pa.types.is_string_view(column.type):
        column = column.cast(pa.large_string())
    column = pc.utf8_trim_whitespace(column)
    try:
        values = column.cast(pa.float64())
    except pa.ArrowInvalid:
        good = pc.match_substring_regex(column, _DECIMAL)
        values = pc.if_else(good, column, pa.scalar(None, column.type)).cast(pa.float64())
    result: Floats = values.to_numpy(zero_copy_only=False)
    return result


def _object_numbers(column: npt.NDArray[np.object_]) -> Floats:
    out = np.full(len(column), np.nan)
    texts: list[tuple[int, str]] = []
    for place, cell in enumerate(column):
        if isinstance(cell, str | bytes):
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
        out[[place for place, _ in texts]] = _text_numbers(pa.array([text for _, text in texts], pa.large_string()))
    return out


def _distinct(column: Column) -> tuple[list[Any], npt.NDArray[np.intp]]:
    """The distinct cells, and for every row the place of its cell; a null row points one past the end."""
    column = arrow(column)
    try:
        encoded = column if pa.types.is_dictionary(column.type) else column.dictionary_encode()
        values = encoded.dictionary.to_pylist()
        index = encoded.indices.cast(pa.int64()).fill_null(len(values)).to_numpy()
    except Exception:  # objects, and nested or unreadable cells: every row is its own
        values = list(column) if isinstance(column, np.ndarray) else _cells(column)
        index = np.arange(len(values))
    return values, index


def _cells(column: Any) -> list[Any]:
    out: list[Any] = []
    for cell in column:
        try:
            out.append(cell.as_py())
        except Exception:  # text that is not valid UTF-8, a date outside the calendar
            out.append(None)
    return out


def _spread(table: Floats, indices: Any, missing: float) -> Floats:
    """The values a dictionary column points at."""
    places = indices.cast(pa.int64()).fill_null(len(table)).to_numpy()
    spread: Floats = np.append(table, missing)[places]
    return spread


def _whole(column: Column) -> Keys | None:
    """The ids as whole numbers of at most 18 digits, or None where some id is something else."""
    column = arrow(column)
    if isinstance(column, np.ndarray):
        return None
    if pa.types.is_string(column.type) or pa.types.is_large_string(column.type):
        column = pc.if_else(pc.equal(column, ""), pa.scalar(None, column.type), column)
        if not pc.all(pc.match_substring_regex(column, _SMALL_WHOLE), min_count=0).as_py():
            return None
    elif not pa.types.is_integer(column.type) or column.type == pa.uint64():
        return None
    column = column.cast(pa.int64())
    smallest, largest = (side.as_py() for side in pc.min_max(column).values())
    if smallest is not None and not -_WHOLE_LIMIT < smallest <= largest < _WHOLE_LIMIT:
        return None
    keys: Keys = column.fill_null(NO_ID).to_numpy(zero_copy_only=False)
    return keys


def _hash_id(text: str | None, salt: int) -> int:
    if text is None:
        return int(hash_whole(np.array([NO_ID]), salt)[0])
    if re.match(_SMALL_WHOLE, text) and "\n" not in text:
        return int(hash_whole(np.array([int(text)]), salt)[0])
    key = (salt & (2**64 - 1)).to_bytes(8, "little")
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8, key=key).digest(), "little")
