"""Ways to look at outputs: their size, values that come back, their last bits, their shape, and what else a run showed.

A view turns every output into the number of a cell. Cells are drawn up from the first half of the outputs alone, so that
on the second half any set of them is an event that was fixed before.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from discreet.audit.seen import Seen

Array = npt.NDArray[Any]
Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]

_CELLS = 64  # an output that varies continuously is cut into this many cells to learn from
_FEW = 2048  # up to this many different outputs each is a cell of its own
_COORDINATES = 8  # so many coordinates of a vector are looked at by themselves
_NONE = 4096  # the place of the lowest bit of zero, and of what is no number
_LOW = (1 << 62) - 1


@dataclass(frozen=True)
class View:
    """Both inputs' outputs as cells; events are learnt from ``start`` on, what lies before has taught something else."""

    name: str
    cells: tuple[Integers, Integers]
    start: int = 0


def views(seen: list[Seen], half: int, score: Callable[[Any], Any] | None) -> Iterator[View]:
    """Every way in which these outputs can be looked at."""
    if any((one.notes != "").any() for one in seen):
        yield View("errors, warnings and what is printed", _named([one.notes for one in seen], half))
        # The kind of a note, where its text varies.
        kinds = [np.array([" ".join(n.split()[:3]) for n in one.notes.tolist()]) for one in seen]
        yield View("kinds of errors and warnings", _named(kinds, half))
    if score is not None and not any(v is None for one in seen for v in _listed(one.values)):
        given = [np.asarray(score(np.asarray(one.values)), np.float64) for one in seen]
        yield from _sizes(given, half)
    numbers = _numbers(seen)
    if numbers is None:
        yield View("shapes", _named([_shapes(one.values) for one in seen], half))
        yield View("values", _named([_labels(one.values) for one in seen], half))
    elif numbers[0].ndim == 1:
        if score is None:
            yield from _sizes(numbers, half)
        yield from _details(numbers, half)
    else:
        yield from _vectors(numbers, half, score is None)


def _numbers(seen: list[Seen]) -> list[Array] | None:
    """Both inputs' outputs as numbers, or as rows of numbers of one length; None where they are not."""
    made = [_as_numbers(one.values) for one in seen]
    known = [m for m in made if m is not None]
    if len(known) < 2 or known[0].shape[1:] != known[1].shape[1:]:
        return None
    flat = [m.reshape(len(m), -1) if m.ndim > 1 else m for m in known]
    return [m[:, 0] for m in flat] if flat[0].ndim > 1 and flat[0].shape[1] == 1 else flat


def _as_numbers(values: Any) -> Array | None:
    if not isinstance(values, np.ndarray):
        shown = [v for v in values if v is not None]
        if not shown:
            return np.zeros(len(values))
        if len(shown) < len(values):  # runs that raised show no number
            first = np.asarray(shown[0])
            hole = np.full(first.shape, np.nan) if first.dtype.kind in "fiub" else None
            values = [hole if v is None else v for v in values]
    try:
        array = np.asarray(values)
    except ValueError:
        return None
    if array.dtype.kind == "O" and array.ndim == 1 and all(type(v) is int for v in array):
        return array  # whole numbers beyond 64 bits
    return array if array.dtype.kind in "fiub" and array.shape[1:].count(0) == 0 else None


def _listed(values: Any) -> list[Any]:
    """Values that came one by one; those of a batch are all there."""
    return values if isinstance(values, list) else []


def _labels(values: Any) -> Array:
    return np.array([repr(np.asarray(v).tolist() if isinstance(v, np.ndarray) else v) for v in values])


def _shapes(values: Any) -> Array:
    """What kind of thing an output is, and how long."""

    def shape(value: Any) -> str:
        size = (
            np.shape(value)
            if isinstance(value, np.ndarray | np.generic)
            else len(value)
            if hasattr(value, "__len__")
            else ""
        )
        return f"{type(value).__name__} {size}"

    return np.array([shape(v) for v in values])


def _named(outputs: list[Array], half: int) -> tuple[Integers, Integers]:
    """A cell for each output that was seen while learning, and one for all that were not."""
    known = np.unique(np.concatenate([o[:half] for o in outputs]))
    return _pair([_place(o, known, known.size) for o in outputs])


def _pair(cells: list[Any]) -> tuple[Integers, Integers]:
    return cells[0].astype(np.int64), cells[1].astype(np.int64)


def _place(output: Array, known: Array, other: Any) -> Array:
    """Where each output stands among the known ones, which are sorted; ``other`` where it is none of them."""
    index = np.minimum(np.searchsorted(known, output), known.size - 1)
    return np.where(known[index] == output, index, other)


def _sizes(outputs: list[Array], half: int) -> Iterator[View]:
    """How large a number is: few values as they are; many in ranges of equal weight, without and with point masses."""
    exact = [_bits(o) for o in outputs]
    taught = np.concatenate([e[:half] for e in exact])
    known, times = np.unique(taught, return_counts=True)
    if known.size <= _FEW:
        yield View("values", _pair([_place(e, known, known.size) for e in exact]))
        if known.size <= _CELLS:
            return
    real = [np.nan_to_num(o.astype(np.float64), nan=np.inf) for o in outputs]
    edges = np.unique(
        np.quantile(np.concatenate([r[:half] for r in real]), np.linspace(0, 1, _CELLS + 1)[1:-1], method="lower")
    )
    ranges = [np.searchsorted(edges, r, side="right") for r in real]
    yield View("ranges of values", _pair(ranges))
    yield from _masses(exact, known[times > 1], ranges, edges.size + 1)


