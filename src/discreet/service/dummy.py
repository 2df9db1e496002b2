"""A table made up from a schema alone: what questions are rehearsed on, and what the service is calibrated with.

Every column is drawn evenly from what is declared, each by itself. Nothing of it comes from a record.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from discreet.core.categories import Categories
from discreet.core.dates_and_times import Date
from discreet.core.random import Random
from discreet.core.schema import Schema

_WORDS = ("one", "two", "three")  # stand for labels that are private, and for text
_STEPS = 1 << 20


def table(schema: Schema, rows: int, seed: int = 0) -> dict[str, Any]:
    """``rows`` rows under a schema, as columns; every person has as many rows as count."""
    noise = Random(seed=seed)
    made = {name: _column(schema.columns[name], rows, noise) for name in schema.stored}
    if schema.person is not None:
        made[schema.person] = np.arange(rows) // (schema.max_rows or 1)
    return made


def _column(declared: Any, rows: int, noise: Random) -> Any:
    drawn = noise.words(rows)
    if isinstance(declared, Categories):
        labels = list(declared.labels) or list(_WORDS)
        return np.array(labels, object)[(drawn % np.uint64(len(labels))).astype(np.intp)]
    lo, hi = float(declared.lo), float(declared.hi)
    steps = min(hi - lo, _STEPS) if declared.type == "integer" else _STEPS
    numbers = lo + (hi - lo) / (steps or 1) * (drawn % np.uint64(int(steps) + 1))
    if isinstance(declared, Date):
        return np.array([declared.written(float(np.floor(each))) for each in numbers], object)
    return np.rint(numbers) if declared.type == "integer" else numbers
