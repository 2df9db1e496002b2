"""Record batches that arrive one after another, cut where a person ends."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np
import pyarrow as pa

from discreet.sources import cell_meaning
from discreet.sources.batch import Batch, Rules
from discreet.sources.ids import identities


def plain(arrived: Iterable[Any], rules: Rules, stream: int = 0) -> Iterator[Batch]:
    """Record batches as they come, with the number of their first row."""
    start = 0
    for found in arrived:
        yield Batch(rules, _columns(found), found.num_rows, None, start, stream)
        start += found.num_rows


def whole_people(arrived: Iterable[Any], rules: Rules, rows: int) -> Iterator[Batch]:
    """Batches of about ``rows`` records with whole people in them.

    What arrives must be in the order of the id, so that the rows of a person follow one another; what follows the
    last change of person waits for the next arrival. A single person with very many rows is held in memory at once.
    """
    person = rules.schema.person
    held: list[Any] = []
    count, limit = 0, rows
    for found in arrived:
        held.append(found)
        count += found.num_rows
        if count < limit:
            continue
        table = pa.Table.from_batches(held).combine_chunks()
        who = identities(table[person], rules.salt, rules.schema.dialect.missing)
        changes = np.flatnonzero(who.keys[1:] != who.keys[:-1])
        if not len(changes):
            held, limit = table.to_batches(), 2 * count  # doubling: the rows of a long person are joined few times
            continue
        cut = int(changes[-1]) + 1
        yield Batch(rules, _columns(table.slice(0, cut)), cut, identities=who.take(slice(0, cut)))
        held, limit = table.slice(cut).to_batches(), rows
        count -= cut
    if count:
        table = pa.Table.from_batches(held).combine_chunks()
        yield Batch(rules, _columns(table), count)


def guarded(arrived: Iterator[Any], refusal: Callable[[], Exception]) -> Iterator[Any]:
    """What a reader hands out; whatever goes wrong in it is not a record's fault, and is told in our own words alone."""
    while True:
        try:
            found = next(arrived)
        except StopIteration:
            return
        except Exception:
            raise refusal() from None
        yield found


def _columns(found: Any) -> dict[str, Any]:
    return {name: cell_meaning.arrow(found.column(name)) for name in found.schema.names}