def _masses(exact: list[Integers], again: Integers, ranges: list[Array] | None, first: int) -> Iterator[View]:
    """Values that came back while learning are cells of their own: a continuous law has none."""
    if again.size:
        rest: list[Any] = [0, 0] if ranges is None else ranges
        yield View("values that come back", _pair([
            np.where((place := _place(e, again, -1)) >= 0, place + first, r) for e, r in zip(exact, rest, strict=True)
        ]))  # fmt: skip


def _details(outputs: list[Array], half: int) -> Iterator[View]:
    """The last bits of numbers: their remainder on the grid they lie on; the place of their lowest bit, with their size."""
    if outputs[0].dtype.kind == "b":
        return
    yield View("lowest bits", _pair([_remainder(o, outputs, half) for o in outputs]))
    yield View("place of the lowest bit", _named([lowest_and_size(o) for o in outputs], half))


def _remainder(output: Array, outputs: list[Array], half: int) -> Integers:
    """Each number in units of the coarsest binary grid that the first halves lie on, modulo 8; 8 for what is no number."""
    if output.dtype.kind != "f":
        return _bits(output) & 7
    places = np.concatenate([lowest_bit(o[:half]) for o in outputs])
    unit = int(min(places.min(), 0) if (places == _NONE).all() else places[places != _NONE].min())
    with np.errstate(over="ignore", invalid="ignore"):
        steps = np.fmod(np.ldexp(output.astype(np.float64), -unit), 8.0)
    return np.where(np.isfinite(steps), np.mod(np.nan_to_num(steps), 8.0), 8).astype(np.int64)


def lowest_and_size(output: Array) -> Integers:
    """Where the lowest bit of a number stands and how large it is, together; of whole numbers the lowest bit alone."""
    if output.dtype.kind == "f":
        real = output.astype(np.float64)
        size = np.clip(np.frexp(np.where(np.isfinite(real), real, 0.0))[1], -60, 60)
        both: Integers = lowest_bit(real) * 128 + size
        return both
    whole = _bits(output)
    return np.where(whole != 0, np.log2(np.maximum(np.abs(whole & -whole), 1)), _NONE).astype(np.int64)


def lowest_bit(values: Any) -> Integers:
    """The exponent of the lowest bit set in each double: coarse where a value was rounded, fine where it was not."""
    flat = np.asarray(values, np.float64)
    mantissa, exponent = np.frexp(np.where(np.isfinite(flat), flat, 0.0))
    whole = np.abs(mantissa * 2.0**53).astype(np.int64)
    lowest = whole & -whole
    place = np.where(whole > 0, np.log2(np.maximum(lowest, 1)), 0).astype(np.int64) + exponent - 53
    return np.where(whole > 0, place, _NONE).astype(np.int64)


def _bits(output: Array) -> Integers:
    """Numbers as 64 bits that are equal where the numbers are: the sign of zero and the kind of NaN tell them apart."""
    if output.dtype.kind == "O":
        return np.array([v & _LOW for v in output], np.int64)
    if output.dtype.kind == "f":
        return np.ascontiguousarray(output, np.float64).view(np.int64)
    return output.astype(np.int64)


def _vectors(outputs: list[Array], half: int, classify: bool) -> Iterator[View]:
    """Vectors by the log-odds of a small classifier, by rows that come back, and coordinate by coordinate."""
    if classify:
        # What taught a classifier looks clearer to it than it is, so those outputs teach nothing else.
        start = max(10, half // 2)
        for view in _sizes(_classified(outputs, start), half):
            yield View(view.name, view.cells, start)
    exact = [_bits(o) for o in outputs]
    mixed = [_mixed(e) for e in exact]
    known, times = np.unique(np.concatenate([m[:half] for m in mixed]), return_counts=True)
    yield from _masses(mixed, known[times > 1], None, 1)
    for i in range(min(outputs[0].shape[1], _COORDINATES)):
        column = [o[:, i] for o in outputs]
        known, times = np.unique(np.concatenate([e[:half, i] for e in exact]), return_counts=True)
        if known.size > _FEW:
            yield from _masses([e[:, i] for e in exact], known[times > 1], None, 1)
        yield from _details(column, half)


def _mixed(rows: Integers) -> Integers:
    """One word for each row, the same for equal rows."""
    word = np.zeros(len(rows), np.uint64)
    with np.errstate(over="ignore"):
        for i in range(rows.shape[1]):
            word = (word ^ rows[:, i].astype(np.uint64)) * np.uint64(0x9E3779B97F4A7C15)
            word ^= word >> np.uint64(29)
    return word.astype(np.int64)


def _classified(outputs: list[Array], quarter: int) -> list[Floats]:
    """Vectors as one number, by a classifier that the first outputs teach."""
    from sklearn.ensemble import HistGradientBoostingClassifier

    values = np.concatenate([o[:quarter] for o in outputs]).astype(np.float64)
    labels = np.repeat([0, 1], quarter)
    model = HistGradientBoostingClassifier(max_iter=40, max_leaf_nodes=15, random_state=0).fit(values, labels)
    return [model.decision_function(o.astype(np.float64)) for o in outputs]
