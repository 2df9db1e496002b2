"""What all laws that add noise to numbers share: the grid, arrays in and out; and, coordinate by coordinate, the error."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, Self

import numpy as np
from array_api_compat import array_namespace, is_jax_array

from discreet.core import numbers
from discreet.core.cost import Block, Distance
from discreet.core.exact import Exact
from discreet.core.mechanism import Mechanism, NoiseLaw, Sensitivity
from discreet.core.numbers import Number
from discreet.core.random import Random, chosen
from discreet.errors import GridOverflow, InvalidRequest
from discreet.mechanisms.sampling.uniform import LARGEST, LARGEST_BITS, Floats, Integers

Scale = Number | Sequence[Number]

_FINE = 24  # a default grid is this many powers of two below the scale
_LEAST = Fraction(1, 1 << 500)  # in grid steps: doubles hold the square of one over it
_MOST_EXPONENT = 1000
_FAR = 2.0**62
_TAIL = 40  # scales: beyond them lies less than e**-39 of any law here
_RUN = 1 << 15  # numbers at a time
MOST_COARSER = 52  # powers of two between the grid of an exact value and a coarser one of the law
_FINITE = "the exact value must be finite; clip or replace missing values by a public rule first"


@dataclass(frozen=True, init=False)
class Gridded(Mechanism):
    """Noise around the exact value, on a public grid.

    ``scale`` is one number or one per coordinate of the last axis; ``grid`` a power of two, by default far finer than
    the scale. ``coordinates``, where it is given, is how many values the law was calibrated for: it takes no other number
    of them. What is released is (the exact value + ideal noise) rounded to the grid.

    Proof: rounding to a public grid is post-processing of the ideal law, and the sampler draws the rounded value with
    exactly that probability (see ``sampling``), so every guarantee of the ideal law holds of what is released. Exact
    values beyond 2**62 steps of the grid are clipped to it first; clipping moves no two values further apart. Exact value
    and noise are whole steps of 64 bits, and so is their sum: a scale of at most 2**42 steps keeps the noise within
    2**61 but with probability e**-(2**19). Only that sum becomes a double, on a grid other than the unit: to 53 bits,
    which is post-processing again.
    """

    scale: Fraction | tuple[Fraction, ...]
    grid: Fraction
    coordinates: int | None

    def __init__(self, scale: Scale, grid: Number | None = None, coordinates: int | None = None) -> None:
        many = isinstance(scale, Sequence) and not isinstance(scale, str)
        scales = tuple(numbers.positive(s, "scale") for s in scale) if many else (numbers.positive(scale, "scale"),)  # type: ignore[union-attr, arg-type]
        if not scales:
            raise InvalidRequest("scale must have at least one coordinate, got none")
        step = self._default_grid(scales) if grid is None else numbers.positive(grid, "grid")
        if not numbers.is_power_of_two(step):
            raise InvalidRequest(f"grid must be a power of two, got {step}")
        exponent = numbers.floor_log2(step)
        if abs(exponent) > _MOST_EXPONENT:
            raise GridOverflow(f"grid must lie within 2**-{_MOST_EXPONENT} and 2**{_MOST_EXPONENT}, got 2**{exponent}")
        if max(scales) / step > LARGEST:
            raise GridOverflow(
                f"scale must be at most 2**{LARGEST_BITS} grid steps, got {float(max(scales) / step):.4g}; "
                "use a larger epsilon or rho, or a coarser grid"
            )
        if min(scales) / step < _LEAST:
            raise GridOverflow(f"scale must be at least {float(_LEAST):.3g} grid steps; use a smaller epsilon or rho")
        if coordinates is not None and (isinstance(coordinates, bool) or int(coordinates) != coordinates or coordinates < 1):
            raise InvalidRequest(f"coordinates must be a whole number of at least 1, got {coordinates}")
        if coordinates is not None and len(scales) not in (1, coordinates):
            raise InvalidRequest(f"{coordinates} coordinates need one scale, or as many, got {len(scales)}")
        object.__setattr__(self, "scale", scales if many else scales[0])
        object.__setattr__(self, "grid", step)
        object.__setattr__(self, "coordinates", None if coordinates is None else int(coordinates))

    def to_dict(self) -> dict[str, Any]:
        doc = super().to_dict()
        return doc if self.coordinates is not None else {k: v for k, v in doc.items() if k != "coordinates"}

    @staticmethod
    def _default_grid(scales: tuple[Fraction, ...]) -> Fraction:
        return Fraction(2) ** (numbers.floor_log2(min(scales)) - _FINE)

    @property
    def scales(self) -> tuple[Fraction, ...]:
        """The scale of each coordinate, or the one for all."""
        return self.scale if isinstance(self.scale, tuple) else (self.scale,)

    @abstractmethod
    def _noise(self, random: Random, scales: list[Fraction], size: int, offset: Floats | float) -> Integers:
        """round(offset + noise) in grid steps; ``scales`` are in grid steps, repeated over the draws."""

    def release(self, exact: Any, *, seed: int | Random | None = None) -> Any:
        """Exact values (a number, an array, or ``Exact`` integers on this law's grid) with fresh noise.

        Whole numbers come back on a unit grid, doubles on any other; a number for a number, an array for an array.
        """
        offset: Floats | float
        if isinstance(exact, Exact):
            counts, offset = self._regrid(exact)
        elif isinstance(exact, float):
            return self._release_one(exact, chosen(seed))
        else:
            array = np.asarray(exact)
            whole = array.dtype.kind in "iub"
            counts, offset = self._regrid(_whole(array)) if whole else self._split(np.asarray(array, np.float64))
        shape = counts.shape
        self._check_shape(shape)
        flat = offset if isinstance(offset, float) else offset.reshape(-1)
        total = self._noise(chosen(seed), self._steps, math.prod(shape), flat).reshape(shape)
        total += counts
        value = total if self._step == 1.0 else total * self._step
        return value if shape else value.item()

    def _release_one(self, exact: float, random: Random) -> float | int:
        """The same for one plain number, without the cost of arrays."""
        if not math.isfinite(exact):
            raise InvalidRequest(_FINITE)
        step = self._alone
        steps = min(max(exact / step, -_FAR), _FAR)
        whole = round(steps)
        total = whole + self._one_noise(random, steps - whole)
        return total if step == 1.0 else total * step

    @cached_property
    def _alone(self) -> float:
        """The grid as a double, for a law that takes one number."""
        self._check_shape(())
        return self._step

    @cached_property
    def _step(self) -> float:
        """The grid as a double, which holds it."""
        return float(self.grid)

    def _check_shape(self, shape: tuple[int, ...]) -> None:
        """Refuse values that are not as many as the scales, or as the sensitivities the law was calibrated to."""
        given = shape[-1] if shape else 1
        if self.coordinates is not None and given != self.coordinates:
            raise InvalidRequest(
                f"the law was made for {self.coordinates} sensitivities, the value has shape {shape}; give one for each"
            )
        if len(self.scales) > 1 and (not shape or given != len(self.scales)):
            raise InvalidRequest(f"the law has {len(self.scales)} scales, the value has shape {shape}; match the last axis")

    def _one_noise(self, random: Random, offset: float) -> int:
        """``_noise`` for one number."""
        return int(self._noise(random, self._steps, 1, offset)[0])

    @cached_property
    def _steps(self) -> list[Fraction]:
        """The scales in grid steps."""
        return [s / self.grid for s in self.scales]

    @cached_property
    def _near_steps(self) -> Floats:
        """The scales in grid steps, as doubles."""
        return np.array([float(s) for s in self._steps])

    def _regrid(self, exact: Exact) -> tuple[Integers, Floats | float]:
        """Whole steps of this law's grid and the fraction above them, from integers on another grid."""
        bits = numbers.floor_log2(self.grid) - numbers.floor_log2(exact.grid)
        if bits > MOST_COARSER:
            raise GridOverflow(
                f"a law's grid must be at most 2**{MOST_COARSER} times that of the exact value, got 2**{bits}; "
                "use a larger epsilon, or a coarser exact value"
            )
        most = (1 << 62) >> min(max(-bits, 0), 62)
        counts = np.minimum(np.maximum(exact.counts, -most), most)  # for a few numbers quicker than a clip
        if bits <= 0:
            return counts << min(-bits, 62), 0.0
        whole = counts >> bits
        # Below 2**53 steps of the finer grid the fraction is exact in a double.
        offset = (counts - (whole << bits)).astype(np.float64) * 0.5**bits
        return whole, offset if offset.any() else 0.0

    def _split(self, values: Floats) -> tuple[Integers, Floats | float]:
        """The nearest whole grid step and what is left, at most half a step: both exact, the grid is a power of two."""
        with np.errstate(over="ignore"):
            steps = values * (1.0 / self._step)
        if not np.abs(steps).max(initial=0.0) <= _FAR:  # no number at all included
            if not np.isfinite(values).all():
                raise InvalidRequest(_FINITE)
            steps = np.clip(steps, -_FAR, _FAR)
        whole = np.rint(steps)
        offset = np.asarray(steps - whole)
        return np.asarray(whole).astype(np.int64), offset if offset.any() else 0.0


def _apart(released: Any, exact: Any) -> Floats:
    """|released - exact| as doubles; whole numbers are subtracted as such, so that neighbours beyond 2**53 differ."""
    a, b = np.asarray(released), np.asarray(exact)
    if a.dtype.kind in "iub" and b.dtype.kind in "iub":
        left, right = _whole(a).counts, _whole(b).counts
        # Without a sign the difference of any two whole numbers of 64 bits has 64 bits.
        high, low = np.maximum(left, right).astype(np.uint64), np.minimum(left, right).astype(np.uint64)
        with np.errstate(over="ignore"):
            return np.subtract(high, low, dtype=np.uint64).astype(np.float64)
    apart: Floats = np.abs(np.asarray(a, np.float64) - np.asarray(b, np.float64))
    return apart


def _whole(array: Any) -> Exact:
    """Whole numbers as they are: a double would round those beyond 2**53."""
    unsigned = array.dtype.kind == "u"
    return Exact((np.minimum(array, 1 << 62) if unsigned else array).astype(np.int64))


@dataclass(frozen=True, init=False)
class Additive(Gridded, NoiseLaw):
    """A gridded law whose coordinates are independent and symmetric: it knows the error of each."""

    independent = True
    no_posterior = ""

    def release(self, exact: Any, *, seed: int | Random | None = None) -> Any:
        """As ``Gridded.release``; a long array goes through in runs, so that everything on the way stays in the cache."""
        if isinstance(exact, Exact | float) or np.size(exact) <= _RUN:
            return super().release(exact, seed=seed)
        array, random = np.asarray(exact), chosen(seed)
        self._check_shape(array.shape)
        width = self.coordinates or len(self.scales)
        many = self.coordinates is not None or width > 1
        flat = array.reshape(-1, width) if many else array.reshape(-1)
        step = max(1, _RUN // width)
        runs = [super(Additive, self).release(flat[i : i + step], seed=random) for i in range(0, len(flat), step)]
        return np.concatenate(runs).reshape(array.shape)

    @abstractmethod
    def _quantile(self, p: float, scale: float) -> float:
        """The p-quantile of the ideal noise."""

    @abstractmethod
    def _spread(self, scale: float) -> float:
        """The standard deviation of the ideal noise."""

    def log_prob(self, released: Any, exact: Any) -> Any:
        """log of (probability of the released cell / width of the cell), for each coordinate.

        For arrays of JAX the density itself where every cell is below 2**-20 scales: there it is the same to 2**-40, but for
        the one cell that holds the exact value, and it is smooth.
        """
        xp, grid = namespace(released, exact), float(self.grid)
        if xp is np:
            steps = _apart(released, exact.value if isinstance(exact, Exact) else exact) / grid
            value = self._log_mass(steps, self._near_steps, xp) - math.log(grid)
            return value if steps.ndim or len(self.scales) > 1 else float(value[0])
        steps = xp.abs(released - exact) / grid
        fine = bool((self._near_steps > 2.0**20).all())
        smooth = self._log_density(steps / self._near_steps) if fine else None
        if smooth is not None:
            return smooth - np.log(self._near_steps * grid)
        return self._log_mass(steps, self._near_steps, xp) - math.log(grid)

    def _log_density(self, d: Any) -> Any | None:
        """The log-density of the ideal noise of scale 1 at ``d`` >= 0; None where it is discrete."""
        return None

    @abstractmethod
    def _log_mass(self, steps: Any, scale: Floats, xp: Any) -> Any:
        """The log-probability that the noise is rounded to the cell ``steps`` away; all in grid steps."""

    def quantile(self, p: float) -> Any:
        """The p-quantile of the noise: the least grid value that it stays at or below with probability ``p``."""
        if not 0 < p < 1:
            raise InvalidRequest(f"p must lie strictly between 0 and 1, got {p}")
        step = float(self.grid)
        return self._each(lambda s: float(np.ceil(self._quantile(p, s) / step - 0.5)) * step)

    def error(self, level: float = 0.95) -> Any:
        """The noise stays within this, on either side, with probability at least ``level``: one per scale."""
        if not 0 < level < 1:
            raise InvalidRequest(f"level must lie strictly between 0 and 1, got {level}")
        return self.quantile(0.5 + level / 2)

    @property
    def expected_error(self) -> Any:
        """The root mean square of the noise, one per scale."""
        return self._each(self._spread)

    @cached_property
    def unit(self) -> Self | None:
        """The law of scale 1 of whose noise this law's is a multiple, to 2**-20 of a scale; None where there is no such law.

        There is one where the law has a density and its grid is as fine as that; twice a discrete law is no law of its kind.
        A law with parameters beside its scale has to keep them here.
        """
        fine = bool((self._near_steps >= 2.0**20).all())
        return type(self)(1) if fine and self._log_density(0.0) is not None else None

    def deviation(self, size: int) -> Floats:
        if len(self.scales) not in (1, size):
            raise InvalidRequest(f"the law has {len(self.scales)} scales and the value {size} numbers; they must match")
        return np.broadcast_to(np.asarray(self.expected_error, np.float64), (size,))

    def at_least(self, t: Any) -> Floats:
        step = float(self.grid)
        return self._tail(np.ceil(np.asarray(t, np.float64) / step), float(self._near_steps[0]))

    def _tail(self, steps: Floats, scale: float) -> Floats:
        """P(noise >= ``steps`` whole grid steps), ``scale`` in steps too: the sum of what every cell beyond has.

        Proof: an ideal law is rounded to its grid: the noise is at least m steps where it is at least m - 1/2 by itself.
        """
        reach = math.ceil(_TAIL * scale) + 1
        cells = np.arange(-reach, reach + 1.0)
        tail = np.cumsum(np.exp(self._log_mass(np.abs(cells), np.array([scale]), np))[::-1])[::-1]
        return np.asarray(np.append(tail, 0.0)[np.clip(steps + reach, 0, len(cells)).astype(np.intp)])

    @abstractmethod
    def _log_characteristic(self, t: Floats, scale: Floats) -> Floats:
        """The logarithm of the size of E exp(i t noise), for noise of each ``scale``; zero at t = 0."""

    def log_characteristic(self, t: Floats) -> Floats:
        """log of E exp(i t noise) of each coordinate: ``t`` has the coordinates in its last axis."""
        return self._log_characteristic(t, np.array([float(s) for s in self.scales]))

    def at(self, places: slice | Sequence[int]) -> Self:
        """The law of some of the coordinates."""
        if len(self.scales) == 1:
            return self if self.coordinates is None else type(self)(self.scales[0], self.grid)
        some = self.scales[places] if isinstance(places, slice) else tuple(self.scales[i] for i in places)
        return type(self)(some, self.grid)

    def _each(self, of: Any) -> Any:
        values = np.array([of(float(s)) for s in self.scales])
        return values if isinstance(self.scale, tuple) else float(values[0])

    @classmethod
    def within(cls, error: Number, level: float = 0.95, grid: Number | None = None) -> Self:
        """The law with the largest scale whose noise stays within ``error`` with probability ``level``."""
        wanted = numbers.positive(error, "error")
        start = numbers.floor_log2(wanted)
        # Scales are tried as whole 2**-20ths of a power of two around the error: exact, and fine enough.
        unit = Fraction(2) ** (start - 30)

        def fits(steps: int) -> bool:
            return bool(cls(unit * steps, grid).error(level) <= float(wanted))

        low, high = 1, 2
        if not fits(low):
            raise InvalidRequest(f"no scale keeps the noise within {error} with probability {level} on this grid")
        while fits(high):
            low, high = high, high * 2
        while high - low > max(1, low >> 24):
            middle = (low + high) // 2
            low, high = (middle, high) if fits(middle) else (low, middle)
        return cls(unit * low, grid)


def namespace(*arrays: Any) -> Any:
    """``jax.numpy`` where an array is JAX's, else NumPy."""
    theirs = [a for a in arrays if is_jax_array(a)]
    return array_namespace(*theirs) if theirs else np


def how_many(sensitivity: Sensitivity) -> int | None:
    """The number of values that sensitivities were listed for; None where one number or a distance was given."""
    return len(sensitivity) if isinstance(sensitivity, list | tuple) else None


def some(distance: Fraction) -> Fraction:
    """A distance that noise can be calibrated to."""
    if distance <= 0:
        raise InvalidRequest(f"sensitivity must be positive to calibrate noise to it, got {distance}")
    return distance


def shared(distance: Distance, shares: Sequence[Number]) -> list[tuple[Block, Fraction]]:
    """Each block with its share of the price; shares are brought to a sum of 1."""
    given = [numbers.positive(share, "share") for share in shares]
    if distance.blocks is None or len(given) != len(distance.blocks):
        raise InvalidRequest(f"shares need one sensitivity each; give sensitivity as a list of {len(given)}")
    whole = sum(given, Fraction(0))
    return [(block, share / whole) for block, share in zip(distance.blocks, given, strict=True)]


def scales_by_block(scales: tuple[Fraction, ...], distance: Distance) -> list[tuple[Block, Fraction]]:
    """Each block of the exact value with the least scale inside it; one scale for all makes one block of all."""
    if len(scales) == 1:
        blocks = distance.blocks or (Block(1, distance.l1, distance.l2),)
        return [(b, scales[0]) for b in blocks]
    pairs, start = [], 0
    for block in distance.blocks_for(len(scales)):
        pairs.append((block, min(scales[start : start + block.size])))
        start += block.size
    return pairs


def one_per_coordinate(distance: Distance, per_block: list[Fraction]) -> list[Fraction] | Fraction:
    """Scales given block by block as scales of the coordinates; a single number where there is nothing to tell apart."""
    blocks = distance.blocks or ()
    if len(set(per_block)) == 1:
        return per_block[0]
    return [scale for block, scale in zip(blocks, per_block, strict=True) for _ in range(block.size)]
