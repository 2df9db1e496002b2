"""Rows in a new order before a copy leaves: two partners who got the same table cannot join their copies by position.

Every row gets a number of 64 bits from AES-256 in counter mode under a fresh random key, and the rows are sorted by it.
A copy that does not fit in memory is split by the first bits of that number into files, which are sorted one by one;
they are encrypted under keys that are only in memory.

Proof that every order is equally likely: the numbers are independent and uniform, as far as AES is a pseudo-random
function, so any two assignments of them to rows are, and sorting maps each order to as many assignments as any other; two
of n rows share a number with probability below n^2 / 2^65, and then keep their order among themselves. Splitting by the
first bits and sorting the parts is sorting.
"""

from __future__ import annotations

import hashlib
import itertools
import os
from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any, Literal, get_args

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from discreet.errors import InvalidRequest
from discreet.protect.reach import enough_room
from discreet.sources.spill import spill_folder

Order = Literal["shuffled", "kept"]
MEMORY = 1 << 28  # bytes of rows that are put in order without a file
_FILES = 64


class Shuffle:
    """A source of random order; ``seed`` is for tests, as an order that can be made again protects nobody."""

    def __init__(self, order: Order = "shuffled", seed: int | None = None) -> None:
        if order not in get_args(Order):
            raise InvalidRequest(f"order must be {' or '.join(map(repr, get_args(Order)))}, got {order!r}")
        if seed is not None and (isinstance(seed, bool) or not isinstance(seed, int)):
            raise InvalidRequest(f"seed must be a whole number, and is for tests only, got {seed!r}")
        self.kept = order == "kept"
        self.key = os.urandom(32) if seed is None else hashlib.sha256(f"discreet order {seed}".encode()).digest()
        self._stream = _cipher(self.key)

    def numbers(self, rows: int) -> npt.NDArray[np.uint64]:
        """The next numbers, one for each row."""
        return np.frombuffer(self._stream.update(bytes(8 * rows)), np.uint64)

    def places(self, rows: int) -> npt.NDArray[np.int64]:
        """All rows in a random order."""
        return np.argsort(self.numbers(rows), kind="stable").astype(np.int64)

    def table(self, rows: pa.Table) -> pa.Table:
        """The rows of an Arrow table in a random order, or as they are."""
        return rows if self.kept else _taken(rows, self.places(rows.num_rows))

    def stream(self, arriving: Iterator[pa.Table]) -> Iterator[pa.Table]:
        """Rows that arrive some at a time, all in one random order, or as they are."""
        if self.kept:
            yield from arriving
            return
        here: list[pa.Table] = []
        size = 0
        for batch in arriving:
            here.append(batch)
            size += batch.nbytes
            if size > MEMORY:
                yield from self._large(here, arriving)
                return
        if here:
            yield self.table(pa.concat_tables(here, promote_options="permissive"))

    def _large(self, here: list[pa.Table], arriving: Iterator[pa.Table]) -> Iterator[pa.Table]:
        with enough_room("putting rows in a new order"), spill_folder() as folder:
            files = [_Sealed(os.path.join(folder, str(number))) for number in range(_FILES)]
            with ExitStack() as stack:
                sinks: list[Any] = []
                for batch in itertools.chain(here, arriving):
                    rows = batch.append_column(_NUMBER, pa.array(self.numbers(batch.num_rows)))
                    if not sinks:
                        sinks = [stack.enter_context(pa.ipc.new_stream(stack.enter_context(f), rows.schema)) for f in files]
                    buckets = (rows.column(_NUMBER).to_numpy() >> np.uint64(58)).astype(np.int64)
                    order = np.argsort(buckets, kind="stable")
                    edges = np.searchsorted(buckets[order], np.arange(_FILES + 1))
                    for number, sink in enumerate(sinks):
                        chosen = order[edges[number] : edges[number + 1]]
                        if len(chosen):
                            sink.write_table(_taken(rows, chosen).combine_chunks())
            for file in files:
                with file.reader() as stored, pa.ipc.open_stream(stored) as stream:
                    rows = stream.read_all()
                os.unlink(file.path)
                order = np.argsort(rows.column(_NUMBER).to_numpy(), kind="stable")
                yield _taken(rows.drop_columns([_NUMBER]), order)


_NUMBER = "number drawn by discreet"  # a name that no column of a user has


def _taken(rows: pa.Table, places: npt.NDArray[np.int64]) -> pa.Table:
    return forgotten(rows.unify_dictionaries().take(pa.array(places)))


def forgotten(rows: pa.Table) -> pa.Table:
    """The same rows, with the values of every dictionary in the order in which these rows have them.

    A dictionary usually lists its values as they first came, which is the old order of the rows: two copies with a column
    each whose values hardly repeat could be joined by it. One that says that its order means something keeps it.
    """
    rows = rows.combine_chunks()
    for place, column in enumerate(rows.schema):
        if pa.types.is_dictionary(column.type) and not column.type.ordered:
            made = pa.chunked_array([_renumbered(chunk) for chunk in rows.column(place).chunks], column.type)
            rows = rows.set_column(place, column, made)
    return rows


def _renumbered(chunk: pa.Array) -> pa.Array:
    used = pc.unique(chunk.indices.drop_null())
    places = pc.index_in(chunk.indices, used).cast(chunk.type.index_type)
    return pa.DictionaryArray.from_arrays(places, pc.take(chunk.dictionary, used))


def _cipher(key: bytes) -> Any:
    from cryptography.hazmat.primitives.ciphers import Cipher
    from cryptography.hazmat.primitives.ciphers.algorithms import AES256
    from cryptography.hazmat.primitives.ciphers.modes import CTR

    return Cipher(AES256(key), CTR(bytes(16))).encryptor()


class _Sealed:
    """A file that is written once and read once, under a key of its own that nobody else ever sees."""

    closed = False

    def __init__(self, path: str) -> None:
        self.path = path
        self._key = os.urandom(32)
        self._stream = _cipher(self._key)
        self._file = open(path, "xb")  # noqa: SIM115  closed by ``close``

    def write(self, data: Any) -> int:
        return self._file.write(self._stream.update(bytes(data)))

    def flush(self) -> None:
        self._file.flush()

    def close(self) -> None:
        self._file.close()
        self.closed = True

    def __enter__(self) -> _Sealed:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def reader(self) -> Any:
        """The content again, from its start; the counter mode is its own inverse."""
        return pa.PythonFile(_Opened(self.path, _cipher(self._key)), mode="r")


class _Opened:
    """The reading side of a sealed file."""

    closed = False

    def __init__(self, path: str, stream: Any) -> None:
        self._stream = stream
        self._file = open(path, "rb")  # noqa: SIM115  closed by ``close``

    def read(self, size: int = -1) -> bytes:
        return bytes(self._stream.update(self._file.read(size)))

    def close(self) -> None:
        self._file.close()
        self.closed = True
