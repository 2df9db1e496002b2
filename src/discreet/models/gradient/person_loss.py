"""A loss that somebody else wrote, of one person's rows: its gradients, shortened person by person, in whole numbers.

``jax_loss`` and ``torch_loss`` make one of a function of (parameters, row, target). A person's loss is the weighted sum over
the person's rows, so that a gradient is the person's whatever the number of rows.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.core import numbers
from discreet.core.cost import Distance
from discreet.core.query import Relation, queries
from discreet.core.source import Batch, Source
from discreet.errors import InvalidRequest, UnsupportedFormat
from discreet.models.gradient.lot_gradient import SLACK, Gathered, check_clip, gather, ordered, picked
from discreet.models.gradient.rows_table import RowsTable
from discreet.models.gradient.trainable import StepQuery, Trainable

if TYPE_CHECKING:
    from discreet.models.design import Design

BITS = 28  # a shortened gradient is rounded to this many bits of the clip norm
MOST = 1 << 26  # parameters
_TOGETHER = 1 << 22  # people whose whole numbers are added up in doubles, all of them below 2**53

Shortened = Callable[[Any, Any, Any, Any, float, float], Any]


@dataclass(frozen=True, eq=False)
class PersonLoss(Trainable):
    """A loss with ``size`` parameters. Two of them are the same for a checkpoint if title and size are.

    ``shortened(flat, x, y, weight, clip, unit)`` takes the rows of people, ``x[i, j]`` being row j of person i, and returns
    the sum over people of round(gradient * min(1, clip / norm) / unit); a person whose gradient is not finite adds nothing.
    ``restore`` makes of a flat vector what the author of the loss calls parameters.
    """

    title: str
    size: int
    first: Any = field(default=None, compare=False, repr=False)
    shortened: Shortened | None = field(default=None, compare=False, repr=False)
    restore: Callable[[Any], Any] | None = field(default=None, compare=False, repr=False)

    def __post_init__(self) -> None:
        if not isinstance(self.size, int) or not 1 <= self.size <= MOST:
            raise InvalidRequest(f"a loss must have between 1 and {MOST} parameters, got {self.size}")

    def start(self, key: int) -> Any:
        """The parameters that were given, whatever the key: they are public."""
        return np.array(self.first, np.float64)

    def question(self, design: Design | None, clip: Fraction, lot: float = 0) -> PersonGradients:
        if self.shortened is None:
            raise UnsupportedFormat(f"the loss {self.title!r} is somebody's own; a document does not hold its function")
        return PersonGradients(self.title, self.size, clip, design, self)


def gradient_loss(gradient: Callable[[Any, Any, Any], Any], start: Any, *, title: str | None = None) -> PersonLoss:
    """A loss known by ``gradient(parameters, x, y)`` of one row, in NumPy or anything else: called row by row, so slow.

    ``start`` is a vector of public first parameters, as long as what ``gradient`` returns.
    """
    first = np.array(start, np.float64).reshape(-1)

    def shortened(flat: Any, x: Any, y: Any, weight: Any, clip: float, unit: float) -> Any:
        total = np.zeros(len(first))
        with np.errstate(all="ignore"):
            for rows, goals, weights in zip(x, y, weight, strict=True):
                found = np.zeros(len(first))
                for row, goal, factor in zip(rows, goals, weights, strict=True):
                    found += factor * np.asarray(gradient(flat, row, goal), np.float64)
                square = float(found @ found)
                if np.isfinite(square):
                    total += np.rint(found * (min(1.0, clip / np.sqrt(square)) / unit if square else 0.0))
        return total

    return PersonLoss(title or str(getattr(gradient, "__name__", "gradient")), len(first), first, shortened, np.array)


@queries("person_gradients")
@dataclass(frozen=True)
class PersonGradients(StepQuery):
    """The sum over people of the gradient of their loss, shortened to the norm ``clip``, in whole numbers of a fine unit.

    The unit is 2**-28 of the power of two above ``clip``. ``weights``, the current parameters, are public.

    ``distance``: L2 is clip under add/remove and twice that under replace and both, times 1 + 2**-15.

    Proof: whatever precision the loss is computed in, what it returns for a person is some vector that is a function of
    the person's rows, of public parameters and of a place drawn independently of everybody: a program of one fixed shape
    computes it, tried on this machine to give a person the same in every place of a block, or, where places are drawn, in
    any company (see ``places_drawn``); and where it does neither people are computed one by one (see ``JaxBlocks``).
    That vector is measured in doubles: the computed norm of at most 2**26 numbers is right to 2**-26, what overflows
    is not finite and adds nothing, and what underflows is below 2**-500 of any clip. So the shortened vector has a norm
    of at most clip (1 + 2**-25), and rounding each of its numbers to the unit adds at most sqrt(2**26) / 2 units,
    which is 2**-15 / 2 clip at the most. From there on numbers are whole and sums are exact: the order of people, blocks,
    files and workers changes nothing, and one person moves the sum by what the person adds.
    """

    title: str
    parameters: int
    clip: Fraction
    design: Any = field(default=None, compare=False, repr=False)
    loss: Any = field(default=None, compare=False, repr=False)
    weights: Any = field(default=None, compare=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "clip", check_clip(self.clip))

    @property
    def described(self) -> bool:
        """A document has the title of the loss, and not its function."""
        return False

    def at(self, weights: Any) -> PersonGradients:
        return PersonGradients(self.title, self.parameters, self.clip, self.design, self.loss, weights)

    @property
    def unit(self) -> float:
        """The grid of a shortened gradient."""
        return float(np.ldexp(1.0, int(np.frexp(float(self.clip))[1]) - BITS))

    @property
    def columns(self) -> tuple[str, ...]:
        return () if self.design is None else self.design.columns

    @property
    def step_key(self) -> Any:
        return id(self)

    def distance(self, relation: Relation) -> Distance:
        far = self.clip * (1 + SLACK) * (1 if relation == "add_remove" else 2)
        return Distance(far * numbers.square_root_up(Fraction(self.parameters)), far, far)

    def step(self, batch: Batch) -> Any:
        rows = ordered(self.design.block(batch))
        return self._whole(rows.x, _targets(self.design, rows.y), rows.weight, rows.people)

    def combine(self, left: Any, right: Any) -> Any:
        return left + right

    def finish(self, total: Any) -> Any:
        return total * self.unit

    def blank(self, rows: int) -> Any:
        return np.zeros(self.parameters)

    def gather(self, source: Source) -> Gathered | None:
        if self.design is None:
            assert isinstance(source, RowsTable)
            return source.rows
        made = gather(self.design, source, 0)
        return (
            None
            if made is None
            else Gathered(made.x, _targets(self.design, made.y), made.weight, made.starts, made.people, None)
        )

    def of_lot(self, gathered: Gathered, chosen: Any | None) -> Any:
        return self.finish(self._whole(*picked(gathered, chosen)))

    def _whole(self, x: Any, y: Any, weight: Any, people: Any) -> Any:
        """Whole numbers: people as an axis of their own, filled up with rows that weigh nothing."""
        total = np.zeros(self.parameters, np.int64)
        weight = np.ones(len(x)) if weight is None else weight
        starts = (
            np.arange(len(x)) if people is None else np.flatnonzero(np.append(True, people[1:] != people[:-1])[: len(x)])
        )
        counts = np.diff(np.append(starts, len(x)))
        for rows in np.unique(counts).tolist():
            mine = starts[counts == rows]
            for begin in range(0, len(mine), _TOGETHER):
                index = mine[begin : begin + _TOGETHER, None] + np.arange(rows)
                summed = self.loss.shortened(self.weights, x[index], y[index], weight[index], float(self.clip), self.unit)
                total += np.asarray(summed, np.float64).astype(np.int64)
        return total


def _targets(design: Any, y: Any) -> Any:
    """Classes as their places 0, 1, ..., numbers as the design scales them."""
    classes = design.target.classes
    if not classes:
        return y
    return (y > 0).astype(np.int64) if len(classes) == 2 else y.astype(np.int64)
