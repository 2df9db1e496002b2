"""Networks of linear layers: what a row becomes on its way up, and its gradient on the way down.

All parameters live in one flat vector, layer after layer, each layer a matrix with one line for each input and, where
there is a bias, a last line for it. Inputs carry a constant 1 in their last place to match, so that a layer is one
product and its gradient is one product. No hidden layer at all is a linear model.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from types import ModuleType
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from discreet.core.random import Random
from discreet.errors import InvalidRequest
from discreet.models.gradient.blas_threads import blas_threads, one_thread
from discreet.models.gradient.trainable import StepQuery, Trainable
from discreet.models.losses import Logistic, Loss
from discreet.models.softmax import MOST_MARGIN

if TYPE_CHECKING:
    from discreet.models.design import Design

Activation = Literal["relu", "tanh"]

_MOST_LAYERS, _MOST_WIDTH = 10, 1 << 16
LARGEST_WEIGHT = 2.0**20  # parameters are kept within this, so that no product of layers leaves the range of doubles


BLOCK = 48  # rows of one product: always as many, so that where a row stands does not decide how it is computed
MARGIN = 8  # columns that nobody reads at either end of a product, where kernels for the inner ones treat rows alike


def rowwise(x: Any, weight: Any, out: Any = None, margin: int = 0) -> Any:
    """x @ weight for rows that come in whole blocks, so that a row's result is the same to the last bit in any place.

    A BLAS picks its kernels by the shape of the whole product: among more or fewer rows, or next to the edge, the same row
    may come out with other last digits, and a person's presence would show in the others' gradients. One shape for all
    products and a number of rows that kernels divide evenly avoid that; ``steady`` checks it for each shape on this
    machine and with as many threads, among which a BLAS divides rows; where it does not hold, or somebody else changed
    their number meanwhile, sums are made without a BLAS.
    A product of one column is no sum at all. That of the first and last ``margin`` columns may depend on the place.
    """
    if x.shape[1] == 1:
        return np.multiply(x, weight, out=out)
    blocks = x.reshape(len(x) // BLOCK, BLOCK, x.shape[1])
    place = None if out is None else out.reshape(len(x) // BLOCK, BLOCK, out.shape[1])
    with one_thread:
        threads = one_thread.threads
        even = steady(*weight.shape, bool(weight.flags.c_contiguous), weight.dtype.char, margin, threads)
        made = np.matmul(blocks, weight, out=place) if even else None
        if made is None or blas_threads() != threads:
            made = np.einsum("bij,jk->bik", blocks, weight, out=place)
    return made.reshape(len(x), weight.shape[1]) if out is None else out


def row_by_row(x: Any, weight: Any) -> Any:
    """x @ weight for any number of rows, each the same to the last bit in any place: see ``rowwise``."""
    filled = np.zeros((-(-len(x) // BLOCK) * BLOCK, x.shape[1]))
    filled[: len(x)] = x
    return rowwise(filled, np.ascontiguousarray(weight))[: len(x)]


@lru_cache(maxsize=256)
def steady(inputs: int, units: int, plain: bool, kind: str, margin: int, threads: tuple[int, ...]) -> bool:
    """Whether a product of ``BLOCK`` rows gives each row the same in every place, tried on this machine.

    It is tried with the ``threads`` that there are now, and again when there are others: see ``blas_threads``. Where they
    changed meanwhile nothing was tried of them, and such products are made without a BLAS.
    """
    if blas_threads() != threads:
        return False
    random = Random(inputs * 65537 + units)
    numbers = (random.words((BLOCK + units) * inputs) >> np.uint64(11)).astype(np.float64) * 2.0**-52 - 1.0
    x = numbers[: BLOCK * inputs].reshape(BLOCK, inputs).astype(kind)
    rest = numbers[BLOCK * inputs :].astype(kind)
    weight = rest.reshape(inputs, units) if plain else rest.reshape(units, inputs).T
    known, read = np.matmul(x[None], weight)[0], slice(margin, units - margin)
    moved = ((s, np.matmul(np.roll(x, s, axis=0)[None], weight)[0]) for s in _SHIFTS)
    same = all((found[:, read] == np.roll(known, s, axis=0)[:, read]).all() for s, found in moved)
    return same and blas_threads() == threads


_SHIFTS = (1, 2, 3, 5, 7, 11, 16, 23, 31, 40, 47)


class Room:
    """Arrays to write into, kept from step to step: new ones of this size would come from the system each time."""

    def __init__(self) -> None:
        self._kept: dict[tuple[str, int, str], Any] = {}

    def take(self, name: str, rows: int, width: int, kind: Any = np.float64) -> Any:
        """An array of at least ``rows`` rows, cut to them; its content is whatever was there."""
        place = name, width, np.dtype(kind).char
        kept = self._kept.get(place)
        if kept is None or len(kept) < rows:
            kept = self._kept[place] = np.empty((rows + rows // 4 + 8, width), kind)
        return kept[:rows]


@dataclass(frozen=True)
class Network(Trainable):
    """Linear layers of ``widths`` (inputs, hidden ones, outputs) with ``activation`` between them, and a loss.

    One output has a loss of the score; several have the cross-entropy of their softmax, and ``loss`` is None. With a
    ``margin``, which is taken off the score of the true class, that is the rounded hinge of several classes
    (``discreet.models.softmax``).
    """

    widths: tuple[int, ...]
    loss: Loss | None = None
    bias: bool = True
    activation: Activation = "relu"
    margin: float = 0.0

    def __post_init__(self) -> None:
        if len(self.widths) < 2 or len(self.widths) > _MOST_LAYERS + 1:
            raise InvalidRequest(f"a network must have 1 to {_MOST_LAYERS} layers, got {len(self.widths) - 1}")
        if min(self.widths) < 1 or max(self.widths) > _MOST_WIDTH:
            raise InvalidRequest(f"layers must have between 1 and {_MOST_WIDTH} units, got {list(self.widths)}")
        if self.activation not in ("relu", "tanh"):
            raise InvalidRequest(f"activation must be 'relu' or 'tanh', got {self.activation!r}")
        if (self.widths[-1] == 1) != (self.loss is not None):
            raise InvalidRequest("one output needs a loss of the score, several take the cross-entropy and loss=None")
        if not 0 <= self.margin <= MOST_MARGIN or (self.margin and self.loss is not None):
            raise InvalidRequest(f"a margin is for several outputs, and from 0 to {MOST_MARGIN}, got {self.margin}")

    @property
    def described(self) -> bool:
        """Whether its document says all of it: a loss of someone's own has a title there only."""
        return getattr(self.loss, "described", True) is True

    @cached_property
    def shapes(self) -> tuple[tuple[int, int], ...]:
        """The matrix of each layer, the bias as its last line."""
        return tuple((a + self.bias, b) for a, b in zip(self.widths, self.widths[1:], strict=False))

    @cached_property
    def size(self) -> int:
        """The number of parameters."""
        return sum(a * b for a, b in self.shapes)

    def question(self, design: Design | None, clip: Fraction, lot: float = 0) -> StepQuery:
        from discreet.models.gradient.lot_gradient import LotGradient, block_of

        if design is None or self.widths[0] != design.width:
            given = "none" if design is None else design.width
            raise InvalidRequest(f"the network takes {self.widths[0]} inputs, the design gives {given}")
        return LotGradient(design, self, clip, block=block_of(lot))

    def layers(self, flat: Any) -> list[Any]:
        """The matrices of a flat vector of parameters, as views of it."""
        made, start = [], 0
        for shape in self.shapes:
            stop = start + shape[0] * shape[1]
            made.append(flat[start:stop].reshape(shape))
            start = stop
        return made

    def start(self, key: int) -> Any:
        """Public first parameters, the same for the same key: a linear model starts at zero, biases do.

        Hidden layers are uniform within sqrt(6 / inputs) (He et al. 2015), the last within 1 / sqrt(inputs).
        """
        flat = np.zeros(self.size)
        random = Random(key)
        for layer, (inputs, units) in zip(self.layers(flat)[:-1], self.shapes[:-1], strict=True):
            rows = inputs - self.bias
            uniform = (random.words(rows * units) >> np.uint64(11)).astype(np.float64) * 2.0**-52 - 1.0
            layer[:rows] = math.sqrt(6.0 / rows) * uniform.reshape(rows, units)
        if len(self.shapes) > 1:
            last, rows = self.layers(flat)[-1], self.shapes[-1][0] - self.bias
            uniform = (random.words(rows * self.widths[-1]) >> np.uint64(11)).astype(np.float64) * 2.0**-52 - 1.0
            last[:rows] = uniform.reshape(rows, -1) / math.sqrt(rows)
        return flat

    def widen(self, x: Any, xp: ModuleType = np) -> Any:
        """Rows with the constant that a bias needs."""
        if not self.bias:
            return x
        return xp.concat([x, xp.ones((x.shape[0], 1), dtype=x.dtype, **_device(x, xp))], axis=1)

    @property
    def _working(self) -> tuple[Any, int]:
        """The precision that hidden layers are computed in and the margin of their products: see ``rowwise``.

        Single precision takes half the time, and what it is off by is far below the noise of any release; but a BLAS may
        keep to ``rowwise`` in doubles only.
        """
        downs = ((below, units) for units, below in zip(self.widths[1:-1], self.widths[2:], strict=True) if below > 1)
        products, threads = (*self.shapes[:-1], *downs), blas_threads()
        for margin in (0, MARGIN):
            if all(steady(inputs, _padded(units, margin), True, "f", margin, threads) for inputs, units in products):
                return np.float32, margin
        return np.float64, 0

    def _product(self, name: str, x: Any, weight: Any, room: Room, working: tuple[Any, int]) -> Any:
        """x @ weight in the precision of hidden layers."""
        (kind, margin), units = working, weight.shape[1]
        if kind != weight.dtype:
            whole = np.zeros((len(weight), _padded(units, margin)), kind)
            whole[:, margin : margin + units] = weight
            weight = whole
        out = room.take(name, len(x), weight.shape[1], kind)
        return rowwise(x, weight, out, margin)[:, margin : margin + units]

    def forward(self, flat: Any, x: Any, xp: ModuleType = np, room: Room | None = None) -> list[Any]:
        """The inputs of each layer and, last, the scores; ``x`` was widened.

        With ``room`` rows come in whole blocks, and hidden layers may be computed in single precision; what is handed out
        are doubles.
        """
        found, (*hidden, last) = [x], self.layers(flat)
        if room is None:
            for weight in hidden:
                score = found[-1] @ weight
                level = xp.maximum(score, xp.zeros_like(score)) if self.activation == "relu" else xp.tanh(score)
                found.append(self.widen(level, xp))
            return [*found, found[-1] @ last]
        working = self._working if hidden else (np.float64, 0)
        level = x.astype(working[0], copy=False)
        for place, weight in enumerate(hidden):
            level = self._hidden(level, weight, place, room, working)
            found.append(_doubles(level, f"up{place}", room))
        return [*found, rowwise(found[-1], last)]

    def _hidden(self, x: Any, weight: Any, place: int, room: Room, working: tuple[Any, int]) -> Any:
        score, units = self._product(f"score{place}", x, weight, room, working), weight.shape[1]
        wide = room.take(f"level{place}", len(x), units + self.bias, score.dtype)
        if self.activation == "relu":
            np.multiply(score, score > 0.0, out=wide[:, :units])  # quicker than a maximum
        else:
            np.tanh(score, out=wide[:, :units])
        wide[:, units:] = 1.0
        return wide

    def slopes(self, scores: Any, y: Any, xp: ModuleType = np) -> Any:
        """The derivative of each row's loss in its scores."""
        if self.loss is not None:
            return self.loss.first(scores[:, 0], y, xp)[:, None]
        classes = xp.arange(scores.shape[1], dtype=y.dtype, **_device(y, xp))
        truth = xp.astype(y[:, None] == classes, scores.dtype)
        scores = scores - self.margin * truth if self.margin else scores
        top = scores - xp.max(scores, axis=1, keepdims=True)
        share = xp.exp(top)
        return share / xp.sum(share, axis=1, keepdims=True) - truth

    def backward(self, flat: Any, ups: list[Any], slopes: Any, xp: ModuleType = np, room: Room | None = None) -> list[Any]:
        """The derivative of each row's loss in what each layer puts out, first layer first; precision as in ``forward``."""
        found, weights = [slopes], self.layers(flat)
        working = (np.float64, 0) if room is None or len(weights) == 1 else self._working
        below = slopes if room is None else slopes.astype(working[0], copy=False)
        for place in range(len(weights) - 1, 0, -1):
            units = self.widths[place]
            weight, level = weights[place][:units], ups[place][:, :units]
            if room is None:
                down = found[-1] @ weight.T
                gate = xp.astype(level > 0, down.dtype) if self.activation == "relu" else 1.0 - level * level
                found.append(down * gate)
                continue
            below = self._product(f"slope{place}", below, weight.T, room, working)
            gate = level > 0.0 if self.activation == "relu" else (1.0 - level * level).astype(below.dtype, copy=False)
            below *= gate
            found.append(_doubles(below, f"down{place}", room))
        return found[::-1]

    def value(self, flat: Any, x: Any, y: Any, xp: ModuleType = np) -> Any:
        """The loss of each row; ``x`` was widened."""
        scores = self.forward(flat, x, xp)[-1]
        if self.loss is not None:
            return self.loss.value(scores[:, 0], y, xp)
        truth = xp.astype(y[:, None] == xp.arange(scores.shape[1], dtype=y.dtype), scores.dtype)
        scores = scores - self.margin * truth
        top = scores - xp.max(scores, axis=1, keepdims=True)
        return xp.log(xp.sum(xp.exp(top), axis=1)) - xp.sum(top * truth, axis=1)


