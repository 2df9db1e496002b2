"""The question every step puts to a lot of people: the sum of their clipped gradients at the current parameters."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from functools import partial
from types import ModuleType
from typing import Any

import numpy as np

from discreet.core import numbers
from discreet.core.cost import Distance
from discreet.core.query import Relation, queries
from discreet.core.source import Batch, Source
from discreet.errors import InvalidRequest
from discreet.models.design import Design
from discreet.models.gradient import exact_products
from discreet.models.gradient.blas_threads import one_thread
from discreet.models.gradient.blocks_elsewhere import blocks
from discreet.models.gradient.clipping import CHUNK, clipped_sum, exact_sum, to_numpy
from discreet.models.gradient.network import Network, Room
from discreet.models.gradient.trainable import StepQuery

SLACK = Fraction(1, 1 << 15)  # what the rounding of doubles may add to the distance, relatively
IN_DOUBLES = 1 << 22  # rows of a lot that are added up in doubles; more of them are in whole numbers
IN_DOUBLES_OF_SEVERAL = 1 << 17  # the same where a person may have several rows
_CLIPS = Fraction(1, 1 << 64), Fraction(1 << 64)


@dataclass(frozen=True, eq=False)
class Gathered:
    """The rows of a table in memory, person by person and widened for the network, of NumPy or of another namespace.

    ``starts`` are the first rows of the people, and None where everyone has one row.
    """

    x: Any
    y: Any
    weight: Any
    starts: Any | None
    people: int
    room: Room | None
    xp: ModuleType = np


@queries("lot_gradient")
@dataclass(frozen=True)
class LotGradient(StepQuery):
    """The sum over people of the gradient of their rows' losses, shortened to the norm ``clip``.

    ``weights``, the current parameters, are public: they were made from earlier releases. They are no part of the
    question that a plan is held to, and are not written down.

    ``distance``: L2 is clip under add/remove and twice that under replace and both, times 1 + 2**-15; L1 and L-infinity
    follow from it.

    Proof: what a person's rows contribute does not depend on who else is in the lot, to the last bit: not the inputs
    and derivatives of the rows (see ``rowwise``; ``blocks`` for arrays of another library), and not the factor, made
    of the person's own rows in products of a shape that is their own. In which precision hidden layers computed those
    inputs and derivatives does not matter: whatever vectors they are, their outer products are what is measured,
    shortened and added up, and all of that is in doubles. The factor is right: a norm of one row is a root of
    sums of squares of at most 2**16 terms a layer, right to 2**-34. Of several rows, with L the root of the sum over layers
    of the squared sum of the rows' norms, the computed square is wrong by less than 2**-35 L**2 (pairs, up to 32 rows) or
    the norm by r 2**-53 L (r rows in one product, up to 2**24 of them); as it counts as no less than L / 64, it falls short
    by 2**-22 at most, and the shortened rows together are at most 64 clip long. No square is lost to underflow: squared
    norms beyond 2**400 count as infinite, and clip is at least 2**-64. So a person contributes at most clip (1 + 2**-22).

    Lots of more than 2**22 rows (2**17 where people may have several), and all lots of files and clusters, are added up in
    whole numbers, where each row is cut to a grid by itself and sums are exact (see ``exact``): the person's own cuts
    move the sum by less than 2**-20 clip, and the one rounding at the end by 2**-53 of a sum that is at most clip
    times the number of people, of whom there are fewer than 2**34. Smaller lots in memory are added up in doubles: products
    of at most 4096 rows, at most 2**12 of them one by one, so that the sum is wrong by at most 2**13 2**-53 times the
    sizes of its terms, which is clip (64 clip) times the number of rows: by 2**-17 clip, for each of two neighbours.
    Where one neighbour is added up in one way and the other in the other, the two ways differ by that and by the cuts
    of at most 2**22 rows, below 2**-18 clip. All of it is below 2**-15 clip. A person whose gradient is not finite
    contributes nothing, whatever the others do.
    """

    design: Design
    network: Network
    clip: Fraction
    weights: Any = field(default=None, compare=False, repr=False)
    block: int = field(default=CHUNK, compare=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "clip", check_clip(self.clip))

    def at(self, weights: Any) -> LotGradient:
        """The same question at other parameters; what was checked once is not checked again at every step."""
        made = object.__new__(LotGradient)
        made.__dict__.update(self.__dict__, weights=weights)
        return made

    @property
    def columns(self) -> tuple[str, ...]:
        return self.design.columns

    @property
    def step_key(self) -> Any:
        return id(self)

    def distance(self, relation: Relation) -> Distance:
        far = self.clip * (1 + SLACK) * (1 if relation == "add_remove" else 2)
        return Distance(far * numbers.square_root_up(Fraction(self.network.size)), far, far)

    def step(self, batch: Batch) -> Any:
        rows = ordered(self.design.block(batch))
        with one_thread:
            return exact_sum(
                self.network, self.weights, self.network.widen(rows.x), rows.y, float(self.clip), weight=rows.weight,
                people=rows.people, most=self.design.rows, room=Room(),
            )  # fmt: skip

    def combine(self, left: Any, right: Any) -> Any:
        return left + right

    def finish(self, total: Any) -> Any:
        return exact_products.number(total, exact_products.unit(float(self.clip), self.design.rows))

    def blank(self, rows: int) -> Any:
        return np.zeros(self.network.size)

    def gather(self, source: Source) -> Gathered | None:
        if hasattr(source, "gathered"):
            made: Gathered = source.gathered(self.design, self.network)
            return made
        return gather(self.design, source, self.network.bias)

    def of_lot(self, gathered: Gathered, chosen: Any | None) -> Any:
        if gathered.xp is not np:
            return self._elsewhere(gathered, np.arange(gathered.people) if chosen is None else chosen)
        x, y, weight, people = picked(gathered, chosen)
        with one_thread:
            return self._added(x, y, self.weights, len(x), weight=weight, people=people, room=gathered.room)

    def _added(self, x: Any, y: Any, weights: Any, rows: int, **rest: Any) -> Any:
        """The sum over rows that were picked, in doubles where there are few of them."""
        several, clip, chunk = self.design.rows > 1, float(self.clip), max(CHUNK, rest.get("chunk", CHUNK))
        products = -(-len(x) // rest.get("chunk", CHUNK))
        few = rows <= (IN_DOUBLES_OF_SEVERAL if several else IN_DOUBLES * CHUNK // chunk)
        if few and (several or products <= IN_DOUBLES // CHUNK):
            return clipped_sum(self.network, weights, x, y, clip, most=self.design.rows, **rest)
        return self.finish(exact_sum(self.network, weights, x, y, clip, most=self.design.rows, **rest))

    def _elsewhere(self, gathered: Gathered, chosen: Any) -> Any:
        """The same on another library's arrays: always whole blocks, filled up with rows that weigh nothing.

        Libraries that compile do so for every new shape, and a product's shape may decide how a row is computed: ``block``
        is a public number of rows, of which a lot hardly ever has more, and ``blocks`` says who stands where. In doubles a
        product of it is wrong by at most block 2**-53 times the sizes of its terms, so lots of up to 2**34 / block rows are:
        by 2**-18 clip.
        """
        xp, device = gathered.xp, {"device": gathered.x.device}
        standing, chunk = blocks(self.network, self.block, len(chosen), xp, gathered.x.device)
        # Nobody is the row after all others.
        place = xp.asarray(np.append(chosen, gathered.people)[standing], **device)
        total = self._added(
            xp.take(gathered.x, place, axis=0), xp.take(gathered.y, place, axis=0),
            xp.asarray(self.weights, dtype=xp.float64, **device), len(chosen),
            weight=xp.astype(place < gathered.people, xp.float64), xp=xp, chunk=chunk,
        )  # fmt: skip
        return to_numpy(total)


def block_of(lot: float) -> int:
    """Rows of one product on a GPU: room for a lot of ``lot`` expected rows and six of its deviations, a public number."""
    return max(CHUNK, min(1 << 17, -(-int(lot + 6 * lot**0.5) // 1024) * 1024))


def check_clip(clip: Any) -> Fraction:
    """A clip norm that doubles can work with."""
    exact = numbers.positive(clip, "clip")
    if not _CLIPS[0] <= exact <= _CLIPS[1]:
        raise InvalidRequest(
            f"clip must lie between 2**-64 and 2**64, got {float(exact):g}; scale the features, or take a larger one"
        )
    return exact


def gather(design: Design, source: Source, bias: int) -> Gathered | None:
    """The rows of a table in memory, person by person, with ``bias`` columns of ones; None of one that is read each time."""
    if not source.resident:
        return None
    parts: list[Any] = source.fold(partial(_block, design), _joined, design.columns)
    x = np.ones((sum(len(p.x) for p in parts), design.width + bias))
    np.concatenate([p.x for p in parts], out=x[:, : design.width])
    y = np.concatenate([p.y for p in parts])
    weight = None if parts[0].weight is None else np.concatenate([p.weight for p in parts])
    if parts[0].people is None:
        return Gathered(x, y, weight, None, len(x), Room())
    begun = [np.append(True, p.people[1:] != p.people[:-1]) if len(p.people) else np.empty(0, bool) for p in parts]
    starts = np.flatnonzero(np.concatenate(begun))
    return Gathered(x, y, weight, starts, len(starts), Room())


def _block(design: Design, batch: Batch) -> list[Any]:
    return [ordered(design.block(batch))]


def picked(gathered: Gathered, chosen: Any | None) -> tuple[Any, Any, Any, Any]:
    """The rows, targets and weights of the chosen people (None: all), and the number of each row's person."""
    x, y, weight, people = gathered.x, gathered.y, gathered.weight, None
    if gathered.starts is not None:
        ends = np.append(gathered.starts[1:], x.shape[0])
        mine = np.arange(gathered.people) if chosen is None else chosen
        counts = ends[mine] - gathered.starts[mine]
        people = np.repeat(np.arange(len(mine)), counts)
        if chosen is not None:
            within = np.arange(len(people)) - np.repeat(np.cumsum(counts) - counts, counts)
            chosen = np.repeat(gathered.starts[mine], counts) + within
    if chosen is not None:
        # A third of the time that brackets take.
        x, y, weight = x.take(chosen, axis=0), y.take(chosen, axis=0), None if weight is None else weight.take(chosen)
    return x, y, weight, people


def ordered(rows: Any) -> Any:
    """Rows with those of one person side by side."""
    if rows.people is None or not len(rows.people) or not (rows.people[1:] < rows.people[:-1]).any():
        return rows
    order = np.argsort(rows.people, kind="stable")
    weight = None if rows.weight is None else rows.weight[order]
    return type(rows)(rows.x[order], rows.y[order], weight, rows.people[order])


def _joined(left: list[Any], right: list[Any]) -> list[Any]:
    return left + right
