"""Who is one person: the canonical form of an id, the same on every source.

The form is a string of bytes, and two rows belong to one person exactly if their forms are equal:

- text is its UTF-8 (a lone surrogate as its three bytes), bytes are themselves: ``"ann"`` and ``b"ann"`` are one person,
  ``b"\\xff"`` and the four characters ``\\xff`` are two. Nothing is trimmed, and letters are not folded: ``Ann`` is not
  ``ann``, whatever a database's collation says;
- a whole number is its digits, also where it comes as a float, a decimal or a fraction (below 10**18 in size): ``7``,
  ``7.0``, ``"7"`` and ``b"7"`` are one person, ``"7.0"`` and ``"007"`` are others;
- any other number, true and false, dates and times are their canonical text, see ``cell_meaning``;
- missing cells, the empty text, the dialect's words for a missing value, and whatever is none of these (lists, arrays,
  objects) are no id, and the row is nobody's.

A source that sorts or groups by id does so by a column in which equal means equal in this form.
"""

from __future__ import annotations

import datetime as dt
import hashlib
import re
import uuid
from collections.abc import Collection
from decimal import Decimal
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

from discreet.errors import InvalidRequest
from discreet.sources import cell_meaning
from discreet.sources.cell_meaning import WHOLE_LIMIT, Column, Places

Keys = npt.NDArray[np.int64]
Words = npt.NDArray[np.uint64]

_SMALL_WHOLE = "^(0|-?[1-9][0-9]{0,17})$"  # at most 18 digits: always fits 64 bits, and has one spelling only
_WHOLE_NAME = re.compile(rb"0|-?[1-9][0-9]{0,17}")
NO_ID = -(2**63)  # the key of every row without an id; no small whole number reaches it
_FIRST_NAME = -(2**62)  # the key of the first id that is no small whole number; the others follow, below all of those
_DRAWN = 1  # the second half of the block of a whole number, see ``Identities.words``
_IDS = (
    int, float, Decimal, Fraction, dt.date, dt.time, dt.timedelta, uuid.UUID, np.bool_, np.integer, np.floating,
    np.datetime64,
)  # fmt: skip


class Identities(NamedTuple):
    """The people of some rows: for every row a key, equal exactly for rows of one person, and a public salted hash.

    ``names`` are the different ids and ``places`` the place of each row's; both are None where every id is a small whole
    number, which is then the key.
    """

    keys: Keys
    hashes: Words
    names: list[bytes | None] | None = None
    places: Places | None = None

    def take(self, rows: Any) -> Identities:
        """Those of some rows."""
        return Identities(self.keys[rows], self.hashes[rows], self.names, None if self.places is None else self.places[rows])

    def words(self, key: bytes) -> Words:
        """For every row a word that is a pseudorandom function of its id, under ``key``.

        Proof: a small whole number n is the block (n, 1) of AES, one-to-one, and any other id is its keyed BLAKE2b; which
        of the two depends on the id alone. Under a key that is secret and uniform the words of different people are
        independent and uniform as far as neither can be told from a random function, however the ids were chosen: no
        two ids can be found, other than by chance, that are always drawn together. The public hash would not do: it is
        one-to-one on whole numbers and can be turned back, so an id can be chosen that meets another's.
        """
        if self.names is None or self.places is None:
            return cipher_words(key, self.keys.view(np.uint64), _DRAWN)
        used, place = np.unique(self.places, return_inverse=True)
        return np.array([_word(self.names[i], key) for i in used.tolist()], np.uint64)[place]


def identities(column: Column, salt: int, missing: Collection[str] = ()) -> Identities:
    """Who each row belongs to.

    The hash of a person is the same on every engine and in every process. Keys, not hashes, decide who is one person:
    two people whose hashes agree would otherwise share one allowance of rows, and one could push out the other's.
    Rows without an id get the key ``NO_ID``; they are nobody's, and count for nothing. A small whole number is its own key
    whatever other ids there are, and the others are numbered as they appear: one person's id changes no order of others.
    """
    column = cell_meaning.arrow(column)
    nobody = {word.encode() for word in missing}
    whole = _whole(column)
    if whole is not None:
        gone = [int(word) for word in nobody if _WHOLE_NAME.fullmatch(word)]
        whole = np.where(np.isin(whole, gone), NO_ID, whole) if gone else whole
        return Identities(whole, hash_whole(whole, salt))
    values, index = cell_meaning.distinct(column)
    known: dict[bytes | None, int] = {None: NO_ID}
    names = [*(None if name in nobody else name for name in map(identity, values)), None]
    for name in names:
        if name is not None and name not in known:
            known[name] = int(name) if _WHOLE_NAME.fullmatch(name) else _FIRST_NAME + len(known)
    keys = np.array([known[name] for name in names], np.int64)
    hashes = np.array([_hash_id(name, salt) for name in names], np.uint64)
    return Identities(keys[index], hashes[index], names, index)