def hidden_sizes(given: Any) -> tuple[int, ...]:
    """What a user gave as the widths of hidden layers: one whole number, or a sequence of them."""
    sizes = (given,) if isinstance(given, int) else given
    if not isinstance(sizes, Sequence) or any(isinstance(s, bool) or not isinstance(s, int | np.integer) for s in sizes):
        raise InvalidRequest(f"hidden_layer_sizes must be whole numbers such as (100, 100), got {given!r:.100}")
    return tuple(int(size) for size in sizes)


def classifier(inputs: int, hidden: tuple[int, ...], classes: int, activation: Activation = "relu") -> Network:
    """The network that tells ``classes`` classes apart: one logistic output for two, a softmax for more."""
    outputs = 1 if classes == 2 else classes
    return Network((inputs, *hidden, outputs), Logistic() if outputs == 1 else None, True, activation)


def _padded(units: int, margin: int) -> int:
    """So many columns and two margins; with margins, what kernels of sixteen columns divide evenly."""
    return -(-(units + 2 * margin) // 16) * 16 if margin else units


def _doubles(rows: Any, name: str, room: Room) -> Any:
    """Rows as doubles, in an array of their own."""
    if rows.dtype == np.float64:
        return rows
    made = room.take(name, *rows.shape)
    np.copyto(made, rows)
    return made


def _device(x: Any, xp: ModuleType) -> dict[str, Any]:
    return {} if xp is np else {"device": x.device}
