"""Who is chosen: the rows a person keeps, the parts of a split, the people of a sample.

Every choice is a function of public parameters, a key, and the one thing that is chosen (a person's hash or a row's
position); never of the order of rows or of where a batch ends.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from itertools import pairwise
from typing import Literal

import numpy as np
import numpy.typing as npt

from discreet.sources.ids import Identities, Keys, Words, cipher_words, mix

Mask = npt.NDArray[np.bool_]
Values = Callable[[npt.NDArray[np.intp]], Sequence[Keys]]  # some rows as whole numbers, one array per column
ALL = 1 << 64  # one more than the largest word
DEFAULT_SALT = 0x64697363726565746C79  # a fixed public number: capping need not be secret, only arbitrary


def smallest_rows(keys: Keys, hashes: Words, most: int, values: Values, stored: Values) -> Mask:
    """Which rows are kept: of every person the ``most`` rows with the smallest hash of their codes.

    ``values`` gives the codes of some rows, one array per column, and is asked only for people with too many rows;
    ``stored`` gives what is behind the codes, and is asked only for rows whose codes are equal. The person's own hash goes
    into the hash of a row, so that different people keep different values: with one hash for all, the same values would
    win everywhere and statistics over what is kept would be biased.

    Proof: a person's rows are ordered by (hash, codes, stored values). Rows that tie in all have equal values in every
    column asked for, so which of them is kept cannot be seen in those columns, by whatever bounds or edges they are read:
    codes alone would not do, because values beyond the declared bounds have one code and lie in several bins of a wider
    question. The multiset of kept values is therefore a function of the person's own rows as a multiset: it does not
    depend on the order of rows, on batches (a batch holds whole people), or on anyone else's rows; and at most ``most``
    rows of one person are kept.
    """
    kept = np.ones(len(keys), bool)
    if len(keys) <= most:
        return kept
    sorted_already = not (keys[1:] < keys[:-1]).any()  # files and tables with people deliver them in order
    order = np.arange(len(keys)) if sorted_already else np.argsort(keys)
    ordered = keys[order]
    starts = np.flatnonzero(np.append(True, ordered[1:] != ordered[:-1]))
    sizes = np.diff(np.append(starts, len(keys)))
    crowded = sizes > most
    if not crowded.any():
        return kept
    rows = order[np.repeat(crowded, sizes)]
    codes = values(rows)
    sizes = sizes[crowded]
    groups = np.repeat(np.arange(len(sizes), dtype=np.uint64), sizes)
    ranked = _ranked(groups, row_hashes(codes, hashes[rows]), codes, lambda some: stored(rows[some]))
    first = np.repeat(np.cumsum(sizes) - sizes, sizes)
    kept[rows[ranked[np.arange(len(rows)) - first >= most]]] = False
    return kept


def _ranked(groups: Words, hashes: Words, codes: Sequence[Keys], stored: Values) -> npt.NDArray[np.intp]:
    """The order by (group, hash, codes, stored). A word of group and leading bits of the hash nearly always decides it."""
    bits = max(1, int(groups[-1]).bit_length())
    words = groups << np.uint64(64 - bits) | hashes >> np.uint64(bits)
    ranked = np.argsort(words)
    ties = np.flatnonzero(words[ranked[1:]] == words[ranked[:-1]])
    if not len(ties):
        return ranked
    one, other = ranked[ties], ranked[ties + 1]
    if any((column[one] != column[other]).any() for column in (hashes, *codes)):
        ranked = np.lexsort((*codes, hashes, groups))
        same = np.logical_and.reduce([c[ranked[1:]] == c[ranked[:-1]] for c in (groups, hashes, *codes)])
        one, other = ranked[:-1][same], ranked[1:][same]
    if any((left != right).any() for left, right in zip(stored(one), stored(other), strict=True)):
        ranked = np.lexsort((*stored(np.arange(len(groups))), *codes, hashes, groups))
    return ranked


def row_hashes(codes: Sequence[Keys], start: Words) -> Words:
    """A 64-bit hash of each row's codes, in the order of the columns given."""
    words = mix(start)
    for column in codes:
        words = mix(words ^ mix(column.view(np.uint64)))
    return words