def identity(cell: Any) -> bytes | None:
    """The canonical form of one id, None where the cell is none."""
    if isinstance(cell, str):
        return str(cell).encode("utf-8", "surrogatepass") or None
    if isinstance(cell, bytes | bytearray | memoryview):
        return bytes(cell) or None
    if not isinstance(cell, _IDS):
        return None
    text = cell_meaning.label(cell)
    return None if text is None else text.encode()


def whole_names(names: list[bytes | None]) -> tuple[Keys, Places, list[tuple[bytes, int]]]:
    """The ids among ``names`` that are small whole numbers, with their places; and the others with theirs."""
    places = [place for place, name in enumerate(names) if name is not None and _WHOLE_NAME.fullmatch(name)]
    small = np.array([int(names[place] or 0) for place in places], np.int64)
    known = set(places)
    others = [(name, place) for place, name in enumerate(names) if name is not None and place not in known]
    return small, np.array(places, np.intp), others


def check_kind(kind: Any) -> None:
    """Refuse an Arrow type of a person column whose cells have no one form: the schema of a table is public."""
    inner = kind.value_type if pa.types.is_dictionary(kind) else kind
    tests = (
        cell_meaning.is_text, cell_meaning.is_bytes, pa.types.is_integer, pa.types.is_floating, pa.types.is_boolean,
        pa.types.is_decimal, pa.types.is_date, pa.types.is_timestamp, pa.types.is_time, pa.types.is_null,
    )  # fmt: skip
    if not any(test(inner) for test in tests):
        raise InvalidRequest(f"a person column must hold text, bytes, numbers, dates or times, got {kind}; convert it first")


def hash_whole(values: Keys, salt: int) -> Words:
    """A salted hash of whole numbers; one-to-one, so two of them never meet."""
    return mix(values.view(np.uint64) + np.uint64(salt & (2**64 - 1)))


def mix(words: Words) -> Words:
    """The finaliser of SplitMix64 (Steele, Lea and Flood 2014): a one-to-one scrambling of 64-bit words."""
    words = (words ^ (words >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    words = (words ^ (words >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return words ^ (words >> np.uint64(31))


def cipher_words(key: bytes, inputs: Words, stream: int = 0) -> Words:
    """One pseudorandom word per input: AES of (input, stream) under the key, the first half of each block."""
    blocks = np.empty((len(inputs), 2), np.uint64)
    blocks[:, 0] = inputs
    blocks[:, 1] = stream
    # One block per input is the cipher as a plain function, which is what is wanted here: nothing is being hidden.
    cipher = Cipher(algorithms.AES(key), modes.ECB()).encryptor()  # noqa: S305
    return np.frombuffer(cipher.update(blocks.tobytes()), np.uint64)[::2]


def _whole(column: Column) -> Keys | None:
    """The ids as whole numbers of at most 18 digits, or None where some id is something else."""
    if isinstance(column, np.ndarray):
        return None
    if cell_meaning.is_text(column.type) or cell_meaning.is_bytes(column.type):
        try:
            column = column if pa.types.is_string(column.type) else cell_meaning.as_bytes(column).cast(pa.large_string())
            column = pc.if_else(pc.equal(column, ""), pa.scalar(None, column.type), column)
            if not pc.all(pc.match_substring_regex(column, _SMALL_WHOLE), min_count=0).as_py():
                return None
        except pa.ArrowInvalid:  # not UTF-8: an id that is no number
            return None
    elif not pa.types.is_integer(column.type) or column.type == pa.uint64():
        return None
    column = column.cast(pa.int64())
    smallest, largest = (side.as_py() for side in pc.min_max(column).values())
    if smallest is not None and not -WHOLE_LIMIT < smallest <= largest < WHOLE_LIMIT:
        return None
    keys: Keys = column.fill_null(NO_ID).to_numpy(zero_copy_only=False)
    return keys


def _hash_id(name: bytes | None, salt: int) -> int:
    if name is None:
        return int(hash_whole(np.array([NO_ID]), salt)[0])
    if _WHOLE_NAME.fullmatch(name):
        return int(hash_whole(np.array([int(name)]), salt)[0])
    return _keyed(name, (salt & (2**64 - 1)).to_bytes(8, "little"))


def _word(name: bytes | None, key: bytes) -> int:
    if name is None or _WHOLE_NAME.fullmatch(name):
        number = np.array([NO_ID if name is None else int(name)], np.int64)
        return int(cipher_words(key, number.view(np.uint64), _DRAWN)[0])
    return _keyed(name, key)


def _keyed(name: bytes, key: bytes) -> int:
    return int.from_bytes(hashlib.blake2b(name, digest_size=8, key=key).digest(), "little")
