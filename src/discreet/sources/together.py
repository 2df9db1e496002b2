"""Rows of one person brought together, however they arrive: divided on disk by a hash of the id, in bounded memory.

Arrivals are held until they fill a share of the memory; such a *run* is divided into parts by the salted hash of the
canonical id and, where it is not the last one, written to a private folder, part by part. Then part after part is read from
all runs: a part holds whole people, because the hash is a function of the id alone, and is cut where a person ends.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from discreet.errors import InvalidRequest
from discreet.sources import cell_meaning
from discreet.sources.batch import Batch, Rules
from discreet.sources.ids import identities
from discreet.sources.spill import spill_folder

_PARTS_BITS = 8  # 256 parts: a table of 2**27 rows has half a million in each
_PARTS = 1 << _PARTS_BITS
_SHARE = 12  # a run, its copy in order and what is being read together stay within the memory
_UNITS = {"KB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12}


def whole_people(arrived: Iterable[Any], rules: Rules, rows: int, memory: str) -> Iterator[Batch]:
    """Batches of about ``rows`` records with whole people in them, of record batches in any order.

    A single person with very many rows is held in memory at once.
    """
    limit = max(1, size_of(memory) // _SHARE)
    held: list[Any] = []
    size = 0
    with ExitStack() as stack:
        # One thread beside this one: it reads and divides ahead while this one computes.
        beside = stack.enter_context(ThreadPoolExecutor(1))
        runs: list[Any] = []
        folder: Path | None = None
        for found in _ahead(arrived, beside):
            held.append(found)
            size += found.nbytes
            if size < limit:
                continue
            folder = folder or Path(stack.enter_context(spill_folder()))
            runs.append(stack.enter_context(_written(_run(held, rules), folder / f"{len(runs)}.arrow")))
            held, size = [], 0
        last = _run(held, rules) if held else None
        del held
        parts = (_part(runs, last, part) for part in range(_PARTS)) if runs else iter([_all(last)])
        ready = (_people(part, rules) for part in parts if part is not None and part.num_rows)
        for table, who, order in _ahead(ready, beside):
            yield from _cut(table, who, order, rules, rows)


def size_of(memory: str) -> int:
    """A number of bytes written as in ``"400MB"``."""
    number, unit = memory[:-2], memory[-2:].upper()
    try:
        size = float(number) * _UNITS[unit]
    except (KeyError, ValueError):
        size = 0
    if not 1 <= size < 2**63:
        raise InvalidRequest(f"memory must be written as in '400MB', got {memory!r}")
    return int(size)


def _ahead(made: Iterable[Any], beside: ThreadPoolExecutor) -> Iterator[Any]:
    """The same, with the next one made by the thread beside."""
    source = iter(made)
    end = object()
    waiting = beside.submit(next, source, end)
    try:
        while (found := waiting.result()) is not end:
            waiting = beside.submit(next, source, end)
            yield found
    finally:
        waiting.cancel()
        if not waiting.cancelled():
            waiting.exception()  # what it was doing is finished before its files are closed


def _run(held: list[Any], rules: Rules) -> list[Any]:
    """Record batches divided by the hash of the person: one table for each part."""
    table = pa.Table.from_batches(held).combine_chunks()  # one chunk is taken from ten times as fast as many
    who = identities(table[rules.schema.person], rules.salt, rules.schema.dialect.missing)
    parts = (who.hashes >> np.uint64(64 - _PARTS_BITS)).astype(np.uint8)
    order = np.argsort(parts, kind="stable")  # of bytes: a radix sort
    ends = np.cumsum(np.bincount(parts, minlength=_PARTS))
    ordered = table.take(pa.array(order))
    return [ordered.slice(start, end - start) for start, end in zip([0, *ends[:-1]], ends, strict=True)]


def _written(parts: list[Any], path: Path) -> Any:
    """A run on disk: one record batch for each part, read from there one by one."""
    with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_file(sink, parts[0].schema) as writer:
        for part in parts:
            batches = part.to_batches()
            empty = pa.RecordBatch.from_pylist([], schema=part.schema)
            writer.write_batch(batches[0] if batches else empty)
    return pa.ipc.open_file(pa.OSFile(str(path), "rb"))


def _part(runs: list[Any], last: list[Any] | None, part: int) -> Any:
    found = [pa.Table.from_batches([run.get_batch(part)]) for run in runs]
    return pa.concat_tables([*found, last[part]] if last is not None else found)


def _all(last: list[Any] | None) -> Any:
    return None if last is None else pa.concat_tables(last)


def _people(table: Any, rules: Rules) -> tuple[Any, Any, Any]:
    """A table of whole people, who they are, and the order in which each one's rows follow one another."""
    who = identities(table[rules.schema.person], rules.salt, rules.schema.dialect.missing)
    return table, who, np.argsort(who.keys)


def _cut(table: Any, who: Any, order: Any, rules: Rules, rows: int) -> Iterator[Batch]:
    """Batches of about ``rows`` records of a table of whole people."""
    columns = {name: cell_meaning.arrow(table.column(name)) for name in table.schema.names}
    people = who.take(order)
    ends = np.append(np.flatnonzero(people.keys[1:] != people.keys[:-1]) + 1, len(order))
    start = 0
    while start < len(order):
        # The last person to begin within the step goes in whole.
        stop = int(ends[np.searchsorted(ends, min(start + rows, len(order)))])
        yield Batch(rules, columns, stop - start, order[start:stop], identities=people.take(slice(start, stop)))
        start = stop