def public_key(salt: int, depth: int) -> bytes:
    """The key of a split by person: a function of the salt, another one for every split of a split."""
    return blake2b(f"discreet split {salt} {depth}".encode(), digest_size=16).digest()


def smallest_pairs(people: Keys, hashes: Words, codes: Keys, names: Sequence[str], most: int) -> tuple[Keys, Keys]:
    """Every person with each of their values once, ``most`` of them at most: those with the smallest salted hashes.

    ``codes`` are places in ``names``, the text of the values; which values of a person count does not depend on these
    places, on the order of rows or on anybody else.
    """
    count = max(1, len(names))
    pairs, first = np.unique(people * count + codes, return_index=True)
    person, code = np.divmod(pairs, count)
    if not person.size or np.bincount(person).max() <= most:
        return person, code
    words = [int.from_bytes(blake2b(name.encode(), digest_size=8).digest(), "little") for name in names]
    order = np.lexsort((code, mix(hashes[first] ^ mix(np.array(words, np.uint64)[code])), person))
    starts = np.flatnonzero(np.append(True, person[order][1:] != person[order][:-1]))
    rank = np.arange(len(order)) - np.repeat(starts, np.diff(np.append(starts, len(order))))
    kept = order[rank < most]
    return person[kept], code[kept]


@dataclass(frozen=True)
class Choice:
    """Part of the people: those whose word lies in ``[lo, hi)``, or whose row number is ``lo`` modulo ``hi``.

    ``by`` is what is chosen: a person (by a keyed hash of the id), a row (by its number in the table), the values of a
    row, or the remainder of a row's number.

    Proof: the ranges of a split divide all 64-bit words, so every person or row is in exactly one part, which is found
    from that person's id (or that row's number and the key) alone. By person: adding, removing or changing the rows
    of one person touches the part of that id only. By row: the words are independent and uniform, so when a row is
    added or removed the others can keep the words they have without a change of law, and one part changes; when a row
    is replaced its number stays, and one part changes. By remainder: the same under replace, with public part sizes.
    By values: adding or removing a row touches the part its own values send it to; replacing one may touch two, so
    it is offered under add/remove only. A sample takes each person or row with probability ``hi`` / 2**64,
    independently, because its key is secret and made for it: see ``Identities.words`` for people; the numbers of rows
    are all different. The key of a split by person is public: its parts have to be disjoint, not independent.
    """

    by: Literal["person", "row", "values", "remainder"]
    key: bytes
    lo: int
    hi: int

    def mask(self, inputs: Words | Identities, stream: int = 0) -> Mask:
        """Which of the people, rows or values (one word each) are chosen."""
        if isinstance(inputs, Identities):
            words = inputs.words(self.key)
        elif self.by == "remainder":
            remainder: Mask = inputs % np.uint64(self.hi) == np.uint64(self.lo)
            return remainder
        else:
            words = cipher_words(self.key, inputs, stream)
        chosen: Mask = words >= np.uint64(self.lo)
        if self.hi < ALL:
            chosen &= words < np.uint64(self.hi)
        return chosen

    def describe(self) -> str:
        """For the version of a source; the key is secret where it is random, so only its digest is said."""
        return f"{self.by} {blake2b(self.key, digest_size=16).hexdigest()} {self.lo} {self.hi}"


def divide(by: Literal["person", "row", "values", "remainder"], key: bytes, parts: int) -> list[Choice]:
    """The choices of a split into ``parts``."""
    if by == "remainder":
        return [Choice(by, key, part, parts) for part in range(parts)]
    edges = [part * ALL // parts for part in range(parts + 1)]
    return [Choice(by, key, lo, hi) for lo, hi in pairwise(edges)]
